//! The product of a tile of A with a tile of B that has eight columns: what one instruction of a warp computes.

use super::factor::Factor;
use super::fused::{Terms, add};
use super::generation::{Arithmetic, Kind};
use super::result::{NAN_F16, NAN_F32, nearest_f16};
use crate::program::Format;

/// Columns of B, C and D.
pub(crate) const COLUMNS: usize = 8;
/// Rows of A, C and D, at most.
const ROWS: usize = 16;
/// Columns of A and rows of B, at most.
const TERMS: usize = 64;

/// C, and then D: rows of patterns.
pub(crate) type Sums = [[u32; COLUMNS]; ROWS];

/// A, by rows.
pub(crate) struct Rows {
    significands: [[i32; TERMS]; ROWS],
    exponents: [[i32; TERMS]; ROWS],
}

/// B, also by rows.
pub(crate) struct Columns {
    significands: [[i32; COLUMNS]; TERMS],
    exponents: [[i32; COLUMNS]; TERMS],
}

impl Rows {
    pub fn new() -> Rows {
        Rows { significands: [[0; TERMS]; ROWS], exponents: [[0; TERMS]; ROWS] }
    }

    #[inline(always)]
    pub fn set(&mut self, row: usize, term: usize, significand: i32, exponent: i32) {
        self.significands[row][term] = significand;
        self.exponents[row][term] = exponent;
    }

    /// Eight elements of a row, from `term` on: significands and exponents.
    #[inline(always)]
    pub fn set_terms(&mut self, row: usize, term: usize, [significands, exponents]: [[i32; COLUMNS]; 2]) {
        self.significands[row][term..term + COLUMNS].copy_from_slice(&significands);
        self.exponents[row][term..term + COLUMNS].copy_from_slice(&exponents);
    }
}

impl Columns {
    pub fn new() -> Columns {
        Columns { significands: [[0; COLUMNS]; TERMS], exponents: [[0; COLUMNS]; TERMS] }
    }

    #[inline(always)]
    pub fn set(&mut self, term: usize, column: usize, significand: i32, exponent: i32) {
        self.significands[term][column] = significand;
        self.exponents[term][column] = exponent;
    }

    /// A row of B: significands and exponents.
    #[inline(always)]
    pub fn set_row(&mut self, term: usize, [significands, exponents]: [[i32; COLUMNS]; 2]) {
        (self.significands[term], self.exponents[term]) = (significands, exponents);
    }
}

/// Factors and sums of one instruction.
pub(crate) struct Tile<'a> {
    pub a: &'a Rows,
    pub b: &'a Columns,
    /// Rows of A.
    pub m: usize,
    /// Columns of A.
    pub k: usize,
}

/// Adds the product to the sums.
#[inline(always)]
pub(crate) fn product(arithmetic: &Arithmetic, tile: &Tile, sums: &mut Sums) {
    let Tile { a, b, m, k } = *tile;
    for (row, addends) in sums.iter_mut().enumerate().take(m) {
        let mut sum = if arithmetic.in_halves { [0; COLUMNS] } else { *addends };
        for start in (0..k.min(TERMS)).step_by(arithmetic.terms.max(1)) {
            let end = (start + arithmetic.terms).min(TERMS);
            let terms = Terms {
                a: (&a.significands[row][start..end], &a.exponents[row][start..end]),
                b: (&b.significands[start..end], &b.exponents[start..end]),
            };
            add(arithmetic, terms, &mut sum);
        }
        if arithmetic.in_halves {
            for column in 0..COLUMNS {
                sum[column] = plain_sum(arithmetic.kind, addends[column], sum[column]);
            }
        }
        *addends = sum;
    }
}

/// The sum of integers, before it is made to fit; without C.
#[inline(always)]
pub(crate) fn products_of_integers(tile: &Tile) -> [[i32; COLUMNS]; ROWS] {
    let mut sums = [[0i32; COLUMNS]; ROWS];
    let k = tile.k.min(TERMS);
    for (sums, a) in sums.iter_mut().zip(&tile.a.significands).take(tile.m) {
        for (a, b) in a.iter().zip(&tile.b.significands).take(k) {
            for column in 0..COLUMNS {
                sums[column] = sums[column].wrapping_add(a.wrapping_mul(b[column]));
            }
        }
    }
    sums
}

/// What `add` gives for two numbers.
fn plain_sum(kind: Kind, a: u32, b: u32) -> u32 {
    match kind {
        Kind::F32 { .. } => {
            let sum = f32::from_bits(a) + f32::from_bits(b);
            if sum.is_nan() { NAN_F32 } else { sum.to_bits() }
        }
        Kind::F16 => {
            let [x, y] = [a, b].map(|bits| Factor::of(Format::F16, bits));
            let opposite = (x.significand < 0) != (y.significand < 0);
            match (x.is_infinite(), y.is_infinite()) {
                _ if x.is_nan() || y.is_nan() => NAN_F16,
                (true, true) if opposite => NAN_F16,
                (true, _) => a,
                (_, true) => b,
                // Minus zero twice.
                _ if a == 0x8000 && b == 0x8000 => 0x8000,
                _ => {
                    let whole = |x: Factor| if x.is_zero() { 0 } else { i64::from(x.significand) << (x.exponent + 14) };
                    nearest_f16(whole(x) + whole(y), -24)
                }
            }
        }
    }
}
