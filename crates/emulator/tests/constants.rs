//! Constant expressions, with the values that ptxas 13.0 gives them as initial values of variables, and what it refuses.

use emulator::{Argument, Device, Launch, Module};

/// A variable's type and initial value, and the bits that it begins with.
#[rustfmt::skip]
const VALUES: &[(&str, &str, u64)] = &[
    ("u64", "1+2", 0x3),
    ("u64", "-1/3", 0x0),
    ("u64", "-7/2", 0xfffffffffffffffd),
    ("u64", "(.u64)-1/3", 0x5555555555555555),
    ("u64", "(.s64)-1>>3", 0xffffffffffffffff),
    ("u64", "-1>>3", 0xffffffffffffffff),
    ("u64", "0xffffffffffffffff>>3", 0x1fffffffffffffff),
    ("u64", "18446744073709551615>>3", 0x1fffffffffffffff),
    ("u64", "18446744073709551615/3", 0x5555555555555555),
    ("u64", "-1 < 0", 0x1),
    ("u64", "0xffffffffffffffff < 0", 0x0),
    ("u64", "-1 < 0U", 0x0),
    ("u64", "-1 < 1U", 0x0),
    ("u64", "1U - 2 < 0", 0x0),
    ("u64", "1<<63", 0x8000000000000000),
    ("u64", "1<<64", 0x1),
    ("u64", "1<<65", 0x2),
    ("u64", "1<<-1", 0x8000000000000000),
    ("u64", "-1>>64", 0xffffffffffffffff),
    ("u64", "(1<<63)>>63", 0xffffffffffffffff),
    ("u64", "!5", 0x0),
    ("u64", "!0", 0x1),
    ("u64", "~0", 0xffffffffffffffff),
    ("u64", "~0U >> 1", 0x7fffffffffffffff),
    ("u64", "~0 >> 1", 0x7fffffffffffffff),
    ("u64", "5>3", 0x1),
    ("u64", "5>3?7:8", 0x7),
    ("u64", "0?7:8", 0x8),
    ("u64", "1?-1:1U", 0xffffffffffffffff),
    ("u64", "(1?-1:1U)>>1", 0xffffffffffffffff),
    ("u64", "2?3:4?5:6", 0x3),
    ("u64", "0?3:0?5:6", 0x6),
    ("u64", "7&3^1|8", 0xa),
    ("u64", "6|1&0", 0x6),
    ("u64", "1||0&&0", 0x1),
    ("u64", "1+2*3", 0x7),
    ("u64", "(1+2)*3", 0x9),
    ("u64", "10-3-2", 0x5),
    ("u64", "1<<2+1", 0x8),
    ("u64", "1<2<3", 0x1),
    ("u64", "3&1==1", 0x1),
    ("u64", "-3*2U/2", 0x7ffffffffffffffd),
    ("u64", "- -3", 0x3),
    ("u64", "-(-3)", 0x3),
    ("u64", "!-1", 0x0),
    ("u64", "+3", 0x3),
    ("u64", "1.0>0.5", 0x1),
    ("u64", "1.0==1.0", 0x1),
    ("u64", "(.s64)(.u64)-1>>1", 0xffffffffffffffff),
    ("u64", "(.u64)(.s64)-1>>1", 0x7fffffffffffffff),
    ("u64", "0x8000000000000000>>1", 0x4000000000000000),
    ("u64", "9223372036854775808>>1", 0x4000000000000000),
    ("u64", "9223372036854775807+1>>1", 0xc000000000000000),
    ("u64", "-9223372036854775808>>1", 0x4000000000000000),
    ("u64", "-9223372036854775808/-1", 0x0),
    ("u64", "-9223372036854775808%-1", 0x8000000000000000),
    ("u64", "WARP_SZ*2", 0x40),
    ("u64", "WARP_SZ-64>>1", 0xfffffffffffffff0),
    ("u32", "1<<32", 0x0),
    ("u32", "4294967296", 0x0),
    ("u32", "-1", 0xffffffff),
    ("u16", "70000", 0x1170),
    ("u8", "256", 0x0),
    ("u8", "-1", 0xff),
    ("s8", "200", 0xc8),
    ("f64", "1.0+2.0", 0x4008000000000000),
    ("f64", "1.0/3.0", 0x3fd5555555555555),
    ("f64", "-(1.0)", 0xbff0000000000000),
    ("f64", "1.5*2.0-1.0", 0x4000000000000000),
    ("f64", "0d3ff0000000000000+1.0", 0x4000000000000000),
    ("f64", "0d3ff0000000000000", 0x3ff0000000000000),
    ("f64", "0f3f800000", 0x3f800000),
    ("f32", "0f3f800000", 0x3f800000),
    ("f32", "1.5", 0x3fc00000),
    ("f32", "1.0+0.5", 0x3fc00000),
    ("f32", "0.1", 0x3dcccccd),
    ("f32", "0d3ff8000000000000", 0x3fc00000),
    ("f32", "0d3ff8000000000000+1.0", 0x40200000),
    ("u64", "010", 0x8),
    ("u64", "0b101+1", 0x6),
    ("u64", "1<<3>>1", 0x4),
    ("u64", "1!=2==1", 0x1),
    ("u64", "!1+1", 0x1),
    ("u64", "~1+1", 0xffffffffffffffff),
    ("u64", "-1U>>60", 0xf),
    ("u64", "(.s64)1U-2<0", 0x1),
    ("u64", "(.u64)1-2<0", 0x0),
    ("u64", "3>=3&&2<=2", 0x1),
    ("u64", "(1?0xffffffffffffffff:1)>>1", 0x7fffffffffffffff),
    ("u64", "(0?1:0xffffffffffffffff)>>1", 0x7fffffffffffffff),
    ("u64", "(0?1U:-1)>>1", 0xffffffffffffffff),
    ("u64", "(1?-1:1)>>1", 0xffffffffffffffff),
    ("u64", "(-1&-1)>>1", 0xffffffffffffffff),
    ("u64", "(-1|0)>>1", 0xffffffffffffffff),
    ("u64", "(-1^0)>>1", 0xffffffffffffffff),
    ("u64", "(-1+0)>>1", 0xffffffffffffffff),
    ("u64", "(-1+0U)>>1", 0x7fffffffffffffff),
    ("u64", "-1*1>>1", 0xffffffffffffffff),
    ("u64", "-(1U)>>1", 0x7fffffffffffffff),
    ("u64", "+(0U-1)>>1", 0x7fffffffffffffff),
    ("u64", "(-1<<0U)>>1", 0xffffffffffffffff),
    ("u64", "(-1U<<0)>>1", 0x7fffffffffffffff),
    ("u64", "-8/3U", 0x5555555555555552),
    ("u64", "-7 % 2", 0x1),
    ("u64", "-7 % 2U", 0x1),
    ("u64", "7 % -2", 0x7),
    ("u64", "(2>1)-2>>1", 0xffffffffffffffff),
    ("u64", "(2U>1U)-2>>1", 0xffffffffffffffff),
    ("u64", "(1U&&1U)-2>>1", 0xffffffffffffffff),
    ("u64", "!1U-1>>1", 0xffffffffffffffff),
    ("u64", "-1>0U", 0x1),
    ("u64", "-1==0xffffffffffffffff", 0x1),
    ("u64", "(.s64)0xffffffffffffffff/3", 0x0),
    ("b32", "1.5", 0x3fc00000),
    ("b64", "1.5", 0x3ff8000000000000),
    ("b32", "0f3f800000", 0x3f800000),
    ("b64", "0d3ff0000000000000", 0x3ff0000000000000),
    ("f64", "-0d3ff0000000000000", 0xbff0000000000000),
    ("u64", "1.0<2.0", 0x1),
    ("f32", "1.0/3.0", 0x3eaaaaab),
    ("f32", "-1.5", 0xbfc00000),
    ("f64", "+1.5", 0x3ff8000000000000),
    ("f64", "(1.5)", 0x3ff8000000000000),
    ("f64", "- -1.5", 0x3ff8000000000000),
    ("u64", "WARP_SZ", 0x20),
    ("u64", "-WARP_SZ", 0xffffffffffffffe0),
    ("u64", "3*-2", 0xfffffffffffffffa),
    ("u64", "3--2", 0x5),
    ("u64", "3++2", 0x5),
    ("u64", "(.s64)(3)", 0x3),
    ("u64", "(.s64)-3*2", 0xfffffffffffffffa),
    ("u64", "(.u64)3-4>>1", 0x7fffffffffffffff),
    ("u64", "~(.s64)0>>1", 0x7fffffffffffffff),
    ("u64", "1 ? 2 : 3 + 4", 0x2),
    ("u64", "0 || 1 ? 2 : 3", 0x2),
    ("u64", "1 ? 0 ? 4 : 5 : 6", 0x5),
    ("u64", "0x1ffffffffffffffff", 0xffffffffffffffff),
    ("u64", "(-1 % 8 - 8)>>1", 0x7fffffffffffffff),
    ("u64", "(-7 % 2)", 0x1),
    ("u64", "(7 % 8 - 8)>>1", 0x7fffffffffffffff),
    ("b64", "0f3f800000", 0x3f800000),
    ("u64", "0xFU+1", 0x10),
    ("u64", "0b11U", 0x3),
    ("b32", "1.5+1.5", 0x40400000),
];

