//! What single instructions compute, where the forms in `tests/ptx` do not go: signs of zeros, floors at zero, and the widths and
//! halves of less common forms. Each is held against a formula of this test's own.

use crate::dice::Dice;
use crate::run::Kernel;

/// What each text leaves in `%d0`.
fn check(cases: &[(String, u64)]) {
    for some in cases.chunks(100) {
        let body: String = some
            .iter()
            .enumerate()
            .map(|(n, (text, _))| format!("{text}\nst.global.u64 [%out+{}], %d0;\n", 8 * n))
            .collect();
        let words = Kernel::new(1, &body).output(8 * some.len()).words(2 * some.len());
        for (n, (text, wanted)) in some.iter().enumerate() {
            let got = u64::from(words[2 * n + 1]) << 32 | u64::from(words[2 * n]);
            assert_eq!(got, *wanted, "{got:#x}, not {wanted:#x}: {text}");
        }
    }
}

/// An instruction of operands of so many bits, as untyped numbers, whose result has as many.
fn of_bits(bits: u32, opcode: &str, operands: &[u64]) -> String {
    let (letter, widen) = match bits {
        64 => ('d', "mov.b64 %d0, %d9;"),
        32 => ('r', "cvt.u64.u32 %d0, %r9;"),
        _ => ('h', "cvt.u64.u16 %d0, %h9;"),
    };
    let set = |(n, value): (usize, &u64)| format!("mov.b{bits} %{letter}{}, {value};\n", n + 1);
    let names: Vec<String> = (1..=operands.len()).map(|n| format!("%{letter}{n}")).collect();
    let sets: String = operands.iter().enumerate().map(set).collect();
    format!("{sets}{opcode} %{letter}9, {};\n{widen}", names.join(", "))
}

/// A format's width, and its patterns of some numbers: 0, the least subnormal one, 1, 1.5 and infinity; and the NaN of results.
const FORMATS: [(&str, u32, [u64; 5], u64); 4] = [
    ("f16", 16, [0, 1, 0x3c00, 0x3e00, 0x7c00], 0x7fff),
    ("bf16", 16, [0, 1, 0x3f80, 0x3fc0, 0x7f80], 0x7fff),
    ("f32", 32, [0, 1, 0x3f80_0000, 0x3fc0_0000, 0x7f80_0000], 0x7fff_ffff),
    ("f64", 64, [0, 1, 0x3ff0 << 48, 0x3ff8 << 48, 0x7ff0 << 48], 0x7ff8 << 48),
];

#[test]
fn the_lesser_and_the_greater_of_two_floats() {
    let mut cases = Vec::new();
    for (format, bits, patterns, nan) in FORMATS {
        let sign = 1u64 << (bits - 1);
        // In ascending order: -0 lies below +0.
        let ascending: Vec<u64> = patterns.iter().rev().map(|p| p | sign).chain(patterns).collect();
        let whole = bits == 16;
        let twice = |value: u64, other: u64| if whole { other << 16 | value } else { value };
        for (a, &first) in ascending.iter().enumerate() {
            for (b, &second) in ascending.iter().enumerate() {
                for (opcode, wanted) in [("min", a.min(b)), ("max", a.max(b))] {
                    let wanted = ascending[wanted];
                    cases.push((of_bits(bits, &format!("{opcode}.{format}"), &[first, second]), wanted));
                    if bits == 64 {
                        continue;
                    }
                    cases.push((of_bits(bits, &format!("{opcode}.NaN.{format}"), &[first, second]), wanted));
                    if whole {
                        // The other half has other numbers.
                        let packed = [twice(first, patterns[2]), twice(second, patterns[3])];
                        let upper = if opcode == "min" { patterns[2] } else { patterns[3] };
                        cases.push((of_bits(32, &format!("{opcode}.{format}x2"), &packed), twice(wanted, upper)));
                    }
                    // Of magnitudes, with the sign that the product would have.
                    let magnitudes = [first & !sign, second & !sign];
                    let chosen = if opcode == "min" {
                        magnitudes[0].min(magnitudes[1])
                    } else {
                        magnitudes[0].max(magnitudes[1])
                    };
                    let with_sign = chosen | (first ^ second) & sign;
                    cases.push((of_bits(bits, &format!("{opcode}.xorsign.abs.{format}"), &[first, second]), with_sign));
                }
            }
            if bits == 64 {
                continue;
            }
            // Beside a NaN the number, or with the modifier the NaN.
            for (opcode, wanted) in [("min", first), ("max", first), ("min.NaN", nan), ("max.NaN", nan)] {
                for operands in [[first, nan], [nan, first], [nan & !1, first]] {
                    cases.push((of_bits(bits, &format!("{opcode}.{format}"), &operands), wanted));
                }
            }
        }
    }
    check(&cases);
}

