//! The types of numbers, under the names that people give them.

use crate::item::{Item, What};
use crate::macros::Macros;
use crate::token::{Piece, written};
use crate::unit::Unit;

/// A number's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `double`.
    F64,
    /// `float`, or a vector of them.
    F32,
    /// `half`, `__half`, or a vector of them.
    F16,
    /// `__nv_bfloat16`, or a vector of them.
    Bf16,
    /// `__nv_fp8_e4m3`.
    E4m3,
    /// `__nv_fp8_e5m2`.
    E5m2,
    /// A whole number.
    Whole,
}

/// Words of a type that say nothing about its numbers.
const QUALIFIERS: [&str; 13] = [
    "const",
    "volatile",
    "__restrict__",
    "__restrict",
    "restrict",
    "__grid_constant__",
    "register",
    "typename",
    "struct",
    "std",
    "::",
    "static",
    "constexpr",
];

/// Words of types that stand alone, and are no parameter's name.
const WORDS: [&str; 14] = [
    "int", "unsigned", "signed", "long", "short", "char", "float", "double", "half", "__half", "bool", "void", "auto",
    "size_t",
];

/// Whether a word is a type, and no name.
pub fn is_type_word(word: &str) -> bool {
    WORDS.contains(&word) || QUALIFIERS.contains(&word)
}

/// The type without its qualifiers. Macros that stand for nothing, or for a qualifier, are left out.
pub fn element(pieces: &[Piece], macros: &Macros) -> String {
    let is_empty = |piece: &&Piece| {
        let empty = |body: &[Piece]| body.iter().all(|piece| QUALIFIERS.contains(&piece.text.as_str()));
        macros.get(&piece.text).is_some_and(|found| found.parameters.is_none() && empty(&found.body))
    };
    let says = pieces.iter().filter(|piece| !QUALIFIERS.contains(&piece.text.as_str()) && !is_empty(piece));
    written(&says.cloned().collect::<Vec<_>>())
}

/// What a type's numbers are. Macros and aliases of the program are followed.
pub fn scalar(element: &str, units: &[Unit], macros: &Macros) -> Option<Scalar> {
    let mut name = element.to_string();
    for _ in 0..8 {
        if let Some(scalar) = named(&name) {
            return Some(scalar);
        }
        let body = macros.get(&name).filter(|found| found.parameters.is_none());
        name = match body {
            Some(found) => self::element(&found.body, macros),
            None => alias(&name, units, macros)?,
        };
    }
    None
}

fn named(name: &str) -> Option<Scalar> {
    let plain = name.rsplit("::").next().unwrap_or(name).trim();
    let base = plain.trim_end_matches(|c: char| matches!(c, '1'..='4'));
    Some(match plain {
        "double" => Scalar::F64,
        "float" => Scalar::F32,
        "half" | "__half" | "half_t" | "float16_t" | "__half_raw" | "__half2" | "half2" => Scalar::F16,
        "__nv_bfloat16" | "nv_bfloat16" | "bfloat16" | "__bfloat16" | "bf16" | "bfloat16_t" => Scalar::Bf16,
        "__nv_bfloat162" | "nv_bfloat162" => Scalar::Bf16,
        "__nv_fp8_e4m3" => Scalar::E4m3,
        "__nv_fp8_e5m2" => Scalar::E5m2,
        "size_t" | "uint" | "bool" | "ptrdiff_t" | "ssize_t" => Scalar::Whole,
        _ if base == "float" => Scalar::F32,
        _ if base == "double" => Scalar::F64,
        _ if is_whole(plain) || is_whole(base) => Scalar::Whole,
        _ if ["uint", "uchar", "ushort", "ulong", "longlong", "ulonglong"].contains(&base) => Scalar::Whole,
        _ => return None,
    })
}

fn is_whole(name: &str) -> bool {
    let words = ["int", "unsigned", "signed", "long", "short", "char"];
    let fixed = name.strip_suffix("_t").map(|name| name.trim_start_matches('u'));
    let fixed = fixed.and_then(|name| name.strip_prefix("int")).is_some_and(|bits| bits.parse::<u8>().is_ok());
    fixed || !name.is_empty() && name.split_whitespace().all(|word| words.contains(&word))
}

/// What `using name = …` or `typedef … name` says.
fn alias(name: &str, units: &[Unit], macros: &Macros) -> Option<String> {
    units.iter().find_map(|unit| alias_in(unit, &unit.items, name, macros))
}

fn alias_in(unit: &Unit, items: &[Item], name: &str, macros: &Macros) -> Option<String> {
    items.iter().find_map(|item| match item.what {
        What::Scope => alias_in(unit, &item.inner, name, macros),
        What::Type if unit.word(item.all.start) == "typedef" => {
            let last = item.all.end.checked_sub(2)?;
            (unit.word(last) == name).then(|| element(&unit.pieces(item.all.start + 1, last), macros))
        }
        What::Type if unit.word(item.all.start) == "using" && unit.word(item.all.start + 1) == name => {
            let (from, to) = (item.all.start + 3, item.all.end.saturating_sub(1));
            (from < to).then(|| element(&unit.pieces(from, to), macros))
        }
        _ => None,
    })
}

impl crate::Program {
    /// What the numbers of a kernel's parameter are in an instance of it.
    pub fn scalar(
        &self,
        kernel: &crate::Kernel,
        instance: &crate::Instance,
        parameter: &crate::Parameter,
    ) -> Option<Scalar> {
        let place = kernel.template.iter().position(|of_template| of_template.name == parameter.element);
        let given = place.and_then(|place| {
            instance.arguments.get(place).cloned().or_else(|| kernel.template[place].default.clone())
        });
        match given {
            Some(argument) => scalar(&argument, &self.units, &self.macros),
            None => parameter.scalar,
        }
    }
}
