//! Bulk copies (`cp.async.bulk`): one thread asks for many bytes, and they move beside the threads.
//!
//! What a copy reads or writes in shared memory is an agent's access (`order::agents`) from the moment that it is asked for:
//! who has not seen its phase, or waited for its group, must not touch the place. A copy to shared memory lands
//! when somebody asks its barrier in vain (`mbarrier`).

use std::sync::atomic::Ordering::Relaxed;

use super::async_copy::SourceUnderWay;
use super::atomic::apply;
use super::block::Worker;
use super::global_access::verdict_on;
use super::lanes::{LANES, each};
use super::mbarrier::{BulkLoad, Groups};
use super::order::{Agent, Kind};
use super::ordered::{Deed, Target};
use super::race::Stamp;
use super::shared_access::read_shared;
use super::warp::Warp;
use crate::global::locate;
use crate::program::{Access, Atomic, BLOCK_WINDOW, Bulk, Extended, File, Slot};
use crate::{Fault, FaultKind};

/// Addresses and sizes are multiples of it.
const UNIT: u32 = 16;

/// Where something goes: the rank of a block, and the addresses there of its place and of the barrier that is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destination {
    pub rank: u32,
    pub to: u64,
    pub barrier: u64,
}

impl Worker<'_> {
    pub(super) fn bulk(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        bulk: Bulk,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let accesses = &self.context.program.accesses;
        let bytes = |warp: &Warp, lane: usize| match extended.reads.first() {
            Some(&(file, slot)) => warp.wide(file, slot, lane) as u32,
            None => 0,
        };
        match (bulk, extended.accesses.as_slice()) {
            (Bulk::Load | Bulk::Multicast, &[from, to, barrier]) => {
                let ranks = extended.reads.get(1).filter(|_| bulk == Bulk::Multicast);
                for lane in each(mask) {
                    let length = bytes(warp, lane);
                    let ranks = ranks.map(|&(file, slot)| warp.wide(file, slot, lane) as u32);
                    let [from, barrier] = [from, barrier].map(|index| &accesses[index as usize]);
                    self.bulk_load(warp, (from, to, barrier), (lane, length), ranks)?;
                }
            }
            (Bulk::Exchange(reduce), &[from, to, barrier]) => {
                for lane in each(mask) {
                    let length = bytes(warp, lane);
                    let [from, barrier] = [from, barrier].map(|index| &accesses[index as usize]);
                    self.bulk_exchange(warp, (from, to, barrier), (lane, length), reduce)?;
                }
            }
            (Bulk::Send { bytes, reduce }, _) => {
                for lane in each(mask) {
                    self.send(warp, extended, lane, (bytes, reduce))?;
                }
            }
            (Bulk::Store(reduce), &[from, to]) => {
                for lane in each(mask) {
                    let length = bytes(warp, lane);
                    let [from, to] = [from, to].map(|index| &accesses[index as usize]);
                    self.bulk_store(warp, (from, to), (lane, length), reduce)?;
                }
            }
            (Bulk::Commit, _) => {
                for lane in each(mask) {
                    let thread = warp.number * LANES as u32 + lane as u32;
                    if let Some(groups) = self.state.mbarriers.groups.get_mut(&thread) {
                        groups.committed += 1;
                    }
                }
            }
            (Bulk::Wait { pending, read: _ }, _) => {
                for lane in each(mask) {
                    let thread = warp.number * LANES as u32 + lane as u32;
                    let Some(groups) = self.state.mbarriers.groups.get(&thread).copied() else { continue };
                    let time = groups.committed.saturating_sub(pending);
                    if let Some(clocks) = self.clocks.as_mut().filter(|_| time > 0) {
                        let agent = Agent { number: groups.agent, time };
                        clocks.learn_of_agent(self.state.block as u32, (warp.number, 1 << lane), warp.live, agent);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check_length(&self, warp: &Warp, access: &Access, lane: usize, length: u32) -> Result<(), Box<Fault>> {
        if length == 0 || !length.is_multiple_of(UNIT) {
            let what = format!("of {length} bytes, which is no multiple of {UNIT}");
            return Err(self.convict_bulk(warp, access, lane, FaultKind::Misaligned, &what));
        }
        Ok(())
    }

    /// Where a lane's bytes lie in own shared memory: all within it, and in units.
    fn bulk_offset(&self, warp: &mut Warp, access: &Access, lane: usize, length: u32) -> Result<u32, Box<Fault>> {
        self.check_length(warp, access, lane, length)?;
        self.shared_addresses(warp, access, 1 << lane)?;
        self.bulk_offset_at(warp, access, lane, length)
    }

    /// The same where the address is at hand.
    fn bulk_offset_at(&self, warp: &mut Warp, access: &Access, lane: usize, length: u32) -> Result<u32, Box<Fault>> {
        let offset = self.offsets(warp, access, 1 << lane)?[lane];
        let end = access.within.1.min(self.shared_bytes);
        if offset.checked_add(length).is_none_or(|last| last > end) {
            let what = format!("of {length} bytes runs past the end of {}", self.shared_in_words(access));
            return Err(self.convict_bulk(warp, access, lane, FaultKind::OutOfBounds, &what));
        }
        Ok(offset)
    }

    /// Where a lane's bytes lie in global memory: all within a buffer, and in units.
    fn bulk_home(
        &self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        length: u32,
    ) -> Result<(usize, usize), Box<Fault>> {
        warp.set_addresses(access, 1 << lane);
        let address = warp.scratch.addresses.0[lane];
        let (buffer, offset) = locate(address);
        let Some(memory) = self.context.memory.buffers.get(buffer) else {
            let what = format!("at address {address:#x}, which lies in no buffer");
            return Err(self.convict_bulk(warp, access, lane, FaultKind::OutOfBounds, &what));
        };
        let whole = verdict_on(memory, offset, length.into()).filter(|(kind, _)| *kind != FaultKind::Misaligned);
        let unit = verdict_on(memory, offset, UNIT.into()).filter(|(kind, _)| *kind == FaultKind::Misaligned);
        match whole.or(unit) {
            None => Ok((buffer, offset as usize)),
            Some((kind, what)) => {
                let what = format!("of {length} bytes {what}");
                Err(self.convict_bulk(warp, access, lane, kind, &what))
            }
        }
    }

    /// From global memory to shared memory: of one thread block, or of all that a mask of ranks names.
    fn bulk_load(
        &mut self,
        warp: &mut Warp,
        (from, to_index, barrier): (&Access, u32, &Access),
        (lane, length): (usize, u32),
        ranks: Option<u32>,
    ) -> Result<(), Box<Fault>> {
        let to = &self.context.program.accesses[to_index as usize];
        let destinations = self.destinations(warp, (to, barrier), lane, ranks)?;
        // Where all is wrong, the barrier is named first.
        let mut agents = Vec::with_capacity(destinations.len());
        for destination in &destinations {
            agents.push(self.at_destination(warp, (to, barrier), lane, *destination, |worker, warp, place, _| {
                worker.check_length(warp, to, lane, length)?;
                let at = worker.bulk_offset_at(warp, to, lane, length)?;
                worker.check_objects_in(warp, to, lane, at, length)?;
                Ok((place, at))
            })?);
        }
        let (buffer, offset) = self.bulk_home(warp, from, lane, length)?;
        let memory = &self.context.memory.buffers[buffer];
        let (thread, block) = (warp.number * LANES as u32 + lane as u32, self.state.block);
        let address = warp.scratch.addresses.0[lane];
        self.read_source(warp, from, lane, address, length, true)?;
        (offset / 32..(offset + length as usize).div_ceil(32)).for_each(|sector| memory.touch_sector(sector));
        let words: Vec<u32> = (0..length as usize / 4).map(|n| memory.load_word(offset / 4 + n)).collect();
        let unwritten: Vec<u32> = match memory.written.get() {
            Some(written) => (0..length).filter(|n| written[offset + *n as usize].load(Relaxed) == 0).collect(),
            None => Vec::new(),
        };
        for (destination, (place, at)) in destinations.iter().zip(agents) {
            if memory.watch.is_some() {
                let (at_from, length) = (from.at, length as usize);
                self.sources.push(SourceUnderWay { block, thread, at: at_from, buffer, offset, length, to: at });
            }
            let (words, unwritten) = (words.clone(), unwritten.clone());
            let load =
                BulkLoad { barrier: place, to: at, words, reduce: None, unwritten, block, thread, at: to.at, to_index };
            self.send_bulk(warp, to, lane, (destination.rank, load), Kind::Write)?;
        }
        Ok(())
    }

    /// The blocks to which something goes that tells a barrier there: the one that the addresses name, or those that a mask
    /// of ranks names, at the same places of their shared memory.
    pub(super) fn destinations(
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
    pub(super) fn at_destination<T>(
        &mut self,
        warp: &mut Warp,
        (to, barrier): (&Access, &Access),
        lane: usize,
        destination: Destination,
        deed: impl FnOnce(&mut Self, &mut Warp, u32, Agent) -> Result<T, Box<Fault>>,
    ) -> Result<T, Box<Fault>> {
        warp.scratch.addresses.0 = [destination.barrier; LANES];
        self.at_rank(warp, to, (destination.rank, 1 << lane), |worker, warp, _| {
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
    pub(super) fn send_bulk(
        &mut self,
        warp: &mut Warp,
        to: &Access,
        lane: usize,
        (rank, load): (u32, BulkLoad),
        kind: Kind,
    ) -> Result<(), Box<Fault>> {
        let asker = (self.state.block, load.thread);
        self.at_rank(warp, to, (rank, 1 << lane), |worker, warp, _| {
            let Some(agent) = worker.agent_of_object(load.barrier) else { return Ok(()) };
            let (of, length) = (worker.state.owner, 4 * load.words.len() as u32);
            worker.state.mbarriers.note_asker(agent.number, to.at, asker);
            worker.agent_access(warp, to, (load.to, length), ((warp.number, lane as u32), of, agent), kind)?;
            worker.state.mbarriers.loads.push(load);
            Ok(())
        })?;
        self.state.writes += 1;
        Ok(())
    }

    /// From own shared memory to that of another block of the cluster, or combined with what stands there.
    fn bulk_exchange(
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
            let load =
                BulkLoad { barrier: place, to: at, words, reduce, unwritten, block, thread, at: to.at, to_index };
            let kind = if reduce.is_some() { Kind::Atomic } else { Kind::Write };
            self.send_bulk(warp, to, lane, (destination.rank, load), kind)?;
        }
        Ok(())
    }

    /// `st.async` and `red.async`: a lane's registers to a place in the shared memory of a block of the cluster.
    fn send(
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
            let load =
                BulkLoad { barrier: place, to: at, words, reduce, unwritten, block, thread, at: to.at, to_index };
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

    /// A bulk copy to shared memory lands, and tells its barrier.
    pub(super) fn land_bulk(&mut self, load: &BulkLoad) -> Result<(), Box<Fault>> {
        let length = 4 * load.words.len() as u32;
        let start = load.to as usize / 4;
        let words = &mut self.state.shared[start..start + load.words.len()];
        match load.reduce {
            None => words.copy_from_slice(&load.words),
            Some(atomic) => {
                let bytes: Vec<u8> = load.words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let old = |n: usize, width: u32| read_shared(words, n as u32, width);
                let new = combined(&bytes, atomic, old, false);
                for (word, bytes) in words.iter_mut().zip(new.as_chunks::<4>().0) {
                    *word = u32::from_le_bytes(*bytes);
                }
            }
        }
        // What comes of memory that nobody wrote is as good as unwritten.
        if load.reduce.is_none() {
            self.mark_shared(load.to, length, Stamp::new(self.state.epoch, 0, load.at, load.thread));
        }
        for byte in &load.unwritten {
            self.mark_shared(load.to + byte, 1, Stamp::default());
        }
        let landed = (load.block, load.thread, load.to);
        if let Some(n) = self.sources.iter().position(|source| (source.block, source.thread, source.to) == landed) {
            self.sources.remove(n);
        }
        self.state.writes += 1;
        self.seen.changed = true;
        let who = Box::new(Warp { number: load.thread / LANES as u32, ..Warp::default() });
        let access = &self.context.program.accesses[load.to_index as usize];
        let lane = load.thread as usize % LANES;
        self.expect(&who, access, (lane, load.barrier), -i64::from(length))
    }

    fn bulk_store(
        &mut self,
        warp: &mut Warp,
        (from, to): (&Access, &Access),
        (lane, length): (usize, u32),
        reduce: Option<Atomic>,
    ) -> Result<(), Box<Fault>> {
        let at = self.bulk_offset(warp, from, lane, length)?;
        let (buffer, offset) = self.bulk_home(warp, to, lane, length)?;
        let memory = &self.context.memory.buffers[buffer];
        let thread = warp.number * LANES as u32 + lane as u32;
        let mbarriers = &mut self.state.mbarriers;
        let groups = match mbarriers.groups.get(&thread) {
            Some(groups) => *groups,
            None => Groups { agent: mbarriers.new_agent(), committed: 0 },
        };
        mbarriers.groups.insert(thread, groups);
        mbarriers.note_asker(groups.agent, from.at, (self.state.block, thread));
        let agent = Agent { number: groups.agent, time: groups.committed + 1 };
        self.check_objects_in(warp, from, lane, at, length)?;
        self.agent_access(warp, from, (at, length), ((warp.number, lane as u32), self.state.block, agent), Kind::Read)?;
        let old = (at..at + length).map(|byte| read_shared(&self.state.shared, byte, 1) as u8);
        let bytes: Vec<u8> = old.collect();
        let bytes = match reduce {
            None => bytes,
            Some(atomic) => combined(&bytes, atomic, |n, width| memory.load(offset + n, width), true),
        };
        if memory.watch.is_some() {
            if self.global_by_clocks() {
                let kind = if reduce.is_some() { Kind::Atomic } else { Kind::Write };
                let target = Target::Global(buffer, memory);
                let deed = Deed { keep: false, ..Deed::new(kind, length) };
                self.order_access(warp, to, 1 << lane, target, deed)?;
                let deed = Deed { check: false, ..Deed::new(kind, length) };
                self.order_access(warp, to, 1 << lane, target, deed)?;
            } else {
                self.watch_bytes((warp, to, lane), memory, offset, &bytes)?;
            }
        }
        self.state.writes += 1;
        (offset / 32..(offset + length as usize).div_ceil(32)).for_each(|sector| memory.touch_sector(sector));
        for (n, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
            memory.store(offset + 4 * n, 4, u32::from_le_bytes(*word).into());
        }
        let grain = self.context.program.shared_grain;
        let is_unwritten = |byte: u32| {
            let cells = &self.state.cells;
            !cells.is_empty() && cells.write((at + byte) / grain).epoch() < self.state.first_epoch
        };
        let some = (0..length).step_by(grain.min(4) as usize).any(is_unwritten);
        if some || memory.written.get().is_some() {
            let written = memory.all_written();
            (0..length).for_each(|n| written[offset + n as usize].store(u8::from(!is_unwritten(n)), Relaxed));
        }
        Ok(())
    }

    /// Bulk copies must not meet a barrier in shared memory either.
    fn check_objects_in(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        at: u32,
        length: u32,
    ) -> Result<(), Box<Fault>> {
        match self.state.mbarriers.at(at, length).filter(|_| self.context.sanitize) {
            None => Ok(()),
            Some(place) => Err(self.convict_plain_use(warp, access, lane as u32, place, "bulk copy")),
        }
    }
}

/// What bytes become that are combined, element by element, with those of memory: global memory, or shared.
fn combined(bytes: &[u8], atomic: Atomic, old: impl Fn(usize, u32) -> u64, global: bool) -> Vec<u8> {
    let width = usize::from(atomic.bits) / 8;
    let element = |n: usize| {
        let mut value = [0; 8];
        value[..width].copy_from_slice(&bytes[n * width..(n + 1) * width]);
        let new = apply(atomic, old(n * width, width as u32), [u64::from_le_bytes(value), 0], global);
        new.to_le_bytes().into_iter().take(width)
    };
    (0..bytes.len() / width).flat_map(element).collect()
}
