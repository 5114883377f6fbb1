//! What `mov`, `cvta`, `isspacep` and addresses may take: registers, constants, variables of a space, special registers.

use super::check::Class;
use super::check::class_of;
use super::decode::Decoder;
use super::grammar::Width;
use super::places::{Place, special_bits};
use super::refused::refused_register;
use super::select::operand;
use super::*;
use crate::PtxError;
use crate::ptx::{Instruction as Words, Operand, error};

impl Decoder<'_> {
    /// Holds the two operands of `mov` against its type.
    pub fn check_mov(&mut self, words: &Words, kind: &str) -> Result<(), PtxError> {
        let line = words.line;
        let fail = |why: String| error(line, format!("`{}` {why}", words.opcode));
        if words.operands.len() != 2 {
            return fail(format!("takes 2 operands, here are {}", words.operands.len()));
        }
        let (to, from) = (operand(words, 0)?, operand(words, 1)?);
        if let Operand::Name(name) = from
            && system_memory::workspace_half(name).is_none()
            && let Some(refused) = refused_register(name)
        {
            return refused.error(line, format!("`{}` of `{name}`", words.opcode));
        }
        let (class, bits) = class_of(kind);
        let piece = |list: &[Operand]| format!("b{}", bits / (list.len().max(1) as u32));
        let packs =
            |list: &[Operand]| class == Class::Bits && matches!((bits, list.len()), (32 | 128, 2) | (64, 2 | 4));
        let checked = match (to, from) {
            (Operand::List(list), from) if packs(list) && !matches!(from, Operand::List(_)) => {
                let element = piece(list);
                if list.iter().all(|o| matches!(o, Operand::Name(name) if name == "_")) {
                    return fail("keeps nothing".into());
                }
                list.iter()
                    .try_for_each(|o| self.register_fits(o, &element, Width::Exact, true))
                    .and_then(|()| self.register_fits(from, kind, Width::Exact, false))
            }
            (to, Operand::List(list)) if packs(list) => {
                let element = piece(list);
                let source = |o: &Operand| match o {
                    Operand::Integer(_) => Ok(()),
                    other => self.register_fits(other, &element, Width::Exact, false),
                };
                list.iter().try_for_each(source).and_then(|()| self.register_fits(to, kind, Width::Exact, false))
            }
            (to, from) => self
                .register_fits(to, kind, Width::Exact, false)
                .and_then(|()| self.mov_source(from, kind, class, bits)),
        };
        checked.or_else(fail)
    }

    fn mov_source(&mut self, from: &Operand, kind: &str, class: Class, bits: u32) -> Result<(), String> {
        let whole = matches!(class, Class::Integer | Class::Bits);
        let no = || Err(format!("cannot take this as .{kind}"));
        match from {
            Operand::Integer(_) if class != Class::Float => Ok(()),
            Operand::F32(_) | Operand::F64(_) if class == Class::Float => Ok(()),
            Operand::F32(_) if class == Class::Bits && bits == 32 => Ok(()),
            Operand::F64(_) if class == Class::Bits && bits == 64 => Ok(()),
            Operand::Not(name) if class == Class::Predicate => {
                self.register_fits(&Operand::Name(name.clone()), "pred", Width::Exact, false)
            }
            Operand::Name(name) | Operand::Offset(name, _) if self.register_kind(name).is_none() => {
                if let Some(has) = special_bits(name) {
                    let fits = match has {
                        1 => class == Class::Predicate,
                        // `%gridid` was of 32 bits once, and the grid's extents of 16.
                        64 => whole && (bits == 64 || name == "%gridid"),
                        _ => whole && bits <= 32,
                    };
                    return if fits && matches!(from, Operand::Name(_)) { Ok(()) } else { no() };
                }
                if self.is_own_parameter(name) {
                    return Err(format!(
                        "takes the address of `{}`, which is a parameter for a call",
                        name.split('@').next().unwrap_or(name)
                    ));
                }
                match self.find_place(name) {
                    _ if name == "WARP_SZ" && class != Class::Float => Ok(()),
                    Some(Place::Global(_) | Place::Constant(_)) if whole && bits == 64 => Ok(()),
                    Some(Place::Function(_)) if whole && bits == 64 && matches!(from, Operand::Name(_)) => Ok(()),
                    Some(Place::Shared(_) | Place::Local(_) | Place::Frame(_) | Place::Parameter(_)) if whole => Ok(()),
                    None => Err(format!(
                        "takes `{name}`, which is neither a register nor a variable nor a special register known here"
                    )),
                    _ => no(),
                }
            }
            other => self.register_fits(other, kind, Width::Exact, false),
        }
    }

    /// Whether the function that is decoded declares this parameter in its body, to hand it to others.
    fn is_own_parameter(&self, name: &str) -> bool {
        self.is_variable_in(name, "param")
    }

    fn is_variable_in(&self, name: &str, space: &str) -> bool {
        let mut variables = self.frames.last().into_iter().flat_map(|frame| &frame.function.variables);
        variables.any(|variable| variable.space == space && variable.name == name)
    }

    /// Holds the address that `cvta` or `isspacep` takes against the space that it names.
    pub fn check_cast(&mut self, words: &Words, space: &str) -> Result<(), PtxError> {
        let from = operand(words, 1)?;
        let checked = match from {
            Operand::Name(name) | Operand::Offset(name, _) if self.register_kind(name).is_none() => {
                let place = self.find_place(name).filter(|_| !self.is_own_parameter(name));
                let right = match space.split(':').next() {
                    Some("global") => matches!(place, Some(Place::Global(_))),
                    Some("shared") => matches!(place, Some(Place::Shared(_))),
                    Some("local") => matches!(place, Some(Place::Local(_) | Place::Frame(_))),
                    Some("const") => matches!(place, Some(Place::Constant(_))),
                    _ => matches!(place, Some(Place::Parameter(_))),
                };
                if right { Ok(()) } else { Err(format!("names `{name}`, which is no variable in .{space}")) }
            }
            Operand::Integer(_) if words.opcode.starts_with("cvta") => Ok(()),
            other => self.register_fits(other, "u64", Width::Exact, false),
        };
        checked.or_else(|why| error(words.line, format!("`{}` {why}", words.opcode)))
    }

    /// Holds what an address is made of against the space of the access.
    pub fn check_address(&mut self, base: Option<&str>, space: Space, words: &Words) -> Result<(), PtxError> {
        let fail = |why: String| error(words.line, format!("`{}` {why}", words.opcode));
        let Some(name) = base else {
            return match space {
                Space::Local => Ok(()),
                _ => fail("has an address that is a number, as only local memory may have".into()),
            };
        };
        if let Some(kind) = self.register_kind(name) {
            let (class, bits) = class_of(kind);
            let narrow = matches!(space, Space::Shared | Space::Local | Space::Parameter | Space::Constant);
            return match (class, bits) {
                (Class::Integer | Class::Bits, 64) => Ok(()),
                (Class::Integer | Class::Bits, 32) if narrow => Ok(()),
                _ => fail(format!("cannot take its address from `{name}`, which is declared as .{kind}")),
            };
        }
        let right = match self.find_place(name) {
            None => return fail(format!("names `{name}`, which is neither a register nor a variable")),
            Some(Place::Global(_)) => matches!(space, Space::Global | Space::Generic),
            Some(Place::Shared(_)) => matches!(space, Space::Shared | Space::Generic),
            Some(Place::Local(_) | Place::Frame(_)) => match space {
                Space::Local => true,
                Space::Generic => !self.is_own_parameter(name),
                _ => space == Space::Parameter && !self.is_variable_in(name, "local"),
            },
            Some(Place::Function(_)) => false,
            Some(Place::Constant(_)) => space == Space::Constant,
            Some(Place::Parameter(_)) => space == Space::Parameter,
        };
        if right { Ok(()) } else { fail(format!("names `{name}`, which lies in another space")) }
    }
}
