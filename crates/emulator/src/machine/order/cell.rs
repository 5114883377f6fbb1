//! A cell of memory: the accesses that a later one may race with, and what was handed on by the writes there.

use std::rc::Rc;

use super::clock::{Clock, Past, Scoped};
use super::threads::{Handed, Judge, Threads, add};

/// Accesses that are kept of one cell. Forgetting the oldest convicts too little, never too much.
const MOST: usize = 48;
/// They are told apart by the bits of a number.
const _: () = assert!(FEW + MOST <= u64::BITS as usize);
/// Accesses for which there is room in the cell itself.
const FEW: usize = 2;
/// What `clusters::residency` says of memory rests on it.
const _: () = assert!(size_of::<Cell>() <= 64 && size_of::<Record>() <= 28);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// Reads and writes in one.
    Atomic,
}

/// How an access counts where both are strong: two of one extent that are in each other's scope do not race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Force {
    Weak,
    /// For the thread block.
    Near,
    /// For the cluster.
    Cluster,
    /// For the device.
    Wide,
}

/// An access by lanes of a warp to the same bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub block: u32,
    pub warp: u32,
    pub lanes: u32,
    /// The instruction.
    pub at: u32,
    pub kind: Kind,
    pub force: Force,
    /// How large its elements are. (Strong ones lie at multiples of that: those of one size and cell are the same.)
    pub extent: u8,
}

/// An access that was made. (Small: there is one for each cell at least.)
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    block: u32,
    lanes: u32,
    at: u32,
    time: u32,
    /// The row of atomic operations that it belongs to, each reading what the one before wrote, and its place there.
    chain: u32,
    place: u32,
    warp: u8,
    kind: Kind,
    force: Force,
    extent: u8,
}

impl Record {
    pub fn access(&self) -> Access {
        let Record { block, lanes, at, kind, force, extent, .. } = *self;
        Access { block, warp: self.warp.into(), lanes, at, kind, force, extent }
    }

    /// A plain access by lanes of a warp of a thread block.
    pub fn plain(kind: Kind, (block, warp, lanes): (u32, u8, u32), at: u32, time: u32) -> Record {
        Record { block, lanes, at, time, chain: 0, place: 0, warp, kind, force: Force::Weak, extent: 0 }
    }

    pub fn time(&self) -> u32 {
        self.time
    }

    pub fn writes(&self) -> bool {
        self.kind != Kind::Read
    }

    fn is_strong(&self) -> bool {
        self.force != Force::Weak
    }
}

/// See the module. Most cells are written once, and read by one warp.
#[derive(Debug, Default)]
pub(super) struct Cell {
    few: [Option<Record>; FEW],
    /// Present where there are others, or strong ones.
    more: Option<Box<More>>,
}

#[derive(Debug, Default)]
struct More {
    records: Vec<Record>,
    chain: u32,
    place: u32,
    handed: Option<Box<HandedHere>>,
}

/// What the present value's writer (and, of a row of atomics, those before it) handed on.
#[derive(Debug, Default)]
struct HandedHere {
    wide: Option<Past>,
    /// By number of the cluster.
    clusters: Vec<(u32, Past)>,
    near: Vec<(u32, Past)>,
    /// What lies before sequentially consistent fences before it.
    fenced: Vec<(u32, Scoped)>,
    fenced_wide: Rc<Clock>,
}

/// Two accesses that race: the earlier one, and one lane of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clash {
    pub before: Record,
    pub other: u32,
    pub lane: u32,
}

/// Whether a clash does no harm.
pub(crate) type Harmless<'a> = dyn FnMut(&Clash) -> bool + 'a;

impl Access {
    /// Whether two strong accesses name each other, where so many blocks are a cluster.
    fn is_mutual(&self, other: &Access, size: u32) -> bool {
        let meets = match self.force.min(other.force) {
            Force::Weak => false,
            Force::Near => self.block == other.block,
            Force::Cluster => self.block / size == other.block / size,
            Force::Wide => true,
        };
        self.extent == other.extent && meets
    }
}

impl Cell {
    /// One that a few plain accesses were made to.
    pub fn with(records: impl Iterator<Item = Record>) -> Cell {
        let mut cell = Cell::default();
        cell.few.iter_mut().zip(records).for_each(|(slot, record)| *slot = Some(record));
        cell
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        let more = self.more.as_ref().map_or(&[][..], |more| &more.records);
        self.few.iter().flatten().chain(more)
    }

