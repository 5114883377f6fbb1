//! Which GPU adds how many products at once, and where it cuts them.

use super::factor::fraction;
use crate::program::Format;

/// The generations of tensor cores that differ in their arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
}

/// What multiplies: a warp, or a group of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Warp,
    Group,
}

/// The format of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rounded to nearest.
    F16,
    /// Cut, with so many bits behind the point.
    F32 { fraction: u32 },
}

/// How products become a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arithmetic {
    /// Products in one exact sum; further ones follow in a sum of their own that starts with the first's result.
    pub terms: usize,
    /// Bits below the largest exponent that a term keeps.
    pub cut: i32,
    /// Terms are lined up by no smaller exponent than this.
    pub least: i32,
    /// From a product of significands to a term that has as many bits as are kept.
    pub up: u32,
    pub kind: Kind,
    /// Where there is no such instruction: 8-bit factors become f16, the first two and the last two of each register are
    /// multiplied one after the other, and C is added afterwards, as `add` does.
    pub in_halves: bool,
}

impl Generation {
    /// That of `sm_` this.
    pub fn of(architecture: u32) -> Generation {
        match architecture {
            ..75 => Generation::Volta,
            75..80 => Generation::Turing,
            80..89 => Generation::Ampere,
            89 => Generation::Ada,
            90..100 => Generation::Hopper,
            _ => Generation::Blackwell,
        }
    }

    /// The arithmetic of factors of these formats, `k` of them in an instruction, with sums in f16 or f32.
    pub fn arithmetic(self, unit: Unit, [a, b]: [Format; 2], k: usize, half_sums: bool) -> Arithmetic {
        use Generation::{Ada, Ampere, Blackwell, Hopper, Turing, Volta};
        let bytes = |format: Format| usize::from(format.bits()) / 8;
        let narrow = bytes(a) == 1;
        let in_halves = narrow && self == Hopper && unit == Unit::Warp;
        let at_once = match self {
            Volta => 8,
            Turing | Ampere | Ada => 16,
            Hopper | Blackwell => 32,
        };
        let coarse = narrow && (self == Ada || self == Hopper && unit == Unit::Group);
        let cut = match self {
            _ if coarse => 13,
            Volta => 23,
            Turing | Ampere | Ada => 24,
            Hopper | Blackwell => 25,
        };
        let kind = match half_sums {
            true => Kind::F16,
            false => Kind::F32 { fraction: if coarse { 13 } else { 23 } },
        };
        // So sums of tiny products on an H200 have it, and no published model; products of f16 are never so small.
        let least = if self == Hopper && !half_sums { -133 } else { i32::MIN };
        let terms = if in_halves { k / 2 } else { k.min(at_once / bytes(a)) };
        let [a, b] = if in_halves { [Format::F16; 2] } else { [a, b] };
        let up = (cut as u32).saturating_sub(fraction(a) + fraction(b));
        Arithmetic { terms, cut, least, up, kind, in_halves }
    }
}
