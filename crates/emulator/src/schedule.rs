//! The orders in which a launch may run.

use std::fmt;

use serde::Serialize;

/// The order in which thread blocks, warps and the sides of a branch run.
///
/// A GPU promises none. Each of these is one that it may take, and the same on every machine: it does not depend on the
/// number of cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Schedule {
    /// The grid's first block first, its first warp first. A warp runs until it waits.
    #[default]
    FirstFirst,
    /// The last block first, the last warp first, the other side of a branch first.
    LastFirst,
    /// As first first, but warps, and the sides of a branch, take turns after each basic block of code.
    ShortTurns,
    /// As first first, but the even warps before the odd ones, and bulk copies come as soon as an mbarrier is used again. Two uses of
    /// a named barrier that nothing keeps apart, of which the other orders tell, do not end the launch: what comes of them shows.
    EvenFirst,
}

impl fmt::Display for Schedule {
    /// As part of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Schedule::FirstFirst => "the first block first",
            Schedule::LastFirst => "the last block first",
            Schedule::ShortTurns => "turns of a few instructions",
            Schedule::EvenFirst => "the even warps first",
        })
    }
}

impl Schedule {
    /// Those that a checked launch tries, one after the other.
    pub const ALL: [Schedule; 3] = [Schedule::FirstFirst, Schedule::LastFirst, Schedule::ShortTurns];

    /// Whether the last goes first.
    #[inline(always)]
    pub(crate) fn turns_round(self) -> bool {
        self == Schedule::LastFirst
    }

    /// The warp that comes at a position in a round, of a thread block's `count`.
    #[inline(always)]
    pub(crate) fn warp(self, position: usize, count: usize) -> usize {
        let even = count.div_ceil(2);
        match self {
            Schedule::FirstFirst | Schedule::ShortTurns => position,
            Schedule::LastFirst => count - 1 - position,
            Schedule::EvenFirst if position < even => 2 * position,
            Schedule::EvenFirst => 2 * (position - even) + 1,
        }
    }

    /// Warp instructions in a turn, of `usual`.
    #[inline(always)]
    pub(crate) fn turn(self, usual: u64) -> u64 {
        if self == Schedule::ShortTurns { 1 } else { usual }
    }
}
