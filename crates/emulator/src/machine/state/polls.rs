//! Who asks in vain: a warp that reads the same from a volatile place again and again, or tries an atomic that changes
//! nothing, waits for others. Its turn ends, so that they get theirs.

use super::warp::Warp;
use super::worker::Worker;
use crate::machine::lanes::{LANES, each};
use crate::program::Access;

/// So many times in a row, and the turn ends.
const PATIENCE: u32 = 16;

/// What the warp's last ordered accesses gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Polls {
    last: [(u32, Vec<u64>); 4],
    in_vain: u32,
    /// Writes of the thread block so far, when it asked last.
    writes: u64,
}

impl Worker<'_> {
    /// An ordered load, or an atomic that changed nothing, gave `values`.
    #[inline(never)]
    pub(crate) fn polled(&mut self, warp: &mut Warp, at: u32, values: impl Iterator<Item = u64>) {
        let last = &mut warp.polls.last[at as usize % 4];
        let before = std::mem::replace(last, (at, values.collect()));
        let again = *last == before && warp.polls.writes == self.state.writes;
        warp.polls.writes = self.state.writes;
        warp.polls.in_vain = if again { warp.polls.in_vain + 1 } else { 0 };
        if warp.polls.in_vain >= PATIENCE {
            self.stop_at = 0;
        }
    }
}

impl Worker<'_> {
    /// The same for a load that has put its values into registers.
    #[inline(never)]
    pub(crate) fn polled_load(&mut self, warp: &mut Warp, access: &Access, mask: u32) {
        let mut values = Vec::with_capacity(LANES);
        for lane in each(mask) {
            values.extend((0..access.elements).map(|element| warp.stored(access, element, lane)));
        }
        self.polled(warp, access.at, values.into_iter());
    }
}

impl Polls {
    /// Whether the warp has asked in vain for long enough.
    pub fn gave_up(&self) -> bool {
        self.in_vain >= PATIENCE
    }
}
