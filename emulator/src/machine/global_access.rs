//! Loads and stores: what they cost, and global memory.

use super::block::Worker;
use super::lanes::{LANES, each, mask_where};
use super::warp::Warp;
use crate::access::{self, GlobalCost};
use crate::global::{BufferMemory, locate};
use crate::program::{Access, CONST_WINDOW, LOCAL_WINDOW, SHARED_WINDOW, Space, WINDOW_BYTES};
use crate::{Fault, FaultKind};

/// The patterns that an instruction showed last, by where in a sector their first lane stood.
#[derive(Debug, Clone, Default)]
pub(super) struct GlobalCache([Option<Box<Pattern>>; 8]);

/// The lanes' addresses relative to the first active one's, and what they cost.
#[derive(Debug, Clone)]
struct Pattern {
    mask: u32,
    phase: u64,
    relative: [u64; LANES],
    cost: GlobalCost,
    /// Sectors, relative to the first active lane's.
    sectors: Vec<i64>,
}

impl Pattern {
    #[inline(always)]
    fn fits(&self, mask: u32, first: u64, addresses: &[u64; LANES]) -> bool {
        let mut differ = u64::from(self.mask ^ mask) | (self.phase ^ (first & 31));
        for lane in 0..LANES {
            differ |= addresses[lane].wrapping_sub(first) ^ self.relative[lane];
        }
        differ == 0
    }
}

impl GlobalCache {
    /// The pattern of these addresses. Lanes that do not run must have the first active lane's.
    #[inline(always)]
    fn pattern(&mut self, mask: u32, first: u64, addresses: &[u64; LANES], bytes: u32) -> &Pattern {
        let entry = &mut self.0[(first >> 2 & 7) as usize];
        if !entry.as_ref().is_some_and(|pattern| pattern.fits(mask, first, addresses)) {
            *entry = Some(Box::new(new_pattern(mask, first, addresses, bytes)));
        }
        entry.as_ref().expect("it was filled just now")
    }
}

#[inline(never)]
fn new_pattern(mask: u32, first: u64, addresses: &[u64; LANES], bytes: u32) -> Pattern {
    let mut sectors: Vec<i64> = each(mask).map(|lane| (addresses[lane] >> 5) as i64 - (first >> 5) as i64).collect();
    sectors.sort_unstable();
    sectors.dedup();
    let cost = access::global(addresses, mask, bytes);
    Pattern { mask, phase: first & 31, relative: addresses.map(|a| a.wrapping_sub(first)), cost, sectors }
}

/// The address of each lane; lanes that do not run get the first active lane's.
#[inline(always)]
pub(super) fn addresses(warp: &Warp, access: &Access, mask: u32) -> [u64; LANES] {
    let mut out = [0; LANES];
    let offset = access.offset as u64;
    if access.base_wide {
        let base = &warp.d[access.base as usize].0;
        for lane in 0..LANES {
            out[lane] = base[lane].wrapping_add(offset);
        }
    } else {
        let base = &warp.r[access.base as usize].0;
        for lane in 0..LANES {
            out[lane] = u64::from(base[lane]).wrapping_add(offset);
        }
    }
    if mask != u32::MAX {
        let first = out[mask.trailing_zeros() as usize & 31];
        for (lane, address) in out.iter_mut().enumerate() {
            *address = if mask >> lane & 1 == 1 { *address } else { first };
        }
    }
    out
}

