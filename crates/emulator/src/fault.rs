//! What is wrong with a kernel, who did it, and where.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::Dim3;

/// Calls that are written out, at most: those that lead to a line, and those of a header's functions below it.
const MOST_CALLS: usize = 8;
const MOST_INNER: usize = 3;

/// What a kernel did that it must not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every live buffer, or beyond shared or local memory.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// An access to a buffer that has been freed.
    UseAfterFree,
    /// Two accesses to one place, at least one a write, with nothing that orders them.
    Race,
    /// Memory that nobody wrote reached a result, an address or a branch.
    Uninitialised,
    /// A barrier that only some of the live threads reach.
    Barrier,
    /// The launch exceeded its instruction limit.
    NoProgress,
    /// The kernel executed `trap` or an operation whose result is undefined.
    Trap,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [FaultKind; 8] = [
        FaultKind::OutOfBounds,
        FaultKind::Misaligned,
        FaultKind::UseAfterFree,
        FaultKind::Race,
        FaultKind::Uninitialised,
        FaultKind::Barrier,
        FaultKind::NoProgress,
        FaultKind::Trap,
    ];

    /// What it means, in a sentence without its full stop.
    pub fn meaning(self) -> &'static str {
        match self {
            FaultKind::OutOfBounds => "An access outside every live buffer, or beyond shared or local memory",
            FaultKind::Misaligned => "An address that is no multiple of the access's size",
            FaultKind::UseAfterFree => "An access to a buffer that has been freed",
            FaultKind::Race => "Two accesses to one place, at least one a write, with nothing that orders them",
            FaultKind::Uninitialised => "Memory that nobody wrote reached a result, an address or a branch",
            FaultKind::Barrier => "A barrier that only some of the live threads reach",
            FaultKind::NoProgress => "A kernel that does not end",
            FaultKind::Trap => "A trap, or an operation whose result is undefined",
        }
    }
}

impl fmt::Display for FaultKind {
    /// In words: `out of bounds`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultKind::OutOfBounds => "out of bounds",
            FaultKind::Misaligned => "misaligned",
            FaultKind::UseAfterFree => "use after free",
            FaultKind::Race => "race",
            FaultKind::Uninitialised => "uninitialised",
            FaultKind::Barrier => "barrier",
            FaultKind::NoProgress => "no progress",
            FaultKind::Trap => "trap",
        })
    }
}

/// What is behind a fault, where its kind alone does not tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The accesses are of two proxies, as a thread's stores and what bulk copies, products or tensor maps read, and no proxy fence lies
    /// between.
    ProxyFence,
    /// Registers that a product of a warpgroup uses, with no `wgmma.fence` or no wait for it.
    Registers,
    /// Shared memory of a thread block that has left.
    BlockLeft,
    /// Threads wait, and nobody is left who could bring what they wait for.
    Deadlock,
    /// A read of what a copy still writes.
    CopyRace,
    /// Two uses of a barrier that nothing keeps apart.
    Overlap,
}

/// A line of a function, on the way from the kernel to an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Step {
    /// The function's name, without its namespaces.
    pub function: Arc<str>,
    /// Its file.
    pub file: Arc<str>,
    /// The line, from 1, of the instruction or of the call that leads on to it.
    pub line: u32,
}

/// One instruction as executed by one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Site {
    /// The file and line that the PTX attributes the instruction to: of an inlined function of another file than the kernel's, the
    /// line in the kernel's file that leads there.
    pub source: Option<(Arc<str>, u32)>,
    /// The lines through which the kernel comes to the instruction, from the instruction's own to the kernel's; none where the
    /// instruction stands in the kernel itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Step>,
    /// The instruction's line in the PTX, from 1.
    pub ptx_line: u32,
    /// The instruction's opcode, for instance `ld.global.f32`.
    pub opcode: String,
    /// The thread block.
    pub block: Dim3,
    /// The thread in its block.
    pub thread: Dim3,
    /// The warp in its block.
    pub warp: u32,
    /// The lane in its warp.
    pub lane: u32,
}

/// A fault: the launch stopped here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What is behind it, where the kind alone does not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// One line: what happened, to which bytes of what.
    pub message: String,
    /// Who did it, and where.
    pub site: Site,
    /// The other party of a race: what it did, and where.
    pub other: Option<(String, Site)>,
    /// More places that have a part in it, each with what is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<(String, Site)>,
    /// What to look at.
    pub hint: Option<String>,
}

impl Fault {
    /// The fault with what is behind it.
    pub(crate) fn because(mut self: Box<Self>, cause: Cause) -> Box<Fault> {
        self.cause = Some(cause);
        self
    }

    /// The fault as a person reads it, with the source lines that `source` finds by file and line.
    pub fn render(&self, source: &dyn Fn(&str, u32) -> Option<String>) -> String {
        let others = self.other.iter().chain(&self.also).map(|(what, site)| (what.as_str(), site));
        written_out(&self.message, &self.site, others, self.hint.as_deref(), source)
    }
}

/// A message with its places and its hint, line by line.
pub(crate) fn written_out<'a>(
    message: &str,
    site: &Site,
    others: impl IntoIterator<Item = (&'a str, &'a Site)>,
    hint: Option<&str>,
    source: &dyn Fn(&str, u32) -> Option<String>,
) -> String {
    let mut text = format!("{message}\n");
    text += &site.render(source);
    for (what, site) in others {
        text += &format!("{what}\n");
        text += &site.render(source);
    }
    if let Some(hint) = hint {
        text += &format!("hint: {hint}\n");
    }
    text
}

impl Site {
    fn render(&self, source: &dyn Fn(&str, u32) -> Option<String>) -> String {
        let place = match &self.source {
            Some((file, line)) => match source(file, *line) {
                Some(code) => format!("{file}:{line}   {}", code.trim()),
                None => format!("{file}:{line}"),
            },
            None => format!("PTX line {}", self.ptx_line),
        };
        let mut text = format!("  --> {place}\n");
        let line = |step: &Step| match source(&step.file, step.line) {
            Some(code) => format!("{step}   {}", code.trim()),
            None => step.to_string(),
        };
        let (inner, outer) = self.calls.split_at(self.told());
        for step in inner.iter().rev().take(MOST_INNER) {
            text += &format!("   |  in {}, {}\n", step.function, line(step));
        }
        if let (more @ 1.., [last, ..]) = (inner.len().saturating_sub(MOST_INNER), inner) {
            text += &format!("   |  and {more} more, to {last}\n");
        }
        for pair in outer.windows(2).take(MOST_CALLS) {
            text += &format!("   |  in {}, called at {}\n", pair[0].function, line(&pair[1]));
        }
        if let more @ 1.. = outer.len().saturating_sub(MOST_CALLS + 1) {
            text += &format!("   |  and {more} more calls\n");
        }
        text + &format!(
            "   |  block {}, thread {}, warp {}, lane {}   {}\n",
            self.block, self.thread, self.warp, self.lane, self.opcode
        )
    }

    /// Which of the calls' lines is `source`.
    fn told(&self) -> usize {
        let is_source =
            |step: &Step| self.source.as_ref().is_some_and(|(file, line)| (file, *line) == (&step.file, step.line));
        self.calls.iter().position(is_source).unwrap_or_default()
    }
}

impl fmt::Display for Step {
    /// `mma.hpp:91`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.rsplit('/').next().unwrap_or(&self.file), self.line)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(&|_, _| None).trim_end())
    }
}

impl std::error::Error for Fault {}
