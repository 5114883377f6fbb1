//! Tensor maps that a kernel changes: `tensormap.replace`, and what makes the change visible to copies.

use crate::global::locate;
use crate::machine::lanes::{LANES, each};
use crate::machine::memory::shared_access::read_shared;
use crate::machine::order::{Agent, Kind};
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::machine::verdict::words::{fault, place as line};
use crate::program::{Access, Extended, MapDeed, Order, SHARED_WINDOW, Space, in_window};
use crate::{Cause, Fault, FaultKind, Site, TensorMap};

/// Bytes of a map, and what its address is a multiple of.
const BYTES: u32 = 128;
const UNIT: u64 = 64;

/// Where a map lies: in shared memory, or in a buffer.
#[derive(Clone, Copy)]
enum Home {
    Shared(u32),
    Global(usize, usize),
}

impl Worker<'_> {
    /// Lanes change a map, or tell of it.
    pub(crate) fn change_map(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        deed: MapDeed,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let accesses = &self.context.program.accesses;
        let map = &accesses[extended.accesses[0] as usize];
        match deed {
            MapDeed::Acquire(scope) => {
                self.note_fence(warp, mask, Order::Acquire, scope);
                warp.set_addresses(map, mask);
                let acquired = each(mask).map(|lane| warp.scratch.addresses.0[lane]);
                self.state.mbarriers.maps.extend(acquired);
                self.state.mbarriers.maps.sort_unstable();
                self.state.mbarriers.maps.dedup();
            }
            MapDeed::Replace(field) => {
                for lane in each(mask) {
                    let value =
                        extended.reads.first().map(|(file, slot)| warp.wide(*file, *slot, lane)).unwrap_or_default();
                    let home = self.map_home(warp, map, lane)?;
                    let mut bytes = TensorMap::from_bytes(self.map_bytes_at(home));
                    bytes.replace(field, value);
                    self.put_map(warp, map, lane, (home, bytes.bytes()))?;
                }
            }
            MapDeed::CopyOut(scope) => {
                let lane = mask.trailing_zeros() as usize;
                let from = &accesses[extended.accesses[1] as usize];
                let home = self.map_home(warp, from, lane)?;
                let deed = Deed::new(Kind::Read, BYTES);
                self.order_access(warp, from, 1 << lane, Target::Shared, deed)?;
                let bytes = self.map_bytes_at(home);
                let home = self.map_home(warp, map, lane)?;
                self.put_map(warp, map, lane, (home, &bytes))?;
                self.note_fence(warp, mask, Order::Release, scope);
            }
        }
        Ok(())
    }

    /// Where the map of a lane lies. Its address, or offset, is at hand then.
    fn map_home(&mut self, warp: &mut Warp, access: &Access, lane: usize) -> Result<Home, Box<Fault>> {
        warp.set_addresses(access, 1 << lane);
        let address = warp.scratch.addresses.0[lane];
        let shared =
            access.space == Space::Shared || access.space == Space::Generic && in_window(address, SHARED_WINDOW);
        let (home, name, end) = if shared {
            let at = self.shared_offsets(warp, access, 1 << lane)?[lane];
            let end = access.within.1.min(self.shared_bytes);
            (Home::Shared(at), self.in_shared_words(at), i64::from(end) - i64::from(at))
        } else {
            self.home(warp, access, 1 << lane)?;
            let (buffer, offset) = locate(address);
            let memory = &self.context.memory.buffers[buffer];
            let name = format!("{} at offset {offset}", memory.name);
            (Home::Global(buffer, offset as usize), name, memory.bytes as i64 - offset)
        };
        let name = format!("in {name}");
        if !address.is_multiple_of(UNIT) {
            let what = format!("is at no multiple of {UNIT} bytes");
            return Err(self.convict_map(warp, access, lane, FaultKind::Misaligned, (&name, &what)));
        }
        if end < BYTES.into() {
            let what = format!("has {BYTES} bytes, and only {end} are there");
            return Err(self.convict_map(warp, access, lane, FaultKind::OutOfBounds, (&name, &what)));
        }
        Ok(home)
    }

    fn map_bytes_at(&self, home: Home) -> [u8; BYTES as usize] {
        let mut bytes = [0; BYTES as usize];
        match home {
            Home::Shared(at) => {
                for (byte, at) in bytes.iter_mut().zip(at..) {
                    *byte = read_shared(&self.state.shared, at, 1) as u8;
                }
            }
            Home::Global(buffer, offset) => self.context.memory.buffers[buffer].read(offset, &mut bytes),
        }
        bytes
    }

    /// A lane, whose place is at hand, writes a map.
    fn put_map(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        (home, bytes): (Home, &[u8; BYTES as usize]),
    ) -> Result<(), Box<Fault>> {
        let at = match home {
            Home::Global(buffer, offset) => {
                return self.put_global((warp, access, lane), (buffer, offset), (bytes.to_vec(), None), None).map(drop);
            }
            Home::Shared(at) => at,
        };
        warp.scratch.offsets.0[lane] = at;
        for deed in [
            Deed { keep: false, ..Deed::new(Kind::Write, BYTES) },
            Deed { check: false, ..Deed::new(Kind::Write, BYTES) },
        ] {
            self.order_access(warp, access, 1 << lane, Target::Shared, deed)?;
        }
        for (word, four) in self.state.shared[at as usize / 4..].iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*four);
        }
        let stamp = self.stamp(warp, access.at);
        self.mark_shared(at, BYTES, stamp.of_thread(stamp.thread() + lane as u32));
        self.state.wrote();
        Ok(())
    }

    /// A copy goes by a map in a buffer. If this launch wrote it, somebody of the block must have acquired that.
    pub(crate) fn check_map_fenced(
        &self,
        (warp, access, lane): (&Warp, &Access, usize),
        (buffer, offset, name): (usize, usize, &str),
        address: u64,
    ) -> Result<(), Box<Fault>> {
        if self.state.mbarriers.maps.binary_search(&address).is_ok() {
            return Ok(());
        }
        let Some(writer) = self.map_writer(buffer, offset) else { return Ok(()) };
        let site = self.site_of(warp, lane as u32, access.at);
        let message = format!(
            "race on the tensor map {name}: written by thread {} at {}, used by a tensor copy of thread {} at {}, no fence between",
            writer.thread,
            line(&writer),
            site.thread,
            line(&site)
        );
        let hint = "who writes a tensor map executes `fence.proxy.tensormap::generic.release`, and who uses it `….acquire` of its address";
        let mut fault = fault(FaultKind::Race, message, site, hint).because(Cause::ProxyFence);
        fault.other = Some(("it is written here:".to_string(), writer));
        Err(fault)
    }

    /// A copy that goes by a map in a buffer reads the map until somebody has seen that it is done.
    pub(crate) fn map_under_way(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        agents: impl Iterator<Item = (u64, Agent)>,
    ) -> Result<(), Box<Fault>> {
        warp.set_addresses(access, 1 << lane);
        let address = warp.scratch.addresses.0[lane];
        // (It may be a parameter, or constant.)
        match self.context.memory.buffers.get(locate(address).0) {
            Some(_) => self.agents_read_global(warp, access, lane, (address, BYTES), agents, false),
            None => Ok(()),
        }
    }

    /// Who wrote a map in this launch.
    fn map_writer(&self, buffer: usize, offset: usize) -> Option<Site> {
        let watch = self.context.memory.buffers[buffer].watch.as_ref()?;
        if let Some(clocks) = self.clocks.as_ref().filter(|_| self.global_by_clocks()) {
            let grain = self.context.program.global_grain;
            let view = clocks.view(Some(buffer as u32));
            let mut cells = offset as u32 / grain..(offset as u32 + BYTES) / grain;
            let then = cells.find_map(|cell| view.written(cell))?.access();
            let thread = then.warp * LANES as u32 + then.lanes.trailing_zeros();
            return Some(self.context.site(then.block.into(), thread, then.at));
        }
        let grain = watch.grain as usize;
        let mut cells = offset / grain..(offset + BYTES as usize) / grain;
        let then = cells.find_map(|cell| watch.writes.at(cell).get())?;
        Some(self.context.site(then.block.into(), then.stamp.thread(), then.stamp.at()))
    }
}
