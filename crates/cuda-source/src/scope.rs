//! What names mean in host code at a certain place: the function's own variables, then the file's constants and macros.

use std::collections::HashMap;

use crate::evaluate::{Callee, Meaning, Names};
use crate::item::{Item, What};
use crate::launch::function_around;
use crate::program::Program;
use crate::token::{Kind, Piece};
use crate::unit::Unit;
use crate::value::Value;

/// The names at a place.
pub struct Scope<'a> {
    program: &'a Program,
    /// Names that have a value from outside: sizes of the problem.
    pub bound: HashMap<String, i128>,
    locals: HashMap<String, Vec<Piece>>,
    fields: HashMap<String, [Option<Vec<Piece>>; 3]>,
    /// Names that have a value only where nothing else says it.
    pub fallback: HashMap<String, i128>,
    function: Option<(&'a Unit, &'a Item)>,
    depth: usize,
}

/// Callers of callers that are asked for an argument.
const DEEPEST: usize = 3;

/// Pieces of a function's value.
const MOST_PIECES: usize = 1000;

impl<'a> Scope<'a> {
    /// The scope before token `at` of a file.
    pub fn at(program: &'a Program, unit: usize, at: usize) -> Scope<'a> {
        let (locals, fields, none) = (HashMap::new(), HashMap::new(), HashMap::new());
        let unit = &program.units[unit];
        let function = function_around(&unit.items, at).map(|function| (unit, function));
        let mut scope = Scope { program, bound: none.clone(), locals, fields, fallback: none, function, depth: 0 };
        if let Some((unit, function)) = function {
            scope.read(unit, function.body.start, at.min(function.body.end));
        }
        scope
    }

    /// Lets a name stand for code, such as a template's parameter for a type.
    pub fn stands_for(&mut self, name: &str, code: &str) {
        self.locals.insert(name.to_string(), crate::lexer::pieces(code));
    }

    /// The code that a local variable was given last.
    pub fn local(&self, name: &str) -> Option<&[Piece]> {
        self.locals.get(name).map(Vec::as_slice)
    }

    /// Reads the variables between two tokens; the last value counts.
    fn read(&mut self, unit: &Unit, from: usize, to: usize) {
        let (mut at, mut dims) = (from, false);
        while at < to {
            if unit.is_sign(at, ";") || unit.is_sign(at, "{") || unit.is_sign(at, "}") {
                dims = false;
            }
            dims |= unit.word(at) == "dim3" && unit.is_name(at + 1);
            at = self.variable(unit, at, to, dims).unwrap_or(at + 1);
        }
    }

    /// A variable that begins at `at`, and the token behind its value.
    fn variable(&mut self, unit: &Unit, at: usize, to: usize, dims: bool) -> Option<usize> {
        if !unit.is_name(at) {
            return None;
        }
        let name = unit.word(at).to_string();
        let is_member = at > 0 && (unit.is_sign(at - 1, ".") || unit.is_sign(at - 1, ">"));
        if unit.is_sign(at + 1, ".") && unit.is_sign(at + 3, "=") {
            let axis = ["x", "y", "z"].iter().position(|axis| *axis == unit.word(at + 2))?;
            let end = end_of_value(unit, at + 4, to);
            self.fields.entry(name).or_default()[axis] = Some(unit.pieces(at + 4, end));
            return Some(end);
        }
        if unit.is_sign(at + 1, "=") && !unit.is_sign(at + 2, "=") && !is_member {
            let end = end_of_value(unit, at + 2, to);
            self.locals.insert(name, unit.pieces(at + 2, end));
            return Some(end);
        }
        if unit.is_sign(at + 1, "[") && !is_member {
            // `int sizes[] = {32, 64};`
            let behind = unit.behind_group(at + 1, to);
            if !unit.is_sign(behind, "=") || !unit.is_sign(behind + 1, "{") {
                return None;
            }
            let end = unit.behind_group(behind + 1, to);
            self.locals.insert(name, unit.pieces(behind + 1, end));
            return Some(end);
        }
        if unit.is_sign(at + 1, ":") && at > 0 && unit.is_name(at - 1) && in_for(unit, at) {
            // `for (int size : sizes)`: the first of them.
            let end = end_of_value(unit, at + 2, to);
            let mut code = unit.pieces(at + 2, end);
            code.extend(["[", "0", "]"].map(|text| Piece {
                kind: if text == "0" { Kind::Number } else { Kind::Sign },
                text: text.to_string(),
                glued: true,
            }));
            self.locals.insert(name, code);
            return Some(end);
        }
        let opens = unit.is_sign(at + 1, "(") || unit.is_sign(at + 1, "{");
        let typed = at > 0
            && (crate::types::is_type_word(unit.word(at - 1))
                || unit.word(at - 1) == "dim3"
                || unit.word(at - 1).ends_with("_t"));
        let listed = at > 0 && dims && unit.is_sign(at - 1, ",");
        if opens && (typed || listed) && name != "dim3" {
            let end = unit.behind_group(at + 1, to);
            let mut code = unit.pieces(at + 1, end);
            if dims {
                code.insert(0, Piece { kind: Kind::Word, text: "dim3".to_string(), glued: false });
            }
            self.locals.insert(name, code);
            return Some(end);
        }
        None
    }

    /// What callers hand over for a parameter of the function: the first that says a value.
    fn argument(&self, name: &str) -> Option<Value> {
        let (unit, function) = self.function.filter(|_| self.depth < DEEPEST)?;
        let open = function.name + 1;
        let parameters = unit.list(open + 1, unit.behind_group(open, function.head.end.max(open)).saturating_sub(1));
        let place = parameters.iter().position(|&(from, to)| to > from && parameter_name(unit, from, to) == name)?;
        for (number, caller) in self.program.units.iter().enumerate() {
            for at in (0..caller.code.len()).filter(|&at| caller.word(at) == unit.word(function.name)) {
                // `run(…)` and `run<float>(…)`.
                let angles = caller.is_sign(at + 1, "<").then(|| caller.behind_angles(at + 1, caller.code.len()));
                let open = angles.flatten().unwrap_or(at + 1);
                if !caller.is_sign(open, "(") || std::ptr::eq(caller, unit) && function.all.contains(&at) {
                    continue;
                }
                let inside = caller.list(open + 1, caller.behind_group(open, caller.code.len()).saturating_sub(1));
                let Some(&(from, to)) = inside.get(place) else { continue };
                let scope = Scope { depth: self.depth + 1, ..Scope::at(self.program, number, at) };
                if let Ok(value) = crate::evaluate::evaluate(&caller.pieces(from, to), &scope) {
                    return Some(value);
                }
            }
        }
        None
    }

    /// A constant of the files: `const int N = 32;`, `constexpr int N{32};`.
    fn constant(&self, name: &str) -> Option<Meaning> {
        self.program.units.iter().find_map(|unit| constant(unit, &unit.items, name)).map(Meaning::Code)
    }

    /// A function, by what it returns last: its own variables are put in.
    fn function(&self, name: &str) -> Option<Callee> {
        let (unit, item) =
            self.program.units.iter().find_map(|unit| function(&unit.items, unit, name).map(|item| (unit, item)))?;
        let open = item.name + 1;
        let parameters = unit.list(open + 1, unit.behind_group(open, item.head.end).saturating_sub(1));
        let parameters = parameters.into_iter().map(|(from, to)| parameter_name(unit, from, to).to_string()).collect();
        let at = item.body.clone().rev().find(|&at| unit.word(at) == "return")?;
        let body = unit.pieces(at + 1, end_of_value(unit, at + 1, item.body.end));
        let mut inside = Scope { locals: HashMap::new(), fields: HashMap::new(), ..Scope::at(self.program, 0, 0) };
        inside.read(unit, item.body.start, at);
        Some(Callee { parameters, body: inside.filled(&body, 0) })
    }

    /// Code with the values of local variables in the places of their names.
    fn filled(&self, code: &[Piece], depth: usize) -> Vec<Piece> {
        let sign = |text: &str| Piece { kind: Kind::Sign, text: text.to_string(), glued: false };
        let mut all = Vec::new();
        for piece in code {
            match self.locals.get(&piece.text).filter(|_| piece.is_word() && depth < DEEPEST && all.len() < MOST_PIECES)
            {
                Some(value) => {
                    all.push(sign("("));
                    all.extend(self.filled(value, depth + 1));
                    all.push(sign(")"));
                }
                None => all.push(piece.clone()),
            }
        }
        all
    }
}

impl Names for Scope<'_> {
    fn name(&self, name: &str) -> Option<Meaning> {
        if let Some(value) = self.bound.get(name) {
            return Some(Meaning::Value(Value::Whole(*value)));
        }
        if let Some(fields) = self.fields.get(name) {
            return Some(Meaning::Code(dim(name, fields, self.locals.get(name))));
        }
        let code = self.locals.get(name).map(|code| Meaning::Code(code.clone()));
        let fallback = || self.fallback.get(name).map(|value| Meaning::Value(Value::Whole(*value)));
        let object = || {
            let found =
                self.program.macros.get(name).filter(|found| found.parameters.is_none() && !found.body.is_empty());
            found.map(|found| Meaning::Code(found.body.clone()))
        };
        let callers = || self.argument(name).map(Meaning::Value);
        // A program that is started without arguments.
        let alone = || (name == "argc").then_some(Meaning::Value(Value::Whole(1)));
        code.or_else(|| self.constant(name)).or_else(object).or_else(fallback).or_else(callers).or_else(alone)
    }

