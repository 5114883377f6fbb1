//! An instruction's meaning stands in `general`. Those with an operation of their own, for speed, must mean the same: for
//! values at the edges of their types and by chance, for every operation that there is.

use super::alu::{Slots, execute};
use super::general::evaluate;
use crate::machine::lanes::{FULL, LANES, Lanes};
use crate::machine::state::warp::Warp;
use crate::program::{
    Alu, Clamp, Comparison, File, FloatOp, Format, General, IntegerOp, Mode, Number, Relation, Rounding,
};

/// What an operation must compute.
enum Meaning {
    As(General),
    /// Bits that are moved, or joined by an operator that says it all.
    Bits(fn(u64, u64, u64) -> u64),
}

use Meaning::{As, Bits};

fn integer(op: IntegerOp, bits: u8, signed: bool) -> Meaning {
    As(General::Integer { op, bits, signed })
}

fn float(op: FloatOp, format: Format) -> Meaning {
    As(General::Float { op, format, mode: Mode::PLAIN, packed: false })
}

fn compare(test: Comparison, number: Number) -> Meaning {
    As(General::Compare { test, number, flush: false, half: 0 })
}

const S32: Number = Number::Integer { bits: 32, signed: true };
const U32: Number = Number::Integer { bits: 32, signed: false };
const S64: Number = Number::Integer { bits: 64, signed: true };
const U64: Number = Number::Integer { bits: 64, signed: false };
const F32: Number = Number::Float(Format::F32);
const F64: Number = Number::Float(Format::F64);

fn convert(to: Number, from: Number, rounding: Rounding) -> Meaning {
    let integral = matches!((to, from), (Number::Integer { .. }, Number::Float(_)));
    let mode = Mode { rounding, clamp: Clamp::None, ..Mode::PLAIN };
    As(General::Convert { to, from, mode, integral, register_bits: to.bits() })
}

fn whole(number: Number, rounding: Rounding) -> Meaning {
    let mode = Mode { rounding, ..Mode::PLAIN };
    As(General::Convert { to: number, from: number, mode, integral: true, register_bits: number.bits() })
}

