//! The order of threads: which accesses lie before which, by the memory consistency model of PTX, whatever the schedule was.
//!
//! Every thread has a vector clock (`clock`). Barriers join those of the threads that take part, and of no others; a fence,
//! or a release, hands a thread's clock on through the strong writes behind it, and a strong read with an acquire, or a fence
//! behind it, takes it over, where both scopes have room for both threads (`threads`). For every cell of memory the
//! accesses are kept that a later one may race with (`cell`), or for several at once (`line`).
//!
//! It is made for kernels that order their threads by more than whole barriers. For the others, stamps say the
//! same, and quicker: see `crate::stamp`. It is below all other folders of the machine, and imports none of them.

mod agents;
mod cell;
mod clock;
mod cluster;
mod line;
mod threads;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use agents::Phases;
pub(crate) use agents::{Agent, Conflict, Doubts, Then};
use cell::Cell;
pub(crate) use cell::{Access, Clash, Force, Harmless, Kind, Record};
use clock::Past;
use line::Line;
pub(crate) use line::{LINE, Side};
pub(crate) use threads::Missing;
use threads::{Judge, Threads};

use crate::machine::lanes::each;
use crate::program::{self, Order, Program, Scope};

/// A cell of memory: of a buffer, or of a thread block's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// A buffer; none for shared memory, which a thread block owns.
    buffer: Option<u32>,
    owner: u32,
    cell: u32,
}

/// Lines of a page.
const PAGE: usize = 1 << 6;
/// Thread blocks that have ended and are still asked what they fenced, for messages.
const REMEMBERED: usize = 64;

type Pages = Vec<Option<Box<[Line]>>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// Whether shared, and whether global memory is watched by it.
    pub shared: bool,
    pub global: bool,
    nothing: Past,
    /// Warps of a thread block, and blocks of a cluster.
    warps: u32,
    size: u32,
    /// The thread block that runs, and those that are put aside.
    present: Block,
    aside: HashMap<u32, Block>,
    ended: VecDeque<(u32, Threads)>,
    /// By number.
    buffers: Vec<Pages>,
    /// The barriers of clusters, by number.
    clusters: HashMap<u32, Phases>,
    /// The thread that asked an agent of a block for what an instruction does to global memory, and its block.
    askers: HashMap<(u32, u32, u32), (u64, u32)>,
}

/// A thread block: what its threads know, and its shared memory.
#[derive(Debug)]
struct Block {
    number: u32,
    threads: Threads,
    shared: Pages,
}

/// The number of no thread block.
const NOBODY: u32 = u32::MAX;

impl Block {
    fn new(number: u32, (warps, size): (u32, u32), nothing: &Past) -> Block {
        Block { number, threads: Threads::new(number, (warps, size), nothing), shared: Vec::new() }
    }
}

/// Memory as the thread block sees it that runs: a buffer, or its shared memory.
pub(crate) struct View<'a> {
    judge: Judge<'a>,
    pages: Option<&'a Pages>,
}

impl View<'_> {
    fn cell(&self, cell: u32) -> Option<&Cell> {
        cell_of(self.pages?, cell)
    }

    /// An earlier access to a cell that one races with. See `Cell::clash`.
    #[inline]
    pub fn clash(&self, cell: u32, now: &Access, harmless: &mut Harmless) -> Option<Clash> {
        self.cell(cell)?.clash(&self.judge, now, harmless)
    }

    /// See `Cell::unordered_store`.
    pub fn unordered_store(&self, cell: u32, now: &Access) -> Option<Clash> {
        self.cell(cell)?.unordered_store(&self.judge, now)
    }

    /// See `Cell::lost_update`.
    pub fn lost_update(&self, cell: u32, now: &Access) -> Option<Clash> {
        self.cell(cell)?.lost_update(&self.judge, now)
    }

    /// The last write to a cell in this launch.
    pub fn written(&self, cell: u32) -> Option<Record> {
        self.cell(cell)?.is_written().copied()
    }
}

fn cell_of(pages: &Pages, cell: u32) -> Option<&Cell> {
    let (line, n) = (cell as usize / LINE, cell as usize % LINE);
    pages.get(line / PAGE)?.as_ref()?[line % PAGE].cells().get(n)
}

fn line_in(pages: &mut Pages, line: u32) -> &mut Line {
    let (page, n) = (line as usize / PAGE, line as usize % PAGE);
    if pages.len() <= page {
        pages.resize_with(page + 1, || None);
    }
    &mut pages[page].get_or_insert_with(|| (0..PAGE).map(|_| Line::default()).collect())[n]
}