const WORDS: [u32; 12] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x8000_7fff,
    0x7fff_8000,
    0x0001_ffff,
    0xffff_0001,
    0x1234_8765,
    0xfedc_4321,
];

#[test]
fn halves_are_computed_each_by_itself() {
    let mut cases = Vec::new();
    type Half = fn(i32, i32) -> i32;
    let signed: [(&str, Half); 5] = [
        ("add.s16x2", |a, b| a + b),
        ("min.s16x2", i32::min),
        ("max.s16x2", i32::max),
        ("min.relu.s16x2", |a, b| a.min(b).max(0)),
        ("max.relu.s16x2", |a, b| a.max(b).max(0)),
    ];
    let unsigned: [(&str, Half); 3] = [("add.u16x2", |a, b| a + b), ("min.u16x2", i32::min), ("max.u16x2", i32::max)];
    for (a, b) in WORDS.iter().flat_map(|a| WORDS.map(|b| (*a, b))) {
        for (opcodes, extend) in [(&signed[..], true), (&unsigned[..], false)] {
            let half = |word: u32, n: u32| {
                let half = (word >> (16 * n)) as u16;
                if extend { i32::from(half as i16) } else { i32::from(half) }
            };
            for (opcode, meaning) in opcodes {
                let of = |n: u32| u64::from(meaning(half(a, n), half(b, n)) as u16);
                cases.push((of_bits(32, opcode, &[a.into(), b.into()]), of(1) << 16 | of(0)));
            }
        }
        let (x, y) = (a as i32, b as i32);
        for (opcode, wanted) in [("min.relu.s32", x.min(y).max(0)), ("max.relu.s32", x.max(y).max(0))] {
            cases.push((of_bits(32, opcode, &[a.into(), b.into()]), u64::from(wanted as u32)));
        }
    }
    check(&cases);
}

