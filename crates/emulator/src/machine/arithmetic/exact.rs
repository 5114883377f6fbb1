//! Floating-point numbers as exact ones, and back: every format, every rounding. What the formats cannot
//! hold is decided in one place, `round`.

use crate::program::{Format, Rounding};

/// What a bit pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Nan,
    Infinite { negative: bool },
    Finite(Exact),
}

/// `±magnitude × 2^exponent`. Whatever lies below the lowest bit has been gathered in it (the bit is set
/// if anything was lost), which rounding cannot tell from the exact number as long as the magnitude has
/// at least two bits more than the format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Exact {
    pub negative: bool,
    pub magnitude: u128,
    pub exponent: i32,
}

/// Bits of the significand (the hidden one included), lowest exponent, bits of the encoding's tail that are not used.
struct Layout {
    precision: i32,
    lowest: i32,
    tail: u32,
    bits: u32,
}

fn layout(format: Format) -> Layout {
    match format {
        Format::E4m3 => Layout { precision: 4, lowest: -6, tail: 0, bits: 8 },
        Format::E5m2 => Layout { precision: 3, lowest: -14, tail: 0, bits: 8 },
        Format::F16 => Layout { precision: 11, lowest: -14, tail: 0, bits: 16 },
        Format::Bf16 => Layout { precision: 8, lowest: -126, tail: 0, bits: 16 },
        Format::Tf32 => Layout { precision: 11, lowest: -126, tail: 13, bits: 32 },
        Format::F32 => Layout { precision: 24, lowest: -126, tail: 0, bits: 32 },
        Format::F64 => Layout { precision: 53, lowest: -1022, tail: 0, bits: 64 },
    }
}

/// The NaN that the hardware gives for a format.
pub(crate) fn nan(format: Format) -> u64 {
    match format {
        Format::E4m3 | Format::E5m2 => 0x7f,
        Format::F16 | Format::Bf16 => 0x7fff,
        Format::F32 => 0x7fff_ffff,
        Format::Tf32 => 0x7fff_e000,
        Format::F64 => 0xfff8_0000_0000_0000,
    }
}

/// The bit that tells quiet NaNs of f64 from signalling ones.
pub(crate) const QUIET_F64: u64 = 1 << 51;

/// A NaN of one format in another: its sign, and as much of its payload as there is room for; quiet.
pub(crate) fn nan_moved(to: Format, from: Format, pattern: u64) -> u64 {
    let fraction = |format| layout(format).precision as u32 - 1 + layout(format).tail;
    let payload = pattern << (64 - fraction(from)) >> (64 - fraction(to));
    let quiet = 1 << (fraction(to) - 1);
    infinity(to, pattern & sign_bit(from) != 0) | quiet | payload
}

pub(crate) fn sign_bit(format: Format) -> u64 {
    1 << (format.bits() - 1)
}

pub(crate) fn infinity(format: Format, negative: bool) -> u64 {
    let Layout { precision, tail, bits, .. } = layout(format);
    let fraction = precision as u32 - 1 + tail;
    let exponent_ones = (1u64 << (bits - 1 - fraction)) - 1;
    // e4m3 has none; what lies behind its numbers is its NaN.
    let behind = if format == Format::E4m3 { 7 } else { 0 };
    exponent_ones << fraction | behind | if negative { sign_bit(format) } else { 0 }
}

pub(crate) fn largest(format: Format, negative: bool) -> u64 {
    infinity(format, negative) - (1 << layout(format).tail)
}

pub(crate) fn unpack(format: Format, pattern: u64) -> Value {
    let Layout { precision, lowest, tail, bits } = layout(format);
    let pattern = pattern >> tail;
    let fraction_bits = precision as u32 - 1;
    let exponent_bits = bits - tail - 1 - fraction_bits;
    let fraction = pattern & ((1 << fraction_bits) - 1);
    let biased = pattern >> fraction_bits & ((1 << exponent_bits) - 1);
    let negative = pattern >> (bits - tail - 1) & 1 == 1;
    if biased == (1 << exponent_bits) - 1 && (format != Format::E4m3 || fraction == 7) {
        return if fraction == 0 { Value::Infinite { negative } } else { Value::Nan };
    }
    let (significand, exponent) = match biased {
        0 => (fraction, lowest),
        _ => (fraction | 1 << fraction_bits, lowest + biased as i32 - 1),
    };
    Value::Finite(Exact { negative, magnitude: significand.into(), exponent: exponent - fraction_bits as i32 })
}

