//! `cp.async`: copies from global to shared memory that land when their thread waits for them. Until then
//! nobody may read or write its destination; a barrier gives it to the other threads.

use std::sync::atomic::Ordering::Relaxed;

use super::block::Worker;
use super::global_access::{Road, verdict_on};
use super::lanes::{LANES, each};
use super::order::Kind;
use super::ordered::{Deed, Target};
use super::race::Stamp;
use super::shared_access::write_shared;
use super::warp::Warp;
use crate::global::locate;
use crate::program::{Access, CopySize, Extended};
use crate::{Fault, FaultKind};

/// The copies of a warp's lanes that have not landed.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Copy>,
    /// Groups that each lane has committed.
    groups: [u32; LANES],
}

/// What a copy under way still reads of a buffer that the launch may write.
#[derive(Debug)]
pub(super) struct SourceUnderWay {
    pub block: u64,
    pub thread: u32,
    pub at: u32,
    pub buffer: usize,
    pub offset: usize,
    pub length: usize,
    /// Where it goes to, which tells copies of a thread apart.
    to: u32,
}

#[derive(Debug)]
struct Copy {
    lane: usize,
    /// Number of its group among the lane's.
    group: u32,
    to: u32,
    bytes: [u8; 16],
    length: u32,
    /// A bit for each byte that somebody wrote at the source.
    written: u32,
    /// The access that writes.
    to_index: u32,
    /// The access that reads, from this address so many bytes.
    from_index: u32,
    source: u64,
    read: u32,
}

impl Copies {
    pub fn commit(&mut self, mask: u32) {
        each(mask).for_each(|lane| self.groups[lane] += 1);
    }
}

impl Warp {
    /// How many of the `length` bytes of a copy a lane reads; the others are filled with zeros.
    pub(super) fn copied_bytes(&self, extended: &Extended, size: CopySize, length: u32, lane: usize) -> u32 {
        match (size, extended.reads.first()) {
            (CopySize::Given, Some(&(file, slot))) => (self.wide(file, slot, lane) as u32).min(length),
            (CopySize::UnlessIgnored, Some(&(file, slot))) if self.wide(file, slot, lane) == 1 => 0,
            _ => length,
        }
    }
}

