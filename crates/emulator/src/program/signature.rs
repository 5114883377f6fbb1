//! The register files of the operands of lane-wise instructions that are data.

use std::sync::LazyLock;

use super::File;
use super::general::{FloatOp, Format, General, IntegerOp, Number};
use super::grammar::row_of;
use crate::lanewise::LANEWISE;

/// The files of a result and of the operands.
type Files = (File, Vec<File>);

/// By row of `lanewise`, and for types of up to 32 bits and of 64.
static FILES: LazyLock<Vec<[Files; 2]>> = LazyLock::new(|| {
    let of = |bits| Number::Integer { bits, signed: false };
    LANEWISE.iter().map(|lanewise| [32, 64].map(|bits| row_of(lanewise.row).files(of(bits)))).collect()
});

/// The files of the result and of the operands of a row, whose type is `of`.
pub(super) fn files(row: u8, of: Number) -> (File, &'static [File]) {
    let (result, files) = &FILES[row as usize][usize::from(of.bits() == 64)];
    (*result, files)
}

impl General {
    /// The files of the destination and of the sources.
    pub fn signature(self) -> (File, &'static [File]) {
        use File::{D, P, R};
        let of = |count: usize, wide: bool| match wide {
            true => (D, &[D, D, D][..count]),
            false => (R, &[R, R, R][..count]),
        };
        match self {
            General::Float { op, format, .. } => of(op.operands(), format == Format::F64),
            General::MixedAdd { .. } => (R, &[R, R]),
            General::MixedFma { .. } => (R, &[R, R, R]),
            General::Integer { op, bits, .. } => op.signature(bits),
            General::Halves { .. } => (R, &[R, R]),
            General::Convert { to, from, register_bits, .. } => {
                let to = if register_bits == 64 { D } else { to.file() };
                (to, if from.file() == D { &[D] } else { &[R] })
            }
            General::ConvertPair { .. } => (R, &[R, R]),
            General::ConvertHalves { .. } => (R, &[R]),
            General::Compare { number, .. } => (P, if number.file() == D { &[D, D] } else { &[R, R] }),
            General::Truth { to } => (to.file(), &[P]),
            General::SelectBySign { bits, by, .. } => match (bits, by.file()) {
                (64, D) => (D, &[D, D, D]),
                (64, _) => (D, &[D, D, R]),
                (_, D) => (R, &[R, R, D]),
                _ => (R, &[R, R, R]),
            },
            General::Test { format, .. } => (P, if format == Format::F64 { &[D] } else { &[R] }),
            General::Permute(_) | General::FunnelLeft | General::FunnelRight => (R, &[R, R, R]),
            General::Dot4 { .. } | General::Dot2 { .. } => (R, &[R, R, R]),
            General::Row { row, of } => files(row, of),
            General::Pack { bits, .. } => (R, if bits == 16 { &[R, R] } else { &[R, R, R] }),
            General::InSpace(_) => (P, &[D]),
        }
    }

    /// Moves bits without computing with them.
    pub fn copies(self) -> bool {
        use IntegerOp::*;
        match self {
            General::Integer { op, .. } => matches!(op, And | Or | Shl | Shr | Bfe | Bfi),
            General::Convert { to: Number::Integer { .. }, from: Number::Integer { .. }, .. } => true,
            General::Permute(_) | General::FunnelLeft | General::FunnelRight => true,
            _ => false,
        }
    }
}

impl FloatOp {
    fn operands(self) -> usize {
        use FloatOp::*;
        match self {
            Add | Sub | Mul | Div | Min | Max | CopySign => 2,
            Fma => 3,
            _ => 1,
        }
    }
}

