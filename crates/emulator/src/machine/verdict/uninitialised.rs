//! Values that nobody wrote, put into words: what they reach, where they come from, and why there is nothing.

use super::words::{fault, place as line};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::{Absence, Origin, Place};
use crate::{Fault, FaultKind, Site};

impl Worker<'_> {
    #[inline(never)]
    pub(crate) fn convict_uninitialised(
        &self,
        warp: &Warp,
        lane: u32,
        at: u32,
        reaches: &str,
        origin: Option<Origin>,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane, at);
        let of = |origin: Origin| self.context.site(origin.block, origin.thread, origin.at);
        if let Some(origin) = origin
            && let Place::Lane { source, mask, there, why } = origin.place
        {
            return shuffle_of_absent(of(origin), site, reaches, (source, mask, there, why));
        }
        let in_shared = |at: u32| {
            let (name, offset) = self.shared_name(at);
            format!("{name} (shared memory) at offset {offset}")
        };
        let (what, why, hint) = match origin.map(|origin| origin.place) {
            Some(Place::UnderWay { offset, thread, at }) => {
                let block = origin.map_or(self.state.block, |origin| origin.block);
                let copy = self.context.site(block, thread, at);
                let hint = format!(
                    "thread {} has not waited for its copy at {}: {}, then a barrier lets others read",
                    copy.thread,
                    line(&copy),
                    self.waiting_for_copies()
                );
                (in_shared(offset), "to which a copy is still under way", hint)
            }
            Some(Place::Register) => {
                let hint = "is the variable set on every way that leads here?";
                ("a register".to_string(), "which no instruction has set", hint.to_string())
            }
            place => {
                let what = match place {
                    Some(Place::Shared(at)) => in_shared(at),
                    Some(Place::Global(buffer, at)) => {
                        format!("{} at offset {at}", self.context.memory.buffers[buffer].name)
                    }
                    Some(Place::Local(at)) => format!("local memory at offset {at}"),
                    _ => "memory".to_string(),
                };
                (what, "which nobody wrote", "is every element written before it is read, at the edges too?".to_string())
            }
        };
        let message = format!("uninitialised value reaches {reaches}: it comes from {what}, {why}");
        let mut fault = fault(FaultKind::Uninitialised, message, site, &hint);
        let loaded = origin.filter(|origin| origin.place != Place::Register);
        fault.other = loaded.map(|origin| ("it was loaded here:".to_string(), of(origin)));
        fault
    }

    /// How threads of this kernel wait for a copy by `cp.async`.
    pub(crate) fn waiting_for_copies(&self) -> &'static str {
        let by_barrier = self.context.program.info.iter().any(|info| info.opcode.starts_with("cp.async.mbarrier.arrive"));
        match by_barrier {
            true => {
                "`cp.async.wait_group` behind the `cp.async.commit_group` of its group, or a wait on the mbarrier behind `cp.async.mbarrier.arrive`"
            }
            false => "`cp.async.wait_group` behind the `cp.async.commit_group` of its group",
        }
    }
}

/// A shuffle took the value of a lane that does not execute it.
fn shuffle_of_absent(
    site: Site,
    reached: Site,
    reaches: &str,
    (source, mask, there, why): (u32, u32, u32, Absence),
) -> Box<Fault> {
    let (why, hint) = match why {
        Absence::Missing => (
            format!("the thread block has lanes {there:#010x} of this warp only"),
            "only lanes that the block has can be read: launch whole warps, or read and name in the mask those alone that are there",
        ),
        Absence::Ended => (
            format!("it has ended, and of the warp lanes {there:#010x} are left"),
            "does the mask name every lane that is read, and have those lanes not left before?",
        ),
        Absence::Unnamed => (
            "the mask does not name it".to_string(),
            "does the mask name every lane that is read, and do all of those execute the shuffle?",
        ),
    };
    let message = format!(
        "shuffle for lanes {mask:#010x}: lane {} takes the value of lane {source}, which does not execute the shuffle: {why}; and it reaches {reaches}",
        site.lane
    );
    let mut fault = fault(FaultKind::Uninitialised, message, site, hint);
    fault.other = Some((format!("it reaches {} here:", reaches.split(',').next().unwrap_or(reaches)), reached));
    fault
}
