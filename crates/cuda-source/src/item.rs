//! The declarations of a file, as far as it takes to say which are the device's.

use std::ops::Range;

use crate::macros::Macros;
use crate::unit::Unit;

/// What a declaration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// `namespace`, or `extern "C"` with braces: its content stands in `inner`.
    Scope,
    /// A class, struct or union with a body: its members stand in `inner`.
    Class,
    /// A function, with a body or without.
    Function,
    /// A variable.
    Variable,
    /// `using`, `typedef`, `enum`, a class without a body.
    Type,
    /// `using namespace`, and aliases of namespaces.
    Namespace,
    /// `template … name<…>;` without a body of its own.
    Instance,
    /// `static_assert`, `public:`, a lone `;`.
    Other,
}

/// A declaration: tokens of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub what: What,
    /// All its tokens, with the `;` or `}` that ends it.
    pub all: Range<usize>,
    /// What stands before the body, the initial value or the end.
    pub head: Range<usize>,
    /// The tokens between the braces.
    pub body: Range<usize>,
    /// Where the name stands; at the end of the head where there is none.
    pub name: usize,
    /// What stands in its body, for a scope and a class.
    pub inner: Vec<Item>,
}

/// Words with parentheses that are no function's name.
pub const ATTRIBUTES: [&str; 14] = [
    "__launch_bounds__",
    "__cluster_dims__",
    "__block_size__",
    "__maxnreg__",
    "__attribute__",
    "__declspec",
    "__align__",
    "alignas",
    "decltype",
    "noexcept",
    "explicit",
    "requires",
    "throw",
    "sizeof",
];

/// Deeper than people nest, and no deeper than the stack.
const DEEPEST: usize = 64;

/// All declarations of a file.
pub fn items(unit: &Unit, macros: &Macros) -> Vec<Item> {
    let finder = Finder { unit, macros };
    finder.items(0..unit.code.len(), 0, false)
}

struct Finder<'a> {
    unit: &'a Unit,
    macros: &'a Macros,
}

