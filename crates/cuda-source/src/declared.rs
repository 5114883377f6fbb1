//! The names that a declaration gives to the rest of a program.

use crate::item::{Item, What};
use crate::unit::Unit;

/// The names of a declaration, without those of its members.
pub fn names<'a>(unit: &'a Unit, item: &Item) -> Vec<&'a str> {
    match item.what {
        What::Scope | What::Instance | What::Other => Vec::new(),
        What::Class if item.name == item.head.end => variables(unit, item.body.end + 1, item.all.end),
        What::Class => {
            let behind = variables(unit, item.body.end + 1, item.all.end);
            [unit.word(item.name)].into_iter().chain(behind).collect()
        }
        What::Function => vec![unit.word(item.name)],
        What::Namespace => word_before(unit, item, "=").into_iter().collect(),
        What::Type => of_type(unit, item),
        What::Variable => variables(unit, item.all.start, item.all.end),
    }
}

fn of_type<'a>(unit: &'a Unit, item: &Item) -> Vec<&'a str> {
    let (from, to) = (item.all.start, item.all.end);
    match unit.word(from) {
        "typedef" => {
            // `typedef int (*name)(int);`, `typedef float row[4];`
            let pointer = (from..to).find(|&at| unit.is_sign(at, "(") && unit.is_sign(at + 1, "*"));
            match pointer {
                Some(at) => vec![unit.word(at + 2)],
                None => variables(unit, from, to),
            }
        }
        // `using x = …` and `using a::x`, also of a template.
        _ if (from..to).any(|at| unit.word(at) == "using") => match word_before(unit, item, "=") {
            Some(name) => vec![name],
            None => variables(unit, from, to),
        },
        _ if (from..to).any(|at| unit.word(at) == "enum") => {
            // Its values count as well, and their types do no harm.
            let names = (from..to).filter(|&at| unit.is_name(at)).map(|at| unit.word(at));
            names.filter(|name| !matches!(*name, "enum" | "class" | "struct" | "int" | "unsigned")).collect()
        }
        _ => variables(unit, from, to),
    }
}

fn word_before<'a>(unit: &'a Unit, item: &Item, sign: &str) -> Option<&'a str> {
    let at = item.all.clone().find(|&at| unit.is_sign(at, sign))?;
    at.checked_sub(1).filter(|&name| unit.is_name(name)).map(|name| unit.word(name))
}

/// The names before `=`, `[`, `{`, `(`, `,` or the end, outside of brackets.
fn variables(unit: &Unit, from: usize, to: usize) -> Vec<&str> {
    let (mut names, mut at) = (Vec::new(), from);
    let mut in_value = false;
    while at < to.min(unit.code.len()) {
        let ends = ["=", "[", "{", "(", ",", ";"].iter().any(|sign| unit.is_sign(at, sign));
        if ends
            && !in_value
            && at > from
            && unit.is_name(at - 1)
            && !crate::item::ATTRIBUTES.contains(&unit.word(at - 1))
        {
            names.push(unit.word(at - 1));
        }
        match unit.word(at) {
            "=" => in_value = true,
            "," => in_value = false,
            "<" => {
                at = unit.behind_angles(at, to).unwrap_or(at + 1);
                continue;
            }
            "(" | "[" | "{" if ends => {
                at = unit.behind_group(at, to);
                continue;
            }
            _ => (),
        }
        at += 1;
    }
    names
}
