//! The order of threads: which accesses lie before which, by the memory consistency model of PTX, whatever the schedule was.
//!
//! Every thread has a vector clock (`clock`). Barriers join those of the threads that take part, and of no others; a fence,
//! or a release, hands a thread's clock on through the strong writes behind it, and a strong read with an acquire, or a fence
//! behind it, takes it over, where both scopes have room for both threads (`threads`). For every cell of memory the
//! accesses are kept that a later one may race with (`cell`).
//!
//! It is made for kernels that order their threads by more than whole barriers. For the others, stamps say the
//! same, and quicker: see `race`.

mod cell;
mod clock;
mod threads;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use cell::Cell;
pub(super) use cell::{Access, Clash, Force, Kind, Record};
use clock::Past;
pub(super) use threads::Missing;
use threads::Threads;

use super::lanes::each;
use crate::program::{self, Order, Program, Scope};

/// A cell of memory: of a buffer, or of a thread block's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// A buffer; none for shared memory.
    pub buffer: Option<u32>,
    pub cell: u32,
}

/// Cells of a page.
const PAGE: usize = 1 << 10;
/// Thread blocks that have ended and are still asked what they fenced, for messages.
const REMEMBERED: usize = 64;

type Pages = Vec<Option<Box<[Cell]>>>;

/// See the module.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Whether shared, and whether global memory is watched by it.
    pub shared: bool,
    pub global: bool,
    nothing: Past,
    warps: u32,
    blocks: HashMap<u32, (Threads, Pages), BuildHasherDefault<Spread>>,
    ended: Vec<(u32, Threads)>,
    /// By number.
    buffers: Vec<Pages>,
}

/// Hashes the number of a thread block, once for each access.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn cell_of(pages: &Pages, cell: u32) -> Option<&Cell> {
    pages.get(cell as usize / PAGE)?.as_ref().map(|page| &page[cell as usize % PAGE])
}

fn cell_in(pages: &mut Pages, cell: u32) -> &mut Cell {
    let page = cell as usize / PAGE;
    if pages.len() <= page {
        pages.resize_with(page + 1, || None);
    }
    &mut pages[page].get_or_insert_with(|| (0..PAGE).map(|_| Cell::default()).collect())[cell as usize % PAGE]
}

impl Clocks {
    /// What a launch of the program in blocks of so many warps needs; nothing where stamps will do. `thorough` asks for
    /// all of it.
    pub fn new(program: &Program, warps: u32, thorough: bool) -> Option<Box<Clocks>> {
        let (shared, global) = (program.needs.shared || thorough, program.needs.global || thorough);
        (shared || global).then(|| {
            let (blocks, buffers) = (HashMap::default(), Vec::new());
            Box::new(Clocks { shared, global, nothing: Past::default(), warps, blocks, ended: Vec::new(), buffers })
        })
    }

    /// A thread block has ended.
    pub fn end(&mut self, block: u32) {
        if let Some((threads, _)) = self.blocks.remove(&block) {
            if self.ended.len() == REMEMBERED {
                self.ended.remove(0);
            }
            self.ended.push((block, threads));
        }
    }

    /// A thread block is about to access something.
    pub fn enter(&mut self, block: u32) {
        self.threads(block);
    }

    fn threads(&mut self, block: u32) -> &mut Threads {
        let (nothing, warps) = (&self.nothing, self.warps);
        &mut self.blocks.entry(block).or_insert_with(|| (Threads::new(block, warps, nothing), Vec::new())).0
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

    /// Barrier `id` lets go the lanes that wait there, by warp. Threads that have `ended` count as arrived.
    pub fn complete(
        &mut self,
        block: u32,
        id: u32,
        waiting: &[(u32, u32)],
        ended: &[(u32, u32)],
        live: impl Fn(u32) -> u32,
    ) {
        self.threads(block).complete(id, waiting, ended, live);
    }

    fn cell(&self, block: u32, place: Place) -> Option<&Cell> {
        match place.buffer {
            Some(buffer) => cell_of(self.buffers.get(buffer as usize)?, place.cell),
            None => cell_of(&self.blocks.get(&block)?.1, place.cell),
        }
    }

    /// An earlier access to the place that one races with. `same` says whether a write changes nothing there.
    pub fn clash(&self, place: Place, now: &Access, same: &mut dyn FnMut() -> bool) -> Option<Clash> {
        let threads = &self.blocks.get(&now.block)?.0;
        self.cell(now.block, place)?.clash(threads, now, same)
    }

    /// See `Cell::unordered_store`.
    pub fn unordered_store(&self, place: Place, now: &Access) -> Option<Clash> {
        let threads = &self.blocks.get(&now.block)?.0;
        self.cell(now.block, place)?.unordered_store(threads, now)
    }

    /// The last write to a place in this launch.
    pub fn written(&self, place: Place, block: u32) -> Option<Record> {
        self.cell(block, place)?.is_written().copied()
    }

    /// Keeps an access that races with none, and lets it hand on and take over what its strength says.
    pub fn keep(&mut self, place: Place, now: Access, order: Order) {
        let block = self.blocks.entry(now.block);
        let (nothing, warps) = (&self.nothing, self.warps);
        let (threads, shared) = block.or_insert_with(|| (Threads::new(now.block, warps, nothing), Vec::new()));
        let pages = match place.buffer {
            Some(buffer) => {
                let buffer = buffer as usize;
                if self.buffers.len() <= buffer {
                    self.buffers.resize_with(buffer + 1, Vec::new);
                }
                &mut self.buffers[buffer]
            }
            None => shared,
        };
        let cell = cell_in(pages, place.cell);
        if order == Order::Weak {
            cell.keep(threads, now);
            return;
        }
        let acquire = matches!(order, Order::Acquire | Order::AcqRel);
        let release = matches!(order, Order::Release | Order::AcqRel);
        if now.kind != Kind::Write {
            let (found, missed) = cell.found(now.block, now.force);
            let fenced = cell.fenced(now.block, now.force);
            for lane in each(now.lanes) {
                threads.found(now.warp, lane, place, found.clone(), missed, acquire);
                fenced.iter().for_each(|fenced| threads.saw(now.warp, lane, fenced));
            }
        }
        cell.keep(threads, now);
        if now.kind != Kind::Read {
            for lane in each(now.lanes) {
                let wide = now.force == Force::Wide;
                let fenced = threads.base(now.warp, lane).fenced.clone();
                let handed = threads.handed(now.warp, lane, place, wide, release);
                cell.hand_on(now.block, &handed, &fenced, now.force);
            }
        }
    }

    /// Why the two of a clash are not ordered, as far as it can be told.
    pub fn missing(&self, clash: &Clash, now: &Access) -> Missing {
        let (then, time) = (clash.before.access(), clash.before.time());
        let ended = |block: u32| self.ended.iter().find(|(number, _)| *number == block).map(|(_, threads)| threads);
        let of = |block: u32| self.blocks.get(&block).map(|(threads, _)| threads).or_else(|| ended(block));
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

/// How an access counts.
pub(super) fn force(access: &program::Access) -> Force {
    match (access.order, access.scope) {
        (Order::Weak, _) => Force::Weak,
        (_, scope) if scope >= Scope::Gpu => Force::Wide,
        _ => Force::Near,
    }
}
