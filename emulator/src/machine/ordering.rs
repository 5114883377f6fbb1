//! What orders accesses: barriers, and meetings of a warp's lanes. The scheduler tells here who has met whom.

use super::barrier::Arrival;
use super::block::Worker;
use super::meeting::Party;
use super::warp::Warp;

impl Worker<'_> {
    /// A warp arrives at barrier `id`, all of its live lanes.
    pub(super) fn note_arrival(&mut self, _warp: &mut Warp, _id: u32, _arrival: Arrival) {}

    /// Barrier `id` is complete: who arrived is ordered before who waited there. `present` is the warp that runs; it is not
    /// in the list of the others, and may be among the arrivals.
    pub(super) fn note_release(&mut self, present: &mut Warp, _id: u32, arrivals: &[Arrival]) {
        self.state.epoch += 1;
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            let listed = arrival.warp != present.number;
            let warp = if listed { &mut self.state.warps[arrival.warp as usize] } else { &mut *present };
            warp.epoch = 0;
        }
    }

    /// Lanes of a warp have met at `__syncwarp()`.
    pub(super) fn note_warp_sync(&mut self, warp: &mut Warp, _parties: &[Party]) {
        warp.epoch += 1;
    }
}
