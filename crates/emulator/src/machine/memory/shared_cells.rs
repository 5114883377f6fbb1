//! Bytes of shared memory that one lane reads or writes, held against the stamps of their cells, or against the order model.

use crate::Fault;
use crate::machine::order::Kind;
use crate::machine::state::cells::Cells;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;
use crate::stamp::Stamp;

impl Worker<'_> {
    /// A lane reads bytes that others must not be writing. Says whether nobody has written some of them.
    pub(crate) fn check_shared_read(
        &mut self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        at: u32,
        length: u32,
    ) -> Result<bool, Box<Fault>> {
        let (grain, stamp) = (self.context.program.shared_grain, self.stamp(warp, access.at));
        let now = stamp.of_thread(stamp.thread() + lane as u32);
        let mut unwritten = false;
        if self.shared_by_clocks() {
            self.order_access(warp, access, 1 << lane, Target::Shared, Deed::new(Kind::Read, length))?;
        }
        for cell in cells(&self.state.cells, at, length, grain) {
            let before = self.state.cells.write(cell);
            if before.conflicts(now) && !self.shared_by_clocks() {
                let place = cell * grain;
                return Err(self.convict_shared_race(warp, access, lane as u32, place, (before, "store"), "load"));
            }
            unwritten |= before.epoch() < self.state.first_epoch;
            self.state.cells.read(cell as usize, 1, now, 0);
        }
        Ok(unwritten)
    }

    pub(crate) fn is_unwritten(&self, at: u32) -> bool {
        let cell = at / self.context.program.shared_grain;
        !self.state.cells.is_empty() && self.state.cells.write(cell).epoch() < self.state.first_epoch
    }

    /// A lane is about to write bytes that others must not be using.
    pub(crate) fn check_shared_write(
        &mut self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        at: u32,
        length: u32,
    ) -> Result<(), Box<Fault>> {
        let (grain, stamp) = (self.context.program.shared_grain, self.stamp(warp, access.at));
        let now = stamp.of_thread(stamp.thread() + lane as u32);
        let by_clocks = self.shared_by_clocks();
        if by_clocks {
            let deed = Deed { keep: false, ..Deed::new(Kind::Write, length) };
            self.order_access(warp, access, 1 << lane, Target::Shared, deed)?;
        }
        for cell in cells(&self.state.cells, at, length, grain) {
            let (write, [first, second]) = (self.state.cells.write(cell), self.state.cells.reads(cell));
            if self.is_copy_under_way(write) {
                return Err(self.convict_write_under_way(warp, access, lane as u32, cell * grain, write));
            }
            let parties = [(write, "store"), (first, "load"), (second, "load")];
            if let Some(party) = parties.into_iter().find(|(before, _)| !by_clocks && before.conflicts(now)) {
                let place = cell * grain;
                return Err(self.convict_shared_race(warp, access, lane as u32, place, party, "store"));
            }
        }
        Ok(())
    }

    pub(crate) fn mark_shared(&mut self, at: u32, length: u32, now: Stamp) {
        let grain = self.context.program.shared_grain;
        let cells = cells(&self.state.cells, at, length, grain);
        self.state.cells.mark(cells.start as usize, cells.len(), now);
    }
}

/// The cells that bytes lie in; none where nothing is watched.
pub(crate) fn cells(watched: &Cells, at: u32, length: u32, grain: u32) -> std::ops::Range<u32> {
    match watched.is_empty() {
        true => 0..0,
        false => at / grain..(at + length).div_ceil(grain),
    }
}
