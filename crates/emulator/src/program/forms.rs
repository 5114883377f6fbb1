//! Instructions in all their forms as data: mnemonic, modifiers and type to a `General`.

use super::decode::Decoder;
use super::grammar::Form;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

/// The modifiers that an opcode names, and what is left of it.
pub(super) struct Modifiers<'a> {
    pub mode: Mode,
    /// `rni`, `rzi`, `rmi` or `rpi`.
    pub integral: bool,
    pub rest: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub fn of(parts: &[&'a str]) -> Modifiers<'a> {
        let mut found = Modifiers { mode: Mode::PLAIN, integral: false, rest: Vec::new() };
        for part in parts {
            let rounding = match *part {
                "rn" | "rni" => Some(Rounding::Nearest),
                "rz" | "rzi" => Some(Rounding::Zero),
                "rm" | "rmi" => Some(Rounding::Down),
                "rp" | "rpi" => Some(Rounding::Up),
                "rna" => Some(Rounding::Away),
                _ => None,
            };
            match (rounding, *part) {
                (Some(rounding), _) => {
                    found.mode.rounding = rounding;
                    found.integral = part.len() == 3 && part.ends_with('i');
                }
                (_, "ftz") => found.mode.flush = true,
                (_, "sat") => found.mode.clamp = Clamp::Saturate,
                (_, "relu") if found.mode.clamp == Clamp::Finite => found.mode.clamp = Clamp::ReluFinite,
                (_, "satfinite") if found.mode.clamp == Clamp::Relu => found.mode.clamp = Clamp::ReluFinite,
                (_, "relu") => found.mode.clamp = Clamp::Relu,
                (_, "satfinite") => found.mode.clamp = Clamp::Finite,
                (_, "NaN") => found.mode.nan = true,
                (_, "xorsign") => found.mode.xorsign = true,
                (_, "approx" | "full") => {}
                (_, "abs") if found.mode.xorsign => {}
                _ => found.rest.push(part),
            }
        }
        found
    }
}

impl Decoder<'_> {
    /// Appends a lane-wise instruction given as data, with the operands that its signature asks for.
    pub fn general(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        code: General,
        class: Class,
    ) -> Result<(), PtxError> {
        let (result, files) = code.signature();
        let (to, from) = split(words)?;
        let mut sources = <[Slot; 4]>::default();
        for ((slot, file), operand) in sources.iter_mut().zip(files).zip(from) {
            *slot = match file {
                File::P => self.predicate(operand, words)?,
                _ => self.source(operand, *file, words.line)?,
            };
        }
        let d = self.destination(to, result, words.line)?;
        self.push(Op::General { code, d, sources }, guard, words, Some(class));
        let flops = code.flops();
        if let Some(info) = self.info.last_mut()
            && class == Class::FloatF32
        {
            info.flops_f32 = flops;
        }
        Ok(())
    }

    /// Appends an arithmetic instruction in any of its forms.
    pub fn form(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        if let Some((op, extended)) = carry_form(parts) {
            return self.carry(words, guard, op, extended, parts);
        }
        if let Some((row, of)) = self.forms_of(words)?.iter().find_map(Form::lanewise) {
            return self.general(words, guard, General::Row { row, of }, class_of(row, of));
        }
        let found = float_form(parts).or_else(|| integer_form(parts)).or_else(|| other_form(parts));
        let Some((code, class)) = found else { return self.unknown(words) };
        self.general(words, guard, code, class)
    }

    /// The function's carry flag, which `add.cc` and its kin write and read.
    fn carry_flag(&mut self) -> Slot {
        if let Some(flag) = self.frame().carry {
            return flag;
        }
        let flag = self.temporary(File::P);
        self.frame().carry = Some(flag);
        flag
    }

    /// `add.cc`, `addc`, `mad.lo.cc` …: the carry is a predicate that belongs to the function.
    fn carry(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        (sum, out): (IntegerOp, IntegerOp),
        extended: bool,
        parts: &[&str],
    ) -> Result<(), PtxError> {
        let Some(Number::Integer { bits, signed }) = Number::named(parts[parts.len() - 1]) else {
            return self.unknown(words);
        };
        let code = |op| General::Integer { op, bits, signed };
        let (result, files) = code(sum).signature();
        let (to, from) = split(words)?;
        let carry = self.carry_flag();
        let mut sources = <[Slot; 4]>::default();
        for (slot, operand) in sources.iter_mut().zip(from) {
            *slot = self.source(operand, result, words.line)?;
        }
        sources[files.len() - 1] = if extended { carry } else { self.constant(File::P, 0) };
        let d = self.destination(to, result, words.line)?;
        let new = self.temporary(File::P);
        if parts.contains(&"cc") {
            self.push(Op::General { code: code(out), d: new, sources }, guard, words, None);
        }
        self.push(Op::General { code: code(sum), d, sources }, guard, words, Some(Class::Integer));
        if parts.contains(&"cc") {
            self.push_unary(words, guard, Alu::MovP, carry, new, None);
        }
        Ok(())
    }
}

