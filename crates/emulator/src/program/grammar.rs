//! Reads the rows of `rows` once, and finds the one that an opcode is of.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::rows::ROWS;
use super::sets::SETS;
use super::{File, Number};
use crate::lanewise::LANEWISE;

/// A form of an instruction.
#[derive(Debug)]
pub(super) struct Row {
    parts: Vec<Part>,
    pub operands: Vec<Shape>,
    /// The GPUs that have it: `sm_` this and newer.
    pub since: u32,
    /// Or that one alone: `sm_90a`.
    pub only: bool,
    /// Of one that is whole in its row: which of `lanewise`.
    pub lanewise: Option<u8>,
}

#[derive(Debug)]
struct Part {
    /// The letter that operands call this type by.
    name: Option<char>,
    optional: bool,
    /// Belongs to the mnemonic: stands in its place.
    fixed: bool,
    /// Stands somewhere behind the part before it.
    after: bool,
    words: Vec<&'static str>,
}

/// What an operand must be. Types are words of the row, or letters of its parts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Source {
        kind: Kind,
        width: Width,
        special: bool,
    },
    Destination {
        kind: Kind,
        width: Width,
        sink: bool,
    },
    /// Two results, of which the second is a predicate; `needed`: it may not be left out.
    Pair {
        kind: Kind,
        sink: bool,
        needed: bool,
    },
    /// A register, and no constant.
    Register(Kind),
    Address,
    /// An address of a tensor map, with as many coordinates as a part says, `2d`.
    Tensor(Kind),
    Integer(i128, i128),
    Anything,
    /// So many of another one, in braces; or any.
    List(Count, Element, Kind),
    /// The operands from here on may be left out.
    Optional,
}

/// How long a list is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Count {
    Exactly(usize),
    Any,
    /// As long as it likes, or one operand without braces.
    AnyOrBare,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Element {
    Source,
    Wider,
    Destination,
    WiderDestination,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Width {
    Exact,
    /// The register may be wider than the type.
    OrWider,
}

/// A type, by its name or by the letter of the part that says it; `doubled`: of twice the width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    name: &'static str,
    doubled: bool,
}

/// An opcode that fits a row: its words in the row's order, and the types that it names.
pub(super) struct Form {
    pub row: &'static Row,
    pub parts: Vec<&'static str>,
    kinds: Vec<(char, &'static str)>,
}

type Table = HashMap<&'static str, Vec<Row>>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    let of_lanes = LANEWISE.iter().enumerate().map(|(n, lanewise)| (lanewise.row, Some(n as u8)));
    for (row, lanewise) in ROWS.iter().map(|row| (*row, None)).chain(of_lanes) {
        let mnemonic = row.split_whitespace().next().unwrap_or_default();
        table.entry(mnemonic).or_default().push(Row { lanewise, ..row_of(row) });
    }
    table
});

pub(super) fn row_of(row: &'static str) -> Row {
    let (opcode, operands) = row.split_once('|').unwrap_or((row, ""));
    let (mut since, mut only) = (0, false);
    let mut parts = Vec::new();
    for word in opcode.split_whitespace().skip(1) {
        match word.strip_prefix("sm_") {
            Some(number) => {
                only = number.ends_with('a');
                since = number.trim_end_matches('a').parse().unwrap_or_default();
            }
            None => parts.push(part(word)),
        }
    }
    let operands = operands.split_whitespace().flat_map(shapes).collect();
    Row { parts, operands, since, only, lanewise: None }
}

