//! What buffers hold afterwards: printed, and held against what is expected.

use std::ops::Range;

use emulator::TracedAccess;
use gemm::{Dim3, Error};
use hmac_sha256::Hash;
use serde::Serialize;

use super::alike::{self, alike};
use super::content::Content;
use super::contents::Contents;
use super::element::Element;
use super::plan::{Plan, Planned};
use super::words::pair;

/// Elements of a buffer that are shown where nothing is asked for.
const SHOWN: usize = 8;
/// Bytes of a buffer that takes memory only where it is accessed that are compared at most.
const MOST_COMPARED: usize = 1 << 30;
/// Elements that are shown at most.
const MOST_SHOWN: usize = 65536;

/// An expectation, and what became of it.
#[derive(Debug, Serialize)]
pub struct Expected {
    /// As it was given.
    pub expected: String,
    /// Whether it holds.
    pub holds: bool,
    /// Elements that are otherwise.
    pub wrong: usize,
    /// Out of how many.
    pub of: usize,
    /// The first of them: where, what is there, and what is expected.
    pub first: Option<(usize, String, String)>,
    /// Whole numbers that are all off by multiples of 2 to this power, as sums in so few bits are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wraps: Option<u32>,
    /// What all that are otherwise have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alike: Option<String>,
    /// Who stored it, where a thread did and no copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
}

impl Expected {
    /// Says so where all is right up to what blocks behind the first along z store.
    pub fn tell_of_planes(&mut self) {
        let behind = self.stored.as_ref().is_some_and(|stored| stored.block.z > 0);
        if let Some(alike) = self.alike.as_mut().filter(|alike| behind && alike.starts_with(alike::BEHIND)) {
            *alike +=
                " Blocks of `blockIdx.z` = 0 are right: does each pointer go on by the size of its own matrix along z?";
        }
    }
}

/// A buffer's contents.
#[derive(Debug, Serialize)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// What it consists of.
    #[serde(rename = "type")]
    pub element: &'static str,
    /// How many there are.
    pub count: usize,
    /// Bytes that nobody wrote.
    pub unwritten_bytes: usize,
    /// A hash of the bytes, unless some were never written.
    pub sha256: Option<String>,
    /// The elements that were asked for, or the first ones; the offset of the first of them.
    pub from: usize,
    /// The elements.
    pub values: Vec<String>,
}

/// A store by a thread.
#[derive(Debug, Serialize)]
pub struct Stored {
    /// The launch, from 1.
    pub launch: usize,
    /// The thread block.
    pub block: Dim3,
    /// The thread in it.
    pub thread: Dim3,
    /// The file and line that the PTX attributes it to.
    pub source: Option<(String, u32)>,
}

impl Stored {
    /// The store by the last lane of an access.
    pub fn by(launch: usize, access: &TracedAccess) -> Stored {
        let thread = access.lanes.last().map_or(Dim3::ONE, |lane| lane.thread);
        let source = access.source.as_ref().map(|(file, line)| (file.to_string(), *line));
        Stored { launch, block: access.block, thread, source }
    }

    /// In words, with its line.
    pub fn line(&self) -> String {
        let place = self.source.as_ref().map_or_else(String::new, |(file, line)| format!(" at {file}:{line}"));
        format!("stored by thread {} of block {}{place}", self.thread, self.block)
    }
}

/// The bytes of the first element that is otherwise, and their buffer.
pub fn first_bytes(plan: &Plan, word: &str, expected: &Expected) -> Option<(usize, Range<u64>)> {
    let (at, ..) = expected.first.as_ref()?;
    let (place, _) = pair("--expect", word).ok()?;
    let (index, _) = part(plan, "--expect", place).ok()?;
    let size = plan.buffers[index].element.bytes() as u64;
    Some((index, *at as u64 * size..(*at as u64 + 1) * size))
}