/// Sums and products of words, of one half of a number and then of the other, with what is carried between them.
#[test]
fn carries_join_words_to_a_longer_number() {
    let mut dice = Dice::new(11);
    let mut cases = Vec::new();
    for bits in [32u32, 64] {
        let (letter, mask) = if bits == 32 { ('r', u128::from(u32::MAX)) } else { ('d', u128::from(u64::MAX)) };
        let edges = [0, 1, 2, mask, mask - 1, mask >> 1, (mask >> 1) + 1];
        for kind in ['u', 's'] {
            for _ in 0..60 {
                let [a, b, c, d] = [0; 4].map(|_| dice.pick(&edges));
                let (first, second) = (b << bits | a, d << bits | c);
                let double = |value: u128| if bits == 64 { value } else { value & u128::from(u64::MAX) };
                let set: String = [(1, a), (2, b), (3, c), (4, d)]
                    .iter()
                    .map(|(n, value)| format!("mov.b{bits} %{letter}{n}, {value};\n"))
                    .collect();
                let word = |name: u32| match bits {
                    32 => format!("cvt.u64.u32 %d0, %r{name};"),
                    _ => format!("mov.b64 %d0, %d{name};"),
                };
                let mut push = |text: &str, result: u128, carry: u128| {
                    let text = text.replace("TYPE", &format!("{kind}{bits}")).replace('%', &format!("%{letter}"));
                    for (name, value) in [(10, result & mask), (11, result >> bits & mask), (12, carry)] {
                        cases.push((format!("{set}{text}\n{}", word(name)), value as u64));
                    }
                };
                let sum = double(first.wrapping_add(second));
                let carried =
                    if bits == 64 { first.checked_add(second).is_none() } else { first + second > double(u128::MAX) };
                push("add.cc.TYPE %10, %1, %3;\naddc.cc.TYPE %11, %2, %4;\naddc.TYPE %12, 0, 0;", sum, carried.into());
                let difference = double(first.wrapping_sub(second));
                let borrowed = if first < second { mask } else { 0 };
                push("sub.cc.TYPE %10, %1, %3;\nsubc.cc.TYPE %11, %2, %4;\nsubc.TYPE %12, 0, 0;", difference, borrowed);
                // a × c + b, with d at the upper word; the upper half of the product is signed where the type is.
                let extend = |value: u128| {
                    if bits == 64 { i128::from(value as u64 as i64) } else { i128::from(value as u32 as i32) }
                };
                let product = if kind == 's' { (extend(a).wrapping_mul(extend(c))) as u128 } else { a.wrapping_mul(c) };
                let (low, high) = (product & mask, product >> bits & mask);
                let lower = low + b;
                let upper = high + d + (lower >> bits);
                let carry = upper >> bits;
                push(
                    "mad.lo.cc.TYPE %10, %1, %3, %2;\nmadc.hi.cc.TYPE %11, %1, %3, %4;\naddc.TYPE %12, 0, 0;",
                    (upper & mask) << bits | lower & mask,
                    carry,
                );
                // The other way round: the upper half first, whose carry the lower one takes.
                let upper = high + d;
                let lower = low + b + (upper >> bits);
                push(
                    "mad.hi.cc.TYPE %11, %1, %3, %4;\nmadc.lo.cc.TYPE %10, %1, %3, %2;\naddc.TYPE %12, 0, 0;",
                    (upper & mask) << bits | lower & mask,
                    lower >> bits,
                );
            }
        }
    }
    check(&cases);
}

#[test]
fn infinities_become_the_largest_number_where_they_are_asked_to() {
    let sign = 1u64 << 31;
    let (infinity, nan, large, tiny) = (0x7f80_0000u64, 0x7fff_ffffu64, 0x7f7f_ffffu64, 0x0000_1000u64);
    let word = |opcode: &str, value: u64| of_bits(32, opcode, &[value]);
    let narrow = |opcode: &str, value: u64| {
        format!("mov.b32 %r1, {value};\nmov.b32 %f1, %r1;\n{opcode} %h9, %f1;\ncvt.u64.u16 %d0, %h9;")
    };
    let pair = |opcode: &str, a: u64, b: u64| {
        format!(
            "mov.b32 %r1, {a};\nmov.b32 %f1, %r1;\nmov.b32 %r2, {b};\nmov.b32 %f2, %r2;\n{opcode} %r9, %f1, %f2;\ncvt.u64.u32 %d0, %r9;"
        )
    };
    let mut cases = Vec::new();
    for s in [0, sign] {
        for (value, kept, finite) in
            [(infinity, infinity, 0x7f7f_e000u64), (large, infinity, 0x7f7f_e000), (tiny, 0x2000, 0x2000)]
        {
            cases.push((word("cvt.rna.tf32.f32", value | s), kept | s));
            cases.push((word("cvt.rna.satfinite.tf32.f32", value | s), finite | s));
        }
        let (s16, large_brain) = (s >> 16, 0x7f7f);
        cases.push((narrow("cvt.rn.bf16.f32", large | s), 0x7f80 | s16));
        cases.push((narrow("cvt.rn.satfinite.bf16.f32", large | s), large_brain | s16));
        cases.push((narrow("cvt.rn.satfinite.bf16.f32", infinity | s), large_brain | s16));
        cases.push((narrow("cvt.rn.relu.satfinite.bf16.f32", infinity), large_brain));
        cases.push((pair("cvt.rn.satfinite.f16x2.f32", infinity | s, 0x3f80_0000), (0x7bff | s16) << 16 | 0x3c00));
        cases.push((pair("cvt.rn.satfinite.bf16x2.f32", 0x3f80_0000, large | s), 0x3f80 << 16 | large_brain | s16));
    }
    // What an H200 gives: the pattern below that of a NaN.
    cases.push((word("cvt.rna.satfinite.tf32.f32", nan), (nan & !0x1fff) - 0x2000));
    check(&cases);
}

