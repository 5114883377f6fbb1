//! A worker: all that it holds who steps thread blocks, on one core.

use std::collections::HashMap;

use super::barriers::ClusterBarrier;
use super::block::BlockState;
use super::context::Context;
use super::copies::SourceUnderWay;
use super::global_pattern::GlobalCache;
use super::probe::{Seen, Stuck};
use super::recorder::Recorder;
use super::shared_pattern::SharedCache;
use super::tally::Tally;
use crate::machine::lanes::LANES;
use crate::machine::order::Clocks;
use crate::trace::TracedAccess;

/// Runs thread blocks on one core.
pub(crate) struct Worker<'a> {
    pub context: &'a Context<'a>,
    pub tally: Tally,
    /// The thread block that it steps.
    pub(crate) state: BlockState,
    /// Those that it has besides.
    pub(crate) others: Others,
    /// While something happens beside the threads, the thread block that asked for it.
    pub(crate) on_behalf: Option<u64>,
    pub(crate) shared_bytes: u32,
    /// Where a warp's turn ends, in warp instructions of the thread block.
    pub(crate) stop_at: u64,
    /// The order of threads, where it takes more than stamps.
    pub(crate) clocks: Option<Box<Clocks>>,
    /// What asynchronous copies under way still read of memory that the launch may write.
    pub(crate) sources: Vec<SourceUnderWay>,
    pub(crate) caches: Caches,
    pub(crate) probing: Probing,
    pub notes: Notes,
}

/// The thread blocks that a worker has started, but for the present one.
#[derive(Default)]
pub(crate) struct Others {
    /// Those that wait for their turn, in the order in which they started; and room that others have left.
    pub(crate) aside: Vec<BlockState>,
    pub(crate) free: Vec<BlockState>,
    /// The barriers of their clusters.
    pub(crate) clusters: HashMap<u64, ClusterBarrier>,
}

/// The patterns that accesses showed last, by access.
pub(crate) struct Caches {
    pub(crate) global: Vec<GlobalCache>,
    pub(crate) shared: Vec<SharedCache>,
}

/// What a probe looks for, and finds.
#[derive(Default)]
pub(crate) struct Probing {
    /// The warps that the last one showed to repeat themselves.
    pub(crate) stuck: Vec<Stuck>,
    /// While a warp is probed that has run for very long, the time that it sees.
    pub(crate) frozen: Option<u64>,
    /// What it saw.
    pub(crate) seen: Seen,
}

/// What is noted for those who ask.
#[derive(Default)]
pub(crate) struct Notes {
    /// Whether the present thread block is traced: a probe steps warps on, and notes what they access then.
    pub tracing: bool,
    /// Of traced thread blocks nothing is noted but stores and atomics that touch these addresses of global memory.
    pub stores_to: Option<(u64, u64)>,
    /// What traced thread blocks accessed.
    pub traced: Vec<TracedAccess>,
    /// What recorded thread blocks executed.
    pub recorder: Option<Box<Recorder>>,
}

/// Why a worker stops stepping a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// All warps have ended.
    Ended,
    /// Some have not, and all of those wait for each other.
    Blocked,
    /// Every warp that does not wait used its turn up; `idle`: asking in vain, and writing nothing.
    Turn { idle: bool },
}

impl<'a> Worker<'a> {
    pub fn new(context: &'a Context<'a>) -> Worker<'a> {
        let program = context.program;
        let warps = context.shape.block.count().div_ceil(LANES as u64) as u32;
        let clocks =
            context.sanitize.then(|| Clocks::new(program, warps, context.shape.cluster_size(), context.thorough));
        Worker {
            context,
            tally: Tally::new(program),
            state: BlockState::new(context),
            others: Others::default(),
            on_behalf: None,
            shared_bytes: context.shared_bytes(),
            stop_at: 0,
            clocks: clocks.flatten(),
            sources: Vec::new(),
            caches: Caches {
                global: vec![GlobalCache::default(); program.accesses.len()],
                shared: vec![SharedCache::default(); program.accesses.len()],
            },
            probing: Probing::default(),
            notes: Notes::default(),
        }
    }

    /// The thread block that it steps.
    pub fn block(&self) -> u64 {
        self.state.block
    }

    /// Makes ready to step thread block `block`, from its start.
    pub fn start(&mut self, block: u64) {
        self.state.start(self.context, block);
    }
}