fn part(word: &'static str) -> Part {
    let (optional, word) = match word.strip_prefix('?') {
        Some(word) => (true, word),
        None => (false, word),
    };
    let (after, word) = match word.strip_prefix('>') {
        Some(word) => (true, word),
        None => (false, word),
    };
    let (fixed, word) = match word.strip_prefix('.') {
        Some(word) => (true, word),
        None => (false, word),
    };
    let (name, word) = match word.as_bytes() {
        [letter @ b'A'..=b'Z', b':', ..] => (Some(char::from(*letter)), &word[2..]),
        _ => (None, word),
    };
    let set = |word: &'static str| SETS.iter().find(|(name, _)| *name == word).map_or(word, |(_, words)| words);
    let words = word.split('/').flat_map(|word| set(word).split('/')).collect();
    Part { name, optional, fixed, after, words }
}

fn shapes(word: &'static str) -> Vec<Shape> {
    if let Some(word) = word.strip_prefix('?') {
        return vec![Shape::Optional, shape(word)];
    }
    vec![shape(word)]
}

fn shape(word: &'static str) -> Shape {
    if let Some(rest) = word.strip_prefix('{') {
        let (count, element) = rest.split_once('}').unwrap_or(("", rest));
        let (element, kind) = match element.as_bytes() {
            [b'=', ..] => (Element::Destination, &element[1..]),
            [b'>', ..] => (Element::WiderDestination, &element[1..]),
            [b'<', ..] => (Element::Wider, &element[1..]),
            _ => (Element::Source, element),
        };
        let count = match count {
            "" => Count::AnyOrBare,
            "+" => Count::Any,
            number => Count::Exactly(number.parse().unwrap_or_default()),
        };
        return Shape::List(count, element, type_of(kind));
    }
    if let Some(range) = word.strip_prefix('#') {
        let (from, to) = range.split_once("..").unwrap_or(("", ""));
        return Shape::Integer(from.parse().unwrap_or(i128::MIN), to.parse().unwrap_or(i128::MAX));
    }
    match word {
        "[]" => return Shape::Address,
        "*" => return Shape::Anything,
        _ => {}
    }
    if let Some(rank) = word.strip_prefix("[{").and_then(|rest| rest.strip_suffix("}]")) {
        return Shape::Tensor(type_of(rank));
    }
    if let Some(rest) = word.strip_prefix('=') {
        let (first, second) = rest.split_once('|').unwrap_or((rest, ""));
        let (sink, first) = (first.ends_with('_'), first.trim_end_matches('_'));
        let kind = type_of(first);
        return match second {
            "" => Shape::Destination { kind, width: Width::Exact, sink },
            second => Shape::Pair { kind, sink, needed: !second.ends_with('?') },
        };
    }
    if let Some(kind) = word.strip_prefix('>') {
        return Shape::Destination { kind: type_of(kind), width: Width::OrWider, sink: false };
    }
    if let Some(kind) = word.strip_prefix('%') {
        return Shape::Register(type_of(kind));
    }
    let special = word.starts_with("<<");
    let width = if word.starts_with('<') { Width::OrWider } else { Width::Exact };
    Shape::Source { kind: type_of(word.trim_start_matches('<')), width, special }
}

fn type_of(word: &'static str) -> Kind {
    match word.strip_prefix('2') {
        Some(name) => Kind { name, doubled: true },
        None => Kind { name: if word == "p" { "pred" } else { word }, doubled: false },
    }
}

/// Whether a word of an opcode is a type: `s32`, `bf16x2`, `e4m3`.
fn is_type(word: &str) -> bool {
    let word = if word.starts_with("e4m3") || word.starts_with("e5m2") { word.replace('m', "") } else { word.into() };
    let word = word.trim_start_matches('e');
    let digits = word.trim_start_matches(['b', 'f', 't', 's', 'u']);
    digits.trim_end_matches("x2").parse::<u32>().is_ok()
}

impl Row {
    /// The register files of the first operand and of all others, where the part `T` is a type.
    pub fn files(&self, of: Number) -> (File, Vec<File>) {
        let file = |shape: &Shape| match shape {
            Shape::Source { kind, .. } | Shape::Destination { kind, .. } | Shape::Register(kind) => {
                Some(match kind.name {
                    "pred" => File::P,
                    "T" => of.file(),
                    name => Number::named(name).map_or(File::R, Number::file),
                })
            }
            _ => None,
        };
        let mut files = self.operands.iter().filter_map(file);
        (files.next().unwrap_or(File::R), files.collect())
    }

