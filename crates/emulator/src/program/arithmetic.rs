//! Lane-wise instructions: mnemonic and type to operations.

use super::decode::Decoder;
use super::select::operand;
use super::simple::simple;
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
            "set" => return self.set(words, guard, &parts[1..]),
            "lop3" => return self.lop3(words, guard, parts),
            _ => {}
        }
        match simple(parts[0], &plain) {
            Some((code, class)) => self.alu(words, guard, code, class, narrow(kind, parts[0])),
            None => self.form(words, guard, parts),
        }
    }

    /// Appends `code` with the instruction's operands. A result of `narrow` instructions is cut to 16 bits.
    pub fn alu(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        code: Alu,
        class: Class,
        narrow: bool,
    ) -> Result<(), PtxError> {
        let signature = code.signature();
        if words.operands.len() != signature.len() {
            return error(
                words.line,
                format!("`{}` takes {} operands, here are {}", words.opcode, signature.len(), words.operands.len()),
            );
        }
        let mut slots = <[Slot; 3]>::default();
        for (n, file) in signature[1..].iter().enumerate() {
            slots[n] = match file {
                File::P => self.predicate(&words.operands[n + 1], words)?,
                _ => self.source(&words.operands[n + 1], *file, words.line)?,
            };
        }
        let d = self.destination(&words.operands[0], signature[0], words.line)?;
        let [a, b, c] = slots;
        self.push(Op::Alu { code, d, a, b, c }, guard, words, Some(class));
        if narrow && signature[0] == File::R {
            self.push(Op::Alu { code: Alu::Trunc16, d, a: d, b: d, c: d }, guard, words, None);
        }
        Ok(())
    }

    /// Appends an uncounted operation with one source, into a fresh register.
    pub fn helper(&mut self, words: &Words, code: Alu, file: File, a: Slot) -> Slot {
        let d = self.temporary(file);
        self.push(Op::Alu { code, d, a, b: a, c: a }, None, words, None);
        d
    }

    pub fn push_unary(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        code: Alu,
        d: Slot,
        a: Slot,
        class: Option<Class>,
    ) {
        self.push(Op::Alu { code, d, a, b: a, c: a }, guard, words, class);
    }

    fn mov(&mut self, words: &Words, guard: Option<Guard>, kind: &str) -> Result<(), PtxError> {
        self.check_mov(words, kind)?;
        if kind == "b128" {
            return self.move_wide(words, guard);
        }
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
            (Operand::List(parts), from, "b64") if parts.len() == 4 => {
                let a = self.source(from, File::D, line)?;
                let halves = [Alu::Low64, Alu::High64].map(|code| self.helper(words, code, File::R, a));
                for (n, part) in parts.iter().enumerate() {
                    let code = if n % 2 == 0 { Alu::Low32 } else { Alu::High32 };
                    let d = self.destination(part, File::R, line)?;
                    self.push_unary(words, guard, code, d, halves[n / 2], (n == 0).then_some(Class::Move));
                }
                Ok(())
            }
            (to, Operand::List(parts), "b64") if parts.len() == 4 => {
                let mut halves = <[Slot; 2]>::default();
                for (half, pair) in halves.iter_mut().zip(parts.chunks(2)) {
                    let (a, b) = (self.source(&pair[0], File::R, line)?, self.source(&pair[1], File::R, line)?);
                    *half = self.temporary(File::R);
                    self.push(Op::Alu { code: Alu::Pack32, d: *half, a, b, c: a }, None, words, None);
                }
                let ([a, b], d) = (halves, self.destination(to, File::D, line)?);
                self.push(Op::Alu { code: Alu::Pack64, d, a, b, c: a }, guard, words, Some(Class::Move));
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
                if let Some(clock) = self.clock(from) {
                    let d = self.destination(to, file, line)?;
                    self.extended(words, guard, clock.writing(file, d), Class::Move);
                    return Ok(());
                }
                let from = &narrow_immediate(from, kind);
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
            "global" => 0,
            "param" | "param::entry" => PARAMETER_WINDOW,
            "shared" | "shared::cta" | "shared::cluster" => SHARED_WINDOW,
            "local" => LOCAL_WINDOW,
            "const" => CONST_WINDOW,
            _ => return self.unknown(words),
        };
        self.check_cast(words, space)?;
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

    /// `lop3`, also with a predicate: whether any bit of the result is set, combined with another.
    fn lop3(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let line = words.line;
        let (to, test) = match operand(words, 0)? {
            Operand::Pair(d, p) => (&**d, Some(&**p)),
            d => (d, None),
        };
        let d = self.destination(to, File::R, line)?;
        let a = self.source(operand(words, 1)?, File::R, line)?;
        let b = self.source(operand(words, 2)?, File::R, line)?;
        let c = self.source(operand(words, 3)?, File::R, line)?;
        let Operand::Integer(table) = operand(words, 4)? else { return self.unknown(words) };
        self.push(Op::Lop3 { d, a, b, c, table: *table as u8 }, guard, words, Some(Class::Integer));
        let Some(test) = test else { return Ok(()) };
        let combine = match parts {
            ["lop3", "or", "b32"] => Alu::OrP,
            ["lop3", "and", "b32"] => Alu::AndP,
            _ => return self.unknown(words),
        };
        let (zero, raw) = (self.constant(File::R, 0), self.temporary(File::P));
        self.push(Op::Alu { code: Alu::Ne32, d: raw, a: d, b: zero, c: zero }, guard, words, None);
        let other = self.predicate(operand(words, 5)?, words)?;
        let p = self.destination(test, File::P, line)?;
        self.push(Op::Alu { code: combine, d: p, a: raw, b: other, c: other }, guard, words, None);
        Ok(())
    }
}