fn cell_in(pages: &mut Pages, cell: u32) -> &mut Cell {
    &mut line_in(pages, cell / LINE as u32).open()[cell as usize % LINE]
}

impl Clocks {
    /// What a launch of the program in blocks of so many warps, and clusters of so many blocks, needs; nothing
    /// where stamps will do. `thorough` asks for all of it.
    pub fn new(program: &Program, warps: u32, size: u32, thorough: bool) -> Option<Box<Clocks>> {
        let (shared, global) = (program.needs.shared || thorough, program.needs.global || thorough);
        (shared || global).then(|| {
            let nothing = Past::default();
            let present = Block::new(NOBODY, (0, size), &nothing);
            let (aside, ended, buffers, clusters) = (HashMap::new(), VecDeque::new(), Vec::new(), HashMap::new());
            let askers = HashMap::new();
            Box::new(Clocks { shared, global, nothing, warps, size, present, aside, ended, buffers, clusters, askers })
        })
    }

    /// A thread block has ended.
    pub fn end(&mut self, block: u32) {
        let found = match self.present.number == block {
            true => Some(std::mem::replace(&mut self.present, Block::new(NOBODY, (0, self.size), &self.nothing))),
            false => self.aside.remove(&block),
        };
        if let Some(Block { threads, .. }) = found {
            if self.ended.len() == REMEMBERED {
                self.ended.pop_front();
            }
            self.ended.push_back((block, threads));
        }
    }

