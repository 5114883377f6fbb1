//! Floating-point arithmetic in every format, rounding and mode, computed exactly and rounded once.

use super::exact::{self, Exact, Value, add, divide, infinity, largest, multiply, nan, round, sign_bit, square_root};
use super::float64::nan_f64;
use super::meaning::NAN_F32;
use crate::program::{Clamp, FloatOp, Format, Mode};

pub(crate) fn compute(op: FloatOp, format: Format, mode: Mode, operands: [u64; 3]) -> u64 {
    let [a, b, c] = operands.map(|value| flush(format, mode, value));
    let result = match op {
        FloatOp::Add => sum(format, mode, unpack(format, a), unpack(format, b)),
        FloatOp::Sub => sum(format, mode, unpack(format, a), negated(unpack(format, b))),
        FloatOp::Mul => product(format, mode, unpack(format, a), unpack(format, b)),
        FloatOp::Fma => fused(format, mode, [a, b, c].map(|value| unpack(format, value))),
        FloatOp::Div => quotient(format, mode, unpack(format, a), unpack(format, b)),
        FloatOp::Reciprocal => quotient(format, mode, ONE, unpack(format, a)),
        FloatOp::Sqrt => root(format, mode, unpack(format, a)),
        FloatOp::Min | FloatOp::Max => extremum(op == FloatOp::Min, format, mode, a, b),
        FloatOp::Abs => unless_nan(format, a, a & !sign_bit(format)),
        FloatOp::Neg => unless_nan(format, a, a ^ sign_bit(format)),
        FloatOp::CopySign => return a & sign_bit(format) | b & !sign_bit(format),
        FloatOp::CoarseReciprocal | FloatOp::CoarseReciprocalSqrt => return coarse(op, mode, a),
        _ => return clamp(format, mode, flush(format, mode, approximate(op, format, mode, a))),
    };
    if format == Format::F64 && result == nan(format) {
        return match op {
            FloatOp::Div => nan_f64([a, b, c]),
            _ => nan_f64([b, c, a]),
        };
    }
    clamp(format, mode, flush(format, mode, result))
}

const ONE: Value = Value::Finite(Exact { negative: false, magnitude: 1, exponent: 0 });

fn unpack(format: Format, pattern: u64) -> Value {
    exact::unpack(format, pattern)
}

pub(crate) fn flush(format: Format, mode: Mode, value: u64) -> u64 {
    if mode.flush && exact::is_subnormal(format, value) { value & sign_bit(format) } else { value }
}

/// `.sat`, `.relu` and `.satfinite`.
pub(crate) fn clamp(format: Format, mode: Mode, value: u64) -> u64 {
    let negative = value & sign_bit(format) != 0;
    let number = unpack(format, value);
    match (mode.clamp, number) {
        (Clamp::None, _) => value,
        (Clamp::Saturate, Value::Nan) => 0,
        (_, Value::Nan) => nan(format),
        (Clamp::Saturate | Clamp::Relu | Clamp::ReluFinite, _) if negative => 0,
        (Clamp::Saturate, _) => value.min(round(format, mode.rounding, one())),
        (Clamp::Finite | Clamp::ReluFinite, Value::Infinite { negative }) => largest(format, negative),
        _ => value,
    }
}

fn one() -> Exact {
    Exact { negative: false, magnitude: 1, exponent: 0 }
}

fn unless_nan(format: Format, input: u64, result: u64) -> u64 {
    if unpack(format, input) == Value::Nan { nan(format) } else { result }
}

fn negated(value: Value) -> Value {
    match value {
        Value::Nan => Value::Nan,
        Value::Infinite { negative } => Value::Infinite { negative: !negative },
        Value::Finite(exact) => Value::Finite(Exact { negative: !exact.negative, ..exact }),
    }
}

fn sum(format: Format, mode: Mode, a: Value, b: Value) -> u64 {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => nan(format),
        (Value::Infinite { negative: x }, Value::Infinite { negative: y }) if x != y => nan(format),
        (Value::Infinite { negative }, _) | (_, Value::Infinite { negative }) => infinity(format, negative),
        (Value::Finite(a), Value::Finite(b)) => round(format, mode.rounding, add(a, b, mode.rounding)),
    }
}

fn sign(value: Value) -> bool {
    match value {
        Value::Nan => false,
        Value::Infinite { negative } => negative,
        Value::Finite(exact) => exact.negative,
    }
}

fn is_zero(value: Value) -> bool {
    matches!(value, Value::Finite(exact) if exact.magnitude == 0)
}

/// The product of two, still exact.
fn times(a: Value, b: Value) -> Value {
    let negative = sign(a) != sign(b);
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinite { .. }, zero) | (zero, Value::Infinite { .. }) if is_zero(zero) => Value::Nan,
        (Value::Infinite { .. }, _) | (_, Value::Infinite { .. }) => Value::Infinite { negative },
        (Value::Finite(a), Value::Finite(b)) => Value::Finite(multiply(a, b)),
    }
}

fn rounded(format: Format, mode: Mode, value: Value) -> u64 {
    match value {
        Value::Nan => nan(format),
        Value::Infinite { negative } => infinity(format, negative),
        Value::Finite(exact) => round(format, mode.rounding, exact),
    }
}