    fn callee(&self, name: &str) -> Option<Callee> {
        let found = self.program.macros.get(name);
        if let Some(crate::macros::Macro { parameters: Some(parameters), body }) = found {
            return Some(Callee { parameters: parameters.clone(), body: body.clone() });
        }
        // A lambda of the function's own: `auto cdiv = [](int a, int b) { return …; }`.
        self.locals.get(name).and_then(|code| lambda(code)).or_else(|| self.function(name))
    }
}

/// Whether the parentheses of a `for` open before a place, and nothing in them has ended.
fn in_for(unit: &Unit, at: usize) -> bool {
    let open = (0..at).rev().take(8).find(|&here| ["(", ";", "{", "}"].iter().any(|sign| unit.is_sign(here, sign)));
    open.is_some_and(|open| unit.is_sign(open, "(") && open > 0 && unit.word(open - 1) == "for")
}

/// `dim3(x, y, z)` of what was said of each; what was not said is 1, or as the variable began.
fn dim(name: &str, fields: &[Option<Vec<Piece>>; 3], base: Option<&Vec<Piece>>) -> Vec<Piece> {
    let sign = |text: &str| Piece { kind: Kind::Sign, text: text.to_string(), glued: false };
    let word = |text: &str| Piece { kind: Kind::Word, text: text.to_string(), glued: false };
    let mut code = vec![word("dim3"), sign("(")];
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            code.push(sign(","));
        }
        match (field, base) {
            // A value in terms of itself has none.
            (Some(field), _) if field.iter().any(|piece| piece.is(name)) => code.push(word("?")),
            (Some(field), _) => code.extend(field.iter().cloned()),
            (None, Some(base)) => {
                code.push(sign("("));
                code.extend(base.iter().cloned());
                code.extend([sign(")"), sign("."), word(["x", "y", "z"][index])]);
            }
            (None, None) => code.push(Piece { kind: Kind::Number, text: "1".to_string(), glued: false }),
        }
    }
    code.push(sign(")"));
    code
}

