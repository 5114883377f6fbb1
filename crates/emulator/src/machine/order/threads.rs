//! What each thread of a thread block knows of the others' past, and what it has handed on: barriers, fences, acquire and
//! release.

use std::collections::HashMap;
use std::rc::Rc;

use super::Place;
use super::agents::Phases;
use super::cell::{Force, Kind};
use super::clock::{Clock, Past, Scoped};
use crate::machine::lanes::{LANES, each};
use crate::program::{Order, Scope};

/// A clock for threads of the device, one for those of a cluster, and one for those of one thread block: what was handed on
/// in so wide a scope. Without clusters, there is none for them.
#[derive(Debug, Clone, Default)]
pub(super) struct Handed {
    pub wide: Option<Past>,
    pub cluster: Option<Past>,
    pub near: Option<Past>,
}

impl Handed {
    pub fn is_empty(&self) -> bool {
        self.wide.is_none() && self.cluster.is_none() && self.near.is_none()
    }

    fn add(&mut self, other: &Handed) {
        add(&mut self.wide, other.wide.as_ref());
        add(&mut self.cluster, other.cluster.as_ref());
        add(&mut self.near, other.near.as_ref());
    }

    fn each(&self) -> impl Iterator<Item = &Past> {
        self.near.iter().chain(&self.cluster).chain(&self.wide)
    }
}

pub(super) fn add(to: &mut Option<Past>, past: Option<&Past>) {
    if let Some(past) = past {
        *to = Some(match to.take() {
            Some(known) => known.join(past),
            None => past.clone(),
        });
    }
}

/// A thread's past at one of its fences. The clock is made when a write hands it on.
#[derive(Debug, Clone)]
struct Fenced {
    base: Past,
    time: u32,
    made: Option<Past>,
}

/// What a thread has read and not acquired, and fenced and perhaps not written.
#[derive(Debug, Default)]
struct Lane {
    wide: Option<Fenced>,
    cluster: Option<Fenced>,
    near: Option<Fenced>,
    /// What strong reads found, by place.
    pending: Vec<(Place, Handed)>,
    /// What its own release operations handed on: a later strong write of the place does so as well.
    released: Vec<(Place, Handed)>,
    /// What strong reads found that was handed on in too narrow a scope.
    too_narrow: Option<Past>,
}

#[derive(Debug)]
struct WarpPast {
    /// The present time.
    time: u32,
    /// What is known of others: by all lanes alike, or by each.
    bases: Vec<Past>,
    lanes: Option<Box<[Lane; LANES]>>,
}

/// Why a thread does not know of another's access, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It met what would order them, without an acquire behind it.
    Acquire,
    /// The other never made a fence or release after its access.
    Release,
    /// It knows that the other's access is over, from what orders no memory between blocks.
    Order,
    /// Fence, or access, of a scope that leaves the other out.
    Scope,
    /// One of the two is a plain access, the other is not: what threads use at once is none's plainly.
    Strength,
    /// Barriers that not both take part in.
    Participation,
    Everything,
}

/// The threads of one thread block.
#[derive(Debug)]
pub(super) struct Threads {
    pub(super) block: u32,
    /// The thread block whose shared memory is at hand, and how many blocks there are in a cluster.
    pub(super) owner: u32,
    pub(super) size: u32,
    warps: Vec<WarpPast>,
    /// By barrier, in the phase that is not complete.
    arrived: Vec<(u32, Arrived)>,
    /// By barrier that is for some threads only: who arrived in the phase that was complete last, each with its time.
    used: Vec<(u32, Vec<Part>)>,
    /// By place, of barriers in shared memory.
    pub(super) phases: HashMap<u32, Phases>,
}

/// A warp, its lanes, and a time.
type Part = (u32, u32, u32);

/// Who arrived at a barrier: what they know of others, and which warp's lanes they are, each with its time.
#[derive(Debug, Default)]
struct Arrived {
    others: Option<Past>,
    parts: Vec<Part>,
}

