//! Conversions between all types of numbers, comparisons and tests of them.

use super::exact::{self, Exact, Value, infinity, largest, nan, nan_moved, round, round_shift, sign_bit};
use super::float_meaning::{clamp, flush};
use crate::lanewise::extend;
use crate::program::{Clamp, Comparison, Format, Mode, Number, Relation, Rounding, Test};

/// `cvt`. `integral` rounds a float to an integer first; a narrow signed integer is extended to the
/// destination's register.
pub(crate) fn convert(to: Number, from: Number, mode: Mode, integral: bool, register_bits: u8, a: u64) -> u64 {
    match (to, from) {
        (Number::Integer { bits, signed }, Number::Integer { bits: from_bits, signed: from_signed }) => {
            let value = extend(a, from_bits, from_signed);
            let saturate = mode.clamp == Clamp::Saturate;
            let value = if saturate { into_range(value, bits, signed) } else { value };
            to_register(value, bits, signed, register_bits)
        }
        (Number::Integer { bits, signed }, Number::Float(format)) => {
            let value = float_to_integer(flush(format, mode, a), format, mode.rounding, bits, signed);
            to_register(value, bits, signed, register_bits)
        }
        (Number::Float(format), Number::Integer { bits, signed }) => {
            let value = extend(a, bits, signed);
            let exact = Exact { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 };
            clamp(format, mode, round(format, mode.rounding, exact))
        }
        (Number::Float(to), Number::Float(from)) => {
            let result = match exact::unpack(from, flush(from, mode, a)) {
                // A step below, as if it were infinity.
                Value::Nan if to == Format::Tf32 && mode.rounding == Rounding::Away && mode.clamp == Clamp::Finite => {
                    return (a & !0x1fff) - 0x2000;
                }
                Value::Nan => convert_nan(to, from, mode.rounding, a),
                Value::Infinite { negative } => infinity(to, negative),
                Value::Finite(value) if integral => round(to, mode.rounding, whole(value, mode.rounding)),
                Value::Finite(value) => round(to, mode.rounding, value),
            };
            // Where others have infinities, e4m3 has its NaN: `.satfinite`, which belongs to it, stays below.
            let beyond = to == Format::E4m3 && result == infinity(to, result & sign_bit(to) != 0);
            let number = exact::unpack(from, a) != Value::Nan;
            let result = if beyond && number { largest(to, result & sign_bit(to) != 0) } else { result };
            // Halves have no `.ftz` of their own: the modifier is about the f32 side.
            let narrow = to.bits() <= 16;
            clamp(to, mode, if narrow { result } else { flush(to, mode, result) })
        }
    }
}

/// Conversions from and to f64 keep a NaN's payload, those to narrower formats have one NaN. Two of them are
/// done on the bits: bf16 is the upper half of an f32, and rounding to tf32 away from zero drops the lowest 13.
fn convert_nan(to: Format, from: Format, rounding: Rounding, a: u64) -> u64 {
    match (to, from) {
        (Format::F64, _) | (_, Format::F64) => nan_moved(to, from, a),
        (Format::F32, Format::Bf16) => a << 16,
        (Format::Tf32, Format::F32) if rounding == Rounding::Away => a & !0x1fff,
        _ => nan(to),
    }
}

fn to_register(value: i128, bits: u8, signed: bool, register_bits: u8) -> u64 {
    let value = extend(value as u64, bits, signed);
    value as u64 & (u64::MAX >> (64 - register_bits))
}

