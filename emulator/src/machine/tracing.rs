//! Notes what is about to be accessed, for `Device::trace`. The interpreter is compiled once more for it, so that
//! launches that are not traced do not even ask whether they are.

use std::sync::Arc;

use super::block::Worker;
use super::lanes::{LANES, each, mask_where};
use super::warp::Warp;
use crate::global::locate;
use crate::program::{BLOCK_WINDOW, Bulk, Extension, Op, SHARED_WINDOW, Space, Tensor, in_window};
use crate::trace::{AccessKind, LaneAccess, Memory, TracedAccess};

impl Worker<'_> {
    /// Notes what instruction `at` accesses, if it does. Addresses may still prove to be wrong: then the launch ends
    /// with a fault, and nobody sees the notes.
    pub(super) fn trace(&mut self, warp: &mut Warp, at: u32, mask: u32) {
        match self.context.program.code[at as usize].op {
            Op::Load(index) => self.note(warp, index, mask, AccessKind::Load, None),
            Op::Store(index) => self.note(warp, index, mask, AccessKind::Store, None),
            Op::Extended(index) => {
                let extended = &self.context.program.extended[index as usize];
                let rows = |registers: usize| (u32::MAX >> (LANES - 8 * registers), Some(16));
                match (extended.what, extended.accesses.as_slice()) {
                    (Extension::Atomic(_), &[place]) => self.note(warp, place, mask, AccessKind::Atomic, None),
                    (Extension::CopyAsync { size, .. }, &[from, to]) => {
                        let length = self.context.program.accesses[from as usize].bytes();
                        let sizes = warp.asked_bytes(extended, size, length);
                        let reading = mask_where(|lane| sizes[lane] > 0) & mask;
                        self.note(warp, from, reading, AccessKind::Load, None);
                        self.note(warp, to, mask, AccessKind::Store, None);
                    }
                    (Extension::LoadMatrix { .. }, &[from]) => {
                        let (mask, bytes) = rows(extended.writes.len());
                        self.note(warp, from, mask, AccessKind::Load, bytes);
                    }
                    (Extension::StoreMatrix { .. }, &[to]) => {
                        let (mask, bytes) = rows(extended.reads.len());
                        self.note(warp, to, mask, AccessKind::Store, bytes);
                    }
                    // A copy of a box: where in shared memory. How much, and where from, its tensor map says.
                    (Extension::Bulk(Bulk::Tensor(tensor, _)), &[_, place, ..]) => {
                        let load = matches!(tensor, Tensor::Load { .. });
                        let kind = if load { AccessKind::Store } else { AccessKind::Load };
                        self.note(warp, place, mask, kind, Some(0));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, warp: &mut Warp, index: u32, mask: u32, kind: AccessKind, bytes: Option<u32>) {
        let program = self.context.program;
        let access = &program.accesses[index as usize];
        warp.set_addresses(access, mask);
        let addresses = warp.scratch.addresses.0;
        let in_window = mask_where(|lane| in_window(addresses[lane], SHARED_WINDOW));
        let (shared, start) = match access.space {
            Space::Shared => (mask, 0),
            Space::Generic => (mask & in_window, SHARED_WINDOW),
            _ => (0, 0),
        };
        let info = &program.info[access.at as usize];
        let file = program.files.get(info.file as usize).filter(|_| info.line > 0);
        let mut traced = TracedAccess {
            source: file.map(|file| (file.clone(), info.line)),
            opcode: info.opcode.clone(),
            block: self.context.shape.block_at(self.state.block),
            warp: warp.number,
            phase: self.state.phase,
            memory: Memory::Shared,
            kind,
            bytes: bytes.unwrap_or_else(|| access.bytes()),
            lanes: each(shared).map(|lane| self.in_shared(warp, lane, addresses[lane] - start)).collect(),
        };
        let global = each(mask & !shared).filter_map(|lane| self.in_global(warp, lane, addresses[lane])).collect();
        if shared != 0 {
            self.traced.push(traced.clone());
        }
        (traced.memory, traced.lanes) = (Memory::Global, global);
        if !traced.lanes.is_empty() {
            self.traced.push(traced);
        }
    }

    fn in_shared(&self, warp: &Warp, lane: usize, address: u64) -> LaneAccess {
        let (rank, address) = ((address / BLOCK_WINDOW) as u32, address % BLOCK_WINDOW);
        let (array, offset) = self.shared_name(address as u32);
        LaneAccess { array: Arc::from(array), offset: offset.into(), rank, ..self.lane_access(warp, lane, address) }
    }

    /// Nothing where the address lies in no buffer: in a window of local or constant memory, or at fault.
    fn in_global(&self, warp: &Warp, lane: usize, address: u64) -> Option<LaneAccess> {
        let (buffer, offset) = locate(address);
        let array = Arc::from(self.context.memory.buffers.get(buffer)?.name.as_str());
        Some(LaneAccess { array, offset: offset as u64, ..self.lane_access(warp, lane, address) })
    }

    fn lane_access(&self, warp: &Warp, lane: usize, address: u64) -> LaneAccess {
        let thread = self.context.shape.thread(warp.number * LANES as u32 + lane as u32);
        LaneAccess { lane: lane as u32, thread, array: Arc::from(""), rank: 0, offset: 0, address }
    }
}