/// What is no initial value of such a variable.
#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("u64", "-7%2"),
    ("u64", "1.0?2:3"),
    ("u64", "5%0"),
    ("u64", "5/0"),
    ("f64", "1.0/0.0"),
    ("f64", "1"),
    ("f64", "1+1.0"),
    ("f64", "1.0>0.5"),
    ("f64", "1.0>0.5?2.0:3.0"),
    ("f64", "1>0?2.0:3.0"),
    ("f32", "-0f3f800000"),
    ("f32", "1"),
    ("f64", "!1.0"),
    ("f64", "~1.0"),
    ("f64", "1.0%2.0"),
    ("f64", "1.0<<1"),
    ("f64", "1.0&&1.0"),
    ("u64", "1.0&&0.0"),
    ("u64", "!1.0"),
    ("f64", "-1.0 ? 1.0 : 2.0"),
    ("f64", "1 ? 1 : 2.0"),
    ("u64", "1 ? 1.0 : 2"),
    ("u64", "0x1p3"),
    ("u64", "'0'"),
    ("u64", "(1"),
    ("u64", "()"),
    ("u64", "1 2"),
    ("u64", "5U%3"),
    ("u64", "-5%3U"),
    ("u64", "1?2"),
    ("u64", "1.5"),
    ("u32", "1.5"),
    ("u32", "0f3f800000"),
    ("u64", "0d3ff0000000000000"),
    ("u64", "~1.0"),
    ("u64", "1.0<=2"),
    ("f16", "1.5"),
    ("u64", "7%2"),
    ("u64", "1 < < 2"),
    ("u64", "1 = = 2"),
    ("u64", "(.b64)3"),
    ("u64", "(.s32)3"),
    ("u64", "99999999999999999999"),
    ("s64", "1.0"),
    ("f32", "0x3f800000"),
    ("f64", "WARP_SZ"),
    ("u64", "077777777777777777777777"),
];

