//! Macros that make kernels or launches, written out where they are called, each on the line of its call.
//!
//! ```text
//! #define LAUNCH(T) case T: tiled<T><<<grid, T>>>(a, n); break;
//! switch (t) { LAUNCH(8) LAUNCH(16) }      // switch (t) { case 8: tiled<8><<<…
//! ```

use std::collections::HashSet;

use crate::macros::{Macro, Macros};
use crate::token::{Kind, Piece};
use crate::unit::Unit;

/// Macros inside of macros.
const DEEPEST: usize = 16;

/// Pieces of all that one file's macros come to.
const MOST_PIECES: usize = 100_000;

/// The file's text with such macros written out; `None` where it calls none.
pub fn expanded(unit: &Unit, macros: &Macros) -> Option<String> {
    let makers = makers(macros);
    let mut expander = Expander { macros, makers: &makers, left: MOST_PIECES };
    let (mut text, mut copied, mut at) = (String::new(), 0, 0);
    while at < unit.code.len() {
        let Some((behind, pieces)) = call(unit, at).and_then(|(name, behind)| {
            let inside = unit.pieces(at + 2, behind - 1);
            (makers.contains(name) || launches(&inside)).then_some(())?;
            Some((behind, expander.call(name, &inside, &mut Vec::new())?))
        }) else {
            at += 1;
            continue;
        };
        let (from, to) = (unit.code[at].start, unit.code[behind - 1].end);
        text += &unit.text[copied..from];
        text += &written(&pieces);
        // What comes behind stays on its line.
        text.extend(unit.text[from..to].chars().filter(|c| *c == '\n'));
        (copied, at) = (to, behind);
    }
    (copied > 0).then(|| text + &unit.text[copied..])
}

/// The name of a macro that may be called at a place, and what comes behind the call.
fn call(unit: &Unit, at: usize) -> Option<(&str, usize)> {
    if !unit.is_name(at) || !unit.is_sign(at + 1, "(") {
        return None;
    }
    let behind = unit.behind_group(at + 1, unit.code.len());
    unit.is_sign(behind - 1, ")").then(|| (unit.word(at), behind))
}

/// The macros with parentheses that come to a kernel or a launch, themselves or by another one.
fn makers(macros: &Macros) -> HashSet<String> {
    let mut found: HashSet<String> = HashSet::new();
    loop {
        let makes = |body: &[Piece]| {
            launches(body) || body.iter().any(|piece| piece.is("__global__") || found.contains(&piece.text))
        };
        let is_new = |(name, found_macro): &(&String, &Macro)| {
            found_macro.parameters.is_some() && !found.contains(*name) && makes(&found_macro.body)
        };
        let new: Vec<String> = macros.all().filter(is_new).map(|(name, _)| name.clone()).collect();
        if new.is_empty() {
            return found;
        }
        found.extend(new);
    }
}

fn launches(code: &[Piece]) -> bool {
    code.windows(3).any(|three| three.iter().all(|piece| piece.is("<")))
}

struct Expander<'a> {
    macros: &'a Macros,
    makers: &'a HashSet<String>,
    left: usize,
}

impl Expander<'_> {
    /// What a call comes to; `None` where the arguments do not fit, or where it becomes too much.
    fn call(&mut self, name: &str, inside: &[Piece], open: &mut Vec<String>) -> Option<Vec<Piece>> {
        let found = self.macros.get(name)?;
        let parameters = found.parameters.as_ref()?;
        if self.left == 0 || open.len() >= DEEPEST || open.iter().any(|other| other == name) {
            return None;
        }
        let arguments = arguments(parameters, inside)?;
        let replaced = self.replaced(&found.body, parameters, &arguments);
        open.push(name.to_string());
        let all = self.again(&replaced, open);
        open.pop();
        // All of it, or nothing.
        (self.left > 0).then_some(all)
    }

    /// The body with the arguments in the places of the parameters, `#` and `##` done.
    fn replaced(&mut self, body: &[Piece], parameters: &[String], arguments: &[Vec<Piece>]) -> Vec<Piece> {
        // An empty body counts, too.
        self.left = self.left.saturating_sub(1);
        let mut all: Vec<Piece> = Vec::new();
        let (mut at, mut pastes) = (0, false);
        while let Some(piece) = body.get(at) {
            if piece.is("#") && body.get(at + 1).is_some_and(|next| next.is("#")) {
                (at, pastes) = (at + 2, true);
                continue;
            }
            let text = body.get(at + 1).filter(|_| piece.is("#")).and_then(|next| place(parameters, next));
            let mut new = match (text, place(parameters, piece)) {
                (Some(place), _) => {
                    at += 1;
                    let text = format!("{:?}", written(&arguments[place]));
                    vec![Piece { kind: Kind::Text, text, glued: false }]
                }
                (None, Some(place)) => arguments[place].clone(),
                (None, None) => vec![piece.clone()],
            };
            self.left = self.left.saturating_sub(new.len());
            new.first_mut().into_iter().for_each(|first| first.glued = piece.glued);
            if pastes
                && !new.is_empty()
                && let Some(last) = all.last_mut()
            {
                last.text += &new.remove(0).text;
            }
            pastes = false;
            all.extend(new);
            at += 1;
        }
        all
    }

    /// Macros in what a macro came to.
    fn again(&mut self, code: &[Piece], open: &mut Vec<String>) -> Vec<Piece> {
        let (mut all, mut at) = (Vec::new(), 0);
        while let Some(piece) = code.get(at) {
            let group = code.get(at + 1).filter(|next| next.is("(") && piece.is_word());
            let behind = group.and_then(|_| behind_group(code, at + 1));
            let inside = behind.map(|behind| &code[at + 2..behind - 1]);
            let makes = |inside: &[Piece]| self.makers.contains(&piece.text) || launches(inside);
            let called = match inside.filter(|inside| makes(inside)) {
                Some(inside) => self.call(&piece.text, inside, open),
                None => None,
            };
            match (called, behind) {
                (Some(more), Some(behind)) => {
                    all.extend(more);
                    at = behind;
                }
                _ => {
                    all.push(piece.clone());
                    at += 1;
                }
            }
        }
        all
    }
}

fn place(parameters: &[String], piece: &Piece) -> Option<usize> {
    parameters.iter().position(|parameter| piece.is_word() && *parameter == piece.text)
}

/// The arguments by parameter; the last one has the rest, if it is `...`.
fn arguments(parameters: &[String], inside: &[Piece]) -> Option<Vec<Vec<Piece>>> {
    let mut given = crate::evaluate::split(inside);
    if parameters.last().is_some_and(|last| last == "__VA_ARGS__") {
        let first = parameters.len() - 1;
        let rest = given.split_off(first.min(given.len()));
        let comma = Piece { kind: Kind::Sign, text: ",".to_string(), glued: true };
        given.resize(first, Vec::new());
        given.push(rest.join(&comma));
    }
    given.resize(given.len().max(parameters.len().min(1)), Vec::new());
    (given.len() == parameters.len()).then_some(given)
}

fn behind_group(code: &[Piece], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, piece) in code.iter().enumerate().skip(open) {
        if piece.is("(") {
            depth += 1;
        } else if piece.is(")") {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

/// In one line; signs that stood together stay together.
fn written(pieces: &[Piece]) -> String {
    crate::token::written(pieces).replace(['\n', '\r'], " ")
}
