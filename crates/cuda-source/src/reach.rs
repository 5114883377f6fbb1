//! What the device needs of a program: what is marked as the device's, and what that names, as far as the files declare it.

use std::collections::{HashMap, HashSet};

use crate::declared::names;
use crate::item::{Item, What};
use crate::macros::Macros;
use crate::unit::Unit;

/// A declaration by its file and its first token.
pub type Place = (usize, usize);

/// The declarations that stay.
#[derive(Debug, Default)]
pub struct Kept {
    places: HashSet<Place>,
    /// Every name that what stays mentions.
    pub mentioned: HashSet<String>,
}

impl Kept {
    /// Whether a declaration stays.
    pub fn has(&self, place: Place) -> bool {
        self.places.contains(&place)
    }
}

/// Whether a declaration may be the device's by its own words.
pub fn is_marked(unit: &Unit, item: &Item, macros: &Macros) -> bool {
    let (mut at, mut found) = (item.head.start, false);
    let end = item.head.end.max(item.head.start);
    while at < end && !found {
        found = unit.is_name(at) && is_mark(unit, at, item, macros);
        let skips = at < item.name && unit.is_sign(at, "(");
        at = if skips { unit.behind_group(at, end) } else { at + 1 };
    }
    found || item.what == What::Class && item.inner.iter().any(|member| is_marked(unit, member, macros))
}

/// Marks stand before the name, or are a macro that is called.
fn is_mark(unit: &Unit, at: usize, item: &Item, macros: &Macros) -> bool {
    let before_name = at <= item.name && !matches!(unit.word(at), "__grid_constant__");
    before_name && macros.is_mark(unit.word(at))
}

/// Whether a function is constant, or made by the compiler: the device may call it without a mark.
pub fn is_free(unit: &Unit, item: &Item) -> bool {
    let words = |word: &str| (item.all.start..item.head.end).any(|at| unit.word(at) == word);
    words("constexpr")
        || words("consteval")
        || words("default")
        || words("delete")
        || words("__host__") && words("__device__")
}

/// What stays. `wanted` are names beyond those of the device code: of template arguments.
pub fn kept(units: &[Unit], macros: &Macros, wanted: &[String]) -> Kept {
    let mut search = Search { units, macros, by_name: HashMap::new(), kept: Kept::default(), open: Vec::new() };
    for (number, unit) in units.iter().enumerate() {
        search.sort(number, &unit.items);
    }
    search.open.extend(wanted.iter().cloned());
    while let Some(name) = search.open.pop() {
        search.follow(&name);
    }
    search.kept
}

struct Search<'a> {
    units: &'a [Unit],
    macros: &'a Macros,
    by_name: HashMap<String, Vec<(usize, &'a Item)>>,
    kept: Kept,
    open: Vec<String>,
}

impl<'a> Search<'a> {
    /// Takes what is marked, and notes what might be needed.
    fn sort(&mut self, number: usize, items: &'a [Item]) {
        let unit = &self.units[number];
        for item in items {
            match item.what {
                What::Scope => self.sort(number, &item.inner),
                What::Namespace if unit.word(item.all.start) == "using" => (),
                What::Other => self.keep(number, item),
                _ if is_marked(unit, item, self.macros) => self.keep(number, item),
                What::Function if !is_free(unit, item) => (),
                What::Variable if !is_constant(unit, item) => (),
                _ => {
                    let names = names(unit, item);
                    names
                        .iter()
                        .for_each(|name| self.by_name.entry(name.to_string()).or_default().push((number, item)));
                }
            }
        }
    }

    fn keep(&mut self, number: usize, item: &'a Item) {
        if !self.kept.places.insert((number, item.all.start)) {
            return;
        }
        let unit = &self.units[number];
        let free = |member: &Item| {
            member.what != What::Function || is_marked(unit, member, self.macros) || is_free(unit, member)
        };
        let dropped: Vec<_> =
            item.inner.iter().filter(|member| !free(member)).map(|member| member.all.clone()).collect();
        let words = item.all.clone().filter(|&at| unit.is_name(at) && !dropped.iter().any(|range| range.contains(&at)));
        let words: Vec<String> = words.map(|at| unit.word(at).to_string()).collect();
        self.mention(words);
    }

    fn mention(&mut self, words: Vec<String>) {
        for word in words {
            if !self.kept.mentioned.contains(&word) {
                self.open.push(word);
            }
        }
    }

    fn follow(&mut self, name: &str) {
        if !self.kept.mentioned.insert(name.to_string()) {
            return;
        }
        if let Some(found) = self.macros.get(name) {
            let words = found.body.iter().filter(|piece| piece.is_word()).map(|piece| piece.text.clone());
            let words = words.collect();
            self.mention(words);
        }
        for (number, item) in self.by_name.get(name).cloned().unwrap_or_default() {
            self.keep(number, item);
        }
    }
}

fn is_constant(unit: &Unit, item: &Item) -> bool {
    let words = |word: &str| item.all.clone().any(|at| unit.word(at) == word);
    words("const") || words("constexpr")
}