/// Statements of a kernel with constants that ptxas takes.
const TAKEN: &[&str] = &[
    "mov.u32 %r1, (3<<4)|1;",
    "mov.u32 %r1, ((1));",
    "mov.u32 %r1, - -3;",
    "mov.u32 %r1, !5;",
    "mov.u32 %r1, 1.0 > 0.5;",
    "mov.f32 %f, 1.0+2.0;",
    "mov.f64 %e, -(1.0/3.0);",
    "mov.f64 %e, -0d3ff0000000000000;",
    "mov.pred %p1, 1+0;",
    "add.u32 %r1, %r1, 2*3;",
    "shl.b32 %r1, %r1, 1+1;",
    "setp.eq.u32 %p1, 1+1, 2;",
    "setp.ne.and.u32 %p1, 1+1, 2, !%p2;",
    "lop3.b32 %r1, %r1, %r1, %r1, 0xf0 & 0xcc;",
    "bar.sync 1+1;",
    "ld.global.u32 %r1, [%d1+4*2];",
    "ld.global.u32 %r1, [%d1+-4];",
    "ld.global.u32 %r1, [%d1+(1<<3)];",
    "ld.global.u32 %r1, [G+8+4];",
    "mov.u64 %d1, G+8-4;",
    "mov.u32 %r1, WARP_SZ;",
    "mov.u32 %r1, WARP_SZ-1;",
    "mov.u32 %r1, 2 ? 3 : 4 ? 5 : 6;",
    "st.global.u32 [%d1], 1+2;",
];