/// The buffer that an expectation names, and the numbers that all of it is to hold.
pub fn wanted(plan: &Plan, word: &str, seed: u64) -> Option<(usize, Vec<f64>)> {
    let (place, content) = pair("--expect", word).ok()?;
    let (index, range) = part(plan, "--expect", place).ok()?;
    let Planned { element, count, sparse, .. } = &plan.buffers[index];
    if *sparse || range != (0..*count) {
        return None;
    }
    let bytes = Content::parse(content).and_then(|content| content.bytes(*element, *count, seed, place)).ok()?;
    Some((index, bytes.chunks_exact(element.bytes()).map(|bytes| element.number(bytes).to_f64()).collect()))
}

/// Holds `--expect NAME=CONTENT` or `NAME[FROM..TO]=CONTENT` against a buffer.
pub fn expect(plan: &Plan, contents: &[Contents], word: &str, tolerance: f64, seed: u64) -> Result<Expected, Error> {
    let (place, content) = pair("--expect", word)?;
    let (index, range) = part(plan, "--expect", place)?;
    let Planned { element, .. } = plan.buffers[index];
    let hint = "a content is zeros, ones, range, a number, {1,2,3}, or @FILE";
    let size = element.bytes();
    if plan.buffers[index].sparse && range.len() * size > MOST_COMPARED {
        let hint = format!("name a part, as in `{}[0..8]={content}`", plan.buffers[index].name);
        let message = format!("--expect {word}: {} bytes are more than {MOST_COMPARED}", range.len() * size);
        return Err(Error::usage(message, hint));
    }
    let wanted = Content::parse(content).and_then(|content| content.bytes(element, range.len(), seed, place));
    let wanted = wanted.map_err(|why| Error::usage(format!("--expect {word}: {why}"), hint))?;
    let got = contents[index].range(range.start * size..range.end * size);
    let close = |got: &[u8], wanted: &[u8]| {
        let [a, b] = [got, wanted].map(|bytes| element.number(bytes).to_f64());
        got == wanted || a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()) || a.is_nan() && b.is_nan()
    };
    let pairs = || got.chunks_exact(size).zip(wanted.chunks_exact(size)).enumerate();
    let wrong = pairs().filter(|(_, (got, wanted))| !close(got, wanted)).count();
    let first = pairs().find(|(_, (got, wanted))| !close(got, wanted)).map(|(at, (got, wanted))| {
        (range.start + at, element.number(got).to_string(), element.number(wanted).to_string())
    });
    let whole = matches!(element, Element::Signed(2..) | Element::Unsigned(2..));
    let differences = pairs().filter(|(_, (got, wanted))| got != wanted).map(|(_, (got, wanted))| {
        let [got, wanted] = [got, wanted].map(|bytes| element.number(bytes).to_f64());
        (got - wanted).abs() as u64
    });
    let wraps = if whole && wrong > 1 { wraps(differences, 8 * size as u32) } else { None };
    let numbers =
        |bytes: &[u8]| bytes.chunks_exact(size).map(|bytes| element.number(bytes).to_f64()).collect::<Vec<_>>();
    let before = plan.buffers[index].bytes.as_ref().map(|before| &before[range.start * size..range.end * size]);
    let is_kept = |at: usize, got: &[u8]| before.is_some_and(|before| before[at * size..][..size] == *got);
    let kept = wrong > 1 && pairs().all(|(at, (got, wanted))| close(got, wanted) || is_kept(at, got));
    let alike = (wrong > 0 && wraps.is_none()).then(|| {
        let (got, wanted) = (numbers(&got), numbers(&wanted));
        let otherwise: Vec<bool> = pairs().map(|(_, (got, wanted))| !close(got, wanted)).collect();
        match kept {
            true => alike::kept(&|at| otherwise[at], got.len()),
            false => alike(&got, &wanted, &|at| otherwise[at]),
        }
    });
    let (expected, of, alike) = (word.to_string(), range.len(), alike.flatten());
    Ok(Expected { expected, holds: wrong == 0, wrong, of, first, wraps, alike, stored: None })
}

