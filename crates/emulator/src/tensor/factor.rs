//! An element of a factor, taken apart.

use crate::program::Format;

/// Exponents that no number has. Zero's is below all others, so that it never is the largest. The sum of any exponent and one of
/// the last two is above [`SPECIAL`].
const ZERO: i32 = -(1 << 16);
const INFINITE: i32 = 1 << 20;
const NO_NUMBER: i32 = 1 << 21;

/// From here on, an exponent or a sum of two tells of an infinity or a NaN.
pub(super) const SPECIAL: i32 = 1 << 19;

/// `significand × 2^(exponent - fraction bits of the format)`. Subnormal numbers have their format's least exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Factor {
    /// With its sign; of an infinity ±1.
    pub significand: i32,
    pub exponent: i32,
}

impl Factor {
    /// Takes a pattern apart. Of f32 patterns that stand for tf32 only the upper 19 bits count.
    #[inline(always)]
    pub fn of(format: Format, bits: u32) -> Factor {
        let [[significand], [exponent]] = Factor::all(format, &[bits]);
        Factor { significand, exponent }
    }

    /// Takes many apart: significands and exponents.
    #[inline(always)]
    pub fn all<const N: usize>(format: Format, patterns: &[u32; N]) -> [[i32; N]; 2] {
        match format {
            Format::F16 => each(patterns, |bits| split::<10, 5>(bits, true)),
            Format::Bf16 => each(patterns, |bits| split::<7, 8>(bits, true)),
            Format::Tf32 => each(patterns, |bits| split::<10, 8>(bits >> 13, true)),
            Format::E4m3 => each(patterns, |bits| split::<3, 4>(bits, false)),
            Format::E5m2 => each(patterns, |bits| split::<2, 5>(bits, true)),
            Format::F32 | Format::F64 => each(patterns, |bits| split::<23, 8>(bits, true)),
        }
    }

    pub fn is_nan(self) -> bool {
        self.exponent >= NO_NUMBER
    }

    pub fn is_infinite(self) -> bool {
        self.exponent == INFINITE
    }

    pub fn is_zero(self) -> bool {
        self.exponent == ZERO
    }
}

#[inline(always)]
fn each<const N: usize>(patterns: &[u32; N], of: impl Fn(u32) -> Factor) -> [[i32; N]; 2] {
    let mut all = [[0; N]; 2];
    for (n, bits) in patterns.iter().enumerate() {
        let factor = of(*bits);
        (all[0][n], all[1][n]) = (factor.significand, factor.exponent);
    }
    all
}

/// Bits behind the point of a format's significand.
pub(super) fn fraction(format: Format) -> u32 {
    match format {
        Format::F16 | Format::Tf32 => 10,
        Format::Bf16 => 7,
        Format::E4m3 => 3,
        Format::E5m2 => 2,
        Format::F32 | Format::F64 => 23,
    }
}

/// Of a format without infinities, the largest exponent is one like others, and all ones are its NaN.
#[inline(always)]
fn split<const FRACTION: u32, const EXPONENT: u32>(bits: u32, infinities: bool) -> Factor {
    let (ones, fraction_ones) = ((1 << EXPONENT) - 1, (1 << FRACTION) - 1);
    let (biased, fraction) = (bits >> FRACTION & ones, bits & fraction_ones);
    let magnitude = (fraction | u32::from(biased != 0) << FRACTION) as i32;
    let mut exponent = biased.max(1) as i32 - (ones >> 1) as i32;
    let last = biased == ones;
    let infinite = last & infinities & (fraction == 0);
    let nan = last & if infinities { fraction != 0 } else { fraction == fraction_ones };
    exponent = if magnitude == 0 { ZERO } else { exponent };
    exponent = if infinite { INFINITE } else { exponent };
    exponent = if nan { NO_NUMBER } else { exponent };
    let magnitude = if infinite | nan { 1 } else { magnitude };
    let negative = bits >> (FRACTION + EXPONENT) & 1 == 1;
    Factor { significand: if negative { -magnitude } else { magnitude }, exponent }
}

/// An 8-bit number as f16, which holds all of them: what was subnormal may be a normal number there.
#[inline(always)]
pub(crate) fn half_of(format: Format, bits: u32) -> u32 {
    static HALVES: [[u32; 256]; 2] = [halves(false), halves(true)];
    HALVES[usize::from(format == Format::E5m2)][bits as usize & 0xff]
}

const fn halves(e5m2: bool) -> [u32; 256] {
    let (mut all, mut n) = ([0; 256], 0);
    while n < all.len() {
        all[n] = half(e5m2, n as u32);
        n += 1;
    }
    all
}

const fn half(e5m2: bool, bits: u32) -> u32 {
    let sign = (bits & 0x80) << 8;
    if e5m2 {
        let nan = bits & 0x7f > 0x7c;
        return if nan { 0x7fff } else { (bits & 0xff) << 8 };
    }
    let (biased, fraction) = (bits >> 3 & 0xf, bits & 7);
    sign | match (biased, fraction) {
        (15, 7) => return 0x7fff,
        (0, 0) => 0,
        (0, _) => {
            let up = fraction.leading_zeros() - 28;
            (9 - up) << 10 | (fraction << (7 + up) & 0x3ff)
        }
        _ => (biased + 8) << 10 | fraction << 7,
    }
}
