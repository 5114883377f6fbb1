//! Execution: warps in lockstep, thread blocks, and the counts and checks that go along.

mod alu;
mod block;
mod convict;
mod dispatch;
mod global_access;
mod lanes;
mod local_access;
mod meaning;
mod race;
mod shadow;
mod shared_access;
mod taint;
mod tally;
mod warp;
mod warp_wide;
mod watch;

pub(crate) use block::{Context, Worker};
pub(crate) use dispatch::run_block;
pub(crate) use race::Stamp;
pub(crate) use tally::Tally;
pub(crate) use warp::Shape;
