//! What calls hand over and bring back: `.param` variables as they are, and registers by way of local memory.

use super::check::{Class as TypeClass, class_of, fits_type};
use super::decode::Decoder;
use super::grammar::Width;
use super::places::Place;
use super::*;
use crate::PtxError;
use crate::ptx::{self, Function, Instruction as Words, Operand, error, type_bytes};

impl<'a> Decoder<'a> {
    /// Whether a call hands over what the function takes, as ptxas has it: of the same kind, size and alignment.
    pub fn check_arguments(
        &mut self,
        words: &Words,
        name: &str,
        (params, returns): (&[ptx::Variable], &[ptx::Variable]),
        (arguments, result): (&[Operand], &[Operand]),
    ) -> Result<(), PtxError> {
        if (params.len(), returns.len()) != (arguments.len(), result.len()) {
            return error(words.line, format!("`call` of `{name}` with other arguments than it takes"));
        }
        let result = result.iter().map(|actual| (actual, true));
        let actuals = arguments.iter().map(|actual| (actual, false)).chain(result);
        for ((formal, (actual, result)), n) in params.iter().chain(returns).zip(actuals).zip(1..) {
            if let Err(why) = self.argument_fits(formal, actual, result) {
                return error(words.line, format!("argument {n} of the `call` of `{name}` {why}"));
            }
        }
        Ok(())
    }

    fn argument_fits(&self, formal: &ptx::Variable, actual: &Operand, result: bool) -> Result<(), String> {
        let is_scalar = |variable: &ptx::Variable| type_bytes(&variable.kind) == variable.bytes;
        match actual {
            Operand::Name(name) if self.register_kind(name).is_some() => match is_scalar(formal) {
                true if matches!(formal.bytes, Some(4 | 8)) => {
                    self.register_fits(actual, &formal.kind, Width::Exact, false)
                }
                _ => Err("is a register, and the function takes no single value of 32 or 64 bits".into()),
            },
            Operand::Name(name) => {
                let own = self.frames.last().map(|frame| frame.function);
                let own = own.and_then(|function| function.variables.iter().find(|v| v.name == *name));
                let Some(variable) = own.filter(|variable| variable.space == "param") else {
                    return Err(format!("is `{name}`, which is no register and no .param variable of the caller"));
                };
                let kinds = is_scalar(formal) == is_scalar(variable)
                    && (!is_scalar(formal) || fits_type(&variable.kind, &formal.kind, Width::Exact));
                match variable.bytes == formal.bytes && kinds {
                    false => Err(format!("is `{name}`, which is of another type than the function takes")),
                    true if variable.align != formal.align => {
                        Err(format!("is `{name}`, which is aligned otherwise than the function takes"))
                    }
                    true => Ok(()),
                }
            }
            Operand::Integer(_) if !result && is_scalar(formal) && matches!(formal.bytes, Some(4 | 8)) => {
                match class_of(&formal.kind).0 {
                    TypeClass::Float => Err("is an integer, and the function takes another type".into()),
                    _ => Ok(()),
                }
            }
            Operand::F32(_) if !result && matches!(formal.kind.as_str(), "f32" | "b32") => Ok(()),
            Operand::F64(_) if !result && matches!(formal.kind.as_str(), "f64" | "b64") => Ok(()),
            _ => Err("is neither a register nor a .param variable".into()),
        }
    }

    /// Where an argument lies for the callee. A register's value is stored there first.
    pub fn handed_over(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        formal: &ptx::Variable,
        actual: &Operand,
    ) -> Result<Place, PtxError> {
        if let Some(place) = self.local_place(actual) {
            return Ok(place);
        }
        let place = self.local_room(formal)?;
        let file = if formal.bytes == Some(8) { File::D } else { File::R };
        let register = self.source(actual, file, words.line)?;
        let access = self.local_access(place, formal.bytes.unwrap_or_default() as u32, register);
        self.push(Op::Store(access), guard, words, None);
        Ok(place)
    }

    /// Where the callee leaves a result. One that goes to a register is noted in `kept`.
    pub fn brought_back(
        &mut self,
        formal: &ptx::Variable,
        actual: &Operand,
        kept: &mut Vec<(Place, u32, Slot)>,
    ) -> Result<Place, PtxError> {
        if let Some(place) = self.local_place(actual) {
            return Ok(place);
        }
        let place = self.local_room(formal)?;
        let file = if formal.bytes == Some(8) { File::D } else { File::R };
        let register = self.destination(actual, file, 0)?;
        kept.push((place, formal.bytes.unwrap_or_default() as u32, register));
        Ok(place)
    }

    /// Loads results of a call into registers.
    pub fn keep(&mut self, words: &Words, guard: Option<Guard>, kept: &[(Place, u32, Slot)]) {
        for (place, bytes, register) in kept {
            let access = self.local_access(*place, *bytes, *register);
            self.push(Op::Load(access), guard, words, None);
        }
    }

    fn local_place(&mut self, actual: &Operand) -> Option<Place> {
        match actual {
            Operand::Name(name) if self.register_kind(name).is_none() => {
                self.find_place(name).filter(|place| matches!(place, Place::Local(_) | Place::Frame(_)))
            }
            _ => None,
        }
    }

    /// Room in local memory for a value that a call moves from or to a register.
    fn local_room(&mut self, formal: &ptx::Variable) -> Result<Place, PtxError> {
        self.place(&ptx::Variable { space: "param".into(), ..formal.clone() })
    }

    /// Loads the parameters that a function has in registers.
    pub fn load_parameters(&mut self, function: &'a Function) -> Result<(), PtxError> {
        for parameter in moved(&function.params) {
            self.move_parameter(function, parameter, false)?;
        }
        Ok(())
    }

    /// Stores the results that a function has in registers.
    pub fn store_results(&mut self, function: &'a Function) -> Result<(), PtxError> {
        for result in moved(&function.returns) {
            self.move_parameter(function, result, true)?;
        }
        Ok(())
    }

    fn move_parameter(&mut self, function: &Function, variable: &ptx::Variable, store: bool) -> Result<(), PtxError> {
        let place = self.frame().places.get(&variable.name).copied();
        let (Some(place), Some((_, register))) = (place, self.register(&variable.name)) else { return Ok(()) };
        let access = self.local_access(place, variable.bytes.unwrap_or_default() as u32, register);
        self.push_bare(if store { Op::Store(access) } else { Op::Load(access) }, function.line);
        Ok(())
    }
}

/// Those that are handed over in memory, and lie in registers within.
fn moved(variables: &[ptx::Variable]) -> impl Iterator<Item = &ptx::Variable> {
    variables.iter().filter(|variable| variable.space == "reg")
}
