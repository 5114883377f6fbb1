//! Notes what is about to be accessed, for `Device::trace`. The interpreter is compiled once more for it, so that
//! launches that are not traced do not even ask whether they are.

use std::sync::Arc;

use crate::global::locate;
use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{BLOCK_WINDOW, Bulk, Extension, Group, Op, SHARED_WINDOW, Space, Tensor, in_window};
use crate::trace::{AccessKind, LaneAccess, Memory, Touched, TracedAccess};

impl Worker<'_> {
    /// Notes what instruction `at` accesses, if it does. Addresses may still prove to be wrong: then the launch ends
    /// with a fault, and nobody sees the notes.
    pub(crate) fn trace(&mut self, warp: &mut Warp, at: u32, mask: u32) {
        if self.notes.recorder.is_some() {
            return;
        }
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
                    (Extension::Bulk(Bulk::Tensor(tensor, rank)), &[_, place, ..])
                        if self.notes.stores_to.is_none() =>
                    {
                        let load = matches!(tensor, Tensor::Load { .. });
                        let kind = if load { AccessKind::Store } else { AccessKind::Load };
                        for lane in each(mask) {
                            let touched = self.touched_box(warp, extended, (lane, rank, !load));
                            self.note(warp, place, 1 << lane, kind, Some(0));
                            self.notes
                                .traced
                                .last_mut()
                                .into_iter()
                                .for_each(|access| access.touched = touched.clone());
                        }
                    }
                    (Extension::Group(Group::Multiply(form)), _) if self.notes.stores_to.is_none() => {
                        for (index, touched) in self.touched_operands(warp, extended, form) {
                            self.note_operand(warp, index, touched);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// The same of an instruction at which lanes meet, for those whose guard holds.
    pub(crate) fn trace_meeting(&mut self, warp: &mut Warp, at: u32, mask: u32) {
        let guard = self.context.program.code[at as usize].guard;
        let on = guard.map_or(mask, |guard| mask & warp.predicate(guard.predicate, guard.negated));
        if on != 0 {
            self.trace(warp, at, on);
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
        let mut traced = TracedAccess {
            kind,
            bytes: bytes.unwrap_or_else(|| access.bytes()),
            lanes: each(shared).map(|lane| self.in_shared(warp, lane, addresses[lane] - start)).collect(),
            ..self.to_shared(warp, access.at)
        };
        let global = each(mask & !shared).filter_map(|lane| self.in_global(warp, lane, addresses[lane])).collect();
        let everything = self.notes.stores_to.is_none();
        if shared != 0 && everything {
            self.notes.traced.push(traced.clone());
        }
        (traced.memory, traced.lanes) = (Memory::Global, global);
        if let Some((from, to)) = self.notes.stores_to {
            let bytes = u64::from(traced.bytes);
            traced.lanes.retain(|lane| kind != AccessKind::Load && lane.address < to && from < lane.address + bytes);
        }
        if !traced.lanes.is_empty() {
            self.notes.traced.push(traced);
        }
    }

    /// An operand of a product, by the place of its first chunk, as lane 0 names it.
    fn note_operand(&mut self, warp: &Warp, index: u32, touched: Touched) {
        let (Touched::A(rows) | Touched::B(rows)) = &touched else { return };
        let Some(&first) = rows.first().and_then(|row| row.chunks.first()) else { return };
        let at = self.context.program.accesses[index as usize].at;
        let lanes = vec![self.in_shared(warp, 0, first.into())];
        self.notes.traced.push(TracedAccess { lanes, touched, ..self.to_shared(warp, at) });
    }

    /// What instruction `at` reads of shared memory: as yet nothing.
    fn to_shared(&self, warp: &Warp, at: u32) -> TracedAccess {
        let program = self.context.program;
        let info = &program.info[at as usize];
        let file = program.files.get(info.file as usize).filter(|_| info.line > 0);
        TracedAccess {
            source: file.map(|file| (file.clone(), info.line)),
            opcode: info.opcode.clone(),
            block: self.context.shape.block_at(self.state.block),
            warp: warp.number,
            phase: self.state.phase,
            memory: Memory::Shared,
            kind: AccessKind::Load,
            bytes: 0,
            lanes: Vec::new(),
            touched: Touched::Lanes,
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