/// Of how few bits, fewer than `bits`, sums are of which all are off by these: 16, or 8.
fn wraps(differences: impl Iterator<Item = u64>, bits: u32) -> Option<u32> {
    let zeros = differences.map(u64::trailing_zeros).min()?;
    [32, 16, 8].into_iter().find(|&fewer| fewer < bits && zeros >= fewer)
}

/// The buffers as they are shown: the parts that `--print` names, else the first elements of each.
pub fn held(plan: &Plan, contents: &[Contents], print: &[String]) -> Result<Vec<Held>, Error> {
    let mut parts = Vec::new();
    for word in print {
        parts.push(part(plan, "--print", word)?);
    }
    if print.is_empty() {
        parts.extend(plan.buffers.iter().enumerate().map(|(index, buffer)| (index, 0..buffer.count.min(SHOWN))));
    }
    Ok(parts.into_iter().map(|(index, range)| show(&plan.buffers[index], &contents[index], range)).collect())
}

fn show(planned: &Planned, contents: &Contents, range: Range<usize>) -> Held {
    let size = planned.element.bytes();
    let shown = range.start..range.end.min(range.start + MOST_SHOWN);
    let bytes = contents.range(shown.start * size..shown.end * size);
    let hash = |bytes: &[u8]| Hash::hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Held {
        name: planned.name.clone(),
        element: planned.element.name(),
        count: planned.count,
        unwritten_bytes: contents.unwritten,
        sha256: contents.all().filter(|_| contents.unwritten == 0).map(hash),
        from: shown.start,
        values: bytes.chunks_exact(size).map(|bytes| planned.element.number(bytes).to_string()).collect(),
    }
}

/// `NAME`, `NAME[5]` or `NAME[0..8]`: which buffer, and which of its elements.
fn part(plan: &Plan, flag: &str, word: &str) -> Result<(usize, Range<usize>), Error> {
    let (name, range) = word.split_once('[').map_or((word, None), |(name, rest)| (name, Some(rest)));
    let known: Vec<&str> = plan.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
    let index = known.iter().position(|known| *known == name.trim()).ok_or_else(|| {
        Error::usage(
            format!("{flag} {word}: there is no buffer `{}`", name.trim()),
            format!("there are {}", known.join(", ")),
        )
    })?;
    let count = plan.buffers[index].count;
    let Some(range) = range else { return Ok((index, 0..count)) };
    let bounds = range.strip_suffix(']').and_then(|range| match range.split_once("..") {
        Some((from, to)) => {
            let from = if from.is_empty() { Some(0) } else { from.parse().ok() };
            let to = if to.is_empty() { Some(count) } else { to.parse().ok() };
            from.zip(to)
        }
        None => range.parse().ok().map(|at: usize| (at, at.saturating_add(1))),
    });
    match bounds {
        Some((from, to)) if from <= to && to <= count => Ok((index, from..to)),
        Some((from, to)) if from > to => Err(Error::usage(
            format!("{flag} {word}: the range ends at {to}, before it begins, at {from}"),
            "a range is as in `out[0..8]`",
        )),
        Some((_, to)) => {
            let hint = format!("a range is as in `out[0..8]`, and ends at {count} at most");
            Err(Error::usage(format!("{flag} {word}: {to} is not in 0..{count}"), hint))
        }
        None => Err(Error::usage(format!("{flag} {word}: this is no range"), "a range is as in `out[0..8]`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_few_bits_are_known_by_what_they_are_off() {
        let of = |differences: &[u64], bits| wraps(differences.iter().copied(), bits);
        assert_eq!(of(&[65536, 3 * 65536], 32), Some(16));
        assert_eq!(of(&[65536, 256], 32), Some(8));
        assert_eq!((of(&[65536, 1], 32), of(&[256], 8), of(&[], 32)), (None, None, None));
    }
}
