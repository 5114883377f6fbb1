//! Races on global memory: buffers that a launch writes are watched, cell by cell. No barrier orders
//! thread blocks, so two blocks that touch one cell, one of them writing, race.

use super::block::Worker;
use super::lanes::each;
use super::race::Stamp;
use super::warp::Warp;
use crate::Fault;
use crate::global::{BufferMemory, locate};
use crate::marks::Watch;
use crate::program::Access;

/// Who accesses, which place, and when.
type Met<'a> = ((&'a Warp, &'a Access, usize), (&'a BufferMemory, usize), Stamp);

impl Worker<'_> {
    /// A lane is about to read watched memory.
    #[inline(never)]
    pub(super) fn watch_read(
        &self,
        warp: &Warp,
        access: &Access,
        memory: &BufferMemory,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let Some(watch) = &memory.watch else { return Ok(()) };
        let (stamp, addresses) = (self.stamp(warp, access.at), &warp.scratch.addresses.0);
        for lane in each(mask) {
            let now = stamp.of_thread(stamp.thread() + lane as u32);
            let offset = locate(addresses[lane]).1 as usize;
            for at in (offset..offset + access.bytes() as usize).step_by(watch.grain as usize) {
                let cell = at / watch.grain as usize;
                let who = (warp, access, lane);
                self.meet(watch, cell, (who, (memory, at), now), "load")?;
                if let Some((block, write)) = watch.writes.at(cell).get()
                    && self.unordered(block, write, now)
                {
                    return Err(self.convict_global_race(who, (memory, at), (block, write, "store"), "load"));
                }
                if let Some([first, second]) = watch.reads.as_ref().map(|reads| reads.at(cell)) {
                    let mine = self.block as u32;
                    match first.get() {
                        Some((block, read))
                            if block != mine || read.0 >> 40 == now.0 >> 40 && read.thread() != now.thread() =>
                        {
                            second.set(mine, now);
                        }
                        _ => first.set(mine, now),
                    }
                }
            }
        }
        Ok(())
    }

    /// A lane is about to write watched memory.
    #[inline(never)]
    pub(super) fn watch_write(
        &self,
        warp: &Warp,
        access: &Access,
        memory: &BufferMemory,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let Some(watch) = &memory.watch else { return Ok(()) };
        let stamp = self.stamp(warp, access.at);
        let (grain, addresses) = (watch.grain as usize, &warp.scratch.addresses.0);
        for lane in each(mask) {
            let now = stamp.of_thread(stamp.thread() + lane as u32);
            let offset = locate(addresses[lane]).1 as usize;
            let new = warp.stored_bytes(access, lane);
            for at in (offset..offset + access.bytes() as usize).step_by(grain) {
                let cell = at / grain;
                let who = (warp, access, lane);
                self.meet(watch, cell, (who, (memory, at), now), "store")?;
                if let Some((block, write)) = watch.writes.at(cell).get()
                    && self.unordered(block, write, now)
                    && (0..grain).any(|n| memory.load(at + n, 1) as u8 != new[at - offset + n])
                {
                    return Err(self.convict_global_race(who, (memory, at), (block, write, "store"), "store"));
                }
                for read in watch.reads.iter().flat_map(|reads| reads.at(cell)) {
                    if let Some((block, read)) = read.get()
                        && self.unordered(block, read, now)
                    {
                        return Err(self.convict_global_race(who, (memory, at), (block, read, "load"), "store"));
                    }
                }
                watch.writes.at(cell).set(self.block as u32, now);
            }
            // Lanes of one store: a later lane with the same address sees this one's mark and value.
            self.colliding_lane(warp, access, mask, lane, memory, &new)?;
        }
        Ok(())
    }

    /// Whether blocks that run side by side meet at a cell. That ends the run, and the blocks run once more one by
    /// one: there it shows whether it is a race, and whose. Until then, any race of the cell stands for it.
    fn meet(&self, watch: &Watch, cell: usize, access: Met, verb: &str) -> Result<(), Box<Fault>> {
        let Some(owners) = &watch.owners else { return Ok(()) };
        let (who, place, now) = access;
        match owners.at(cell).is_shared(self.block as u32, verb == "store") {
            true => Err(self.convict_global_race(who, place, (self.block as u32, now, verb), verb)),
            false => Ok(()),
        }
    }

    fn unordered(&self, block: u32, before: Stamp, now: Stamp) -> bool {
        match u64::from(block) == self.block {
            // Another instruction, or another warp; lanes of one store are compared by value.
            true => before.conflicts(now) && (before.at() != now.at() || before.thread() / 32 != now.thread() / 32),
            false => !self.context.program.synchronises_globally,
        }
    }

    fn colliding_lane(
        &self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        lane: usize,
        memory: &BufferMemory,
        new: &[u8; 32],
    ) -> Result<(), Box<Fault>> {
        let addresses = &warp.scratch.addresses.0;
        for other in each(mask & ((1 << lane) - 1)) {
            if addresses[other] == addresses[lane] && warp.stored_bytes(access, other) != *new {
                let stamp = self.stamp(warp, access.at);
                let before = (self.block as u32, stamp.of_thread(stamp.thread() + other as u32), "store");
                let at = locate(addresses[lane]).1 as usize;
                return Err(self.convict_global_race((warp, access, lane), (memory, at), before, "store"));
            }
        }
        Ok(())
    }
}
