//! A tensor map's 128 bytes: the fields, as the driver writes them.
//!
//! NVIDIA does not document them. They were found by asking `cuTensorMapEncodeTiled` for maps that differ in one
//! argument, and `tests/data/tensor-maps.txt` has what it said. The last two fields say nothing that the others do
//! not: bytes of a box, and of a pattern in shared memory.

use super::{
    BYTES, MAX_RANK, MapField, TensorElement, TensorFill, TensorInterleave, TensorL2Promotion, TensorMapDescription,
    TensorMapError, TensorSwizzle,
};

/// A field: where its bits begin, and how many it has.
type Field = (u32, u32);

const ADDRESS: Field = (0, 64);
const RANK: Field = (68, 3);
const FORMAT: Field = (71, 4);
const INTERLEAVE: Field = (75, 2);
const SWIZZLE: Field = (77, 2);
const FILL: Field = (79, 1);
const ROUND: Field = (80, 1);
const PROMOTION: Field = (81, 2);
const BOX_BYTES: Field = (512, 32);
const PATTERN: Field = (576, 32);

/// Bits 4 to 35 of a stride, and those above.
fn stride(n: usize) -> [Field; 2] {
    [(96 + 32 * n as u32, 32), (224 + 4 * n as u32, 4)]
}

/// Less 1, as the next two.
fn size(n: usize) -> Field {
    (256 + 32 * n as u32, 32)
}

fn element_stride(n: usize) -> Field {
    (416 + 3 * n as u32, 3)
}

fn box_size(n: usize) -> Field {
    (440 + 8 * n as u32, 8)
}

/// What the types are as formats, and whether numbers are rounded to tf32: in the order of `tensormap.replace`'s
/// numbers.
const FORMATS: [(TensorElement, u64, bool); 13] = [
    (TensorElement::U8, 0, false),
    (TensorElement::U16, 1, false),
    (TensorElement::U32, 2, false),
    (TensorElement::S32, 3, false),
    (TensorElement::U64, 4, false),
    (TensorElement::S64, 5, false),
    (TensorElement::F16, 6, false),
    (TensorElement::F32, 7, false),
    (TensorElement::F32Ftz, 8, false),
    (TensorElement::F64, 9, false),
    (TensorElement::Bf16, 10, false),
    (TensorElement::Tf32, 7, true),
    (TensorElement::Tf32Ftz, 8, true),
];
const INTERLEAVES: [TensorInterleave; 3] = [TensorInterleave::None, TensorInterleave::B16, TensorInterleave::B32];
const SWIZZLES: [TensorSwizzle; 4] = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];
const PROMOTIONS: [TensorL2Promotion; 4] =
    [TensorL2Promotion::None, TensorL2Promotion::B64, TensorL2Promotion::B128, TensorL2Promotion::B256];

fn put(bytes: &mut [u8; BYTES], (start, bits): Field, value: u64) {
    for n in 0..bits {
        let (byte, bit) = (&mut bytes[((start + n) / 8) as usize], (start + n) % 8);
        *byte = *byte & !(1 << bit) | ((value >> n & 1) as u8) << bit;
    }
}

fn get(bytes: &[u8; BYTES], (start, bits): Field) -> u64 {
    let from = (start / 8) as usize;
    // No field lies in more than 8 bytes.
    let mut part = [0; 8];
    part.copy_from_slice(&bytes[from..from + 8]);
    let mask = u64::MAX >> (64 - bits);
    u64::from_le_bytes(part) >> (start % 8) & mask
}