impl Finder<'_> {
    fn items(&self, within: Range<usize>, depth: usize, members: bool) -> Vec<Item> {
        let (mut found, mut at) = (Vec::new(), within.start);
        while at < within.end && depth < DEEPEST {
            let item = self.item(at, within.end, depth, members);
            at = item.all.end.max(at + 1);
            found.push(item);
        }
        found
    }

    fn item(&self, at: usize, end: usize, depth: usize, members: bool) -> Item {
        let unit = self.unit;
        if unit.is_sign(at, ";") || unit.is_sign(at, "}") {
            return plain(What::Other, at..at + 1);
        }
        if members && matches!(unit.word(at), "public" | "private" | "protected") && unit.is_sign(at + 1, ":") {
            return plain(What::Other, at..at + 2);
        }
        if let Some(item) = self.scope(at, end, depth) {
            return item;
        }
        let start = self.behind_templates(at, end);
        match unit.word(start) {
            "using" if unit.word(start + 1) == "namespace" => self.until_semicolon(What::Namespace, at, end),
            "namespace" => self.until_semicolon(What::Namespace, at, end),
            "using" | "typedef" => self.until_semicolon(What::Type, at, end),
            "static_assert" => self.until_semicolon(What::Other, at, end),
            // `template class X<int>;` and `template __global__ void f<int>(…);`
            _ if unit.word(at) == "template" && start == at + 1 => self.until_semicolon(What::Instance, at, end),
            _ => self.declaration(at, start, end, depth),
        }
    }

    /// `namespace a::b { … }`, `extern "C" { … }`.
    fn scope(&self, at: usize, end: usize, depth: usize) -> Option<Item> {
        let unit = self.unit;
        let first = at + usize::from(unit.word(at) == "inline" && unit.word(at + 1) == "namespace");
        let is_linkage = unit.word(at) == "extern" && unit.word(at + 1).starts_with('"');
        let open = match is_linkage {
            true => at + 2,
            false if unit.word(first) == "namespace" => {
                (first..end).find(|&here| ["{", ";", "="].iter().any(|sign| unit.is_sign(here, sign)))?
            }
            false => return None,
        };
        if open >= end || !unit.is_sign(open, "{") {
            return None;
        }
        let behind = unit.behind_group(open, end);
        let body = open + 1..inside(open, behind);
        let inner = self.items(body.clone(), depth + 1, false);
        Some(Item { what: What::Scope, all: at..behind, head: at..open, body, name: open, inner })
    }

    /// Behind `template <…>`, once or several times.
    fn behind_templates(&self, at: usize, end: usize) -> usize {
        let mut here = at;
        while self.unit.word(here) == "template" && here < end {
            match self.unit.is_sign(here + 1, "<").then(|| self.unit.behind_angles(here + 1, end)) {
                Some(Some(behind)) => here = behind,
                _ => return here + 1,
            }
        }
        here
    }

    fn until_semicolon(&self, what: What, at: usize, end: usize) -> Item {
        let mut here = at;
        while here < end && !self.unit.is_sign(here, ";") {
            here = if self.opens(here) { self.unit.behind_group(here, end) } else { here + 1 };
        }
        plain(what, at..(here + 1).min(end))
    }

    fn opens(&self, at: usize) -> bool {
        ["(", "[", "{"].iter().any(|sign| self.unit.is_sign(at, sign))
    }

    /// A class, an enum, a function or a variable.
    fn declaration(&self, at: usize, start: usize, end: usize, depth: usize) -> Item {
        let unit = self.unit;
        let (mut here, mut name, mut equals, mut initializes) = (start, None, false, false);
        while here < end && !unit.is_sign(here, ";") {
            if unit.is_sign(here, "(") {
                let behind = unit.behind_group(here, end);
                if name.is_none() && !equals {
                    name = self.function_name(start, here);
                    if name.is_some() && self.stands_alone(start, here, behind, end) {
                        let all = at..behind;
                        return Item { name: here - 1, ..plain(What::Function, all) };
                    }
                }
                here = behind;
            } else if unit.is_sign(here, "{") {
                let is_member = initializes && (unit.is_name(here - 1) || unit.is_sign(here - 1, ">"));
                if name.is_some() && !equals && !is_member {
                    let behind = unit.behind_group(here, end);
                    let body = here + 1..inside(here, behind);
                    let name = name.unwrap_or(here);
                    return Item {
                        what: What::Function,
                        all: at..behind,
                        head: at..here,
                        body,
                        name,
                        inner: Vec::new(),
                    };
                }
                if name.is_none() && !equals && self.is_class(start, here) {
                    return self.class(at, start, here, end, depth);
                }
                here = unit.behind_group(here, end);
            } else {
                equals |= unit.is_sign(here, "=") && !self.is_operator(here);
                initializes |= name.is_some() && unit.is_sign(here, ":");
                here += 1;
            }
        }
        let what = match name {
            Some(_) => What::Function,
            None if ["enum", "class", "struct", "union", "friend"].contains(&unit.word(start)) && !equals => What::Type,
            None => What::Variable,
        };
        let all = at..(here + 1).min(end);
        Item { what, head: at..here, body: here..here, name: name.unwrap_or(here), inner: Vec::new(), all }
    }

    /// The name before the parentheses at `open`, if that makes it a function.
    fn function_name(&self, start: usize, open: usize) -> Option<usize> {
        let unit = self.unit;
        if let Some(operator) = (start..open).rev().take(4).find(|&here| unit.word(here) == "operator") {
            return Some(operator);
        }
        let name = open.checked_sub(1).filter(|&name| name >= start)?;
        // `f<int>(…)`: a specialization.
        let name = match unit.is_sign(name, ">") {
            true => {
                let is_named = |&here: &usize| unit.is_name(here) && unit.is_sign(here + 1, "<");
                (start..name).filter(is_named).find(|&here| unit.behind_angles(here + 1, open) == Some(open))?
            }
            false => name,
        };
        // `int (*pointer)(int)` is a variable.
        let pointer = unit.is_sign(open + 1, "*") || unit.is_sign(open + 1, "&");
        let usable = unit.is_name(name) && !ATTRIBUTES.contains(&unit.word(name)) && !pointer;
        usable.then_some(name)
    }

    /// `operator=` and the like.
    fn is_operator(&self, at: usize) -> bool {
        (at.saturating_sub(3)..at).any(|here| self.unit.word(here) == "operator")
    }

    /// A macro that is called where a declaration stands, and has no `;`.
    fn stands_alone(&self, start: usize, open: usize, behind: usize, end: usize) -> bool {
        let unit = self.unit;
        let alone = open == start + 1 && self.macros.is_call(unit.word(start));
        let follows = ["{", ";", ":", "->"].iter().any(|sign| unit.is_sign(behind, sign));
        alone && !follows && (behind >= end || unit.line(behind) > unit.line(behind - 1))
    }

    fn is_class(&self, start: usize, open: usize) -> bool {
        let keys = ["class", "struct", "union"];
        (start..open).any(|here| keys.contains(&self.unit.word(here)))
            && !(start..open).any(|here| self.unit.word(here) == "enum")
    }

    fn class(&self, at: usize, start: usize, open: usize, end: usize, depth: usize) -> Item {
        let unit = self.unit;
        let behind = unit.behind_group(open, end);
        let body = open + 1..inside(open, behind);
        let mut last = behind;
        while last < end && !unit.is_sign(last, ";") {
            last = if self.opens(last) { unit.behind_group(last, end) } else { last + 1 };
        }
        let inner = self.items(body.clone(), depth + 1, true);
        let name = self.class_name(start, open).unwrap_or(open);
        Item { what: What::Class, all: at..(last + 1).min(end), head: at..open, body, name, inner }
    }

    /// The word before the base classes, the template arguments or the body.
    fn class_name(&self, start: usize, open: usize) -> Option<usize> {
        let unit = self.unit;
        let key = (start..open).find(|&here| matches!(unit.word(here), "class" | "struct" | "union"))?;
        let (mut here, mut name) = (key + 1, None);
        while here < open && !unit.is_sign(here, ":") && !unit.is_sign(here, "<") {
            if unit.is_sign(here, "(") {
                here = unit.behind_group(here, open);
                continue;
            }
            let is_attribute = ATTRIBUTES.contains(&unit.word(here)) || unit.word(here) == "final";
            if unit.is_name(here) && !is_attribute {
                name = Some(here);
            }
            here += 1;
        }
        name
    }
}

/// The token that closes a group, of the one behind it.
fn inside(open: usize, behind: usize) -> usize {
    (behind.max(open + 2)) - 1
}

fn plain(what: What, all: Range<usize>) -> Item {
    let end = all.end;
    Item { what, head: all.clone(), body: end..end, name: end, inner: Vec::new(), all }
}
