//! Notes what warps execute, for `Device::record`.

use crate::access;
use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::state::recorder::Recorder;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Barrier, Exit, Extension, Op, SHARED_WINDOW, Space, in_window};
use crate::stream::{BlockStream, Executed, Touch};

/// Bytes of a sector.
const SECTOR: u64 = 32;

impl Worker<'_> {
    /// A thread block that is to be recorded is about to have its turn.
    pub(crate) fn record_block(&mut self) {
        let block = self.context.shape.block_at(self.state.block);
        let warps = self.state.warps.len();
        let Some(Recorder { stream, at }) = self.notes.recorder.as_deref_mut() else { return };
        *at = stream.blocks.iter().position(|known| known.block == block).unwrap_or_else(|| {
            stream.blocks.push(BlockStream { block, warps: vec![Vec::new(); warps] });
            stream.blocks.len() - 1
        });
    }

    /// Notes that a warp executes instruction `at`; for no lane where its guard says so.
    pub(crate) fn record(&mut self, warp: &mut Warp, at: u32, mask: u32) {
        if self.notes.recorder.is_none() {
            return;
        }
        let touch = self.touched(warp, at, mask);
        if let Some(recorder) = &mut self.notes.recorder {
            let touch = touch.map_or(Executed::NOTHING, |touch| recorder.touch(touch));
            recorder.note(warp, at, touch);
        }
    }

    /// Notes that a warp comes to the end of a block of the program.
    pub(crate) fn record_exit(&mut self, warp: &Warp, block: u32) {
        let program = self.context.program;
        if let Some(recorder) = &mut self.notes.recorder {
            let mut code = program.code.len() as u32 + block;
            let touch = match program.blocks[block as usize].exit {
                Exit::Barrier { barrier: Barrier { id, threads, .. }, .. } => {
                    let lane = warp.live.trailing_zeros().min(31) as usize;
                    let of = |slot: u32| warp.r[slot as usize].0[lane];
                    of(id) & 0xff | threads.map_or(0, of) << 8
                }
                Exit::Branch { .. } | Exit::Return => Executed::NOTHING,
                Exit::Meeting(_) => {
                    code = program.blocks[block as usize].stop;
                    Executed::NOTHING
                }
                Exit::Jump(_) if program.blocks[block as usize].exit_info.is_some() => Executed::NOTHING,
                _ => return,
            };
            recorder.note(warp, code, touch);
        }
    }

    /// What an instruction touches of global and of shared memory, if it does.
    fn touched(&self, warp: &mut Warp, at: u32, mask: u32) -> Option<Touch> {
        let program = self.context.program;
        let mut touch = Touch::default();
        match program.code[at as usize].op {
            Op::Load(index) => self.add(&mut touch, warp, index, mask, Way::Load),
            Op::Store(index) => self.add(&mut touch, warp, index, mask, Way::Store),
            Op::Extended(index) => {
                let extended = &program.extended[index as usize];
                match (extended.what, extended.accesses.as_slice()) {
                    (Extension::Atomic(_), &[place]) => self.add(&mut touch, warp, place, mask, Way::Store),
                    (Extension::CopyAsync { size, .. }, &[from, to]) => {
                        let length = program.accesses[from as usize].bytes();
                        let sizes = warp.asked_bytes(extended, size, length);
                        let reading = mask_where(|lane| sizes[lane] > 0) & mask;
                        self.add(&mut touch, warp, from, reading, Way::Load);
                        self.add(&mut touch, warp, to, mask, Way::Store);
                    }
                    (Extension::LoadMatrix { .. }, &[from]) => {
                        self.add(&mut touch, warp, from, mask, Way::Matrices(extended.writes.len() as u32));
                    }
                    (Extension::StoreMatrix { .. }, &[to]) => {
                        self.add(&mut touch, warp, to, mask, Way::Matrices(extended.reads.len() as u32));
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
        (touch != Touch::default()).then_some(touch)
    }

    fn add(&self, touch: &mut Touch, warp: &mut Warp, index: u32, mask: u32, way: Way) {
        let access = &self.context.program.accesses[index as usize];
        if mask == 0 || !matches!(access.space, Space::Global | Space::Shared | Space::Generic) {
            return;
        }
        warp.set_addresses(access, mask);
        let addresses = warp.scratch.addresses.0;
        let in_shared = match access.space {
            Space::Shared => mask,
            Space::Generic => mask_where(|lane| in_window(addresses[lane], SHARED_WINDOW)) & mask,
            _ => 0,
        };
        let bytes = access.bytes();
        if in_shared != 0 {
            let offsets = addresses.map(|address| address as u32);
            let cost = match way {
                Way::Load => access::shared_load(&offsets, in_shared, bytes),
                Way::Store => access::shared_store(&offsets, in_shared, bytes),
                Way::Matrices(count) => access::ldmatrix(&offsets, count),
            };
            touch.wavefronts += cost.wavefronts;
        }
        let in_global = mask & !in_shared;
        let mut sectors = Vec::with_capacity(LANES);
        for lane in each(in_global) {
            let last = (addresses[lane] + u64::from(bytes).max(1) - 1) / SECTOR;
            sectors.extend(addresses[lane] / SECTOR..=last);
        }
        sectors.sort_unstable();
        sectors.dedup();
        touch.sectors.append(&mut sectors);
    }
}

/// What is done to memory.
#[derive(Clone, Copy)]
enum Way {
    Load,
    Store,
    /// So many 8×8 matrices, row by row.
    Matrices(u32),
}
