//! Vector clocks: how much of every thread's past a thread knows to lie before it.
//!
//! Time passes warp by warp: a number that goes up whenever a lane of the warp hands its past on. A clock says for each lane
//! up to which time its accesses are known. Clocks never change once they are made, so that threads share them.

use std::rc::Rc;

use crate::machine::lanes::{LANES, each};
use crate::program::Fenced;

/// See the module: by thread block, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    blocks: Vec<(u32, Rc<BlockTimes>)>,
}

/// By warp; warps beyond the end are not known at all.
#[derive(Debug, Clone, Default, PartialEq)]
struct BlockTimes {
    warps: Vec<WarpTimes>,
}

#[derive(Debug, Clone, PartialEq)]
enum WarpTimes {
    All(u32),
    Each(Box<[u32; LANES]>),
}

impl WarpTimes {
    fn of(&self, lane: usize) -> u32 {
        match self {
            WarpTimes::All(time) => *time,
            WarpTimes::Each(times) => times[lane],
        }
    }

    fn each(&self) -> [u32; LANES] {
        std::array::from_fn(|lane| self.of(lane))
    }

    /// The lanes' times, kept as one number where they are equal.
    fn from(times: [u32; LANES]) -> WarpTimes {
        match times.iter().all(|time| *time == times[0]) {
            true => WarpTimes::All(times[0]),
            false => WarpTimes::Each(Box::new(times)),
        }
    }

    fn join(&mut self, other: &WarpTimes) {
        match (&mut *self, other) {
            (WarpTimes::All(mine), WarpTimes::All(other)) => *mine = (*mine).max(*other),
            _ => *self = WarpTimes::from(std::array::from_fn(|lane| self.of(lane).max(other.of(lane)))),
        }
    }

    fn covers(&self, other: &WarpTimes) -> bool {
        match (self, other) {
            (WarpTimes::All(mine), WarpTimes::All(other)) => mine >= other,
            _ => (0..LANES).all(|lane| self.of(lane) >= other.of(lane)),
        }
    }
}

impl BlockTimes {
    fn covers(&self, other: &BlockTimes) -> bool {
        self.warps.len() >= other.warps.len() && self.warps.iter().zip(&other.warps).all(|(a, b)| a.covers(b))
    }

    fn join(&mut self, other: &BlockTimes) {
        for (mine, other) in self.warps.iter_mut().zip(&other.warps) {
            mine.join(other);
        }
        let known = self.warps.len().min(other.warps.len());
        self.warps.extend_from_slice(&other.warps[known..]);
    }
}

impl Clock {
    fn of_block(&self, block: u32) -> Option<&Rc<BlockTimes>> {
        let found = match self.blocks.as_slice() {
            [only] => (only.0 == block).then_some(0),
            blocks => blocks.binary_search_by_key(&block, |(number, _)| *number).ok(),
        };
        Some(&self.blocks[found?].1)
    }

    /// Those of `lanes` whose accesses at `time` are not known here.
    #[inline]
    pub fn unknown(&self, block: u32, warp: u32, lanes: u32, time: u32) -> u32 {
        match self.of_block(block).and_then(|times| times.warps.get(warp as usize)) {
            None => lanes,
            Some(WarpTimes::All(known)) => {
                if *known >= time {
                    0
                } else {
                    lanes
                }
            }
            Some(WarpTimes::Each(known)) => {
                each(lanes).filter(|lane| known[*lane] < time).fold(0, |on, lane| on | 1 << lane)
            }
        }
    }

    /// Up to which time all accesses of a warp are known here.
    pub fn known_until(&self, block: u32, warp: u32) -> u32 {
        match self.of_block(block).and_then(|times| times.warps.get(warp as usize)) {
            None => 0,
            Some(WarpTimes::All(known)) => *known,
            Some(WarpTimes::Each(known)) => known.iter().copied().min().unwrap_or_default(),
        }
    }