impl IntegerOp {
    fn signature(self, bits: u8) -> (File, &'static [File]) {
        use File::{D, P, R};
        use IntegerOp::*;
        let wide = bits == 64;
        match self {
            Abs | Neg | Not | CNot | Brev if wide => (D, &[D]),
            Abs | Neg | Not | CNot | Brev => (R, &[R]),
            Popc | Clz | Bfind | BfindShift => (R, if wide { &[D] } else { &[R] }),
            Shl | Shr if wide => (D, &[D, R]),
            MulWide if bits == 32 => (D, &[R, R]),
            MadWide if bits == 32 => (D, &[R, R, D]),
            MadLo | MadHi | MadHiSaturate | Mad24Lo | Mad24Hi | Mad24HiSaturate if wide => (D, &[D, D, D]),
            MadLo | MadHi | MadHiSaturate | MadWide | Mad24Lo | Mad24Hi | Mad24HiSaturate => (R, &[R, R, R]),
            Bfe if wide => (D, &[D, R, R]),
            Bfe => (R, &[R, R, R]),
            Bfi if wide => (D, &[D, D, R, R]),
            Bfi => (R, &[R, R, R, R]),
            AddCarry | SubBorrow if wide => (D, &[D, D, P]),
            AddCarry | SubBorrow => (R, &[R, R, P]),
            CarryOfAdd | BorrowOfSub => (P, if wide { &[D, D, P] } else { &[R, R, P] }),
            MadLoCarry | MadHiCarry if wide => (D, &[D, D, D, P]),
            MadLoCarry | MadHiCarry => (R, &[R, R, R, P]),
            CarryOfMadLo | CarryOfMadHi => (P, if wide { &[D, D, D, P] } else { &[R, R, R, P] }),
            _ if wide => (D, &[D, D]),
            _ => (R, &[R, R]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the manual says of an operation's operands: the result's width and those of the sources, where `w` is 64 bits for the
    /// forms of 64 bits, else 32; `r` is 32 bits, `d` 64, `p` a predicate.
    fn manual(op: IntegerOp) -> &'static str {
        use IntegerOp::*;
        match op {
            Abs | Neg | Not | CNot | Brev => "w w",
            Popc | Clz | Bfind | BfindShift => "r w",
            Shl | Shr => "w wr",
            MadLo | MadHi | MadHiSaturate | Mad24Lo | Mad24Hi | Mad24HiSaturate => "w www",
            Bfe => "w wrr",
            Bfi => "w wwrr",
            AddCarry | SubBorrow => "w wwp",
            CarryOfAdd | BorrowOfSub => "p wwp",
            MadLoCarry | MadHiCarry => "w wwwp",
            CarryOfMadLo | CarryOfMadHi => "p wwwp",
            _ => "w ww",
        }
    }

    #[test]
    fn operands_are_as_wide_as_the_manual_says() {
        use IntegerOp::*;
        let ops = [
            Abs,
            Neg,
            Not,
            CNot,
            Brev,
            Popc,
            Clz,
            Bfind,
            BfindShift,
            Shl,
            Shr,
            MadLo,
            MadHi,
            MadHiSaturate,
            Mad24Lo,
            Mad24Hi,
            Mad24HiSaturate,
            Bfe,
            Bfi,
            AddCarry,
            SubBorrow,
            CarryOfAdd,
            BorrowOfSub,
            MadLoCarry,
            MadHiCarry,
            CarryOfMadLo,
            CarryOfMadHi,
            Add,
            Sub,
            MulLo,
            MulHi,
            Div,
            Rem,
            Min,
            Max,
            And,
            Or,
            Xor,
        ];
        let letter = |file: File| ["r", "d", "p"][file as usize];
        let said = |(result, sources): (File, &[File])| {
            format!("{} {}", letter(result), sources.iter().map(|file| letter(*file)).collect::<String>())
        };
        for op in ops {
            for (bits, wide) in [(16, "r"), (32, "r"), (64, "d")] {
                let found = said(General::Integer { op, bits, signed: true }.signature());
                assert_eq!(found, manual(op).replace('w', wide), "{op:?} of {bits} bits");
            }
        }
        for (op, bits, wanted) in
            [(MulWide, 16, "r rr"), (MulWide, 32, "d rr"), (MadWide, 16, "r rrr"), (MadWide, 32, "d rrd")]
        {
            assert_eq!(said(General::Integer { op, bits, signed: false }.signature()), wanted, "{op:?} of {bits} bits");
        }
    }
}
