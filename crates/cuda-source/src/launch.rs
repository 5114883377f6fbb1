//! Launches as host code writes them: `gemm<64, 8><<<grid, block, bytes, stream>>>(a, b, c, m, n, k)`.

use std::ops::Range;

use crate::evaluate::evaluate;
use crate::item::{Item, What};
use crate::program::Program;
use crate::scope::Scope;
use crate::unit::Unit;

/// A launch, in tokens of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name as it is written, without namespaces.
    pub kernel: String,
    /// The path of the file.
    pub path: String,
    /// The line of the launch.
    pub line: u32,
    pub(crate) unit: usize,
    /// Where the name stands.
    pub(crate) at: usize,
    /// The template's arguments, if they are written.
    pub(crate) template: Option<Vec<Range<usize>>>,
    /// Grid, block, shared memory, stream.
    pub(crate) configuration: Vec<Range<usize>>,
    /// The arguments.
    pub(crate) arguments: Vec<Range<usize>>,
}

/// All launches of a file.
pub fn launches(number: usize, unit: &Unit) -> Vec<Launch> {
    (1..unit.code.len()).filter(|&at| is_triple(unit, at, "<")).filter_map(|at| launch(number, unit, at)).collect()
}

/// `<<<` or `>>>`, in which formatters leave spaces.
fn is_triple(unit: &Unit, at: usize, sign: &str) -> bool {
    (at..at + 3).all(|here| unit.is_sign(here, sign)) && (sign == "<" || unit.is_sign(at + 3, "("))
}

fn launch(number: usize, unit: &Unit, open: usize) -> Option<Launch> {
    let close = end_of_configuration(unit, open + 3)?;
    let called = close + 3;
    if !unit.is_sign(called, "(") {
        return None;
    }
    let behind = unit.behind_group(called, unit.code.len());
    let ranges = |from: usize, to: usize| unit.list(from, to).into_iter().map(|(from, to)| from..to).collect();
    let (at, template) = match unit.is_sign(open - 1, ">") {
        true => {
            let less = less(unit, open - 1)?;
            (less.checked_sub(1)?, Some(ranges(less + 1, open - 1)))
        }
        false => (open - 1, None),
    };
    unit.is_name(at).then(|| Launch {
        kernel: unit.word(at).to_string(),
        path: unit.path.clone(),
        line: unit.line(at),
        unit: number,
        at,
        template,
        configuration: ranges(open + 3, close),
        arguments: ranges(called + 1, behind - 1),
    })
}

/// Where the `>>>` stands.
fn end_of_configuration(unit: &Unit, from: usize) -> Option<usize> {
    let (mut at, end) = (from, unit.code.len().min(from + MOST_TOKENS));
    while at < end && !unit.is_sign(at, ";") {
        if is_triple(unit, at, ">") {
            return Some(at);
        }
        let opens = ["(", "[", "{"].iter().any(|sign| unit.is_sign(at, sign));
        at = if opens { unit.behind_group(at, end) } else { at + 1 };
    }
    None
}

/// Tokens between `<<<` and `>>>`.
const MOST_TOKENS: usize = 2000;

/// The `<` of the `>` at `close`.
fn less(unit: &Unit, close: usize) -> Option<usize> {
    let mut depth = 0;
    for at in (0..=close).rev() {
        match unit.word(at) {
            ">" => depth += 1,
            "<" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            ";" => return None,
            _ => (),
        }
    }
    None
}

/// The function around a token, the innermost one.
pub fn function_around(items: &[Item], at: usize) -> Option<&Item> {
    let item = items.iter().find(|item| item.all.contains(&at))?;
    match item.what {
        What::Scope | What::Class => function_around(&item.inner, at),
        What::Function => Some(item),
        _ => None,
    }
}

impl Program {
    /// Whether host code leaves a launch out, as far as its conditions can be evaluated.
    pub fn is_dead(&self, launch: &Launch) -> bool {
        let unit = &self.units[launch.unit];
        let Some(function) = function_around(&unit.items, launch.at) else { return false };
        let scope = Scope::at(self, launch.unit, launch.at);
        let mut ifs =
            function.body.clone().filter(|&at| at < launch.at && unit.word(at) == "if" && unit.is_sign(at + 1, "("));
        ifs.any(|at| {
            let behind = unit.behind_group(at + 1, function.body.end);
            let (yes, no) = branches(unit, behind, function.body.end);
            let (in_yes, in_no) = (yes.contains(&launch.at), no.contains(&launch.at));
            let value = || evaluate(&unit.pieces(at + 2, behind - 1), &scope).and_then(|value| value.whole());
            (in_yes || in_no) && value().is_ok_and(|value| (value != 0) == in_no)
        })
    }
}

/// The two branches of an `if` whose condition ends before `from`. What follows `else` counts up to the end of a chain of them.
fn branches(unit: &Unit, from: usize, end: usize) -> (Range<usize>, Range<usize>) {
    let yes = from..statement(unit, from, end);
    let mut last = yes.end;
    while unit.word(last) == "else" {
        last += 1;
        if unit.word(last) == "if" {
            last = unit.behind_group(last + 1, end);
        }
        last = statement(unit, last, end);
    }
    let no = yes.end..last;
    (yes, no)
}

/// The end of the statement at `from`.
fn statement(unit: &Unit, from: usize, end: usize) -> usize {
    if unit.is_sign(from, "{") {
        return unit.behind_group(from, end);
    }
    let mut at = from;
    while at < end && !unit.is_sign(at, ";") {
        let opens = ["(", "[", "{"].iter().any(|sign| unit.is_sign(at, sign));
        at = if opens { unit.behind_group(at, end) } else { at + 1 };
    }
    (at + 1).min(end)
}
