//! The device part of a program: everything else becomes spaces, so that lines and columns stay.

use std::collections::BTreeSet;

use crate::headers::included;
use crate::item::{Item, What};
use crate::program::{Program, Target};
use crate::reach::{self, Kept};
use crate::token::Kind;
use crate::unit::Unit;

/// A header of the program's own, cut as the file was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutHeader {
    /// The name by which the cut text includes it: its path.
    pub path: String,
    /// Its device part.
    pub text: String,
}

/// The device part of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file's.
    pub text: String,
    /// Those of its headers.
    pub headers: Vec<CutHeader>,
    /// Names of namespace `std` that device code uses.
    pub std_names: BTreeSet<String>,
    /// Names of functions that were left out: host code.
    pub host: Vec<String>,
    /// Headers of CUDA's that come by headers that were left out.
    pub brought: Vec<&'static str>,
}

impl Program {
    /// Cuts the device part out. `wanted` are names that are needed beyond those of device code: of template arguments.
    pub fn cut(&self, wanted: &[String]) -> Cut {
        let kept = reach::kept(self.files(), &self.macros, wanted);
        let brought = self.brought(&kept.mentioned);
        let (headers, host, std_names) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut cut = Cut { text: String::new(), headers, std_names, host, brought };
        for (number, unit) in self.files().iter().enumerate() {
            let mut blanks = Blanks {
                program: self,
                number,
                unit,
                kept: &kept,
                text: unit.text.clone().into_bytes(),
                cut: &mut cut,
            };
            blanks.items(&unit.items, false);
            let text = blanks.with_directives();
            match number {
                0 => cut.text = text,
                _ => cut.headers.push(CutHeader { path: unit.path.clone(), text }),
            }
        }
        cut
    }
}

struct Blanks<'a> {
    program: &'a Program,
    number: usize,
    unit: &'a Unit,
    kept: &'a Kept,
    text: Vec<u8>,
    cut: &'a mut Cut,
}

impl Blanks<'_> {
    fn items(&mut self, items: &[Item], members: bool) {
        for item in items {
            let stays = if members { self.stays_as_member(item) } else { self.stays(item) };
            match (stays, item.what) {
                (true, What::Class) => {
                    self.items(&item.inner, true);
                    self.note_std(item, &item.inner);
                }
                (true, What::Scope) => self.items(&item.inner, false),
                (true, _) => self.note_std(item, &[]),
                (false, _) => self.blank(item),
            }
        }
    }

    fn stays(&self, item: &Item) -> bool {
        let unit = self.unit;
        match item.what {
            What::Scope | What::Other => true,
            What::Namespace if unit.word(item.all.start) == "using" => self.is_known_namespace(item),
            What::Instance if reach::is_marked(unit, item, &self.program.macros) => true,
            // `template void f<int>(…)` of a function that stays.
            What::Instance => {
                let named = |kernel: &crate::Kernel| item.all.clone().any(|at| unit.word(at) == kernel.plain_name());
                self.program.kernels().iter().any(named)
            }
            _ => self.kept.has((self.number, item.all.start)),
        }
    }

    fn stays_as_member(&self, item: &Item) -> bool {
        let macros = &self.program.macros;
        item.what != What::Function || reach::is_marked(self.unit, item, macros) || reach::is_free(self.unit, item)
    }

    /// Namespaces of CUDA's that headers bring, of the program's own, and `std`, which the compiler knows.
    fn is_known_namespace(&self, item: &Item) -> bool {
        let first = item.all.clone().skip(2).find(|&at| self.unit.is_name(at)).map(|at| self.unit.word(at));
        let Some(first) = first else { return false };
        let includes = |header: &str| {
            self.program.targets.iter().any(|((_, name), target)| *target == Target::Device && name.contains(header))
        };
        match first {
            "std" => true,
            "nvcuda" => includes("mma.h"),
            "cooperative_groups" => includes("cooperative_groups"),
            "cuda" => includes("cuda/"),
            "cute" | "cutlass" => includes("cut"),
            own => self.program.files().iter().any(|unit| declares_scope(unit, &unit.items, own)),
        }
    }

    fn note_std(&mut self, item: &Item, members: &[Item]) {
        let unit = self.unit;
        let host = |at: usize| members.iter().any(|member| member.all.contains(&at) && !self.stays_as_member(member));
        let mut found = Vec::new();
        for at in item.all.clone() {
            let qualified =
                unit.word(at) == "std" && unit.is_sign(at + 1, "::") && !unit.is_sign(at.wrapping_sub(1), "::");
            if qualified && !host(at) {
                found.push(unit.word(at + 2).to_string());
            }
        }
        self.cut.std_names.extend(found);
    }

    fn blank(&mut self, item: &Item) {
        let unit = self.unit;
        let (Some(first), Some(last)) = (unit.code.get(item.all.start), unit.code.get(item.all.end.wrapping_sub(1)))
        else {
            return;
        };
        if item.what == What::Function && !item.body.is_empty() {
            self.cut.host.push(unit.word(item.name).to_string());
        }
        let (from, to) = (first.start, last.end);
        let inside = unit.tokens.partition_point(|token| token.start < from);
        let tokens = unit.tokens[inside..].iter().take_while(|token| token.start < to);
        for token in tokens.filter(|token| !matches!(token.kind, Kind::Directive | Kind::Skipped)) {
            blank(&mut self.text[token.start..token.end]);
        }
    }

    /// The text, its `#include` lines settled.
    fn with_directives(mut self) -> String {
        let mut renamed = Vec::new();
        for (token, line) in self.unit.directives() {
            let pragma = line.trim_start().trim_start_matches('#').trim_start();
            if let Some((name, _)) = included(line) {
                match self.program.targets.get(&(self.number, name.to_string())) {
                    Some(Target::Device) => (),
                    Some(Target::Unit(unit)) => renamed.push((token.start, token.end, *unit)),
                    _ if name == "cuda.h" && self.kept.mentioned.contains("CUtensorMap") => (),
                    _ => blank(&mut self.text[token.start..token.end]),
                }
            } else if pragma.starts_with("pragma comment") || pragma.starts_with("pragma GCC") {
                blank(&mut self.text[token.start..token.end]);
            }
        }
        for (start, end, unit) in renamed.into_iter().rev() {
            let lines = self.text[start..end].iter().filter(|byte| **byte == b'\n').count();
            let line = format!("#include \"{}\"{}", self.program.files()[unit].path, "\n".repeat(lines));
            self.text.splice(start..end, line.into_bytes());
        }
        // Only whole characters were replaced.
        String::from_utf8(self.text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

fn declares_scope(unit: &Unit, items: &[Item], name: &str) -> bool {
    let named =
        |item: &Item| item.head.clone().any(|at| unit.word(at) == name) || declares_scope(unit, &item.inner, name);
    items.iter().any(|item| item.what == What::Scope && named(item))
}

/// Spaces instead of everything but the ends of lines.
fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
}