/// Says what lies before an access by threads of a block. It remembers what was known of another warp when it was asked
/// last, because neighbouring cells ask for the same.
pub(super) struct Judge<'a> {
    pub threads: &'a Threads,
    last: std::cell::Cell<Option<Known<'a>>>,
}

/// By a clock, all accesses of a warp up to some time are known.
#[derive(Clone, Copy)]
struct Known<'a> {
    clock: &'a Rc<Clock>,
    block: u32,
    warp: u32,
    until: u32,
}

impl<'a> Judge<'a> {
    pub fn new(threads: &'a Threads) -> Judge<'a> {
        Judge { threads, last: std::cell::Cell::new(None) }
    }

    /// Whether a lane knows all accesses of another warp at `time`. It may know some where this says no.
    #[inline]
    pub fn knows_all(&self, (warp, lane): (u32, u32), (other_block, other_warp): (u32, u32), time: u32) -> bool {
        let clock = &self.threads.base(warp, lane as usize).known;
        let asked =
            |known: &Known| Rc::ptr_eq(known.clock, clock) && (known.block, known.warp) == (other_block, other_warp);
        let known = self.last.get().filter(asked).unwrap_or_else(|| {
            let until = clock.known_until(other_block, other_warp);
            Known { clock, block: other_block, warp: other_warp, until }
        });
        self.last.set(Some(known));
        time <= known.until
    }
}

impl Judge<'_> {
    /// Whether a lane knows that all accesses of another warp at `time` are over.
    pub fn is_over(&self, (warp, lane): (u32, u32), (block, other): (u32, u32), time: u32) -> bool {
        time <= self.threads.base(warp, lane as usize).over.known_until(block, other)
    }

    /// Whether a proxy fence that a lane knows of lies behind all accesses of another warp at `time`; an agent needs none.
    pub fn is_proxied(&self, (warp, lane): (u32, u32), (block, other): (u32, u32), time: u32) -> bool {
        let proxied = &self.threads.base(warp, lane as usize).proxied.any;
        other >= self.threads.warps() || time <= proxied.known_until(block, other)
    }
}

impl Threads {
    pub fn new(block: u32, (warps, size): (u32, u32), nothing: &Past) -> Threads {
        let warp = |_| WarpPast { time: 1, bases: vec![nothing.clone()], lanes: None };
        let (warps, arrived) = ((0..warps).map(warp).collect(), Vec::new());
        Threads { block, owner: block, size, warps, arrived, used: Vec::new(), phases: HashMap::new() }
    }

    /// What is at a place in the shared memory at hand.
    pub(super) fn word(&self, place: u32) -> Place {
        Place { buffer: None, owner: self.owner, cell: place }
    }

    pub fn time(&self, warp: u32) -> u32 {
        self.warps[warp as usize].time
    }

    /// How many warps there are; beyond them, numbers of warps are agents.
    pub fn warps(&self) -> u32 {
        self.warps.len() as u32
    }

    /// What a lane knows of others.
    pub fn base(&self, warp: u32, lane: usize) -> &Past {
        let bases = &self.warps[warp as usize].bases;
        if let [all] = bases.as_slice() { all } else { &bases[lane] }
    }

    /// Whether it is enough for an access behind another one that the other is over, whether its writes are seen or not: it
    /// has read, or it is a copy over which is written.
    pub fn will_be_over(&self, before: Kind, warp: u32, now: Kind) -> bool {
        before == Kind::Read || now != Kind::Read && warp >= self.warps()
    }

    /// What any of the threads knows of others.
    pub fn bases(&self) -> impl Iterator<Item = &Past> {
        self.warps.iter().flat_map(|warp| &warp.bases)
    }

    pub fn is_uniform(&self, warp: u32) -> bool {
        self.warps[warp as usize].bases.len() == 1
    }

