//! A file with the headers of its own that it includes.

use std::collections::HashMap;

use crate::headers::{self, Header, included};
use crate::kernel::{self, Kernel};
use crate::launch::{self, Launch};
use crate::macros::Macros;
use crate::unit::Unit;

/// Files that a program may have: more are a mistake, such as a header that is found under ever new names.
const MOST_FILES: usize = 500;

/// An `#include` line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Include<'a> {
    /// What it names.
    pub name: &'a str,
    /// Whether it stands in quotes.
    pub quoted: bool,
    /// The path of the file that has the line.
    pub from: &'a str,
}

/// A header that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its path, as messages are to name it: the same for the same file.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What an `#include` line comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file of the program.
    Unit(usize),
    /// A header of CUDA's, left to the compiler.
    Device,
    /// Nothing.
    Host,
}

/// A file and the headers of its own.
#[derive(Debug)]
pub struct Program {
    pub(crate) units: Vec<Unit>,
    /// The same files before macros were written out; none where no file calls such macros.
    before: Vec<Unit>,
    pub(crate) macros: Macros,
    /// By file and name.
    pub(crate) targets: HashMap<(usize, String), Target>,
    missing: Vec<String>,
    kernels: Vec<Kernel>,
    launches: Vec<Launch>,
}

impl Program {
    /// Reads a file. `defines` are macros as `NAME=VALUE`; `find` gives the text of a header, where there is one that is not CUDA's.
    pub fn read(
        path: &str,
        text: &str,
        defines: &[String],
        find: &mut dyn FnMut(&Include) -> Option<Found>,
    ) -> Program {
        let mut macros = Macros::default();
        defines.iter().for_each(|word| macros.define(word));
        let mut program = Program {
            units: vec![Unit::new(path, text)],
            before: Vec::new(),
            macros,
            targets: HashMap::new(),
            missing: Vec::new(),
            kernels: Vec::new(),
            launches: Vec::new(),
        };
        let mut at = 0;
        while at < program.units.len() {
            program.include(at, find);
            at += 1;
        }
        // Headers come before what includes them.
        program.units.iter().rev().for_each(|unit| program.macros.add(unit));
        program.write_macros_out();
        for unit in program.units.iter_mut().chain(&mut program.before) {
            unit.find_items(&program.macros);
        }
        program.kernels = kernel::kernels(&program.units, &program.macros);
        program.launches = program.units.iter().enumerate().flat_map(|(at, unit)| launch::launches(at, unit)).collect();
        program
    }

    /// Writes out the macros that make kernels and launches, so that these are read like all others.
    fn write_macros_out(&mut self) {
        let texts: Vec<Option<String>> =
            self.units.iter().map(|unit| crate::expand::expanded(unit, &self.macros)).collect();
        if texts.iter().all(Option::is_none) {
            return;
        }
        let new = |(unit, text): (&Unit, Option<String>)| Unit::new(&unit.path, text.as_deref().unwrap_or(&unit.text));
        let units = self.units.iter().zip(texts).map(new).collect();
        self.before = std::mem::replace(&mut self.units, units);
    }

    /// The files as they are.
    pub(crate) fn files(&self) -> &[Unit] {
        if self.before.is_empty() { &self.units } else { &self.before }
    }

    fn include(&mut self, at: usize, find: &mut dyn FnMut(&Include) -> Option<Found>) {
        let lines = self.units[at].directives().filter_map(|(_, line)| included(line));
        let lines: Vec<(String, bool)> = lines.map(|(name, quoted)| (name.to_string(), quoted)).collect();
        for (name, quoted) in lines {
            let target = self.target(at, &name, quoted, find);
            self.targets.insert((at, name), target);
        }
    }

    fn target(
        &mut self,
        at: usize,
        name: &str,
        quoted: bool,
        find: &mut dyn FnMut(&Include) -> Option<Found>,
    ) -> Target {
        let known = headers::of(name);
        if known != Header::Unknown && !quoted {
            return if known == Header::Device { Target::Device } else { Target::Host };
        }
        let from = self.units[at].path.clone();
        let found = if name == "cuda.h" { None } else { find(&Include { name, quoted, from: &from }) };
        match (found, known) {
            (Some(found), _) if self.units.len() < MOST_FILES => Target::Unit(self.add(&found)),
            (_, Header::Device) => Target::Device,
            (_, Header::Host) => Target::Host,
            _ if name == "cuda.h" => Target::Host,
            _ => {
                if !self.missing.iter().any(|missing| missing == name) {
                    self.missing.push(name.to_string());
                }
                Target::Host
            }
        }
    }

    fn add(&mut self, found: &Found) -> usize {
        let known = self.units.iter().position(|unit| unit.path == found.path);
        known.unwrap_or_else(|| {
            self.units.push(Unit::new(&found.path, &found.text));
            self.units.len() - 1
        })
    }

    /// CUDA's headers that device code needs, and that come by a header that is not read: a library's, or one that is missing.
    pub(crate) fn brought(&self, mentioned: &std::collections::HashSet<String>) -> Vec<&'static str> {
        let left_out = self.targets.iter().filter(|(_, target)| **target == Target::Host);
        let mut all: Vec<&str> = left_out.flat_map(|((_, name), _)| headers::brought_by(name)).copied().collect();
        let is_needed = |header: &&str| {
            let part = if header.contains("bf16") { "bfloat16" } else { "half" };
            mentioned.iter().any(|name| name.contains(part))
        };
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter(is_needed).collect()
    }

    /// The headers that are neither known nor found. Device code may do without.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The path of the file that was read first, which includes the others.
    pub fn path(&self) -> &str {
        self.units.first().map_or("", |unit| &unit.path)
    }

    /// Whether no name in the code has a letter beyond ASCII.
    pub fn is_ascii(&self) -> bool {
        self.files().iter().all(|unit| (0..unit.code.len()).all(|at| !unit.is_name(at) || unit.word(at).is_ascii()))
    }

    /// Leaves out the kernels of all files but one.
    pub fn keep_kernels_of(&mut self, path: &str) {
        self.kernels.retain(|kernel| kernel.path == path);
    }

    /// The kernels of all files, the file's own first.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The launches of all files, the file's own first.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }
}
