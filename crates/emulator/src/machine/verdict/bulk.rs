//! What is wrong with bulk copies, put into words.

use super::agent::who;
use super::words::{fault, place as line};
use crate::machine::state::bulk_load::BulkLoad;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;
use crate::{Cause, Fault, FaultKind};

impl Worker<'_> {
    /// A bulk copy of bytes that are not all there, or off the unit.
    #[inline(never)]
    pub(crate) fn convict_bulk(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        kind: FaultKind,
        what: &str,
    ) -> Box<Fault> {
        let hint = match kind {
            FaultKind::Misaligned => "sizes and both addresses of bulk copies are multiples of 16 bytes",
            _ => "is the number of bytes that of what is left, at the edge too?",
        };
        fault(kind, format!("bulk copy {what}"), self.site_of(warp, lane as u32, access.at), hint)
    }

    /// A bulk copy is to tell a barrier whose beginning it may not see: a warning, if it is of its own block.
    pub(crate) fn check_fenced(
        &mut self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        place: u32,
    ) -> Result<(), Box<Fault>> {
        let Some(object) = self.state.mbarriers.live.get(&place) else { return Ok(()) };
        let (init, fenced, block) = (object.init, object.fenced, self.state.block as u32);
        let Some(clocks) = self.clocks.as_mut().filter(|_| !fenced) else { return Ok(()) };
        if clocks.is_proxied(block, (warp.number, lane as u32), init.then()) {
            return Ok(());
        }
        if init.block == self.acting() {
            self.warn_of_init(warp, access, lane, (place, init));
            return Ok(());
        }
        let site = self.site_of(warp, lane as u32, access.at);
        let other = self.event_site(init);
        let message = format!(
            "race on the mbarrier {}: initialised by {} at {}, told by a bulk copy of {} at {}, no fence between",
            self.in_shared_words(place),
            who(&other, &site),
            line(&other),
            who(&site, &other),
            line(&site)
        );
        let hint = "behind `mbarrier.init`, its thread executes `fence.mbarrier_init.release.cluster` or `fence.proxy.async`, then a barrier";
        let mut fault = fault(FaultKind::Race, message, site, hint).because(Cause::ProxyFence);
        fault.other = Some(("it is initialised here:".to_string(), other));
        Err(fault)
    }

    /// A phase ends while a bulk copy is under way that was to tell of it.
    #[inline(never)]
    pub(crate) fn convict_left_out(&self, load: &BulkLoad, place: u32) -> Box<Fault> {
        let site = self.context.site(load.block, load.thread, load.at);
        let object = self.state.mbarriers.live.get(&place);
        let (phase, expected) = object.map_or((0, 0), |object| (object.phase, object.expected));
        let message = format!(
            "phase {phase} of the mbarrier {} ends with {expected} bytes expected, and this copy of {} bytes is still under way",
            self.in_shared_words(place),
            load.bytes()
        );
        let loads = self.state.mbarriers.loads.iter().filter(|load| load.barrier == place);
        let left: i64 = loads.map(|load| i64::from(load.bytes())).sum();
        let hint = match expected {
            0 => format!(
                "`expect_tx` with the bytes of all copies of a phase ({left} are under way) comes before the last arrival, as `mbarrier.arrive.expect_tx` does"
            ),
            _ => format!(
                "is what `expect_tx` names the bytes of all copies of a phase? {expected} have come and {left} more are under way: {} in all",
                expected + left
            ),
        };
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        if let Some(then) = object.and_then(|object| object.expectation.or(object.last)) {
            let site = self.event_site(then);
            fault.other = Some(("the last arrival, or expectation:".to_string(), site));
        }
        fault
    }

    /// All threads have left: no bulk copy to their shared memory may be under way. One out of it is doubtful.
    pub(crate) fn check_left(&mut self) -> Result<(), Box<Fault>> {
        if self.context.sanitize && !self.state.mbarriers.groups.is_empty() {
            self.warn_of_stores_left();
        }
        let Some(load) = self.state.mbarriers.loads.first().filter(|_| self.context.sanitize) else { return Ok(()) };
        let site = self.context.site(load.block, load.thread, load.at);
        let message = format!(
            "race on {}: the thread block has left while a bulk copy to there is under way",
            self.in_shared_words(load.to)
        );
        let hint = "someone waits for every copy before the block leaves: those of stages that nobody reads, too";
        Err(fault(FaultKind::Race, message, site, hint).because(Cause::BlockLeft))
    }
}
