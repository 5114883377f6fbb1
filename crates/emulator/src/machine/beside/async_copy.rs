//! `cp.async`: copies from global to shared memory that land when their thread waits for them. Until then
//! nobody may read or write its destination; a barrier gives it to the other threads.

use std::sync::atomic::Ordering::Relaxed;

use crate::global::{BufferMemory, locate};
use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::memory::global_access::verdict_on;
use crate::machine::order::{Agent, Kind};
use crate::machine::state::copies::{Copy, SourceUnderWay, Waited};
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::global_pattern::Road;
use crate::machine::state::mbarriers::Deferred;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::Place;
use crate::program::{Access, CopySize, Extended};
use crate::stamp::Stamp;
use crate::{Fault, FaultKind};

impl Worker<'_> {
    pub(crate) fn copy_async(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        (size, road): (CopySize, Road),
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let accesses = &self.context.program.accesses;
        let [from_index, to_index] = extended.accesses[..] else { return Ok(()) };
        let (from, to) = (&accesses[from_index as usize], &accesses[to_index as usize]);
        let length = from.bytes();
        let sizes = warp.asked_bytes(extended, size, length);
        if let Some(lane) = each(mask & mask_where(|lane| sizes[lane] > length)).next() {
            let what = format!("is to read {} bytes", sizes[lane]);
            return Err(self.convict_access(warp, from, lane, FaultKind::OutOfBounds, &what));
        }
        let reading = mask & mask_where(|lane| sizes[lane] > 0);
        let whole = mask & mask_where(|lane| sizes[lane] == length);
        if whole == 0 && reading != 0 && self.context.sanitize {
            let first = sizes[reading.trailing_zeros() as usize];
            if first < length && reading & !mask_where(|lane| sizes[lane] == first) == 0 {
                self.note_parts(warp, reading, from.at, (first, length));
            }
        }
        let watched = reading != 0 && self.check_source(warp, (from, from_index, road), (reading, whole), &sizes)?;
        // (Of lanes that read.)
        let sources = warp.scratch.addresses.0;
        warp.set_addresses(to, mask);
        let serial = warp.copies.issued;
        warp.copies.issued += 1;
        let mut copy = Box::new(Copy {
            serial,
            epoch: self.state.epoch,
            lanes: mask,
            groups: warp.copies.groups,
            to: self.offsets(warp, to, mask)?,
            words: Default::default(),
            length,
            written: [u16::MAX; LANES],
            to_index,
            from_index,
            sources,
            read: sizes,
        });
        for lane in each(reading) {
            let (buffer, offset) = locate(sources[lane]);
            let (memory, at, size) = (&self.context.memory.buffers[buffer], offset as usize, sizes[lane] as usize);
            copy.words[lane] = words_at(memory, at, size);
            if let Some(written) = memory.written.get() {
                let unwritten = (0..size).filter(|n| written[at + n].load(Relaxed) == 0);
                copy.written[lane] = unwritten.fold(u16::MAX, |bits, n| bits & !(1 << n));
            }
        }
        copy.lanes = mask & !copy.repeated();
        self.claim_shared(warp, to, to_index, (mask, copy.lanes))?;
        if watched {
            each(reading & copy.lanes).for_each(|lane| self.note_source(warp, &copy, lane));
        }
        warp.copies.pending.push(copy);
        Ok(())
    }

    /// The lanes that read at all, and those that read all: within a buffer, and in no race. Says whether the launch
    /// may write what they read.
    fn check_source(
        &mut self,
        warp: &mut Warp,
        (access, index, road): (&Access, u32, Road),
        (reading, whole): (u32, u32),
        sizes: &[u32; LANES],
    ) -> Result<bool, Box<Fault>> {
        warp.set_addresses(access, reading);
        let sources = warp.scratch.addresses.0;
        for lane in each(reading & !whole) {
            let (buffer, offset) = locate(sources[lane]);
            let verdict = match self.context.memory.buffers.get(buffer) {
                None => Some((FaultKind::OutOfBounds, format!("at address {:#x}, in no buffer", sources[lane]))),
                // Only what is copied must lie within the buffer.
                Some(memory)
                    if offset >= 0 && offset + i64::from(sizes[lane]) <= memory.bytes as i64 && !memory.freed =>
                {
                    None
                }
                Some(memory) => verdict_on(memory, offset, access.bytes().into()),
            };
            if let Some((kind, what)) = verdict {
                return Err(self.convict_access(warp, access, lane, kind, &what));
            }
        }
        let home = if whole == 0 { None } else { self.home(warp, access, whole)? };
        // A copy of a part of its bytes costs what a whole one does.
        self.count_by(warp, access, index, reading, home, road);
        let buffers = &self.context.memory.buffers;
        let watched = match home {
            Some(buffer) => buffers[buffer].watch.is_some(),
            None => each(reading).any(|lane| buffers[locate(sources[lane]).0].watch.is_some()),
        };
        if watched {
            each(reading)
                .try_for_each(|lane| self.read_source(warp, access, lane, sources[lane], sizes[lane], true))?;
        }
        Ok(watched)
    }

    fn note_source(&mut self, warp: &Warp, copy: &Copy, lane: usize) {
        let (buffer, offset) = locate(copy.sources[lane]);
        if self.context.memory.buffers[buffer].watch.is_none() {
            return;
        }
        self.sources.push(SourceUnderWay {
            block: self.state.block,
            thread: warp.number * LANES as u32 + lane as u32,
            at: self.context.program.accesses[copy.from_index as usize].at,
            buffer,
            offset: offset as usize,
            length: copy.read[lane] as usize,
            to: copy.to[lane],
        });
    }

    /// Lets the copies land that are not in the lanes' last `pending` groups; all without.
    pub(crate) fn wait_for_copies(
        &mut self,
        warp: &mut Warp,
        pending: Option<u32>,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        if self.has_deferred() {
            // Of which a barrier in shared memory tells, too.
            self.fire_after(warp, |warp, lane, serial| {
                let of = warp.copies.groups[lane as usize];
                let before = |copy: &Copy| copy.serial < serial && copy.lanes >> lane & 1 == 1;
                let done = |copy: &Copy| pending.is_none_or(|n| copy.groups[lane as usize] + n < of);
                mask >> lane & 1 == 1 && warp.copies.pending.iter().all(|copy| !before(copy) || done(copy))
            })?;
        }
        let groups = warp.copies.groups;
        let mut copies = std::mem::take(&mut warp.copies.pending);
        for copy in &mut copies {
            let done = |lane: usize| pending.is_none_or(|pending| copy.groups[lane] + pending < groups[lane]);
            let lanes = copy.lanes & mask & mask_where(done);
            copy.lanes &= !lanes;
            if lanes != 0 {
                self.land(warp, copy, lanes, None)?;
            }
        }
        copies.retain(|copy| copy.lanes != 0);
        warp.copies.pending = copies;
        if self.context.sanitize {
            let issued = warp.copies.issued;
            warp.copies.waited = Some(Waited { leaves: pending.unwrap_or_default(), groups, issued });
        }
        Ok(())
    }

    /// The copies land that a lane began before an arrival that waits for them; an agent did them.
    pub(crate) fn land_before(&mut self, warp: &mut Warp, of: Deferred, agent: Agent) -> Result<(), Box<Fault>> {
        let mut copies = std::mem::take(&mut warp.copies.pending);
        for copy in &mut copies {
            let lanes = copy.lanes & 1 << of.lane;
            if copy.serial < of.serial && lanes != 0 {
                copy.lanes &= !lanes;
                self.land(warp, copy, lanes, Some(agent))?;
            }
        }
        copies.retain(|copy| copy.lanes != 0);
        warp.copies.pending = copies;
        Ok(())
    }

    /// The copies of some lanes land, as they themselves see it or, of an agent, as who observes it.
    fn land(&mut self, warp: &mut Warp, copy: &Copy, lanes: u32, agent: Option<Agent>) -> Result<(), Box<Fault>> {
        let accesses = &self.context.program.accesses;
        let (from, to) = (&accesses[copy.from_index as usize], &accesses[copy.to_index as usize]);
        let stamp = self.stamp(warp, to.at);
        let thread = |lane: usize| stamp.thread() + lane as u32;
        if !self.sources.is_empty() {
            let block = self.state.block;
            self.sources.retain(|source| {
                let lane = source.thread.wrapping_sub(stamp.thread()) as usize;
                let landed = source.block == block && lane < LANES && lanes >> lane & 1 == 1;
                !(landed && source.to == copy.to[lane])
            });
            for lane in each(lanes) {
                // It read until now.
                self.read_source(warp, from, lane, copy.sources[lane], copy.read[lane], false)?;
            }
        }
        self.state.copies_under_way -= lanes.count_ones();
        let late = &mut self.state.waited_late;
        match late.iter().position(|(index, _)| *index == copy.to_index) {
            None if copy.epoch < self.state.epoch => {
                let lane = lanes.trailing_zeros() as usize;
                late.push((copy.to_index, copy.lack(lane, warp.copies.groups[lane], warp.copies.waited)));
            }
            Some(known) if copy.epoch == self.state.epoch => drop(late.swap_remove(known)),
            _ => {}
        }
        self.state.wrote();
        let words = copy.length as usize / 4;
        for lane in each(lanes) {
            let (at, start) = (copy.to[lane], copy.to[lane] as usize / 4);
            self.state.shared[start..start + words].copy_from_slice(&copy.words[lane][..words]);
            self.mark_shared(at, copy.length, stamp.of_thread(thread(lane)));
            for byte in (0..copy.length).rev().filter(|byte| copy.written[lane] >> byte & 1 == 0) {
                self.mark_shared(at + byte, 1, Stamp::default());
                let (buffer, offset) = locate(copy.sources[lane] + u64::from(byte));
                let origin = self.origin(warp, lane, from.at, Place::Global(buffer, offset as u64));
                self.note_shared_copy(at + byte, Some(origin));
            }
        }
        if let Some(agent) = agent {
            for lane in each(lanes) {
                self.state.mbarriers.note_asker(agent.number, to.at, (self.state.block, thread(lane)));
                let asked = ((warp.number, lane as u32), self.state.block, agent);
                self.agent_access(warp, to, (copy.to[lane], copy.length), asked, Kind::Write)?;
            }
        } else if self.shared_by_clocks() {
            warp.scratch.offsets.0 = copy.to;
            let deed = Deed { check: false, ..Deed::new(Kind::Write, copy.length) };
            self.order_access(warp, to, lanes, Target::Shared, deed)?;
        }
        Ok(())
    }

    /// Copies are under way to the offsets at hand: whoever reads there before they land reads what nobody wrote.
    /// Of the lanes that do so, some repeat what another one does.
    fn claim_shared(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        index: u32,
        (mask, own): (u32, u32),
    ) -> Result<(), Box<Fault>> {
        let (offsets, length) = (warp.scratch.offsets.0, access.bytes());
        let suspicious = self.count_shared_store(warp, access, index, mask);
        for lane in each(own) {
            if suspicious {
                self.check_shared_write(warp, access, lane, offsets[lane], length)?;
            }
            self.mark_under_way(warp, access, lane, offsets[lane], length);
            let start = offsets[lane] as usize / 4;
            self.state.shared[start..start + length as usize / 4].fill(u32::MAX);
        }
        Ok(())
    }
}

/// Up to 16 bytes of a buffer, and zeros behind them.
fn words_at(memory: &BufferMemory, at: usize, bytes: usize) -> [u32; 4] {
    let mut words = [0; 4];
    if (at | bytes).is_multiple_of(4) {
        let read = words.iter_mut().zip(at / 4..(at + bytes) / 4);
        read.for_each(|(word, n)| *word = memory.load_word(n));
    } else {
        for n in 0..bytes {
            words[n / 4] |= (memory.load(at + n, 1) as u32) << (8 * (n % 4));
        }
    }
    words
}