    /// Whether anything of a thread block is known: that it has started, at least.
    pub fn has(&self, block: u32) -> bool {
        self.of_block(block).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn covers(&self, other: &Clock) -> bool {
        other.blocks.iter().all(|(block, theirs)| {
            self.of_block(*block).is_some_and(|mine| Rc::ptr_eq(mine, theirs) || mine.covers(theirs))
        })
    }

    /// What either of two clocks knows.
    pub fn join(a: &Rc<Clock>, b: &Rc<Clock>) -> Rc<Clock> {
        if Rc::ptr_eq(a, b) || a.covers(b) {
            return a.clone();
        }
        if b.covers(a) {
            return b.clone();
        }
        let mut blocks = Vec::with_capacity(a.blocks.len() + b.blocks.len());
        let (mut mine, mut theirs) = (a.blocks.iter().peekable(), b.blocks.iter().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let mut times = (*a.1).clone();
                    times.join(&b.1);
                    let joined = (a.0, Rc::new(times));
                    mine.next();
                    theirs.next();
                    joined
                }
                (Some(a), b) if b.is_none_or(|b| a.0 < b.0) => mine.next().cloned().unwrap_or_default(),
                (_, Some(_)) => theirs.next().cloned().unwrap_or_default(),
                (None, None) | (Some(_), None) => return Rc::new(Clock { blocks }),
            };
            blocks.push(next);
        }
    }

    /// The clock that knows these lanes' accesses up to `time` as well.
    pub fn with(self: &Rc<Clock>, block: u32, parts: impl Iterator<Item = (u32, u32, u32)>) -> Rc<Clock> {
        let mut blocks = self.blocks.clone();
        let at = match blocks.binary_search_by_key(&block, |(number, _)| *number) {
            Ok(at) => at,
            Err(at) => {
                blocks.insert(at, (block, Rc::default()));
                at
            }
        };
        let warps = &mut Rc::make_mut(&mut blocks[at].1).warps;
        for (warp, lanes, time) in parts {
            let warp = warp as usize;
            if warps.len() <= warp {
                warps.resize(warp + 1, WarpTimes::All(0));
            }
            if lanes == u32::MAX {
                warps[warp].join(&WarpTimes::All(time));
            } else {
                let mut times = warps[warp].each();
                each(lanes).for_each(|lane| times[lane] = times[lane].max(time));
                warps[warp] = WarpTimes::from(times);
            }
        }
        Rc::new(Clock { blocks })
    }
}

/// What a thread knows. Beside the accesses that lie before it, for sequentially consistent fences: those of
/// two threads are in one order for all, and what is seen between them may tell in which.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    /// What lies before.
    pub known: Rc<Clock>,
    /// What lies before the fences that lie before.
    pub fenced: Scoped,
    /// What lies before fences that come before its own next one, because it saw a write behind them.
    pub seen: Scoped,
    /// What proxy fences lie behind.
    pub proxied: Rc<Proxied>,
    /// What was over before, though its writes may not be seen: what read has read.
    pub over: Rc<Clock>,
    /// What lies before fences for `mbarrier.init` that lie before: those barriers have begun.
    pub begun: Rc<Clock>,
}

/// What lies before the proxy fences that lie before. (In one, because most kernels have none: they pay for one pointer.)
#[derive(Debug, Default)]
pub(crate) struct Proxied {
    /// Whatever thread executed the fence: bulk copies see it.
    pub any: Rc<Clock>,
    /// What threads did before proxy fences of their own.
    pub own: Rc<Clock>,
    /// What was over, though its writes may not be seen: what read has read.
    pub over: Rc<Clock>,
    /// As `any`, before fences for global memory.
    pub global: Rc<Clock>,
}

impl Proxied {
    pub fn join(a: &Rc<Proxied>, b: &Rc<Proxied>) -> Rc<Proxied> {
        if Rc::ptr_eq(a, b) {
            return a.clone();
        }
        let joined = Proxied {
            any: Clock::join(&a.any, &b.any),
            own: Clock::join(&a.own, &b.own),
            over: Clock::join(&a.over, &b.over),
            global: Clock::join(&a.global, &b.global),
        };
        let is = |other: &Rc<Proxied>| {
            let pairs = [
                (&joined.any, &other.any),
                (&joined.own, &other.own),
                (&joined.over, &other.over),
                (&joined.global, &other.global),
            ];
            pairs.into_iter().all(|(a, b)| Rc::ptr_eq(a, b))
        };
        match (is(a), is(b)) {
            (true, _) => a.clone(),
            (_, true) => b.clone(),
            _ => Rc::new(joined),
        }
    }
}

impl Past {
    /// The same behind a proxy fence of lanes of a warp, which they execute at a time and know so much then.
    pub fn fenced_for_proxies(
        &self,
        known: &Rc<Clock>,
        (block, warp, lanes, time): (u32, u32, u32, u32),
        fenced: Fenced,
    ) -> Past {
        let before = &self.proxied;
        let mut after = Proxied {
            any: before.any.clone(),
            own: before.own.clone(),
            over: before.over.clone(),
            global: before.global.clone(),
        };
        if fenced.shared {
            after.any = Clock::join(&before.any, known);
            after.own = before.own.with(block, [(warp, lanes, time)].into_iter());
            after.over = Clock::join(&Clock::join(&before.over, known), &self.over);
        }
        if fenced.global {
            after.global = Clock::join(&before.global, known);
        }
        Past { proxied: Rc::new(after), ..self.clone() }
    }
}