#[test]
fn sixteen_bits_that_are_chosen_are_no_more_than_sixteen() {
    // -15000 is 0xc568, as a half -5.40625; 0xd640 is -100. The lesser one is -100, whatever lies above.
    let lesser = "mov.b16 %h2, 0xd640;\nmin.f16 %h9, %h1, %h2;\ncvt.u64.u16 %d0, %h9;";
    let ones = "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\nmov.f32 %f1, 0f3F800000;\n";
    let sets = [
        "mov.b16 %h1, -15000;",
        "selp.b16 %h1, -15000, 5, %p1;",
        "selp.s16 %h1, 5, -15000, !%p1;",
        "slct.b16.s32 %h1, -15000, 5, %r1;",
        "slct.u16.f32 %h1, -15000, 5, %f1;",
        "mov.b32 %r2, 0xffffc568;\nmov.b32 {%h1, %h3}, %r2;",
        "mov.u32 %r2, 0xc568;\nst.shared.u32 [tile], %r2;\nld.shared.s16 %h1, [tile];",
        "mov.u64 %d1, -15000;\ncvt.s16.s64 %h1, %d1;",
        "add.s16 %h1, -15001, 1;",
        "not.b16 %h1, 14999;",
    ];
    let mut cases: Vec<(String, u64)> = sets.iter().map(|set| (format!("{ones}{set}\n{lesser}"), 0xd640)).collect();
    // A byte of -1 fills the sixteen bits, and is a NaN as a half: the other one is taken.
    cases.push((format!("mov.u32 %r2, 0xbd;\nst.shared.u8 [tile], %r2;\nld.shared.s8 %h1, [tile];\n{lesser}"), 0xd640));
    check(&cases);
}

/// A half or bf16 number added to, subtracted and multiplied into a wider one.
#[test]
fn narrow_numbers_are_added_to_wide_ones() {
    let f32_of = |value: f32| u64::from(value.to_bits());
    let mut cases = Vec::new();
    for (format, one_and_a_half, three) in [("f16", 0x3e00u64, 0x4200u64), ("bf16", 0x3fc0, 0x4040)] {
        for c in [0.0f32, 1.0, -1.5, 1e30, f32::INFINITY] {
            let text = |opcode: &str, operands: &str| {
                format!(
                    "mov.b16 %h1, {one_and_a_half};\nmov.b16 %h2, {three};\nmov.b32 %r1, {};\nmov.b32 %f1, %r1;\n{opcode}.f32.{format} %f9, {operands};\nmov.b32 %r9, %f9;\ncvt.u64.u32 %d0, %r9;",
                    f32_of(c)
                )
            };
            cases.push((text("add.rn", "%h1, %f1"), f32_of(1.5 + c)));
            cases.push((text("sub.rn", "%h1, %f1"), f32_of(1.5 - c)));
            cases.push((text("sub", "%h2, %f1"), f32_of(3.0 - c)));
            cases.push((text("fma.rn", "%h1, %h2, %f1"), f32_of(4.5 + c)));
            cases.push((text("add.sat", "%h1, %f1"), f32_of((1.5 + c).clamp(0.0, 1.0))));
        }
    }
    for (text, wanted) in cases {
        let kernel = Kernel::new(1, &format!("{text}\nst.global.u64 [%out], %d0;"));
        let kernel = Kernel { text: kernel.text.replace("sm_90", "sm_100"), ..kernel };
        assert_eq!(kernel.words(1), [wanted as u32], "{text}");
    }
}

