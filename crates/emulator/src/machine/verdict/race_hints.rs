//! What is missing between the two parties of a race: which barrier, fence or atomic, and where.

use std::collections::HashSet;

use super::words::place;
use crate::machine::lanes::LANES;
use crate::machine::order::Missing;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::origin::Lack;
use crate::program::{Access, Exit, Op, Space};
use crate::{Fault, Site};

const BARRIER: &str = "is a `__syncthreads()` missing between the two?";
const BARRIER_OR_WARP: &str = "is a `__syncthreads()`, or within a warp a `__syncwarp()`, missing between the two?";
const SAME_LINE: &str =
    "an update that several threads make needs `atomicAdd`; an exchange, a barrier between load and store";
const SAME_ELEMENT: &str = "an update that several threads make needs `atomicAdd`; where each thread is to have an element of its own, is the row or column in its index wrong?";
const RELAXED: &str = "a cluster barrier whose arrival is `.relaxed` orders no accesses: without that word, or as `.release`, it does; or a `__syncthreads()` stands between the two";
const TWO_STORES: &str = "two threads of a block store to one place: has the block more threads than the tile has elements, or does the index leave out a coordinate of the thread?";

/// What is known of the two parties.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    pub same_block: bool,
    pub same_cluster: bool,
    /// Lanes of one store.
    pub one_instruction: bool,
    /// What the first lacked, a copy that was waited for behind a barrier.
    pub late: Option<Lack>,
}

