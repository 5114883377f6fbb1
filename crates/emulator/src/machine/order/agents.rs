//! What goes on beside the threads: copies that land when they like, and barriers in shared memory that tell of it.
//!
//! An agent stands for all copies of which one barrier, or one thread's groups, tell. In clocks it has the number of a
//! warp behind those of the thread block, and its time is the phase or the group: who has observed that phase knows of all
//! that the agent did up to then. An access of an agent lies behind what the thread knows that asked for it.

use std::ops::Range;

use super::cell::{Access, Clash, Force, Kind, Record};
use super::clock::{Clock, Past};
use super::line::LINE;
use super::threads::{Handed, Judge, Threads, add};
use super::{Clocks, View, cell_in, line_in};
use crate::WarningKind;
use crate::machine::lanes::each;
use crate::program::{Fenced, Order, Scope};

/// Agents that have a number of a warp of their own; others share it, and have one of its lanes each.
const ALONE: u32 = 96;
/// Agents that a thread block may have.
const MOST: u32 = ALONE + 32 * 96;

/// What a barrier hands on: what those knew who arrived in the present phase, and in those before. Of a barrier in shared
/// memory, `far` is of other thread blocks, which arrived for the threads of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    pub(super) gathering: Option<Past>,
    pub(super) complete: Option<Past>,
    far_gathering: Option<Past>,
    far_complete: Option<Past>,
}

/// An agent and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agent {
    pub number: u32,
    pub time: u32,
}

/// What a lane did at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Then {
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
    pub time: u32,
}

/// Why an agent's access must not be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Conflict {
    Race(Clash),
    /// No proxy fence lies behind this store, of one lane.
    Unfenced(Record),
}

/// An access of an agent that the books do not agree about: behind a lane's access to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub kind: WarningKind,
    pub cell: u32,
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
    pub at: u32,
}

/// Doubts of one access, of each pair of instructions one.
#[derive(Debug, Default)]
pub(crate) struct Doubts(pub Vec<Doubt>);

impl Doubts {
    pub(super) fn add(&mut self, doubt: Doubt) {
        let same = |known: &Doubt| (known.kind, known.at, known.block) == (doubt.kind, doubt.at, doubt.block);
        if !self.0.iter().any(same) {
            self.0.push(doubt);
        }
    }
}

impl Agent {
    /// The number of a warp, and the lanes, that it has in clocks.
    fn place(self, warps: u32) -> (u32, u32) {
        let number = self.number.min(MOST - 1);
        match number < ALONE {
            true => (warps + number, u32::MAX),
            false => (warps + ALONE + (number - ALONE) / 32, 1 << ((number - ALONE) % 32)),
        }
    }

    /// The agent of a record, if it is of one.
    fn of(warp: u32, lane: u32, warps: u32) -> Option<u32> {
        let number = warp.checked_sub(warps)?;
        Some(if number < ALONE { number } else { ALONE + 32 * (number - ALONE) + lane })
    }
}

impl Clocks {
    /// The agent that made an access of which one lane is named, if it was no thread.
    pub fn agent_of(&self, clash: &Clash) -> Option<u32> {
        Agent::of(clash.before.access().warp, clash.other, self.warps)
    }

    /// Notes who asked an agent of a block for what an instruction does to global memory: the block may have ended when
    /// somebody wants to know.
    pub fn note_asker(&mut self, of: (u32, u32, u32), asker: (u64, u32)) {
        self.askers.insert(of, asker);
    }

    pub fn asker(&self, of: (u32, u32, u32)) -> Option<(u64, u32)> {
        self.askers.get(&of).copied()
    }

    /// The present time of a warp.
    pub fn time(&mut self, block: u32, warp: u32) -> u32 {
        self.threads(block).time(warp)
    }

    /// Those of `lanes` that do not know what a lane of some warp, of whatever block, did at a time; that they know of a fence
    /// for the beginnings of barriers behind it will do where `begins`.
    pub fn ignorant(&mut self, block: u32, (warp, lanes): (u32, u32), then: Then, begins: bool) -> u32 {
        let Then { block: of, warp: other, lane, time } = then;
        let threads = self.threads(block);
        let knows = |n: usize| {
            let Past { known, begun, .. } = threads.base(warp, n);
            (block, warp, n as u32) == (of, other, lane)
                || known.unknown(of, other, 1 << lane, time) == 0
                || begins && begun.unknown(of, other, 1 << lane, time) == 0
        };
        each(lanes).filter(|lane| !knows(*lane)).fold(0, |all, lane| all | 1 << lane)
    }

    /// Whether a proxy fence lies between what a lane did at a time and the present of another one.
    pub fn is_proxied(&mut self, block: u32, (warp, lane): (u32, u32), then: Then) -> bool {
        let proxied = &self.threads(block).base(warp, lane as usize).proxied.any;
        proxied.unknown(then.block, then.warp, 1 << then.lane, then.time) == 0
    }

    #[cfg(test)]
    pub fn proxy_fence(&mut self, block: u32, lanes: (u32, u32), live: u32) {
        self.proxy_fence_for(block, lanes, live, Fenced { shared: true, global: true });
    }

