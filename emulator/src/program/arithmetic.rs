//! Lane-wise instructions: mnemonic and type to operations.

use super::decode::Decoder;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// Appends a lane-wise instruction.
    pub fn arithmetic(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let kind = parts[parts.len() - 1];
        let plain: Vec<&str> =
            parts[1..].iter().copied().filter(|p| *p != "rn" && *p != "approx" && *p != "full").collect();
        match parts[0] {
            "mov" => return self.mov(words, guard, kind),
            "cvt" => return self.convert(words, guard, &parts[1..]),
            "cvta" => return self.address_cast(words, guard, parts),
            "setp" => return self.compare(words, guard, &parts[1..]),
            "selp" => return self.select_value(words, guard, kind),
            "lop3" => return self.lop3(words, guard),
            _ => {}
        }
        let Some((code, class)) = simple(parts[0], &plain) else { return self.unknown(words) };
        self.alu(words, guard, code, class, narrow(kind, parts[0]))
    }

    /// Appends `code` with the instruction's operands. 16-bit operands are brought to 32 bits first, and the result back.
    fn alu(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        code: Alu,
        class: Class,
        narrow: Option<Alu>,
    ) -> Result<(), PtxError> {
        let signature = code.signature();
        if words.operands.len() != signature.len() {
            return error(
                words.line,
                format!("`{}` takes {} operands, here are {}", words.opcode, signature.len(), words.operands.len()),
            );
        }
        let mut slots = [0; 3];
        for (n, file) in signature[1..].iter().enumerate() {
            slots[n] = match file {
                File::P => self.predicate(&words.operands[n + 1], words)?,
                _ => self.source(&words.operands[n + 1], *file, words.line)?,
            };
            if narrow == Some(Alu::SignExtend16) && *file == File::R {
                slots[n] = self.helper(words, Alu::SignExtend16, File::R, slots[n]);
            }
        }
        let d = self.destination(&words.operands[0], signature[0], words.line)?;
        let [a, b, c] = slots;
        self.push(Op::Alu { code, d, a, b, c }, guard, words, Some(class));
        if narrow.is_some() && signature[0] == File::R {
            self.push(Op::Alu { code: Alu::Trunc16, d, a: d, b: d, c: d }, guard, words, None);
        }
        Ok(())
    }

    /// Appends an uncounted operation with one source, into a fresh register.
    fn helper(&mut self, words: &Words, code: Alu, file: File, a: Slot) -> Slot {
        let d = self.temporary(file);
        self.push(Op::Alu { code, d, a, b: a, c: a }, None, words, None);
        d
    }

    fn push_unary(&mut self, words: &Words, guard: Option<Guard>, code: Alu, d: Slot, a: Slot, class: Option<Class>) {
        self.push(Op::Alu { code, d, a, b: a, c: a }, guard, words, class);
    }

    fn mov(&mut self, words: &Words, guard: Option<Guard>, kind: &str) -> Result<(), PtxError> {
        let (to, from) = (operand(words, 0)?, operand(words, 1)?);
        let line = words.line;
        match (to, from, kind) {
            (Operand::List(parts), from, "b64") if parts.len() == 2 => {
                let a = self.source(from, File::D, line)?;
                for (part, code, class) in [(&parts[0], Alu::Low64, Some(Class::Move)), (&parts[1], Alu::High64, None)]
                {
                    let d = self.destination(part, File::R, line)?;
                    self.push_unary(words, guard, code, d, a, class);
                }
                Ok(())
            }
            (Operand::List(parts), from, "b32") if parts.len() == 2 => {
                let a = self.source(from, File::R, line)?;
                // Both halves are taken before either is written.
                let (low, high) =
                    (self.helper(words, Alu::Low32, File::R, a), self.helper(words, Alu::High32, File::R, a));
                for (part, half, class) in [(&parts[0], low, Some(Class::Move)), (&parts[1], high, None)] {
                    let d = self.destination(part, File::R, line)?;
                    self.push_unary(words, guard, Alu::Mov32, d, half, class);
                }
                Ok(())
            }
            (to, Operand::List(parts), "b64" | "b32") if parts.len() == 2 => {
                let (code, file) = if kind == "b64" { (Alu::Pack64, File::D) } else { (Alu::Pack32, File::R) };
                let (a, b) = (self.source(&parts[0], File::R, line)?, self.source(&parts[1], File::R, line)?);
                let d = self.destination(to, file, line)?;
                self.push(Op::Alu { code, d, a, b, c: a }, guard, words, Some(Class::Move));
                Ok(())
            }
            (to, from, _) => {
                let file = match self.file_of(to) {
                    Some(file) => file,
                    None => return self.unknown(words),
                };
                let code = match file {
                    File::R => Alu::Mov32,
                    File::D => Alu::Mov64,
                    File::P => Alu::MovP,
                };
                let a = if file == File::P { self.predicate(from, words)? } else { self.source(from, file, line)? };
                let d = self.destination(to, file, line)?;
                self.push_unary(words, guard, code, d, a, Some(Class::Move));
                Ok(())
            }
        }
    }

    /// `cvta`: between an address space's own addresses and generic ones.
    fn address_cast(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let to_space = parts[1] == "to";
        let space = parts[1 + to_space as usize];
        let window = match space {
            "global" | "param" => 0,
            "shared" | "shared::cta" => SHARED_WINDOW,
            "local" => LOCAL_WINDOW,
            "const" => CONST_WINDOW,
            _ => return self.unknown(words),
        };
        if parts[parts.len() - 1] != "u64" {
            return self.unknown(words);
        }
        let a = self.source(operand(words, 1)?, File::D, words.line)?;
        let d = self.destination(operand(words, 0)?, File::D, words.line)?;
        let b = self.constant(File::D, window);
        let code = if window == 0 {
            Alu::Mov64
        } else if to_space {
            Alu::Sub64
        } else {
            Alu::Add64
        };
        self.push(Op::Alu { code, d, a, b, c: b }, guard, words, Some(Class::Move));
        Ok(())
    }

    fn compare(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let kind = parts[parts.len() - 1];
        let combine = match parts[1..parts.len() - 1] {
            [] => None,
            ["and"] => Some(Alu::AndP),
            ["or"] => Some(Alu::OrP),
            ["xor"] => Some(Alu::XorP),
            _ => return self.unknown(words),
        };
        let Some((code, swap)) = comparison(parts[0], kind) else { return self.unknown(words) };
        let file = code.signature()[1];
        let mut a = self.source(operand(words, 1)?, file, words.line)?;
        let mut b = self.source(operand(words, 2)?, file, words.line)?;
        if kind == "s16" {
            (a, b) =
                (self.helper(words, Alu::SignExtend16, File::R, a), self.helper(words, Alu::SignExtend16, File::R, b));
        }
        if swap {
            (a, b) = (b, a);
        }
        let (first, second) = match operand(words, 0)? {
            Operand::Pair(p, q) => (&**p, Some(&**q)),
            p => (p, None),
        };
        let d = self.destination(first, File::P, words.line)?;
        let class = Some(Class::Compare);
        if combine.is_none() && second.is_none() {
            self.push(Op::Alu { code, d, a, b, c: b }, guard, words, class);
            return Ok(());
        }
        let raw = self.temporary(File::P);
        self.push(Op::Alu { code, d: raw, a, b, c: b }, guard, words, class);
        let other = match combine {
            Some(_) => Some(self.predicate(operand(words, 3)?, words)?),
            None => None,
        };
        let result = |decoder: &mut Self, d: Slot, value: Slot| match (combine, other) {
            (Some(code), Some(b)) => decoder.push(Op::Alu { code, d, a: value, b, c: b }, guard, words, None),
            _ => decoder.push_unary(words, guard, Alu::MovP, d, value, None),
        };
        if let Some(second) = second {
            let q = self.destination(second, File::P, words.line)?;
            let opposite = self.helper(words, Alu::NotP, File::P, raw);
            result(self, q, opposite);
        }
        result(self, d, raw);
        Ok(())
    }

    fn select_value(&mut self, words: &Words, guard: Option<Guard>, kind: &str) -> Result<(), PtxError> {
        let code = if kind.ends_with("64") { Alu::Select64 } else { Alu::Select32 };
        self.alu(words, guard, code, Class::Compare, None)
    }

    fn lop3(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let line = words.line;
        let d = self.destination(operand(words, 0)?, File::R, line)?;
        let a = self.source(operand(words, 1)?, File::R, line)?;
        let b = self.source(operand(words, 2)?, File::R, line)?;
        let c = self.source(operand(words, 3)?, File::R, line)?;
        let Operand::Integer(table) = operand(words, 4)? else { return self.unknown(words) };
        self.push(Op::Lop3 { d, a, b, c, table: *table as u8 }, guard, words, Some(Class::Integer));
        Ok(())
    }

    fn convert(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let [modifiers @ .., to, from] = parts else { return self.unknown(words) };
        let Some(steps) = conversion(modifiers, to, from) else { return self.unknown(words) };
        let Some(last) = steps.last() else {
            // The same bits in the same register.
            let wide = to.ends_with("64");
            let (file, code) = if wide { (File::D, Alu::Mov64) } else { (File::R, Alu::Mov32) };
            let a = self.source(operand(words, 1)?, file, words.line)?;
            let d = self.destination(operand(words, 0)?, file, words.line)?;
            self.push_unary(words, guard, code, d, a, Some(Class::Convert));
            return Ok(());
        };
        let mut a = self.source(operand(words, 1)?, steps[0].signature()[1], words.line)?;
        for step in &steps[..steps.len() - 1] {
            a = self.helper(words, *step, step.signature()[0], a);
        }
        let d = self.destination(operand(words, 0)?, last.signature()[0], words.line)?;
        self.push_unary(words, guard, *last, d, a, Some(Class::Convert));
        Ok(())
    }
}