    fn records_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        let more = self.more.as_mut().map_or(&mut [][..], |more| &mut more.records);
        self.few.iter_mut().flatten().chain(more)
    }

    fn retain(&mut self, mut keep: impl FnMut(&Record) -> bool) {
        for slot in &mut self.few {
            *slot = slot.filter(&mut keep);
        }
        if let Some(more) = &mut self.more {
            more.records.retain(|record| keep(record));
        }
    }

    /// The last write.
    pub fn is_written(&self) -> Option<&Record> {
        self.records().filter(|record| record.writes()).max_by_key(|record| (record.chain, record.place))
    }

    /// The accesses by which one of an agent may be doubtful: the last write behind which it reads, or the loads behind
    /// which it writes.
    pub fn doubtful(&self, now: Kind) -> impl Iterator<Item = &Record> {
        let write = self.is_written().filter(|_| now == Kind::Read);
        self.records().filter(move |record| now != Kind::Read && record.kind == Kind::Read).chain(write)
    }

    fn handed_here(&self) -> Option<&HandedHere> {
        self.more.as_ref()?.handed.as_deref()
    }

    /// Another value than one that follows from the one before.
    fn begin_chain(&mut self) {
        if let Some(more) = &mut self.more {
            (more.chain, more.place) = (more.chain + 1, 0);
            more.handed = None;
        }
    }

    /// A lane of `now`, and one of `before`, that nothing orders.
    fn unordered(&self, threads: &Threads, before: &Record, now: &Access) -> Option<(u32, u32)> {
        let (then, time) = (before.access(), before.time);
        let own_warp = then.block == now.block && then.warp == now.warp;
        let mut lanes = now.lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            let others = if own_warp { then.lanes & !(1 << lane) } else { then.lanes };
            let unknown = match others {
                0 => 0,
                _ => {
                    let base = threads.base(now.warp, lane as usize);
                    match base.known.unknown(then.block, then.warp, others, time) {
                        unknown if unknown != 0 && threads.will_be_over(then.kind, then.warp, now.kind) => {
                            base.over.unknown(then.block, then.warp, unknown, time)
                        }
                        unknown => unknown,
                    }
                }
            };
            if unknown != 0 && !self.was_observed(threads, before, now, lane) {
                return Some((lane, unknown.trailing_zeros()));
            }
            if !own_warp && threads.is_uniform(now.warp) {
                break;
            }
            lanes &= lanes - 1;
        }
        None
    }

    /// Whether a strong read that observed a strong write lies before the present access: then the write does, too.
    fn was_observed(&self, threads: &Threads, write: &Record, now: &Access, lane: u32) -> bool {
        // (No other write has its place in its row, and it is not known itself.)
        let saw = |read: &Record| {
            let mutual = || read.access().is_mutual(&write.access(), threads.size);
            read.chain == write.chain && read.place >= write.place && mutual()
        };
        write.writes() && self.records().any(|read| saw(read) && self.knows_any(threads, read, now, lane))
    }

    fn knows_any(&self, threads: &Threads, record: &Record, now: &Access, lane: u32) -> bool {
        let then = record.access();
        let own = then.block == now.block && then.warp == now.warp && then.lanes >> lane & 1 == 1;
        own || threads.base(now.warp, lane as usize).known.unknown(then.block, then.warp, then.lanes, record.time)
            != then.lanes
    }

    /// An earlier access that `now` races with. `harmless` says whether it does no harm that nothing orders the two.
    #[inline]
    pub fn clash(&self, judge: &Judge, now: &Access, harmless: &mut Harmless) -> Option<Clash> {
        let alone = now.lanes.is_power_of_two() || judge.threads.is_uniform(now.warp);
        let who = (now.warp, now.lanes.trailing_zeros());
        self.records().find_map(|before| {
            if before.kind == Kind::Read && now.kind == Kind::Read
                || alone && judge.knows_all(who, (before.block, before.warp.into()), before.time)
            {
                return None;
            }
            self.clash_with(before, judge.threads, now, harmless)
        })
    }

    /// The same with one of them.
    fn clash_with(&self, before: &Record, threads: &Threads, now: &Access, harmless: &mut Harmless) -> Option<Clash> {
        if before.access().is_mutual(now, threads.size) {
            return None;
        }
        let (lane, other) = self.unordered(threads, before, now)?;
        let clash = Clash { before: *before, other, lane };
        (!harmless(&clash)).then_some(clash)
    }

    /// The store whose value a strong load takes, where it is another thread's of the block and nothing orders the two.
    pub fn unordered_store(&self, judge: &Judge, now: &Access) -> Option<Clash> {
        let before = self.is_written()?;
        let theirs = before.access();
        if theirs.kind != Kind::Write || theirs.block != now.block {
            return None;
        }
        let (lane, other) = self.unordered(judge.threads, before, now)?;
        Some(Clash { before: *before, other, lane })
    }

    /// The store of another block that a thread's strong load and its strong store behind that, `now`, leave between them, or would have
    /// if it had come a little later: nothing but the load's own luck tells that it lies before.
    pub fn lost_update(&self, judge: &Judge, now: &Access) -> Option<Clash> {
        let lane = now.lanes.trailing_zeros();
        let own = |r: &Record| {
            (r.kind, r.block, u32::from(r.warp)) == (Kind::Read, now.block, now.warp) && r.lanes >> lane & 1 == 1
        };
        let before = self.is_written().filter(|write| write.kind == Kind::Write && write.block != now.block)?;
        let (then, known) = (before.access(), &judge.threads.base(now.warp, lane as usize).known);
        let unknown = known.unknown(then.block, then.warp, then.lanes, before.time);
        let is_update = unknown != 0 && self.records().any(own);
        is_update.then(|| Clash { before: *before, other: unknown.trailing_zeros(), lane })
    }

    /// Keeps an access that races with none.
    #[inline]
    pub fn keep(&mut self, threads: &Threads, now: Access) {
        let time = threads.time(now.warp);
        if now.force != Force::Weak || now.kind == Kind::Atomic {
            return self.keep_strong(threads, now, time);
        }
        if now.kind == Kind::Read {
            let plain = |r: &Record| r.kind == Kind::Read && !r.is_strong();
            let again =
                |r: &&mut Record| plain(r) && (r.block, u32::from(r.warp), r.time) == (now.block, now.warp, time);
            for record in self.records_mut().filter(again) {
                if now.lanes & !record.lanes == 0 {
                    return;
                }
                // Of a lane that reads no more, the instruction by which it did is kept.
                if record.at == now.at || record.lanes & !now.lanes == 0 {
                    (record.lanes, record.at) = (record.lanes | now.lanes, now.at);
                    return;
                }
            }
            self.forget(|cell, r| plain(r) && cell.unordered(threads, r, &now).is_none());
        } else {
            self.clear();
        }
        self.push(now, time);
    }

    /// Before a plain write: whoever races with what was here races with it.
    fn clear(&mut self) {
        self.few = [None; FEW];
        if let Some(more) = &mut self.more {
            more.records.clear();
        }
        self.begin_chain();
    }

    fn keep_strong(&mut self, threads: &Threads, now: Access, time: u32) {
        let more = self.more.get_or_insert_default();
        let (chain, place) = (more.chain, more.place);
        match now.kind {
            Kind::Write => {
                self.forget_before(threads, &now);
                self.begin_chain();
            }
            Kind::Atomic => {
                self.forget_before(threads, &now);
                // It observed the writes of its row: what comes after it comes after them.
                let seen = |r: &Record| r.writes() && r.chain == chain && r.access().is_mutual(&now, threads.size);
                self.retain(|record| !seen(record) || record.force != now.force);
                if let Some(more) = &mut self.more {
                    more.place += 1;
                }
            }
            Kind::Read => self.retain(|record| {
                let again = record.kind == Kind::Read
                    && record.force == now.force
                    && record.extent == now.extent
                    && (record.block, u32::from(record.warp), record.lanes) == (now.block, now.warp, now.lanes)
                    && record.time == time;
                !(again && record.chain == chain && record.place <= place)
            }),
        }
        self.push(now, time);
    }

    /// Keeps a plain access of an agent that races with none.
    pub fn keep_of_agent(&mut self, now: Access, time: u32) {
        if now.kind == Kind::Atomic {
            let own = |r: &Record| (r.block, u32::from(r.warp), r.lanes) == (now.block, now.warp, now.lanes);
            self.retain(|record| !(record.kind == Kind::Atomic && own(record) && record.at == now.at));
            // (Who read before it has not seen it.)
            if let Some(more) = &mut self.more {
                more.place += 1;
            }
        } else if now.kind == Kind::Read {
            let own = |r: &Record| (r.block, u32::from(r.warp), r.lanes) == (now.block, now.warp, now.lanes);
            self.retain(|record| !(record.kind == Kind::Read && own(record)));
        } else {
            self.clear();
        }
        self.push(now, time);
    }

    fn push(&mut self, now: Access, time: u32) {
        let (chain, place) = self.more.as_ref().map_or((0, 0), |more| (more.chain, more.place));
        let Access { block, warp, lanes, at, kind, force, extent } = now;
        let record = Record { block, lanes, at, time, chain, place, warp: warp as u8, kind, force, extent };
        if let Some(free) = self.few.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(record);
            return;
        }
        let more = self.more.get_or_insert_default();
        more.records.push(record);
        if more.records.len() > MOST {
            let first = more.records.remove(0);
            if first.kind == Kind::Read && first.is_strong() {
                // What it observed would count as unordered.
                let seen = |r: &Record| r.writes() && r.is_strong() && r.chain == first.chain && r.place <= first.place;
                self.retain(|record| !seen(record));
            }
        }
    }

    /// Forgets the records for which `known` holds, all of them judged before the first is gone.
    fn forget(&mut self, known: impl Fn(&Cell, &Record) -> bool) {
        let gone = |n: usize, record: &Record| u64::from(known(self, record)) << n;
        let gone = self.records().enumerate().fold(0, |all, (n, record)| all | gone(n, record));
        if gone != 0 {
            let mut numbers = 0..;
            self.retain(|_| numbers.next().is_some_and(|n: u32| gone >> n & 1 == 0));
        }
    }

    /// Forgets the strong accesses of the same kind that lie before a strong write.
    fn forget_before(&mut self, threads: &Threads, now: &Access) {
        self.forget(|cell, r| {
            let alike = r.is_strong() && r.force == now.force && r.extent == now.extent;
            alike && cell.unordered(threads, r, now).is_none()
        });
    }

    /// What a strong access of thread block `block`, of a cluster of so many, finds handed on here, and what is in too
    /// narrow a scope for it.
    pub fn found(&self, (block, size): (u32, u32), force: Force) -> (Handed, Option<&Past>) {
        let Some(here) = self.handed_here() else { return (Handed::default(), None) };
        let near = here.near.iter().rfind(|(number, _)| *number == block).map(|(_, past)| past.clone());
        let wide = here.wide.clone().filter(|_| force == Force::Wide);
        let own = |(number, _): &&(u32, Past)| *number == block / size && force >= Force::Cluster;
        let cluster = here.clusters.iter().rfind(own).map(|(_, past)| past.clone());
        let none = wide.is_none() && cluster.is_none();
        let missed = here.near.iter().rfind(|(number, _)| *number != block && none);
        (Handed { wide, cluster, near }, missed.map(|(_, past)| past))
    }

    /// What lies before the sequentially consistent fences that lie before the present value, for thread block `block`.
    pub fn fenced(&self, block: u32, force: Force) -> Option<Scoped> {
        let here = self.handed_here()?;
        let near = here.fenced.iter().rfind(|(number, _)| *number == block).map(|(_, fenced)| fenced.near.clone());
        let wide = Some(here.fenced_wide.clone()).filter(|wide| force >= Force::Cluster && !wide.is_empty());
        let some = near.is_some() || wide.is_some();
        some.then(|| Scoped { near: near.unwrap_or_default(), wide: wide.unwrap_or_default() })
    }

    /// A strong write of thread block `block` hands this on, in addition to what its row handed on before.
    pub fn hand_on(&mut self, (block, size): (u32, u32), handed: &Handed, fenced: &Scoped, force: Force) {
        if handed.is_empty() && fenced.near.is_empty() {
            return;
        }
        let here = self.more.get_or_insert_default().handed.get_or_insert_default();
        add(&mut here.wide, handed.wide.as_ref());
        if let Some(past) = &handed.cluster {
            match here.clusters.iter_mut().rfind(|(number, _)| *number == block / size) {
                Some((_, known)) => *known = known.join(past),
                None => here.clusters.push((block / size, past.clone())),
            }
        }
        if let Some(near) = &handed.near {
            match here.near.iter_mut().rfind(|(number, _)| *number == block) {
                Some((_, past)) => *past = past.join(near),
                None => here.near.push((block, near.clone())),
            }
        }
        if fenced.near.is_empty() {
            return;
        }
        if force == Force::Wide || force == Force::Cluster && size > 1 {
            here.fenced_wide = Clock::join(&here.fenced_wide, &fenced.wide);
        }
        match here.fenced.iter_mut().rfind(|(number, _)| *number == block) {
            Some((_, known)) => *known = known.join(fenced),
            None => here.fenced.push((block, fenced.clone())),
        }
    }
}

#[cfg(test)]
mod tests;

impl Kind {
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Kind::Read => "load",
            Kind::Write => "store",
            Kind::Atomic => "atomic",
        }
    }
}
