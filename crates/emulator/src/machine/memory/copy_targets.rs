//! Bytes of shared memory to which a copy by `cp.async` is under way: whoever writes them before it lands may
//! lose what is written.
//!
//! Cells say so by the epoch of their last write. Every thread block has one in which nothing runs, before its
//! first: the copies under way. What they write counts as unwritten. The race check never speaks of that epoch, so writes
//! are compared with it here.

use super::shared_cells::cells;
use crate::Fault;
use crate::machine::lanes::{LANES, each};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;
use crate::stamp::Stamp;

impl Worker<'_> {
    /// A lane begins a copy to these bytes.
    pub(crate) fn mark_under_way(&mut self, warp: &Warp, access: &Access, lane: usize, at: u32, length: u32) {
        let thread = warp.number * LANES as u32 + lane as u32;
        self.mark_shared(at, length, Stamp::new(self.epoch_under_way(), 0, access.at, thread));
        self.state.copies_under_way += 1;
    }

    /// Lanes are about to write at the offsets at hand, to which no copy may be under way.
    #[inline(never)]
    pub(crate) fn check_under_way(&self, warp: &Warp, access: &Access, mask: u32) -> Result<(), Box<Fault>> {
        if self.state.copies_under_way == 0 {
            return Ok(());
        }
        let grain = self.context.program.shared_grain;
        for lane in each(mask) {
            for cell in cells(&self.state.cells, warp.scratch.offsets.0[lane], access.bytes(), grain) {
                let write = self.state.cells.write(cell);
                if self.is_copy_under_way(write) {
                    return Err(self.convict_write_under_way(warp, access, lane as u32, cell * grain, write));
                }
            }
        }
        Ok(())
    }
}
