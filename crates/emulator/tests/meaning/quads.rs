//! `mma.m8n8k4` of f16, where its sums are rounded, and products and conversions that are refused by their names.

use emulator::Module;

use crate::run::Kernel;

/// The first sum of a product whose A and B have these rows in f32, all of them alike, and C.
fn sum(launch: impl Fn(Kernel) -> Kernel, [a, b]: [[u32; 4]; 2], c: u32, halves: bool) -> u32 {
    let pair = |x: [u32; 4]| [x[0] | x[1] << 16, x[2] | x[3] << 16];
    let ([a0, a1], [b0, b1]) = (pair(a), pair(b));
    let (letter, kind, count) = if halves { ('r', "f16", 4) } else { ('f', "f32", 8) };
    let list: Vec<String> = (40..40 + count).map(|n| format!("%{letter}{n}")).collect();
    let starts: String = list.iter().map(|name| format!("mov.b32 {name}, {c};\n")).collect();
    let sums = list.join(", ");
    let body = format!(
        "mov.b32 %r1, {a0};\nmov.b32 %r2, {a1};\nmov.b32 %r3, {b0};\nmov.b32 %r4, {b1};\n{starts}\
         mma.sync.aligned.m8n8k4.row.col.{kind}.f16.f16.{kind} {{{sums}}}, {{%r1, %r2}}, {{%r3, %r4}}, {{{sums}}};\n\
         mad.wide.u32 %d1, %t, 4, %out;\nst.global.b32 [%d1], %{letter}40;"
    );
    let words = launch(Kernel::new(32, &body)).words(32);
    assert!(words.iter().all(|word| *word == words[0]), "{words:x?}");
    words[0]
}

#[test]
fn a_product_of_quads_is_rounded_after_each_step() {
    let hopper = |kernel: Kernel| kernel;
    // Three quarters of the last place of 2^23: tensor cores cut them off.
    let (three_quarters, ones) = ([0x3a00, 0, 0, 0], [0x3c00; 4]);
    let c = 8_388_608f32.to_bits();
    assert_eq!(f32::from_bits(sum(hopper, [three_quarters, ones], c, false)), 8_388_609.0);
    let turing = |kernel: Kernel| kernel.clone().launch(kernel.launch.architecture(75));
    assert_eq!(f32::from_bits(sum(turing, [three_quarters, ones], c, false)), 8_388_608.0);
    // C comes last: each product is less than half of the last place of 2^27, and all together are as much as it.
    let c = 134_217_728f32.to_bits();
    assert_eq!(f32::from_bits(sum(hopper, [ones, ones], c, false)), 134_217_728.0);
    let twos = [0x4000; 4];
    assert_eq!(f32::from_bits(sum(hopper, [twos, twos], c, false)), 134_217_744.0);
    // Nothing at all, which leaves C as it is: the least number, and zero without its sign.
    for (c, wanted) in [(0, 0), (1, 1), (0x8000_0000, 0), (0x8000_0001, 0x8000_0001)] {
        assert_eq!(sum(hopper, [[0; 4], ones], c, false), wanted, "{c:#x}");
    }
    // In halves: 1 and four times 2^-12, which only together are as much as the last place.
    let tiny = [0x0c00; 4];
    assert_eq!(sum(hopper, [tiny, ones], 0x3c00_3c00, true), 0x3c01_3c01);
}

#[test]
fn a_product_of_quads_counts_its_operations() {
    // Four products of 8 by 8 by 4 in a warp, two operations for each term.
    let body = "mov.u32 %r1, 0;\nmov.f32 %f1, 0f00000000;\nmma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}, \
        {%r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};";
    let total = Kernel::new(64, body).run().expect("it is right").report.total;
    assert_eq!((total.flops_f32, total.flops_f64), (2 * 4 * 8 * 8 * 4 * 2, 0));
}

#[test]
fn what_later_gpus_have_is_refused_by_its_name() {
    for (instruction, why) in [
        (
            "mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r4, 0;",
            "sparse matrices",
        ),
        ("cvt.rn.satfinite.e2m1x2.f32 %h0, %f0, %f1;", "an instruction of Blackwell"),
        ("cvt.rz.satfinite.ue8m0x2.f32 %h0, %f0, %f1;", "an instruction of Blackwell"),
        ("cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1;", "an instruction of Blackwell"),
    ] {
        let kernel = Kernel::new(32, instruction);
        let error = Module::parse(&kernel.text).and_then(|module| module.kernel("k")).map(drop).expect_err(instruction);
        assert!(error.to_string().contains(why), "{instruction}: {error}");
    }
}
