//! Lane-wise instructions on the registers of a warp. The few that kernels spend their time in are
//! inlined into the vector code of `step::dispatch`; the others are compiled once.

use super::float64::*;
use super::meaning::*;
use crate::machine::cpu::fma_f32_run;
use crate::machine::lanes::{FULL, for_each_lane, mask_where};
use crate::machine::state::operands::set_predicate;
use crate::machine::state::warp::Warp;
use crate::program::{Alu, Instruction, Op, Slot};

/// Registers of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
}

#[inline(always)]
pub(crate) fn execute(warp: &mut Warp, code: Alu, slots: Slots, mask: u32) {
    let s = slots;
    let f32 = f32::from_bits;
    match code {
        Alu::FmaF32 => rrrr(warp, s, mask, |a, b, c| f32_bits(f32(a).mul_add(f32(b), f32(c)))),
        Alu::FmaF64 => fma_f64(warp, s, mask),
        Alu::Mov32 => rr(warp, s, mask, |a| a),
        Alu::Mov64 => dd(warp, s, mask, |a| a),
        Alu::Add32 => rrr(warp, s, mask, u32::wrapping_add),
        Alu::Sub32 => rrr(warp, s, mask, u32::wrapping_sub),
        Alu::MulLo32 => rrr(warp, s, mask, u32::wrapping_mul),
        Alu::MadLo32 => rrrr(warp, s, mask, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Alu::And32 => rrr(warp, s, mask, |a, b| a & b),
        Alu::Or32 => rrr(warp, s, mask, |a, b| a | b),
        Alu::Shl32 => rrr(warp, s, mask, shl_32),
        Alu::ShrU32 => rrr(warp, s, mask, shr_u32),
        Alu::ShrS32 => rrr(warp, s, mask, shr_s32),
        Alu::Add64 => ddd(warp, s, mask, u64::wrapping_add),
        Alu::Sub64 => ddd(warp, s, mask, u64::wrapping_sub),
        Alu::MulWideS32 => drr(warp, s, mask, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        Alu::ExtendS32 => dr(warp, s, mask, |a| i64::from(a as i32) as u64),
        Alu::LtS32 => prr(warp, s, mask, |a, b| (a as i32) < b as i32),
        Alu::LeS32 => prr(warp, s, mask, |a, b| a as i32 <= b as i32),
        Alu::Eq32 => prr(warp, s, mask, |a, b| a == b),
        Alu::Ne32 => prr(warp, s, mask, |a, b| a != b),
        Alu::AndP => ppp(warp, s, mask, |a, b| a & b),
        Alu::OrP => ppp(warp, s, mask, |a, b| a | b),
        Alu::AddF32 => rrr(warp, s, mask, |a, b| f32_bits(f32(a) + f32(b))),
        Alu::MulF32 => rrr(warp, s, mask, |a, b| f32_bits(f32(a) * f32(b))),
        Alu::AddF64 => arithmetic_f64(warp, s, mask, |a, b| a + b),
        Alu::MulF64 => arithmetic_f64(warp, s, mask, |a, b| a * b),
        Alu::Select32 => {
            let (a, b, c) = (warp.r[s.a as usize].0, warp.r[s.b as usize].0, warp.p[s.c as usize]);
            let out = for_each_lane(|lane| if c >> lane & 1 == 1 { a[lane] } else { b[lane] });
            warp.r[s.d as usize].set(&out, mask);
        }
        _ => execute_rare(warp, code, slots, mask),
    }
}

/// A row of unguarded FMAs of one kind.
#[inline(always)]
pub(crate) fn fma_run<const CPU: u8>(warp: &mut Warp, run: &[Instruction], mask: u32) {
    let single = matches!(run[0].op, Op::Alu { code: Alu::FmaF32, .. });
    if single && mask == FULL && fma_f32_run::<CPU>(&mut warp.r, run) {
        return;
    }
    for instruction in run {
        match instruction.op {
            Op::Alu { code: Alu::FmaF32, d, a, b, c } => {
                let f = f32::from_bits;
                rrrr(warp, Slots { d, a, b, c }, mask, |a, b, c| f32_bits(f(a).mul_add(f(b), f(c))));
            }
            Op::Alu { d, a, b, c, .. } => fma_f64(warp, Slots { d, a, b, c }, mask),
            _ => {}
        }
    }
}

#[inline(never)]
fn execute_rare(warp: &mut Warp, code: Alu, s: Slots, mask: u32) {
    match code.signature()[0] {
        crate::program::File::P => compare(warp, code, s, mask),
        _ => float(warp, code, s, mask),
    }
}

fn integer(warp: &mut Warp, code: Alu, s: Slots, mask: u32) {
    use Alu::*;
    match code {
        Pack64 => drr(warp, s, mask, |a, b| u64::from(b) << 32 | u64::from(a)),
        Low64 | Truncate64 => rd(warp, s, mask, |a| a as u32),
        High64 => rd(warp, s, mask, |a| (a >> 32) as u32),
        Pack32 => rrr(warp, s, mask, |a, b| b << 16 | a & 0xffff),
        Low32 | Trunc16 => rr(warp, s, mask, |a| a & 0xffff),
        High32 => rr(warp, s, mask, |a| a >> 16),
        Trunc8 => rr(warp, s, mask, |a| a & 0xff),
        SignExtend8 => rr(warp, s, mask, |a| a as i8 as u32),
        SignExtend16 => rr(warp, s, mask, |a| a as i16 as u32),
        ExtendU32 => dr(warp, s, mask, u64::from),
        MulHiS32 => rrr(warp, s, mask, mul_hi_s32),
        MulHiU32 => rrr(warp, s, mask, mul_hi_u32),
        MadHiS32 => rrrr(warp, s, mask, |a, b, c| mul_hi_s32(a, b).wrapping_add(c)),
        MadHiU32 => rrrr(warp, s, mask, |a, b, c| mul_hi_u32(a, b).wrapping_add(c)),
        DivS32 => rrr(warp, s, mask, div_s32),
        DivU32 => rrr(warp, s, mask, div_u32),
        RemS32 => rrr(warp, s, mask, rem_s32),
        RemU32 => rrr(warp, s, mask, rem_u32),
        MinS32 => rrr(warp, s, mask, |a, b| (a as i32).min(b as i32) as u32),
        MinU32 => rrr(warp, s, mask, |a, b| a.min(b)),
        MaxS32 => rrr(warp, s, mask, |a, b| (a as i32).max(b as i32) as u32),
        MaxU32 => rrr(warp, s, mask, |a, b| a.max(b)),
        Abs32 => rr(warp, s, mask, |a| (a as i32).wrapping_abs() as u32),
        Neg32 => rr(warp, s, mask, u32::wrapping_neg),
        Xor32 => rrr(warp, s, mask, |a, b| a ^ b),
        Not32 => rr(warp, s, mask, |a| !a),
        Popc32 => rr(warp, s, mask, u32::count_ones),
        Clz32 => rr(warp, s, mask, u32::leading_zeros),
        Brev32 => rr(warp, s, mask, u32::reverse_bits),
        Prmt32 => rrrr(warp, s, mask, prmt),
        BfeU32 => rrrr(warp, s, mask, bfe_u32),
        BfeS32 => rrrr(warp, s, mask, bfe_s32),
        FunnelL32 => rrrr(warp, s, mask, |a, b, c| ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32),
        FunnelR32 => rrrr(warp, s, mask, |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32),
        MulWideS16 => rrr(warp, s, mask, |a, b| (i32::from(a as i16) * i32::from(b as i16)) as u32),
        MulWideU16 => rrr(warp, s, mask, |a, b| (a & 0xffff) * (b & 0xffff)),
        MulWideU32 => drr(warp, s, mask, |a, b| u64::from(a) * u64::from(b)),
        MulLo64 => ddd(warp, s, mask, u64::wrapping_mul),
        MulHiS64 => ddd(warp, s, mask, |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64),
        MulHiU64 => ddd(warp, s, mask, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        MadLo64 => dddd(warp, s, mask, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        DivS64 => ddd(warp, s, mask, div_s64),
        DivU64 => ddd(warp, s, mask, div_u64),
        RemS64 => ddd(warp, s, mask, rem_s64),
        RemU64 => ddd(warp, s, mask, rem_u64),
        MinS64 => ddd(warp, s, mask, |a, b| (a as i64).min(b as i64) as u64),
        MinU64 => ddd(warp, s, mask, |a, b| a.min(b)),
        MaxS64 => ddd(warp, s, mask, |a, b| (a as i64).max(b as i64) as u64),
        MaxU64 => ddd(warp, s, mask, |a, b| a.max(b)),
        Abs64 => dd(warp, s, mask, |a| (a as i64).wrapping_abs() as u64),
        Neg64 => dd(warp, s, mask, u64::wrapping_neg),
        And64 => ddd(warp, s, mask, |a, b| a & b),
        Or64 => ddd(warp, s, mask, |a, b| a | b),
        Xor64 => ddd(warp, s, mask, |a, b| a ^ b),
        Not64 => dd(warp, s, mask, |a| !a),
        Shl64 => ddr(warp, s, mask, shl_64),
        ShrU64 => ddr(warp, s, mask, shr_u64),
        ShrS64 => ddr(warp, s, mask, shr_s64),
        Popc64 => rd(warp, s, mask, u64::count_ones),
        Clz64 => rd(warp, s, mask, u64::leading_zeros),
        Brev64 => dd(warp, s, mask, u64::reverse_bits),
        MadWideS32 => {
            drrd(warp, s, mask, |a, b, c| ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c))
        }
        MadWideU32 => drrd(warp, s, mask, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c)),
        Select64 => {
            let (a, b, c) = (warp.d[s.a as usize].0, warp.d[s.b as usize].0, warp.p[s.c as usize]);
            let out = for_each_lane(|lane| if c >> lane & 1 == 1 { a[lane] } else { b[lane] });
            warp.d[s.d as usize].set(&out, mask);
        }
        other => unreachable!("{other:?} is handled elsewhere"),
    }
}

fn mul_hi_s32(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
}

fn mul_hi_u32(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

fn float(warp: &mut Warp, code: Alu, s: Slots, mask: u32) {
    use Alu::*;
    let (f32, f64) = (f32::from_bits, f64::from_bits);
    match code {
        SubF32 => rrr(warp, s, mask, |a, b| f32_bits(f32(a) - f32(b))),
        DivF32 => rrr(warp, s, mask, |a, b| f32_bits(f32(a) / f32(b))),
        MinF32 => rrr(warp, s, mask, |a, b| f32_bits(min_f32(f32(a), f32(b)))),
        MaxF32 => rrr(warp, s, mask, |a, b| f32_bits(max_f32(f32(a), f32(b)))),
        AbsF32 => rr(warp, s, mask, |a| f32_bits(f32(a).abs())),
        NegF32 => rr(warp, s, mask, |a| f32_bits(-f32(a))),
        SqrtF32 => rr(warp, s, mask, |a| f32_bits(f32(a).sqrt())),
        RcpF32 => rr(warp, s, mask, |a| f32_bits(1.0 / f32(a))),
        RsqrtF32 => rr(warp, s, mask, |a| f32_bits((1.0 / f64::from(f32(a)).sqrt()) as f32)),
        SinF32 => rr(warp, s, mask, |a| f32_bits(f64::from(f32(a)).sin() as f32)),
        CosF32 => rr(warp, s, mask, |a| f32_bits(f64::from(f32(a)).cos() as f32)),
        Ex2F32 => rr(warp, s, mask, |a| f32_bits(f64::from(f32(a)).exp2() as f32)),
        Lg2F32 => rr(warp, s, mask, |a| f32_bits(f64::from(f32(a)).log2() as f32)),
        FloorF32 => rr(warp, s, mask, |a| f32_bits(f32(a).floor())),
        CeilF32 => rr(warp, s, mask, |a| f32_bits(f32(a).ceil())),
        TruncF32 => rr(warp, s, mask, |a| f32_bits(f32(a).trunc())),
        RoundF32 => rr(warp, s, mask, |a| f32_bits(f32(a).round_ties_even())),
        SubF64 => arithmetic_f64(warp, s, mask, |a, b| a - b),
        DivF64 => ddd(warp, s, mask, |a, b| (f64(a) / f64(b)).to_bits()),
        MinF64 => ddd(warp, s, mask, |a, b| quiet_f64(min_f64(f64(a), f64(b)))),
        MaxF64 => ddd(warp, s, mask, |a, b| quiet_f64(max_f64(f64(a), f64(b)))),
        AbsF64 => dd(warp, s, mask, |a| abs_f64(f64(a))),
        NegF64 => dd(warp, s, mask, |a| neg_f64(f64(a))),
        SqrtF64 => dd(warp, s, mask, |a| f64(a).sqrt().to_bits()),
        RcpF64 => dd(warp, s, mask, |a| (1.0 / f64(a)).to_bits()),
        FloorF64 => dd(warp, s, mask, |a| quiet_f64(f64(a).floor())),
        CeilF64 => dd(warp, s, mask, |a| quiet_f64(f64(a).ceil())),
        TruncF64 => dd(warp, s, mask, |a| quiet_f64(f64(a).trunc())),
        RoundF64 => dd(warp, s, mask, |a| quiet_f64(f64(a).round_ties_even())),
        F32ToF64 => dr(warp, s, mask, |a| f64::from(f32(a)).to_bits()),
        F64ToF32 => rd(warp, s, mask, |a| f64_to_f32(f64(a))),
        S32ToF32 => rr(warp, s, mask, |a| (a as i32 as f32).to_bits()),
        U32ToF32 => rr(warp, s, mask, |a| (a as f32).to_bits()),
        S64ToF32 => rd(warp, s, mask, |a| (a as i64 as f32).to_bits()),
        U64ToF32 => rd(warp, s, mask, |a| (a as f32).to_bits()),
        S32ToF64 => dr(warp, s, mask, |a| f64::from(a as i32).to_bits()),
        U32ToF64 => dr(warp, s, mask, |a| f64::from(a).to_bits()),
        S64ToF64 => dd(warp, s, mask, |a| (a as i64 as f64).to_bits()),
        U64ToF64 => dd(warp, s, mask, |a| (a as f64).to_bits()),
        F32ToS32 => rr(warp, s, mask, |a| f32(a) as i32 as u32),
        F32ToU32 => rr(warp, s, mask, |a| f32(a) as u32),
        F32ToS64 => dr(warp, s, mask, |a| f32_to_s64(f32(a))),
        F32ToU64 => dr(warp, s, mask, |a| f32_to_u64(f32(a))),
        F64ToS32 => rd(warp, s, mask, |a| f64_to_s32(f64(a))),
        F64ToU32 => rd(warp, s, mask, |a| f64_to_u32(f64(a))),
        F64ToS64 => dd(warp, s, mask, |a| f64_to_s64(f64(a))),
        F64ToU64 => dd(warp, s, mask, |a| f64_to_u64(f64(a))),
        other => integer(warp, other, s, mask),
    }
}

fn compare(warp: &mut Warp, code: Alu, s: Slots, mask: u32) {
    use Alu::*;
    let (f32, f64) = (f32::from_bits, f64::from_bits);
    match code {
        MovP => pp(warp, s, mask, |a| a),
        NotP => pp(warp, s, mask, |a| !a),
        XorP => ppp(warp, s, mask, |a, b| a ^ b),
        SelectP => {
            let (a, b, c) = (warp.p[s.a as usize], warp.p[s.b as usize], warp.p[s.c as usize]);
            set_predicate(warp, s.d, a & c | b & !c, mask);
        }
        LtU32 => prr(warp, s, mask, |a, b| a < b),
        LeU32 => prr(warp, s, mask, |a, b| a <= b),
        Eq64 => pdd(warp, s, mask, |a, b| a == b),
        Ne64 => pdd(warp, s, mask, |a, b| a != b),
        LtS64 => pdd(warp, s, mask, |a, b| (a as i64) < b as i64),
        LeS64 => pdd(warp, s, mask, |a, b| (a as i64) <= b as i64),
        LtU64 => pdd(warp, s, mask, |a, b| a < b),
        LeU64 => pdd(warp, s, mask, |a, b| a <= b),
        EqF32 => prr(warp, s, mask, |a, b| f32(a) == f32(b)),
        NeF32 => prr(warp, s, mask, |a, b| f32(a) < f32(b) || f32(a) > f32(b)),
        LtF32 => prr(warp, s, mask, |a, b| f32(a) < f32(b)),
        LeF32 => prr(warp, s, mask, |a, b| f32(a) <= f32(b)),
        EquF32 => prr(warp, s, mask, |a, b| !(f32(a) < f32(b) || f32(a) > f32(b))),
        NeuF32 => prr(warp, s, mask, |a, b| f32(a) != f32(b)),
        LtuF32 => prr(warp, s, mask, |a, b| !matches!(f32(a).partial_cmp(&f32(b)), Some(o) if o.is_ge())),
        LeuF32 => prr(warp, s, mask, |a, b| !matches!(f32(a).partial_cmp(&f32(b)), Some(o) if o.is_gt())),
        NumF32 => prr(warp, s, mask, |a, b| !f32(a).is_nan() && !f32(b).is_nan()),
        NanF32 => prr(warp, s, mask, |a, b| f32(a).is_nan() || f32(b).is_nan()),
        EqF64 => pdd(warp, s, mask, |a, b| f64(a) == f64(b)),
        NeF64 => pdd(warp, s, mask, |a, b| f64(a) < f64(b) || f64(a) > f64(b)),
        LtF64 => pdd(warp, s, mask, |a, b| f64(a) < f64(b)),
        LeF64 => pdd(warp, s, mask, |a, b| f64(a) <= f64(b)),
        EquF64 => pdd(warp, s, mask, |a, b| !(f64(a) < f64(b) || f64(a) > f64(b))),
        NeuF64 => pdd(warp, s, mask, |a, b| f64(a) != f64(b)),
        LtuF64 => pdd(warp, s, mask, |a, b| !matches!(f64(a).partial_cmp(&f64(b)), Some(o) if o.is_ge())),
        LeuF64 => pdd(warp, s, mask, |a, b| !matches!(f64(a).partial_cmp(&f64(b)), Some(o) if o.is_gt())),
        NumF64 => pdd(warp, s, mask, |a, b| !f64(a).is_nan() && !f64(b).is_nan()),
        NanF64 => pdd(warp, s, mask, |a, b| f64(a).is_nan() || f64(b).is_nan()),
        other => unreachable!("{other:?} is handled elsewhere"),
    }
}

/// `lop3`: bit by bit, the table's entry at the three bits `abc`.
pub(crate) fn lop3(warp: &mut Warp, s: Slots, table: u8, mask: u32) {
    rrrr(warp, s, mask, |a, b, c| {
        let term = |entry: u8| match table >> entry & 1 {
            0 => 0,
            _ => {
                (if entry & 4 == 0 { !a } else { a })
                    & (if entry & 2 == 0 { !b } else { b })
                    & (if entry & 1 == 0 { !c } else { c })
            }
        };
        (0..8).fold(0, |bits, entry| bits | term(entry))
    });
}

// One function per signature: read the sources, compute every lane, write the active ones.

#[inline(always)]
fn rr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32) -> u32) {
    let a = &warp.r[s.a as usize].0;
    let out = for_each_lane(|lane| f(a[lane]));
    warp.r[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn dd(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u64) -> u64) {
    let a = &warp.d[s.a as usize].0;
    let out = for_each_lane(|lane| f(a[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn rd(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u64) -> u32) {
    let a = &warp.d[s.a as usize].0;
    let out = for_each_lane(|lane| f(a[lane]));
    warp.r[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn dr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32) -> u64) {
    let a = &warp.r[s.a as usize].0;
    let out = for_each_lane(|lane| f(a[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn rrr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32, u32) -> u32) {
    let (a, b) = (&warp.r[s.a as usize].0, &warp.r[s.b as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane]));
    warp.r[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn ddd(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u64, u64) -> u64) {
    let (a, b) = (&warp.d[s.a as usize].0, &warp.d[s.b as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn ddr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u64, u32) -> u64) {
    let (a, b) = (&warp.d[s.a as usize].0, &warp.r[s.b as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn drr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32, u32) -> u64) {
    let (a, b) = (&warp.r[s.a as usize].0, &warp.r[s.b as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn rrrr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32, u32, u32) -> u32) {
    let (a, b, c) = (&warp.r[s.a as usize].0, &warp.r[s.b as usize].0, &warp.r[s.c as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane], c[lane]));
    warp.r[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn dddd(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u64, u64, u64) -> u64) {
    let (a, b, c) = (&warp.d[s.a as usize].0, &warp.d[s.b as usize].0, &warp.d[s.c as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane], c[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

fn drrd(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32, u32, u64) -> u64) {
    let (a, b, c) = (&warp.r[s.a as usize].0, &warp.r[s.b as usize].0, &warp.d[s.c as usize].0);
    let out = for_each_lane(|lane| f(a[lane], b[lane], c[lane]));
    warp.d[s.d as usize].set(&out, mask);
}

#[inline(always)]
fn prr(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32, u32) -> bool) {
    let (a, b) = (&warp.r[s.a as usize].0, &warp.r[s.b as usize].0);
    let bits = mask_where(|lane| f(a[lane], b[lane]));
    set_predicate(warp, s.d, bits, mask);
}

fn pdd(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u64, u64) -> bool) {
    let (a, b) = (&warp.d[s.a as usize].0, &warp.d[s.b as usize].0);
    let bits = mask_where(|lane| f(a[lane], b[lane]));
    set_predicate(warp, s.d, bits, mask);
}

#[inline(always)]
fn ppp(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32, u32) -> u32) {
    let bits = f(warp.p[s.a as usize], warp.p[s.b as usize]);
    set_predicate(warp, s.d, bits, mask);
}

fn pp(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(u32) -> u32) {
    let bits = f(warp.p[s.a as usize]);
    set_predicate(warp, s.d, bits, mask);
}
