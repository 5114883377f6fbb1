//! Where a difference arises: the lines of each file that have a part in it.

use std::collections::BTreeMap;

use emulator::Counters;
use serde::Serialize;

use super::side::Side;

/// A count, by itself and the requests that it belongs to.
pub type Count = fn(&Counters) -> (u64, u64);

/// Lines of a file that are named at most.
const NAMED: usize = 3;
/// A line with a smaller share of the file's count is not named.
const LEAST: f64 = 0.03;

/// A line, and how much of a count it has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The file, as the kernel's PTX names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its count.
    pub count: u64,
    /// The same for each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_request: Option<f64>,
    /// What stands there, where the text is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// The lines of both files with a part in what differs. Lines that read the same and count the same are left out.
pub fn lines(sides: [Side; 2], count: Count) -> [Vec<Line>; 2] {
    let [first, second] = sides.map(|side| counted(side, count));
    let is_in = |line: &Line, others: &[Line]| {
        let same = |other: &Line| other.text == line.text && other.count == line.count;
        !line.text.is_empty() && others.iter().any(same)
    };
    let left = |own: &[Line], others: &[Line]| {
        let all: u64 = own.iter().map(|line| line.count).sum();
        let is_much = |line: &&Line| line.count as f64 >= LEAST * all as f64;
        let differs = own.iter().filter(|line| !is_in(line, others)).filter(is_much);
        differs.take(NAMED).cloned().collect::<Vec<_>>()
    };
    [left(&first, &second), left(&second, &first)]
}

/// The lines with a count, the largest first.
fn counted(side: Side, count: Count) -> Vec<Line> {
    let mut by_line: BTreeMap<(&str, u32), (u64, u64)> = BTreeMap::new();
    for line in side.lines {
        let (done, requests) = count(&line.counters);
        let sum = by_line.entry((&line.file, line.line)).or_default();
        *sum = (sum.0 + done, sum.1 + requests);
    }
    let mut lines: Vec<Line> = by_line
        .into_iter()
        .filter(|(_, (done, _))| *done > 0)
        .map(|((file, line), (count, requests))| Line {
            file: file.to_string(),
            line,
            count,
            per_request: (requests > 0).then(|| count as f64 / requests as f64),
            text: side.source.line(file, line).map_or_else(String::new, |text| text.trim().to_string()),
        })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.count));
    lines
}
