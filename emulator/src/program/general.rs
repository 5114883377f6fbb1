//! Lane-wise instructions in all their forms: an operation, the type that it works on and the modifiers
//! are data here, and `machine::general` computes with them. The few forms that kernels spend their time
//! in have faster operations of their own, in `alu`.

use super::File;

/// A floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    /// 19 bits, held in the upper bits of an f32.
    Tf32,
    F32,
    F64,
}

/// A type of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Float(Format),
    Integer { bits: u8, signed: bool },
}

impl Number {
    /// The type that a PTX suffix names.
    pub fn named(name: &str) -> Option<Number> {
        let format = match name {
            "f16" => Format::F16,
            "bf16" => Format::Bf16,
            "tf32" => Format::Tf32,
            "f32" => Format::F32,
            "f64" => Format::F64,
            _ => {
                let signed = name.starts_with('s');
                let bits = name.strip_prefix(['s', 'u', 'b'])?.parse().ok()?;
                return matches!(bits, 8 | 16 | 32 | 64).then_some(Number::Integer { bits, signed });
            }
        };
        Some(Number::Float(format))
    }

    pub fn bits(self) -> u8 {
        match self {
            Number::Integer { bits, .. } => bits,
            Number::Float(format) => format.bits(),
        }
    }

    /// The register file that holds one.
    pub fn file(self) -> File {
        if self.bits() == 64 { File::D } else { File::R }
    }
}

impl Format {
    pub fn bits(self) -> u8 {
        match self {
            Format::F16 | Format::Bf16 => 16,
            Format::Tf32 | Format::F32 => 32,
            Format::F64 => 64,
        }
    }
}

/// How a result that the format cannot hold is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    Away,
    Zero,
    Down,
    Up,
}

/// What happens to a result out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clamp {
    None,
    /// `.sat`: into [0, 1], or into an integer type's range.
    Saturate,
    /// `.relu`: negative results become 0.
    Relu,
    /// `.satfinite`: the largest finite number instead of an infinity.
    Finite,
}

/// The modifiers of a floating-point instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub rounding: Rounding,
    /// Subnormal inputs and results become zeros of their sign.
    pub flush: bool,
    pub clamp: Clamp,
    /// `min.NaN`, `max.NaN`: a NaN operand makes the result one.
    pub nan: bool,
    /// `.xorsign.abs`: of the magnitudes, with the signs' exclusive or.
    pub xorsign: bool,
}

impl Mode {
    pub const PLAIN: Mode =
        Mode { rounding: Rounding::Nearest, flush: false, clamp: Clamp::None, nan: false, xorsign: false };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
    Reciprocal,
    Min,
    Max,
    Abs,
    Neg,
    CopySign,
    ReciprocalSqrt,
    Sin,
    Cos,
    Exp2,
    Log2,
    Tanh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntegerOp {
    Add,
    Sub,
    /// `.sat`: clamped to the type's range.
    AddSaturate,
    SubSaturate,
    MulLo,
    MulHi,
    MulWide,
    MadLo,
    MadHi,
    MadHiSaturate,
    MadWide,
    Mul24Lo,
    Mul24Hi,
    Mad24Lo,
    Mad24Hi,
    Mad24HiSaturate,
    Sad,
    Div,
    Rem,
    Min,
    Max,
    MinRelu,
    MaxRelu,
    Abs,
    Neg,
    Not,
    CNot,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Popc,
    Clz,
    Brev,
    Bfind,
    BfindShift,
    Bfe,
    Bfi,
    FindNth,
    MaskClamp,
    MaskWrap,
    ExtendClamp,
    ExtendWrap,
    /// With the carry as a fourth source; the carry out is the operation of that name.
    AddCarry,
    CarryOfAdd,
    SubBorrow,
    BorrowOfSub,
    MadLoCarry,
    CarryOfMadLo,
    MadHiCarry,
    CarryOfMadHi,
}

/// The byte permutations of `prmt`, apart from the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permute {
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// A comparison: the relation, and what it gives where an operand is a NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Ordered(Relation),
    OrUnordered(Relation),
    BothNumbers,
    AnyNan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// The address spaces that a generic address can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Global,
    Shared,
    Local,
    Const,
}

/// A lane-wise instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum General {
    /// `packed`: on both halves of the register.
    Float {
        op: FloatOp,
        format: Format,
        mode: Mode,
        packed: bool,
    },
    /// `add.f32.f16` and the like: the first operands are narrower than the last and the result.
    MixedAdd {
        from: Format,
        mode: Mode,
        subtract: bool,
    },
    MixedFma {
        from: Format,
        mode: Mode,
    },
    Integer {
        op: IntegerOp,
        bits: u8,
        signed: bool,
    },
    /// `register_bits`: of the destination, to which a narrow signed integer is extended.
    Convert {
        to: Number,
        from: Number,
        mode: Mode,
        integral: bool,
        register_bits: u8,
    },
    /// Two f32 to a packed pair, the first in the upper half.
    ConvertPair {
        to: Format,
        mode: Mode,
    },
    /// Of the lower (0) or upper (1) half of packed operands; 0 for others.
    Compare {
        test: Comparison,
        number: Number,
        flush: bool,
        half: u8,
    },
    /// A predicate as `set` writes it: all ones, or 1.0.
    Truth {
        to: Number,
    },
    /// `slct`: the first where the third is not negative.
    SelectBySign {
        bits: u8,
        by: Number,
        flush: bool,
    },
    Test {
        test: Test,
        format: Format,
    },
    Permute(Permute),
    /// `shf`, clamping the shift at 32.
    FunnelLeft,
    FunnelRight,
    /// `dp4a`, `dp2a`: which operands are signed; the upper half of `b`'s bytes.
    Dot4 {
        signed_a: bool,
        signed_b: bool,
    },
    Dot2 {
        signed_a: bool,
        signed_b: bool,
        high: bool,
    },
    /// Whether a generic address lies in a space.
    InSpace(Window),
}

impl General {
    /// The files of the destination and of the sources.
    pub fn signature(self) -> (File, &'static [File]) {
        use File::{D, P, R};
        let of = |count: usize, bits: u8| match bits {
            64 => (D, &[D, D, D][..count]),
            _ => (R, &[R, R, R][..count]),
        };
        match self {
            General::Float { op, format, packed, .. } => {
                let bits = if packed { 2 * format.bits() } else { format.bits() };
                of(op.operands(), bits)
            }
            General::MixedAdd { .. } => (R, &[R, R]),
            General::MixedFma { .. } => (R, &[R, R, R]),
            General::Integer { op, bits, .. } => op.signature(bits),
            General::Convert { to, from, register_bits, .. } => {
                let to = if register_bits == 64 { D } else { to.file() };
                (to, if from.file() == D { &[D] } else { &[R] })
            }
            General::ConvertPair { .. } => (R, &[R, R]),
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
            MadLo | MadHi | MadHiSaturate | Mad24Lo | Mad24Hi | Mad24HiSaturate | Sad if wide => (D, &[D, D, D]),
            MadLo | MadHi | MadHiSaturate | MadWide | Mad24Lo | Mad24Hi | Mad24HiSaturate | Sad | FindNth => {
                (R, &[R, R, R])
            }
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
