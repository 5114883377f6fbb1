//! Declarations: variables and their initial values, and the names that each scope has.

use std::collections::HashMap;

use super::parse::Parser;
use super::token::Token;
use super::{Operand, Variable, error};
use crate::PtxError;

/// Whether a declaration stands in a list of parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Listed {
    No,
    OfKernel,
    OfFunction,
    /// Of a prototype, where names say nothing, and `_` will do.
    Nameless,
}

impl Parser {
    /// Of a list of parameters or by itself, after `.shared`, `.param` …: `.align 16 .b8 name[1024] = {…};`
    pub(super) fn variable(&mut self, space: &str, listed: Listed) -> Result<Variable, PtxError> {
        let line = self.line();
        let (mut align, mut element, mut kind, mut pointer) = (None, None, String::new(), false);
        let name = loop {
            let word = self.word()?;
            match word.as_str() {
                // Behind `.ptr` stands how the memory that it points to is aligned.
                ".align" if pointer => drop(self.alignment()?),
                ".align" if align.is_some() => return error(line, "`.align` stands twice"),
                ".align" => align = Some(self.alignment()?),
                ".ptr" if space == "param" && element.is_some() => pointer = true,
                ".global" | ".shared" | ".const" | ".local" if pointer => {}
                _ if word.starts_with('.') && element.is_some() => {
                    return error(line, format!("`{word}` behind a type"));
                }
                _ if word.starts_with('.') => {
                    let (lanes, scalar) = match word.as_str() {
                        ".v2" => (2, self.word()?),
                        ".v4" => (4, self.word()?),
                        _ => (1, word),
                    };
                    let Some(bytes) = scalar.strip_prefix('.').and_then(type_bytes) else {
                        return error(line, format!("`{scalar}` is no type of a variable"));
                    };
                    if bytes == 16 && self.version < (8, 3) {
                        return error(line, "`.b128` needs `.version` 8.3 or later");
                    }
                    kind = scalar[1..].to_string();
                    element = Some(lanes * bytes);
                }
                _ if is_name(&word) || word == "_" && listed == Listed::Nameless => break word,
                _ => return error(line, format!("`{word}` is no name of a variable")),
            }
        };
        let Some(element) = element else { return error(line, format!("variable `{name}` has no type")) };
        // An array of no elements is one whose size is not given.
        let mut bytes = Some(element);
        while self.accept('[') {
            let extent = if self.is(']') { None } else { Some(self.integer()?) };
            bytes = match bytes.zip(extent) {
                None => None,
                Some((element, extent)) => match u64::try_from(extent).ok().and_then(|n| element.checked_mul(n)) {
                    None => return error(line, format!("an array of {extent} elements")),
                    total => total.filter(|total| *total > 0),
                },
            };
            self.expect(']')?;
        }
        let (mut init, mut addresses) = (Vec::new(), Vec::new());
        if self.accept('=') {
            self.initialiser((&name, &kind), &mut init, &mut addresses)?;
        }
        if let Some(bytes) = bytes.filter(|bytes| init.len() as u64 > *bytes) {
            return error(line, format!("{} bytes initialise `{name}`, which has {bytes}", init.len()));
        }
        if listed == Listed::OfKernel && bytes.is_none() {
            return error(line, format!("parameter `{name}` of a kernel has no size"));
        }
        if listed == Listed::No {
            self.expect(';')?;
        }
        let name = if listed == Listed::Nameless { name } else { self.declare(name)? };
        Ok(Variable { name, space: space.to_string(), align: align.unwrap_or(element), kind, bytes, init, addresses })
    }

    fn initialiser(
        &mut self,
        (own, kind): (&str, &str),
        out: &mut Vec<u8>,
        addresses: &mut Vec<(u64, String, i64)>,
    ) -> Result<(), PtxError> {
        if self.accept('{') {
            self.deeper()?;
            while !self.accept('}') {
                self.initialiser((own, kind), out, addresses)?;
                self.comma_or('}')?;
            }
            self.depth -= 1;
            return Ok(());
        }
        let line = self.line();
        // Every address is a generic one here.
        let generic = self.is_word("generic");
        if generic {
            self.word()?;
            self.expect('(')?;
        }
        let value = self.operand()?;
        if generic {
            self.expect(')')?;
        }
        let plus = if generic && self.accept('+') { self.constant_integer()? } else { 0 };
        let bytes = match value {
            _ if kind == "f16" => return error(line, "nothing may initialise a variable of type .f16"),
            Operand::Integer(n) if !kind.starts_with('f') => n.to_le_bytes(),
            Operand::Name(name) if name == "WARP_SZ" && !kind.starts_with('f') => 32u128.to_le_bytes(),
            Operand::F32(bits) if matches!(kind, "f32" | "b32" | "f64" | "b64") => u128::from(bits).to_le_bytes(),
            Operand::F64(bits) if matches!(kind, "f32" | "b32") => {
                u128::from((f64::from_bits(bits) as f32).to_bits()).to_le_bytes()
            }
            Operand::F64(bits) if matches!(kind, "f64" | "b64") => u128::from(bits).to_le_bytes(),
            Operand::F32(_) | Operand::F64(_) if matches!(kind, "b8" | "b16") => [0; 16],
            Operand::Name(name) if self.announced.contains_key(&name) && generic => {
                return error(line, format!("`{name}` is a function, and has no generic address"));
            }
            Operand::Name(name) if matches!(kind, "u64" | "b64" | "s64") => {
                let declared = self.declared.iter().any(|names| names.contains(&name));
                if name != own && !declared && !self.announced.contains_key(&name) {
                    return error(line, format!("`{name}` is not known here"));
                }
                addresses.push((out.len() as u64, name, plus));
                [0; 16]
            }
            Operand::Offset(name, plus) if matches!(kind, "u64" | "b64" | "s64") => {
                addresses.push((out.len() as u64, name, plus));
                [0; 16]
            }
            other => return error(line, format!("{other:?} cannot initialise a variable")),
        };
        out.extend(&bytes[..type_bytes(kind).unwrap_or(1) as usize]);
        Ok(())
    }

