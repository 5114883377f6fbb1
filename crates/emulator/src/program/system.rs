//! Calls of functions that the system has: `vprintf`, and `__assertfail` of `assert()`.

use super::decode::Decoder;
use super::places::Place;
use super::refused::refused_call;
use super::*;
use crate::ptx::{Instruction as Words, Operand, error};
use crate::{Class, PtxError};

impl Decoder<'_> {
    /// Appends the call of a function that the module only announces, if the system has it.
    pub fn system_call(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        name: &str,
        arguments: &[Operand],
        result: &[Operand],
    ) -> Result<(), PtxError> {
        let (what, bytes): (_, &[u32]) = match name {
            "vprintf" => (Extension::Print, &[8, 8]),
            "__assertfail" => (Extension::Assertion, &[8, 8, 4, 8, 8]),
            _ => {
                let what = format!("`call` of `{name}`");
                if let Some(refused) = refused_call(name) {
                    return refused.error(words.line, what);
                }
                return error(words.line, format!("{what}, which the module does not define"));
            }
        };
        if arguments.len() != bytes.len() {
            return error(
                words.line,
                format!("`{name}` takes {} arguments, here are {}", bytes.len(), arguments.len()),
            );
        }
        let mut extended = Extended::new(what);
        for (argument, bytes) in arguments.iter().zip(bytes) {
            let file = if *bytes == 8 { File::D } else { File::R };
            let value = self.temporary(file);
            let access = self.argument(words, argument, *bytes, value)?;
            self.push(Op::Load(access), guard, words, None);
            extended = extended.reading(file, value);
        }
        let count = self.temporary(File::R);
        let kept = result.first().map(|place| self.argument(words, place, 4, count)).transpose()?;
        self.extended(words, guard, extended.writing(File::R, count), Class::Branch);
        if let Some(access) = kept {
            self.push(Op::Store(access), guard, words, None);
        }
        Ok(())
    }

    /// The access to an argument or a result of a call, which lies in local memory.
    fn argument(&mut self, words: &Words, operand: &Operand, bytes: u32, register: Slot) -> Result<u32, PtxError> {
        let Operand::Name(name) = operand else { return self.unknown(words) };
        match self.find_place(name) {
            Some(place @ (Place::Local(_) | Place::Frame(_))) => Ok(self.local_access(place, bytes, register)),
            _ => error(words.line, "`call` with an argument that is no .param variable"),
        }
    }

    /// An access to a place in local memory, from or to a register as wide.
    pub fn local_access(&mut self, place: Place, bytes: u32, register: Slot) -> u32 {
        let (base, offset) = match place {
            Place::Frame(at) => (self.preset(File::D, Preset::Frame), at as i64),
            Place::Local(at) => (self.constant(File::D, at), 0),
            _ => (self.constant(File::D, 0), 0),
        };
        self.accesses.push(Access {
            space: Space::Local,
            element_bytes: bytes,
            wide: bytes == 8,
            elements: 1,
            registers: single(register),
            base,
            base_wide: true,
            offset,
            ..Access::default()
        });
        self.accesses.len() as u32 - 1
    }
}