    /// Lanes execute a proxy fence for some memory; `live` have not ended.
    pub fn proxy_fence_for(&mut self, block: u32, (warp, lanes): (u32, u32), live: u32, fenced: Fenced) {
        let threads = self.threads(block);
        let (own, fence) = (threads.past(warp, lanes).known, (block, warp, lanes, threads.time(warp)));
        if threads.is_uniform(warp) && lanes & live == live {
            let past = threads.base(warp, 0).fenced_for_proxies(&own, fence, fenced);
            threads.set_base(warp, lanes, live, &past);
        } else {
            for lane in each(lanes) {
                let past = threads.base(warp, lane).fenced_for_proxies(&own, fence, fenced);
                threads.set_base(warp, 1 << lane, u32::MAX, &past);
            }
        }
        threads.step(warp);
    }

    /// A barrier begins at a place in shared memory: nobody has arrived.
    pub fn begin_phases(&mut self, block: u32, place: u32) {
        self.threads(block).phases.insert(place, Phases::default());
    }

    /// Lanes arrive at the barrier at `place`, in the shared memory at hand. What another block's threads did is in order
    /// for those who wait only if the arrival is for the cluster; that it is over they learn in any case.
    pub fn arrive_in_memory(
        &mut self,
        block: u32,
        place: u32,
        (warp, lanes): (u32, u32),
        (order, scope): (Order, Scope),
    ) {
        let threads = self.threads(block);
        let (far, word) = (threads.owner != block, threads.word(place));
        let past = threads.past(warp, lanes);
        if far {
            let phases = threads.phases.entry(place).or_default();
            add(&mut phases.gathering, Some(&past.without_order()));
        }
        if order == Order::Relaxed {
            // What fences before it hand on.
            for lane in each(lanes) {
                let force = if scope == Scope::Cta { Force::Near } else { Force::Cluster };
                let handed = threads.handed(warp, lane, word, force, false);
                let phases = threads.phases.entry(place).or_default();
                match far {
                    true => add(&mut phases.far_gathering, handed.cluster.as_ref()),
                    false => add(&mut phases.gathering, handed.near.as_ref()),
                }
            }
        } else if !far {
            add(&mut threads.phases.entry(place).or_default().gathering, Some(&past));
        } else if scope != Scope::Cta {
            add(&mut threads.phases.entry(place).or_default().far_gathering, Some(&past));
        }
        if far || order != Order::Relaxed {
            threads.step(warp);
        }
    }

    /// A phase of the barrier at `place` is complete, and with it what `agent` of the block `of` did up to then.
    pub fn complete_phase(&mut self, block: u32, place: u32, agent: Option<Agent>) {
        let warps = self.warps;
        let threads = self.threads(block);
        let owner = threads.owner;
        let phases = threads.phases.entry(place).or_default();
        let (gathered, far) = (phases.gathering.take(), phases.far_gathering.take());
        add(&mut phases.complete, gathered.as_ref());
        add(&mut phases.far_complete, far.as_ref());
        if let Some(agent) = agent {
            let past = phases.complete.take().unwrap_or_default();
            phases.complete = Some(with_agent(&past, owner, agent, warps));
        }
    }

    /// Lanes see that a phase of the barrier at `place` is complete; `live` have not ended.
    pub fn observe_phase(
        &mut self,
        block: u32,
        place: u32,
        (warp, lanes): (u32, u32),
        live: u32,
        (order, scope): (Order, Scope),
    ) {
        let threads = self.threads(block);
        let word = threads.word(place);
        let Some(phases) = threads.phases.get(&place) else { return };
        let far = phases.far_complete.clone();
        let Some(past) = phases.complete.clone().or_else(|| far.as_ref().map(Past::without_order)) else { return };
        if order == Order::Relaxed {
            // A fence behind it takes it over.
            for lane in each(lanes) {
                let found = Handed { wide: None, cluster: far.clone(), near: Some(past.clone()) };
                threads.found(warp, lane, word, found, None, false);
            }
            return;
        }
        learn(threads, (warp, lanes), live, &past);
        if let Some(far) = far {
            let far = if scope == Scope::Cta { far.without_order() } else { far };
            learn(threads, (warp, lanes), live, &far);
        }
    }

    /// Lanes learn that an agent has done all up to a time.
    pub fn learn_of_agent(&mut self, block: u32, (warp, lanes): (u32, u32), live: u32, agent: Agent) {
        let warps = self.warps;
        let threads = self.threads(block);
        let past = with_agent(&Past::default(), block, agent, warps);
        learn(threads, (warp, lanes), live, &past);
    }

    /// A cell of a buffer that a thread has stored to, with that store, behind which lies no proxy fence for global memory that the
    /// lane knows of which asks for a copy from there.
    pub fn unfenced(
        &mut self,
        block: u32,
        (warp, lane): (u32, u32),
        (buffer, cells): (u32, Range<u32>),
    ) -> Option<(u32, Record)> {
        self.enter(block);
        self.open(Some(buffer), cells.clone());
        let proxied = &self.present.threads.base(warp, lane as usize).proxied.global;
        let (view, warps) = (self.view(Some(buffer)), self.warps);
        let mut cells = cells;
        cells.find_map(|cell| Some((cell, view.written(cell).filter(|record| is_unfenced(proxied, record, warps))?)))
    }

