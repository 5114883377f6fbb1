//! Values that nobody wrote, put into words: what they reach, where they come from, and why there is nothing.

use super::words::{fault, place as line};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::{Absence, Origin, Place};
use crate::program::{Access, Bulk, Extension, Op, Space, Tensor};
use crate::{Cause, Fault, FaultKind, Site};

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
            Some(Place::UnderWay { offset, thread, at, lack }) => {
                let block = origin.map_or(self.state.block, |origin| origin.block);
                let copy = self.context.site(block, thread, at);
                let hint = format!("{}, then a barrier lets others read", self.lack_in_words(lack, &copy));
                (in_shared(offset), "to which a copy is still under way".to_string(), hint)
            }
            Some(Place::Register) => {
                let hint = "is the variable set on every way that leads here, to 0 where a sum begins?";
                ("a register".to_string(), "which no instruction has set".to_string(), hint.to_string())
            }
            Some(Place::Shared(at)) if self.copy_to(at).is_some() => {
                let copy = self.context.site(self.state.block, 0, self.copy_to(at).unwrap_or_default());
                let hint = match self.of_written(at) {
                    Some(what) => format!("{what} does every element have its copy, at the edges too?"),
                    None => format!(
                        "the threads that copy wait for it ({}), then a barrier lets others read; is every element copied, at the edges too?",
                        self.waiting_for_copies()
                    ),
                };
                (in_shared(at), format!("to which no copy by {} has come yet", line(&copy)), hint)
            }
            place => {
                let what = match place {
                    Some(Place::Shared(at) | Place::Brought(at)) => in_shared(at),
                    Some(Place::Global(buffer, at)) => {
                        format!("{} at offset {at}", self.context.memory.buffers[buffer].name)
                    }
                    Some(Place::Local(at)) => format!("local memory at offset {at}"),
                    _ => "memory".to_string(),
                };
                let hint = match place {
                    Some(Place::Shared(offset)) => self.unwritten_hint(origin.map_or(at, |origin| origin.at), offset),
                    Some(Place::Global(..)) if self.context.program.synchronises_globally => {
                        "is every element written before it is read, at the edges too? where the last block reads what all have written, the count that it \
                         awaits is that of all blocks, along x, y and z; elsewhere a flag tells that it is there"
                            .to_string()
                    }
                    _ => "is every element written before it is read, at the edges too?".to_string(),
                };
                (what, "which nobody wrote".to_string(), hint)
            }
        };
        let message = format!("uninitialised value reaches {reaches}: it comes from {what}, {why}");
        let mut fault = fault(FaultKind::Uninitialised, message, site, &hint);
        fault.cause =
            matches!(origin.map(|origin| origin.place), Some(Place::UnderWay { .. })).then_some(Cause::CopyRace);
        let loaded = origin.filter(|origin| origin.place != Place::Register);
        fault.other = loaded.map(|origin| ("it was loaded here:".to_string(), of(origin)));
        fault
    }

    /// An instruction by which copies come to a variable in shared memory to which no thread stores.
    fn copy_to(&self, offset: u32) -> Option<u32> {
        let program = self.context.program;
        let access = |index: u32| &program.accesses[index as usize];
        let covers = |access: &Access| (access.within.0..access.within.1).contains(&offset);
        let in_shared = |access: &Access| matches!(access.space, Space::Shared | Space::Generic);
        let stores = |op: Op| match op {
            Op::Store(index) => in_shared(access(index)) && covers(access(index)),
            Op::Extended(index) => {
                let extended = &program.extended[index as usize];
                let writes = matches!(extended.what, Extension::Atomic(_) | Extension::StoreMatrix { .. });
                writes && extended.accesses.iter().any(|index| in_shared(access(*index)) && covers(access(*index)))
            }
            _ => false,
        };
        if program.code.iter().any(|instruction| stores(instruction.op)) {
            return None;
        }
        program.code.iter().find_map(|instruction| {
            let Op::Extended(index) = instruction.op else { return None };
            let extended = &program.extended[index as usize];
            let loads = matches!(
                extended.what,
                Extension::CopyAsync { .. }
                    | Extension::Bulk(Bulk::Load | Bulk::Multicast | Bulk::Tensor(Tensor::Load { .. }, _))
            );
            let to = access(*extended.accesses.get(1)?);
            (loads && covers(to)).then_some(to.at)
        })
    }

    /// How threads of this kernel wait for a copy: one by `cp.async`, or one of which an mbarrier tells.
    pub(crate) fn waiting_for_copies(&self) -> &'static str {
        let has = |start: &str| self.context.program.info.iter().any(|info| info.opcode.starts_with(start));
        match has("cp.async.mbarrier.arrive") {
            _ if !has("cp.async.c") => "a wait on the mbarrier that they tell",
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
