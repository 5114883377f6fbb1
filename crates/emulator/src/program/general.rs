//! Lane-wise instructions in all their forms: an operation, the type that it works on and the modifiers
//! are data here, and `machine::arithmetic::general` computes with them. The few forms that kernels spend their time
//! in have faster operations of their own, in `alu`.

use super::File;

/// A floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// 8 bits: four of exponent and three of fraction, without infinities.
    E4m3,
    E5m2,
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
            "e4m3" => Format::E4m3,
            "e5m2" => Format::E5m2,
            "f16" => Format::F16,
            "bf16" => Format::Bf16,
            "tf32" => Format::Tf32,
            "f32" => Format::F32,
            "f64" => Format::F64,
            _ => {
                let signed = name.starts_with('s');
                let bits = name.strip_prefix(['s', 'u', 'b'])?.parse().ok()?;
                return matches!(bits, 8 | 16 | 32 | 64 | 128).then_some(Number::Integer { bits, signed });
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
            Format::E4m3 | Format::E5m2 => 8,
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
    /// Both of them.
    ReluFinite,
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
    /// `.approx.ftz.f64`: of the upper halves of the operand and of the result.
    CoarseReciprocal,
    CoarseReciprocalSqrt,
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
    Local,
    Const,
    Parameter,
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
    /// On both halves of a register.
    Halves {
        op: IntegerOp,
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
    /// A packed pair to another one.
    ConvertHalves {
        to: Format,
        from: Format,
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
    /// `cvt.pack`: the first two made to fit, the first above the second, and the third above them.
    Pack {
        bits: u8,
        signed: bool,
    },
    /// One that is whole in its row of `lanewise`, of a type.
    Row {
        row: u8,
        of: Number,
    },
    Dot2 {
        signed_a: bool,
        signed_b: bool,
        high: bool,
    },
    /// Whether a generic address lies in a space.
    InSpace(Window),
}
