//! What is doubtful, noted and put into words. Of each pair of lines there is one warning: that of the first thread block,
//! so that it does not depend on who runs which blocks.

use super::agent::{is_product, who};
use super::words::place;
use crate::machine::lanes::LANES;
use crate::machine::order::Doubts;
use crate::machine::state::deed::Target;
use crate::machine::state::mbarriers::Event;
use crate::machine::state::warned::{Line, Noted};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, Program};
use crate::{Site, Warning, WarningKind};

/// A lane stores where another one of its warp has loaded, by the instruction `at`.
#[derive(Debug)]
pub(crate) struct Reuse {
    pub offset: u32,
    pub lane: u32,
    pub other: u32,
    pub at: u32,
}

fn line(program: &Program, at: u32) -> Line {
    program.info.get(at as usize).map_or((u32::MAX, 0), |info| match info.line {
        0 => (u32::MAX, info.ptx_line),
        line => (info.file, line),
    })
}

impl Worker<'_> {
    /// An access of an agent, which a lane asked for, is doubtful.
    #[cold]
    pub(crate) fn warn_of_doubts(&mut self, warp: &Warp, access: &Access, lane: u32, doubts: &Doubts) {
        let grain = self.context.program.shared_grain;
        for doubt in &doubts.0 {
            let then = (u64::from(doubt.block), doubt.warp * LANES as u32 + doubt.lane, doubt.at);
            let what = self.in_shared_words(doubt.cell * grain);
            self.warn(doubt.kind, (warp, lane, access.at), then, &what);
        }
    }

    /// A bulk copy tells a barrier of its own block, and no fence is behind its beginning.
    #[cold]
    pub(crate) fn warn_of_init(&mut self, warp: &Warp, access: &Access, lane: usize, (at, init): (u32, Event)) {
        let what = format!("the mbarrier {}", self.in_shared_words(at));
        let then = (init.block, init.thread, init.at);
        self.warn(WarningKind::UnfencedInit, (warp, lane as u32, access.at), then, &what);
    }

    /// Whether a store does no more than this: a warp stores matrices by `wmma` where it has loaded some by `wmma`.
    pub(crate) fn is_reuse(&self, access: &Access, now: (u32, u32), before: u32, by: (u32, u32)) -> bool {
        let opcode = |at: u32| self.context.program.info.get(at as usize).map_or("", |info| &*info.opcode);
        now == by && opcode(access.at).starts_with("wmma.store") && opcode(before).starts_with("wmma.load")
    }

    /// A warp stores a matrix where it has loaded one, and only that the lanes wait for each other orders the two.
    #[cold]
    pub(crate) fn warn_of_reuse(&mut self, warp: &Warp, access: &Access, target: Target, reuse: &Reuse) {
        let what = self.race_place(target, reuse.offset);
        let then = (self.state.block, warp.number * LANES as u32 + reuse.other, reuse.at);
        self.warn(WarningKind::UnorderedReuse, (warp, reuse.lane, access.at), then, &what);
    }

    /// The block's threads have left, and some of them have not waited until their bulk copies had read its shared memory.
    #[cold]
    pub(crate) fn warn_of_stores_left(&mut self) {
        let mut left: Vec<_> = self.state.mbarriers.groups.iter().map(|(thread, groups)| (*thread, *groups)).collect();
        left.retain(|(_, groups)| groups.last.2 > groups.waited);
        left.sort_unstable_by_key(|(thread, _)| *thread);
        for (thread, groups) in left {
            let (at, place, _) = groups.last;
            let warp = Warp { number: thread / LANES as u32, ..Warp::default() };
            let (what, then) = (self.in_shared_words(place), (self.state.block, thread, at));
            self.warn(WarningKind::StoreLeft, (&warp, thread % LANES as u32, at), then, &what);
        }
    }

    fn warn(&mut self, kind: WarningKind, (warp, lane, at): (&Warp, u32, u32), then: (u64, u32, u32), what: &str) {
        let program = self.context.program;
        let (block, thread) = (self.acting(), warp.number * LANES as u32 + lane);
        let now = (block, self.state.executed, thread, at);
        let key = (line(program, at), line(program, then.2), kind);
        let known = self.tally.warned.0.get_mut(&key).map(|known| {
            known.warning.count += u64::from(known.last != now);
            known.last = now;
            (known.block, known.warning.count)
        });
        if known.is_some_and(|(first, _)| first <= block) {
            return;
        }
        let (site, other) = (self.site_of(warp, lane, at), self.context.site(then.0, then.1, then.2));
        let mut warning = in_words(kind, what, site, other);
        warning.count = known.map_or(1, |(_, count)| count);
        self.tally.warned.0.insert(key, Noted { block, last: now, warning });
    }
}

