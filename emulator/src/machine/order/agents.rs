//! What goes on beside the threads: copies that land when they like, and barriers in shared memory that tell of it.
//!
//! An agent stands for all copies of which one barrier, or one thread's groups, tell. In clocks it has the number of a
//! warp behind those of the thread block, and its time is the phase or the group: who has observed that phase knows of all
//! that the agent did up to then. An access of an agent lies behind what the thread knows that asked for it.

use std::ops::Range;

use super::super::lanes::each;
use super::cell::{Access, Clash, Force, Kind, Record};
use super::clock::Past;
use super::line::LINE;
use super::threads::{Handed, Judge, Threads, add};
use super::{Clocks, View, cell_in, line_in};
use crate::WarningKind;
use crate::program::{Order, Scope};

/// Agents that have a number of a warp of their own; others share it, and have one of its lanes each.
const ALONE: u32 = 96;
/// Agents that a thread block may have.
const MOST: u32 = ALONE + 32 * 96;

/// What a barrier hands on: what those knew who arrived in the present phase, and in those before. Of a barrier in shared
/// memory, `far` is of other thread blocks, which arrived for the threads of the cluster.
#[derive(Debug, Default)]
pub(in super::super) struct Phases {
    pub(super) gathering: Option<Past>,
    pub(super) complete: Option<Past>,
    far_gathering: Option<Past>,
    far_complete: Option<Past>,
}

/// An agent and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Agent {
    pub number: u32,
    pub time: u32,
}

/// What a lane did at a time.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Then {
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
    pub time: u32,
}

/// Why an agent's access must not be.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Conflict {
    Race(Clash),
    /// No proxy fence lies behind this store, of one lane.
    Unfenced(Record),
}

/// An access of an agent that the books do not agree about: behind a lane's access to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Doubt {
    pub kind: WarningKind,
    pub cell: u32,
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
    pub at: u32,
}

