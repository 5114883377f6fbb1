//! From words to operations: `wgmma`, a warpgroup's products of matrices.

use super::decode::Decoder;
use super::extended::{Group, GroupMultiply};
use super::grammar::Width;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// `wgmma.mma_async`, and what orders and awaits it.
    pub fn group(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let what = match *parts {
            [_, "fence", ..] => Group::Fence,
            [_, "commit_group", ..] => Group::Commit,
            [_, "wait_group", ..] => {
                let Operand::Integer(pending) = operand(words, 0)? else { return self.unknown(words) };
                Group::Wait(u32::try_from(*pending).unwrap_or(u32::MAX))
            }
            [_, "mma_async", ..] => return self.group_multiply(words, guard, parts),
            _ => return self.unknown(words),
        };
        self.extended(words, guard, Extended::new(Extension::Group(what)), Class::Barrier);
        Ok(())
    }

    /// D, A (in registers, or where it lies), where B lies, whether D is added to, signs, and which way they lie.
    fn group_multiply(&mut self, words: &Words, guard: Option<Guard>, parts: &[&str]) -> Result<(), PtxError> {
        let Some(mut multiply) = group_form(parts) else { return self.unknown(words) };
        let in_registers = matches!(operand(words, 1)?, Operand::List(_));
        let flag = |n: usize, no: i128, yes: i128| match words.operands.get(n) {
            None => Ok(false),
            Some(Operand::Integer(value)) if *value == yes => Ok(true),
            Some(Operand::Integer(value)) if *value == no => Ok(false),
            Some(other) => error(
                words.line,
                format!("operand {} of `{}` is {other:?}, and must be {no} or {yes}", n + 1, words.opcode),
            ),
        };
        multiply.in_registers = in_registers;
        multiply.negate = [flag(4, 1, -1)?, flag(5, 1, -1)?];
        multiply.transpose = match in_registers {
            true => [false, flag(6, 0, 1)?],
            false => [flag(6, 0, 1)?, flag(7, 0, 1)?],
        };
        let mut extended = Extended::new(Extension::Group(Group::Multiply(multiply)));
        match operand(words, 1)? {
            Operand::List(list) => {
                if list.len() != 4 {
                    return error(
                        words.line,
                        format!("`{}` takes A in 4 registers, here are {}", words.opcode, list.len()),
                    );
                }
                for register in list {
                    self.must_be(words, register, "b32")?;
                    extended = extended.reading(File::R, self.source(register, File::R, words.line)?);
                }
            }
            _ => extended = extended.accessing(self.described(words, 1)?),
        }
        extended = extended.accessing(self.described(words, 2)?);
        extended = extended.reading(File::P, self.predicate(operand(words, 3)?, words)?);
        let Operand::List(sums) = operand(words, 0)? else { return self.unknown(words) };
        if sums.len() != multiply.sums() {
            let (wanted, given) = (multiply.sums(), sums.len());
            return error(words.line, format!("`{}` takes {wanted} registers here, and gets {given}", words.opcode));
        }
        for register in sums {
            if let Operand::Name(name) = register
                && multiply.accumulator == Accumulator::S32
                && self.register_kind(name) == Some("f16x2")
            {
                return error(words.line, format!("`{}` with sums in `{name}`, of .f16x2", words.opcode));
            }
            extended = extended.reading(File::R, self.source(register, File::R, words.line)?);
        }
        for register in sums {
            extended = extended.writing(File::R, self.destination(register, File::R, words.line)?);
        }
        self.extended(words, guard, extended, Class::Tensor);
        let (n, k) = (u32::from(multiply.n), u32::from(multiply.k));
        if let Some(info) = self.info.last_mut() {
            let rows = if multiply.in_registers { n } else { 64 + n };
            let bytes = rows * k * 4 / multiply.a.per_register() as u32;
            let kind = multiply.a.counted();
            info.tensor = Some(Product { kind, multiply_adds: 16 * n * k, group_operands: Some(bytes) });
            info.flops_f32 = if multiply.accumulator == Accumulator::S32 { 0 } else { n * k };
        }
        Ok(())
    }

    fn must_be(&self, words: &Words, register: &Operand, kind: &str) -> Result<(), PtxError> {
        let fits = self.register_fits(register, kind, Width::Exact, false);
        fits.or_else(|why| error(words.line, format!("an operand of `{}` {why}", words.opcode)))
    }

    /// An access that the descriptor of operand `n` says.
    fn described(&mut self, words: &Words, n: usize) -> Result<u32, PtxError> {
        let given = operand(words, n)?;
        if !matches!(given, Operand::Integer(_)) {
            self.must_be(words, given, "u64")?;
        }
        let base = self.source(given, File::D, words.line)?;
        self.accesses.push(Access {
            space: Space::Shared,
            element_bytes: 8,
            elements: 2,
            base,
            base_wide: true,
            ..Access::default()
        });
        Ok(self.accesses.len() as u32 - 1)
    }
}