/// For 16-bit integer types: how operands become 32 bits wide (results are cut back to 16).
fn narrow(kind: &str, mnemonic: &str) -> Option<Alu> {
    match (kind, mnemonic) {
        (_, "mul" | "mad") if kind.ends_with("16") => None,
        ("s16", _) => Some(Alu::SignExtend16),
        ("u16" | "b16", _) => Some(Alu::Trunc16),
        _ => None,
    }
}

/// The steps that a conversion takes; none where the bits stay as they are.
fn conversion(modifiers: &[&str], to: &str, from: &str) -> Option<Vec<Alu>> {
    use Alu::*;
    let rounding = modifiers.first().copied().unwrap_or("");
    if modifiers.len() > 1 {
        return None;
    }
    let float = |kind: &str| matches!(kind, "f32" | "f64");
    let mut steps = Vec::new();
    match (float(to), float(from)) {
        (true, true) => match (to, from, rounding) {
            ("f64", "f32", "") => steps.push(F32ToF64),
            ("f32", "f64", "rn") => steps.push(F64ToF32),
            (_, _, "") if to == from => {}
            (_, _, rounding) if to == from => steps.push(round_to_integer(rounding, to)?),
            _ => return None,
        },
        (true, false) => {
            if rounding != "rn" && !(rounding.is_empty() && to == "f64") {
                return None;
            }
            steps.extend(widen(from));
            steps.push(match (from, to) {
                ("s64", "f32") => S64ToF32,
                ("u64", "f32") => U64ToF32,
                ("s64", "f64") => S64ToF64,
                ("u64", "f64") => U64ToF64,
                (_, "f32") if from.starts_with('s') => S32ToF32,
                (_, "f32") => U32ToF32,
                _ if from.starts_with('s') => S32ToF64,
                _ => U32ToF64,
            });
        }
        (false, true) => {
            steps.push(round_to_integer(rounding, from)?);
            steps.push(match (from, to) {
                ("f32", "s32") => F32ToS32,
                ("f32", "u32") => F32ToU32,
                ("f32", "s64") => F32ToS64,
                ("f32", "u64") => F32ToU64,
                ("f64", "s32") => F64ToS32,
                ("f64", "u32") => F64ToU32,
                ("f64", "s64") => F64ToS64,
                ("f64", "u64") => F64ToU64,
                _ => return None,
            });
        }
        (false, false) => {
            if !rounding.is_empty() {
                return None;
            }
            match (bits(to)?, bits(from)?) {
                (64, 64) => {}
                (64, _) => {
                    steps.extend(widen(from));
                    steps.push(if from.starts_with('s') { ExtendS32 } else { ExtendU32 });
                }
                (narrow, 64) => {
                    steps.push(Truncate64);
                    steps.extend(cut(narrow));
                }
                (narrow, wide) => {
                    steps.extend(widen(from));
                    if narrow < wide || from.starts_with('s') {
                        steps.extend(cut(narrow));
                    }
                }
            }
        }
    }
    Some(steps)
}