impl Worker<'_> {
    pub(crate) fn race_hint(
        &self,
        missing: Missing,
        told: Told,
        (site, now): (&Site, &str),
        (other, before): (&Site, &str),
    ) -> String {
        let hint = match missing {
            Missing::Acquire => {
                "after a flag or counter was read, a `__threadfence()` comes before what it guards, and a barrier before other threads use it"
            }
            Missing::Release if told.same_cluster => {
                "between blocks of a cluster the write of a flag is a release of the cluster (`.release.cluster`), or behind a fence of it"
            }
            Missing::Release => {
                "before a flag or counter is written, a `__threadfence()` comes behind what it guards; a barrier puts other threads' writes before it"
            }
            Missing::Scope if told.same_cluster => {
                "between blocks of a cluster, both sides name `.cluster` or a wider scope: fences and accesses of `.cta` order the threads of one block"
            }
            Missing::Scope => {
                "threads of two blocks need `__threadfence()` and plain atomics: those with `_block` order the threads of one block"
            }
            Missing::Order => {
                "between blocks of a cluster, an arrival or a write that tells is a release of the cluster (`.release.cluster`), and the wait an acquire of it: without a scope they are of one block"
            }
            Missing::Strength => {
                "what several thread blocks use at once takes atomics or `volatile` on all sides; a plain access must be ordered by a flag, with a `__threadfence()` between a store and the write of the flag, or stand in a launch before (as what sets or scales a sum that all add to)"
            }
            Missing::Participation => {
                "a named barrier orders only the threads that take part in it: is its thread count that of all who use this place?"
            }
            Missing::Everything if told.same_cluster => {
                "between blocks of a cluster, a cluster barrier (`cluster.sync()`) comes between the two, with its arrival and its wait; `__syncthreads()` is of one block"
            }
            Missing::Everything if told.same_block => return self.barrier_hint(told, (site, now), (other, before)),
            Missing::Everything if self.context.program.synchronises_globally && [now, before] == ["store"; 2] => {
                "two thread blocks store to one place: does the part of each begin behind the end of the one before, at its number times the elements of a part? where they take turns, a flag or counter orders them"
            }
            Missing::Everything if self.context.program.synchronises_globally => {
                "blocks are ordered by a flag or counter: a fence and a write of it behind the one access, a read of it and a fence before the other; where one thread waits for it, a `__syncthreads()` behind that lets the others of its block go on. Do the store and the load find a part by the same row's length?"
            }
            Missing::Everything => return between_blocks(site, other),
        };
        hint.to_string()
    }

    fn barrier_hint(&self, told: Told, (site, now): (&Site, &str), (other, before): (&Site, &str)) -> String {
        let hint = match told.late {
            _ if told.one_instruction => {
                "two threads write one place: does the index use every coordinate of the thread?"
            }
            Some(lack @ (Lack::Fewer { .. } | Lack::Commit)) => {
                return format!("{}, before the barrier that lets others go on", self.lack_in_words(Some(lack), other));
            }
            Some(_) => {
                "the thread that copies waits for it, by `cp.async.wait_group` behind the `cp.async.commit_group` of its group, and then a barrier lets others go on"
            }
            None if place(site) == place(other) && site.opcode != other.opcode => {
                if site.opcode.contains("global") {
                    SAME_ELEMENT
                } else {
                    SAME_LINE
                }
            }
            None if place(site) == place(other) && [now, before] == ["store"; 2] => TWO_STORES,
            None if now == "load" && before == "store" && other.opcode.starts_with("cp.async.c") => {
                "a thread that waits for its copies waits for its own alone: a `__syncthreads()` behind the wait lets others read them"
            }
            None if self.is_relaxed() => RELAXED,
            None if site.opcode.contains("global") && [now, before] == ["store"; 2] => {
                "two threads of a block store to one element: does each have elements of its own, by a row's length and the columns that a lane has of a fragment (two of each lane, next to each other)?"
            }
            None if site.opcode.contains("global") && !site.opcode.starts_with("cp.") && before != now => {
                "is a `__syncthreads()` missing between the two, or do two threads come to one element, by a wrong row or column? where other blocks use the buffer as well, what is stored needs one of its own"
            }
            None if site.warp == other.warp => BARRIER_OR_WARP,
            None => BARRIER,
        };
        hint.to_string()
    }

    /// Says more of a race in shared memory, of a lane and at an offset, where what else is known shows it.
    pub(crate) fn refine(&self, fault: &mut Fault, warp: &Warp, access: &Access, (lane, offset): (u32, u32)) {
        let Some(other) = fault.other.as_ref().map(|(_, other)| other) else { return };
        let Some(mut hint) = fault.hint.clone() else { return };
        let stores = !fault.site.opcode.starts_with("ld");
        if hint == SAME_LINE && stores && other.warp == warp.number && other.block == fault.site.block {
            let to = &warp.scratch.offsets.0;
            let both = [other.lane, lane].map(|lane| to[lane as usize % LANES]);
            let hint = match both[0] == both[1] {
                true => "an update that several threads make needs `atomicAdd`".to_string(),
                false => "each thread stores to a place of its own, and others read it: all load, then a barrier (`__syncthreads()`, within a warp `__syncwarp()`), then all store".to_string(),
            };
            fault.hint = Some(hint);
        } else if hint == BARRIER || hint == BARRIER_OR_WARP {
            let (store, load) = if stores { (&fault.site, other) } else { (other, &fault.site) };
            let (is_load, turns) = (load.opcode.starts_with("ld"), self.is_of_the_next_turn(store, load));
            let (store, load) = (place(store), place(load));
            // Later the store may be of the turn behind.
            if stores && !is_load && [&fault.site, other].iter().all(|site| site.opcode.starts_with("st")) {
                fault.hint = Some(format!(
                    "{hint} where nothing is to be stored there twice: does an array begin where the one before it has not ended (sizes in bytes, offsets in elements)?"
                ));
                return;
            }
            let first = !stores && is_load && self.state.epoch == self.state.first_epoch;
            let barrier = if first { self.barrier_between(&fault.site, other) } else { None };
            if let Some(barrier) = barrier {
                fault.hint = Some(format!(
                    "the `__syncthreads()` at {barrier} stands between the two, and not all threads come to it: it belongs outside of the branch or loop, for all \
                     threads of the block"
                ));
                return;
            }
            if is_load && !turns && self.lines_that_store(offset) > 1 {
                hint = format!(
                    "{hint} where one buffer is filled while another is read, is it another one (`cur ^ 1`) that the store at {store} names?"
                );
                fault.hint = Some(hint.clone());
            }
            let why = match is_load {
                true if turns => format!("the store at {store} is of the turn behind that of the load at {load}"),
                true if stores && self.comes_round(access, offset) => format!("{store} has stored here before"),
                _ => return,
            };
            fault.hint = Some(format!("{hint} {why}: one belongs behind {load}, before {store} comes round again"));
        }
    }

    /// Whether the program has cluster barriers whose arrivals order nothing.
    fn is_relaxed(&self) -> bool {
        let mut opcodes = self.context.program.info.iter().map(|info| &*info.opcode);
        opcodes.any(|opcode| opcode.starts_with("barrier.cluster.arrive") && opcode.contains("relaxed"))
    }

    /// Whether a store is of a later turn of a loop than a load with which nothing orders it: a barrier stands in the code between them, or
    /// the store comes behind the load there, and before it in the source.
    fn is_of_the_next_turn(&self, store: &Site, load: &Site) -> bool {
        let program = self.context.program;
        let at = |site: &Site| program.info.iter().position(|info| info.ptx_line == site.ptx_line).map(|at| at as u32);
        let (Some(from), Some(to)) = (at(store), at(load)) else { return false };
        let (Some((file, line)), Some((other, later))) = (&store.source, &load.source) else { return false };
        let mut barriers = program.blocks.iter().filter(|block| matches!(block.exit, Exit::Barrier { .. }));
        let between = barriers.any(|block| from < block.end && block.end <= to);
        self.state.epoch > self.state.first_epoch && file == other && line < later && (between || to < from)
    }

    /// The first barrier that stands in the code between a store and a load behind it.
    fn barrier_between(&self, load: &Site, store: &Site) -> Option<String> {
        let program = self.context.program;
        let at = |site: &Site| program.info.iter().position(|info| info.ptx_line == site.ptx_line).map(|at| at as u32);
        let (from, to) = (at(store)?, at(load)?);
        let mut barriers = program.blocks.iter().filter(|block| matches!(block.exit, Exit::Barrier { .. }));
        let barrier = barriers.find(|block| from < block.end && block.end <= to)?;
        Some(place(&self.context.site(self.state.block, 0, barrier.exit_info?)))
    }

    /// How many lines store to the variable in shared memory that has an offset.
    pub(super) fn lines_that_store(&self, offset: u32) -> usize {
        let program = self.context.program;
        let stores = program.code.iter().filter_map(|instruction| match instruction.op {
            Op::Store(index) => Some(&program.accesses[index as usize]),
            _ => None,
        });
        let covers = |store: &&Access| (store.within.0..store.within.1).contains(&offset);
        let here = stores.filter(|store| store.space == Space::Shared && covers(store));
        let lines = here.filter_map(|store| program.info.get(store.at as usize)).map(|info| (info.file, info.line));
        lines.collect::<HashSet<_>>().len()
    }

    /// Whether the line of an access has stored to a place in shared memory before, behind an earlier barrier.
    fn comes_round(&self, access: &Access, offset: u32) -> bool {
        let (cells, grain) = (&self.state.cells, self.context.program.shared_grain);
        if cells.is_empty() {
            return false;
        }
        let last = cells.write(offset / grain);
        let line =
            |at: u32| self.context.program.info.get(at as usize).map(|info| (info.file, info.line, info.line == 0));
        (self.state.first_epoch..self.state.epoch).contains(&last.epoch())
            && (last.at() == access.at
                || line(last.at()) == line(access.at) && line(access.at).is_some_and(|line| !line.2))
    }
}

/// Two thread blocks access one place, and nothing orders them.
fn between_blocks(site: &Site, other: &Site) -> String {
    let reads = |site: &Site| site.opcode.starts_with("ld");
    let (one_line, update) = (place(site) == place(other), reads(site) != reads(other));
    let hint = match (site.thread == other.thread, one_line, update) {
        (true, true, true) => {
            "thread blocks add to one element: `atomicAdd`, or a place for each block's part and a sum of them behind that"
        }
        (true, true, false) if !reads(site) => {
            "the same thread of two blocks stores to one element: does the index use every coordinate of the block?"
        }
        (false, true, _) => {
            "two threads of different blocks come to one element: is the row's length in the index that of this matrix, and does the guard keep rows and columns out that it has not?"
        }
        (_, _, true) => {
            "two thread blocks share this place: does each own its part? to read what others wrote, all blocks meet first, at `grid.sync()` of a cooperative launch, or another launch reads it"
        }
        _ => "two thread blocks share this place: does each block own its part of the output?",
    };
    hint.to_string()
}
