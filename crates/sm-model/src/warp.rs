//! A warp on the SM: how far it is, and what it waits for.

use crate::ops::Op;
use crate::waits::{Span, Why};

/// See the module.
pub(crate) struct Warp<'a> {
    pub(crate) ops: &'a [Op],
    pub(crate) block: usize,
    pub(crate) at: usize,
    /// When each result is there.
    pub(crate) done: Vec<u32>,
    /// It issues nothing before this clock, and why.
    pub(crate) until: u32,
    pub(crate) why: Why,
    pub(crate) at_barrier: bool,
    pub(crate) starts: u32,
    /// Copies: when the present group's last lands, and those of older groups.
    pub(crate) group: u32,
    pub(crate) groups: Vec<u32>,
    /// Loads from global memory since one was waited for. They share a scoreboard: who waits for one waits for all.
    pub(crate) loads: Vec<u32>,
    /// Copies that are still in the queue.
    pub(crate) copies: u32,
    pub(crate) lane: Vec<Span>,
}
