//! The fused sum of one row with eight columns.

use super::factor::{Factor, SPECIAL, fraction};
use super::generation::{Arithmetic, Kind};
use super::result::{INFINITY_F16, INFINITY_F32, NAN_F16, NAN_F32, cut_to_f32, nearest_f16};
use super::tile::COLUMNS;
use crate::program::Format;

/// Terms that an `i32` can add: each is below `2^(F + 2)`, of 25 at most.
const AT_ONCE: usize = 16;

/// A row of A, and rows of B beside it: significands and exponents.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub a: (&'a [i32], &'a [i32]),
    pub b: (&'a [[i32; COLUMNS]], &'a [[i32; COLUMNS]]),
}

impl Terms<'_> {
    /// The factors of a term.
    fn factors(&self, term: usize, column: usize) -> [Factor; 2] {
        [
            Factor { significand: self.a.0[term], exponent: self.a.1[term] },
            Factor { significand: self.b.0[term][column], exponent: self.b.1[term][column] },
        ]
    }
}

/// Adds the products to `c`, in the format of the result.
#[inline(always)]
pub(super) fn add(arithmetic: &Arithmetic, terms: Terms, c: &mut [u32; COLUMNS]) {
    let Terms { a, b } = terms;
    let (kind, cut) = (arithmetic.kind, arithmetic.cut);
    let format = if kind == Kind::F16 { Format::F16 } else { Format::F32 };
    let [significands, exponents] = Factor::all(format, c);
    let mut highest = exponents.map(|exponent| exponent.max(arithmetic.least));
    for (a, b) in a.1.iter().zip(b.1) {
        side_by_side();
        for column in 0..COLUMNS {
            highest[column] = highest[column].max(a.wrapping_add(b[column]));
        }
    }
    let mut sums = [0i64; COLUMNS];
    let chunks = a.0.chunks(AT_ONCE).zip(a.1.chunks(AT_ONCE)).zip(b.0.chunks(AT_ONCE).zip(b.1.chunks(AT_ONCE)));
    for ((a, a_exponents), (b, b_exponents)) in chunks {
        let mut part = [0i32; COLUMNS];
        for ((a, a_exponent), (b, b_exponents)) in a.iter().zip(a_exponents).zip(b.iter().zip(b_exponents)) {
            side_by_side();
            let a = a << arithmetic.up;
            for column in 0..COLUMNS {
                let product = a.wrapping_mul(b[column]);
                let below = highest[column].wrapping_sub(a_exponent.wrapping_add(b_exponents[column]));
                let sign = product >> 31;
                let magnitude = (product ^ sign).wrapping_sub(sign) as u32;
                let cut = (magnitude >> (below as u32).min(31)) as i32;
                part[column] = part[column].wrapping_add((cut ^ sign).wrapping_sub(sign));
            }
        }
        for column in 0..COLUMNS {
            sums[column] += i64::from(part[column]);
        }
    }
    for column in 0..COLUMNS {
        let addend = Factor { significand: significands[column], exponent: exponents[column] };
        if highest[column] >= SPECIAL {
            c[column] = special(kind, terms, column, addend);
            continue;
        }
        let below = highest[column].wrapping_sub(addend.exponent) - (cut - fraction(format) as i32);
        let magnitude = i64::from(addend.significand.unsigned_abs());
        let kept = if below < 0 { magnitude << (-below).min(32) } else { magnitude >> below.min(63) };
        let sum = sums[column] + if addend.significand < 0 { -kept } else { kept };
        let quantum = highest[column] - cut;
        c[column] = match kind {
            Kind::F16 => nearest_f16(sum, quantum),
            Kind::F32 { fraction } => cut_to_f32(sum, quantum, fraction),
        };
    }
}

/// In a loop over terms: the compiler shall compute eight columns at once, and not eight terms.
#[inline(always)]
fn side_by_side() {
    std::hint::black_box(());
}

/// The sum where a term is no finite number.
#[cold]
#[inline(never)]
fn special(kind: Kind, terms: Terms, column: usize, c: Factor) -> u32 {
    let (mut nan, mut up, mut down) = (c.is_nan(), false, false);
    let mut infinity = |negative: bool| if negative { down = true } else { up = true };
    if c.is_infinite() {
        infinity(c.significand < 0);
    }
    for term in 0..terms.a.0.len() {
        let [a, b] = terms.factors(term, column);
        let infinite = a.is_infinite() || b.is_infinite();
        nan |= a.is_nan() || b.is_nan() || infinite && (a.is_zero() || b.is_zero());
        if infinite {
            infinity((a.significand < 0) != (b.significand < 0));
        }
    }
    let (no_number, infinity, sign) = match kind {
        Kind::F16 => (NAN_F16, INFINITY_F16, 1 << 15),
        Kind::F32 { .. } => (NAN_F32, INFINITY_F32, 1 << 31),
    };
    match nan || up && down {
        true => no_number,
        false => infinity | if down { sign } else { 0 },
    }
}