#[test]
fn the_nth_set_bit_is_found_from_a_place_up_or_down() {
    let mut cases = Vec::new();
    for mask in [0u32, 1, 0x8000_0000, 0xffff_ffff, 0x8421_8421, 0x0180_0180] {
        for base in [0u32, 1, 7, 8, 16, 31] {
            for offset in [0i32, 1, 2, 3, 31, 32, 33, -1, -2, -3, -32] {
                let set = |n: &u32| mask >> n & 1 == 1;
                let nth = |mut places: Box<dyn Iterator<Item = u32>>| places.nth(offset.unsigned_abs() as usize - 1);
                let found = match offset {
                    0 => Some(base).filter(|base| set(base)),
                    1.. => nth(Box::new((base..32).filter(set))),
                    _ => nth(Box::new((0..=base).rev().filter(set))),
                };
                let text = format!(
                    "mov.u32 %r1, {mask};\nmov.u32 %r2, {base};\nmov.u32 %r3, {offset};\nfns.b32 %r9, %r1, %r2, %r3;\ncvt.u64.u32 %d0, %r9;"
                );
                cases.push((text, found.unwrap_or(u32::MAX).into()));
            }
        }
    }
    check(&cases);
}

#[test]
fn the_least_normal_number_is_not_flushed() {
    // Of 2^-14, the least normal half, made by products, sums and conversions; and of half of it.
    let (small, half, least, one) = (0x2000, 0x1c00, 0x0400, 0x3c00);
    check(&[
        (of_bits(16, "mul.ftz.f16", &[small, small]), least),
        (of_bits(16, "mul.f16", &[small, small]), least),
        (of_bits(16, "mul.ftz.f16", &[0x8000 | small, small]), 0x8000 | least),
        (of_bits(16, "mul.ftz.f16", &[small, half]), 0),
        (of_bits(16, "mul.ftz.f16", &[0x8000 | small, half]), 0x8000),
        (of_bits(16, "mul.f16", &[small, half]), least / 2),
        (of_bits(16, "mul.ftz.f16", &[least, one]), least),
        (of_bits(16, "mul.ftz.f16", &[least - 1, one]), 0),
        (of_bits(16, "add.ftz.f16", &[least, 0]), least),
        (of_bits(16, "fma.rn.ftz.f16", &[small, small, 0]), least),
        (of_bits(32, "mul.ftz.f32", &[0x2000_0000, 0x2000_0000]), 0x0080_0000),
        (of_bits(32, "mul.ftz.f32", &[0x2000_0000, 0x1f80_0000]), 0),
        (of_bits(32, "mul.f32", &[0x2000_0000, 0x1f80_0000]), 0x0040_0000),
    ]);
}

#[test]
fn approximations_keep_subnormal_numbers_unless_they_are_flushed() {
    const LEAST: u64 = 0x0080_0000;
    const MINUS_130: u64 = 0xc302_0000;
    let (one, infinite, below) = (0x3f80_0000, 0x7f80_0000, 0x8000_0000);
    check(&[
        // 2^-130 is a sixteenth of the least normal number.
        (of_bits(32, "ex2.approx.f32", &[MINUS_130]), LEAST / 16),
        (of_bits(32, "ex2.approx.ftz.f32", &[MINUS_130]), 0),
        (of_bits(32, "ex2.approx.f32", &[1]), one),
        (of_bits(32, "ex2.approx.ftz.f32", &[1]), one),
        // The logarithm of 2^-130; and of what counts as zero.
        (of_bits(32, "lg2.approx.f32", &[LEAST / 16]), MINUS_130),
        (of_bits(32, "lg2.approx.ftz.f32", &[LEAST / 16]), below | infinite),
        // A quarter of it is 2^-128, whose root is 2^-64.
        (of_bits(32, "rsqrt.approx.f32", &[LEAST / 4]), 0x5f80_0000),
        (of_bits(32, "rsqrt.approx.ftz.f32", &[LEAST / 4]), infinite),
        (of_bits(32, "rsqrt.approx.ftz.f32", &[below | (LEAST / 4)]), below | infinite),
        (of_bits(32, "sin.approx.ftz.f32", &[below | (LEAST / 2)]), below),
        (of_bits(32, "cos.approx.ftz.f32", &[LEAST / 2]), one),
    ]);
}