/// Without a wildcard, so that a new operation cannot be forgotten.
#[rustfmt::skip]
fn meaning(code: Alu) -> Meaning {
    use Alu::*;
    use Comparison::{AnyNan, BothNumbers, OrUnordered, Ordered};
    use FloatOp as F;
    use IntegerOp as I;
    use Relation::{Eq, Le, Lt, Ne};
    use Rounding::{Down, Nearest, Up, Zero};
    match code {
        Mov32 | Mov64 | MovP => Bits(|a, _, _| a),
        Pack64 => Bits(|a, b, _| b << 32 | a),
        Low64 | Truncate64 => Bits(|a, _, _| a & 0xffff_ffff),
        High64 => Bits(|a, _, _| a >> 32),
        Pack32 => Bits(|a, b, _| (b & 0xffff) << 16 | a & 0xffff),
        Low32 | Trunc16 => Bits(|a, _, _| a & 0xffff),
        High32 => Bits(|a, _, _| a >> 16),
        Trunc8 => Bits(|a, _, _| a & 0xff),
        SignExtend8 => Bits(|a, _, _| u64::from(a as i8 as u32)),
        SignExtend16 => Bits(|a, _, _| u64::from(a as i16 as u32)),
        AndP => Bits(|a, b, _| a & b),
        OrP => Bits(|a, b, _| a | b),
        XorP => Bits(|a, b, _| a ^ b),
        NotP => Bits(|a, _, _| a ^ 1),
        Select32 | Select64 | SelectP => Bits(|a, b, c| if c == 1 { a } else { b }),
        // `prmt` and `shf.wrap` have no other form than this one.
        Prmt32 => Bits(|a, b, c| (0..4).fold(0, |out, n| {
            let (pick, pair) = (c >> (4 * n) & 0xf, b << 32 | a);
            let byte = pair >> (8 * (pick & 7)) & 0xff;
            out | (if pick & 8 == 0 { byte } else { 0xff * (byte >> 7) }) << (8 * n)
        })),
        FunnelL32 => Bits(|a, b, c| (b << 32 | a) << (c & 31) >> 32),
        FunnelR32 => Bits(|a, b, c| (b << 32 | a) >> (c & 31) & 0xffff_ffff),
        Add32 => integer(I::Add, 32, false), Sub32 => integer(I::Sub, 32, false),
        MulLo32 => integer(I::MulLo, 32, false), MadLo32 => integer(I::MadLo, 32, false),
        MulHiS32 => integer(I::MulHi, 32, true), MulHiU32 => integer(I::MulHi, 32, false),
        MadHiS32 => integer(I::MadHi, 32, true), MadHiU32 => integer(I::MadHi, 32, false),
        DivS32 => integer(I::Div, 32, true), DivU32 => integer(I::Div, 32, false),
        RemS32 => integer(I::Rem, 32, true), RemU32 => integer(I::Rem, 32, false),
        MinS32 => integer(I::Min, 32, true), MinU32 => integer(I::Min, 32, false),
        MaxS32 => integer(I::Max, 32, true), MaxU32 => integer(I::Max, 32, false),
        Abs32 => integer(I::Abs, 32, true), Neg32 => integer(I::Neg, 32, true),
        And32 => integer(I::And, 32, false), Or32 => integer(I::Or, 32, false),
        Xor32 => integer(I::Xor, 32, false), Not32 => integer(I::Not, 32, false),
        Shl32 => integer(I::Shl, 32, false),
        ShrU32 => integer(I::Shr, 32, false), ShrS32 => integer(I::Shr, 32, true),
        Popc32 => integer(I::Popc, 32, false), Clz32 => integer(I::Clz, 32, false), Brev32 => integer(I::Brev, 32, false),
        BfeU32 => integer(I::Bfe, 32, false), BfeS32 => integer(I::Bfe, 32, true),
        Add64 => integer(I::Add, 64, false), Sub64 => integer(I::Sub, 64, false),
        MulLo64 => integer(I::MulLo, 64, false), MadLo64 => integer(I::MadLo, 64, false),
        MulHiS64 => integer(I::MulHi, 64, true), MulHiU64 => integer(I::MulHi, 64, false),
        DivS64 => integer(I::Div, 64, true), DivU64 => integer(I::Div, 64, false),
        RemS64 => integer(I::Rem, 64, true), RemU64 => integer(I::Rem, 64, false),
        MinS64 => integer(I::Min, 64, true), MinU64 => integer(I::Min, 64, false),
        MaxS64 => integer(I::Max, 64, true), MaxU64 => integer(I::Max, 64, false),
        Abs64 => integer(I::Abs, 64, true), Neg64 => integer(I::Neg, 64, true),
        And64 => integer(I::And, 64, false), Or64 => integer(I::Or, 64, false),
        Xor64 => integer(I::Xor, 64, false), Not64 => integer(I::Not, 64, false),
        Shl64 => integer(I::Shl, 64, false),
        ShrU64 => integer(I::Shr, 64, false), ShrS64 => integer(I::Shr, 64, true),
        Popc64 => integer(I::Popc, 64, false), Clz64 => integer(I::Clz, 64, false), Brev64 => integer(I::Brev, 64, false),
        MulWideS32 => integer(I::MulWide, 32, true), MulWideU32 => integer(I::MulWide, 32, false),
        MadWideS32 => integer(I::MadWide, 32, true), MadWideU32 => integer(I::MadWide, 32, false),
        MulWideS16 => integer(I::MulWide, 16, true), MulWideU16 => integer(I::MulWide, 16, false),
        ExtendS32 => convert(S64, S32, Nearest), ExtendU32 => convert(U64, U32, Nearest),
        AddF32 => float(F::Add, Format::F32), SubF32 => float(F::Sub, Format::F32), MulF32 => float(F::Mul, Format::F32),
        FmaF32 => float(F::Fma, Format::F32), DivF32 => float(F::Div, Format::F32),
        MinF32 => float(F::Min, Format::F32), MaxF32 => float(F::Max, Format::F32),
        AbsF32 => float(F::Abs, Format::F32), NegF32 => float(F::Neg, Format::F32),
        SqrtF32 => float(F::Sqrt, Format::F32), RcpF32 => float(F::Reciprocal, Format::F32),
        RsqrtF32 => float(F::ReciprocalSqrt, Format::F32), SinF32 => float(F::Sin, Format::F32),
        CosF32 => float(F::Cos, Format::F32), Ex2F32 => float(F::Exp2, Format::F32), Lg2F32 => float(F::Log2, Format::F32),
        AddF64 => float(F::Add, Format::F64), SubF64 => float(F::Sub, Format::F64), MulF64 => float(F::Mul, Format::F64),
        FmaF64 => float(F::Fma, Format::F64), DivF64 => float(F::Div, Format::F64),
        MinF64 => float(F::Min, Format::F64), MaxF64 => float(F::Max, Format::F64),
        AbsF64 => float(F::Abs, Format::F64), NegF64 => float(F::Neg, Format::F64),
        SqrtF64 => float(F::Sqrt, Format::F64), RcpF64 => float(F::Reciprocal, Format::F64),
        F32ToF64 => convert(F64, F32, Nearest), F64ToF32 => convert(F32, F64, Nearest),
        S32ToF32 => convert(F32, S32, Nearest), U32ToF32 => convert(F32, U32, Nearest),
        S64ToF32 => convert(F32, S64, Nearest), U64ToF32 => convert(F32, U64, Nearest),
        S32ToF64 => convert(F64, S32, Nearest), U32ToF64 => convert(F64, U32, Nearest),
        S64ToF64 => convert(F64, S64, Nearest), U64ToF64 => convert(F64, U64, Nearest),
        F32ToS32 => convert(S32, F32, Zero), F32ToU32 => convert(U32, F32, Zero),
        F32ToS64 => convert(S64, F32, Zero), F32ToU64 => convert(U64, F32, Zero),
        F64ToS32 => convert(S32, F64, Zero), F64ToU32 => convert(U32, F64, Zero),
        F64ToS64 => convert(S64, F64, Zero), F64ToU64 => convert(U64, F64, Zero),
        FloorF32 => whole(F32, Down), CeilF32 => whole(F32, Up), TruncF32 => whole(F32, Zero), RoundF32 => whole(F32, Nearest),
        FloorF64 => whole(F64, Down), CeilF64 => whole(F64, Up), TruncF64 => whole(F64, Zero), RoundF64 => whole(F64, Nearest),
        Eq32 => compare(Ordered(Eq), U32), Ne32 => compare(Ordered(Ne), U32),
        LtS32 => compare(Ordered(Lt), S32), LeS32 => compare(Ordered(Le), S32),
        LtU32 => compare(Ordered(Lt), U32), LeU32 => compare(Ordered(Le), U32),
        Eq64 => compare(Ordered(Eq), U64), Ne64 => compare(Ordered(Ne), U64),
        LtS64 => compare(Ordered(Lt), S64), LeS64 => compare(Ordered(Le), S64),
        LtU64 => compare(Ordered(Lt), U64), LeU64 => compare(Ordered(Le), U64),
        EqF32 => compare(Ordered(Eq), F32), NeF32 => compare(Ordered(Ne), F32),
        LtF32 => compare(Ordered(Lt), F32), LeF32 => compare(Ordered(Le), F32),
        EquF32 => compare(OrUnordered(Eq), F32), NeuF32 => compare(OrUnordered(Ne), F32),
        LtuF32 => compare(OrUnordered(Lt), F32), LeuF32 => compare(OrUnordered(Le), F32),
        NumF32 => compare(BothNumbers, F32), NanF32 => compare(AnyNan, F32),
        EqF64 => compare(Ordered(Eq), F64), NeF64 => compare(Ordered(Ne), F64),
        LtF64 => compare(Ordered(Lt), F64), LeF64 => compare(Ordered(Le), F64),
        EquF64 => compare(OrUnordered(Eq), F64), NeuF64 => compare(OrUnordered(Ne), F64),
        LtuF64 => compare(OrUnordered(Lt), F64), LeuF64 => compare(OrUnordered(Le), F64),
        NumF64 => compare(BothNumbers, F64), NanF64 => compare(AnyNan, F64),
    }
}

