//! Holds an instruction against the rows of `rows`, as ptxas does: the words of its opcode, the number of its operands,
//! and what each of them is.

use std::rc::Rc;

use super::decode::Decoder;
use super::grammar::{Count, Element, Form, Kind, Shape, Width, forms};
use super::places::{Place, special};
use super::refused::{GAP, refused};
use crate::PtxError;
use crate::isa::needs;
use crate::ptx::{Instruction as Words, Operand};

impl<'a> Decoder<'a> {
    /// The words of an instruction's opcode, in the order of its row, and the instruction with its constants as its types
    /// have them. An error if ptxas would not take it.
    pub fn checked(&mut self, words: &Words) -> Result<Vec<&'static str>, PtxError> {
        let found = self.forms_of(words)?;
        let mut wrong = None;
        for form in found.iter() {
            match self.fits(words, form) {
                Ok(()) if form.since() > self.architecture() => {
                    let (since, opcode) = (form.since(), &words.opcode);
                    let message = format!("`{opcode}` needs .target sm_{since}, and the module is for an older GPU");
                    wrong.get_or_insert(PtxError { line: words.line, message, hint: None });
                }
                Ok(()) if form.row.only && !self.has_all_of(form.row.since) => {
                    let (only, opcode) = (form.row.since, &words.opcode);
                    let message = format!("`{opcode}` needs .target sm_{only}a, and the module is for other GPUs");
                    wrong.get_or_insert(PtxError { line: words.line, message, hint: None });
                }
                Ok(()) => return Ok(form.parts.clone()),
                Err(message) => {
                    wrong.get_or_insert(PtxError { line: words.line, message, hint: None });
                }
            }
        }
        wrong.map_or_else(|| self.unknown(words), Err)
    }

    /// The forms that an opcode may be of. Most instructions of a kernel have an opcode that others had before them.
    pub(super) fn forms_of(&mut self, words: &Words) -> Result<Rc<Vec<Form>>, PtxError> {
        if let Some(known) = self.forms.get(&words.opcode) {
            return Ok(known.clone());
        }
        let opcode: Vec<&str> = words.opcode.split('.').collect();
        let found = match forms(&opcode) {
            Ok(found) => Rc::new(found),
            Err(known) => {
                if let Some(refused) = refused(&opcode) {
                    return refused.error(words.line, format!("`{}`{}", words.opcode, since(&opcode)));
                }
                if !known {
                    return self.unknown(words);
                }
                let message = format!("`{}` is no form of `{}` that the emulator runs", words.opcode, opcode[0]);
                return Err(PtxError { line: words.line, message, hint: Some(GAP) });
            }
        };
        self.forms.insert(words.opcode.clone(), found.clone());
        Ok(found)
    }

    fn fits(&mut self, words: &Words, form: &Form) -> Result<(), String> {
        let given = &words.operands;
        let (mut n, mut optional) = (0, false);
        let wanted = form.row.operands.iter().filter(|shape| !matches!(shape, Shape::Optional)).count();
        if matches!(form.row.operands.as_slice(), [Shape::Anything]) {
            return Ok(());
        }
        if let Some(hinted) = form.hinted()
            && given.len() != wanted - usize::from(!hinted)
        {
            return Err(format!("`{}` with {} operands", words.opcode, given.len()));
        }
        for shape in &form.row.operands {
            if matches!(shape, Shape::Optional) {
                optional = true;
                continue;
            }
            let Some(operand) = given.get(n) else {
                if optional {
                    return Ok(());
                }
                return Err(format!("`{}` takes {wanted} operands, here are {}", words.opcode, given.len()));
            };
            if let Err(why) = self.operand_fits(operand, *shape, form) {
                return Err(format!("operand {} of `{}` {why}", n + 1, words.opcode));
            }
            n += 1;
        }
        if n < given.len() {
            return Err(format!("`{}` takes {wanted} operands, here are {}", words.opcode, given.len()));
        }
        Ok(())
    }

    fn operand_fits(&mut self, operand: &Operand, shape: Shape, form: &Form) -> Result<(), String> {
        match shape {
            Shape::Source { kind, width, special } => self.source_fits(operand, form, kind, width, special),
            Shape::Destination { kind, width, sink } => self.destination_fits(operand, form, kind, width, sink),
            Shape::Pair { kind, sink, needed } => match operand {
                Operand::Pair(first, second) => {
                    self.destination_fits(first, form, kind, Width::Exact, sink)?;
                    self.register_fits(second, "pred", Width::Exact, true)
                }
                _ if needed => Err("must have a predicate behind `|`".into()),
                single => self.destination_fits(single, form, kind, Width::Exact, false),
            },
            Shape::Register(kind) => self.destination_fits(operand, form, kind, Width::Exact, false),
            Shape::Address => match operand {
                Operand::Address(..) => Ok(()),
                _ => Err("must be an address in [ ]".into()),
            },
            Shape::Tensor(rank) => self.tensor_fits(operand, form.kind(rank).0),
            Shape::Integer(from, to) => match operand {
                Operand::Integer(n) if (from..=to).contains(n) => Ok(()),
                Operand::Integer(n) => Err(format!("is {n}, and must be from {from} to {to}")),
                Operand::Name(name) if name == "WARP_SZ" && from < 32 && to > 32 => Ok(()),
                _ => Err("must be an integer constant".into()),
            },
            Shape::Anything | Shape::Optional => Ok(()),
            Shape::List(count, element, kind) => {
                let list = match operand {
                    Operand::List(list) => list.as_slice(),
                    single if count == Count::AnyOrBare => std::slice::from_ref(single),
                    _ => return Err("must be a list in { }".into()),
                };
                if let Count::Exactly(count) = count
                    && count != list.len()
                {
                    return Err(format!("must be a list of {count}"));
                }
                let constant = |operand: &Operand| match operand {
                    Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) => true,
                    Operand::Name(name) => name == "WARP_SZ",
                    _ => false,
                };
                if count == Count::Any && list.len() == 1 && constant(&list[0]) {
                    return Err("must be a register where it is alone in its list".into());
                }
                let sink = list.len() > 1 && list.iter().any(|o| !matches!(o, Operand::Name(name) if name == "_"));
                let width = match element {
                    Element::Wider | Element::WiderDestination => Width::OrWider,
                    Element::Source | Element::Destination => Width::Exact,
                };
                list.iter().try_for_each(|operand| match element {
                    Element::Source | Element::Wider => self.source_fits(operand, form, kind, width, false),
                    Element::WiderDestination => self.destination_fits(operand, form, kind, width, sink),
                    Element::Destination => self.destination_fits(operand, form, kind, width, false),
                })
            }
        }
    }

    fn destination_fits(
        &mut self,
        operand: &Operand,
        form: &Form,
        kind: Kind,
        width: Width,
        sink: bool,
    ) -> Result<(), String> {
        let name = doubled(form.kind(kind));
        self.no_float_instead(operand, form, kind)?;
        self.register_fits(operand, &name, width, sink)
    }

    fn source_fits(
        &mut self,
        operand: &Operand,
        form: &Form,
        kind: Kind,
        width: Width,
        special_too: bool,
    ) -> Result<(), String> {
        let name = doubled(form.kind(kind));
        let no = |what: &str| Err(format!("is {what}, and must be of type .{name}"));
        let (class, bits) = class_of(&name);
        self.no_float_instead(operand, form, kind)?;
        match operand {
            // Where a field of bits lies.
            Operand::Integer(n)
                if form.is_apart(kind) && matches!(form.parts[0], "bfe" | "bfi") && !(0..256).contains(n) =>
            {
                Err(format!("is {n}, and must be from 0 to 255"))
            }
            Operand::Integer(_) if matches!(class, Class::Float | Class::Packed | Class::Brain) => {
                no("an integer constant")
            }
            Operand::Integer(_) => Ok(()),
            Operand::F32(_) | Operand::F64(_) if class == Class::Float && bits >= 32 => Ok(()),
            Operand::F32(_) if class == Class::Bits && bits == 32 => Ok(()),
            Operand::F64(_) if class == Class::Bits && bits == 64 => Ok(()),
            Operand::F32(_) | Operand::F64(_) => no("a floating-point constant"),
            Operand::Not(_) if class == Class::Predicate => {
                self.register_fits(&positive(operand), "pred", width, false)
            }
            Operand::Name(name)
                if name == "WARP_SZ" && matches!(class, Class::Integer | Class::Bits | Class::Predicate) =>
            {
                Ok(())
            }
            Operand::Name(name) if special_too && special(name).is_some() && bits <= 32 => Ok(()),
            Operand::Offset(name, _) if takes_addresses(form.parts[0], class) => match self.find_place(name) {
                Some(Place::Shared(_) | Place::Local(_) | Place::Frame(_)) => Ok(()),
                _ => no("no constant"),
            },
            other => self.register_fits(other, &name, width, false),
        }
    }

    /// Where the opcode does not say the type of bits or of a number, a register of floats is none.
    fn no_float_instead(&self, operand: &Operand, form: &Form, kind: Kind) -> Result<(), String> {
        let (name, _) = form.kind(kind);
        let Operand::Name(register) = operand else { return Ok(()) };
        let has = self.register_kind(register).unwrap_or(name);
        let whole = matches!(class_of(name).0, Class::Bits | Class::Integer);
        let apart = form.is_apart(kind) || matches!(form.parts[0], "redux" | "bmsk" | "match");
        match apart && whole && matches!(class_of(has).0, Class::Float | Class::Packed) {
            true => Err(format!("must be of type .{name}, and `{register}` is declared as .{has}")),
            false => Ok(()),
        }
    }

    /// Whether an operand is a register that holds values of a type.
    pub fn register_fits(&self, operand: &Operand, wanted: &str, width: Width, sink: bool) -> Result<(), String> {
        let Operand::Name(name) = operand else { return Err(format!("must be a register of type .{wanted}")) };
        if name == "_" && sink {
            return Ok(());
        }
        let Some(kind) = self.register_kind(name) else {
            return Err(format!("must be a register of type .{wanted}, and `{name}` is none"));
        };
        match fits_type(kind, wanted, width) {
            true => Ok(()),
            false => Err(format!("must be of type .{wanted}, and `{name}` is declared as .{kind}")),
        }
    }
}

