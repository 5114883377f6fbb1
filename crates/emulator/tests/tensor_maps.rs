//! Tensor maps: the bytes are those that the driver writes, and what it refuses is refused.

use emulator::{
    Argument, Device, Dim3, Launch, Module, TensorElement, TensorFill, TensorInterleave, TensorL2Promotion, TensorMap,
    TensorMapDescription, TensorMapError, TensorSwizzle,
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

/// One thread loads a row of 8 floats by the map whose generic address is in `x0`, and stores its first one; behind
/// it, what a plain load finds at that address.
fn kernel(parameters: &str, map: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 64 .b8 constant[128];\n\
         .visible .entry kernel({parameters})\n{{\n.shared .align 128 .b8 row[32];\n.shared .align 8 .b8 bar[8];\n\
         .reg .pred p; .reg .b32 r<3>; .reg .b64 x<4>;\n\
         ld.param.u64 x2, [out];\n{map}\n\
         mov.u32 r0, row;\nmov.u32 r1, bar;\n\
         mbarrier.init.shared.b64 [r1], 1;\nfence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared.b64 _, [r1], 32;\n\
         cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [x0, {{8}}], [r1];\n\
         AGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [r1], 0;\n@!p bra AGAIN;\n\
         ld.shared.b32 r2, [r0];\nst.global.b32 [x2], r2;\nld.u64 x3, [x0];\nst.global.u64 [x2+8], x3;\nret;\n}}\n"
    );
    Module::parse(&text).unwrap()
}

#[test]
fn a_map_may_be_a_parameter_or_lie_in_constant_or_in_global_memory() {
    let mut device = Device::new();
    let (a, map, out) = (device.alloc("A", 128), device.alloc("map", 128), device.alloc("out", 16));
    let floats: Vec<u8> = (0..32).flat_map(|n| (n as f32).to_le_bytes()).collect();
    device.write(a, &floats).unwrap();
    let address = device.address(a).unwrap();
    let bytes = TensorMapDescription::packed(TensorElement::F32, address, &[32], &[8]).encode().unwrap();
    device.write(map, bytes.bytes()).unwrap();
    let launch = Launch::new(Dim3::xy(1, 1), Dim3::xy(1, 1));
    let ways = [
        (
            ".param .u64 out, .param .align 64 .b8 map[128]",
            "mov.b64 x1, map; cvta.param.u64 x0, x1;",
            vec![Argument::Buffer(out), bytes.into()],
        ),
        (".param .u64 out", "cvta.const.u64 x0, constant;", vec![Argument::Buffer(out)]),
        (
            ".param .u64 out, .param .u64 map",
            "ld.param.u64 x0, [map];",
            vec![Argument::Buffer(out), Argument::Buffer(map)],
        ),
    ];
    for (parameters, generic, arguments) in ways {
        let module = kernel(parameters, generic);
        device.write_variable(&module, "constant", 0, bytes.bytes()).unwrap();
        device.launch(&module.kernel("kernel").unwrap(), launch, &arguments).unwrap();
        let mut found = [0; 16];
        device.peek(out, 0, &mut found).unwrap();
        assert_eq!(found[..4], 8f32.to_le_bytes(), "{generic}");
        assert_eq!(found[8..], bytes.bytes()[..8], "{generic}");
    }
}

#[test]
fn nobody_writes_parameters_or_constants() {
    for (space, variable) in [("param", "map"), ("const", "constant")] {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 64 .b8 constant[128];\n\
             .visible .entry kernel(.param .align 64 .b8 map[128])\n{{\n.reg .b64 x<2>;\n\
             mov.b64 x0, {variable};\ncvta.{space}.u64 x1, x0;\nst.u64 [x1], x0;\nret;\n}}\n"
        );
        let kernel = Module::parse(&text).unwrap().kernel("kernel").unwrap();
        let launch = Launch::new(Dim3::xy(1, 1), Dim3::xy(1, 1));
        let error = Device::new().launch(&kernel, launch, &[Argument::Bytes(vec![0; 128])]).unwrap_err().to_string();
        assert!(error.contains("where nobody may write"), "{error}");
    }
}