fn bits(kind: &str) -> Option<u32> {
    if !kind.starts_with(['s', 'u', 'b']) {
        return None;
    }
    kind[1..].parse().ok()
}

/// A narrow integer to 32 bits.
fn widen(from: &str) -> Option<Alu> {
    match from {
        "s8" => Some(Alu::SignExtend8),
        "s16" => Some(Alu::SignExtend16),
        "u8" => Some(Alu::Trunc8),
        "u16" => Some(Alu::Trunc16),
        _ => None,
    }
}

/// 32 bits to a narrow integer.
fn cut(bits: u32) -> Option<Alu> {
    match bits {
        8 => Some(Alu::Trunc8),
        16 => Some(Alu::Trunc16),
        _ => None,
    }
}

fn round_to_integer(rounding: &str, kind: &str) -> Option<Alu> {
    use Alu::*;
    Some(match (rounding, kind) {
        ("rni", "f32") => RoundF32,
        ("rzi", "f32") => TruncF32,
        ("rmi", "f32") => FloorF32,
        ("rpi", "f32") => CeilF32,
        ("rni", "f64") => RoundF64,
        ("rzi", "f64") => TruncF64,
        ("rmi", "f64") => FloorF64,
        ("rpi", "f64") => CeilF64,
        _ => return None,
    })
}

