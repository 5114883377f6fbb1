//! Conversions between all types of numbers, comparisons and tests of them.

use super::exact::{self, Exact, Value, infinity, nan, nan_moved, round, round_shift, sign_bit};
use super::float_meaning::{clamp, flush};
use super::integer_meaning::extend;
use crate::program::{Clamp, Comparison, Format, Mode, Number, Relation, Rounding, Test};

/// `cvt`. `integral` rounds a float to an integer first; a narrow signed integer is extended to the
/// destination's register.
pub(super) fn convert(to: Number, from: Number, mode: Mode, integral: bool, register_bits: u8, a: u64) -> u64 {
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
                Value::Nan => convert_nan(to, from, mode.rounding, a),
                Value::Infinite { negative } => infinity(to, negative),
                Value::Finite(value) if integral => round(to, mode.rounding, whole(value, mode.rounding)),
                Value::Finite(value) => round(to, mode.rounding, value),
            };
            // Halves have no `.ftz` of their own: the modifier is about the f32 side.
            let narrow = matches!(to, Format::F16 | Format::Bf16);
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

pub(super) fn into_range(value: i128, bits: u8, signed: bool) -> i128 {
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
pub(super) fn convert_pair(to: Format, mode: Mode, a: u64, b: u64) -> u64 {
    let half = |value| convert(Number::Float(to), Number::Float(Format::F32), mode, false, 16, value);
    half(a) << 16 | half(b)
}

/// `setp` of one pair of values.
pub(super) fn compare(test: Comparison, number: Number, ftz: bool, a: u64, b: u64) -> bool {
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
pub(super) fn truth(to: Number, holds: bool) -> u64 {
    match (to, holds) {
        (_, false) => 0,
        (Number::Integer { bits, .. }, true) => u64::MAX >> (64 - bits),
        (Number::Float(format), true) => {
            round(format, Rounding::Nearest, Exact { negative: false, magnitude: 1, exponent: 0 })
        }
    }
}

/// `slct`: whether the selector is at least zero. A NaN is not; a subnormal that is flushed is.
pub(super) fn not_negative(by: Number, ftz: bool, c: u64) -> bool {
    compare(Comparison::Ordered(Relation::Ge), by, ftz, c, 0)
}

/// `testp`.
pub(super) fn test(test: Test, format: Format, a: u64) -> bool {
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
