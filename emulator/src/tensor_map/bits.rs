//! A tensor map's 128 bytes.

use super::{
    BYTES, MAX_RANK, TensorElement, TensorFill, TensorInterleave, TensorL2Promotion, TensorMapDescription,
    TensorMapError, TensorSwizzle,
};

/// A field: where its bits begin, and how many it has.
type Field = (u32, u32);

const MARK: Field = (0, 32);
const MARKED: u64 = 0x50414d54;
const ELEMENT: Field = (32, 8);
const RANK: Field = (40, 8);
const SWIZZLE: Field = (48, 4);
const L2: Field = (52, 4);
const FILL: Field = (56, 4);
const ADDRESS: Field = (64, 64);

fn size(n: usize) -> Field {
    (128 + 32 * n as u32, 32)
}

fn stride(n: usize) -> Field {
    (320 + 64 * n as u32, 36)
}

fn box_size(n: usize) -> Field {
    (640 + 8 * n as u32, 8)
}

fn step(n: usize) -> Field {
    (704 + 8 * n as u32, 3)
}

fn put(bytes: &mut [u8; BYTES], (start, bits): Field, value: u64) {
    for n in (0..bits).filter(|n| value >> n & 1 == 1) {
        bytes[((start + n) / 8) as usize] |= 1 << ((start + n) % 8);
    }
}

fn get(bytes: &[u8; BYTES], (start, bits): Field) -> u64 {
    let bit = |n: u32| u64::from(bytes[((start + n) / 8) as usize] >> ((start + n) % 8) & 1) << n;
    (0..bits).map(bit).sum()
}

const SWIZZLES: [TensorSwizzle; 4] = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];
const PROMOTIONS: [TensorL2Promotion; 4] =
    [TensorL2Promotion::None, TensorL2Promotion::B64, TensorL2Promotion::B128, TensorL2Promotion::B256];

/// The bytes of a description that was checked.
pub(super) fn encode(map: &TensorMapDescription) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let number = |found: Option<usize>| found.unwrap_or(0) as u64;
    put(&mut bytes, MARK, MARKED);
    put(&mut bytes, ELEMENT, number(TensorElement::ALL.iter().position(|element| *element == map.element)));
    put(&mut bytes, RANK, map.sizes.len() as u64);
    put(&mut bytes, SWIZZLE, number(SWIZZLES.iter().position(|swizzle| *swizzle == map.swizzle)));
    put(&mut bytes, L2, number(PROMOTIONS.iter().position(|promotion| *promotion == map.l2_promotion)));
    put(&mut bytes, FILL, (map.fill == TensorFill::Nan).into());
    put(&mut bytes, ADDRESS, map.address);
    for n in 0..map.sizes.len() {
        put(&mut bytes, size(n), map.sizes[n] - 1);
        put(&mut bytes, box_size(n), u64::from(map.box_sizes[n]) - 1);
        put(&mut bytes, step(n), u64::from(map.element_strides[n]) - 1);
    }
    for (n, bytes_between) in map.strides.iter().enumerate() {
        put(&mut bytes, stride(n), bytes_between / 16);
    }
    bytes
}

/// What bytes say, whether a map may say it or not.
pub(super) fn decode(bytes: &[u8; BYTES]) -> Result<TensorMapDescription, TensorMapError> {
    let number = |field| get(bytes, field) as usize;
    let no = |why| TensorMapError::NoMap { why };
    if get(bytes, MARK) != MARKED {
        return Err(no("they do not begin as one"));
    }
    let rank = number(RANK);
    if rank == 0 || rank > MAX_RANK {
        return Err(no("the number of dimensions is none of 1 to 5"));
    }
    Ok(TensorMapDescription {
        element: *TensorElement::ALL.get(number(ELEMENT)).ok_or(no("the type of the elements is unknown"))?,
        address: get(bytes, ADDRESS),
        sizes: (0..rank).map(|n| get(bytes, size(n)) + 1).collect(),
        strides: (0..rank - 1).map(|n| 16 * get(bytes, stride(n))).collect(),
        box_sizes: (0..rank).map(|n| get(bytes, box_size(n)) as u32 + 1).collect(),
        element_strides: (0..rank).map(|n| get(bytes, step(n)) as u32 + 1).collect(),
        interleave: TensorInterleave::None,
        swizzle: *SWIZZLES.get(number(SWIZZLE)).ok_or(no("the swizzle is unknown"))?,
        l2_promotion: *PROMOTIONS.get(number(L2)).ok_or(no("the L2 promotion is unknown"))?,
        fill: if get(bytes, FILL) == 0 { TensorFill::Zeros } else { TensorFill::Nan },
    })
}