fn in_words(kind: WarningKind, what: &str, site: Site, other: Site) -> Warning {
    let [before, after] = [who(&other, &site), who(&site, &other)];
    let [there, here] = [place(&other), place(&site)];
    let product = is_product(&site);
    let (message, party, hint) = match kind {
        WarningKind::UnfencedReuse => (
            format!(
                "unfenced reuse of {what}: load by {before} at {there}, then written by a bulk copy of {after} at {here}, no proxy fence between"
            ),
            "the first of the two, a load:",
            "some want `fence.proxy.async` behind the loads, before they are told of, or in the thread that copies; CUTLASS gives a stage back by an arrival alone",
        ),
        WarningKind::FenceOfTheReader => {
            let reads = if product { "a product" } else { "a bulk copy" };
            let stores = if other.opcode.starts_with("cp.async") { "copy" } else { "store" };
            (
                format!(
                    "fence of the reader on {what}: {stores} by {before} at {there}, then read by {reads} of {after} at {here}, no proxy fence of the former before it told the latter"
                ),
                "the first of the two:",
                "CUTLASS has `fence.proxy.async` by each thread that stored, then the barrier; a fence behind the barrier alone, as Triton has it, some call too late",
            )
        }
        WarningKind::UnorderedReuse => (
            format!(
                "unordered reuse of {what}: load by {before} at {there}, store by {after} at {here}, by one warp's `wmma`, no `__syncwarp()` between"
            ),
            "the first of the two, a load:",
            "the lanes wait for each other at `wmma`, and what is stored follows from what was loaded, but the manual promises no order of the accesses: `__syncwarp()` does",
        ),
        WarningKind::UnfencedInit => (
            format!(
                "unfenced init of {what}: initialised by {before} at {there}, told by a bulk copy of {after} at {here}, no fence between"
            ),
            "it is initialised here:",
            "behind `mbarrier.init`, its thread executes `fence.mbarrier_init.release.cluster` or `fence.proxy.async`, then a barrier: so the manual and CUTLASS; Triton and ThunderKittens go without",
        ),
        WarningKind::StoreLeft => (
            format!(
                "store left under way: {what} is read by a bulk copy of {after} at {here}, and its thread leaves without having waited for that"
            ),
            "it is asked for here:",
            "behind its last bulk copies out of shared memory a thread commits them and waits, by `cp.async.bulk.wait_group.read 0`: else shared memory may be another block's while they still read it",
        ),
    };
    Warning { kind, message, site, other: (party.to_string(), other), hint: hint.to_string(), count: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dim3;
    use crate::machine::state::warned::Warned;

    /// A warning of a thread block, at a line.
    fn warned(parts: &[(u64, u32, u64)]) -> Warned {
        let noted = |&(block, line, count): &(u64, u32, u64)| {
            let at = Dim3::xy(block as u32, 0);
            let site = Site {
                source: None,
                calls: Vec::new(),
                ptx_line: line,
                opcode: String::new(),
                block: at,
                thread: Dim3::xy(0, 0),
                warp: 0,
                lane: 0,
            };
            let mut warning = in_words(WarningKind::UnfencedReuse, "tile", site.clone(), site);
            warning.count = count;
            let key = ((u32::MAX, line), (u32::MAX, line), WarningKind::UnfencedReuse);
            (key, Noted { block, last: (block, 0, 0, line), warning })
        };
        Warned(parts.iter().map(noted).collect())
    }

    #[test]
    fn whoever_ran_which_blocks_the_first_is_named_and_all_are_counted() {
        let parts = [warned(&[(3, 7, 2), (0, 9, 1)]), warned(&[(1, 7, 5)]), warned(&[(2, 8, 1), (4, 9, 10)])];
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]] {
            let mut all = Warned::default();
            order.into_iter().for_each(|n: usize| all.add(&parts[n]));
            let said: Vec<_> = all.all().iter().map(|w| (w.site.ptx_line, w.site.block.x, w.count)).collect();
            assert_eq!(said, [(7, 1, 7), (8, 2, 1), (9, 0, 11)]);
        }
    }

    #[test]
    fn there_are_only_so_many() {
        let all: Vec<_> = (0..100).map(|line| (0, line, 1)).collect();
        let kept = warned(&all).all();
        assert_eq!((kept.len(), kept.last().map(|w| w.site.ptx_line)), (Warning::MOST, Some(31)));
    }
}
