//! Races on global memory, of kernels that order their threads by whole barriers alone: buffers that a launch writes are
//! watched, cell by cell. Nothing orders thread blocks there, so two blocks that touch one cell, one of them writing, race.
//! Kernels that have more are the order model's: see `order`.

use std::ops::Range;

use crate::Fault;
use crate::global::{BufferMemory, locate};
use crate::machine::lanes::each;
use crate::machine::order::Kind;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::marks::{Moment, Watch};
use crate::program::Access;

/// Who accesses, which place, and when.
type Met<'a> = ((&'a Warp, &'a Access, usize), (&'a BufferMemory, usize), Moment);

impl Worker<'_> {
    /// Lanes are about to read watched memory.
    #[inline(never)]
    pub(crate) fn watch_read(
        &mut self,
        warp: &Warp,
        access: &Access,
        buffer: usize,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let memory = &self.context.memory.buffers[buffer];
        if self.global_by_clocks() {
            let deed = Deed::new(Kind::Read, access.bytes());
            return self.order_access(warp, access, mask, Target::Global(buffer, memory), deed);
        }
        for lane in each(mask) {
            let offset = locate(warp.scratch.addresses.0[lane]).1 as usize;
            self.watch_lane(warp, access, lane, memory, offset..offset + access.bytes() as usize)?;
        }
        Ok(())
    }

    /// A lane is about to read these bytes of watched memory.
    pub(crate) fn watch_lane(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        memory: &BufferMemory,
        bytes: Range<usize>,
    ) -> Result<(), Box<Fault>> {
        let Some(watch) = &memory.watch else { return Ok(()) };
        let now = self.moment(warp, access, lane);
        for at in bytes.step_by(watch.grain as usize) {
            let cell = at / watch.grain as usize;
            let who = (warp, access, lane);
            self.meet(watch, cell, (who, (memory, at), now), "load")?;
            if let Some(write) = watch.writes.at(cell).get() {
                if self.unordered(write, now) {
                    return Err(self.convict_global_race(who, (memory, at), (write, "store"), "load"));
                }
                if access.read_only {
                    return Err(self.convict_read_only_of(who, (memory, at), write));
                }
            }
            if let Some([first, second]) = watch.reads.as_ref().map(|reads| reads.at(cell)) {
                let here =
                    |read: Moment| read.block == now.block && read.stamp.is_past(now.stamp) && !read.stamp.is_beside();
                match (first.get().filter(|read| !here(*read)), second.get().filter(|read| !here(*read))) {
                    (None, _) => first.set(now),
                    // Readers of two warps are kept: whoever writes, one of them is of another.
                    (Some(one), Some(two)) if is_apart(one, two) => {}
                    _ => second.set(now),
                }
            }
        }
        Ok(())
    }

    /// A copy that a lane asked for reads these bytes of watched memory: whoever writes there, races with it.
    pub(crate) fn watch_read_beside(
        &self,
        (warp, access, lane): (&Warp, &Access, usize),
        memory: &BufferMemory,
        bytes: Range<usize>,
    ) -> Result<(), Box<Fault>> {
        self.watch_lane(warp, access, lane, memory, bytes.clone())?;
        let Some(watch) = &memory.watch else { return Ok(()) };
        let now = self.moment(warp, access, lane);
        let copy = Moment { stamp: now.stamp.beside(), ..now };
        // The first of two readers stays if a copy is it, and is enough.
        let of_cells =
            |at: usize| watch.reads.iter().for_each(|reads| reads.at(at / watch.grain as usize)[0].set(copy));
        bytes.step_by(watch.grain as usize).for_each(of_cells);
        Ok(())
    }

    /// A copy that a lane asked for reads these bytes of watched memory, by another proxy than the threads': stamps know of no
    /// fence between, so that what a thread of this launch has written there is for the order model to judge.
    pub(crate) fn watch_proxy(
        &self,
        who: (&Warp, &Access, usize),
        memory: &BufferMemory,
        bytes: Range<usize>,
    ) -> Result<(), Box<Fault>> {
        let Some(watch) = &memory.watch else { return Ok(()) };
        for at in bytes.step_by(watch.grain as usize) {
            let write = watch.writes.at(at / watch.grain as usize).get();
            if let Some(write) = write.filter(|write| !write.stamp.is_beside()) {
                return Err(self.convict_global_race(who, (memory, at), (write, "store"), "load"));
            }
        }
        Ok(())
    }

    /// A copy that a lane asked for writes these bytes of watched memory: whoever comes there, races with it.
    pub(crate) fn watch_write_beside(
        &self,
        who: (&Warp, &Access, usize),
        memory: &BufferMemory,
        offset: usize,
        new: &[u8],
    ) -> Result<(), Box<Fault>> {
        self.watch_bytes(who, memory, offset, new)?;
        let Some(watch) = &memory.watch else { return Ok(()) };
        let now = self.moment(who.0, who.1, who.2);
        let copy = Moment { stamp: now.stamp.beside(), ..now };
        let cells = (offset..offset + new.len()).step_by(watch.grain as usize).map(|at| at / watch.grain as usize);
        cells.for_each(|cell| watch.writes.at(cell).set(copy));
        Ok(())
    }

    /// Lanes are about to write watched memory.
    #[inline(never)]
    pub(crate) fn watch_write(
        &mut self,
        warp: &Warp,
        access: &Access,
        buffer: usize,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        self.check_sources(warp, access, mask)?;
        let memory = &self.context.memory.buffers[buffer];
        if self.global_by_clocks() {
            let deed = Deed::new(Kind::Write, access.bytes());
            return self.order_access(warp, access, mask, Target::Global(buffer, memory), deed);
        }
        if memory.watch.is_none() {
            return Ok(());
        }
        let addresses = &warp.scratch.addresses.0;
        for lane in each(mask) {
            let offset = locate(addresses[lane]).1 as usize;
            let new = warp.stored_bytes(access, lane);
            self.watch_bytes((warp, access, lane), memory, offset, &new[..access.bytes() as usize])?;
            // Lanes of one store: a later lane with the same address sees this one's mark and value.
            self.colliding_lane(warp, access, mask, lane, memory, &new)?;
        }
        Ok(())
    }

    /// A lane is about to write these bytes into watched memory, from an offset on.
    pub(crate) fn watch_bytes(
        &self,
        who: (&Warp, &Access, usize),
        memory: &BufferMemory,
        offset: usize,
        new: &[u8],
    ) -> Result<(), Box<Fault>> {
        let Some(watch) = &memory.watch else { return Ok(()) };
        let (grain, now) = (watch.grain as usize, self.moment(who.0, who.1, who.2));
        for at in (offset..offset + new.len()).step_by(grain) {
            let cell = at / grain;
            self.meet(watch, cell, (who, (memory, at), now), "store")?;
            if let Some(write) = watch.writes.at(cell).get()
                && self.unordered(write, now)
                && (0..grain).any(|n| memory.load(at + n, 1) as u8 != new[at - offset + n])
            {
                return Err(self.convict_global_race(who, (memory, at), (write, "store"), "store"));
            }
            for read in watch.reads.iter().flat_map(|reads| reads.at(cell)) {
                if let Some(read) = read.get()
                    && self.unordered(read, now)
                {
                    return Err(self.convict_global_race(who, (memory, at), (read, "load"), "store"));
                }
            }
            watch.writes.at(cell).set(now);
        }
        Ok(())
    }

    /// Whether blocks that run side by side meet at a cell. That ends the run, and the blocks run once more one by
    /// one: there it shows whether it is a race, and whose. Until then, any race of the cell stands for it.
    fn meet(&self, watch: &Watch, cell: usize, access: Met, verb: &str) -> Result<(), Box<Fault>> {
        let Some(owners) = &watch.owners else { return Ok(()) };
        let (who, place, now) = access;
        match owners.at(cell).is_shared(now.block, verb == "store") {
            true => Err(self.convict_global_race(who, place, (now, verb), verb)),
            false => Ok(()),
        }
    }

    fn moment(&self, warp: &Warp, access: &Access, lane: usize) -> Moment {
        let stamp = self.stamp(warp, access.at);
        let stamp = stamp.of_thread(stamp.thread() + lane as u32);
        Moment { block: self.state.block as u32, stamp }
    }

    /// Whether nothing puts an earlier access before the present one.
    fn unordered(&self, before: Moment, now: Moment) -> bool {
        if before.block != now.block || before.stamp.is_beside() {
            return true;
        }
        // Another instruction, or another warp; lanes of one store are compared by value.
        let (before, now) = (before.stamp, now.stamp);
        before.conflicts(now) && (before.at() != now.at() || before.thread() / 32 != now.thread() / 32)
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
                let before = (self.moment(warp, access, other), "store");
                let at = locate(addresses[lane]).1 as usize;
                return Err(self.convict_global_race((warp, access, lane), (memory, at), before, "store"));
            }
        }
        Ok(())
    }
}

/// Of two warps, or two thread blocks.
fn is_apart(one: Moment, other: Moment) -> bool {
    one.block != other.block || one.stamp.thread() / 32 != other.stamp.thread() / 32
}