/// What an operation gives.
pub(crate) fn result_of(code: Alu, [a, b, c]: [u64; 3]) -> u64 {
    match meaning(code) {
        As(general) => evaluate(general, [a, b, c, 0]),
        Bits(function) => function(a, b, c),
    }
}

const EDGES: [u64; 28] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbfc0_0000,
    0x7f80_0000,
    0x7f80_0001,
    0xff80_0000,
    0x0000_0001_0000_0000,
    0x3ff8_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// A value of a file: at an edge, a float of ordinary size, or any.
fn value(file: File, dice: &mut u64) -> u64 {
    let mut roll = || {
        *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *dice >> 32
    };
    let kind = roll() % 4;
    let ordinary = (roll() as f64 / 65536.0 - 32768.0) * if roll() % 2 == 0 { 1.0 } else { 0.001 };
    match (file, kind) {
        (File::P, _) => roll() & 1,
        (_, 0) => EDGES[roll() as usize % EDGES.len()] & if file == File::R { 0xffff_ffff } else { u64::MAX },
        (File::R, 1) => u64::from((ordinary as f32).to_bits()),
        (File::D, 1) => ordinary.to_bits(),
        (File::R, 2) => u64::from((ordinary as f32).round().to_bits()),
        (File::D, 2) => ordinary.round().to_bits(),
        (File::R, _) => roll(),
        (File::D, _) => roll() << 32 | roll(),
    }
}

