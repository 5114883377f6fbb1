//! A worker: steps thread blocks, whose warps take turns until each has ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::block::BlockState;
use super::tally::Tally;
use super::warp::{Shape, State, Warp};
use crate::global::GlobalMemory;
use crate::machine::beside::async_copy::SourceUnderWay;
use crate::machine::cluster::barrier::ClusterBarrier;
use crate::machine::lanes::LANES;
use crate::machine::memory::global_access::GlobalCache;
use crate::machine::memory::shared_access::SharedCache;
use crate::machine::notes::executed::Recorder;
use crate::machine::order::Clocks;
use crate::machine::step::probe::{Seen, Stuck};
use crate::program::Program;
use crate::progress::Progress;
use crate::tensor::Generation;
use crate::trace::TracedAccess;
use crate::{Fault, Schedule};

/// Warp instructions that a warp may execute before another warp has its turn.
const TURN: u64 = 1 << 18;

/// What all workers of a launch share.
pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub shape: Shape,
    pub parameters: Vec<u8>,
    /// What constant memory holds.
    pub constants: &'a [u8],
    pub memory: &'a GlobalMemory,
    pub sanitize: bool,
    pub instruction_limit: u64,
    pub schedule: Schedule,
    /// Whose tensor cores' arithmetic it is.
    pub generation: Generation,
    /// How many thread blocks the GPU holds at a time.
    pub residency: u64,
    /// All is watched by the order model, whatever the program seems to need.
    pub thorough: bool,
    /// Stamps found a race that the order model might not.
    pub doubtful: AtomicBool,
    pub progress: &'a Progress,
    /// How many thread blocks have ended; counted where somebody wants to know.
    pub ended: AtomicU64,
}

impl Context<'_> {
    /// Which thread block has the `n`th turn, from 0; as well, which turn thread block `n` has. Where those of a cluster start
    /// together, which cluster.
    pub fn turn(&self, n: u64) -> u64 {
        if self.schedule.turns_round() { self.units() - 1 - n } else { n }
    }

    /// Which turn a thread block has: those of one cluster have theirs together.
    pub fn turn_of(&self, block: u64) -> u64 {
        let unit = self.unit();
        self.turn(block / unit) * unit + block % unit
    }

    /// How many thread blocks start together: those of a cluster, where they may wait for each other.
    pub fn unit(&self) -> u64 {
        if self.program.needs.cluster { self.shape.cluster.count() } else { 1 }
    }

    /// How many times some start.
    pub fn units(&self) -> u64 {
        self.shape.grid.count() / self.unit()
    }

    /// A thread block has ended.
    pub fn note_progress(&self) {
        if let Progress(Some(tell)) = self.progress {
            tell(self.ended.fetch_add(1, Relaxed) + 1, self.shape.grid.count());
        }
    }

    /// Shared memory of a thread block, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        match self.shape.dynamic_shared {
            0 => self.program.static_shared,
            dynamic => self.program.dynamic_shared + dynamic,
        }
    }
}

/// Runs thread blocks on one core.
pub(crate) struct Worker<'a> {
    pub context: &'a Context<'a>,
    pub tally: Tally,
    /// The thread block that it steps.
    pub(crate) state: BlockState,
    /// Those that have started and wait for their turn, in the order in which they started; and room that others have left.
    pub(crate) aside: Vec<BlockState>,
    pub(crate) free: Vec<BlockState>,
    /// The barriers of their clusters.
    pub(crate) clusters: HashMap<u64, ClusterBarrier>,
    /// While something happens beside the threads, the thread block that asked for it.
    pub(crate) on_behalf: Option<u64>,
    pub(crate) shared_bytes: u32,
    /// Where a warp's turn ends, in warp instructions of the thread block.
    pub(crate) stop_at: u64,
    /// The order of threads, where it takes more than stamps.
    pub(crate) clocks: Option<Box<Clocks>>,
    /// What asynchronous copies under way still read of memory that the launch may write.
    pub(crate) sources: Vec<SourceUnderWay>,
    pub(crate) global_caches: Vec<GlobalCache>,
    pub(crate) shared_caches: Vec<SharedCache>,
    /// The warps that the last probe showed to repeat themselves.
    pub(crate) stuck: Vec<Stuck>,
    /// While a warp is probed that has run for very long, the time that it sees.
    pub(crate) frozen: Option<u64>,
    /// What a probe saw.
    pub(crate) seen: Seen,
    /// Whether the present thread block is traced: a probe steps warps on, and notes what they access then.
    pub tracing: bool,
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
            aside: Vec::new(),
            free: Vec::new(),
            clusters: HashMap::new(),
            on_behalf: None,
            shared_bytes: context.shared_bytes(),
            stop_at: 0,
            clocks: clocks.flatten(),
            sources: Vec::new(),
            global_caches: vec![GlobalCache::default(); program.accesses.len()],
            shared_caches: vec![SharedCache::default(); program.accesses.len()],
            stuck: Vec::new(),
            frozen: None,
            seen: Seen::default(),
            tracing: false,
            traced: Vec::new(),
            recorder: None,
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

    /// Steps the present thread block until nothing is left to do, or every warp used its turn up.
    #[inline(always)]
    pub fn run<const CPU: u8>(&mut self) -> Result<Pause, Box<Fault>> {
        let schedule = self.context.schedule;
        let count = self.state.warps.len();
        // Stands in the list for the warp that runs, so that both can be borrowed.
        let mut spare = Box::new(Warp::default());
        loop {
            let (mut ran, mut moved, mut idle) = (false, false, true);
            for position in 0..count {
                let index = if schedule.turns_round() { count - 1 - position } else { position };
                if self.state.warps[index].state != State::Ready {
                    continue;
                }
                ran = true;
                let writes = self.state.writes;
                self.stop_at = (self.state.executed + schedule.turn(TURN)).min(self.context.instruction_limit);
                let mut warp = std::mem::replace(&mut self.state.warps[index], spare);
                let result = self.run_warp::<CPU>(&mut warp);
                let asked = warp.polls.gave_up();
                if matches!(result, Ok(false)) && warp.paths.len() > 1 && !warp.choose_path(true) && asked {
                    warp.go_ahead();
                }
                spare = std::mem::replace(&mut self.state.warps[index], warp);
                if result? {
                    moved = true;
                } else {
                    idle &= asked && self.state.writes == writes;
                }
            }
            if !ran {
                if self.state.ended != self.state.all_warps() {
                    return Ok(Pause::Blocked);
                }
                return Ok(Pause::Ended);
            }
            self.state.moves += u64::from(moved);
            if !moved {
                return Ok(Pause::Turn { idle });
            }
        }
    }
}
