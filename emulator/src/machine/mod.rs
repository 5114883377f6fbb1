//! Execution: warps in lockstep, thread blocks, and the counts and checks that go along.

#![expect(clippy::needless_range_loop, reason = "a lane is an index into several arrays at once")]

mod alu;
mod async_copy;
mod atomic;
mod barrier;
mod block;
mod calls;
mod cells;
mod convict;
mod convict_race;
mod convict_wait;
mod dispatch;
mod exact;
mod extended;
mod float64;
mod float_meaning;
mod general;
mod global_access;
mod integer_meaning;
mod lanes;
mod local_access;
mod matrix;
mod meaning;
mod meeting;
mod multiply;
mod number_meaning;
mod order;
mod ordered;
mod ordering;
mod paths;
mod polls;
mod print;
mod probe;
mod race;
mod run;
mod shadow;
mod shared_access;
mod state;
mod taint;
mod tally;
mod tracing;
mod turns;
#[cfg(test)]
mod twins;
mod under_way;
mod unset;
mod warp;
mod warp_wide;
mod watch;

pub(crate) use block::{Context, Pause, Worker};
pub(crate) use dispatch::{run_block, trace_block};
pub(crate) use race::{INSTRUCTION_LIMIT, Stamp};
pub(crate) use tally::Tally;
pub(crate) use turns::{run_alone, run_together};
pub(crate) use warp::Shape;