/// The operations whose errors the manual bounds only: the same result within so many units in the last place.
fn within(code: Alu) -> u64 {
    match code {
        Alu::SinF32 | Alu::CosF32 | Alu::Ex2F32 | Alu::Lg2F32 | Alu::RsqrtF32 => 1,
        _ => 0,
    }
}

#[test]
fn operations_with_a_fast_path_mean_what_the_general_ones_mean() {
    let (r, d, p) = (vec![Lanes([0; LANES]); 4], vec![Lanes([0; LANES]); 4], vec![0; 4]);
    let mut warp = Warp { r, d, p, ..Warp::default() };
    let mut dice = 1;
    for &code in Alu::ALL {
        let signature = code.signature();
        for _ in 0..64 {
            let mut given = [[0; 3]; LANES];
            for (n, file) in signature[1..].iter().enumerate() {
                let values: [u64; LANES] = std::array::from_fn(|_| value(*file, &mut dice));
                given.iter_mut().zip(values).for_each(|(lane, value)| lane[n] = value);
                warp.set_wide(*file, n as u32, &values, FULL);
            }
            execute(&mut warp, code, Slots { d: 3, a: 0, b: 1, c: 2 }, FULL);
            for (lane, &[a, b, c]) in given.iter().enumerate() {
                let (got, wanted) = (warp.wide(signature[0], 3, lane), result_of(code, [a, b, c]));
                assert!(
                    got.abs_diff(wanted) <= within(code),
                    "{code:?} of {a:x}, {b:x}, {c:x}: {got:x}, not {wanted:x}"
                );
            }
        }
    }
}

#[test]
fn lanes_that_do_not_run_keep_their_values() {
    let (r, d) = (vec![Lanes([7; LANES]); 4], vec![Lanes([7; LANES]); 4]);
    let mut warp = Warp { r, d, ..Warp::default() };
    for &code in Alu::ALL {
        warp.p = vec![0x5555_5555; 4];
        let file = code.signature()[0];
        let before: Vec<u64> = (0..LANES).map(|lane| warp.wide(file, 3, lane)).collect();
        execute(&mut warp, code, Slots { d: 3, a: 0, b: 1, c: 2 }, 0x0000_ffff);
        let after: Vec<u64> = (0..LANES).map(|lane| warp.wide(file, 3, lane)).collect();
        assert_eq!(before[16..], after[16..], "{code:?}");
    }
}