/// And such that it refuses.
const NOT_TAKEN: &[&str] = &[
    "mov.u32 %r1, 5/0;",
    "mov.u32 %r1, 5%0;",
    "mov.u32 %r1, 1.5;",
    "mov.f32 %f, 1;",
    "mov.f32 %f, 1.0*2;",
    "mov.f64 %e, 1.0 > 0.5;",
    "mov.b32 %r1, 1.0+1.0;",
    "mov.f32 %f, 0f3f800000+1.0;",
    "mov.f32 %f, -0f3f800000;",
    "mov.u64 %d1, (.f64)1;",
    "mov.u32 %r1, (.u32)5;",
    "mov.u64 %d1, (.s64)1.5;",
    "ld.global.u32 %r1, [%d1-4];",
    "mov.u64 %d1, G-4;",
    "mov.u64 %d1, 4+G;",
    "bar.sync 15+1;",
    ".shared .b32 s[4*4];",
    ".shared .b32 s[(1<<2)-1];",
    ".shared .align 2*4 .b32 s[4];",
    ".reg .b32 %q<2*4>;",
];

fn text(variables: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 16 .b8 G[64];\n{variables}\n\
         .visible .entry k(.param .u64 out) {{ .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .f32 %f; .reg .f64 %e; .reg .pred %p<3>;\n\
         {body}\nret; }}\n"
    )
}

fn taken(text: &str) -> bool {
    Module::parse(text).and_then(|module| module.kernel("k")).is_ok()
}

#[test]
fn variables_begin_with_the_values_of_expressions() {
    for (kind, expression, bits) in VALUES {
        let module = Module::parse(&text(&format!(".global .{kind} X = {expression};"), ""));
        let module = module.unwrap_or_else(|error| panic!("{kind} {expression}: {error}"));
        let mut bytes = [0; 8];
        let count = module.variable_bytes("X").expect("it is there") as usize;
        Device::new().read_variable(&module, "X", 0, &mut bytes[..count]).expect("it can be read");
        assert_eq!(u64::from_le_bytes(bytes), *bits, "{kind} {expression}");
    }
}

#[test]
fn what_is_no_expression_of_its_type_is_refused() {
    for (kind, expression) in REFUSED {
        assert!(!taken(&text(&format!(".global .{kind} X = {expression};"), "")), "{kind} {expression}");
    }
    let deep = "(".repeat(1000) + "1" + &")".repeat(1000);
    assert!(!taken(&text("", &format!("mov.u32 %r1, {deep};"))), "a thousand brackets");
    assert!(!taken(&text("", &format!("mov.u32 %r1, {}1;", "-".repeat(100_000)))), "100,000 signs");
}

#[test]
fn statements_with_constants() {
    for body in TAKEN {
        let module = Module::parse(&text("", body)).and_then(|module| module.kernel("k"));
        assert!(module.is_ok(), "{body}: {module:?}");
    }
    for body in NOT_TAKEN {
        assert!(!taken(&text("", body)), "{body}");
    }
}

#[test]
fn operands_offsets_and_lists_have_the_values_of_expressions() {
    let variables = ".global .align 4 .u32 three[3] = {1+1, (2<<1)*WARP_SZ, -1 < 0 ? 7 : 8};";
    let body = "ld.param.u64 %d1, [out+4-4]; mov.u64 %d2, three+2*2; ld.global.u32 %r1, [%d2+-4]; ld.global.u32 %r2, [three+(1<<2)];\n\
        ld.global.u32 %r3, [%d2+2*2]; mov.f32 %f, 1.5*2.0; mov.b32 %r4, %f; add.u32 %r5, 3-5, (.s64)-1;\n\
        st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4}; st.global.u32 [%d1+8*2], %r5; st.global.u32 [%d1+20], ~0 >> 60;";
    let kernel = Module::parse(&text(variables, body)).and_then(|module| module.kernel("k")).expect("it is right");
    let mut device = Device::new();
    let out = device.alloc("out", 24);
    device.launch(&kernel, Launch::new(1, 1), &[Argument::Buffer(out)]).expect("it is right");
    let mut bytes = [0; 24];
    device.read(out, &mut bytes).expect("all was written");
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect();
    assert_eq!(words, [2, 128, 7, 3f32.to_bits(), -3i32 as u32, 15]);
}