/// A comparison's operation, and whether its operands change places (`a > b` is `b < a`).
fn comparison(operator: &str, kind: &str) -> Option<(Alu, bool)> {
    use Alu::*;
    // lt, le, eq, ne; for floats also the unordered forms.
    let (ordered, unordered) = match kind {
        "b16" | "u16" | "b32" | "u32" => ([LtU32, LeU32, Eq32, Ne32], None),
        "s16" | "s32" => ([LtS32, LeS32, Eq32, Ne32], None),
        "b64" | "u64" => ([LtU64, LeU64, Eq64, Ne64], None),
        "s64" => ([LtS64, LeS64, Eq64, Ne64], None),
        "f32" => ([LtF32, LeF32, EqF32, NeF32], Some([LtuF32, LeuF32, EquF32, NeuF32, NumF32, NanF32])),
        "f64" => ([LtF64, LeF64, EqF64, NeF64], Some([LtuF64, LeuF64, EquF64, NeuF64, NumF64, NanF64])),
        _ => return None,
    };
    let signed = kind.starts_with('s');
    Some(match (operator, unordered) {
        ("lt", _) => (ordered[0], false),
        ("le", _) => (ordered[1], false),
        ("gt", _) => (ordered[0], true),
        ("ge", _) => (ordered[1], true),
        ("eq", _) => (ordered[2], false),
        ("ne", _) => (ordered[3], false),
        ("lo", None) if !signed => (ordered[0], false),
        ("ls", None) if !signed => (ordered[1], false),
        ("hi", None) if !signed => (ordered[0], true),
        ("hs", None) if !signed => (ordered[1], true),
        ("ltu", Some(u)) => (u[0], false),
        ("leu", Some(u)) => (u[1], false),
        ("gtu", Some(u)) => (u[0], true),
        ("geu", Some(u)) => (u[1], true),
        ("equ", Some(u)) => (u[2], false),
        ("neu", Some(u)) => (u[3], false),
        ("num", Some(u)) => (u[4], false),
        ("nan", Some(u)) => (u[5], false),
        _ => return None,
    })
}