/// The bytes of a description that was checked.
pub(super) fn encode(map: &TensorMapDescription) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let mut put = |field, value| put(&mut bytes, field, value);
    put(ADDRESS, map.address);
    put(RANK, map.sizes.len() as u64 - 1);
    if let Some((_, format, round)) = FORMATS.iter().find(|(element, ..)| *element == map.element) {
        put(FORMAT, *format);
        put(ROUND, (*round).into());
    }
    put(INTERLEAVE, place(&INTERLEAVES, &map.interleave));
    put(SWIZZLE, place(&SWIZZLES, &map.swizzle));
    put(PROMOTION, place(&PROMOTIONS, &map.l2_promotion));
    put(FILL, (map.fill == TensorFill::Nan).into());
    for (n, bytes) in map.strides.iter().enumerate() {
        let [low, high] = stride(n);
        put(low, bytes >> 4 & 0xffff_ffff);
        put(high, bytes >> 36);
    }
    for n in 0..map.sizes.len() {
        put(size(n), map.sizes[n] - 1);
        put(box_size(n), u64::from(map.box_sizes[n]) - 1);
        put(element_stride(n), u64::from(map.element_strides[n]) - 1);
    }
    put(BOX_BYTES, map.counted_bytes());
    put(PATTERN, if map.swizzle == TensorSwizzle::None { 16 } else { 8 * u64::from(map.swizzle.span()) });
    bytes
}

fn place<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|other| other == one).unwrap_or(0) as u64
}

/// What bytes say, whether a map may say it or not.
pub(super) fn decode(bytes: &[u8; BYTES]) -> Result<TensorMapDescription, TensorMapError> {
    let number = |field| get(bytes, field) as usize;
    let no = |why| TensorMapError::NoMap { why };
    let rank = number(RANK) + 1;
    if rank > MAX_RANK {
        return Err(no("its bytes name more than 5 dimensions"));
    }
    let is_it = |format: &&(TensorElement, u64, bool)| {
        format.1 == get(bytes, FORMAT) && u64::from(format.2) == get(bytes, ROUND)
    };
    let (element, ..) = FORMATS.iter().find(is_it).ok_or(no("its bytes name no type of elements"))?;
    let interleave = *INTERLEAVES.get(number(INTERLEAVE)).ok_or(no("its bytes name no layout"))?;
    Ok(TensorMapDescription {
        element: *element,
        address: get(bytes, ADDRESS),
        sizes: (0..rank).map(|n| get(bytes, size(n)) + 1).collect(),
        strides: (0..rank - 1).map(stride).map(|[low, high]| get(bytes, low) << 4 | get(bytes, high) << 36).collect(),
        box_sizes: (0..rank).map(|n| get(bytes, box_size(n)) as u32 + 1).collect(),
        element_strides: (0..rank).map(|n| get(bytes, element_stride(n)) as u32 + 1).collect(),
        interleave,
        swizzle: SWIZZLES[number(SWIZZLE)],
        l2_promotion: PROMOTIONS[number(PROMOTION)],
        fill: if get(bytes, FILL) == 0 { TensorFill::Zeros } else { TensorFill::Nan },
    })
}

/// Puts the operand of `tensormap.replace` into a field. Only a number of dimensions is counted from 0 there.
pub(super) fn replace(bytes: &mut [u8; BYTES], field: MapField, value: u64) {
    let n = |n: u8| usize::from(n).min(MAX_RANK - 1);
    let less = value.wrapping_sub(1);
    match field {
        MapField::Address => put(bytes, ADDRESS, value),
        MapField::Rank => put(bytes, RANK, value),
        MapField::Box(dimension) => put(bytes, box_size(n(dimension)), less),
        MapField::Size(dimension) => put(bytes, size(n(dimension)), less),
        MapField::Step(dimension) => put(bytes, element_stride(n(dimension)), less),
        // (There is none of the last dimension.)
        MapField::Stride(dimension) if usize::from(dimension) < MAX_RANK - 1 => {
            let [low, high] = stride(dimension.into());
            put(bytes, low, value >> 4 & 0xffff_ffff);
            put(bytes, high, value >> 36);
        }
        MapField::Stride(_) => {}
        MapField::Element => {
            if let Some((_, format, round)) = FORMATS.get(value as usize) {
                put(bytes, FORMAT, *format);
                put(bytes, ROUND, (*round).into());
            }
        }
        MapField::Interleave => put(bytes, INTERLEAVE, value),
        MapField::Swizzle => put(bytes, SWIZZLE, value),
        MapField::Fill => put(bytes, FILL, value),
    }
}