    /// Checks and keeps an access of an agent of the block `of`, to cells of a buffer or of the shared memory at hand; `now`
    /// is the access, as if the lane made it that asked for it. Gives the cell that must not be accessed, and why; and what
    /// is doubtful, of accesses to shared memory by another proxy than the threads'.
    pub fn access_by_agent(
        &mut self,
        now: &Access,
        (of, agent): (u32, Agent),
        (buffer, cells): (Option<u32>, Range<u32>),
        mut doubts: Option<&mut Doubts>,
    ) -> Result<(), (u32, Conflict)> {
        self.enter(now.block);
        let (warps, kind, asker) = (self.warps, now.kind, (now.warp, now.lanes.trailing_zeros()));
        let (threads, pages) = self.at(buffer);
        let threads = &*threads;
        let (warp, lanes) = agent.place(warps);
        let kept = Access { block: of, warp, lanes: 1 << lanes.trailing_zeros(), ..*now };
        // Of global memory, `unfenced` says what other proxies see.
        let proxies = buffer.is_none();
        let mut cell = cells.start;
        while cell < cells.end {
            let (line, whole) = (cell / LINE as u32, cell.is_multiple_of(LINE as u32));
            let end = cells.end.min((line + 1) * LINE as u32);
            let row = (kept, agent.time);
            if whole
                && end - cell == LINE as u32
                && line_in(pages, line).keep_of_agent(
                    &Judge::new(threads),
                    asker,
                    row,
                    proxies.then_some((cell, doubts.as_deref_mut())),
                )
            {
                cell = end;
                continue;
            }
            line_in(pages, line).open();
            for number in cell..end {
                let view = View { judge: Judge::new(threads), pages: Some(pages) };
                if let Some(clash) = view.clash(number, now, &mut |_| false) {
                    return Err((number, Conflict::Race(clash)));
                }
                let proxied = &threads.base(asker.0, asker.1 as usize).proxied.any;
                let unfenced = |record: &Record| is_unfenced(proxied, record, warps);
                if proxies
                    && kind == Kind::Read
                    && let Some(record) = view.written(number).filter(unfenced)
                {
                    return Err((number, Conflict::Unfenced(record)));
                }
                if let Some(doubts) = doubts.as_deref_mut() {
                    for record in cell_in(pages, number).doubtful(kind) {
                        doubt(threads, (record, number), asker, doubts);
                    }
                }
                cell_in(pages, number).keep_of_agent(kept, agent.time);
            }
            cell = end;
        }
        Ok(())
    }
}

/// Whether no proxy fence lies behind a thread's store: of those, what lies before them is `proxied`.
fn is_unfenced(proxied: &Clock, record: &Record, warps: u32) -> bool {
    let then = record.access();
    then.warp < warps && proxied.unknown(then.block, then.warp, then.lanes, record.time()) != 0
}

/// What is doubtful of an agent's access behind a thread's: of one that reads, behind a store, that no fence of the thread
/// itself lies between; of one that writes, behind a load, that none of anybody does.
pub(super) fn doubt(threads: &Threads, (record, cell): (&Record, u32), asker: (u32, u32), doubts: &mut Doubts) {
    let then = record.access();
    if then.warp >= threads.warps() {
        return;
    }
    let proxied = &threads.base(asker.0, asker.1 as usize).proxied;
    let (kind, clock) = match then.kind {
        Kind::Read => (WarningKind::UnfencedReuse, &proxied.over),
        _ => (WarningKind::FenceOfTheReader, &proxied.own),
    };
    let lanes = clock.unknown(then.block, then.warp, then.lanes, record.time());
    if lanes != 0 {
        let (block, warp, lane, at) = (then.block, then.warp, lanes.trailing_zeros(), then.at);
        doubts.add(Doubt { kind, cell, block, warp, lane, at });
    }
}

fn with_agent(past: &Past, block: u32, agent: Agent, warps: u32) -> Past {
    let (warp, lanes) = agent.place(warps);
    Past { known: past.known.with(block, [(warp, lanes, agent.time)].into_iter()), ..past.clone() }
}

/// Lanes learn what somebody knew.
pub(super) fn learn(threads: &mut Threads, (warp, lanes): (u32, u32), live: u32, past: &Past) {
    if threads.is_uniform(warp) && lanes & live == live {
        let joined = threads.base(warp, 0).join(past);
        if !joined.is_same(threads.base(warp, 0)) {
            threads.set_base(warp, lanes, live, &joined);
        }
        return;
    }
    for lane in each(lanes) {
        let joined = threads.base(warp, lane).join(past);
        if !joined.is_same(threads.base(warp, lane)) {
            threads.set_base(warp, 1 << lane, u32::MAX, &joined);
        }
    }
}

#[cfg(test)]
mod tests;
