//! The fused sum once more, slowly and on its own: binary digits one by one, and nothing of the other files.

use super::generation::{Arithmetic, Kind};
use crate::program::Format;

/// The weight of the lowest digit is 2 to minus this.
const BELOW: i32 = 400;
const DIGITS: usize = 1000;

/// A number that is not negative, lowest digit first.
type Digits = Vec<bool>;

/// What a pattern stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Nan,
    Infinite(bool),
    /// Sign, significand, the weight of its lowest bit, and the exponent.
    Finite(bool, u64, i32, i32),
}

/// Bits of exponent and fraction.
fn widths(format: Format) -> (u32, u32) {
    match format {
        Format::F16 => (5, 10),
        Format::Bf16 => (8, 7),
        Format::Tf32 => (8, 10),
        Format::E4m3 => (4, 3),
        Format::E5m2 => (5, 2),
        _ => (8, 23),
    }
}

fn value(format: Format, bits: u32) -> Value {
    let bits = u64::from(if format == Format::Tf32 { bits >> 13 } else { bits });
    let (exponent, fraction) = widths(format);
    let negative = bits / (1 << (exponent + fraction)) % 2 == 1;
    let biased = bits / (1 << fraction) % (1 << exponent);
    let rest = bits % (1 << fraction);
    let bias = (1 << (exponent - 1)) - 1;
    if format == Format::E4m3 {
        if biased == 15 && rest == 7 {
            return Value::Nan;
        }
    } else if biased == (1 << exponent) - 1 {
        return if rest == 0 { Value::Infinite(negative) } else { Value::Nan };
    }
    let power = if biased == 0 { 1 - bias } else { biased as i32 - bias };
    let significand = if biased == 0 { rest } else { rest + (1 << fraction) };
    Value::Finite(negative, significand, power - fraction as i32, power)
}

fn digits(number: u64, weight: i32) -> Digits {
    let mut all = vec![false; DIGITS];
    for n in 0..64 {
        if number >> n & 1 == 1 {
            all[(weight + BELOW) as usize + n] = true;
        }
    }
    all
}

fn plus(a: &Digits, b: &Digits) -> Digits {
    let mut carry = false;
    let sum = a.iter().zip(b).map(|(a, b)| {
        let ones = u8::from(*a) + u8::from(*b) + u8::from(carry);
        carry = ones >= 2;
        ones % 2 == 1
    });
    sum.collect()
}

fn minus(a: &Digits, b: &Digits) -> Digits {
    let mut borrow = false;
    let difference = a.iter().zip(b).map(|(a, b)| {
        let left = i8::from(*a) - i8::from(*b) - i8::from(borrow);
        borrow = left < 0;
        left.rem_euclid(2) == 1
    });
    difference.collect()
}

fn less(a: &Digits, b: &Digits) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

/// The number in a format of so many exponent and fraction bits, cut or to nearest even.
fn rounded(negative: bool, number: &Digits, (exponent, fraction): (u32, u32), nearest: bool) -> u32 {
    let Some(top) = number.iter().rposition(|digit| *digit) else { return 0 };
    let bias = (1i32 << (exponent - 1)) - 1;
    let power = (top as i32 - BELOW).max(1 - bias);
    let lowest = (power - fraction as i32 + BELOW) as usize;
    let mut kept: u64 = (lowest..=top.max(lowest)).filter(|n| number[*n]).map(|n| 1 << (n - lowest)).sum();
    let half = number[lowest - 1];
    let rest = number[..lowest - 1].iter().any(|digit| *digit);
    if nearest && half && (rest || kept % 2 == 1) {
        kept += 1;
    }
    // The hidden bit counts as one in the exponent.
    let pattern = ((power + bias - 1) as u64) * (1 << fraction) + kept;
    let infinite = ((1 << exponent) - 1) << fraction;
    let sign = u32::from(negative && pattern != 0);
    pattern.min(infinite) as u32 | sign << (exponent + fraction)
}

/// One exact sum.
fn fused(arithmetic: &Arithmetic, formats: [Format; 2], a: &[u32], b: &[u32], c: u32) -> u32 {
    let half = arithmetic.kind == Kind::F16;
    let result = if half { Format::F16 } else { Format::F32 };
    let (mut terms, mut infinities, mut nan) = (Vec::new(), Vec::new(), false);
    for (a, b) in a.iter().zip(b) {
        match (value(formats[0], *a), value(formats[1], *b)) {
            (Value::Nan, _) | (_, Value::Nan) => nan = true,
            (Value::Infinite(_), Value::Finite(_, 0, ..)) | (Value::Finite(_, 0, ..), Value::Infinite(_)) => nan = true,
            (Value::Infinite(x), Value::Infinite(y) | Value::Finite(y, ..))
            | (Value::Finite(x, ..), Value::Infinite(y)) => {
                infinities.push(x != y);
            }
            (Value::Finite(x, p, v, e), Value::Finite(y, q, w, f)) => terms.push((x != y, p * q, v + w, e + f)),
        }
    }
    match value(result, c) {
        Value::Nan => nan = true,
        Value::Infinite(x) => infinities.push(x),
        Value::Finite(x, p, v, e) => terms.push((x, p, v, e)),
    }
    infinities.dedup();
    let (no_number, infinity, sign) = if half { (0x7fff, 0x7c00, 15) } else { (0x7fff_ffff, 0x7f80_0000, 31) };
    match infinities[..] {
        _ if nan || infinities.len() > 1 => return no_number,
        [negative] => return infinity | u32::from(negative) << sign,
        _ => {}
    }
    terms.retain(|term| term.1 != 0);
    let Some(highest) = terms.iter().map(|term| term.3).max() else { return 0 };
    let highest = highest.max(arithmetic.least);
    let mut sides = [vec![false; DIGITS], vec![false; DIGITS]];
    for (negative, significand, weight, _) in terms {
        let mut term = digits(significand, weight);
        term[..(highest - arithmetic.cut + BELOW).max(0) as usize].fill(false);
        let side = &mut sides[usize::from(negative)];
        *side = plus(side, &term);
    }
    let [up, down] = &sides;
    let negative = less(up, down);
    let number = if negative { minus(down, up) } else { minus(up, down) };
    match arithmetic.kind {
        Kind::F16 => rounded(negative, &number, (5, 10), true),
        Kind::F32 { fraction } => {
            let pattern = rounded(negative, &number, (8, fraction), false);
            // The sign stands where the wider format has it.
            pattern << (23 - fraction)
        }
    }
}

/// Sum after sum, each beginning with the one before.
pub(super) fn chain(arithmetic: &Arithmetic, formats: [Format; 2], a: &[u32], b: &[u32], c: u32) -> u32 {
    let (a, b) = (a.chunks(arithmetic.terms), b.chunks(arithmetic.terms));
    a.zip(b).fold(c, |sum, (a, b)| fused(arithmetic, formats, a, b, sum))
}
