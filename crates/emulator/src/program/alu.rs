//! The instructions that work lane by lane, from registers to a register, and the files of their operands.

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum File {
    /// 32 bits and narrower.
    R,
    /// 64 bits.
    D,
    /// Predicates.
    P,
}

/// Makes an enumeration with a list of all that it has.
macro_rules! enumerate {
    ($(#[$about:meta])* $name:ident { $($code:ident),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum $name { $($code),* }

        #[cfg(test)]
        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$code),*];
        }
    };
}

#[rustfmt::skip]
enumerate! {
    /// A lane-wise instruction. Names end in the type that they work on; narrow integers and halves live
    /// zero-extended in 32-bit registers.
    Alu {
    Mov32, Mov64, MovP, Pack64, Low64, High64, Pack32, Low32, High32,
    Add32, Sub32, MulLo32, MulHiS32, MulHiU32, MadLo32, MadHiS32, MadHiU32,
    DivS32, DivU32, RemS32, RemU32, MinS32, MinU32, MaxS32, MaxU32, Abs32, Neg32,
    And32, Or32, Xor32, Not32, Shl32, ShrU32, ShrS32, Popc32, Clz32, Brev32, Prmt32,
    BfeU32, BfeS32, FunnelL32, FunnelR32,
    Add64, Sub64, MulLo64, MulHiS64, MulHiU64, MadLo64,
    DivS64, DivU64, RemS64, RemU64, MinS64, MinU64, MaxS64, MaxU64, Abs64, Neg64,
    And64, Or64, Xor64, Not64, Shl64, ShrU64, ShrS64, Popc64, Clz64, Brev64,
    MulWideS32, MulWideU32, MadWideS32, MadWideU32,
    MulWideS16, MulWideU16, Trunc16, SignExtend8, SignExtend16, Trunc8,
    Truncate64, ExtendS32, ExtendU32,
    AddF32, SubF32, MulF32, FmaF32, DivF32, MinF32, MaxF32, AbsF32, NegF32, SqrtF32, RcpF32, RsqrtF32,
    SinF32, CosF32, Ex2F32, Lg2F32,
    AddF64, SubF64, MulF64, FmaF64, DivF64, MinF64, MaxF64, AbsF64, NegF64, SqrtF64, RcpF64,
    F32ToF64, F64ToF32, S32ToF32, U32ToF32, S64ToF32, U64ToF32, S32ToF64, U32ToF64, S64ToF64, U64ToF64,
    F32ToS32, F32ToU32, F32ToS64, F32ToU64, F64ToS32, F64ToU32, F64ToS64, F64ToU64,
    FloorF32, CeilF32, TruncF32, RoundF32, FloorF64, CeilF64, TruncF64, RoundF64,
    Eq32, Ne32, LtS32, LeS32, LtU32, LeU32,
    Eq64, Ne64, LtS64, LeS64, LtU64, LeU64,
    EqF32, NeF32, LtF32, LeF32, EquF32, NeuF32, LtuF32, LeuF32, NumF32, NanF32,
    EqF64, NeF64, LtF64, LeF64, EquF64, NeuF64, LtuF64, LeuF64, NumF64, NanF64,
    AndP, OrP, XorP, NotP,
    Select32, Select64, SelectP,
    }
}

impl Alu {
    /// The files of the destination and of the sources, in order.
    #[rustfmt::skip]
    pub fn signature(self) -> &'static [File] {
        use Alu::*;
        use File::*;
        match self {
            Mov32 | Abs32 | Neg32 | Not32 | Popc32 | Clz32 | Brev32 | Low32 | High32
            | Trunc16 | SignExtend8 | SignExtend16 | Trunc8
            | AbsF32 | NegF32 | SqrtF32 | RcpF32 | RsqrtF32 | SinF32 | CosF32 | Ex2F32 | Lg2F32
            | S32ToF32 | U32ToF32 | F32ToS32 | F32ToU32 | FloorF32 | CeilF32 | TruncF32 | RoundF32 => &[R, R],
            Mov64 | Abs64 | Neg64 | Not64 | Brev64 | AbsF64 | NegF64 | SqrtF64 | RcpF64
            | S64ToF64 | U64ToF64 | F64ToS64 | F64ToU64 | FloorF64 | CeilF64 | TruncF64 | RoundF64 => &[D, D],
            MovP | NotP => &[P, P],
            Pack64 | MulWideS32 | MulWideU32 => &[D, R, R],
            Low64 | High64 | Popc64 | Clz64 | Truncate64 | F64ToF32 | S64ToF32 | U64ToF32
            | F64ToS32 | F64ToU32 => &[R, D],
            ExtendS32 | ExtendU32 | F32ToF64 | S32ToF64 | U32ToF64 | F32ToS64 | F32ToU64 => &[D, R],
            Pack32 | Add32 | Sub32 | MulLo32 | MulHiS32 | MulHiU32 | DivS32 | DivU32 | RemS32 | RemU32
            | MinS32 | MinU32 | MaxS32 | MaxU32 | And32 | Or32 | Xor32 | Shl32 | ShrU32 | ShrS32
            | MulWideS16 | MulWideU16
            | AddF32 | SubF32 | MulF32 | DivF32 | MinF32 | MaxF32 => &[R, R, R],
            MadLo32 | MadHiS32 | MadHiU32 | Prmt32 | BfeU32 | BfeS32 | FunnelL32 | FunnelR32 | FmaF32 => &[R, R, R, R],
            Add64 | Sub64 | MulLo64 | MulHiS64 | MulHiU64 | DivS64 | DivU64 | RemS64 | RemU64
            | MinS64 | MinU64 | MaxS64 | MaxU64 | And64 | Or64 | Xor64
            | AddF64 | SubF64 | MulF64 | DivF64 | MinF64 | MaxF64 => &[D, D, D],
            MadLo64 | FmaF64 => &[D, D, D, D],
            Shl64 | ShrU64 | ShrS64 => &[D, D, R],
            MadWideS32 | MadWideU32 => &[D, R, R, D],
            Eq32 | Ne32 | LtS32 | LeS32 | LtU32 | LeU32 | EqF32 | NeF32 | LtF32 | LeF32
            | EquF32 | NeuF32 | LtuF32 | LeuF32 | NumF32 | NanF32 => &[P, R, R],
            Eq64 | Ne64 | LtS64 | LeS64 | LtU64 | LeU64 | EqF64 | NeF64 | LtF64 | LeF64
            | EquF64 | NeuF64 | LtuF64 | LeuF64 | NumF64 | NanF64 => &[P, D, D],
            AndP | OrP | XorP => &[P, P, P],
            Select32 => &[R, R, R, P],
            Select64 => &[D, D, D, P],
            SelectP => &[P, P, P, P],
        }
    }

    /// Moves bits without computing with them: the result is a copy of a source.
    pub fn copies(self) -> bool {
        use Alu::*;
        matches!(
            self,
            Mov32
                | Mov64
                | MovP
                | Pack64
                | Low64
                | High64
                | Pack32
                | Low32
                | High32
                | Truncate64
                | Trunc16
                | Trunc8
                | Select32
                | Select64
                | SelectP
                | ExtendU32
                | Prmt32
                | FunnelL32
                | FunnelR32
                | BfeU32
                | And32
                | And64
                | Or32
                | Or64
                | Shl32
                | Shl64
                | ShrU32
                | ShrU64
        )
    }
}