    fn alignment(&mut self) -> Result<u64, PtxError> {
        let line = self.line();
        let bytes = self.integer()?;
        match u64::try_from(bytes) {
            Ok(bytes) if bytes.is_power_of_two() => Ok(bytes),
            _ => error(line, format!("`.align {bytes}` is no power of two")),
        }
    }

    /// Takes a comma, or sees the end of the list.
    pub(super) fn comma_or(&mut self, end: char) -> Result<(), PtxError> {
        let line = self.line();
        match self.accept(',') {
            true if self.is(end) => error(line, format!("`,` before `{end}`")),
            true => Ok(()),
            false if self.is(end) => Ok(()),
            false => self.expect(','),
        }
    }

    /// In a nested block, a declared name gets a unique one, so that blocks cannot collide.
    pub(super) fn declare(&mut self, name: String) -> Result<String, PtxError> {
        self.declare_label(&name)?;
        let Some(scope) = self.scopes.last_mut() else { return Ok(name) };
        let unique = format!("{name}@{}", self.scope_count);
        scope.insert(name, unique.clone());
        Ok(unique)
    }

    /// Notes a name in the scope at hand, which may have it once.
    pub(super) fn declare_label(&mut self, name: &str) -> Result<(), PtxError> {
        let line = self.line();
        let ranged =
            self.declared.len() == 2 && self.ranges.iter().any(|(prefix, count)| in_range(name, prefix, *count));
        let fresh = self.declared.last_mut().is_none_or(|names| names.insert(name.to_string()));
        if fresh && !ranged { Ok(()) } else { error(line, format!("`{name}` is declared twice")) }
    }

    /// The labels of the nested block that begins here, which are its own, with their unique names: they may be used before
    /// they stand there.
    pub(super) fn labels_of_block(&self) -> HashMap<String, String> {
        let (mut labels, mut depth, mut before) = (HashMap::new(), 0u32, None);
        for (n, (token, _)) in self.tokens.iter().enumerate().skip(self.at) {
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') if depth == 0 => break,
                Token::Sign('}') => depth -= 1,
                Token::Word(name) if depth == 0 && !name.starts_with(['%', '.']) => {
                    // Names of lists and prototypes are the function's.
                    let listed = |word: &str| [".branchtargets", ".callprototype", ".calltargets"].contains(&word);
                    let colon = matches!(self.tokens.get(n + 1), Some((Token::Sign(':'), _)))
                        && !matches!(self.tokens.get(n + 2), Some((Token::Word(word), _)) if listed(word));
                    if colon && matches!(before, None | Some(';' | ':' | '{' | '}')) {
                        labels.insert(name.clone(), format!("{name}@{}", self.scope_count));
                    }
                }
                _ => {}
            }
            before = if let Token::Sign(sign) = token { Some(*sign) } else { Some('\0') };
        }
        labels
    }

    pub(super) fn resolve(&self, name: String) -> String {
        self.scopes.iter().rev().find_map(|scope| scope.get(&name).cloned()).unwrap_or(name)
    }
}

/// Names that PTX has given away.
const RESERVED: &[&str] = &[
    "WARP_SZ",
    "function_name",
    "inlined_at",
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%clusterid",
    "%nclusterid",
    "%total_smem_size",
    "%dynamic_smem_size",
    "%aggr_smem_size",
];

/// Whether a word may name something: letters, digits, `_` and `$`, and not a digit at the start; `%` only there.
pub(super) fn is_name(word: &str) -> bool {
    if RESERVED.contains(&word) || word.starts_with("%lanemask_") || word.starts_with("%envreg") {
        return false;
    }
    let mut characters = word.chars();
    let follows = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    match characters.next() {
        Some('_' | '$' | '%') => word.len() > 1 && characters.all(follows),
        Some(first) => first.is_ascii_alphabetic() && characters.all(follows),
        None => false,
    }
}

/// Whether `name` is one of `%r<count>`, for the prefix `%r`.
pub(super) fn in_range(name: &str, prefix: &str, count: u32) -> bool {
    name.strip_prefix(prefix).and_then(|number| number.parse().ok()).is_some_and(|number: u32| number < count)
}

/// Bytes of a type that a variable may have: `f32` → 4.
pub(crate) fn type_bytes(kind: &str) -> Option<u64> {
    Some(match kind {
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" => 2,
        "b32" | "u32" | "s32" | "f32" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// Whether a register may have a type.
pub(super) fn is_register_type(kind: &str) -> bool {
    matches!(kind, "pred" | "f16x2") || type_bytes(kind).is_some()
}
