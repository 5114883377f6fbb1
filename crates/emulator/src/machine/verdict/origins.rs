//! Where what nobody wrote comes from, however often it is copied: remembered where a copy of it is put.
//!
//! A copy in shared or local memory counts as unwritten; whoever loads it is told of where the first load was. So it is with
//! copies in global memory, and there the store is kept as well, in words: the host may ask for it when it finds bytes that
//! nobody wrote.

use super::taint::data_file;
use crate::global::BufferMemory;
use crate::machine::lanes::LANES;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::{Origin, Place};
use crate::program::Access;

impl Worker<'_> {
    /// A lane loads, by an instruction, what nobody wrote.
    pub(crate) fn origin(&self, warp: &Warp, lane: usize, at: u32, place: Place) -> Origin {
        let mut place = place;
        let known = match place {
            Place::Shared(offset) => {
                let cell = offset / self.context.program.shared_grain;
                let write = self.state.cells.write(cell);
                if self.is_copy_under_way(write) {
                    let (thread, at) = (write.thread(), write.at());
                    place = Place::UnderWay { offset, thread, at, lack: self.lack_of(warp, thread, offset) };
                    None
                } else {
                    self.state.origins.get(&cell).copied()
                }
            }
            Place::Local(offset) => warp.local_origins.get(&(lane, offset)).copied(),
            Place::Global(buffer, offset) => self.context.memory.buffers[buffer].copies.origin(offset as usize),
            _ => None,
        };
        let thread = warp.number * LANES as u32 + lane as u32;
        let here = |place: Place| Origin { place, at, thread, block: self.acting() };
        match (known.map(|known| known.place), place) {
            (Some(Place::Brought(_)), Place::Shared(offset)) => here(Place::Brought(offset)),
            _ => known.unwrap_or_else(|| here(place)),
        }
    }

    /// Where a byte that a lane stores comes from, which nobody wrote.
    pub(crate) fn stored_origin(&self, warp: &Warp, access: &Access, lane: usize, byte: u32) -> Option<Origin> {
        let slot = access.registers[(byte / access.element_bytes) as usize];
        warp.taint.as_ref()?.origin(data_file(access), slot, lane)
    }

    /// A byte of shared memory holds a copy of what nobody wrote.
    pub(crate) fn note_shared_copy(&mut self, offset: u32, origin: Option<Origin>) {
        if let Some(origin) = origin {
            self.state.origins.insert(offset / self.context.program.shared_grain, origin);
        }
    }

    /// A lane stores to a buffer, from an offset on, a copy of what nobody wrote.
    #[cold]
    pub(crate) fn note_global_copy(
        &self,
        (warp, lane, at): (&Warp, usize, u32),
        memory: &BufferMemory,
        offset: usize,
        origin: Option<Origin>,
    ) {
        let words = || {
            let reaches = format!("a result, {} at offset {offset}", memory.name);
            self.convict_uninitialised(warp, lane as u32, at, &reaches, origin)
        };
        memory.copies.note(offset, origin, words);
    }
}
