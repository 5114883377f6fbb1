//! The macros of all files, as far as their text tells.

use std::collections::{HashMap, HashSet};

use crate::lexer::pieces;
use crate::token::Piece;
use crate::unit::Unit;

/// What marks a function or a variable as one of the device.
pub const MARKS: [&str; 7] = [
    "__global__",
    "__device__",
    "__constant__",
    "__shared__",
    "__managed__",
    "__grid_constant__",
    "__device_builtin__",
];

/// A macro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Macro {
    /// The names of its parameters; `None` where it takes none and no parentheses.
    pub parameters: Option<Vec<String>>,
    /// What it stands for.
    pub body: Vec<Piece>,
}

/// All macros, by name. Of several definitions the first counts.
#[derive(Debug, Default)]
pub struct Macros {
    all: HashMap<String, Macro>,
    marks: HashSet<String>,
    given: HashSet<String>,
}

impl Macros {
    /// Defines a macro from a command line: `NAME=VALUE`, or `NAME`, which is 1. It comes before those of the files.
    pub fn define(&mut self, word: &str) {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        let text = format!("#define {name} {value}");
        if let Some((name, found)) = definition(&text) {
            self.given.insert(name.clone());
            self.all.insert(name, found);
        }
    }

    /// Adds the macros of a file.
    pub fn add(&mut self, unit: &Unit) {
        for (name, found) in unit.directives().filter_map(|(_, line)| definition(line)) {
            self.all.entry(name).or_insert(found);
        }
        self.find_marks();
    }

    fn find_marks(&mut self) {
        loop {
            let is_new = |(name, found): &(&String, &Macro)| {
                !self.marks.contains(*name) && found.body.iter().any(|piece| self.is_mark(&piece.text))
            };
            let new: Vec<String> = self.all.iter().filter(is_new).map(|(name, _)| name.clone()).collect();
            if new.is_empty() {
                return;
            }
            self.marks.extend(new);
        }
    }

    /// All macros, by name.
    pub fn all(&self) -> impl Iterator<Item = (&String, &Macro)> {
        self.all.iter()
    }

    /// The macro of this name.
    pub fn get(&self, name: &str) -> Option<&Macro> {
        self.all.get(name)
    }

    /// Whether a word marks something of the device, itself or as a macro.
    pub fn is_mark(&self, word: &str) -> bool {
        MARKS.contains(&word) || self.marks.contains(word)
    }

    /// Whether a word stands for `__global__`, itself or as a macro.
    pub fn is_global(&self, word: &str) -> bool {
        let inside = |found: &Macro| found.body.iter().any(|piece| piece.is("__global__"));
        word == "__global__" || self.all.get(word).is_some_and(inside)
    }

    /// Whether it is a macro with parentheses.
    pub fn is_call(&self, name: &str) -> bool {
        self.all.get(name).is_some_and(|found| found.parameters.is_some())
    }
}

/// The name and the meaning of a `#define`.
fn definition(line: &str) -> Option<(String, Macro)> {
    let line = line.replace("\\\r\n", "  ").replace("\\\n", " ");
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
    let all = pieces(rest);
    let name = all.first().filter(|name| name.is_word())?.text.clone();
    if !all.get(1).is_some_and(|open| open.is("(") && open.glued) {
        return Some((name, Macro { parameters: None, body: all[1..].to_vec() }));
    }
    let close = all.iter().position(|piece| piece.is(")"))?;
    let words = all[2..close].iter().filter(|piece| piece.is_word() || piece.is("."));
    let mut parameters: Vec<String> = Vec::new();
    for word in words {
        match word.text.as_str() {
            "." if parameters.last().is_some_and(|last| last == "__VA_ARGS__") => (),
            "." => parameters.push("__VA_ARGS__".to_string()),
            name => parameters.push(name.to_string()),
        }
    }
    Some((name, Macro { parameters: Some(parameters), body: all[close + 1..].to_vec() }))
}