    pub(super) fn set_base(&mut self, warp: u32, lanes: u32, live: u32, clock: &Past) {
        let bases = &mut self.warps[warp as usize].bases;
        if lanes & live == live {
            *bases = vec![clock.clone()];
            return;
        }
        if bases.len() == 1 {
            *bases = vec![bases[0].clone(); LANES];
        }
        each(lanes).for_each(|lane| bases[lane] = clock.clone());
    }

    fn acquire(&mut self, warp: u32, lane: usize, past: &Past) {
        let joined = self.base(warp, lane).join(past);
        if !joined.is_same(self.base(warp, lane)) {
            self.set_base(warp, 1 << lane, u32::MAX, &joined);
        }
    }

    /// All that some lanes know of others.
    fn others(&self, warp: u32, lanes: u32) -> Past {
        let mut past = self.base(warp, lanes.trailing_zeros() as usize & 31).clone();
        if !self.is_uniform(warp) {
            for lane in each(lanes) {
                past = past.join(self.base(warp, lane));
            }
        }
        past
    }

    /// All that some lanes know, and did.
    pub(super) fn past(&self, warp: u32, lanes: u32) -> Past {
        let past = self.others(warp, lanes);
        let parts = [(warp, lanes, self.time(warp))];
        Past { known: past.known.with(self.block, parts.into_iter()), ..past }
    }