fn limits(bits: u8, signed: bool) -> (i128, i128) {
    match signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

pub(crate) fn into_range(value: i128, bits: u8, signed: bool) -> i128 {
    let (low, high) = limits(bits, signed);
    value.clamp(low, high)
}

/// Rounded and clamped. A NaN gives 0, but the topmost bit where 64 bits take part.
fn float_to_integer(a: u64, format: Format, rounding: Rounding, bits: u8, signed: bool) -> i128 {
    let (low, high) = limits(bits, signed);
    match exact::unpack(format, a) {
        Value::Nan if format == Format::F64 || bits == 64 => 1 << (bits - 1),
        Value::Nan => 0,
        Value::Infinite { negative } => {
            if negative {
                low
            } else {
                high
            }
        }
        Value::Finite(value) => {
            let magnitude = i128::try_from(round_shift(value, 0, rounding)).unwrap_or(i128::MAX);
            (if value.negative { -magnitude } else { magnitude }).clamp(low, high)
        }
    }
}

fn whole(value: Exact, rounding: Rounding) -> Exact {
    match value.exponent {
        0.. => value,
        _ => Exact { magnitude: round_shift(value, 0, rounding), exponent: 0, ..value },
    }
}

/// `cvt.f16x2.f32` and its kin: `a` to the upper half, `b` to the lower.
pub(crate) fn convert_pair(to: Format, mode: Mode, a: u64, b: u64) -> u64 {
    convert_halves(to, Format::F32, mode, a, b)
}

/// `a` to the upper half, `b` to the lower, of whatever width.
pub(crate) fn convert_halves(to: Format, from: Format, mode: Mode, a: u64, b: u64) -> u64 {
    let half = |value| convert(Number::Float(to), Number::Float(from), mode, false, to.bits(), value);
    half(a) << to.bits() | half(b)
}

/// `cvt.pack`: two numbers of 32 bits made to fit into `bits`, and `c` above them.
pub(crate) fn pack(bits: u8, signed: bool, [a, b, c]: [u64; 3]) -> u64 {
    let fitting = |value: u64| into_range(i128::from(value as i32), bits, signed) as u64 & (u64::MAX >> (64 - bits));
    (c << (2 * bits) | fitting(a) << bits | fitting(b)) & 0xffff_ffff
}

/// `setp` of one pair of values.
pub(crate) fn compare(test: Comparison, number: Number, ftz: bool, a: u64, b: u64) -> bool {
    let order = match number {
        Number::Integer { bits, signed } => Some(extend(a, bits, signed).cmp(&extend(b, bits, signed))),
        Number::Float(format) => {
            let mode = Mode { flush: ftz, ..Mode::PLAIN };
            let mask = u64::MAX >> (64 - format.bits());
            float_order(format, flush(format, mode, a & mask), flush(format, mode, b & mask))
        }
    };
    let holds = |relation, order: std::cmp::Ordering| match relation {
        Relation::Eq => order.is_eq(),
        Relation::Ne => order.is_ne(),
        Relation::Lt => order.is_lt(),
        Relation::Le => order.is_le(),
        Relation::Gt => order.is_gt(),
        Relation::Ge => order.is_ge(),
    };
    match test {
        Comparison::Ordered(relation) => order.is_some_and(|order| holds(relation, order)),
        Comparison::OrUnordered(relation) => order.is_none_or(|order| holds(relation, order)),
        Comparison::BothNumbers => order.is_some(),
        Comparison::AnyNan => order.is_none(),
    }
}

fn float_order(format: Format, a: u64, b: u64) -> Option<std::cmp::Ordering> {
    if [a, b].into_iter().any(|value| exact::unpack(format, value) == Value::Nan) {
        return None;
    }
    let key = |value: u64| {
        let magnitude = i128::from(value & !sign_bit(format));
        if value & sign_bit(format) != 0 { -magnitude } else { magnitude }
    };
    Some(key(a).cmp(&key(b)))
}

/// What `set` writes for a truth value.
pub(crate) fn truth(to: Number, holds: bool) -> u64 {
    match (to, holds) {
        (_, false) => 0,
        (Number::Integer { bits, .. }, true) => u64::MAX >> (64 - bits),
        (Number::Float(format), true) => {
            round(format, Rounding::Nearest, Exact { negative: false, magnitude: 1, exponent: 0 })
        }
    }
}

/// `slct`: whether the selector is at least zero. A NaN is not; a subnormal that is flushed is.
pub(crate) fn not_negative(by: Number, ftz: bool, c: u64) -> bool {
    compare(Comparison::Ordered(Relation::Ge), by, ftz, c, 0)
}

/// `testp`.
pub(crate) fn test(test: Test, format: Format, a: u64) -> bool {
    let value = exact::unpack(format, a);
    let subnormal = exact::is_subnormal(format, a);
    // Zero counts as normal.
    match test {
        Test::Finite => matches!(value, Value::Finite(_)),
        Test::Infinite => matches!(value, Value::Infinite { .. }),
        Test::Number => value != Value::Nan,
        Test::NotANumber => value == Value::Nan,
        Test::Normal => matches!(value, Value::Finite(_)) && !subnormal,
        Test::Subnormal => subnormal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern of 8 bits as a number, from the formats' definitions.
    fn eight(format: Format, bits: u64) -> Option<f64> {
        let (fraction, bias) = if format == Format::E4m3 { (3, 7) } else { (2, 15) };
        let (biased, rest) = ((bits & 0x7f) >> fraction, bits & ((1 << fraction) - 1));
        let special = if format == Format::E4m3 { bits & 0x7f == 0x7f } else { biased == 31 };
        let hidden = if biased == 0 { 0.0 } else { 1.0 };
        let size = (hidden + rest as f64 / f64::from(1 << fraction)) * 2f64.powi(biased.max(1) as i32 - bias);
        (!special).then_some(if bits >> 7 == 1 { -size } else { size })
    }

    #[test]
    fn every_half_becomes_the_nearest_number_of_8_bits_and_back() {
        let finite = Mode { clamp: Clamp::Finite, ..Mode::PLAIN };
        for format in [Format::E4m3, Format::E5m2] {
            let (narrow, half) = (Number::Float(format), Number::Float(Format::F16));
            let numbers: Vec<(u64, f64)> = (0..256).filter_map(|bits| Some((bits, eight(format, bits)?))).collect();
            for bits in 0..=0xffff {
                let got = convert(narrow, half, finite, false, 8, bits);
                let Value::Finite(exact) = exact::unpack(Format::F16, bits) else {
                    let largest = numbers.iter().map(|(bits, _)| bits & 0x7f).max().unwrap();
                    let infinite = bits & 0x3ff == 0;
                    assert_eq!(got, if infinite { largest | bits >> 8 & 0x80 } else { 0x7f }, "{format:?} {bits:x}");
                    continue;
                };
                let value =
                    exact.magnitude as f64 * 2f64.powi(exact.exponent) * if exact.negative { -1.0 } else { 1.0 };
                // Of two that are as near, the one whose last bit is 0; zeros keep their sign.
                let nearest = numbers.iter().filter(|(pattern, _)| pattern >> 7 == bits >> 15).min_by(|a, b| {
                    let (x, y) = ((a.1 - value).abs(), (b.1 - value).abs());
                    x.total_cmp(&y).then((a.0 & 1).cmp(&(b.0 & 1)))
                });
                assert_eq!(Some(got), nearest.map(|(bits, _)| *bits), "{format:?} {bits:x} = {value}");
            }
            for (bits, value) in numbers {
                let wide = convert(Number::Float(Format::F64), narrow, Mode::PLAIN, false, 64, bits);
                assert_eq!(f64::from_bits(wide), value, "{format:?} {bits:x}");
                let there = convert(half, narrow, Mode::PLAIN, false, 16, bits);
                assert_eq!(convert(narrow, half, finite, false, 8, there), bits, "{format:?} {bits:x}");
            }
        }
    }
}
