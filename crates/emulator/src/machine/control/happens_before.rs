//! What orders accesses: barriers, meetings of a warp's lanes, fences. The order model is told here who has met whom.

use crate::machine::lanes::LANES;
use crate::machine::state::barriers::Arrival;
use crate::machine::state::warp::{Party, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Fenced, Op, Order, Scope};

impl Worker<'_> {
    /// A warp arrives at barrier `id`, all of its live lanes.
    pub(crate) fn note_arrival(&mut self, id: u32, arrival: Arrival) {
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive(self.state.block as u32, id, arrival.warp, arrival.lanes);
        }
    }

    /// Who arrived at barrier `id` in the phase that was complete last, and may as well come behind this arrival: nothing orders the two.
    pub(crate) fn unmet_before(&mut self, id: u32, now: Arrival) -> Option<Arrival> {
        let clocks = self.clocks.as_mut().filter(|_| now.threads != 0)?;
        let other = clocks.unmet(self.state.block as u32, id, now.warp, now.lanes)?;
        self.state.barriers.all[id as usize].last.iter().find(|before| before.warp == other).copied()
    }

    /// Barrier `id` is complete: who arrived is ordered before who waited there. `present` is the warp that runs; it is not
    /// in the list of the others, and may be among the arrivals.
    pub(crate) fn note_release(&mut self, present: &mut Warp, id: u32, arrivals: &[Arrival]) {
        self.state.epoch += 1;
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            let listed = arrival.warp != present.number;
            let warp = if listed { &mut self.state.warps[arrival.warp as usize] } else { &mut *present };
            warp.epoch = 0;
        }
        let Some(clocks) = &mut self.clocks else { return };
        let threads = self.context.shape.block;
        let whole = arrivals.iter().all(|arrival| arrival.threads == 0);
        let waiting: Vec<(u32, u32)> =
            arrivals.iter().filter(|arrival| arrival.waits).map(|arrival| (arrival.warp, arrival.lanes)).collect();
        let live: Vec<u32> = (0..self.state.warps.len())
            .map(|n| if n as u32 == present.number { present.live } else { self.state.warps[n].live })
            .collect();
        // Threads that have ended count as arrived where the barrier is for all.
        let existing = |number: usize| Warp::existing(number as u32, threads);
        let ended = live.iter().enumerate().map(|(n, live)| (n as u32, existing(n) & !live));
        let ended: Vec<(u32, u32)> = ended.filter(|(_, lanes)| whole && *lanes != 0).collect();
        clocks.complete(self.state.block as u32, (id, !whole), &waiting, &ended, |number| live[number as usize]);
    }

    /// Lanes of a warp have met at `__syncwarp()`.
    pub(crate) fn note_warp_sync(&mut self, warp: &mut Warp, parties: &[Party]) {
        warp.epoch = warp.epoch.saturating_add(1);
        if let Some(clocks) = &mut self.clocks {
            let existing = Warp::existing(warp.number, self.context.shape.block);
            let mut lanes = parties.iter().fold(0, |lanes, party| lanes | party.lanes);
            // Lanes that have ended count as arrived.
            if let Op::WarpSync { members } = self.context.program.code[parties[0].at as usize].op {
                let named = warp.r[members as usize].0[lanes.trailing_zeros() as usize & 31];
                lanes |= named & existing & !warp.live;
            }
            clocks.warp_barrier(self.state.block as u32, warp.number, lanes, warp.live);
        }
    }

    pub(crate) fn note_fence(&mut self, warp: &Warp, mask: u32, order: Order, scope: Scope) {
        if let Some(clocks) = &mut self.clocks {
            clocks.fence(self.state.block as u32, warp.number, mask, order, scope);
        }
    }

    /// Lanes execute `fence.proxy.async`.
    pub(crate) fn proxy_fence(&mut self, warp: &Warp, mask: u32, fenced: Fenced) {
        if let Some(clocks) = &mut self.clocks {
            clocks.proxy_fence_for(self.state.block as u32, (warp.number, mask), warp.live, fenced);
        }
    }

    /// Lanes execute `fence.mbarrier_init`.
    pub(crate) fn fence_inits(&mut self, warp: &Warp, mask: u32) {
        let own = |thread: u32| thread / LANES as u32 == warp.number && mask >> (thread % LANES as u32) & 1 == 1;
        let all = self.state.mbarriers.live.values_mut();
        all.filter(|object| own(object.init.thread)).for_each(|object| object.fenced = true);
        if let Some(clocks) = &mut self.clocks {
            clocks.fence_beginnings(self.state.block as u32, (warp.number, mask), warp.live);
        }
    }

    /// The present thread block has ended.
    pub(crate) fn note_end(&mut self) {
        let block = self.state.block;
        if let Some(clocks) = &mut self.clocks {
            clocks.end(block as u32);
        }
        self.sources.retain(|source| source.block != block);
    }
}
