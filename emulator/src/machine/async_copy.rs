//! `cp.async`: copies from global to shared memory that land when their thread waits for them. Until then
//! nobody may read or write its destination; a barrier gives it to the other threads.

use std::sync::atomic::Ordering::Relaxed;

use super::block::Worker;
use super::global_access::verdict_on;
use super::lanes::{LANES, each};
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
    at: u32,
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
        size: CopySize,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let accesses = &self.context.program.accesses;
        let [from_index, to_index] = extended.accesses[..] else { return Ok(()) };
        let (from, to) = (&accesses[from_index as usize], &accesses[to_index as usize]);
        let length = from.bytes();
        let sizes: [u32; LANES] = std::array::from_fn(|lane| warp.copied_bytes(extended, size, length, lane));
        let reading = each(mask).filter(|lane| sizes[*lane] > 0).fold(0, |lanes, lane| lanes | 1 << lane);
        let whole = each(mask).filter(|lane| sizes[*lane] == length).fold(0, |lanes, lane| lanes | 1 << lane);
        if reading != 0 {
            self.check_source(warp, from, from_index, (reading, whole), &sizes)?;
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
                at: to.at,
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
            warp.copies.pending.push(copy);
        }
        Ok(())
    }

    /// The lanes that read at all, and those that read all: within a buffer, and in no race.
    fn check_source(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        index: u32,
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
        if whole == 0 {
            return Ok(());
        }
        warp.set_addresses(access, whole);
        let home = self.home(warp, access, whole)?;
        self.count_global(warp, access, index, whole, home);
        for lane in each(whole) {
            let memory = &self.context.memory.buffers[locate(sources[lane]).0];
            if memory.watch.is_some() {
                self.watch_read(warp, access, memory, 1 << lane)?;
            }
        }
        Ok(())
    }

    /// Lets the copies land that are not in the lanes' last `pending` groups; all without.
    pub(super) fn wait_for_copies(&mut self, warp: &mut Warp, pending: Option<u32>, mask: u32) {
        let groups = warp.copies.groups;
        let lands = |copy: &Copy| {
            let done = pending.is_none_or(|pending| copy.group + pending < groups[copy.lane]);
            mask >> copy.lane & 1 == 1 && done
        };
        let (landing, waiting) = std::mem::take(&mut warp.copies.pending).into_iter().partition(lands);
        warp.copies.pending = waiting;
        for copy in landing {
            self.land(warp, &copy);
        }
    }

    fn land(&mut self, warp: &Warp, copy: &Copy) {
        self.state.copies_under_way -= 1;
        self.state.writes += 1;
        for n in (0..copy.length).step_by(4) {
            let n = n as usize;
            let word = [copy.bytes[n], copy.bytes[n + 1], copy.bytes[n + 2], copy.bytes[n + 3]];
            write_shared(&mut self.state.shared, copy.to + n as u32, 4, u32::from_le_bytes(word).into());
        }
        let stamp = self.stamp(warp, copy.at);
        self.mark_shared(copy.to, copy.length, stamp.of_thread(stamp.thread() + copy.lane as u32));
        for byte in (0..copy.length).filter(|byte| copy.written >> byte & 1 == 0) {
            self.mark_shared(copy.to + byte, 1, Stamp::default());
        }
    }

    /// A copy is under way to these bytes: whoever reads them before it lands reads what nobody wrote.
    fn claim_shared(
        &mut self,
        warp: &Warp,
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