/// Whether an instruction's results are integers of 16 bits. None of those that are done with 32 asks for a sign.
fn narrow(kind: &str, mnemonic: &str) -> bool {
    matches!(kind, "s16" | "u16" | "b16") && !matches!(mnemonic, "mul" | "mad")
}

/// An immediate of a 16-bit instruction as its register would hold it.
pub(super) fn narrow_immediate(operand: &Operand, kind: &str) -> Operand {
    match operand {
        Operand::Integer(n) if kind.ends_with("16") => Operand::Integer(n & 0xffff),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Module;
    use crate::program::{Alu, Op};

    /// The operations of a kernel that has one instruction.
    fn operations(instruction: &str) -> Vec<Op> {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<9>; .reg .f64 %e<9>;\n{instruction}\nret;\n}}\n"
        );
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
        let kernel = kernel.unwrap_or_else(|error| panic!("{error}\n{text}"));
        kernel.program.code.iter().map(|instruction| instruction.op).collect()
    }

    #[test]
    fn to_the_nearest_and_approximate_are_the_plain_operations() {
        use Alu::*;
        for (opcodes, operands, code) in [
            ("add add.rn", 2, AddF32),
            ("sub sub.rn", 2, SubF32),
            ("mul mul.rn", 2, MulF32),
            ("fma.rn", 3, FmaF32),
            ("div.rn div.approx div.full", 2, DivF32),
            ("sqrt.rn sqrt.approx", 1, SqrtF32),
            ("rcp.rn rcp.approx", 1, RcpF32),
            ("rsqrt.approx", 1, RsqrtF32),
            ("sin.approx", 1, SinF32),
            ("cos.approx", 1, CosF32),
            ("ex2.approx", 1, Ex2F32),
            ("lg2.approx", 1, Lg2F32),
            ("add add.rn", 2, AddF64),
            ("fma.rn", 3, FmaF64),
            ("div.rn", 2, DivF64),
            ("sqrt.rn", 1, SqrtF64),
            ("rcp.rn", 1, RcpF64),
        ] {
            let (kind, file) = if format!("{code:?}").ends_with("64") { ("f64", 'e') } else { ("f32", 'f') };
            for opcode in opcodes.split(' ') {
                let sources: Vec<String> = (1..=operands).map(|n| format!("%{file}{n}")).collect();
                let found = operations(&format!("{opcode}.{kind} %{file}0, {};", sources.join(", ")));
                assert!(matches!(found[..], [Op::Alu { code: is, .. }] if is == code), "{opcode}.{kind}: {found:?}");
            }
        }
        let general = operations("add.rz.f32 %f0, %f1, %f2;");
        assert!(matches!(general[..], [Op::General { .. }]), "{general:?}");
    }
}