/// For fences whose scope is at least the thread block, and for those whose scope is the device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoped {
    pub near: Rc<Clock>,
    pub wide: Rc<Clock>,
}

impl Scoped {
    /// Most fences are for the device: then the two clocks are one.
    fn is_one(&self) -> bool {
        Rc::ptr_eq(&self.near, &self.wide)
    }

    pub fn join(&self, other: &Scoped) -> Scoped {
        let near = Clock::join(&self.near, &other.near);
        let one = self.is_one() && other.is_one();
        let wide = if one { near.clone() } else { Clock::join(&self.wide, &other.wide) };
        Scoped { near, wide }
    }

    fn is_same(&self, other: &Scoped) -> bool {
        Rc::ptr_eq(&self.near, &other.near) && Rc::ptr_eq(&self.wide, &other.wide)
    }
}

impl Past {
    pub fn join(&self, other: &Past) -> Past {
        Past {
            known: Clock::join(&self.known, &other.known),
            fenced: self.fenced.join(&other.fenced),
            seen: self.seen.join(&other.seen),
            proxied: Proxied::join(&self.proxied, &other.proxied),
            over: Clock::join(&self.over, &other.over),
            begun: Clock::join(&self.begun, &other.begun),
        }
    }

    /// What of it is handed on without an order of memory: that it is over.
    pub fn without_order(&self) -> Past {
        let over = Clock::join(&self.over, &self.known);
        let proxied = Rc::new(Proxied { over: self.proxied.over.clone(), ..Proxied::default() });
        Past { over, begun: self.begun.clone(), proxied, ..Past::default() }
    }

    pub fn is_same(&self, other: &Past) -> bool {
        Rc::ptr_eq(&self.known, &other.known)
            && self.fenced.is_same(&other.fenced)
            && self.seen.is_same(&other.seen)
            && Rc::ptr_eq(&self.proxied, &other.proxied)
            && Rc::ptr_eq(&self.over, &other.over)
            && Rc::ptr_eq(&self.begun, &other.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(parts: &[(u32, u32, u32, u32)]) -> Rc<Clock> {
        let empty = Rc::new(Clock::default());
        parts
            .iter()
            .fold(empty, |clock, &(block, warp, lanes, time)| clock.with(block, [(warp, lanes, time)].into_iter()))
    }

    #[test]
    fn a_join_knows_what_either_knew_and_no_more() {
        let a = clock(&[(0, 0, u32::MAX, 3), (2, 1, 0b11, 5)]);
        let b = clock(&[(0, 0, 0b1, 7), (1, 0, u32::MAX, 1), (2, 1, 0b110, 4)]);
        for joined in [Clock::join(&a, &b), Clock::join(&b, &a)] {
            assert_eq!(joined.unknown(0, 0, u32::MAX, 3), 0);
            assert_eq!(joined.unknown(0, 0, 0b11, 4), 0b10);
            assert_eq!(joined.unknown(1, 0, u32::MAX, 1), 0);
            assert_eq!(joined.unknown(2, 1, 0b1111, 4), 0b1000);
            assert_eq!(joined.unknown(2, 1, 0b111, 5), 0b100);
            assert_eq!((joined.unknown(2, 0, 1, 1), joined.unknown(3, 0, 1, 1)), (1, 1), "nobody spoke of these");
        }
    }

    #[test]
    fn what_is_known_within_the_block_is_not_known_beyond() {
        let (a, b, c) = (clock(&[(0, 0, 1, 3)]), clock(&[(0, 1, 1, 2)]), clock(&[(1, 0, 1, 4)]));
        let one = Scoped { near: a.clone(), wide: a.clone() };
        let two = Scoped { near: Clock::join(&b, &c), wide: c.clone() };
        for joined in [one.join(&two), two.join(&one)] {
            assert_eq!(joined.near.unknown(0, 0, 1, 3) | joined.near.unknown(0, 1, 1, 2), 0);
            assert_eq!(joined.wide.unknown(0, 0, 1, 3) | joined.wide.unknown(1, 0, 1, 4), 0);
            assert_eq!(joined.wide.unknown(0, 1, 1, 2), 1, "known within the block alone");
        }
        let both = one.join(&Scoped { near: c.clone(), wide: c });
        assert!(both.is_one() && both.wide.unknown(1, 0, 1, 4) == 0);
    }

    #[test]
    fn a_clock_that_knows_all_of_another_is_shared() {
        let less = clock(&[(0, 0, u32::MAX, 3)]);
        let more = less.with(0, [(1, 0xf, 2)].into_iter());
        assert!(Rc::ptr_eq(&Clock::join(&less, &more), &more) && Rc::ptr_eq(&Clock::join(&more, &less), &more));
        assert!(!less.covers(&more) && more.covers(&less) && less.covers(&less));
    }
}