/// Whether an instruction takes a variable's address and a number as an operand of this class.
fn takes_addresses(mnemonic: &str, class: Class) -> bool {
    let no = ["rem", "div", "redux", "vote", "match", "shfl", "mma", "stmatrix", "st"];
    matches!(class, Class::Integer | Class::Bits) && !no.contains(&mnemonic)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Class {
    Predicate,
    Bits,
    Integer,
    Float,
    /// Two halves, in untyped registers or such of their own.
    Packed,
    /// In untyped registers alone.
    Brain,
}

/// The class and the width of a type.
pub(super) fn class_of(kind: &str) -> (Class, u32) {
    let bits = match kind {
        "pred" => return (Class::Predicate, 1),
        "f16x2" | "u16x2" | "s16x2" => return (Class::Packed, 32),
        "bf16x2" | "tf32" => return (Class::Brain, 32),
        "bf16" | "e4m3x2" | "e5m2x2" => return (Class::Brain, 16),
        _ => kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or_default(),
    };
    match kind.as_bytes().first() {
        Some(b'b') => (Class::Bits, bits),
        Some(b'f') => (Class::Float, bits),
        _ => (Class::Integer, bits),
    }
}

/// Whether a register that is declared as `kind` holds values of type `wanted`.
pub(super) fn fits_type(kind: &str, wanted: &str, width: Width) -> bool {
    let ((has, has_bits), (wants, bits)) = (class_of(kind), class_of(wanted));
    let size = match width {
        Width::Exact => has_bits == bits,
        Width::OrWider if has == Class::Float && wants == Class::Float => has_bits == bits,
        Width::OrWider => has_bits >= bits,
    };
    size && match (has, wants) {
        (Class::Predicate, Class::Predicate) => true,
        (Class::Predicate, _) | (_, Class::Predicate) => false,
        (Class::Bits, _) | (_, Class::Bits) => true,
        // A register of two halves is one of 32 bits, and of no other float.
        (Class::Packed, wants) => matches!(wants, Class::Packed | Class::Integer),
        (has, wants) => has == wants,
    }
}

/// A type, or that of twice its width.
fn doubled((kind, double): (&str, bool)) -> String {
    match kind {
        _ if !double => kind.to_string(),
        "u16" => "u32".into(),
        "s16" => "s32".into(),
        "u32" => "u64".into(),
        "s32" => "s64".into(),
        other => other.to_string(),
    }
}

fn positive(operand: &Operand) -> Operand {
    match operand {
        Operand::Not(name) => Operand::Name(name.clone()),
        other => other.clone(),
    }
}

/// The PTX and the GPUs that an instruction needs, in brackets, where not all have it.
fn since(opcode: &[&str]) -> String {
    match needs(opcode) {
        Some(needed) if needed.sm > 0 => format!(" (PTX {}, sm_{}{})", needed.isa, needed.sm, needed.suffix),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predicate_is_no_number_however_wide() {
        for number in ["b32", "u16", "s64", "f32", "b8"] {
            for width in [Width::Exact, Width::OrWider] {
                assert!(!fits_type(number, "pred", width) && !fits_type("pred", number, width), "{number}");
            }
        }
        assert!(fits_type("pred", "pred", Width::Exact) && fits_type("b64", "u32", Width::OrWider));
    }
}