/// Where an instruction's result goes, and its sources: as many as its form has, or it was refused before.
fn split(words: &Words) -> Result<(&Operand, &[Operand]), PtxError> {
    let taken = words.operands.split_first();
    taken.map_or_else(|| error(words.line, format!("`{}` takes operands", words.opcode)), Ok)
}

impl General {
    fn flops(self) -> u32 {
        match self {
            General::Float { op: FloatOp::Fma, packed, .. } => 2 << u32::from(packed),
            General::Float { packed, .. } => 1 << u32::from(packed),
            General::MixedFma { .. } => 2,
            _ => 1,
        }
    }
}

/// What an instruction that is whole in its row counts as: by its result.
fn class_of(row: u8, of: Number) -> Class {
    match of {
        _ if signature::files(row, of).0 == File::P => Class::Compare,
        Number::Integer { .. } => Class::Integer,
        Number::Float(Format::F64) => Class::FloatF64,
        Number::Float(_) => Class::FloatF32,
    }
}

/// The operation and its carry, and whether a carry goes in.
fn carry_form(parts: &[&str]) -> Option<((IntegerOp, IntegerOp), bool)> {
    use IntegerOp::*;
    Some(match parts {
        ["add", "cc", _] => ((AddCarry, CarryOfAdd), false),
        ["addc", _] | ["addc", "cc", _] => ((AddCarry, CarryOfAdd), true),
        ["sub", "cc", _] => ((SubBorrow, BorrowOfSub), false),
        ["subc", _] | ["subc", "cc", _] => ((SubBorrow, BorrowOfSub), true),
        ["mad", "lo", "cc", _] => ((MadLoCarry, CarryOfMadLo), false),
        ["mad", "hi", "cc", _] => ((MadHiCarry, CarryOfMadHi), false),
        ["madc", "lo", _] | ["madc", "lo", "cc", _] => ((MadLoCarry, CarryOfMadLo), true),
        ["madc", "hi", _] | ["madc", "hi", "cc", _] => ((MadHiCarry, CarryOfMadHi), true),
        _ => return None,
    })
}

fn float_form(parts: &[&str]) -> Option<(General, Class)> {
    let Modifiers { mode, rest, .. } = Modifiers::of(&parts[1..]);
    let is_coarse = mode.flush && rest == ["f64"];
    let op = match parts[0] {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "mul" => FloatOp::Mul,
        "fma" | "mad" => FloatOp::Fma,
        "div" => FloatOp::Div,
        "sqrt" => FloatOp::Sqrt,
        "rcp" if is_coarse => FloatOp::CoarseReciprocal,
        "rsqrt" if is_coarse => FloatOp::CoarseReciprocalSqrt,
        "rcp" => FloatOp::Reciprocal,
        "min" => FloatOp::Min,
        "max" => FloatOp::Max,
        "abs" => FloatOp::Abs,
        "neg" => FloatOp::Neg,
        "copysign" => FloatOp::CopySign,
        "rsqrt" => FloatOp::ReciprocalSqrt,
        "sin" => FloatOp::Sin,
        "cos" => FloatOp::Cos,
        "ex2" => FloatOp::Exp2,
        "lg2" => FloatOp::Log2,
        "tanh" => FloatOp::Tanh,
        _ => return None,
    };
    if let ["f32", from] = rest[..] {
        let Some(Number::Float(from @ (Format::F16 | Format::Bf16))) = Number::named(from) else { return None };
        let code = match op {
            FloatOp::Add | FloatOp::Sub => General::MixedAdd { from, mode, subtract: op == FloatOp::Sub },
            FloatOp::Fma => General::MixedFma { from, mode },
            _ => return None,
        };
        return Some((code, Class::FloatF32));
    }
    let [kind] = rest[..] else { return None };
    let packed = kind.ends_with("x2");
    let Number::Float(format) = Number::named(kind.trim_end_matches("x2"))? else { return None };
    if matches!(format, Format::Tf32 | Format::E4m3 | Format::E5m2) || packed && format == Format::F64 {
        return None;
    }
    let class = match (format, op) {
        (Format::F64, FloatOp::Fma) => Class::FmaF64,
        (Format::F64, _) => Class::FloatF64,
        (Format::F32, FloatOp::Fma) if !packed => Class::FmaF32,
        _ => Class::FloatF32,
    };
    Some((General::Float { op, format, mode, packed }, class))
}

