//! Small questions to a worker: which block acts, whose shared memory is at hand, by what accesses are watched.

use super::barriers::ClusterBarrier;
use super::block::NOBODY;
use super::warp::{State, Warp};
use super::worker::Worker;
use crate::machine::lanes::LANES;
use crate::program::{Access, Space};
use crate::stamp::Stamp;

impl Worker<'_> {
    /// The thread block that acts: the present one, unless something happens beside the threads.
    pub(crate) fn acting(&self) -> u64 {
        self.on_behalf.unwrap_or(self.state.block)
    }

    /// The rank of a thread block in its cluster.
    pub(crate) fn rank_of_block(&self, block: u64) -> u32 {
        (block % u64::from(self.context.shape.cluster_size())) as u32
    }

    /// The thread block with a rank in the present one's cluster.
    pub(crate) fn block_of_rank(&self, rank: u32) -> u64 {
        let size = u64::from(self.context.shape.cluster_size());
        self.state.block / size * size + u64::from(rank)
    }

    /// Whether an access may go to another block's shared memory.
    pub(crate) fn may_be_elsewhere(&self, access: &Access) -> bool {
        self.context.shape.cluster_size() > 1 && (access.of_cluster || access.space == Space::Generic)
    }

    /// ` of block rank 1`, where shared memory is another block's; nothing where it is the own one.
    pub(crate) fn of_whom(&self) -> String {
        match self.state.owner == self.state.block || self.state.block == NOBODY {
            true => String::new(),
            false => format!(" of block rank {}", self.rank_of_block(self.state.owner)),
        }
    }

    /// The stamp of an access by this warp, for its lane 0.
    #[inline(always)]
    pub(crate) fn stamp(&self, warp: &Warp, at: u32) -> Stamp {
        Stamp::new(self.state.epoch, warp.epoch, at, warp.number * LANES as u32)
    }

    /// Whether the order model watches shared memory, or stamps do.
    #[inline(always)]
    pub(crate) fn shared_by_clocks(&self) -> bool {
        self.clocks.as_ref().is_some_and(|clocks| clocks.shared)
    }

    #[inline(always)]
    pub(crate) fn global_by_clocks(&self) -> bool {
        self.clocks.as_ref().is_some_and(|clocks| clocks.global)
    }

    /// The epoch that the present thread block's copies under way have in common.
    #[inline(always)]
    pub(crate) fn epoch_under_way(&self) -> u32 {
        self.state.first_epoch - 1
    }

    /// Whether the last write to a cell is a copy that has not landed.
    #[inline(always)]
    pub(crate) fn is_copy_under_way(&self, write: Stamp) -> bool {
        write.epoch() == self.epoch_under_way()
    }

    /// The warps of which lanes have not arrived: rank, number, and those lanes.
    pub(crate) fn awaited_in_cluster<'a>(
        &'a self,
        barrier: &'a ClusterBarrier,
        present: &'a Warp,
    ) -> impl Iterator<Item = (u32, u32, u32)> + 'a {
        let own = self.state.block;
        let ranks = barrier.arrived.iter().enumerate().filter(|(rank, _)| barrier.left >> rank & 1 == 0);
        ranks.flat_map(move |(rank, warps)| {
            let block = self.block_of_rank(rank as u32);
            let state = match block == own {
                true => Some(&self.state),
                false => self.others.aside.iter().find(|state| state.block == block),
            };
            warps.iter().enumerate().filter_map(move |(n, (arrived, _))| {
                let live = match state {
                    Some(_) if block == own && n as u32 == present.number && present.state != State::Done => {
                        present.live
                    }
                    Some(state) => state.warps[n].live,
                    None => 0,
                };
                let missing = live & !arrived;
                (missing != 0).then_some((rank as u32, n as u32, missing))
            })
        })
    }

    pub(crate) fn frame(&self, warp: &Warp, lane: usize) -> u64 {
        warp.d[self.context.program.frame as usize].0[lane]
    }

    /// Where a lane's local memory ends at present.
    pub(crate) fn local_end(&self, warp: &Warp, lane: usize) -> u64 {
        let program = self.context.program;
        match warp.calls_of(1 << lane).last() {
            Some(call) => self.frame(warp, lane) + u64::from(program.called[call.function as usize].frame),
            None => program.local_bytes.into(),
        }
    }
}
