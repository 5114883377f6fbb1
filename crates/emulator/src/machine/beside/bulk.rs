//! Bulk copies (`cp.async.bulk`): one thread asks for many bytes, and they move beside the threads.
//!
//! What a copy reads or writes in shared memory is an agent's access (`order::agents`) from the moment that it is asked for:
//! who has not seen its phase, or waited for its group, must not touch the place. The same holds of global memory: see
//! `global_agents`. Where it goes in a cluster, `destinations` says. A copy to shared memory lands when somebody asks its barrier
//! in vain (`mbarrier`).

use std::sync::atomic::Ordering::Relaxed;

use crate::global::locate;
use crate::machine::lanes::{LANES, each};
use crate::machine::memory::atomic::apply;
use crate::machine::memory::global_access::verdict_on;
use crate::machine::memory::shared_access::read_shared;
use crate::machine::order::{Agent, Kind};
use crate::machine::state::bulk_load::{BulkLoad, Groups};
use crate::machine::state::copies::SourceUnderWay;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::{Origin, Place};
use crate::program::{Access, Atomic, Bulk, Extended};
use crate::stamp::Stamp;
use crate::{Fault, FaultKind};

/// Addresses and sizes are multiples of it.
const UNIT: u32 = 16;

impl Worker<'_> {
    pub(crate) fn bulk(
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
            (Bulk::Tensor(tensor, rank), _) => return self.tensor(warp, extended, (tensor, rank), mask),
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
            (Bulk::Store(reduce), &[index, to]) => {
                for lane in each(mask) {
                    let length = bytes(warp, lane);
                    let [from, to] = [index, to].map(|index| &accesses[index as usize]);
                    let sectors = self.bulk_store(warp, (from, to), (lane, length), reduce)?;
                    self.tally.add_copy(index, 1, sectors);
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
            (Bulk::Wait { pending, read }, _) => {
                for lane in each(mask) {
                    let thread = warp.number * LANES as u32 + lane as u32;
                    let Some(groups) = self.state.mbarriers.groups.get(&thread).copied() else { continue };
                    let time = groups.committed.saturating_sub(pending);
                    let waited = groups.waited.max(time);
                    self.state.mbarriers.groups.insert(thread, Groups { waited, ..groups });
                    if let Some(clocks) = self.clocks.as_mut().filter(|_| time > 0) {
                        // What has been read may not be written yet.
                        for number in [Some(groups.agent), groups.writer.filter(|_| !read)].into_iter().flatten() {
                            let agent = Agent { number, time };
                            clocks.learn_of_agent(self.state.block as u32, (warp.number, 1 << lane), warp.live, agent);
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn check_length(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        length: u32,
    ) -> Result<(), Box<Fault>> {
        if length == 0 || !length.is_multiple_of(UNIT) {
            let what = format!("of {length} bytes, which is no multiple of {UNIT}");
            return Err(self.convict_bulk(warp, access, lane, FaultKind::Misaligned, &what));
        }
        Ok(())
    }

    /// Where a lane's bytes lie in own shared memory: all within it, and in units.
    pub(crate) fn bulk_offset(
        &self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        length: u32,
    ) -> Result<u32, Box<Fault>> {
        self.check_length(warp, access, lane, length)?;
        self.shared_addresses(warp, access, 1 << lane)?;
        self.bulk_offset_at(warp, access, lane, length)
    }

    /// The same where the address is at hand.
    pub(crate) fn bulk_offset_at(
        &self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        length: u32,
    ) -> Result<u32, Box<Fault>> {
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
        let mut places = Vec::with_capacity(destinations.len());
        for destination in &destinations {
            places.push(self.at_destination(
                warp,
                (to, barrier),
                lane,
                *destination,
                |worker, warp, place, agent| {
                    worker.check_length(warp, to, lane, length)?;
                    let at = worker.bulk_offset_at(warp, to, lane, length)?;
                    worker.check_objects_in(warp, to, lane, at, length)?;
                    Ok((place, at, (worker.state.owner, agent)))
                },
            )?);
        }
        let (buffer, offset) = self.bulk_home(warp, from, lane, length)?;
        let memory = &self.context.memory.buffers[buffer];
        let (thread, block) = (warp.number * LANES as u32 + lane as u32, self.state.block);
        let address = warp.scratch.addresses.0[lane];
        self.agents_read_global(warp, from, lane, (address, length), places.iter().map(|(_, _, agent)| *agent), true)?;
        let sectors = memory.touch(offset, length as usize);
        self.tally.add_copy(to_index, destinations.len() as u32, sectors);
        let words: Vec<u32> = (0..length as usize / 4).map(|n| memory.load_word(offset / 4 + n)).collect();
        let unwritten: Vec<u32> = match memory.written.get() {
            Some(written) => (0..length).filter(|n| written[offset + *n as usize].load(Relaxed) == 0).collect(),
            None => Vec::new(),
        };
        for (destination, (place, at, _)) in destinations.iter().zip(places) {
            let watched = memory.watch.is_some();
            if watched {
                let (at_from, length) = (from.at, length as usize);
                self.sources.push(SourceUnderWay { block, thread, at: at_from, buffer, offset, length, to: at });
            }
            let (words, unwritten) = (words.clone(), unwritten.clone());
            let load = BulkLoad::whole((place, at, words), None, unwritten, (block, thread, to.at, to_index));
            let load = BulkLoad { sources: watched.into(), ..load };
            self.send_bulk(warp, to, lane, (destination.rank, load), Kind::Write)?;
        }
        Ok(())
    }

    /// A bulk copy to shared memory lands, and tells its barrier.
    pub(crate) fn land_bulk(&mut self, load: &BulkLoad) -> Result<(), Box<Fault>> {
        if let Some(atomic) = load.reduce {
            let start = load.to as usize / 4;
            let words = &mut self.state.shared[start..start + load.words.len()];
            let bytes: Vec<u8> = load.words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let old = |n: usize, width: u32| read_shared(words, n as u32, width);
            let new = combined(&bytes, atomic, old, false);
            for (word, bytes) in words.iter_mut().zip(new.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*bytes);
            }
        } else {
            for &(start, length) in &load.pieces {
                let (from, to) = (start as usize / 4, (load.to + start) as usize / 4);
                let words = length as usize / 4;
                self.state.shared[to..to + words].copy_from_slice(&load.words[from..from + words]);
                // What comes of memory that nobody wrote is as good as unwritten.
                self.mark_shared(load.to + start, length, Stamp::new(self.state.epoch, 0, load.at, load.thread));
            }
        }
        for byte in &load.unwritten {
            self.mark_shared(load.to + byte, 1, Stamp::default());
            let (place, at) = (Place::Brought(load.to + byte), load.at);
            let origin = Origin { place, at, thread: load.thread, block: load.block };
            self.note_shared_copy(load.to + byte, Some(origin));
        }
        let landed = (load.block, load.thread, load.to);
        let mut left = load.sources;
        self.sources.retain(|source| {
            let is_it = left > 0 && (source.block, source.thread, source.to) == landed;
            left -= usize::from(is_it);
            !is_it
        });
        let who = Box::new(Warp { number: load.thread / LANES as u32, ..Warp::default() });
        let access = &self.context.program.accesses[load.to_index as usize];
        let lane = load.thread as usize % LANES;
        self.expect(&who, access, (lane, load.barrier), -i64::from(load.bytes()))
    }

    /// From shared memory to global memory, or combined with what stands there; returns how many sectors that are.
    fn bulk_store(
        &mut self,
        warp: &mut Warp,
        (from, to): (&Access, &Access),
        (lane, length): (usize, u32),
        reduce: Option<Atomic>,
    ) -> Result<u64, Box<Fault>> {
        let at = self.bulk_offset(warp, from, lane, length)?;
        let (buffer, offset) = self.bulk_home(warp, to, lane, length)?;
        let agent = self.agent_of_groups(warp, from, lane, at);
        self.check_objects_in(warp, from, lane, at, length)?;
        let asking = ((warp.number, lane as u32), self.state.block, agent);
        self.agent_access(warp, from, (at, length), asking, Kind::Read)?;
        let bytes = (at..at + length).map(|byte| read_shared(&self.state.shared, byte, 1) as u8).collect();
        self.put_global((warp, to, lane), (buffer, offset), (bytes, Some(&|n| at + n)), reduce)
    }

    /// What stands for a lane's bulk copies out of shared memory, at a place, since its last group.
    pub(crate) fn agent_of_groups(&mut self, warp: &Warp, from: &Access, lane: usize, at: u32) -> Agent {
        let thread = warp.number * LANES as u32 + lane as u32;
        let mbarriers = &mut self.state.mbarriers;
        let groups = match mbarriers.groups.get(&thread) {
            Some(groups) => *groups,
            None => {
                Groups { agent: mbarriers.new_agent(), writer: None, committed: 0, last: Default::default(), waited: 0 }
            }
        };
        let groups = Groups { last: (from.at, at, groups.committed + 1), ..groups };
        mbarriers.groups.insert(thread, groups);
        mbarriers.note_asker(groups.agent, from.at, (self.state.block, thread));
        Agent { number: groups.agent, time: groups.committed + 1 }
    }

    /// Bytes go to a buffer, and how many sectors these are, for a lane whose address is at hand; byte `n` of them lay at `home(n)` in shared memory, if
    /// that is where they come from.
    pub(crate) fn put_global(
        &mut self,
        (warp, to, lane): (&mut Warp, &Access, usize),
        (buffer, offset): (usize, usize),
        (bytes, home): (Vec<u8>, Option<&dyn Fn(u32) -> u32>),
        reduce: Option<Atomic>,
    ) -> Result<u64, Box<Fault>> {
        let memory = &self.context.memory.buffers[buffer];
        let length = bytes.len() as u32;
        let bytes = match reduce {
            None => bytes,
            Some(atomic) => combined(&bytes, atomic, |n, width| memory.load(offset + n, width), true),
        };
        let (first, whole) = self.whole_cells(offset as u64, length);
        if memory.watch.is_some() && whole > 0 {
            let part = first as usize - offset..first as usize - offset + whole as usize;
            if home.is_some() {
                let (kind, bytes) = (if reduce.is_some() { Kind::Atomic } else { Kind::Write }, &bytes[part]);
                self.agent_writes_global((warp, to, lane), buffer, (first as usize, bytes), kind)?;
            } else if self.global_by_clocks() {
                let skipped = first - offset as u64;
                warp.scratch.addresses.0[lane] = warp.scratch.addresses.0[lane].wrapping_add(skipped);
                let target = Target::Global(buffer, memory);
                let deed = Deed { keep: false, ..Deed::new(Kind::Write, whole) };
                self.order_access(warp, to, 1 << lane, target, deed)?;
                let deed = Deed { check: false, ..Deed::new(Kind::Write, whole) };
                self.order_access(warp, to, 1 << lane, target, deed)?;
            } else {
                self.watch_bytes((warp, to, lane), memory, first as usize, &bytes[part])?;
            }
        }
        self.state.wrote();
        let sectors = memory.touch(offset, length as usize);
        if (offset | bytes.len()).is_multiple_of(4) {
            for (n, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                memory.store(offset + 4 * n, 4, u32::from_le_bytes(*word).into());
            }
        } else {
            for (n, byte) in bytes.iter().enumerate() {
                memory.store(offset + n, 1, (*byte).into());
            }
        }
        let grain = self.context.program.shared_grain;
        let is_unwritten = |n: u32| {
            let cells = &self.state.cells;
            let unwritten = |at: u32| cells.write(at / grain).epoch() < self.state.first_epoch;
            !cells.is_empty() && home.is_some_and(|home| unwritten(home(n)))
        };
        let some = (0..length).step_by(grain.min(4) as usize).any(is_unwritten);
        if (some || memory.written.get().is_some()) && !memory.is_sparse() {
            let written = memory.all_written();
            (0..length).for_each(|n| written[offset + n as usize].store(u8::from(!is_unwritten(n)), Relaxed));
            let grain = grain.min(4) as usize;
            for n in (0..length).step_by(grain).filter(|n| is_unwritten(*n)) {
                let origin = home.map(|home| self.origin(warp, lane, to.at, Place::Shared(home(n))));
                self.note_global_copy((warp, lane, to.at), memory, offset + n as usize, origin);
            }
        }
        Ok(sectors)
    }

    /// Bulk copies must not meet a barrier in shared memory either.
    pub(crate) fn check_objects_in(
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
