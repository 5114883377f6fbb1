//! What is missing to copies that go on beside the threads: which line, and behind which.

use super::agent::is_product;
use super::words::place;
use crate::Site;
use crate::machine::lanes::LANES;
use crate::machine::order::{Clash, Kind};
use crate::machine::state::mbarriers::Mbarrier;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::Lack;

impl Worker<'_> {
    /// What the copy by `cp.async` of a thread to an offset lacks; nothing where it has landed, or tells an mbarrier.
    pub(crate) fn lack_of(&self, warp: &Warp, thread: u32, offset: u32) -> Option<Lack> {
        let has = |start: &str| self.context.program.info.iter().any(|info| info.opcode.starts_with(start));
        if self.state.owner != self.state.block || has("cp.async.mbarrier.arrive") && !has("cp.async.wait") {
            return None;
        }
        let number = thread / LANES as u32;
        let warp = if warp.number == number { warp } else { self.state.warps.get(number as usize)? };
        warp.copies.lack(thread as usize % LANES, offset)
    }

    /// The same in words, up to where the copy is there for its own thread.
    pub(crate) fn lack_in_words(&self, lack: Option<Lack>, copy: &Site) -> String {
        let (thread, line) = (copy.thread, place(copy));
        match lack {
            None | Some(Lack::Wait) => {
                format!("thread {thread} has not waited for its copy at {line}: {}", self.waiting_for_copies())
            }
            Some(Lack::Both) => format!(
                "thread {thread} has neither committed its copy at {line} nor waited for it: {}",
                self.waiting_for_copies()
            ),
            Some(Lack::Commit) => format!(
                "thread {thread} has not committed its copy at {line}, and a wait is for committed groups alone: \
                 `cp.async.commit_group` (`__pipeline_commit()`) between the copy and the wait"
            ),
            Some(Lack::Fewer { leaves, most }) => format!(
                "the wait of thread {thread} may leave {leaves} group{} under way, and its copy at {line} is in one of these: \
                 `cp.async.wait_group {most}` (`__pipeline_wait_prior({most})`)",
                if leaves == 1 { "" } else { "s" }
            ),
        }
    }

    /// What an agent's access lacks to be over for the thread at `site`.
    pub(crate) fn agent_hint(&self, clash: &Clash, site: &Site) -> String {
        let asker = self.agent_site(clash).map(|(asker, _)| asker);
        let then = clash.before.access();
        match then.kind {
            Kind::Read if asker.as_ref().is_some_and(is_product) => self.product_hint(asker.as_ref(), site),
            Kind::Read if asker.as_ref().is_some_and(|asker| asker.opcode.contains("mbarrier")) => {
                "a copy to a peer reads until its mbarrier's phase is complete: the block that sees it says so before the source has another use".to_string()
            }
            Kind::Read => self.group_hint(asker.as_ref(), then.at),
            _ => self.phase_hint(clash, site),
        }
    }

    /// A product still reads its operands.
    fn product_hint(&self, product: Option<&Site>, site: &Site) -> String {
        let flight = product.and_then(|product| self.state.warps.get(product.warp as usize)?.group.as_ref());
        // (The flight of a warp that runs is not in the list.)
        match flight.map(|flight| flight.committed) {
            Some(0) => "the product is in no group: `wgmma.commit_group`, then `wgmma.wait_group 0` before its operands or its sums are touched".to_string(),
            _ if product.is_some_and(|product| product.warp / 4 == site.warp / 4) => {
                "a product reads until its warpgroup has waited for its group: `wgmma.wait_group 0`, or one that leaves fewer groups, before its operands are overwritten".to_string()
            }
            _ => "a product reads until `wgmma.wait_group` has waited for its group, in a warp of its warpgroup that tells the others so".to_string(),
        }
    }

    /// A bulk copy out of shared memory still reads its source.
    fn group_hint(&self, copy: Option<&Site>, at: u32) -> String {
        let usual = "a bulk copy reads until its own thread has waited by `cp.async.bulk.wait_group.read`; a barrier behind that lets others write";
        let thread = copy.map(|copy| copy.warp * LANES as u32 + copy.lane);
        let groups = thread.and_then(|thread| self.state.mbarriers.groups.get(&thread));
        match (copy, groups.filter(|groups| groups.last.0 == at)) {
            (Some(copy), Some(groups)) if groups.committed < groups.last.2 => format!(
                "thread {} has not committed its copy at {}: `cp.async.bulk.commit_group` behind it, then `cp.async.bulk.wait_group.read 0`, and a barrier before others write",
                copy.thread,
                place(copy)
            ),
            (Some(copy), Some(groups)) if groups.waited >= groups.last.2 => format!(
                "thread {} has waited for its copy at {}, and nothing tells the others so: a barrier behind its `cp.async.bulk.wait_group`, before they write",
                copy.thread,
                place(copy)
            ),
            _ => usual.to_string(),
        }
    }

    /// A copy to shared memory has not come, as far as the thread at `site` knows.
    fn phase_hint(&self, clash: &Clash, site: &Site) -> String {
        let usual = "a copy is done for those who saw its phase of the mbarrier complete: does each reader wait, and for the right parity?";
        let agent = self.clocks.as_ref().and_then(|clocks| clocks.agent_of(clash));
        let mut objects = self.state.mbarriers.live.iter();
        let Some((at, object)) = objects.find(|(_, object)| agent.is_some() && object.agent == agent) else {
            return usual.to_string();
        };
        let block = self.acting();
        match self.state.owner == block {
            true => format!("{usual} {}", self.seen_in_words((*at, object), block, site)),
            false => usual.to_string(),
        }
    }

    /// A copy is asked for, by an agent, to where the thread of `then` has loaded: whether the phase before ended without its bytes.
    pub(crate) fn unexpected_hint(&self, agent: u32, then: &Site) -> Option<String> {
        let mut objects = self.state.mbarriers.live.iter();
        let (at, object) = objects.find(|(_, object)| object.agent == Some(agent))?;
        let block = self.acting();
        let seen = object.seen_by(block, then.warp)?;
        if object.expected > 0 || seen.phase < 0 || seen.phase + 1 != object.phase.into() || self.state.owner != block {
            return None;
        }
        Some(format!(
            "phase {} of the mbarrier {} ended before this copy was asked for, and no bytes are expected in the next so far: does \
             `expect_tx` name the bytes of all copies of a phase?",
            seen.phase,
            self.in_shared_words(*at)
        ))
    }

    /// What a thread's warp has seen of an mbarrier that was used for a copy.
    fn seen_in_words(&self, (at, object): (u32, &Mbarrier), block: u64, site: &Site) -> String {
        let name = self.in_shared_words(at);
        let under_way = self.state.mbarriers.loads.iter().any(|load| load.barrier == at);
        match object.seen_by(block, site.warp) {
            None => format!("warp {} has found no phase of {name} complete", site.warp),
            Some(seen) => {
                let wait = place(&self.context.site(block, site.warp * LANES as u32 + site.lane, seen.at));
                let of = match seen.phase {
                    -1 => "the phase before the first, which is complete from the start".to_string(),
                    phase => format!("phase {phase} (parity {})", phase & 1),
                };
                let next = match under_way {
                    true => format!(", and the copy comes in phase {} (parity {})", object.phase, object.phase & 1),
                    false => String::new(),
                };
                format!("the wait of warp {} at {wait} was for {of} of {name}{next}", site.warp)
            }
        }
    }
}
