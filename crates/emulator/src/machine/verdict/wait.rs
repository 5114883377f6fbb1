//! Waits that cannot end, put into words: who waits where, and for what.

use super::words::{fault, place};
use crate::global::locate;
use crate::machine::lanes::LANES;
use crate::machine::state::barriers::Arrival;
use crate::machine::state::probe::Stuck;
use crate::machine::state::warp::{Path, State, Wait, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Block, Space};
use crate::{Cause, Fault, FaultKind, Site};

impl Worker<'_> {
    /// The instruction to which a path comes next that is at the start of a block. Labels alone are blocks, too.
    pub(crate) fn comes_to(&self, block: u32) -> u32 {
        let program = self.context.program;
        let next = |block: &Block| if block.start < block.end { Some(block.start) } else { block.exit_info };
        let last = program.code.len().saturating_sub(1) as u32;
        program.blocks[block as usize..].iter().find_map(next).unwrap_or(last)
    }

    #[inline(never)]
    pub(crate) fn convict_stuck(&self, warp: &Warp, block: u32, mask: u32) -> Box<Fault> {
        let site = self.site_of(warp, mask.trailing_zeros(), self.comes_to(block));
        let limit = self.context.instruction_limit;
        let message = format!("no progress: the thread block executed more than {limit} warp instructions");
        let hint = "an endless loop, or a wait for what never comes? the limit can be raised";
        fault(FaultKind::NoProgress, message, site, hint)
    }

    /// A warp repeats itself, and nobody is left to change what it reads: not the blocks that are put aside, and not those
    /// that have not started.
    #[inline(never)]
    pub(crate) fn convict_wait(&self, stuck: Stuck, all: &[Stuck], unstarted: u64) -> Box<Fault> {
        let own = || self.probing.stuck.iter().filter(|other| other.block == stuck.block).chain([&stuck]);
        let told = own().find(|stuck| self.has_arrivals(stuck)).into_iter().chain(own());
        if let Some(mut fault) = told.into_iter().find_map(|stuck| self.convict_phase(stuck)) {
            fault.message += &self.others_in_words(&stuck, all);
            return fault;
        }
        if let Some(fault) = self.convict_cluster_deadlock(&stuck, all) {
            return fault;
        }
        let warp = &self.state.warps[stuck.warp as usize];
        let Some((at, lane, address)) = stuck.loads.example else {
            let site = self.site_of(warp, stuck.lane, stuck.at);
            let message = format!(
                "endless loop: thread {} comes back to where it was with the same values in all registers, and reads no memory",
                site.thread
            );
            return fault(FaultKind::NoProgress, message, site, "does the loop's step lead to its end?");
        };
        let site = self.site_of(warp, lane, at);
        let mut message =
            format!("no progress: thread {} waits for a change of {}", site.thread, self.what_lies_at(at, address));
        message += ", and nobody is left who could make it";
        let waiting = self.state.warps.iter().filter(|warp| warp.state == State::Waiting).count();
        if waiting > 0 {
            message += &format!("; {waiting} other warps of its block wait at barriers");
        }
        message += &self.others_in_words(&stuck, all);
        if self.others.aside.len() > 1 {
            message += &format!("; {} thread blocks have started and wait", self.others.aside.len());
        }
        if unstarted > 0 {
            message +=
                &format!("; {unstarted} start only when one of these has ended, for the GPU holds no more at a time");
        }
        let hint = match unstarted {
            0 => "who sets it, and does he get there? lanes of a warp and warps of a block may wait for each other",
            _ => {
                "blocks that wait for each other must fit on the GPU together: a grid-wide barrier needs a smaller grid"
            }
        };
        let other = self.state.warps.iter().find_map(|warp| self.where_it_waits(self.state.block, warp));
        let mut fault = fault(FaultKind::NoProgress, message, site, hint).because(Cause::Deadlock);
        fault.other = other.map(|site| ("another warp waits here:".to_string(), site));
        fault
    }

    /// What lies at an address that an instruction reads.
    fn what_lies_at(&self, at: u32, address: u64) -> String {
        let shared =
            self.context.program.accesses.iter().any(|access| access.at == at && access.space == Space::Shared);
        let (buffer, offset) = locate(address);
        match self.context.memory.buffers.get(buffer).filter(|_| !shared) {
            Some(memory) => format!("{} at offset {offset}", memory.name),
            None => {
                let (name, offset) = self.shared_name(address as u32);
                format!("{name} (shared memory) at offset {offset}")
            }
        }
    }

    /// The instruction at which a warp of a thread block waits, for the first lane that does.
    pub(crate) fn where_it_waits(&self, block: u64, warp: &Warp) -> Option<Site> {
        let path = warp.paths.iter().find(|path| path.wait != Wait::No)?;
        let code = &self.context.program.blocks[path.block as usize];
        let at = code.exit_info.unwrap_or(code.end.saturating_sub(1));
        let lane = (path.mask & warp.live).trailing_zeros();
        Some(self.context.site(block, warp.number * LANES as u32 + lane, at))
    }

    /// All warps of the block that have not ended wait for each other.
    #[inline(never)]
    pub(crate) fn convict_blocked(&self) -> Box<Fault> {
        let waiting = || self.state.warps.iter().filter(|warp| warp.state == State::Waiting);
        for warp in waiting() {
            for path in &warp.paths {
                let block = &self.context.program.blocks[path.block as usize];
                let (lanes, at) = (path.mask & warp.live, block.exit_info.unwrap_or_default());
                match path.wait {
                    Wait::Meeting(mask) => {
                        let at = block.end - 1;
                        return self.convict_lonely_lanes(warp, mask & warp.live, at);
                    }
                    Wait::Others(_) => return self.convict_divergent_barrier(warp, lanes, warp.live, at),
                    Wait::Gathering(id) => {
                        let absent = (warp.live & !lanes).trailing_zeros();
                        let thread = self.context.shape.thread(warp.number * LANES as u32 + absent);
                        let what = format!(
                            "barrier {id} waits for all lanes of warp {}, and thread {thread} waits elsewhere",
                            warp.number
                        );
                        return self.convict_barrier(
                            warp,
                            lanes,
                            at,
                            what,
                            "all lanes of a warp come to the same barrier",
                        );
                    }
                    Wait::Group => return self.convict_lonely_product(warp, block.end - 1),
                    Wait::No | Wait::Barrier(_) => {}
                }
            }
        }
        self.convict_incomplete_barrier()
    }

    fn convict_incomplete_barrier(&self) -> Box<Fault> {
        let at_barrier = |path: &Path| match path.wait {
            Wait::Barrier(id) => Some((id, *path)),
            _ => None,
        };
        let mut waiting: Vec<(&Warp, u32, Path)> = Vec::new();
        for warp in &self.state.warps {
            waiting.extend(warp.paths.iter().find_map(at_barrier).map(|(id, path)| (&**warp, id, path)));
        }
        let Some(&(_, id, _)) = waiting.first() else { unreachable!("no warp is ready, and not all are done") };
        let (here, away): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, other, _)| *other == id);
        let (wanted, arrivals) = self.state.barriers.incomplete(id);
        let arrived: u32 = arrivals.iter().map(|arrival| arrival.lanes.count_ones()).sum();
        let elsewhere: u32 = away.iter().map(|(warp, ..)| warp.live.count_ones()).sum();
        let wanted = match wanted {
            0 => "every thread that has not ended".to_string(),
            count => format!("{count} threads"),
        };
        let message = format!(
            "barrier {id} is never complete: it is for {wanted}, {arrived} have arrived, {elsewhere} wait at another barrier"
        );
        let site = |(warp, _, path): &(&Warp, u32, Path)| {
            let at = self.context.program.blocks[path.block as usize].exit_info.unwrap_or_default();
            self.site_of(warp, warp.live.trailing_zeros(), at)
        };
        let others =
            self.state.barriers.all.iter().zip(0..).filter(|(other, number)| *number != id && other.warps != 0);
        let alone = others.map(|(other, number)| (number, other.warps.count_ones())).next();
        let hint = match alone.filter(|_| away.is_empty()) {
            Some((other, warps)) => format!(
                "{warps} warps have arrived at barrier {other}, and nobody waits there: is one number meant by those who arrive and those who wait?"
            ),
            None => "does the barrier's thread count fit the block, and does every one of them reach this barrier, as often as the others?"
                .to_string(),
        };
        let mut fault = fault(FaultKind::Barrier, message, site(&here[0]), &hint);
        fault.other = away.first().map(|waits| ("another warp waits here:".to_string(), site(waits)));
        fault
    }

    #[inline(never)]
    pub(crate) fn convict_divergent_barrier(&self, warp: &Warp, here: u32, live: u32, at: u32) -> Box<Fault> {
        let absent = (live & !here).trailing_zeros();
        let thread = self.context.shape.thread(warp.number * LANES as u32 + absent);
        let message = format!(
            "barrier reached by only {} of the {} live threads of warp {}; thread {thread} is elsewhere",
            here.count_ones(),
            live.count_ones(),
            warp.number
        );
        let hint = "every thread of the block must reach the same `__syncthreads()`: take it out of the branch";
        fault(FaultKind::Barrier, message, self.site_of(warp, here.trailing_zeros(), at), hint)
    }

    /// Lanes wait for others of their mask at an instruction to which these do not come; some may wait at another one.
    fn convict_lonely_lanes(&self, warp: &Warp, members: u32, at: u32) -> Box<Fault> {
        let waits_at = |path: &Path| self.context.program.blocks[path.block as usize].end - 1;
        let meeting = || warp.paths.iter().filter(|path| matches!(path.wait, Wait::Meeting(_)));
        let lanes = |path: &Path| path.mask & warp.live & members;
        let together = |path: &&Path| self.context.program.are_alike(waits_at(path), at);
        let here = meeting().filter(together).fold(0, |all, path| all | lanes(path));
        let mut fault = self.convict_divergent_warp_barrier(warp, members, here, at);
        if let Some(path) = meeting().find(|path| lanes(path) & !here != 0) {
            let lane = (lanes(path) & !here).trailing_zeros();
            fault.other = Some(("another lane waits here:".to_string(), self.site_of(warp, lane, waits_at(path))));
        }
        fault
    }

    pub(crate) fn convict_divergent_warp_barrier(&self, warp: &Warp, members: u32, here: u32, at: u32) -> Box<Fault> {
        let site = self.site_of(warp, here.trailing_zeros(), at);
        let message = format!(
            "lanes {here:#010x} alone reach `{}` of lanes {members:#010x}: {:#010x} are missing",
            site.opcode,
            members & !here
        );
        let hint = match site.opcode.starts_with("bar") {
            true => "every lane that the mask names must reach the same `__syncwarp()`".to_string(),
            false => format!(
                "every lane that the mask names must reach `{}`: take it out of the branch or loop that lanes leave, and let those without an element pass one that changes nothing",
                site.opcode
            ),
        };
        fault(FaultKind::Barrier, message, site, &hint)
    }

    /// A lane executes an instruction for lanes of which it is none.
    pub(crate) fn convict_not_a_member(&self, warp: &Warp, lane: u32, mask: u32, at: u32) -> Box<Fault> {
        let site = self.site_of(warp, lane, at);
        let message = format!("lane {lane} executes `{}` for lanes {mask:#010x}, and is none of them", site.opcode);
        fault(FaultKind::Barrier, message, site, "the mask names every lane that calls, itself among them")
    }

    /// A lane waits for another that is there, too, and names other lanes.
    pub(crate) fn convict_two_masks(
        &self,
        warp: &Warp,
        [lane, other]: [usize; 2],
        masks: &[u32],
        at: u32,
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, at);
        let message = format!(
            "lane {lane} executes `{}` for lanes {:#010x}, and lane {other}, one of them, for lanes {:#010x}",
            site.opcode, masks[lane], masks[other]
        );
        fault(FaultKind::Barrier, message, site, "all lanes that a mask names name the same mask")
    }

    /// A barrier that cannot be what is meant.
    pub(crate) fn convict_barrier(&self, warp: &Warp, on: u32, at: u32, message: String, hint: &str) -> Box<Fault> {
        fault(FaultKind::Barrier, message, self.site_of(warp, on.trailing_zeros(), at), hint)
    }

    /// An arrival that does not fit one before it.
    pub(crate) fn convict_arrival(&self, warp: &Warp, id: u32, before: Arrival, now: Arrival) -> Box<Fault> {
        let site = self.site_of(warp, now.lanes.trailing_zeros(), now.at);
        let thread = before.warp * LANES as u32 + before.lanes.trailing_zeros();
        let other = self.context.site(self.state.block, thread, before.at);
        let count = |threads: u32| match threads {
            0 => "all threads".to_string(),
            count => format!("{count} threads"),
        };
        let (message, hint) = if before.warp == now.warp {
            let message = format!(
                "warp {} arrives twice at barrier {id}, for {}, before the others have come",
                warp.number,
                count(now.threads)
            );
            (
                message,
                "who arrives again waits first until the barrier was complete: do both sides name one number, and does each wait for the other?",
            )
        } else if before.threads != now.threads {
            let message = format!(
                "barrier {id} is for {} at {}, and for {} at {}",
                count(before.threads),
                place(&other),
                count(now.threads),
                place(&site)
            );
            (message, "all who take part name the same count: those who wait and those who only arrive together")
        } else {
            let message = format!("barrier {id} is used by `{}` and by `{}` at once", other.opcode, site.opcode);
            (message, "a barrier that reduces is for reductions only until it is complete")
        };
        let mut fault = fault(FaultKind::Barrier, message, site, hint);
        fault.other = Some(("the arrival before it:".to_string(), other));
        fault
    }

    /// Two uses of a barrier that is for some threads only, of which nothing says that one comes before the other.
    pub(crate) fn convict_mixed(&self, warp: &Warp, id: u32, before: Arrival, now: Arrival) -> Box<Fault> {
        let site = self.site_of(warp, now.lanes.trailing_zeros(), now.at);
        let thread = before.warp * LANES as u32 + before.lanes.trailing_zeros();
        let other = self.context.site(self.state.block, thread, before.at);
        let message = format!(
            "two uses of barrier {id} at once: nothing orders warp {} behind its use for {} threads by warp {}, so either may complete \
             the other's",
            warp.number, before.threads, before.warp
        );
        let hint =
            "does the thread count fit all who come? Groups of warps have a barrier number each, or meet in between";
        let mut fault = fault(FaultKind::Barrier, message, site, hint).because(Cause::Overlap);
        fault.other = Some(("the use before it:".to_string(), other));
        fault
    }
}