    /// Thread blocks that have started and not ended, as far as they came to do something.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.aside.len() + usize::from(self.present.number != NOBODY)
    }

    /// A thread block is about to do something.
    #[inline]
    pub fn enter(&mut self, block: u32) {
        if self.present.number != block {
            self.change(block);
        }
    }

    #[cold]
    fn change(&mut self, block: u32) {
        let next =
            self.aside.remove(&block).unwrap_or_else(|| Block::new(block, (self.warps, self.size), &self.nothing));
        let last = std::mem::replace(&mut self.present, next);
        if last.number != NOBODY {
            self.aside.insert(last.number, last);
        }
    }

    fn threads(&mut self, block: u32) -> &mut Threads {
        self.enter(block);
        &mut self.present.threads
    }

    pub fn fence(&mut self, block: u32, warp: u32, lanes: u32, order: Order, scope: Scope) {
        self.threads(block).fence(warp, lanes, order, scope);
    }

    /// Lanes of a warp meet at a barrier of theirs, among them those that have ended; `live` have not.
    pub fn warp_barrier(&mut self, block: u32, warp: u32, lanes: u32, live: u32) {
        self.threads(block).warp_barrier(warp, lanes, live);
    }

    /// Lanes of a warp arrive at barrier `id`, to wait there or not.
    pub fn arrive(&mut self, block: u32, id: u32, warp: u32, lanes: u32) {
        self.threads(block).arrive(id, warp, lanes);
    }

    /// Barrier `id`, which is for all threads or for some, lets go the lanes that wait there, by warp. Threads that have `ended`
    /// count as arrived.
    pub fn complete(
        &mut self,
        block: u32,
        id: (u32, bool),
        waiting: &[(u32, u32)],
        ended: &[(u32, u32)],
        live: impl Fn(u32) -> u32,
    ) {
        self.threads(block).complete(id, waiting, ended, live);
    }

    /// A warp that used barrier `id` before, in the phase that was complete last, where nothing orders these lanes behind that.
    pub fn unmet(&mut self, block: u32, id: u32, warp: u32, lanes: u32) -> Option<u32> {
        self.threads(block).unmet(id, warp, lanes)
    }

    /// A buffer, or without one shared memory, as the thread block sees it that runs: the cells that are open.
    pub fn view(&self, buffer: Option<u32>) -> View<'_> {
        let pages = match buffer {
            Some(buffer) => self.buffers.get(buffer as usize),
            None => Some(&self.present.shared),
        };
        View { judge: Judge::new(&self.present.threads), pages }
    }

    /// What the thread block that runs knows, and the memory that it accesses.
    fn at(&mut self, buffer: Option<u32>) -> (&mut Threads, &mut Pages) {
        let Block { threads, shared, .. } = &mut self.present;
        let Some(buffer) = buffer.map(|buffer| buffer as usize) else { return (threads, shared) };
        if self.buffers.len() <= buffer {
            self.buffers.resize_with(buffer + 1, Vec::new);
        }
        (threads, &mut self.buffers[buffer])
    }

    /// Checks and keeps a plain access to whole lines, as far as that is simple: gives the lanes of which it was.
    pub fn keep_lines(&mut self, buffer: Option<u32>, lines: &[(u32, Side)], now: &Access) -> u32 {
        let (threads, pages) = self.at(buffer);
        let judge = Judge::new(threads);
        let kept = lines.iter().filter(|(line, side)| line_in(pages, *line).keep(&judge, now, *side));
        kept.flat_map(|(_, side)| side.lanes()).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// Makes ready to look at cells one by one.
    pub fn open(&mut self, buffer: Option<u32>, cells: Range<u32>) {
        let (_, pages) = self.at(buffer);
        for line in cells.start / LINE as u32..cells.end.div_ceil(LINE as u32) {
            line_in(pages, line).open();
        }
    }

    /// Keeps an access that races with none.
    pub fn keep(&mut self, buffer: Option<u32>, cells: Range<u32>, order: Order, now: Access) {
        let (threads, pages) = self.at(buffer);
        for number in cells {
            let cell = cell_in(pages, number);
            match order {
                Order::Weak => cell.keep(threads, now),
                _ => {
                    let owner = if buffer.is_none() { threads.owner } else { 0 };
                    keep_strong(threads, cell, Place { buffer, owner, cell: number }, now, order);
                }
            }
        }
    }

    /// Why the two of a clash are not ordered, as far as it can be told.
    pub fn missing(&self, clash: &Clash, now: &Access) -> Missing {
        let (then, time) = (clash.before.access(), clash.before.time());
        let ended = |block: u32| self.ended.iter().find(|(number, _)| *number == block).map(|(_, threads)| threads);
        let of = |block: u32| match self.present.number == block {
            true => Some(&self.present.threads),
            false => self.aside.get(&block).map(|block| &block.threads).or_else(|| ended(block)),
        };
        let over = &self.present.threads.base(now.warp, clash.lane as usize).over;
        if then.block != now.block && over.unknown(then.block, then.warp, 1 << clash.other, time) == 0 {
            return Missing::Order;
        }
        if then.block != now.block && (then.force == Force::Weak) != (now.force == Force::Weak) {
            return Missing::Strength;
        }
        if then.block != now.block && now.force != Force::Weak {
            return Missing::Scope;
        }
        if then.kind == Kind::Read {
            return Missing::Everything;
        }
        let lacks = |threads: &Threads| threads.lacks(then.block, then.warp, clash.other, time);
        if let Some(missing) = of(now.block).and_then(lacks) {
            return missing;
        }
        match of(then.block) {
            Some(theirs) if then.block != now.block => {
                match [true, false].map(|wide| theirs.has_fenced(then.warp, clash.other, time, wide)) {
                    [true, _] => Missing::Everything,
                    [false, true] => Missing::Scope,
                    [false, false] => Missing::Release,
                }
            }
            _ => Missing::Everything,
        }
    }
}

/// Keeps a strong access, and lets it hand on and take over what its order says.
fn keep_strong(threads: &mut Threads, cell: &mut Cell, place: Place, now: Access, order: Order) {
    let acquire = matches!(order, Order::Acquire | Order::AcqRel);
    let release = matches!(order, Order::Release | Order::AcqRel);
    if now.kind != Kind::Write {
        let (found, missed) = cell.found((now.block, threads.size), now.force);
        let fenced = cell.fenced(now.block, now.force);
        for lane in each(now.lanes) {
            threads.found(now.warp, lane, place, found.clone(), missed, acquire);
            fenced.iter().for_each(|fenced| threads.saw(now.warp, lane, fenced));
        }
    }
    cell.keep(threads, now);
    if now.kind != Kind::Read {
        for lane in each(now.lanes) {
            let fenced = threads.base(now.warp, lane).fenced.clone();
            let handed = threads.handed(now.warp, lane, place, now.force, release);
            cell.hand_on((now.block, threads.size), &handed, &fenced, now.force);
        }
    }
}

/// How an access counts.
pub(crate) fn force(access: &program::Access) -> Force {
    match (access.order, access.scope) {
        (Order::Weak, _) => Force::Weak,
        (_, scope) if scope >= Scope::Gpu => Force::Wide,
        (_, Scope::Cluster) => Force::Cluster,
        _ => Force::Near,
    }
}
