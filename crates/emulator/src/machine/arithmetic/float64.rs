//! Double-precision arithmetic on registers: as this CPU computes it, but with the NaNs that the GPU gives.
//! Of several NaNs the two keep different ones, and the GPU leaves a NaN's sign alone.

use super::alu::Slots;
use super::exact::{QUIET_F64, nan, nan_moved};
use crate::machine::lanes::{LANES, for_each_lane};
use crate::machine::state::warp::Warp;
use crate::program::{Format, Slot};

#[inline(always)]
pub(crate) fn fma_f64(warp: &mut Warp, s: Slots, mask: u32) {
    let [a, b, c] = [s.a, s.b, s.c].map(|slot| &warp.d[slot as usize].0);
    let f = f64::from_bits;
    let out = for_each_lane(|lane| f(a[lane]).mul_add(f(b[lane]), f(c[lane])).to_bits());
    match any_nan(&out) {
        false => warp.d[s.d as usize].set(&out, mask),
        true => set_with_nans(warp, s.d, out, [s.b, s.c, s.a], mask),
    }
}

/// A sum, difference or product.
#[inline(always)]
pub(crate) fn arithmetic_f64(warp: &mut Warp, s: Slots, mask: u32, f: impl Fn(f64, f64) -> f64) {
    let [a, b] = [s.a, s.b].map(|slot| &warp.d[slot as usize].0);
    let out = for_each_lane(|lane| f(f64::from_bits(a[lane]), f64::from_bits(b[lane])).to_bits());
    match any_nan(&out) {
        false => warp.d[s.d as usize].set(&out, mask),
        true => set_with_nans(warp, s.d, out, [s.b, s.b, s.a], mask),
    }
}

/// Whether a magnitude lies above infinity's, in few vector instructions: then the difference is negative.
#[inline(always)]
fn any_nan(values: &[u64; LANES]) -> bool {
    let mut differences = 0;
    for value in values {
        differences |= f64::INFINITY.to_bits().wrapping_sub(value & (u64::MAX >> 1));
    }
    differences >> 63 == 1
}

#[cold]
#[inline(never)]
fn set_with_nans(warp: &mut Warp, d: Slot, mut out: [u64; LANES], operands: [Slot; 3], mask: u32) {
    for (lane, value) in out.iter_mut().enumerate().filter(|(_, value)| is_nan_f64(**value)) {
        *value = nan_f64(operands.map(|slot| warp.d[slot as usize].0[lane]));
    }
    warp.d[d as usize].set(&out, mask);
}

/// The NaN that an instruction gives: the first of its operands that is one, in the order in which the
/// hardware looks at them, made quiet. An FMA looks at `b`, `c`, `a`; a sum or a product at `b`, `a`.
pub(crate) fn nan_f64(operands: [u64; 3]) -> u64 {
    let kept = operands.into_iter().find(|value| is_nan_f64(*value));
    kept.map_or(nan(Format::F64), |value| value | QUIET_F64)
}

pub(crate) fn is_nan_f64(value: u64) -> bool {
    f64::from_bits(value).is_nan()
}

/// The bits of a number, or of a NaN made quiet.
#[inline(always)]
pub(crate) fn quiet_f64(value: f64) -> u64 {
    if value.is_nan() { value.to_bits() | QUIET_F64 } else { value.to_bits() }
}

pub(crate) fn abs_f64(a: f64) -> u64 {
    if a.is_nan() { quiet_f64(a) } else { a.abs().to_bits() }
}

pub(crate) fn neg_f64(a: f64) -> u64 {
    if a.is_nan() { quiet_f64(a) } else { (-a).to_bits() }
}

pub(crate) fn f64_to_f32(a: f64) -> u32 {
    if a.is_nan() { nan_moved(Format::F32, Format::F64, a.to_bits()) as u32 } else { (a as f32).to_bits() }
}