/// The last name before a default.
fn parameter_name(unit: &Unit, from: usize, to: usize) -> &str {
    let end = (from..to).find(|&at| unit.is_sign(at, "=")).unwrap_or(to);
    unit.word(end.saturating_sub(1))
}

/// The end of a value: the `;`, or the `,` or `)` outside of its brackets.
fn end_of_value(unit: &Unit, from: usize, to: usize) -> usize {
    let mut at = from;
    while at < to && ![";", ",", ")", "}"].iter().any(|sign| unit.is_sign(at, sign)) {
        let opens = ["(", "[", "{"].iter().any(|sign| unit.is_sign(at, sign));
        let angles = unit.is_sign(at, "<").then(|| unit.behind_angles(at, to)).flatten();
        // `k<5, 6>;` is one value.
        let angles = angles.filter(|&behind| [";", "("].iter().any(|sign| unit.is_sign(behind, sign)));
        at = angles.unwrap_or(if opens { unit.behind_group(at, to) } else { at + 1 });
    }
    at
}

fn constant(unit: &Unit, items: &[Item], name: &str) -> Option<Vec<Piece>> {
    for item in items {
        let found = match item.what {
            What::Scope | What::Class => constant(unit, &item.inner, name),
            What::Variable | What::Type => {
                let named =
                    |at: &usize| unit.word(*at) == name && (unit.is_sign(at + 1, "=") || unit.is_sign(at + 1, "{"));
                item.all.clone().find(named).map(|at| match unit.is_sign(at + 1, "=") {
                    true => unit.pieces(at + 2, end_of_value(unit, at + 2, item.all.end)),
                    false => unit.pieces(at + 1, unit.behind_group(at + 1, item.all.end)),
                })
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn function<'a>(items: &'a [Item], unit: &Unit, name: &str) -> Option<&'a Item> {
    items.iter().find_map(|item| match item.what {
        What::Scope | What::Class => function(&item.inner, unit, name),
        What::Function if unit.word(item.name) == name && !item.body.is_empty() => Some(item),
        _ => None,
    })
}

fn lambda(code: &[Piece]) -> Option<Callee> {
    let open =
        code.iter().position(|piece| piece.is("(")).filter(|_| code.first().is_some_and(|first| first.is("[")))?;
    let close = code.iter().position(|piece| piece.is(")"))?;
    let brace = code.iter().position(|piece| piece.is("{"))?;
    let parameters = crate::evaluate::split(code.get(open + 1..close)?);
    let parameters = parameters.iter().filter_map(|words| words.last()).map(|word| word.text.clone()).collect();
    returned(code.get(brace + 1..code.len() - 1)?).map(|body| Callee { parameters, body })
}

/// What a body that is `return …;` returns.
fn returned(body: &[Piece]) -> Option<Vec<Piece>> {
    let (first, rest) = body.split_first()?;
    let end = rest.iter().position(|piece| piece.is(";"))?;
    (first.is("return") && end + 1 == rest.len()).then(|| rest[..end].to_vec())
}
