//! Loads and stores: what they cost, and global memory.

use crate::global::{BufferMemory, locate};
use crate::machine::cpu::PLAIN;
use crate::machine::lanes::{FULL, HALF, LANES, PatternShape, each, for_each_lane, mask_where};
use crate::machine::state::global_pattern::{Pattern, Road};
use crate::machine::state::tally::Traffic;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, CONST_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, Space, in_window};
use crate::{Fault, FaultKind};

impl Worker<'_> {
    #[inline(always)]
    pub(crate) fn load<const CPU: u8>(&mut self, warp: &mut Warp, index: u32, mask: u32) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        match access.space {
            Space::Global => self.load_global(warp, index, mask),
            Space::Shared => self.access_shared::<CPU>(warp, index, mask, true),
            _ => self.access_rare(warp, index, mask, true),
        }
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, warp: &mut Warp, index: u32, mask: u32) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        match access.space {
            Space::Shared => self.access_shared::<PLAIN>(warp, index, mask, false),
            _ => self.access_rare(warp, index, mask, false),
        }
    }

    /// Generic addresses, by the window that they fall in, and all that no kernel is slow for.
    #[inline(never)]
    fn access_rare(&mut self, warp: &mut Warp, index: u32, mask: u32, load: bool) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        warp.set_addresses(access, mask);
        match access.space {
            Space::Global => return self.access_global(warp, index, mask, load),
            Space::Local => return self.access_local(warp, index, mask, load),
            Space::Parameter => return self.load_constant(warp, index, mask, true),
            Space::Constant => return self.load_constant(warp, index, mask, false),
            _ => {}
        }
        let all = warp.scratch.addresses.0;
        let mut rest = mask;
        for window in [SHARED_WINDOW, LOCAL_WINDOW, CONST_WINDOW, PARAMETER_WINDOW] {
            let here = mask_where(|lane| in_window(all[lane], window)) & mask;
            rest &= !here;
            if here == 0 {
                continue;
            }
            warp.narrow_addresses(&all, here, window);
            match (window, load) {
                (SHARED_WINDOW, _) => self.access_shared_anew(warp, index, here, load)?,
                (LOCAL_WINDOW, _) => self.access_local(warp, index, here, load)?,
                (_, true) => self.load_constant(warp, index, here, window == PARAMETER_WINDOW)?,
                (_, false) => {
                    let lane = here.trailing_zeros() as usize;
                    let what = format!("at address {:#x}, where nobody may write", all[lane]);
                    return Err(self.convict_access(warp, access, lane, FaultKind::OutOfBounds, &what));
                }
            }
        }
        if rest == 0 {
            return Ok(());
        }
        warp.narrow_addresses(&all, rest, 0);
        self.access_global(warp, index, rest, load)
    }

    /// A load whose lanes' addresses lie as they did before is done here, if nobody watches.
    #[inline(always)]
    fn load_global(&mut self, warp: &mut Warp, index: u32, mask: u32) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let first = warp.first_address(access, mask);
        let (buffer, offset) = locate(first);
        if let Some(pattern) = self.caches.global[index as usize].last(first, Road::Cached)
            && let Some(memory) = self.context.memory.buffers.get(buffer)
            && pattern.spread.lies_within(offset as u64, access.bytes(), 0, memory.bytes as u64)
            && warp.is_spread(access, mask, &pattern.spread)
            && !(memory.freed || memory.watch.is_some() || self.asks_of_written(warp, memory) || access.ordered())
        {
            count(&mut self.tally.global[index as usize], pattern, mask);
            pattern.sectors.iter().for_each(|relative| memory.touch_sector(((offset >> 5) + relative) as usize));
            load_values(memory, warp, access, mask, pattern.shape, |lane| {
                pattern.spread.at(offset as u64, lane) as usize
            });
            return Ok(());
        }
        self.access_rare(warp, index, mask, true)
    }

    /// A load or store by the addresses at hand.
    fn access_global(&mut self, warp: &mut Warp, index: u32, mask: u32, load: bool) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let home = self.home(warp, access, mask)?;
        let shape = self.count_global(warp, access, index, mask, home);
        match (home, load) {
            (Some(buffer), true) => self.load_from(warp, access, buffer, mask, shape),
            (Some(buffer), false) => self.store_to(warp, access, buffer, mask),
            (None, true) => self.each_buffer(warp, mask, |worker, warp, buffer, mask| {
                worker.load_from(warp, access, buffer, mask, PatternShape::Other)
            }),
            (None, false) => {
                self.each_buffer(warp, mask, |worker, warp, buffer, mask| worker.store_to(warp, access, buffer, mask))
            }
        }
    }

    /// Whether it matters which bytes of a buffer are written, or which registers hold what is not.
    #[inline(always)]
    fn asks_of_written(&self, warp: &Warp, memory: &BufferMemory) -> bool {
        self.context.sanitize && (memory.written.get().is_some() || warp.taint.is_some())
    }

    /// The one buffer that all lanes access, within its bounds and aligned; `None` if they are several.
    #[inline(always)]
    pub(crate) fn home(&self, warp: &Warp, access: &Access, mask: u32) -> Result<Option<usize>, Box<Fault>> {
        let bytes = u64::from(access.bytes());
        let addresses = &warp.scratch.addresses.0;
        let (buffer, offset) = locate(addresses[mask.trailing_zeros() as usize & 31]);
        if let Some(memory) = self.context.memory.buffers.get(buffer)
            && memory.bytes as u64 >= bytes
            && !memory.freed
        {
            let base = addresses[mask.trailing_zeros() as usize & 31].wrapping_sub(offset as u64);
            let limit = memory.bytes as u64 - bytes;
            let (mut outside, mut low) = (false, 0);
            for lane in 0..LANES {
                outside |= addresses[lane].wrapping_sub(base) > limit;
                low |= addresses[lane];
            }
            if !outside && low & (bytes - 1) == 0 {
                return Ok(Some(buffer));
            }
        }
        self.check_each(warp, access, mask)
    }

    /// Lane by lane: finds the first one at fault, or that the lanes access several buffers.
    #[inline(never)]
    fn check_each(&self, warp: &Warp, access: &Access, mask: u32) -> Result<Option<usize>, Box<Fault>> {
        let addresses = &warp.scratch.addresses.0;
        let bytes = i64::from(access.bytes());
        for lane in each(mask) {
            let (buffer, offset) = locate(addresses[lane]);
            let verdict = match self.context.memory.buffers.get(buffer) {
                None if in_window(addresses[lane], LOCAL_WINDOW) => {
                    let at = addresses[lane] - LOCAL_WINDOW;
                    Some((FaultKind::OutOfBounds, format!("at offset {at} of local memory, which is its thread's own")))
                }
                None => Some((
                    FaultKind::OutOfBounds,
                    format!("at address {:#x}, which lies in no buffer", addresses[lane]),
                )),
                Some(memory) => verdict_on(memory, offset, bytes),
            };
            if let Some((kind, what)) = verdict {
                let mut fault = self.convict_access(warp, access, lane, kind, &what);
                self.tell_apart(&mut fault, warp, access, mask);
                return Err(fault);
            }
        }
        Ok(None)
    }

    fn each_buffer(
        &mut self,
        warp: &mut Warp,
        mask: u32,
        mut go: impl FnMut(&mut Self, &mut Warp, usize, u32) -> Result<(), Box<Fault>>,
    ) -> Result<(), Box<Fault>> {
        let all = warp.scratch.addresses.0;
        let mut rest = mask;
        while rest != 0 {
            let (buffer, _) = locate(all[rest.trailing_zeros() as usize]);
            let here = mask_where(|lane| locate(all[lane]).0 == buffer) & rest;
            warp.narrow_addresses(&all, here, 0);
            go(self, warp, buffer, here)?;
            rest &= !here;
        }
        Ok(())
    }

    /// Counts a request, and marks what it touches.
    #[inline(always)]
    pub(crate) fn count_global(
        &mut self,
        warp: &Warp,
        access: &Access,
        index: u32,
        mask: u32,
        home: Option<usize>,
    ) -> PatternShape {
        self.count_by(warp, access, index, mask, home, Road::Cached)
    }

    /// As [`Worker::count_global`], by one road or the other.
    #[inline(always)]
    pub(crate) fn count_by(
        &mut self,
        warp: &Warp,
        access: &Access,
        index: u32,
        mask: u32,
        home: Option<usize>,
        road: Road,
    ) -> PatternShape {
        let addresses = &warp.scratch.addresses.0;
        // (Lanes that do not run have the place of the first one that does.)
        let first = addresses[0];
        let pattern = self.caches.global[index as usize].pattern(mask, first, addresses, access.bytes(), road);
        count(&mut self.tally.global[index as usize], pattern, mask);
        let buffers = &self.context.memory.buffers;
        match home {
            Some(buffer) => {
                let sector = locate(first).1 >> 5;
                for relative in &pattern.sectors {
                    buffers[buffer].touch_sector((sector + relative) as usize);
                }
            }
            None => {
                for lane in each(mask) {
                    let (buffer, offset) = locate(addresses[lane]);
                    buffers[buffer].touch_sector((offset >> 5) as usize);
                }
            }
        }
        pattern.shape
    }

    #[inline(always)]
    fn load_from(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        buffer: usize,
        mask: u32,
        shape: PatternShape,
    ) -> Result<(), Box<Fault>> {
        let memory = &self.context.memory.buffers[buffer];
        if memory.watch.is_some() {
            self.watch_read(warp, access, buffer, mask)?;
        }
        if self.asks_of_written(warp, memory) {
            self.load_taint(warp, access, memory, mask);
        }
        let (base, addresses) = (self.context.memory.address(buffer as u32), warp.scratch.addresses.0);
        load_values(memory, warp, access, mask, shape, |lane| (addresses[lane] - base) as usize);
        if access.ordered() {
            self.polled_load(warp, access, mask);
        }
        Ok(())
    }

    #[inline(always)]
    fn store_to(&mut self, warp: &mut Warp, access: &Access, buffer: usize, mask: u32) -> Result<(), Box<Fault>> {
        let memory = &self.context.memory.buffers[buffer];
        self.state.wrote();
        if memory.watch.is_some() {
            self.watch_write(warp, access, buffer, mask)?;
        }
        let base = self.context.memory.address(buffer as u32);
        if self.asks_of_written(warp, memory) {
            self.store_taint(warp, access, memory, mask)?;
        } else if let Some(written) = memory.written.get() {
            for lane in each(mask) {
                let offset = (warp.scratch.addresses.0[lane] - base) as usize;
                let flags = &written[offset..offset + access.bytes() as usize];
                flags.iter().for_each(|flag| flag.store(1, std::sync::atomic::Ordering::Relaxed));
            }
        }
        for element in 0..access.elements {
            for lane in each(mask) {
                let offset =
                    (warp.scratch.addresses.0[lane] - base) as usize + (element * access.element_bytes) as usize;
                memory.store(offset, access.element_bytes, warp.stored(access, element, lane));
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn count(traffic: &mut Traffic, pattern: &Pattern, mask: u32) {
    traffic.requests += 1;
    traffic.lanes += u64::from(mask.count_ones());
    traffic.cost += u64::from(pattern.cost.sectors);
    traffic.ideal += u64::from(pattern.cost.ideal_sectors);
}

/// Moves what lanes load into registers, given where in the buffer each reads.
#[inline(always)]
fn load_values(
    memory: &BufferMemory,
    warp: &mut Warp,
    access: &Access,
    mask: u32,
    shape: PatternShape,
    offset: impl Fn(usize) -> usize,
) {
    for element in 0..access.elements {
        let within = (element * access.element_bytes) as usize;
        if access.element_bytes != 4 || access.wide {
            let out = for_each_lane(|lane| memory.load(offset(lane) + within, access.element_bytes));
            warp.set_loaded(access, element, &out, mask);
            continue;
        }
        let register = &mut warp.r[access.registers[element as usize] as usize].0;
        let word = |lane: usize| memory.load_word((offset(lane) + within) / 4);
        match shape {
            PatternShape::Uniform => *register = [word(0); LANES],
            PatternShape::Row if access.elements == 1 => memory.load_row(offset(0) / 4, register),
            PatternShape::Halves => {
                register[..HALF].fill(word(0));
                register[HALF..].fill(word(HALF));
            }
            PatternShape::Twice => {
                (0..HALF).for_each(|lane| register[lane] = word(lane));
                register.copy_within(..HALF, HALF);
            }
            _ if mask == FULL => (0..LANES).for_each(|lane| register[lane] = word(lane)),
            _ => each(mask).for_each(|lane| register[lane] = word(lane)),
        }
    }
}

/// What is wrong with an access at `offset` of a buffer, if anything is.
pub(crate) fn verdict_on(memory: &BufferMemory, offset: i64, bytes: i64) -> Option<(FaultKind, String)> {
    let (name, size) = (&memory.name, memory.bytes);
    if memory.freed {
        Some((FaultKind::UseAfterFree, format!("of {name}, which has been freed")))
    } else if offset < 0 {
        Some((FaultKind::OutOfBounds, format!("before the start of {name} ({size} bytes) at offset {offset}")))
    } else if offset + bytes > size as i64 {
        Some((FaultKind::OutOfBounds, format!("past the end of {name} ({size} bytes) at offset {offset}")))
    } else if offset % bytes != 0 {
        Some((FaultKind::Misaligned, format!("of {name} at offset {offset}, which is no multiple of {bytes}")))
    } else {
        None
    }
}