fn group_form(parts: &[&str]) -> Option<GroupMultiply> {
    let shape = parts.iter().find_map(|part| part.strip_prefix("m64n"))?;
    let (n, k) = shape.split_once('k')?;
    let (n, k) = (n.parse().ok()?, k.parse().ok()?);
    let mut types = parts
        .iter()
        .filter(|part| ["f16", "f32", "s32", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"].contains(part));
    let (sums, a, b) = (types.next()?, types.next()?, types.next()?);
    Some(GroupMultiply {
        n,
        k,
        a: Element::named(a, true)?,
        b: Element::named(b, true)?,
        accumulator: Accumulator::named(sums)?,
        saturate: parts.contains(&"satfinite"),
        in_registers: false,
        negate: Default::default(),
        transpose: Default::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Module, TensorType};

    #[test]
    fn forms_say_what_they_multiply_and_what_it_counts_for() {
        let integer = |signed| Element::Integer { bits: 8, signed };
        let (bit, half) = (Element::Bit { and: true }, Element::Float(Format::F16));
        let (e4m3, e5m2) = (Element::Float(Format::E4m3), Element::Float(Format::E5m2));
        for (types, k, [a, b], counted, sums) in [
            ("f32.f16.f16", 16, [half; 2], TensorType::F16, 8),
            ("f16.f16.f16", 16, [half; 2], TensorType::F16, 4),
            ("f32.bf16.bf16", 16, [Element::Float(Format::Bf16); 2], TensorType::Bf16, 8),
            ("f32.tf32.tf32", 8, [Element::Float(Format::Tf32); 2], TensorType::Tf32, 8),
            ("f32.e4m3.e5m2", 32, [e4m3, e5m2], TensorType::Fp8, 8),
            ("f16.e5m2.e4m3", 32, [e5m2, e4m3], TensorType::Fp8, 4),
            ("s32.s8.u8", 32, [integer(true), integer(false)], TensorType::Int8, 8),
            ("s32.u8.s8", 32, [integer(false), integer(true)], TensorType::Int8, 8),
            ("s32.b1.b1", 256, [bit; 2], TensorType::Bit, 8),
        ] {
            for in_registers in [false, true] {
                let whole = types.starts_with("s32");
                let list: Vec<String> = (0..sums).map(|n| format!("%r{n}")).collect();
                let signs = match types {
                    _ if whole => "",
                    "f32.tf32.tf32" | "f32.e4m3.e5m2" | "f16.e5m2.e4m3" => ", 1, 1",
                    _ if in_registers => ", 1, 1, 0",
                    _ => ", 1, 1, 0, 0",
                };
                let text = format!(
                    ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<9>;\n\
                     wgmma.mma_async.sync.aligned.m64n16k{k}.{types}{} {{{}}}, {}, %d1, %p1{signs};\nret;\n}}\n",
                    if types.contains("b1") { ".and.popc" } else { "" },
                    list.join(", "),
                    if in_registers { "{%r10, %r11, %r12, %r13}" } else { "%d0" }
                );
                let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
                let program = kernel.unwrap_or_else(|error| panic!("{error}\n{text}")).program;
                let form = program.extended.iter().find_map(|extended| match extended.what {
                    Extension::Group(Group::Multiply(form)) => Some(form),
                    _ => None,
                });
                let form = form.expect("it is one");
                assert_eq!((form.a, form.b, form.n, u32::from(form.k)), (a, b, 16, k), "{types}");
                let info = program.info.iter().find(|info| info.tensor.is_some()).expect("it is counted");
                let product = info.tensor.expect("it is counted");
                assert_eq!((product.kind, product.multiply_adds), (counted, 64 * 16 * k / 4), "{types}");
                // (Each thread of 128 does its part of the multiplications and additions.)
                assert_eq!(info.flops_f32, if whole { 0 } else { 64 * 16 * k * 2 / 128 }, "{types}");
                // A line of K has 32 bytes.
                let lines = if in_registers { 16 } else { 64 + 16 };
                assert_eq!(product.group_operands, Some(32 * lines), "{types}");
            }
        }
    }
}
