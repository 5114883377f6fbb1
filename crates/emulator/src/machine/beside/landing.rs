//! What lands beside the threads, and tells barriers in shared memory of it: copies of threads for which an arrival waits, and
//! bulk copies.

use crate::Fault;
use crate::machine::lanes::{LANES, each};
use crate::machine::order::Agent;
use crate::machine::state::mbarriers::{Deferred, Event};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;

impl Worker<'_> {
    /// What is under way and tells this barrier of it lands.
    pub(crate) fn land_at(&mut self, warp: &mut Warp, place: u32) -> Result<(), Box<Fault>> {
        while let Some(n) = self.state.mbarriers.deferred.iter().position(|deferred| deferred.place == place) {
            self.fire(warp, n)?;
        }
        self.land_loads(place)
    }

    /// Bulk copies land that are under way and tell this barrier.
    pub(crate) fn land_loads(&mut self, place: u32) -> Result<(), Box<Fault>> {
        while let Some(n) = self.state.mbarriers.loads.iter().position(|load| load.barrier == place) {
            let load = self.state.mbarriers.loads.remove(n);
            self.on_behalf = (load.block != self.state.block).then_some(load.block);
            let landed = self.land_bulk(&load);
            self.on_behalf = None;
            landed?;
        }
        Ok(())
    }

    /// Lanes will arrive once their copies have landed.
    pub(crate) fn arrive_after_copies(
        &mut self,
        warp: &Warp,
        access: &Access,
        (lanes, place): (u32, u32),
        counts: bool,
    ) {
        for lane in each(lanes) {
            let serial = warp.copies.issued();
            let deferred = Deferred { place, warp: warp.number, lane: lane as u32, serial, at: access.at };
            self.state.mbarriers.deferred.push(deferred);
            if counts && let Some(object) = self.state.mbarriers.live.get_mut(&place) {
                object.pending += 1;
            }
        }
        self.state.wrote();
    }

    /// The copies of a lane have landed for which an arrival waited. `warp` is the one that runs, and not in the list.
    fn fire(&mut self, warp: &mut Warp, n: usize) -> Result<(), Box<Fault>> {
        let deferred = self.state.mbarriers.deferred.remove(n);
        let Some(agent) = self.agent_of_object(deferred.place) else { return Ok(()) };
        let thread = deferred.warp * LANES as u32 + deferred.lane;
        if deferred.warp == warp.number {
            self.land_before(warp, deferred, agent)?;
        } else {
            let mut other = std::mem::take(&mut self.state.warps[deferred.warp as usize]);
            let landed = self.land_before(&mut other, deferred, agent);
            self.state.warps[deferred.warp as usize] = other;
            landed?;
        }
        self.state.wrote();
        self.probing.seen.changed = true;
        let access = self.context.program.accesses.iter().find(|access| access.at == deferred.at);
        let (Some(access), Some(object)) = (access, self.state.mbarriers.live.get_mut(&deferred.place)) else {
            return Ok(());
        };
        let who = &*Box::new(Warp { number: deferred.warp, ..Warp::default() });
        if object.pending == 0 {
            return Err(self.convict_arrivals(who, access, deferred.lane as usize, deferred.place, 1));
        }
        object.pending -= 1;
        object.last = Some(Event { block: self.state.block, thread, at: deferred.at, time: 0 });
        self.end_phase(who, access, (deferred.lane as usize, deferred.place))
    }

    /// The agent of a barrier, in its present phase.
    pub(crate) fn agent_of_object(&mut self, place: u32) -> Option<Agent> {
        let agents = &mut self.state.mbarriers;
        let (known, phase) = agents.live.get(&place).map(|object| (object.agent, object.phase))?;
        let number = known.unwrap_or_else(|| agents.new_agent());
        agents.live.get_mut(&place)?.agent = Some(number);
        Some(Agent { number, time: phase + 1 })
    }

    /// A lane has waited for its copies before some serial number: arrivals that wait for no others are made.
    pub(crate) fn fire_after(
        &mut self,
        warp: &mut Warp,
        done: impl Fn(&Warp, u32, u32) -> bool,
    ) -> Result<(), Box<Fault>> {
        let block = self.state.block as u32;
        loop {
            let ready =
                |deferred: &Deferred| deferred.warp == warp.number && done(warp, deferred.lane, deferred.serial);
            let Some(n) = self.state.mbarriers.deferred.iter().position(ready) else { return Ok(()) };
            let Deferred { place, lane, .. } = self.state.mbarriers.deferred[n];
            let agent = self.agent_of_object(place);
            self.fire(warp, n)?;
            if let (Some(agent), Some(clocks)) = (agent, &mut self.clocks) {
                clocks.learn_of_agent(block, (warp.number, 1 << lane), warp.live, agent);
            }
        }
    }

    /// Whether arrivals wait for copies.
    pub(crate) fn has_deferred(&self) -> bool {
        !self.state.mbarriers.deferred.is_empty()
    }
}
