//! What can be wrong with a plan, or with a rank. Each has a name, and a line that says who does what to whom.

use std::time::Duration;

use crate::layout::Panel;
use crate::plan::{Event, Region};

/// Why a product over ranks cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A rank has stopped, and others need it.
    #[error(
        "rank {rank} is lost: {waiting}\nhint: its part of C is nowhere else: start again without it, or with another in its place"
    )]
    Lost {
        /// Which.
        rank: usize,
        /// Who waits for what, or what is missing.
        waiting: String,
    },
    /// Two ranks disagree on how much is sent.
    #[error(
        "step {step}: rank {from} sends {sent} bytes to rank {to}, which expects {expected}\nhint: both sides count the same panel"
    )]
    WrongCount {
        /// The collective's step.
        step: usize,
        /// Who sends.
        from: usize,
        /// Who receives.
        to: usize,
        /// How much is sent.
        sent: u64,
        /// How much is expected.
        expected: u64,
    },
    /// Two ranks of a group come to different collectives, and each waits for the other.
    #[error(
        "rank {one} is at the collective of step {at}, and rank {other} at that of step {there}\n\
         hint: all ranks of a group issue their collectives in the same order"
    )]
    OtherOrder {
        /// One rank.
        one: usize,
        /// Where it is.
        at: usize,
        /// The other.
        other: usize,
        /// Where that is.
        there: usize,
    },
    /// A panel is used where it may not be yet.
    #[error(
        "rank {rank} reads {panel} in {region} of rank {on} before its copy has landed\n\
         hint: wait for the event behind the copy"
    )]
    ReadEarly {
        /// Who reads.
        rank: usize,
        /// What it takes it for.
        panel: Panel,
        /// Where.
        region: Region,
        /// Of which rank.
        on: usize,
    },
    /// A panel is overwritten where somebody may still need it.
    #[error(
        "{region} of rank {on} is overwritten while rank {reader} {}\nhint: wait for the event behind that",
        if *.is_sent { "gets what is sent from there" } else { "multiplies what is there" }
    )]
    Overwritten {
        /// Where.
        region: Region,
        /// Of which rank.
        on: usize,
        /// Who reads there.
        reader: usize,
        /// Whether it is being sent, or else multiplied.
        is_sent: bool,
    },
    /// A stream waits for what never comes.
    #[error("rank {rank} waits for event {} of rank {}, which nobody records\nhint: record it before others wait", .event.number, .event.rank)]
    Stuck {
        /// Who waits.
        rank: usize,
        /// For what.
        event: Event,
    },
    /// A rank waits in a collective to which another never comes.
    #[error(
        "rank {rank} waits in the collective of step {step}, to which rank {absent} does not come\nhint: all ranks of a group issue it"
    )]
    Absent {
        /// Who waits.
        rank: usize,
        /// Where.
        step: usize,
        /// Who is not there.
        absent: usize,
    },
    /// Ranks in processes of their own that did not come.
    #[error(
        "{} not come to {address} within {} s\nhint: start it by `--rendezvous {address} --rank {}`, and let the address be reached from there",
        named(.ranks), .limit.as_secs_f64(), .ranks.first().copied().unwrap_or_default()
    )]
    Missing {
        /// Which.
        ranks: Vec<usize>,
        /// Where they were waited for.
        address: String,
        /// How long.
        limit: Duration,
    },
    /// A rank that is of another version, or about to do something else.
    #[error(
        "rank {rank} has another {what}: {theirs}, and it is to be {ours}\nhint: start all ranks by the same program, with the same flags"
    )]
    Mismatch {
        /// Which.
        rank: usize,
        /// What differs.
        what: &'static str,
        /// What it has.
        theirs: String,
        /// What it is to have.
        ours: String,
    },
    /// An address at which ranks cannot meet.
    #[error("no rendezvous at {address}: {why}\nhint: give HOST:PORT of the machine of rank 0, as the others reach it")]
    Rendezvous {
        /// Where.
        address: String,
        /// Why.
        why: String,
    },
    /// What another rank, or the rendezvous, has said.
    #[error("{0}")]
    Told(String),
    /// A product itself failed, or memory of a rank.
    #[error("rank {rank}: {why}")]
    Rank {
        /// Whose.
        rank: usize,
        /// What it said, with its hint.
        why: String,
    },
}

/// `rank 1 has`, or `ranks 1, 2 have`.
fn named(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let [rank, has] = if ranks.len() == 1 { ["rank", "has"] } else { ["ranks", "have"] };
    format!("{rank} {} {has}", numbers.join(", "))
}
