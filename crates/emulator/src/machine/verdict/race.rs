//! Races put into words: the two parties, and what is missing between them.

use super::agent::who;
use super::race_hints::Told;
use super::words::{fault, place, verb_of};
use crate::global::BufferMemory;
use crate::machine::lanes::LANES;
use crate::machine::order::{Access as Touch, Clash, Kind, Missing};
use crate::machine::state::copies::SourceUnderWay;
use crate::machine::state::deed::Target;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::marks::Moment;
use crate::origin::Lack;
use crate::program::{Access, Space};
use crate::{Fault, FaultKind, Site};

const READS_UNTIL_ITS_PHASE: &str = "a bulk copy reads its source until its phase of the mbarrier is complete: who stores there waits for that, or is told by who has";

impl Worker<'_> {
    pub(crate) fn race_place(&self, target: Target, offset: u32) -> String {
        match target {
            Target::Shared => self.in_shared_words(offset),
            Target::Global(_, memory) => format!("{} at offset {offset}", memory.name),
        }
    }

    fn other_site(&self, clash: &Clash) -> Site {
        if let Some((site, _)) = self.agent_site(clash) {
            return site;
        }
        let then = clash.before.access();
        self.context.site(then.block.into(), then.warp * LANES as u32 + clash.other, then.at)
    }

    /// A race that the order model found.
    #[inline(never)]
    pub(crate) fn convict_clash(
        &self,
        warp: &Warp,
        access: &Access,
        target: Target,
        offset: u32,
        (clash, now): (&Clash, &Touch),
    ) -> Box<Fault> {
        let site = self.site_of(warp, clash.lane, access.at);
        let then = clash.before.access();
        if let Some((other, verb)) = self.agent_site(clash) {
            let strangers = other.block != site.block && !self.context.shape.are_clustered(other.block, site.block);
            if strangers && matches!(target, Target::Global(..)) && !self.context.program.synchronises_globally {
                // Whether the copy is done or not, nothing orders the two blocks.
                let what = self.race_place(target, offset);
                return self.race(&what, site, now.kind.verb(), other, then.kind.verb(), Missing::Everything);
            }
            let changes_map = then.kind == Kind::Read && site.opcode.starts_with("tensormap");
            let message = format!(
                "race on {}{}: {verb} by {} at {}, {} by {} at {}, nothing tells that the first is done",
                if changes_map { "the tensor map " } else { "" },
                self.race_place(target, offset),
                who(&other, &site),
                place(&other),
                now.kind.verb(),
                who(&site, &other),
                place(&site)
            );
            let hint = match (target, then.kind) {
                (Target::Shared, _) => self.agent_hint(clash, &site),
                (_, Kind::Read) if changes_map => {
                    "a tensor copy reads its map until it is complete: who changes the map waits for the copy's phase of the mbarrier first (for a store's group), or is told by who has".to_string()
                }
                (_, Kind::Read) => READS_UNTIL_ITS_PHASE.to_string(),
                _ => {
                    "a bulk copy has written once its own thread has waited by `cp.async.bulk.wait_group`, and not by `.read` alone; a barrier behind that tells others".to_string()
                }
            };
            let mut fault = fault(FaultKind::Race, message, site, hint);
            let what = if verb.starts_with("product") { "a product" } else { "a copy" };
            fault.other = Some((format!("the other party, {what}:"), other));
            return fault;
        }
        let missing = self.clocks.as_ref().map_or(Missing::Everything, |clocks| clocks.missing(clash, now));
        let same_block = then.block == now.block;
        let missing = match missing {
            Missing::Everything if same_block && then.warp != now.warp && self.context.program.needs.partial => {
                Missing::Participation
            }
            // Where there are no flags between blocks, none is missing a fence.
            Missing::Release | Missing::Scope if !same_block && !self.has_flags(then.block, now.block) => {
                Missing::Everything
            }
            missing => missing,
        };
        let what = self.race_place(target, offset);
        let mut fault = self.race(&what, site, now.kind.verb(), self.other_site(clash), then.kind.verb(), missing);
        if let Target::Shared = target {
            self.refine(&mut fault, warp, access, (clash.lane, offset));
        }
        fault
    }

    /// Whether threads of two blocks may order each other by strong accesses.
    fn has_flags(&self, a: u32, b: u32) -> bool {
        let program = self.context.program;
        let size = self.context.shape.cluster_size();
        program.synchronises_globally
            || a / size == b / size
                && program.accesses.iter().any(|access| access.ordered() && access.space != Space::Global)
    }

    /// Lanes of one store write different values to one place.
    #[inline(never)]
    pub(crate) fn convict_one_store(
        &self,
        warp: &Warp,
        access: &Access,
        target: Target,
        offset: u32,
        (lane, other): (u32, u32),
    ) -> Box<Fault> {
        let (site, other) = (self.site_of(warp, lane, access.at), self.site_of(warp, other, access.at));
        self.race(&self.race_place(target, offset), site, "store", other, "store", Missing::Everything)
    }

    /// A volatile or relaxed load takes what another thread of its block stored, with nothing that orders the two.
    #[inline(never)]
    pub(crate) fn convict_stale(
        &self,
        warp: &Warp,
        access: &Access,
        target: Target,
        offset: u32,
        clash: &Clash,
    ) -> Box<Fault> {
        let site = self.site_of(warp, clash.lane, access.at);
        let other = self.other_site(clash);
        let same_warp = site.warp == other.warp;
        let message = format!(
            "race on {}: store by thread {} at {}, load by thread {} at {}, {}",
            self.race_place(target, offset),
            other.thread,
            place(&other),
            site.thread,
            place(&site),
            if same_warp { "lanes of one warp with no `__syncwarp()` between" } else { "no barrier between" }
        );
        let hint = match same_warp {
            true => {
                "`volatile` keeps every access and orders no threads: since 2017 the lanes of a warp need a `__syncwarp()`"
            }
            false => {
                "`volatile` keeps every access and orders no threads: is a `__syncthreads()` missing, or an atomic?"
            }
        };
        let mut fault = fault(FaultKind::Race, message, site, hint);
        fault.other = Some(("the other party, a store:".to_string(), other));
        fault
    }

    /// A thread stores what it has made of what it loaded, and another block has stored there as well.
    #[inline(never)]
    pub(crate) fn convict_lost_update(
        &self,
        warp: &Warp,
        access: &Access,
        target: Target,
        offset: u32,
        clash: &Clash,
    ) -> Box<Fault> {
        let (site, other) = (self.site_of(warp, clash.lane, access.at), self.other_site(clash));
        // (Blocks may be apart along z alone, and a single one of it is not shown.)
        let block = |site: &Site| format!("({},{},{})", site.block.x, site.block.y, site.block.z);
        let message = format!(
            "race on {}: store by block {}, thread {} at {}, load and store by block {}, thread {} at {}, nothing orders the two: one update may be lost",
            self.race_place(target, offset),
            block(&other),
            other.thread,
            place(&other),
            block(&site),
            site.thread,
            place(&site)
        );
        let hint = "a lock is given back when all threads of the block are done: each executes `__threadfence()` behind its stores, then a `__syncthreads()` for \
                    all, and behind that one thread gives it back; who takes it has a `__threadfence()` and a `__syncthreads()` before the loads. Without a \
                    lock, `atomicAdd` adds to one element";
        let mut fault = fault(FaultKind::Race, message, site, hint);
        fault.other = Some(("the other party, a store:".to_string(), other));
        fault
    }

    /// A load for read-only memory meets what the launch wrote.
    #[inline(never)]
    pub(crate) fn convict_read_only(
        &self,
        warp: &Warp,
        access: &Access,
        target: Target,
        offset: u32,
        (clash, before): (&Clash, &str),
    ) -> Box<Fault> {
        let site = self.site_of(warp, clash.lane, access.at);
        self.read_only(&self.race_place(target, offset), site, self.other_site(clash), before)
    }

    #[inline(never)]
    pub(crate) fn convict_read_only_of(
        &self,
        (warp, access, lane): (&Warp, &Access, usize),
        (memory, offset): (&BufferMemory, usize),
        write: Moment,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let other = self.context.site(write.block.into(), write.stamp.thread(), write.stamp.at());
        self.read_only(&format!("{} at offset {offset}", memory.name), site, other, "store")
    }

    fn read_only(&self, what: &str, site: Site, other: Site, before: &str) -> Box<Fault> {
        let message = format!(
            "race on {what}: {before} by block {}, thread {} at {}, load through the read-only cache by block {}, thread {} at {}",
            other.block,
            other.thread,
            place(&other),
            site.block,
            site.thread,
            place(&site)
        );
        let hint = "what a launch writes must not be read by `__ldg()`, nor through a `const … __restrict__` pointer";
        let mut fault = fault(FaultKind::Race, message, site, hint);
        fault.other = Some((format!("the other party, {}:", article(before)), other));
        fault
    }

    /// A write to what a copy under way may not have read yet.
    #[inline(never)]
    pub(crate) fn convict_source_under_way(
        &self,
        warp: &Warp,
        access: &Access,
        lane: u32,
        source: &SourceUnderWay,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane, access.at);
        let other = self.context.site(source.block, source.thread, source.at);
        let now = if verb_of(&site.opcode) == "atomic" { "atomic" } else { "store" };
        let memory = &self.context.memory.buffers[source.buffer];
        let message = format!(
            "race on {} at offset {}: copy by thread {} at {}, {now} by thread {} at {}, the copy may not have read it yet",
            memory.name,
            source.offset,
            other.thread,
            place(&other),
            site.thread,
            place(&site)
        );
        let hint = match other.opcode.starts_with("cp.async.bulk") {
            true => READS_UNTIL_ITS_PHASE,
            false => {
                "a copy reads its source until its thread has waited for it: `cp.async.wait_group`, then a barrier for others"
            }
        };
        let mut fault = fault(FaultKind::Race, message, site, hint);
        fault.other = Some(("the other party, a copy:".to_string(), other));
        fault
    }

    /// What the copies of an instruction lacked at a barrier that stood behind their beginning, if they landed behind it.
    fn waited_for_late(&self, copy: &Site) -> Option<Lack> {
        let program = self.context.program;
        let line = |index: u32| program.info[program.accesses[index as usize].at as usize].ptx_line;
        let late = self.state.waited_late.iter().find(|(index, _)| line(*index) == copy.ptx_line);
        late.map(|(_, lack)| *lack)
    }

    pub(crate) fn race(
        &self,
        what: &str,
        site: Site,
        now: &str,
        other: Site,
        before: &str,
        missing: Missing,
    ) -> Box<Fault> {
        let same_block = site.block == other.block;
        let same_cluster = !same_block && self.context.shape.are_clustered(site.block, other.block);
        // Where its thread has waited for a copy in time, it is as good as a store.
        let stored = same_block && (missing, before) == (Missing::Everything, "store");
        let late = if stored { self.waited_for_late(&other) } else { None };
        let before = if late.is_some() { "copy" } else { before };
        let party = |verb: &str, site: &Site| match same_block {
            true => format!("{verb} by thread {} at {}", site.thread, place(site)),
            false => format!("{verb} by block {}, thread {} at {}", site.block, site.thread, place(site)),
        };
        let one_instruction = site.ptx_line == other.ptx_line && site.warp == other.warp && now == before;
        let one_instruction = one_instruction && same_block && now == "store";
        let why = match missing {
            Missing::Acquire => "no fence or acquire after the read that tells of the first",
            Missing::Release => "no fence or release after the first",
            Missing::Scope => "ordered for the threads of one block only",
            Missing::Order => "what tells of the first does not order it: it is relaxed, or not of the cluster",
            Missing::Strength => "only one of the two is an atomic or volatile access",
            Missing::Participation => "no barrier between that both take part in",
            Missing::Everything if one_instruction => "one instruction, different values",
            Missing::Everything if late.is_some() => "the copy was not waited for before the barrier",
            Missing::Everything if same_block => "no barrier between",
            Missing::Everything if same_cluster => "no cluster barrier between",
            Missing::Everything if self.context.program.synchronises_globally => "nothing orders the two",
            Missing::Everything => "nothing orders thread blocks",
        };
        let message = format!("race on {what}: {}, {}, {why}", party(before, &other), party(now, &site));
        let told = Told { same_block, same_cluster, one_instruction, late };
        let hint = self.race_hint(missing, told, (&site, now), (&other, before));
        let apart = self.state.barriers.apart.filter(|_| {
            same_block && self.context.shape.block_at(self.state.block) == site.block && missing == Missing::Everything
        });
        let mut fault = fault(FaultKind::Race, message, site, hint);
        fault.other = Some((format!("the other party, {}:", article(before)), other));
        if let Some((id, arrivals)) = apart {
            let places = arrivals.map(|arrival| {
                let thread = arrival.warp * LANES as u32 + arrival.lanes.trailing_zeros();
                let what = format!("warp {} met the others at barrier {id} here:", arrival.warp);
                (what, self.context.site(self.state.block, thread, arrival.at))
            });
            fault.also = places.into();
            let hint = "the barrier before was reached at several places: is a `__syncthreads()` in a branch that not all warps take?";
            fault.hint = Some(hint.to_string());
        }
        fault
    }
}

fn article(verb: &str) -> String {
    if verb == "atomic" { "an atomic operation".to_string() } else { format!("a {verb}") }
}