fn product(format: Format, mode: Mode, a: Value, b: Value) -> u64 {
    let exact = times(a, b);
    let result = rounded(format, mode, exact);
    match mode.flush && format == Format::F16 && is_tiny_f16(mode, exact) {
        true => result & sign_bit(format),
        false => result,
    }
}

/// Whether a number would round below the least normal one if there were room for its exponent: an H200 flushes
/// products in f16 by that, also where rounding among the subnormal numbers brings them up to it.
fn is_tiny_f16(mode: Mode, exact: Value) -> bool {
    const TWICE_LEAST_NORMAL: u64 = 0x0800;
    let Value::Finite(exact) = exact else { return false };
    let twice = round(Format::F16, mode.rounding, Exact { exponent: exact.exponent + 1, ..exact });
    twice & !sign_bit(Format::F16) < TWICE_LEAST_NORMAL
}

fn fused(format: Format, mode: Mode, [a, b, c]: [Value; 3]) -> u64 {
    sum(format, mode, times(a, b), c)
}

fn quotient(format: Format, mode: Mode, a: Value, b: Value) -> u64 {
    let negative = sign(a) != sign(b);
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => nan(format),
        (Value::Infinite { .. }, Value::Infinite { .. }) => nan(format),
        (Value::Infinite { .. }, _) => infinity(format, negative),
        (_, Value::Infinite { .. }) => round(format, mode.rounding, Exact { negative, magnitude: 0, exponent: 0 }),
        (Value::Finite(a), Value::Finite(b)) => match (a.magnitude, b.magnitude) {
            (0, 0) => nan(format),
            (_, 0) => infinity(format, negative),
            _ => round(format, mode.rounding, divide(a, b)),
        },
    }
}

fn root(format: Format, mode: Mode, a: Value) -> u64 {
    match a {
        Value::Finite(a) if a.magnitude == 0 => round(format, mode.rounding, a),
        Value::Finite(a) if !a.negative => round(format, mode.rounding, square_root(a)),
        Value::Infinite { negative: false } => infinity(format, false),
        _ => nan(format),
    }
}

/// `min` and `max`: the number where one is a NaN; −0 below +0.
fn extremum(least: bool, format: Format, mode: Mode, a: u64, b: u64) -> u64 {
    let is_nan = |value| unpack(format, value) == Value::Nan;
    let sign = (a ^ b) & sign_bit(format);
    let magnitude = |value: u64| if mode.xorsign { value & !sign_bit(format) } else { value };
    let result = match (is_nan(a), is_nan(b)) {
        (true, true) => return nan(format),
        (true, false) | (false, true) if mode.nan => return nan(format),
        (true, false) => magnitude(b),
        (false, true) => magnitude(a),
        (false, false) => {
            let (a, b) = (magnitude(a), magnitude(b));
            if (order(format, a) < order(format, b)) == least { a } else { b }
        }
    };
    if mode.xorsign { result | sign } else { result }
}

/// A key that sorts the numbers of a format.
fn order(format: Format, value: u64) -> i128 {
    let magnitude = i128::from(value & !sign_bit(format));
    if value & sign_bit(format) != 0 { -magnitude - 1 } else { magnitude }
}

/// The instructions whose results the manual bounds by an error only: here as exact as f64 computes them.
fn approximate(op: FloatOp, format: Format, mode: Mode, a: u64) -> u64 {
    let wide = Mode { flush: false, clamp: Clamp::None, ..mode };
    let a = f64::from_bits(rounded(Format::F64, wide, unpack(format, a)));
    let result = match op {
        FloatOp::ReciprocalSqrt => 1.0 / a.sqrt(),
        FloatOp::Sin => a.sin(),
        FloatOp::Cos => a.cos(),
        FloatOp::Exp2 => a.exp2(),
        FloatOp::Log2 => a.log2(),
        _ => a.tanh(),
    };
    rounded(format, wide, unpack(Format::F64, result.to_bits()))
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: the lower 32 bits of the operand do not count, and those of the result
/// are zeros. The manual bounds the error by 2⁻²⁰. An H100 cuts a result of f32's precision off: of most operands it has these bits,
/// of the others the next ones.
fn coarse(op: FloatOp, mode: Mode, a: u64) -> u64 {
    const LOW: u32 = 32;
    let a = f64::from_bits(a >> LOW << LOW);
    let result = if op == FloatOp::CoarseReciprocal { 1.0 / a } else { 1.0 / a.sqrt() };
    if result.is_nan() {
        return u64::from(NAN_F32) << LOW;
    }
    // Half a unit of f32's last bit.
    let half = 1 << 28;
    flush(Format::F64, mode, (result.to_bits() + half) >> LOW << LOW)
}

/// `add.f32.f16`: a narrow `a` to an f32 `b`.
pub(crate) fn mixed_add(from: Format, mode: Mode, subtract: bool, a: u64, b: u64) -> u64 {
    let b = unpack(Format::F32, b);
    let b = if subtract { negated(b) } else { b };
    clamp(Format::F32, mode, sum(Format::F32, mode, unpack(from, a), b))
}

/// `fma.f32.f16`: narrow `a` and `b`, an f32 `c`.
pub(crate) fn mixed_fma(from: Format, mode: Mode, [a, b, c]: [u64; 3]) -> u64 {
    let operands = [unpack(from, a), unpack(from, b), unpack(Format::F32, c)];
    clamp(Format::F32, mode, fused(Format::F32, mode, operands))
}
