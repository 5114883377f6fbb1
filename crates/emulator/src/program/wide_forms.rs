//! Registers of 128 bits: each is two of 64, the lower one first.

use super::decode::Decoder;
use super::select::operand;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// The halves of a register of 128 bits.
    pub fn halves(&mut self, operand: &Operand, line: u32) -> Result<[Slot; 2], PtxError> {
        match operand {
            Operand::Name(name) if name == "_" => Ok([self.temporary(File::D), self.temporary(File::D)]),
            Operand::Name(name) if self.register_kind(name) == Some("b128") => {
                if let Some(known) = self.frame().halves.get(name) {
                    return Ok(*known);
                }
                let fresh = [self.temporary(File::D), self.temporary(File::D)];
                self.frame().halves.insert(name.clone(), fresh);
                Ok(fresh)
            }
            other => error(line, format!("{other:?} is no register of 128 bits")),
        }
    }

    /// `mov.b128`: between such registers, or from and to a list of two.
    pub fn move_wide(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let line = words.line;
        let from = match operand(words, 1)? {
            Operand::List(parts) => [self.source(&parts[0], File::D, line)?, self.source(&parts[1], File::D, line)?],
            Operand::Integer(number) => [*number, *number >> 64].map(|half| self.constant(File::D, half as u64)),
            register => self.halves(register, line)?,
        };
        let to = match operand(words, 0)? {
            Operand::List(parts) => {
                [self.destination(&parts[0], File::D, line)?, self.destination(&parts[1], File::D, line)?]
            }
            register => self.halves(register, line)?,
        };
        self.push_unary(words, guard, Alu::Mov64, to[0], from[0], Some(Class::Move));
        self.push_unary(words, guard, Alu::Mov64, to[1], from[1], None);
        Ok(())
    }

    /// The registers that an atomic reads, or writes: one, or the halves of one.
    pub fn atomic_registers(&mut self, operand: &Operand, bits: u8, line: u32) -> Result<Vec<(File, Slot)>, PtxError> {
        Ok(match bits {
            128 => self.halves(operand, line)?.map(|slot| (File::D, slot)).to_vec(),
            _ => {
                let file = if bits == 64 { File::D } else { File::R };
                vec![(file, self.source(operand, file, line)?)]
            }
        })
    }
}