/// Instructions whose operands stand in the order of their operation's: mnemonic, and the rest of the opcode.
#[rustfmt::skip]
fn simple(mnemonic: &str, rest: &[&str]) -> Option<(Alu, Class)> {
    use Alu::*;
    let integer = |code| Some((code, Class::Integer));
    let f32 = |code| Some((code, Class::FloatF32));
    let f64 = |code| Some((code, Class::FloatF64));
    match (mnemonic, rest) {
        ("add", ["s16" | "u16" | "s32" | "u32" | "b32"]) => integer(Add32),
        ("sub", ["s16" | "u16" | "s32" | "u32" | "b32"]) => integer(Sub32),
        ("add", ["s64" | "u64"]) => integer(Add64),
        ("sub", ["s64" | "u64"]) => integer(Sub64),
        ("mul", ["lo", "s32" | "u32"]) => integer(MulLo32),
        ("mul", ["lo", "s64" | "u64"]) => integer(MulLo64),
        ("mul", ["hi", "s32"]) => integer(MulHiS32),
        ("mul", ["hi", "u32"]) => integer(MulHiU32),
        ("mul", ["hi", "s64"]) => integer(MulHiS64),
        ("mul", ["hi", "u64"]) => integer(MulHiU64),
        ("mul", ["wide", "s32"]) => integer(MulWideS32),
        ("mul", ["wide", "u32"]) => integer(MulWideU32),
        ("mul", ["wide", "s16"]) => integer(MulWideS16),
        ("mul", ["wide", "u16"]) => integer(MulWideU16),
        ("mad", ["lo", "s32" | "u32"]) => integer(MadLo32),
        ("mad", ["lo", "s64" | "u64"]) => integer(MadLo64),
        ("mad", ["hi", "s32"]) => integer(MadHiS32),
        ("mad", ["hi", "u32"]) => integer(MadHiU32),
        ("mad", ["wide", "s32"]) => integer(MadWideS32),
        ("mad", ["wide", "u32"]) => integer(MadWideU32),
        ("div", ["s16" | "s32"]) => integer(DivS32),
        ("div", ["u16" | "u32"]) => integer(DivU32),
        ("div", ["s64"]) => integer(DivS64),
        ("div", ["u64"]) => integer(DivU64),
        ("rem", ["s16" | "s32"]) => integer(RemS32),
        ("rem", ["u16" | "u32"]) => integer(RemU32),
        ("rem", ["s64"]) => integer(RemS64),
        ("rem", ["u64"]) => integer(RemU64),
        ("min", ["s16" | "s32"]) => integer(MinS32),
        ("min", ["u16" | "u32"]) => integer(MinU32),
        ("max", ["s16" | "s32"]) => integer(MaxS32),
        ("max", ["u16" | "u32"]) => integer(MaxU32),
        ("min", ["s64"]) => integer(MinS64),
        ("min", ["u64"]) => integer(MinU64),
        ("max", ["s64"]) => integer(MaxS64),
        ("max", ["u64"]) => integer(MaxU64),
        ("abs", ["s16" | "s32"]) => integer(Abs32),
        ("abs", ["s64"]) => integer(Abs64),
        ("neg", ["s16" | "s32"]) => integer(Neg32),
        ("neg", ["s64"]) => integer(Neg64),
        ("and", ["b16" | "b32"]) => integer(And32),
        ("or", ["b16" | "b32"]) => integer(Or32),
        ("xor", ["b16" | "b32"]) => integer(Xor32),
        ("not", ["b16" | "b32"]) => integer(Not32),
        ("and", ["b64"]) => integer(And64),
        ("or", ["b64"]) => integer(Or64),
        ("xor", ["b64"]) => integer(Xor64),
        ("not", ["b64"]) => integer(Not64),
        ("and", ["pred"]) => Some((AndP, Class::Compare)),
        ("or", ["pred"]) => Some((OrP, Class::Compare)),
        ("xor", ["pred"]) => Some((XorP, Class::Compare)),
        ("not", ["pred"]) => Some((NotP, Class::Compare)),
        ("shl", ["b16" | "b32"]) => integer(Shl32),
        ("shl", ["b64"]) => integer(Shl64),
        ("shr", ["b16" | "u16" | "b32" | "u32"]) => integer(ShrU32),
        ("shr", ["s32"]) => integer(ShrS32),
        ("shr", ["b64" | "u64"]) => integer(ShrU64),
        ("shr", ["s64"]) => integer(ShrS64),
        ("popc", ["b32"]) => integer(Popc32),
        ("popc", ["b64"]) => integer(Popc64),
        ("clz", ["b32"]) => integer(Clz32),
        ("clz", ["b64"]) => integer(Clz64),
        ("brev", ["b32"]) => integer(Brev32),
        ("brev", ["b64"]) => integer(Brev64),
        ("prmt", ["b32"]) => integer(Prmt32),
        ("bfe", ["u32"]) => integer(BfeU32),
        ("bfe", ["s32"]) => integer(BfeS32),
        ("shf", ["l", "wrap", "b32"]) => integer(FunnelL32),
        ("shf", ["r", "wrap", "b32"]) => integer(FunnelR32),
        ("add", ["f32"]) => f32(AddF32),
        ("sub", ["f32"]) => f32(SubF32),
        ("mul", ["f32"]) => f32(MulF32),
        ("fma", ["f32"]) => Some((FmaF32, Class::FmaF32)),
        ("div", ["f32"]) => f32(DivF32),
        ("min", ["f32"]) => f32(MinF32),
        ("max", ["f32"]) => f32(MaxF32),
        ("abs", ["f32"]) => f32(AbsF32),
        ("neg", ["f32"]) => f32(NegF32),
        ("sqrt", ["f32"]) => f32(SqrtF32),
        ("rcp", ["f32"]) => f32(RcpF32),
        ("rsqrt", ["f32"]) => f32(RsqrtF32),
        ("sin", ["f32"]) => f32(SinF32),
        ("cos", ["f32"]) => f32(CosF32),
        ("ex2", ["f32"]) => f32(Ex2F32),
        ("lg2", ["f32"]) => f32(Lg2F32),
        ("add", ["f64"]) => f64(AddF64),
        ("sub", ["f64"]) => f64(SubF64),
        ("mul", ["f64"]) => f64(MulF64),
        ("fma", ["f64"]) => Some((FmaF64, Class::FmaF64)),
        ("div", ["f64"]) => f64(DivF64),
        ("min", ["f64"]) => f64(MinF64),
        ("max", ["f64"]) => f64(MaxF64),
        ("abs", ["f64"]) => f64(AbsF64),
        ("neg", ["f64"]) => f64(NegF64),
        ("sqrt", ["f64"]) => f64(SqrtF64),
        ("rcp", ["f64"]) => f64(RcpF64),
        _ => None,
    }
}
