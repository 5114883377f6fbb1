//! What goes beside the threads to shared memory of the cluster, and tells an mbarrier there: to which blocks, and the ways
//! that lead from shared memory and from registers (`cp.async.bulk` from block to block, `st.async`, `red.async`).
//!
//! Whatever it is, first each destination's barrier is looked at (`at_destination`), then the place, and last the bytes are
//! under way (`send_bulk`): an agent's access in the destination's memory, which lands there as any bulk copy does.

use crate::Fault;
use crate::machine::lanes::{LANES, each};
use crate::machine::order::{Agent, Kind};
use crate::machine::state::bulk_load::BulkLoad;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, Atomic, BLOCK_WINDOW, Extended, File, Slot};

/// Where something goes: the rank of a block, and the addresses there of its place and of the barrier that is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination {
    pub rank: u32,
    pub to: u64,
    pub barrier: u64,
}

impl Worker<'_> {
    /// The blocks to which something goes that tells a barrier there: the one that the addresses name, or those that a mask
    /// of ranks names, at the same places of their shared memory.
    pub(crate) fn destinations(
        &mut self,
        warp: &mut Warp,
        (to, barrier): (&Access, &Access),
        lane: usize,
        ranks: Option<u32>,
    ) -> Result<Vec<Destination>, Box<Fault>> {
        let mut address = |access: &Access| {
            self.shared_addresses(warp, access, 1 << lane)?;
            Ok::<u64, Box<Fault>>(warp.scratch.addresses.0[lane])
        };
        let [to_address, barrier_address] = [address(to)?, address(barrier)?];
        let size = self.context.shape.cluster_size();
        let own = Destination { rank: self.rank_of_block(self.state.block), to: to_address, barrier: barrier_address };
        if size == 1 && ranks.is_none() {
            return Ok(vec![own]);
        }
        let (rank, there) = (to_address / BLOCK_WINDOW, barrier_address / BLOCK_WINDOW);
        if to.of_cluster && rank != there {
            return Err(self.convict_barrier_elsewhere(warp, to, lane, (rank, there)));
        }
        let Some(ranks) = ranks else {
            let far = to.of_cluster && rank < size.into();
            return Ok(vec![Destination { rank: if far { rank as u32 } else { own.rank }, ..own }]);
        };
        let ranks = ranks & 0xffff;
        if ranks == 0 || ranks >> size.min(16) != 0 {
            return Err(self.convict_mask(warp, to, lane, ranks));
        }
        let place = |address: u64, rank: usize| address % BLOCK_WINDOW + rank as u64 * BLOCK_WINDOW;
        let of = |rank: usize| Destination {
            rank: rank as u32,
            to: place(to_address, rank),
            barrier: place(barrier_address, rank),
        };
        Ok(each(ranks).map(of).collect())
    }

    /// Does something with the shared memory of a destination at hand, where its barrier may be told: with the barrier's
    /// place and its agent. The addresses at hand are those of the destination.
    pub(crate) fn at_destination<T>(
        &mut self,
        warp: &mut Warp,
        (to, barrier): (&Access, &Access),
        lane: usize,
        destination: Destination,
        deed: impl FnOnce(&mut Self, &mut Warp, u32, Agent) -> Result<T, Box<Fault>>,
    ) -> Result<T, Box<Fault>> {
        warp.scratch.addresses.0 = [destination.barrier; LANES];
        self.with_memory_of(warp, to, (destination.rank, 1 << lane), |worker, warp, _| {
            let place = worker.offsets(warp, barrier, 1 << lane)?[lane];
            worker.check_mbarrier(warp, barrier, 1 << lane, place)?;
            worker.check_fenced(warp, barrier, lane, place)?;
            let Some(agent) = worker.agent_of_object(place) else {
                return Err(worker.convict_no_object(warp, barrier, lane, place));
            };
            warp.scratch.addresses.0 = [destination.to; LANES];
            deed(worker, warp, place, agent)
        })
    }

    /// Something is under way to the shared memory of a block, where its place was looked at.
    pub(crate) fn send_bulk(
        &mut self,
        warp: &mut Warp,
        to: &Access,
        lane: usize,
        (rank, load): (u32, BulkLoad),
        kind: Kind,
    ) -> Result<(), Box<Fault>> {
        let asker = (self.state.block, load.thread);
        self.with_memory_of(warp, to, (rank, 1 << lane), |worker, warp, _| {
            let Some(agent) = worker.agent_of_object(load.barrier) else { return Ok(()) };
            let asking = ((warp.number, lane as u32), worker.state.owner, agent);
            worker.state.mbarriers.note_asker(agent.number, to.at, asker);
            for (start, length) in &load.pieces {
                worker.agent_access(warp, to, (load.to + start, *length), asking, kind)?;
            }
            worker.state.mbarriers.loads.push(load);
            Ok(())
        })?;
        self.state.wrote();
        Ok(())
    }

    /// From own shared memory to that of another block of the cluster, or combined with what stands there.
    pub(crate) fn bulk_exchange(
        &mut self,
        warp: &mut Warp,
        (from, to_index, barrier): (&Access, u32, &Access),
        (lane, length): (usize, u32),
        reduce: Option<Atomic>,
    ) -> Result<(), Box<Fault>> {
        let to = &self.context.program.accesses[to_index as usize];
        let source = self.bulk_offset(warp, from, lane, length)?;
        self.check_objects_in(warp, from, lane, source, length)?;
        let (thread, block) = (warp.number * LANES as u32 + lane as u32, self.state.block);
        for destination in self.destinations(warp, (to, barrier), lane, None)? {
            let (place, at, of, agent) =
                self.at_destination(warp, (to, barrier), lane, destination, |worker, warp, place, agent| {
                    let at = worker.bulk_offset_at(warp, to, lane, length)?;
                    worker.check_objects_in(warp, to, lane, at, length)?;
                    worker.state.mbarriers.note_asker(agent.number, from.at, (block, thread));
                    Ok((place, at, worker.state.owner, agent))
                })?;
            let asker = ((warp.number, lane as u32), of, agent);
            self.agent_access(warp, from, (source, length), asker, Kind::Read)?;
            let first = source as usize / 4;
            let words = self.state.shared[first..first + length as usize / 4].to_vec();
            let grain = self.context.program.shared_grain;
            let is_unwritten = |byte: &u32| {
                let cells = &self.state.cells;
                !cells.is_empty() && cells.write((source + byte) / grain).epoch() < self.state.first_epoch
            };
            let unwritten = (0..length).filter(is_unwritten).collect();
            let load = BulkLoad::whole((place, at, words), reduce, unwritten, (block, thread, to.at, to_index));
            let kind = if reduce.is_some() { Kind::Atomic } else { Kind::Write };
            self.send_bulk(warp, to, lane, (destination.rank, load), kind)?;
        }
        Ok(())
    }

    /// `st.async` and `red.async`: a lane's registers to a place in the shared memory of a block of the cluster.
    pub(crate) fn send(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        lane: usize,
        (bytes, reduce): (u32, Option<Atomic>),
    ) -> Result<(), Box<Fault>> {
        let [to_index, barrier] = [extended.accesses[0], extended.accesses[1]];
        let accesses = &self.context.program.accesses;
        let (to, barrier) = (&accesses[to_index as usize], &accesses[barrier as usize]);
        let (thread, block) = (warp.number * LANES as u32 + lane as u32, self.state.block);
        for destination in self.destinations(warp, (to, barrier), lane, None)? {
            let (place, at) =
                self.at_destination(warp, (to, barrier), lane, destination, |worker, warp, place, _| {
                    let at = worker.offsets(warp, to, 1 << lane)?[lane];
                    worker.check_objects_in(warp, to, lane, at, to.bytes())?;
                    Ok((place, at))
                })?;
            let value = |(file, slot): &(File, Slot)| warp.wide(*file, *slot, lane);
            let words = extended
                .reads
                .iter()
                .map(value)
                .flat_map(|value| [value as u32, (value >> 32) as u32].into_iter().take(bytes as usize / 4));
            let (words, unwritten) = (words.collect(), self.unwritten_bytes(warp, extended, lane, bytes));
            let load = BulkLoad::whole((place, at, words), reduce, unwritten, (block, thread, to.at, to_index));
            let kind = if reduce.is_some() { Kind::Atomic } else { Kind::Write };
            self.send_bulk(warp, to, lane, (destination.rank, load), kind)?;
        }
        Ok(())
    }

    /// The bytes of a lane's registers that nobody wrote.
    fn unwritten_bytes(&self, warp: &Warp, extended: &Extended, lane: usize, bytes: u32) -> Vec<u32> {
        let Some(taint) = &warp.taint else { return Vec::new() };
        let of = |(n, (file, slot)): (usize, &(File, Slot))| {
            let (missing, computed) = taint.of_lane(*file, *slot, lane);
            let missing = if computed { 0xff } else { missing };
            (0..bytes).filter(move |byte| missing >> byte & 1 == 1).map(move |byte| n as u32 * bytes + byte)
        };
        extended.reads.iter().enumerate().flat_map(of).collect()
    }
}