/// Doubts of one access, of each pair of instructions one.
#[derive(Debug, Default)]
pub(in super::super) struct Doubts(pub Vec<Doubt>);

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

    /// Lanes execute a proxy fence; `live` have not ended.
    pub fn proxy_fence(&mut self, block: u32, (warp, lanes): (u32, u32), live: u32) {
        let threads = self.threads(block);
        let (own, fence) = (threads.past(warp, lanes).known, (block, warp, lanes, threads.time(warp)));
        if threads.is_uniform(warp) && lanes & live == live {
            let past = threads.base(warp, 0).fenced_for_proxies(&own, fence);
            threads.set_base(warp, lanes, live, &past);
        } else {
            for lane in each(lanes) {
                let past = threads.base(warp, lane).fenced_for_proxies(&own, fence);
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
        // Of global memory it is not asked what other proxies see.
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
                if let Some(clash) = view.clash(number, now, &mut || false) {
                    return Err((number, Conflict::Race(clash)));
                }
                let unfenced = |record: &Record| is_unfenced(threads, record, asker, warps);
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

/// Whether no proxy fence lies behind a thread's store.
fn is_unfenced(threads: &Threads, record: &Record, asker: (u32, u32), warps: u32) -> bool {
    let then = record.access();
    let proxied = &threads.base(asker.0, asker.1 as usize).proxied.any;
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
mod tests {
    use super::super::Block;
    use super::super::line::Side;
    use super::*;

    #[test]
    fn every_agent_has_a_place_of_its_own_by_which_it_is_known() {
        for warps in [1, 4, 32] {
            let mut places = std::collections::HashSet::new();
            for number in 0..MOST {
                let (warp, lanes) = Agent { number, time: 1 }.place(warps);
                assert!(warp >= warps && warp <= u8::MAX.into(), "{number}: {warp}");
                assert_eq!(lanes == u32::MAX, number < ALONE, "{number}");
                for lane in each(lanes).filter(|lane| number >= ALONE || *lane == 0) {
                    assert!(places.insert((warp, lane)), "{number}");
                    assert_eq!(Agent::of(warp, lane as u32, warps), Some(number));
                }
            }
            assert_eq!(Agent::of(warps - 1, 3, warps), None, "a thread");
            let last = Agent { number: MOST - 1, time: 1 }.place(warps);
            assert_eq!(Agent { number: MOST + 7, time: 1 }.place(warps), last, "those beyond the last share its place");
        }
    }

    /// Two warps and the line behind the first one, by rows as long as it goes, or by cells from the start.
    struct Scene {
        clocks: Clocks,
        agents: [(u32, u32); 2],
    }

    const CELLS: Range<u32> = LINE as u32..2 * LINE as u32;

    impl Scene {
        fn new(by_cells: bool) -> Scene {
            let nothing = Past::default();
            let present = Block::new(0, (2, 1), &nothing);
            let (aside, ended, clusters) = (Default::default(), Default::default(), Default::default());
            let mut clocks = Clocks {
                shared: true,
                global: false,
                nothing,
                warps: 2,
                size: 1,
                present,
                aside,
                ended,
                buffers: Vec::new(),
                clusters,
                askers: Default::default(),
            };
            if by_cells {
                clocks.open(None, CELLS);
            }
            Scene { clocks, agents: [(0, 1), (1, 1)] }
        }

        /// Sixteen lanes of a warp access a word each.
        fn row(&mut self, warp: u32, first: u8, kind: Kind, at: u32) -> Option<&'static str> {
            let side = Side { first, step: 1, shift: 0 };
            let now = Access { block: 0, warp, lanes: 0, at, kind, force: Force::Weak, extent: 0 };
            if self.clocks.keep_lines(None, &[(1, side)], &now) != 0 {
                return None;
            }
            self.clocks.open(None, CELLS);
            let of = |cell: u32| Access { lanes: 1 << (u32::from(first) + cell - CELLS.start), ..now };
            let clash = CELLS.into_iter().find_map(|cell| self.clocks.view(None).clash(cell, &of(cell), &mut || false));
            CELLS.for_each(|cell| self.clocks.keep(None, cell..cell + 1, Order::Weak, of(cell)));
            clash.map(|_| "race")
        }

        /// An agent accesses it, for a lane of its warp.
        fn copy(&mut self, agent: u32, lane: u32, kind: Kind, at: u32) -> Option<&'static str> {
            let (number, time) = self.agents[agent as usize];
            let force = if kind == Kind::Atomic { Force::Cluster } else { Force::Weak };
            let now = Access { block: 0, warp: agent, lanes: 1 << lane, at, kind, force, extent: u8::MAX };
            match self.clocks.access_by_agent(&now, (0, Agent { number, time }), (None, CELLS), None) {
                Ok(()) => None,
                Err((_, Conflict::Race(_))) => Some("race"),
                Err((_, Conflict::Unfenced(_))) => Some("no fence"),
            }
        }

        /// Its warp waits until it is done.
        fn wait(&mut self, agent: u32) {
            let (number, time) = &mut self.agents[agent as usize];
            self.clocks.learn_of_agent(0, (agent, u32::MAX), u32::MAX, Agent { number: *number, time: *time });
            *time += 1;
        }

        fn meet(&mut self) {
            (0..2).for_each(|warp| self.clocks.arrive(0, 0, warp, u32::MAX));
            self.clocks.complete(0, 0, &[(0, u32::MAX), (1, u32::MAX)], &[], |_| u32::MAX);
        }
    }

    #[test]
    fn what_is_in_order_is_kept_in_one() {
        let mut scene = Scene::new(false);
        let is_one = |scene: &mut Scene| line_in(scene.clocks.at(None).1, 1).cells().is_empty();
        for round in 0..4 {
            for (warp, first, kind) in [(0, 0, Kind::Write), (0, 16, Kind::Read), (1, 16, Kind::Read)] {
                scene.meet();
                assert_eq!((scene.row(warp, first, kind, round), is_one(&mut scene)), (None, true), "{round}, {warp}");
            }
            scene.clocks.proxy_fence(0, (1, u32::MAX), u32::MAX);
            scene.meet();
            for (agent, lane, kind) in
                [(0, 5, Kind::Read), (0, 9, Kind::Read), (1, 3, Kind::Write), (1, 31, Kind::Read)]
            {
                let said = (scene.copy(agent, lane, kind, 10 + round), is_one(&mut scene));
                assert_eq!(said, (None, true), "{round}, agent {agent}");
                scene.wait(agent);
                scene.meet();
            }
            // Behind its own reads, too, that nobody waits for in between.
            for at in 20..23 {
                assert_eq!((scene.copy(0, 7, Kind::Read, at), is_one(&mut scene)), (None, true), "{round}");
            }
            scene.wait(0);
            scene.meet();
        }
        // Two agents that read at once are two records.
        assert_eq!(scene.copy(0, 5, Kind::Read, 30), None);
        assert_eq!(scene.copy(1, 5, Kind::Read, 31), None);
        assert!(!is_one(&mut scene));
    }

    #[test]
    fn copies_and_rows_meet_by_lines_as_they_do_by_cells() {
        let mut state = 1_u32;
        let mut chance = move |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        };
        let (mut races, mut steps) = (0, 0);
        for _ in 0..4000 {
            let mut scenes = [Scene::new(false), Scene::new(true)];
            for at in 0..12 {
                let (what, who, lane, kind) = (chance(10), chance(2), chance(32), chance(3));
                let kind = [Kind::Read, Kind::Read, Kind::Write][kind as usize];
                let [lines, cells] = scenes.each_mut().map(|scene| match what {
                    0..3 => scene.row(who, 16 * (lane as u8 % 2), kind, at),
                    3..6 => scene.copy(who, lane, kind, at),
                    6 => {
                        scene.wait(who);
                        None
                    }
                    7 | 8 => {
                        scene.meet();
                        None
                    }
                    _ => {
                        scene.clocks.proxy_fence(0, (who, u32::MAX), u32::MAX);
                        None
                    }
                });
                assert_eq!(lines, cells, "{at}");
                steps += 1;
                if lines.is_some() {
                    races += 1;
                    break;
                }
            }
        }
        assert!(races > 1000 && steps > 10_000, "{races} races in {steps} steps");
    }
}
