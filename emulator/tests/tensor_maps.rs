//! Tensor maps: the bytes are those that the driver writes, and what it refuses is refused.

use emulator::{
    Argument, TensorElement, TensorFill, TensorInterleave, TensorL2Promotion, TensorMap, TensorMapDescription,
    TensorMapError, TensorSwizzle,
};

const RECORDED: &str = include_str!("data/tensor-maps.txt");

/// A description that the driver was asked for, and what it wrote, if it did. Nothing where our types cannot say it.
fn recorded(line: &str) -> (Option<TensorMapDescription>, Option<[u8; 128]>) {
    let columns: Vec<&str> = line.split(' ').collect();
    let number = |n: usize| columns[n].parse::<usize>().unwrap();
    let list = |n: usize| columns[n].split(',').filter(|number| *number != "-").map(|number| number.parse().unwrap());
    let sizes: Vec<u64> = list(3).take(number(1)).collect();
    let strides: Vec<u64> = list(4).collect();
    let box_sizes: Vec<u32> = list(5).map(|size: u64| size as u32).take(number(1)).collect();
    let element_strides: Vec<u32> = list(6).map(|step: u64| step as u32).take(number(1)).collect();
    let address = u64::from_str_radix(columns[2].trim_start_matches("0x"), 16).unwrap();
    let interleaves = [TensorInterleave::None, TensorInterleave::B16, TensorInterleave::B32];
    let swizzles = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];
    let promotions =
        [TensorL2Promotion::None, TensorL2Promotion::B64, TensorL2Promotion::B128, TensorL2Promotion::B256];
    let description = || {
        let new = TensorMapDescription::new(*TensorElement::ALL.get(number(0))?, address, &sizes, &strides, &box_sizes);
        let filled = new.element_strides(&element_strides).fill(*[TensorFill::Zeros, TensorFill::Nan].get(number(10))?);
        let placed = filled.interleave(*interleaves.get(number(7))?).swizzle(*swizzles.get(number(8))?);
        (sizes.len() == number(1)).then_some(placed.l2_promotion(*promotions.get(number(9))?))
    };
    let bytes = (number(11) == 0).then(|| {
        let mut bytes = [0; 128];
        for (n, digits) in columns[12].as_bytes().chunks(2).enumerate() {
            bytes[n] = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
        }
        bytes
    });
    (description(), bytes)
}

#[test]
fn maps_are_the_driver_s() {
    let (mut made, mut refused) = (0, 0);
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let (description, bytes) = recorded(line);
        let Some(description) = description else {
            assert!(bytes.is_none(), "the driver takes what has no words here: {line}");
            continue;
        };
        match (description.encode(), bytes) {
            (Ok(map), Some(bytes)) => {
                assert_eq!(map.bytes(), &bytes, "{line}");
                assert_eq!(TensorMap::from_bytes(bytes).description().as_ref(), Ok(&description), "{line}");
                made += 1;
            }
            (Err(TensorMapError::Interleave), _) if description.interleave != TensorInterleave::None => refused += 1,
            (Err(error), None) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                refused += 1;
            }
            (Ok(_), None) => panic!("the driver refuses this: {line}"),
            (Err(error), Some(_)) => panic!("the driver takes this, and not \"{error}\": {line}"),
        }
    }
    assert!(made > 200 && refused > 80, "{made}, {refused}");
}

#[test]
fn an_error_says_the_value_the_limit_and_what_to_do() {
    use TensorElement::{F32, U8, U32};
    let make = |element, sizes: &[u64], strides: &[u64], boxes: &[u32]| {
        TensorMapDescription::new(element, 1 << 40, sizes, strides, boxes)
    };
    let plain = || make(F32, &[64, 64], &[256], &[16, 16]);
    let wrong = [
        make(F32, &[], &[], &[]),
        make(F32, &[4; 6], &[16; 5], &[4; 6]),
        make(F32, &[64, 64], &[], &[16, 16]),
        make(F32, &[64, 64], &[256], &[16]),
        plain().element_strides(&[1]),
        TensorMapDescription::new(F32, (1 << 40) + 8, &[64], &[], &[16]),
        make(F32, &[0, 64], &[256], &[16, 16]),
        make(F32, &[64, (1 << 32) + 1], &[256], &[16, 16]),
        make(F32, &[64, 64], &[264], &[16, 16]),
        make(F32, &[64, 64], &[1 << 40], &[16, 16]),
        make(F32, &[64, 64], &[256], &[16, 257]),
        make(U8, &[64, 64], &[256], &[24, 8]),
        plain().swizzle(TensorSwizzle::B32),
        make(F32, &[64, 64, 64], &[256, 1 << 14], &[256, 256, 1]),
        plain().element_strides(&[1, 9]),
        make(U32, &[64], &[], &[16]).fill(TensorFill::Nan),
        make(F32, &[64, 64, 64], &[256, 1 << 14], &[4, 4, 4]).interleave(TensorInterleave::B16),
    ];
    let said: Vec<String> = wrong.iter().map(|wrong| wrong.encode().unwrap_err().to_string()).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_map_is_an_argument_of_128_bytes() {
    let map = TensorMapDescription::packed(TensorElement::F16, 1 << 40, &[64, 8], &[64, 8]).encode().unwrap();
    assert_eq!(Argument::from(map), Argument::Bytes(map.bytes().to_vec()));
    assert!(format!("{map:?}").contains("strides: [128]"), "{map:?}");
    let none = TensorMap::from_bytes([0xff; 128]);
    assert!(format!("{none:?}").contains("no tensor map"), "{none:?}");
}