/// Whether a pattern is subnormal (zero is not).
pub(crate) fn is_subnormal(format: Format, pattern: u64) -> bool {
    let Layout { precision, tail, .. } = layout(format);
    let magnitude = pattern & !sign_bit(format);
    magnitude != 0 && magnitude >> (precision as u32 - 1 + tail) == 0
}

/// The pattern of the number nearest to `value` in the direction of `rounding`.
pub(crate) fn round(format: Format, rounding: Rounding, value: Exact) -> u64 {
    let sign = if value.negative { sign_bit(format) } else { 0 };
    if value.magnitude == 0 {
        return sign;
    }
    let Layout { precision, lowest, tail, .. } = layout(format);
    let top = value.exponent + 127 - value.magnitude.leading_zeros() as i32;
    let quantum = (top - (precision - 1)).max(lowest - (precision - 1));
    let kept = round_shift(value, quantum, rounding);
    // One more than all ones carries into the exponent by itself.
    let biased = (quantum + (precision - 1) - lowest) as u128;
    let pattern = (biased << (precision - 1)) + kept;
    let infinite = u128::from(infinity(format, false) >> tail);
    if pattern < infinite {
        return sign | (pattern as u64) << tail;
    }
    let away = match rounding {
        Rounding::Nearest | Rounding::Away => true,
        Rounding::Zero => false,
        Rounding::Down => value.negative,
        Rounding::Up => !value.negative,
    };
    if away { infinity(format, value.negative) } else { largest(format, value.negative) }
}

/// The magnitude in units of `2^quantum`, rounded to an integer (saturated, should it not fit).
pub(crate) fn round_shift(value: Exact, quantum: i32, rounding: Rounding) -> u128 {
    let shift = quantum - value.exponent;
    if shift <= 0 {
        let up = shift.unsigned_abs();
        return if up > value.magnitude.leading_zeros() { u128::MAX } else { value.magnitude << up };
    }
    let (kept, rest, half) = match shift {
        1..=127 => {
            let rest = value.magnitude & ((1 << shift) - 1);
            (value.magnitude >> shift, rest, rest.cmp(&(1 << (shift - 1))))
        }
        128 => (0, value.magnitude, value.magnitude.cmp(&(1 << 127))),
        _ => (0, value.magnitude, std::cmp::Ordering::Less),
    };
    let up = match rounding {
        Rounding::Nearest => half.is_gt() || half.is_eq() && kept & 1 == 1,
        Rounding::Away => half.is_ge(),
        Rounding::Zero => false,
        Rounding::Down => value.negative && rest != 0,
        Rounding::Up => !value.negative && rest != 0,
    };
    kept + u128::from(up)
}

/// Shifts the top bit to bit 125, so that sums do not overflow and products keep their digits.
fn normalise(value: Exact) -> Exact {
    if value.magnitude == 0 {
        return value;
    }
    let up = value.magnitude.leading_zeros() as i32 - 2;
    match up {
        0.. => Exact { magnitude: value.magnitude << up, exponent: value.exponent - up, ..value },
        _ => shift_down(value, up.unsigned_abs()),
    }
}

/// Shifts right, gathering what is lost in the lowest bit.
fn shift_down(value: Exact, by: u32) -> Exact {
    let magnitude = match by {
        0 => value.magnitude,
        1..=127 => value.magnitude >> by | u128::from(value.magnitude & ((1 << by) - 1) != 0),
        _ => u128::from(value.magnitude != 0),
    };
    Exact { magnitude, exponent: value.exponent.saturating_add_unsigned(by), ..value }
}

