//! The barrier of a cluster (`barrier.cluster`): threads arrive, and later wait until all of the cluster have.
//!
//! Threads that have ended count as arrived. A thread that arrives waits before it arrives again. Waiting is asking in a
//! loop, so that the thread block's turn ends as with any other wait.

use crate::Fault;
use crate::machine::lanes::LANES;
use crate::machine::state::barriers::ClusterBarrier;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{ClusterBarrier as Deed, Extended};

impl Worker<'_> {
    /// The barrier of the present block's cluster, with room for all of its warps.
    fn cluster(&mut self) -> (&mut ClusterBarrier, usize) {
        let size = u64::from(self.context.shape.cluster_size());
        let (warps, block) = (self.state.warps.len(), self.state.block);
        let barrier = self.others.clusters.entry(block / size).or_default();
        if barrier.arrived.is_empty() {
            barrier.arrived = vec![vec![(0, 0); warps]; size as usize];
            barrier.owing = vec![vec![0; warps]; size as usize];
        }
        (barrier, (block % size) as usize)
    }

    pub(crate) fn cluster_barrier(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        deed: Deed,
        (mask, at): (u32, u32),
    ) -> Result<(), Box<Fault>> {
        let n = warp.number as usize;
        let block = self.state.block as u32;
        let (barrier, rank) = self.cluster();
        match deed {
            Deed::Arrive { relaxed } => {
                let twice = barrier.owing[rank][n] & mask;
                if twice != 0 {
                    let before = barrier.arrived[rank][n].1;
                    return Err(self.convict_cluster_arrival(warp, (twice, at), before));
                }
                let arrived = barrier.arrived[rank][n].0 | mask;
                barrier.arrived[rank][n] = (arrived, at);
                barrier.owing[rank][n] |= mask;
                if let Some(clocks) = &mut self.clocks {
                    clocks.arrive_in_cluster(block, (warp.number, mask), relaxed);
                }
                self.state.wrote();
                self.complete_cluster(warp);
            }
            Deed::Wait => {
                let without = mask & !barrier.owing[rank][n];
                if without != 0 {
                    return Err(self.convict_cluster_wait(warp, (without, at)));
                }
            }
            Deed::Test => {
                self.complete_cluster(warp);
                let (barrier, rank) = self.cluster();
                let done = mask & !barrier.arrived[rank][n].0;
                barrier.owing[rank][n] &= !done;
                let out: [u64; LANES] = std::array::from_fn(|lane| u64::from(done >> lane & 1));
                if let Some(&(file, d)) = extended.writes.first() {
                    warp.set_wide(file, d, &out, mask);
                }
                if done != 0
                    && let Some(clocks) = &mut self.clocks
                {
                    clocks.observe_cluster(block, (warp.number, done), warp.live);
                }
                self.polled(warp, at, [u64::from(done)].into_iter());
            }
        }
        Ok(())
    }

    /// Ends the present phase, if all threads of the cluster that have not ended have arrived. `present` is the warp that
    /// runs, and not in the list of the others.
    fn complete_cluster(&mut self, present: &Warp) {
        let (number, size) = (self.state.block, u64::from(self.context.shape.cluster_size()));
        let Some(barrier) = self.others.clusters.get(&(number / size)) else { return };
        let awaited = self.awaited_in_cluster(barrier, present).next().is_some();
        if awaited {
            return;
        }
        let Some(barrier) = self.others.clusters.get_mut(&(number / size)) else { return };
        barrier.phase += 1;
        barrier.arrived.iter_mut().flatten().for_each(|arrived| arrived.0 = 0);
        if let Some(clocks) = &mut self.clocks {
            clocks.complete_cluster((number / size) as u32);
        }
    }
}
