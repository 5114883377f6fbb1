//! What orders accesses: barriers, and meetings of a warp's lanes. The scheduler tells here who has met whom.

use super::barrier::Arrival;
use super::block::Worker;
use super::lanes::LANES;
use super::meeting::Party;
use super::warp::{Warp, existing};
use crate::program::Op;

impl Worker<'_> {
    /// A warp arrives at barrier `id`.
    pub(super) fn note_arrival(&mut self, id: u32, arrival: Arrival) {
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive(self.state.block as u32, id, arrival.warp, arrival.lanes);
        }
    }

    /// Barrier `id` is complete: who arrived is ordered before who waited there. One without a count is for all threads: those
    /// that have ended count as arrived. `present` is the warp that runs; it is not in the list of the others.
    pub(super) fn note_release(&mut self, present: &mut Warp, id: u32, arrivals: &[Arrival]) {
        self.state.epoch += 1;
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            let listed = arrival.warp != present.number;
            let warp = if listed { &mut self.state.warps[arrival.warp as usize] } else { &mut *present };
            warp.epoch = 0;
        }
        let Some(clocks) = &mut self.clocks else { return };
        let waiting: Vec<(u32, u32)> =
            arrivals.iter().filter(|arrival| arrival.waits).map(|arrival| (arrival.warp, arrival.lanes)).collect();
        let live = |number: u32| match number == present.number {
            true => present.live,
            false => self.state.warps[number as usize].live,
        };
        let mut ended = Vec::new();
        if arrivals.iter().all(|arrival| arrival.threads == 0) {
            let gone = |number: u32| existing(number, self.context.shape.block) & !live(number);
            let all = (0..self.state.warps.len() as u32).map(|number| (number, gone(number)));
            ended.extend(all.filter(|(_, lanes)| *lanes != 0));
        }
        clocks.complete(self.state.block as u32, id, &waiting, &ended, live);
    }

    /// Lanes of a warp have met at `__syncwarp()`.
    pub(super) fn note_warp_sync(&mut self, warp: &mut Warp, parties: &[Party]) {
        warp.epoch += 1;
        let Some(clocks) = &mut self.clocks else { return };
        let Op::WarpSync { members } = self.context.program.code[parties[0].at as usize].op else { return };
        let named = warp.r[members as usize].0[parties[0].lanes.trailing_zeros() as usize & (LANES - 1)];
        let here = parties.iter().fold(0, |lanes, party| lanes | party.lanes);
        let lanes = named & warp.existing(self.context.shape.block) | here;
        clocks.warp_barrier(self.state.block as u32, warp.number, lanes, warp.live);
    }
}