    fn lane(&mut self, warp: u32, lane: usize) -> &mut Lane {
        let lanes = &mut self.warps[warp as usize].lanes;
        &mut lanes.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Lane::default())))[lane]
    }

    pub(super) fn step(&mut self, warp: u32) {
        self.warps[warp as usize].time += 1;
    }

    /// Lanes meet at a barrier of their warp. Those that have ended count as arrived.
    pub fn warp_barrier(&mut self, warp: u32, lanes: u32, live: u32) {
        let past = self.past(warp, lanes);
        self.step(warp);
        self.set_base(warp, lanes, live, &past);
    }

    /// Lanes arrive at a barrier of the block.
    pub fn arrive(&mut self, id: u32, warp: u32, lanes: u32) {
        let at = self.arrived.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            self.arrived.push((id, Arrived::default()));
            self.arrived.len() - 1
        });
        let mut arrived = std::mem::take(&mut self.arrived[at].1);
        self.join_arrived(&mut arrived, warp, lanes);
        self.arrived[at].1 = arrived;
        self.step(warp);
    }

    fn join_arrived(&self, arrived: &mut Arrived, warp: u32, lanes: u32) {
        add(&mut arrived.others, Some(&self.others(warp, lanes)));
        arrived.parts.push((warp, lanes, self.time(warp)));
    }

    /// A warp that arrived at barrier `id` before, in the phase that was complete last, and of which these lanes do not know that.
    pub fn unmet(&self, id: u32, warp: u32, lanes: u32) -> Option<u32> {
        let (_, parts) = self.used.iter().find(|(known, _)| *known == id)?;
        let base = |lane| self.base(warp, lane);
        let knows = |lane, &(other, theirs, time): &(u32, u32, u32)| {
            let known = base(lane).known.unknown(self.block, other, theirs, time) == 0;
            known || base(lane).over.unknown(self.block, other, theirs, time) == 0
        };
        let unmet = |part: &&(u32, u32, u32)| part.0 != warp && each(lanes).any(|lane| !knows(lane, part));
        parts.iter().find(unmet).map(|part| part.0)
    }

    /// A barrier is complete: the lanes that wait at it know of all that arrived, and of the threads that have `ended`. One for
    /// `some` threads keeps in mind who they were.
    pub fn complete(
        &mut self,
        (id, some): (u32, bool),
        waiting: &[(u32, u32)],
        ended: &[(u32, u32)],
        live: impl Fn(u32) -> u32,
    ) {
        let Some(at) = self.arrived.iter().position(|(known, _)| *known == id) else { return };
        let mut arrived = self.arrived.swap_remove(at).1;
        if some {
            self.used.retain(|(known, _)| *known != id);
            self.used.push((id, arrived.parts.clone()));
        }
        ended.iter().for_each(|&(warp, lanes)| self.join_arrived(&mut arrived, warp, lanes));
        let others = arrived.others.unwrap_or_default();
        let past = Past { known: others.known.with(self.block, arrived.parts.into_iter()), ..others };
        for &(warp, lanes) in waiting {
            self.set_base(warp, lanes, live(warp), &past);
        }
    }

    pub fn fence(&mut self, warp: u32, lanes: u32, order: Order, scope: Scope) {
        let (wide, in_cluster) = (scope >= Scope::Gpu, scope >= Scope::Cluster);
        for lane in each(lanes) {
            if order != Order::Release && self.warps[warp as usize].lanes.is_some() {
                let mut found = Vec::new();
                self.lane(warp, lane).pending.retain_mut(|(_, handed)| {
                    found.extend(handed.near.take());
                    if in_cluster {
                        found.extend(handed.cluster.take());
                    }
                    if wide {
                        found.extend(handed.wide.take());
                    }
                    !handed.is_empty()
                });
                found.iter().for_each(|past| self.acquire(warp, lane, past));
            }
        }
        if order == Order::Sc {
            // Between those of a block and of the device no difference is made: this orders too much, never too little.
            self.fence_in_order(warp, lanes, wide || in_cluster && self.size > 1);
        }
        if order == Order::Acquire {
            return;
        }
        let time = self.time(warp);
        for lane in each(lanes) {
            let fenced = Fenced { base: self.base(warp, lane).clone(), time, made: None };
            let clustered = in_cluster && self.size > 1;
            let state = self.lane(warp, lane);
            state.near = Some(fenced.clone());
            if clustered {
                state.cluster = Some(fenced.clone());
            }
            if wide {
                state.wide = Some(fenced);
            }
        }
        self.step(warp);
    }

    /// A fence of the one order of all: what is seen of others before it lies before it, and what lies before it may be seen.
    fn fence_in_order(&mut self, warp: u32, lanes: u32, wide: bool) {
        let time = self.time(warp);
        for lane in each(lanes) {
            let base = self.base(warp, lane).clone();
            let Past { known, fenced, seen, .. } = &base;
            let mut known = Clock::join(known, &seen.near);
            if wide {
                known = Clock::join(&known, &seen.wide);
            }
            let own = known.with(self.block, [(warp, 1 << lane, time)].into_iter());
            let fenced = match wide {
                true => fenced.join(&Scoped { near: own.clone(), wide: own }),
                false => Scoped { near: Clock::join(&fenced.near, &own), wide: fenced.wide.clone() },
            };
            let past = Past { fenced, known, ..base };
            self.set_base(warp, 1 << lane, u32::MAX, &past);
        }
    }

    /// A lane saw a write behind such fences.
    pub fn saw(&mut self, warp: u32, lane: usize, fenced: &Scoped) {
        let base = self.base(warp, lane);
        let past = Past { seen: base.seen.join(fenced), ..base.clone() };
        if !past.is_same(base) {
            self.set_base(warp, 1 << lane, u32::MAX, &past);
        }
    }

    /// What a strong write of some scope by a lane hands on; `release` if it is a release operation itself. After it, time
    /// goes on.
    pub fn handed(&mut self, warp: u32, lane: usize, place: Place, force: Force, release: bool) -> Handed {
        let mut handed = Handed::default();
        let (wide, in_cluster) = (force == Force::Wide, force >= Force::Cluster && self.size > 1);
        if release {
            let now = self.past(warp, 1 << lane);
            let in_cluster = in_cluster.then(|| now.clone());
            handed = Handed { wide: wide.then(|| now.clone()), cluster: in_cluster, near: Some(now) };
            let state = self.lane(warp, lane);
            state.released.retain(|(known, _)| *known != place);
            state.released.push((place, handed.clone()));
            self.step(warp);
            return handed;
        }
        let block = self.block;
        if self.warps[warp as usize].lanes.is_none() {
            return handed;
        }
        let state = self.lane(warp, lane);
        let make = |fenced: &mut Option<Fenced>| {
            let fenced = fenced.as_mut()?;
            let base = &fenced.base;
            let parts = [(warp, 1 << lane, fenced.time)];
            let past = || Past { known: base.known.with(block, parts.into_iter()), ..base.clone() };
            Some(fenced.made.get_or_insert_with(past).clone())
        };
        if wide {
            handed.wide = make(&mut state.wide);
        }
        if in_cluster {
            handed.cluster = make(&mut state.cluster);
        }
        handed.near = make(&mut state.near);
        if let Some((_, released)) = state.released.iter().find(|(known, _)| *known == place) {
            let released = released.clone();
            let Handed { wide: far, cluster, near } = released;
            handed.add(&Handed { wide: far.filter(|_| wide), cluster: cluster.filter(|_| in_cluster), near });
        }
        handed
    }

    /// A strong read by a lane found what was handed on there. `missed` was handed on in too narrow a scope.
    pub fn found(
        &mut self,
        warp: u32,
        lane: usize,
        place: Place,
        mut found: Handed,
        missed: Option<&Past>,
        acquire: bool,
    ) {
        if missed.is_some() {
            add(&mut self.lane(warp, lane).too_narrow, missed);
        }
        let known = |(known, _): &(Place, Handed)| *known == place;
        if acquire {
            // With what it read there before.
            if let Some(lanes) = &mut self.warps[warp as usize].lanes {
                let pending = &mut lanes[lane].pending;
                if let Some(before) = pending.iter().position(known) {
                    found.add(&pending.swap_remove(before).1);
                }
            }
            for past in [found.near, found.cluster, found.wide].into_iter().flatten() {
                self.acquire(warp, lane, &past);
            }
            return;
        }
        if found.is_empty() {
            return;
        }
        let pending = &mut self.lane(warp, lane).pending;
        match pending.iter().position(known) {
            Some(before) => pending[before].1.add(&found),
            None => pending.push((place, found)),
        }
    }

    /// Whether a thread of this block met what would have told it of an access, and what it lacked.
    pub fn lacks(&self, block: u32, warp: u32, lane: u32, time: u32) -> Option<Missing> {
        let knows = |past: &Past| past.known.unknown(block, warp, 1 << lane, time) == 0;
        let lanes = || self.warps.iter().flat_map(|warp| warp.lanes.iter().flat_map(|lanes| lanes.iter()));
        let pending = |lane: &Lane| lane.pending.iter().any(|(_, handed)| handed.each().any(knows));
        if lanes().any(|lane| lane.too_narrow.iter().any(knows)) {
            return Some(Missing::Scope);
        }
        lanes().any(pending).then_some(Missing::Acquire)
    }

    /// Whether any thread of this block fenced an access of it, for the block or (`wide`) for all.
    pub fn has_fenced(&self, warp: u32, lane: u32, time: u32, wide: bool) -> bool {
        let states = self.warps.iter().enumerate().flat_map(|(number, past)| {
            past.lanes.iter().flat_map(move |lanes| lanes.iter().enumerate().map(move |(n, lane)| (number, n, lane)))
        });
        states.into_iter().any(|(number, n, state)| {
            let fenced = if wide { &state.wide } else { &state.near };
            let by_fence = fenced.as_ref().is_some_and(|fenced| {
                let own = (number as u32, n as u32) == (warp, lane) && fenced.time >= time;
                own || fenced.base.known.unknown(self.block, warp, 1 << lane, time) == 0
            });
            by_fence
                || state.released.iter().any(|(_, handed)| {
                    let clock = if wide { &handed.wide } else { &handed.near };
                    clock.as_ref().is_some_and(|past| past.known.unknown(self.block, warp, 1 << lane, time) == 0)
                })
        })
    }
}
