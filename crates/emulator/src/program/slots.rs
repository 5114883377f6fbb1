//! The slots of operands: registers, constants, special registers and addresses of variables.

use super::decode::Decoder;
use super::places::{Place, special};
use super::*;
use crate::PtxError;
use crate::ptx::{Operand, error};

impl Decoder<'_> {
    /// The slot of an operand that is read from `file`.
    pub fn source(&mut self, operand: &Operand, file: File, line: u32) -> Result<Slot, PtxError> {
        match operand {
            Operand::Integer(n) => Ok(self.constant(file, *n as u64)),
            // A constant of either format is taken for the operand's.
            Operand::F32(bits) if file == File::D => {
                Ok(self.constant(file, f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::F32(bits) => Ok(self.constant(file, (*bits).into())),
            Operand::F64(bits) if file == File::R => {
                Ok(self.constant(file, (f64::from_bits(*bits) as f32).to_bits().into()))
            }
            Operand::F64(bits) => Ok(self.constant(file, *bits)),
            Operand::Name(name) => self.named_source(name, 0, file, line),
            Operand::Offset(name, offset) => self.named_source(name, *offset, file, line),
            other => error(line, format!("{other:?} is no source operand")),
        }
    }

    fn named_source(&mut self, name: &str, offset: i64, file: File, line: u32) -> Result<Slot, PtxError> {
        if let Some((found, slot)) = self.register(name) {
            if found != file {
                return error(line, format!("register `{name}` has the wrong width for this operand"));
            }
            return Ok(slot);
        }
        if let Some(slot) = self.system_register(name) {
            return Ok(slot);
        }
        if let Some(preset) = special(name) {
            if self.architecture() < 90 && name.contains("cluster") {
                return error(line, format!("`{name}` needs .target sm_90, and the module is for an older GPU"));
            }
            return Ok(self.preset(file, preset));
        }
        match self.find_place(name) {
            Some(Place::Global(index)) => Ok(self.preset(file, Preset::Global(index, offset))),
            Some(Place::Shared(u64::MAX)) => Ok(self.preset(file, Preset::DynamicSharedBase(offset))),
            Some(Place::Shared(at)) => {
                let variable = self.shared.iter().position(|v| u64::from(v.offset) == at).unwrap_or_default();
                let address = at.wrapping_add(offset as u64);
                Ok(self.preset(file, Preset::SharedAddress { variable: variable as u32, address }))
            }
            Some(place @ (Place::Local(at) | Place::Constant(at) | Place::Parameter(at))) => {
                let address = at.wrapping_add(offset as u64);
                match self.local_at(at, None).filter(|_| matches!(place, Place::Local(_))) {
                    Some(variable) => Ok(self.preset(file, Preset::LocalAddress { variable, address })),
                    None => Ok(self.constant(file, address)),
                }
            }
            Some(Place::Frame(at)) => {
                let [d, a] = [self.temporary(File::D), self.preset(File::D, Preset::Frame)];
                let b = self.constant(File::D, at.wrapping_add(offset as u64));
                self.push_bare(Op::Alu { code: Alu::Add64, d, a, b, c: b }, line);
                if let Some(variable) = self.local_at(at, self.inside) {
                    self.in_frames.insert(d, variable);
                }
                if file == File::D {
                    return Ok(d);
                }
                let low = self.temporary(File::R);
                self.push_bare(Op::Alu { code: Alu::Low64, d: low, a: d, b: d, c: d }, line);
                Ok(low)
            }
            Some(Place::Function(address)) => Ok(self.constant(file, address)),
            None if name == "WARP_SZ" => Ok(self.constant(file, 32)),
            None => {
                error(line, format!("`{name}` is neither a register nor a variable nor a special register known here"))
            }
        }
    }

    /// The variable in local memory, or in a function's frame, that begins at a place.
    fn local_at(&self, at: u64, function: Option<u32>) -> Option<u32> {
        let is_it = |v: &LocalVariable| (u64::from(v.start), v.function) == (at, function) && v.end > v.start;
        self.locals.iter().position(is_it).map(|variable| variable as u32)
    }

    /// The slot of a register that is written. `_` gives one that nobody reads.
    pub fn destination(&mut self, operand: &Operand, file: File, line: u32) -> Result<Slot, PtxError> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(self.temporary(file)),
            Operand::Name(name) => match self.register(name) {
                Some((found, slot)) if found == file => Ok(slot),
                Some(_) => error(line, format!("register `{name}` has the wrong width for this result")),
                None => error(line, format!("`{name}` is no register")),
            },
            other => error(line, format!("{other:?} is no destination")),
        }
    }

    /// The file of an operand that is a register, if it is one.
    pub fn file_of(&mut self, operand: &Operand) -> Option<File> {
        match operand {
            Operand::Name(name) => self.register(name).map(|(file, _)| file),
            _ => None,
        }
    }
}