/// The sum. Zero from two that cancel is positive, but negative when rounding down.
pub(crate) fn add(a: Exact, b: Exact, rounding: Rounding) -> Exact {
    if a.magnitude == 0 && b.magnitude == 0 {
        let negative = if a.negative == b.negative { a.negative } else { rounding == Rounding::Down };
        return Exact { negative, ..a };
    }
    if a.magnitude == 0 || b.magnitude == 0 {
        return if a.magnitude == 0 { b } else { a };
    }
    let (a, b) = (normalise(a), normalise(b));
    let (high, low) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let low = shift_down(low, high.exponent.abs_diff(low.exponent));
    if high.negative == low.negative {
        return Exact { magnitude: high.magnitude + low.magnitude, ..high };
    }
    let (larger, smaller) = if high.magnitude >= low.magnitude { (high, low) } else { (low, high) };
    let magnitude = larger.magnitude - smaller.magnitude;
    let negative = if magnitude == 0 { rounding == Rounding::Down } else { larger.negative };
    Exact { negative, magnitude, exponent: high.exponent }
}

/// The product of two numbers of at most 64 bits.
pub(crate) fn multiply(a: Exact, b: Exact) -> Exact {
    Exact {
        negative: a.negative != b.negative,
        magnitude: a.magnitude * b.magnitude,
        exponent: a.exponent + b.exponent,
    }
}

/// The quotient of two numbers of at most 64 bits, the divisor not zero.
pub(crate) fn divide(a: Exact, b: Exact) -> Exact {
    let a = normalise(a);
    let (quotient, rest) = (a.magnitude / b.magnitude, a.magnitude % b.magnitude);
    Exact {
        negative: a.negative != b.negative,
        magnitude: quotient | u128::from(rest != 0),
        exponent: a.exponent - b.exponent,
    }
}

/// The square root of a number that is not negative.
pub(crate) fn square_root(a: Exact) -> Exact {
    let mut a = normalise(a);
    if a.exponent & 1 != 0 {
        a = Exact { magnitude: a.magnitude << 1, exponent: a.exponent - 1, ..a };
    }
    let root = a.magnitude.isqrt();
    Exact { magnitude: root | u128::from(root * root != a.magnitude), exponent: a.exponent / 2, ..a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(magnitude: u128, exponent: i32) -> Exact {
        Exact { negative: false, magnitude, exponent }
    }

    #[test]
    fn a_magnitude_is_rounded_to_units_as_far_as_128_bits_reach() {
        let nearest = |value, quantum| round_shift(value, quantum, Rounding::Nearest);
        assert_eq!(nearest(exact(1, 127), 0), 1 << 127);
        assert_eq!(nearest(exact(1, 128), 0), u128::MAX, "it does not fit");
        assert_eq!(nearest(exact(3, 126), 0), 3 << 126);
        assert_eq!(nearest(exact(5, 126), 0), u128::MAX, "it does not fit");
        assert_eq!([nearest(exact(5, 0), 1), nearest(exact(7, 0), 1), nearest(exact(5, 0), 4)], [2, 4, 0]);
        assert_eq!(nearest(exact(u128::MAX, 0), 128), 1, "just above a half");
        assert_eq!(nearest(exact(1 << 127, 0), 128), 0, "a half, to the even");
    }

    #[test]
    fn what_is_shifted_out_leaves_its_mark_in_the_lowest_bit() {
        for (magnitude, by, kept) in
            [(8, 0, 8), (8, 2, 2), (9, 2, 3), (10, 2, 3), (12, 2, 3), (1, 1, 1), (1, 200, 1), (0, 200, 0)]
        {
            assert_eq!(shift_down(exact(magnitude, 7), by), exact(kept, 7 + by as i32), "{magnitude} by {by}");
        }
    }

    #[test]
    fn sums_have_their_digits_at_the_top() {
        for value in [exact(1, 0), exact(3, -9), exact(1 << 125, 4), exact(1 << 126, 4), exact(u128::MAX, 0)] {
            assert_eq!(normalise(value).magnitude.leading_zeros(), 2, "{value:?}");
        }
        assert_eq!(normalise(exact(1, 0)), exact(1 << 125, -125));
        assert_eq!(normalise(exact(0, 3)), exact(0, 3));
    }
}
