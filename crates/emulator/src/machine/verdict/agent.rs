//! What is wrong with what goes on beside the threads in shared memory, put into words.

use super::circumstances::stray_in_words;
use super::words::{fault, place};
use crate::machine::lanes::LANES;
use crate::machine::order::{Conflict, Kind, Record};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;
use crate::{Cause, Fault, FaultKind, Site};

/// `thread (0,0)`, and its block where the other party is of another one.
pub(crate) fn who(site: &Site, other: &Site) -> String {
    match site.block == other.block {
        true => format!("thread {}", site.thread),
        false => format!("block {}, thread {}", site.block, site.thread),
    }
}

/// Whether it is a product of a warpgroup.
pub(crate) fn is_product(site: &Site) -> bool {
    site.opcode.starts_with("wgmma")
}

impl Worker<'_> {
    /// What an agent is asked for meets an earlier access.
    #[inline(never)]
    pub(crate) fn convict_agent(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        (at, conflict): (u32, Conflict),
        (kind, agent): (Kind, u32),
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane, access.at);
        let what = self.in_shared_words(at);
        let product = is_product(&site);
        let now = match kind {
            Kind::Read if product => "read by a product",
            Kind::Read => "read by a bulk copy",
            _ => "written by a copy",
        };
        match conflict {
            Conflict::Unfenced(record) => self.convict_unfenced((warp, access, lane), &what, &record, now, true),
            Conflict::Race(clash) => {
                let then = clash.before.access();
                let (other, verb) = match self.agent_site(&clash) {
                    Some((site, verb)) => (site, verb),
                    None => {
                        let thread = then.warp * LANES as u32 + clash.other;
                        (self.context.site(then.block.into(), thread, then.at), then.kind.verb())
                    }
                };
                let by_agent = self.clocks.as_ref().is_some_and(|clocks| clocks.agent_of(&clash).is_some());
                let [before, after] = [who(&other, &site), who(&site, &other)];
                let message = format!(
                    "race on {what}: {verb} by {before} at {}, {now} of {after} at {}, {}",
                    place(&other),
                    place(&site),
                    if by_agent { "nothing tells that the first is done" } else { "nothing orders the two" }
                );
                let stray = if product { stray_in_words(warp) } else { None };
                let hint = match by_agent {
                    _ if stray.is_some() => stray.unwrap_or_default(),
                    true if then.kind != Kind::Read && kind == Kind::Write && self.context.unit() > 1 => {
                        "a stage is given back by all who read it: each block of the cluster arrives at an mbarrier that the copying thread waits for".to_string()
                    }
                    true => self.agent_hint(&clash, &site),
                    false if product => {
                        "who has filled this place says so first: a barrier, or an arrival that all four warps wait for".to_string()
                    }
                    false => {
                        let early = (kind == Kind::Write && then.kind == Kind::Read).then(|| self.unexpected_hint(agent, &other));
                        early.flatten().or_else(|| self.more_arrivals_in_words()).unwrap_or_else(|| {
                            "who has used this place says so first: a barrier, or an arrival that the copying thread waits for; who reads what the copy brings waits for its phase of the mbarrier before".to_string()
                        })
                    }
                };
                let mut fault = fault(FaultKind::Race, message, site, &hint);
                fault.other = Some(("the other party:".to_string(), other));
                fault
            }
        }
    }

    /// What an agent is asked to read was stored by a thread, in shared memory or a buffer, and no proxy fence lies between.
    #[inline(never)]
    pub(crate) fn convict_unfenced(
        &self,
        (warp, access, lane): (&Warp, &Access, u32),
        what: &str,
        record: &Record,
        now: &str,
        shared: bool,
    ) -> Box<Fault> {
        let (site, then) = (self.site_of(warp, lane, access.at), record.access());
        let thread = then.warp * LANES as u32 + then.lanes.trailing_zeros();
        let other = self.context.site(then.block.into(), thread, then.at);
        let [before, after] = [who(&other, &site), who(&site, &other)];
        let message = format!(
            "race on {what}: store by {before} at {}, {now} of {after} at {}, no proxy fence between",
            place(&other),
            place(&site)
        );
        let hint = match (shared, is_product(&site)) {
            (true, true) => {
                "products see stores of threads only behind `fence.proxy.async`: each thread that stored executes one, then a barrier"
            }
            (true, false) => {
                "bulk copies see stores of threads only behind `fence.proxy.async`: each thread that stored executes one, then a barrier"
            }
            (false, _) => {
                "bulk copies see what threads stored to global memory only behind `fence.proxy.async` or `fence.proxy.async.global`: each thread that stored executes one, then a barrier, or a flag for other blocks"
            }
        };
        let mut fault = fault(FaultKind::Race, message, site, hint).because(Cause::ProxyFence);
        fault.other = Some(("the other party, a store:".to_string(), other));
        fault
    }

    /// Who asked for an agent's access, and what it is.
    pub(crate) fn agent_site(&self, clash: &crate::machine::order::Clash) -> Option<(Site, &'static str)> {
        let agent = self.clocks.as_ref()?.agent_of(clash)?;
        let then = clash.before.access();
        let of = u64::from(then.block);
        let elsewhere = || self.others.aside.iter().find(|state| state.owner == of);
        let mbarriers = match self.state.owner == of {
            true => Some(&self.state.mbarriers),
            false => elsewhere().map(|state| &state.mbarriers),
        };
        // (What is done to global memory is remembered behind the block's end.)
        let asker = mbarriers.and_then(|mbarriers| mbarriers.asker(agent, then.at));
        let asker = asker.or_else(|| self.clocks.as_ref()?.asker((then.block, agent, then.at)));
        let (block, thread) = asker.unwrap_or((of, 0));
        let site = self.context.site(block, thread, then.at);
        let verb = match then.kind {
            Kind::Read if is_product(&site) => "product of what is there",
            Kind::Read => "bulk copy from there",
            _ => "copy to there",
        };
        Some((site, verb))
    }
}