impl Worker<'_> {
    pub(super) fn copy_async(
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
        if let (CopySize::Given, Some(&(file, slot))) = (size, extended.reads.first())
            && let Some(lane) = each(mask).find(|lane| warp.wide(file, slot, *lane) as u32 > length)
        {
            let given = warp.wide(file, slot, lane) as u32;
            let what = format!("is to read {given} bytes");
            return Err(self.convict_access(warp, from, lane, FaultKind::OutOfBounds, &what));
        }
        let sizes: [u32; LANES] = std::array::from_fn(|lane| warp.copied_bytes(extended, size, length, lane));
        let reading = each(mask).filter(|lane| sizes[*lane] > 0).fold(0, |lanes, lane| lanes | 1 << lane);
        let whole = each(mask).filter(|lane| sizes[*lane] == length).fold(0, |lanes, lane| lanes | 1 << lane);
        if reading != 0 {
            self.check_source(warp, (from, from_index, road), (reading, whole), &sizes)?;
        }
        warp.set_addresses(from, mask);
        let sources = warp.scratch.addresses.0;
        warp.set_addresses(to, mask);
        let offsets = self.offsets(warp, to, mask)?;
        self.count_shared_store(to_index, mask, &offsets);
        for lane in each(mask) {
            let mut copy = Copy {
                lane,
                group: warp.copies.groups[lane],
                to: offsets[lane],
                bytes: [0; 16],
                length,
                written: u32::MAX,
                to_index,
                from_index,
                source: sources[lane],
                read: sizes[lane],
            };
            for n in 0..sizes[lane] as usize {
                let (buffer, offset) = locate(sources[lane]);
                let memory = &self.context.memory.buffers[buffer];
                let at = offset as usize + n;
                copy.bytes[n] = memory.load(at, 1) as u8;
                let written = memory.written.get().is_none_or(|written| written[at].load(Relaxed) != 0);
                copy.written &= !(u32::from(!written) << n);
            }
            self.claim_shared(warp, to, lane, offsets[lane], length)?;
            self.note_source(warp, &copy);
            warp.copies.pending.push(copy);
        }
        Ok(())
    }

    /// The lanes that read at all, and those that read all: within a buffer, and in no race.
    fn check_source(
        &mut self,
        warp: &mut Warp,
        (access, index, road): (&Access, u32, Road),
        (reading, whole): (u32, u32),
        sizes: &[u32; LANES],
    ) -> Result<(), Box<Fault>> {
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
        let mut home = None;
        if whole != 0 {
            warp.set_addresses(access, whole);
            home = self.home(warp, access, whole)?;
        }
        if whole != reading {
            // A copy of a part of its bytes costs what a whole one does.
            warp.set_addresses(access, reading);
            home = None;
        }
        self.count_by(warp, access, index, reading, home, road);
        each(reading).try_for_each(|lane| self.read_source(warp, access, lane, sources[lane], sizes[lane], true))
    }

    /// A lane reads so many bytes of memory that may be watched.
    fn read_source(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        source: u64,
        length: u32,
        check: bool,
    ) -> Result<(), Box<Fault>> {
        let (buffer, offset) = locate(source);
        let memory = &self.context.memory.buffers[buffer];
        if memory.watch.is_none() || length == 0 {
            return Ok(());
        }
        if !self.global_by_clocks() {
            let offset = offset as usize;
            return self.watch_lane(warp, access, lane, memory, offset..offset + length as usize);
        }
        warp.scratch.addresses.0[lane] = source;
        let deed = Deed { check, ..Deed::new(Kind::Read, length) };
        self.order_access(warp, access, 1 << lane, Target::Global(buffer, memory), deed)
    }

    fn note_source(&mut self, warp: &Warp, copy: &Copy) {
        let (buffer, offset) = locate(copy.source);
        if copy.read == 0 || self.context.memory.buffers[buffer].watch.is_none() {
            return;
        }
        self.sources.push(SourceUnderWay {
            block: self.state.block,
            thread: warp.number * LANES as u32 + copy.lane as u32,
            at: self.context.program.accesses[copy.from_index as usize].at,
            buffer,
            offset: offset as usize,
            length: copy.read as usize,
            to: copy.to,
        });
    }

    /// Lanes are about to write what a copy under way may not have read yet.
    #[inline]
    pub(super) fn check_sources(&self, warp: &Warp, access: &Access, mask: u32) -> Result<(), Box<Fault>> {
        if self.sources.is_empty() {
            return Ok(());
        }
        for lane in each(mask) {
            let (buffer, offset) = locate(warp.scratch.addresses.0[lane]);
            let (start, end) = (offset as usize, offset as usize + access.bytes() as usize);
            let meets = |source: &&SourceUnderWay| {
                source.buffer == buffer && source.offset < end && start < source.offset + source.length
            };
            if let Some(source) = self.sources.iter().find(meets) {
                return Err(self.convict_source_under_way(warp, access, lane as u32, source));
            }
        }
        Ok(())
    }

    /// Lets the copies land that are not in the lanes' last `pending` groups; all without.
    pub(super) fn wait_for_copies(
        &mut self,
        warp: &mut Warp,
        pending: Option<u32>,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let groups = warp.copies.groups;
        let lands = |copy: &Copy| {
            let done = pending.is_none_or(|pending| copy.group + pending < groups[copy.lane]);
            mask >> copy.lane & 1 == 1 && done
        };
        let (landing, waiting) = std::mem::take(&mut warp.copies.pending).into_iter().partition(lands);
        warp.copies.pending = waiting;
        landing.iter().try_for_each(|copy| self.land(warp, copy))
    }

    fn land(&mut self, warp: &mut Warp, copy: &Copy) -> Result<(), Box<Fault>> {
        let accesses = &self.context.program.accesses;
        let (from, to) = (&accesses[copy.from_index as usize], &accesses[copy.to_index as usize]);
        let thread = warp.number * LANES as u32 + copy.lane as u32;
        if !self.sources.is_empty() {
            let block = self.state.block;
            self.sources.retain(|source| (source.block, source.thread, source.to) != (block, thread, copy.to));
            // It read until now.
            self.read_source(warp, from, copy.lane, copy.source, copy.read, false)?;
        }
        self.state.copies_under_way -= 1;
        self.state.writes += 1;
        for n in (0..copy.length).step_by(4) {
            let n = n as usize;
            let word = [copy.bytes[n], copy.bytes[n + 1], copy.bytes[n + 2], copy.bytes[n + 3]];
            write_shared(&mut self.state.shared, copy.to + n as u32, 4, u32::from_le_bytes(word).into());
        }
        let stamp = self.stamp(warp, to.at);
        self.mark_shared(copy.to, copy.length, stamp.of_thread(thread));
        for byte in (0..copy.length).filter(|byte| copy.written >> byte & 1 == 0) {
            self.mark_shared(copy.to + byte, 1, Stamp::default());
        }
        if self.shared_by_clocks() {
            warp.scratch.offsets.0[copy.lane] = copy.to;
            let deed = Deed { check: false, ..Deed::new(Kind::Write, copy.length) };
            self.order_access(warp, to, 1 << copy.lane, Target::Shared, deed)?;
        }
        Ok(())
    }

    /// A copy is under way to these bytes: whoever reads them before it lands reads what nobody wrote.
    fn claim_shared(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        at: u32,
        length: u32,
    ) -> Result<(), Box<Fault>> {
        self.check_shared_write(warp, access, lane, at, length)?;
        self.mark_under_way(warp, access, lane, at, length);
        for n in (0..length).step_by(4) {
            write_shared(&mut self.state.shared, at + n, 4, u32::MAX.into());
        }
        Ok(())
    }
}
