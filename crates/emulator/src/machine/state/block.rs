//! All that a thread block is while it runs. A worker steps one at a time; one that waits for another block is put
//! aside as it is, and gone on with later.

use std::collections::{BTreeMap, HashMap};

use super::barriers::Barriers;
use super::cells::Cells;
use super::context::Context;
use super::mbarriers::Mbarriers;
use super::warp::Warp;
use crate::machine::lanes::LANES;
use crate::origin::{Lack, Origin};
use crate::program::TILE_MEMORY;
use crate::stamp::{EPOCH_LIMIT, Stamp};

#[derive(Default)]
pub(crate) struct BlockState {
    /// Its number in the grid.
    pub block: u64,
    /// The thread block of which it has the shared memory: itself, unless another one's is lent to it; and where the
    /// addresses of that begin.
    pub(crate) owner: u64,
    pub(crate) base: u64,
    /// (On the heap, so that one is taken out of the list by moving a pointer.)
    #[expect(clippy::vec_box, reason = "see above")]
    pub(crate) warps: Vec<Box<Warp>>,
    /// A bit for each warp that has ended.
    pub(crate) ended: u32,
    pub(crate) barriers: Barriers,
    pub(crate) shared: Vec<u32>,
    /// One cell per grain of shared memory; none unless the launch is watched.
    pub(crate) cells: Cells,
    /// By cell, where a copy there comes from of what nobody wrote; of others it says nothing.
    pub(crate) origins: HashMap<u32, Origin>,
    /// Barriers passed, over all thread blocks that had this state: each starts an epoch of its own.
    pub(crate) epoch: u32,
    /// The epoch in which the present thread block started.
    pub(crate) first_epoch: u32,
    /// Warp instructions so far.
    pub(crate) executed: u64,
    /// Stores and the like so far, that may have changed memory.
    pub(crate) writes: u64,
    /// How often its warps came to a wait or to their end.
    pub(crate) moves: u64,
    /// How often all of its warps used their turns up.
    pub(crate) turns: u64,
    /// Barriers passed.
    pub(crate) phase: u32,
    /// By warp, how often it set the number of its registers; empty where none did.
    pub(crate) registers: Vec<Registers>,
    /// Barriers in shared memory.
    pub(crate) mbarriers: Mbarriers,
    /// Asynchronous copies of all warps that have not landed.
    pub(crate) copies_under_way: u32,
    /// The accesses by which copies wrote of which the last to land began before a barrier, and was waited for behind it;
    /// with what it lacked at the barrier.
    pub(crate) waited_late: Vec<(u32, Lack)>,
    /// Accesses to its shared memory by other thread blocks.
    pub(crate) visits: BTreeMap<(u64, u32), Vec<Visit>>,
}

/// The number of no thread block.
pub(crate) const NOBODY: u64 = u64::MAX;

impl BlockState {
    /// Room for a thread block of the launch, which `start` makes a particular one.
    pub fn new(context: &Context) -> BlockState {
        let program = context.program;
        let warps = context.shape.block.count().div_ceil(LANES as u64) as u32;
        let bytes = context.shared_bytes();
        let cells = if context.sanitize { bytes.div_ceil(program.shared_grain) } else { 0 };
        BlockState {
            warps: (0..warps).map(|number| Box::new(Warp::new(program, number))).collect(),
            block: NOBODY,
            shared: vec![u32::default(); bytes.div_ceil(4) as usize],
            cells: Cells::new(cells as usize),
            ..BlockState::default()
        }
    }

    /// Two thread blocks exchange their shared memory, and all that is known of it.
    pub(crate) fn exchange_memory(&mut self, other: &mut BlockState) {
        use std::mem::swap;
        swap(&mut self.owner, &mut other.owner);
        swap(&mut self.base, &mut other.base);
        swap(&mut self.shared, &mut other.shared);
        swap(&mut self.cells, &mut other.cells);
        swap(&mut self.origins, &mut other.origins);
        swap(&mut self.epoch, &mut other.epoch);
        swap(&mut self.first_epoch, &mut other.first_epoch);
        swap(&mut self.mbarriers, &mut other.mbarriers);
        swap(&mut self.copies_under_way, &mut other.copies_under_way);
        swap(&mut self.visits, &mut other.visits);
    }

    /// A store or the like may have changed memory.
    #[inline(always)]
    pub(crate) fn wrote(&mut self) {
        self.writes += 1;
    }

    /// A bit for each warp.
    pub(crate) fn all_warps(&self) -> u32 {
        u32::MAX >> (LANES - self.warps.len())
    }

    /// What is known of shared memory lies before all epochs that follow.
    fn begin_epochs(&mut self) {
        if self.epoch + 1 >= EPOCH_LIMIT / 2 {
            self.cells.forget();
            self.epoch = 0;
        }
        // In the epoch before the first, nothing runs: copies under way have it.
        self.epoch += 2;
        self.first_epoch = self.epoch;
    }

    /// Becomes thread block `block`, before its first instruction.
    pub fn start(&mut self, context: &Context, block: u64) {
        self.block = block;
        self.owner = block;
        self.base = context.shape.base_of(block % context.shape.cluster.count());
        self.visits.clear();
        self.origins.clear();
        (self.executed, self.writes, self.moves, self.turns) = (0, 0, 0, 0);
        self.phase = 0;
        self.copies_under_way = 0;
        self.waited_late.clear();
        self.barriers.forget();
        self.registers.clear();
        if context.program.needs.asynchronous {
            self.mbarriers = Mbarriers::default();
        }
        self.begin_epochs();
        // What nobody wrote reads as NaN.
        self.shared.fill(u32::MAX);
        if let Some(start) = context.program.tile_memory {
            let end = start + TILE_MEMORY;
            self.shared[start as usize / 4..end as usize / 4].fill(0);
            let grain = context.program.shared_grain;
            if context.sanitize {
                let written = Stamp::new(self.first_epoch, 0, 0, 0);
                self.cells.mark((start / grain) as usize, (TILE_MEMORY / grain) as usize, written);
            }
        }
        let at = context.shape.block_at(block);
        self.ended = 0;
        for warp in &mut self.warps {
            warp.start(context.program, &context.shape, at);
        }
        self.unset_registers(context);
    }
}

/// What a warp made of its registers: how often it set their number, which it is, and the instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Registers {
    pub times: u32,
    pub count: u32,
    pub at: u32,
}

/// An access to a thread block's shared memory by lanes of another block's warp: the last one of these lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    pub lanes: u32,
    pub at: u32,
    pub time: u32,
}

/// The number of the first of these lanes of a warp among the threads of its block.
pub(crate) fn thread_in(warp: u32, lanes: u32) -> u32 {
    warp * LANES as u32 + lanes.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_a_block_is_forgotten_in_time() {
        // Epochs go on from block to block, as far as half of all that a stamp tells apart, and begin anew then.
        let half = EPOCH_LIMIT / 2;
        for (before, first) in [(0, 2), (9, 11), (half - 2, half), (half - 1, 2), (half + 5, 2), (EPOCH_LIMIT - 1, 2)] {
            let mut state = BlockState { cells: Cells::new(3), epoch: before, ..BlockState::default() };
            state.cells.mark(1, 1, Stamp::new(before, 0, 7, 3));
            state.begin_epochs();
            assert_eq!((state.epoch, state.first_epoch), (first, first), "{before}");
            assert!((0..3).all(|cell| state.cells.write(cell).epoch() < first), "{before}");
        }
    }
}