impl Worker<'_> {
    #[inline(always)]
    pub(super) fn load(&mut self, warp: &mut Warp, index: u32, mask: u32) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let addresses = addresses(warp, access, mask);
        match access.space {
            Space::Global => self.load_global(warp, index, mask, &addresses),
            Space::Shared => self.load_shared(warp, index, mask, &addresses),
            _ => self.access_rare(warp, index, mask, &addresses, true),
        }
    }

    #[inline(always)]
    pub(super) fn store(&mut self, warp: &mut Warp, index: u32, mask: u32) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let addresses = addresses(warp, access, mask);
        match access.space {
            Space::Shared => self.store_shared(warp, index, mask, &addresses),
            Space::Global => self.store_global(warp, index, mask, &addresses),
            _ => self.access_rare(warp, index, mask, &addresses, false),
        }
    }

    /// Generic addresses, by the window that they fall in, and the spaces that no kernel is slow for.
    #[inline(never)]
    fn access_rare(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        addresses: &[u64; LANES],
        load: bool,
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        match access.space {
            Space::Local => return self.access_local(warp, index, mask, addresses, load),
            Space::Parameter | Space::Constant => return self.load_constant(warp, index, mask, addresses),
            _ => {}
        }
        let inside = |window: u64, address: u64| address.wrapping_sub(window) < WINDOW_BYTES;
        let windows = [SHARED_WINDOW, LOCAL_WINDOW, CONST_WINDOW];
        let mut rest = mask;
        for window in windows {
            let here = mask_where(|lane| inside(window, addresses[lane])) & mask;
            rest &= !here;
            if here == 0 {
                continue;
            }
            let first = addresses[here.trailing_zeros() as usize];
            let relative: [u64; LANES] =
                std::array::from_fn(
                    |lane| {
                        if here >> lane & 1 == 1 { addresses[lane] - window } else { first - window }
                    },
                );
            match (window, load) {
                (SHARED_WINDOW, true) => self.load_shared(warp, index, here, &relative)?,
                (SHARED_WINDOW, false) => self.store_shared(warp, index, here, &relative)?,
                (LOCAL_WINDOW, _) => self.access_local(warp, index, here, &relative, load)?,
                _ => self.load_constant(warp, index, here, &relative)?,
            }
        }
        if rest == 0 {
            return Ok(());
        }
        let first = addresses[rest.trailing_zeros() as usize];
        let global = std::array::from_fn(|lane| if rest >> lane & 1 == 1 { addresses[lane] } else { first });
        if load { self.load_global(warp, index, rest, &global) } else { self.store_global(warp, index, rest, &global) }
    }

    #[inline(always)]
    fn load_global(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let home = self.home(warp, access, mask, addresses)?;
        self.count_global(access, index, mask, addresses, home);
        match home {
            Some(buffer) => self.load_from(warp, access, buffer, mask, addresses),
            None => self.each_buffer(mask, addresses, |worker, buffer, mask| {
                worker.load_from(warp, access, buffer, mask, addresses)
            }),
        }
    }

    #[inline(always)]
    fn store_global(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let home = self.home(warp, access, mask, addresses)?;
        self.count_global(access, index, mask, addresses, home);
        match home {
            Some(buffer) => self.store_to(warp, access, buffer, mask, addresses),
            None => self.each_buffer(mask, addresses, |worker, buffer, mask| {
                worker.store_to(warp, access, buffer, mask, addresses)
            }),
        }
    }

    /// The one buffer that all lanes access, within its bounds and aligned; `None` if they are several.
    #[inline(always)]
    pub(super) fn home(
        &self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<Option<usize>, Box<Fault>> {
        let bytes = u64::from(access.bytes());
        let (buffer, offset) = locate(addresses[mask.trailing_zeros() as usize & 31]);
        if let Some(memory) = self.context.memory.buffers.get(buffer)
            && memory.bytes as u64 >= bytes
            && !memory.freed
        {
            let base = addresses[mask.trailing_zeros() as usize & 31].wrapping_sub(offset as u64);
            let limit = memory.bytes as u64 - bytes;
            let (mut outside, mut low) = (false, 0);
            for address in addresses {
                outside |= address.wrapping_sub(base) > limit;
                low |= address;
            }
            if !outside && low & (bytes - 1) == 0 {
                return Ok(Some(buffer));
            }
        }
        self.check_each(warp, access, mask, addresses)
    }

    /// Lane by lane: finds the first one at fault, or that the lanes access several buffers.
    #[inline(never)]
    fn check_each(
        &self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<Option<usize>, Box<Fault>> {
        let bytes = i64::from(access.bytes());
        for lane in each(mask) {
            let (buffer, offset) = locate(addresses[lane]);
            let verdict = match self.context.memory.buffers.get(buffer) {
                None => Some((
                    FaultKind::OutOfBounds,
                    format!("at address {:#x}, which lies in no buffer", addresses[lane]),
                )),
                Some(memory) => verdict_on(memory, offset, bytes),
            };
            if let Some((kind, what)) = verdict {
                return Err(self.convict_access(warp, access, lane, kind, &what));
            }
        }
        Ok(None)
    }

    fn each_buffer(
        &mut self,
        mask: u32,
        addresses: &[u64; LANES],
        mut go: impl FnMut(&mut Self, usize, u32) -> Result<(), Box<Fault>>,
    ) -> Result<(), Box<Fault>> {
        let mut rest = mask;
        while rest != 0 {
            let (buffer, _) = locate(addresses[rest.trailing_zeros() as usize]);
            let here = mask_where(|lane| locate(addresses[lane]).0 == buffer) & rest;
            go(self, buffer, here)?;
            rest &= !here;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn count_global(
        &mut self,
        access: &Access,
        index: u32,
        mask: u32,
        addresses: &[u64; LANES],
        home: Option<usize>,
    ) {
        let first = addresses[mask.trailing_zeros() as usize & 31];
        let pattern = self.global_caches[index as usize].pattern(mask, first, addresses, access.bytes());
        let traffic = &mut self.tally.global[index as usize];
        traffic.requests += 1;
        traffic.lanes += u64::from(mask.count_ones());
        traffic.cost += u64::from(pattern.cost.sectors);
        traffic.ideal += u64::from(pattern.cost.ideal_sectors);
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
    }

    #[inline(always)]
    fn load_from(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        buffer: usize,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Box<Fault>> {
        let memory = &self.context.memory.buffers[buffer];
        if memory.watch.is_some() && !access.ordered {
            self.watch_read(warp, access, memory, mask, addresses)?;
        }
        if self.context.sanitize && memory.written.get().is_some() {
            self.load_taint(warp, access, memory, mask, addresses);
        }
        let base = self.context.memory.address(buffer as u32);
        if access.element_bytes == 4 && !access.wide {
            // Lanes that do not run may stand in another buffer: they read word 0.
            let mut words = [0; LANES];
            for lane in 0..LANES {
                let word = (addresses[lane].wrapping_sub(base) >> 2) as usize;
                words[lane] = if mask >> lane & 1 == 1 { word } else { 0 };
            }
            for (element, slot) in access.registers[..access.elements as usize].iter().enumerate() {
                let mut out = [0; LANES];
                for lane in 0..LANES {
                    out[lane] = if mask >> lane & 1 == 1 { memory.load_word(words[lane] + element) } else { 0 };
                }
                warp.r[*slot as usize].set(&out, mask);
            }
            return Ok(());
        }
        for element in 0..access.elements {
            let mut out = [0; LANES];
            for lane in each(mask) {
                let offset = (addresses[lane] - base) as usize + (element * access.element_bytes) as usize;
                out[lane] = memory.load(offset, access.element_bytes);
            }
            warp.set_loaded(access, element, &out, mask);
        }
        Ok(())
    }

    #[inline(always)]
    fn store_to(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        buffer: usize,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Box<Fault>> {
        let memory = &self.context.memory.buffers[buffer];
        if memory.watch.is_some() && !access.ordered {
            self.watch_write(warp, access, memory, mask, addresses)?;
        }
        let base = self.context.memory.address(buffer as u32);
        if self.context.sanitize && (memory.written.get().is_some() || warp.taint.is_some()) {
            self.store_taint(warp, access, memory, mask, addresses)?;
        } else if let Some(written) = memory.written.get() {
            for lane in each(mask) {
                let offset = (addresses[lane] - base) as usize;
                let flags = &written[offset..offset + access.bytes() as usize];
                flags.iter().for_each(|flag| flag.store(1, std::sync::atomic::Ordering::Relaxed));
            }
        }
        for element in 0..access.elements {
            for lane in each(mask) {
                let offset = (addresses[lane] - base) as usize + (element * access.element_bytes) as usize;
                memory.store(offset, access.element_bytes, warp.stored(access, element, lane));
            }
        }
        Ok(())
    }
}

/// What is wrong with an access at `offset` of a buffer, if anything is.
pub(super) fn verdict_on(memory: &BufferMemory, offset: i64, bytes: i64) -> Option<(FaultKind, String)> {
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

impl Warp {
    /// Puts an element that was loaded into its register, extended to the register's width.
    #[inline(always)]
    pub(super) fn set_loaded(&mut self, access: &Access, element: u32, values: &[u64; LANES], mask: u32) {
        let slot = access.registers[element as usize] as usize;
        let shift = 64 - 8 * access.element_bytes;
        let extend = |value: u64| if access.signed { ((value << shift) as i64 >> shift) as u64 } else { value };
        if access.wide {
            self.d[slot].set(&values.map(extend), mask);
        } else {
            self.r[slot].set(&values.map(|value| extend(value) as u32), mask);
        }
    }

    /// The value that a lane stores as an element.
    #[inline(always)]
    pub(super) fn stored(&self, access: &Access, element: u32, lane: usize) -> u64 {
        let slot = access.registers[element as usize] as usize;
        if access.wide { self.d[slot].0[lane] } else { self.r[slot].0[lane].into() }
    }

    /// All bytes that a lane stores.
    pub(super) fn stored_bytes(&self, access: &Access, lane: usize) -> [u8; 32] {
        let mut bytes = [0; 32];
        let size = access.element_bytes as usize;
        for element in 0..access.elements {
            let value = self.stored(access, element, lane).to_le_bytes();
            bytes[element as usize * size..][..size].copy_from_slice(&value[..size]);
        }
        bytes
    }
}
