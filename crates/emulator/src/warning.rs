//! What is doubtful in a kernel: the books do not agree whether it is an error.

use std::fmt;

use serde::Serialize;

use crate::Site;
use crate::fault::written_out;

/// What a kernel did that some call an error, and others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// A thread reads shared memory, and a bulk copy writes there, with no proxy fence between.
    UnfencedReuse,
    /// The proxy fence between a thread's store and what reads it is not of the thread that stored.
    FenceOfTheReader,
    /// A bulk copy tells an mbarrier of its own block, and no fence follows the `mbarrier.init`.
    UnfencedInit,
    /// A warp stores a matrix by `wmma` where it has loaded one by `wmma`, with no barrier between.
    UnorderedReuse,
    /// A thread block leaves while a bulk copy may still read its shared memory: the copy's thread has not waited for it.
    StoreLeft,
}

impl WarningKind {
    /// Every kind.
    pub const ALL: [WarningKind; 5] = [
        WarningKind::UnfencedReuse,
        WarningKind::FenceOfTheReader,
        WarningKind::UnfencedInit,
        WarningKind::UnorderedReuse,
        WarningKind::StoreLeft,
    ];

    /// What it means, in a sentence without its full stop.
    pub fn meaning(self) -> &'static str {
        match self {
            WarningKind::UnfencedReuse => {
                "A thread reads shared memory, and a bulk copy writes there, with no proxy fence between"
            }
            WarningKind::FenceOfTheReader => {
                "The proxy fence between a store and the bulk copy or product that reads it is not of the thread that stored"
            }
            WarningKind::UnfencedInit => {
                "A bulk copy tells an mbarrier of its own block, and no fence follows the `mbarrier.init`"
            }
            WarningKind::UnorderedReuse => {
                "A warp stores a matrix by `wmma` where it has loaded one by `wmma`, with no barrier between"
            }
            WarningKind::StoreLeft => {
                "A thread block leaves, and a thread has not waited until its bulk copies had read the shared memory"
            }
        }
    }
}

impl fmt::Display for WarningKind {
    /// In words: `unfenced reuse`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WarningKind::UnfencedReuse => "unfenced reuse",
            WarningKind::FenceOfTheReader => "fence of the reader",
            WarningKind::UnfencedInit => "unfenced init",
            WarningKind::UnorderedReuse => "unordered reuse",
            WarningKind::StoreLeft => "store left under way",
        })
    }
}

/// A warning: the launch went on, and its results count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// What kind of warning.
    pub kind: WarningKind,
    /// One line: what happened, to which bytes of what, between which two threads and lines.
    pub message: String,
    /// Who did the second of the two, and where.
    pub site: Site,
    /// The first of the two: what it did, and where.
    pub other: (String, Site),
    /// What to look at, and who says what.
    pub hint: String,
    /// How often the second of the two, at its line, met the first, at its own.
    pub count: u64,
}

impl Warning {
    /// Most warnings of a report: the first, by the lines of the second of the two.
    pub const MOST: usize = 32;

    /// The message, and how often.
    pub fn line(&self) -> String {
        let times = if self.count > 1 { format!(" ({} times)", self.count) } else { String::new() };
        format!("{}{times}", self.message)
    }

    /// The warning as a person reads it, with the source lines that `source` finds by file and line.
    pub fn render(&self, source: &dyn Fn(&str, u32) -> Option<String>) -> String {
        let (what, other) = &self.other;
        written_out(&self.line(), &self.site, Some((what.as_str(), other)), Some(&self.hint), source)
    }

    /// Whether two are of one kind and of the same lines: the threads may depend on the order in which they ran.
    pub fn is_like(&self, other: &Warning) -> bool {
        let line = |site: &Site| (site.source.clone(), if site.source.is_none() { site.ptx_line } else { 0 });
        let lines = |warning: &Warning| (warning.kind, line(&warning.site), line(&warning.other.1));
        lines(self) == lines(other)
    }

    /// Adds to warnings those of another order of blocks and warps that are like none of them.
    pub fn gather(all: &mut Vec<Warning>, more: &[Warning]) {
        for warning in more {
            if !all.iter().any(|known| known.is_like(warning)) {
                all.push(warning.clone());
            }
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(&|_, _| None).trim_end())
    }
}