fn integer_form(parts: &[&str]) -> Option<(General, Class)> {
    use IntegerOp::*;
    let (kind, words) = parts.split_last()?;
    let packed = kind.ends_with("16x2");
    let Number::Integer { bits, signed } = Number::named(kind.trim_end_matches("x2"))? else { return None };
    let op = match *words {
        ["add"] => Add,
        ["sub"] => Sub,
        ["add", "sat"] => AddSaturate,
        ["sub", "sat"] => SubSaturate,
        ["mul", "lo"] => MulLo,
        ["mul", "hi"] => MulHi,
        ["mul", "wide"] => MulWide,
        ["mad", "lo"] => MadLo,
        ["mad", "hi"] => MadHi,
        ["mad", "hi", "sat"] => MadHiSaturate,
        ["mad", "wide"] => MadWide,
        ["mul24", "lo"] => Mul24Lo,
        ["mul24", "hi"] => Mul24Hi,
        ["mad24", "lo"] => Mad24Lo,
        ["mad24", "hi"] => Mad24Hi,
        ["mad24", "hi", "sat"] => Mad24HiSaturate,
        ["div"] => Div,
        ["rem"] => Rem,
        ["min"] => Min,
        ["max"] => Max,
        ["min", "relu"] => MinRelu,
        ["max", "relu"] => MaxRelu,
        ["abs"] => Abs,
        ["neg"] => Neg,
        ["not"] => Not,
        ["cnot"] => CNot,
        ["and"] => And,
        ["or"] => Or,
        ["xor"] => Xor,
        ["shl"] => Shl,
        ["shr"] => Shr,
        ["popc"] => Popc,
        ["clz"] => Clz,
        ["brev"] => Brev,
        ["bfind"] => Bfind,
        ["bfind", "shiftamt"] => BfindShift,
        ["bfe"] => Bfe,
        ["bfi"] => Bfi,
        _ => return None,
    };
    if packed {
        return Some((General::Halves { op, signed }, Class::Integer));
    }
    Some((General::Integer { op, bits, signed }, Class::Integer))
}

fn other_form(parts: &[&str]) -> Option<(General, Class)> {
    let signed = |kind: &str| match kind {
        "s32" => Some(true),
        "u32" => Some(false),
        _ => None,
    };
    let code = match *parts {
        ["shf", "l", "clamp", "b32"] => General::FunnelLeft,
        ["shf", "r", "clamp", "b32"] => General::FunnelRight,
        ["prmt", "b32", mode] => General::Permute(match mode {
            "f4e" => Permute::Forward4,
            "b4e" => Permute::Backward4,
            "rc8" => Permute::Replicate8,
            "ecl" => Permute::EdgeLeft,
            "ecr" => Permute::EdgeRight,
            "rc16" => Permute::Replicate16,
            _ => return None,
        }),
        ["dp4a", a, b] => General::Dot4 { signed_a: signed(a)?, signed_b: signed(b)? },
        ["dp2a", half @ ("lo" | "hi"), a, b] => {
            General::Dot2 { signed_a: signed(a)?, signed_b: signed(b)?, high: half == "hi" }
        }
        ["isspacep", space] => {
            let window = match space {
                "global" => Window::Global,
                "local" => Window::Local,
                "const" => Window::Const,
                "param" | "param::entry" => Window::Parameter,
                _ => return None,
            };
            return Some((General::InSpace(window), Class::Compare));
        }
        ["testp", test, kind] => {
            let Number::Float(format @ (Format::F32 | Format::F64)) = Number::named(kind)? else { return None };
            let test = match test {
                "finite" => Test::Finite,
                "infinite" => Test::Infinite,
                "number" => Test::Number,
                "notanumber" => Test::NotANumber,
                "normal" => Test::Normal,
                "subnormal" => Test::Subnormal,
                _ => return None,
            };
            return Some((General::Test { test, format }, Class::Compare));
        }
        ["slct", "ftz", kind, "f32"] | ["slct", kind, "f32"] => {
            let (bits, by) = (Number::named(kind)?.bits(), Number::Float(Format::F32));
            return Some((General::SelectBySign { bits, by, flush: parts[1] == "ftz" }, Class::Compare));
        }
        ["slct", kind, "s32"] => {
            let by = Number::Integer { bits: 32, signed: true };
            let bits = Number::named(kind)?.bits();
            return Some((General::SelectBySign { bits, by, flush: false }, Class::Compare));
        }
        _ => return None,
    };
    Some((code, Class::Integer))
}