    /// The row's form of an opcode's words, if it is of this row.
    fn form(&'static self, mnemonic: &'static str, words: &[&str]) -> Option<Form> {
        // Types have their order, though other words may stand between them.
        let (mut behind, mut last) = (1, 0);
        let (mut parts, mut kinds) = (Vec::with_capacity(words.len() + 1), Vec::new());
        parts.push(mnemonic);
        for part in &self.parts {
            let fits = |n: usize| Some((n, *part.words.iter().find(|word| **word == words[n])?));
            let typed = is_type(part.words[0]);
            let from = match part {
                Part { fixed: true, .. } => parts.len(),
                Part { after: true, .. } => last + 1,
                _ if typed => behind,
                _ => 1,
            };
            let to = if part.fixed { words.len().min(from + 1) } else { words.len() };
            match (from..to).find_map(fits) {
                Some((n, word)) => {
                    last = n;
                    behind = if typed { n + 1 } else { behind };
                    parts.push(word);
                    kinds.extend(part.name.map(|name| (name, word)));
                }
                None if part.optional => {}
                None => return None,
            }
        }
        (parts.len() == words.len()).then_some(Form { row: self, parts, kinds })
    }
}

impl Form {
    /// The GPUs that have it: `sm_` this and newer.
    pub fn since(&self) -> u32 {
        let of_clusters = self.parts.iter().any(|part| matches!(*part, "cluster" | "shared::cluster"));
        if of_clusters { self.row.since.max(90) } else { self.row.since }
    }

    /// Whether the last operand is one that `.L2::cache_hint` brings, and whether the opcode has that.
    pub fn hinted(&self) -> Option<bool> {
        let may = self.row.parts.iter().any(|part| part.words.contains(&"L2::cache_hint"));
        may.then(|| self.parts.contains(&"L2::cache_hint"))
    }

    /// Whether an operand's type is another than the opcode's.
    pub fn is_apart(&self, kind: Kind) -> bool {
        let own = |part: &Part| part.name.is_none() && part.words.contains(&kind.name);
        kind.name.len() > 1 && !self.row.parts.iter().any(own)
    }

    /// Of one that is whole in its row: which, and its type, that of the part `T` or of the result.
    pub fn lanewise(&self) -> Option<(u8, Number)> {
        let kind = match self.row.operands.first() {
            Some(Shape::Destination { kind, .. }) => self.kind(*kind).0,
            _ => "b32",
        };
        let named = self.kinds.iter().find(|(name, _)| *name == 'T').map_or(kind, |(_, word)| word);
        Some((self.row.lanewise?, Number::named(named)?))
    }

    /// The type that an operand of this form has.
    pub fn kind(&self, kind: Kind) -> (&str, bool) {
        let letter = kind.name.chars().next().filter(|_| kind.name.len() == 1);
        let named = self.kinds.iter().find(|(name, _)| Some(*name) == letter).map(|(_, word)| *word);
        (named.unwrap_or(kind.name), kind.doubled)
    }
}

/// The forms of an opcode, given by its words. `Err` says whether at least the mnemonic is known.
pub(super) fn forms(words: &[&str]) -> Result<Vec<Form>, bool> {
    let known = |mnemonic: &&str| LazyLock::force(&TABLE).get_key_value(*mnemonic);
    let Some((mnemonic, rows)) = words.first().and_then(known) else {
        return Err(false);
    };
    if words.len() > 24 {
        return Err(true);
    }
    let found: Vec<Form> = rows.iter().filter_map(|row| row.form(mnemonic, words)).collect();
    if found.is_empty() { Err(true) } else { Ok(found) }
}
