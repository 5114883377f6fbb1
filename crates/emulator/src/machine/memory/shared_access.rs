//! Shared memory: loads, stores, their wavefronts, and who raced with whom.

use crate::Fault;
use crate::machine::cpu::{AVX512, PLAIN, pick};
use crate::machine::lanes::{LANES, PatternShape, each, for_each_lane};
use crate::machine::order::Kind;
use crate::machine::state::cells::Cells;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::shared_pattern::{FEW_PLACES, NOBODY, Pattern};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::machine::verdict::warn::Reuse;
use crate::program::Access;
use crate::stamp::Stamp;

impl Worker<'_> {
    /// A load from, or a store to, shared memory by the addresses in registers.
    #[inline(always)]
    pub(crate) fn access_shared<const CPU: u8>(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        load: bool,
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        match self.shared_again(warp, access, index, mask) {
            Some(first) if load => self.load_shared_at::<CPU>(warp, index, mask, first),
            Some(first) => self.store_shared_at(warp, index, mask, first),
            None => {
                warp.set_addresses(access, mask);
                self.access_shared_anew(warp, index, mask, load)
            }
        }
    }

    /// The same by the addresses at hand.
    #[inline(never)]
    pub(crate) fn access_shared_anew(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        load: bool,
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        if !self.set_offsets(warp, access) {
            return self.access_elsewhere(warp, index, mask, load);
        }
        // (Lanes that do not run have the place of the first one that does.)
        let first = warp.scratch.offsets.0[0];
        self.caches.shared[index as usize].pattern(access, mask, &warp.scratch.offsets.0, load);
        match load {
            true => self.load_shared_at::<PLAIN>(warp, index, mask, first),
            false => self.store_shared_at(warp, index, mask, first),
        }
    }

    /// Where the first lane is, if all lie as they did the last time, and all within the shared memory at hand.
    #[inline(always)]
    fn shared_again(&self, warp: &Warp, access: &Access, index: u32, mask: u32) -> Option<u32> {
        let first = warp.first_address(access, mask);
        let offset = first.wrapping_sub(self.state.base);
        let spread = &self.caches.shared[index as usize].last(offset as u32)?.spread;
        let (start, end) = (access.within.0, access.within.1.min(self.shared_bytes));
        let inside = spread.lies_within(offset, access.bytes(), start.into(), end.saturating_sub(start).into());
        (inside && warp.is_spread(access, mask, spread)).then_some(offset as u32)
    }

    /// A load whose pattern is the last one.
    #[inline(always)]
    fn load_shared_at<const CPU: u8>(
        &mut self,
        warp: &mut Warp,
        index: u32,
        mask: u32,
        first: u32,
    ) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let pattern = self.caches.shared[index as usize].last(first).expect("its addresses lie so");
        count(&mut self.tally.shared[index as usize], pattern, mask);
        let (mut suspicious, mut judged) = (false, false);
        if !self.state.cells.is_empty() {
            let stamp = self.stamp(warp, access.at);
            let shift = self.context.program.shared_grain.trailing_zeros();
            suspicious = read_cells(&mut self.state.cells, pattern, first, shift, stamp, self.state.first_epoch);
            suspicious |= warp.taint.is_some();
            judged = suspicious || self.shared_by_clocks();
        }
        if judged {
            warp.set_spread(&pattern.spread, self.state.base + u64::from(first), self.state.base);
        }
        read_words::<CPU>(&self.state.shared, warp, access, pattern, mask, first);
        if judged {
            self.judge_shared_load(warp, access, mask, suspicious)?;
        }
        if access.ordered() {
            self.polled_load(warp, access, mask);
        }
        Ok(())
    }

    /// A store whose pattern is the last one.
    #[inline(always)]
    fn store_shared_at(&mut self, warp: &mut Warp, index: u32, mask: u32, first: u32) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let pattern = self.caches.shared[index as usize].last(first).expect("its addresses lie so");
        count(&mut self.tally.shared[index as usize], pattern, mask);
        self.state.wrote();
        if !self.state.cells.is_empty() {
            let (stamp, under_way) = (self.stamp(warp, access.at), self.epoch_under_way());
            let shift = self.context.program.shared_grain.trailing_zeros();
            let lost =
                self.state.copies_under_way > 0 && meets_copy(&self.state.cells, pattern, first, shift, under_way);
            let conflict = writes_conflict(&self.state.cells, pattern, first, shift, stamp);
            if lost || conflict || warp.taint.is_some() || self.shared_by_clocks() {
                warp.set_spread(&pattern.spread, self.state.base + u64::from(first), self.state.base);
                self.judge_shared_store(warp, access, mask, (lost, conflict))?;
            }
        }
        let pattern = self.caches.shared[index as usize].last(first).expect("its addresses lie so");
        let (row, at) =
            (pattern.shape == PatternShape::Row, |lane: usize| pattern.spread.at(first.into(), lane) as u32);
        if !self.state.cells.is_empty() {
            let (stamp, shift) = (self.stamp(warp, access.at), self.context.program.shared_grain.trailing_zeros());
            let cells = (access.bytes() >> shift) as usize;
            if row && cells == 1 {
                self.state.cells.mark_row((first >> shift) as usize, stamp);
            } else {
                for lane in each(mask) {
                    let now = stamp.of_thread(stamp.thread() + lane as u32);
                    self.state.cells.mark((at(lane) >> shift) as usize, cells, now);
                }
            }
        }
        if row && access.bytes() == 4 && !access.wide {
            let start = (first / 4) as usize;
            self.state.shared[start..start + LANES].copy_from_slice(&warp.r[access.registers[0] as usize].0);
        } else {
            for element in 0..access.elements {
                for lane in each(mask) {
                    let at = at(lane) + element * access.element_bytes;
                    write_shared(&mut self.state.shared, at, access.element_bytes, warp.stored(access, element, lane));
                }
            }
        }
        if !self.state.cells.is_empty() && warp.taint.is_some() {
            self.mark_unwritten(warp, access, mask);
        }
        Ok(())
    }

    /// Counts a store by lanes at the offsets at hand. Says whether it may meet another access that it must not.
    pub(crate) fn count_shared_store(&mut self, warp: &Warp, access: &Access, index: u32, mask: u32) -> bool {
        let (stamp, under_way, by_clocks) =
            (self.stamp(warp, access.at), self.epoch_under_way(), self.shared_by_clocks());
        let pattern = self.caches.shared[index as usize].pattern(access, mask, &warp.scratch.offsets.0, false);
        count(&mut self.tally.shared[index as usize], pattern, mask);
        let cells = &self.state.cells;
        if cells.is_empty() {
            return false;
        }
        let first = warp.scratch.offsets.0[mask.trailing_zeros() as usize & 31];
        let shift = self.context.program.shared_grain.trailing_zeros();
        by_clocks
            || meets_copy(cells, pattern, first, shift, under_way)
            || writes_conflict(cells, pattern, first, shift, stamp)
    }

    /// A load met a cell that an unordered thread wrote, or nobody: which lane is at fault? Or the order model watches.
    #[inline(never)]
    fn judge_shared_load(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
        suspicious: bool,
    ) -> Result<(), Box<Fault>> {
        if self.shared_by_clocks() {
            self.order_access(warp, access, mask, Target::Shared, Deed::new(Kind::Read, access.bytes()))?;
        }
        if !suspicious {
            return Ok(());
        }
        let (grain, stamp) = (self.context.program.shared_grain, self.stamp(warp, access.at));
        for lane in each(mask) {
            let now = stamp.of_thread(stamp.thread() + lane as u32);
            let at = warp.scratch.offsets.0[lane];
            for cell in at / grain..(at + access.bytes()) / grain {
                let write = self.state.cells.write(cell);
                if write.conflicts(now) && !self.shared_by_clocks() {
                    let with = (write, "store");
                    return Err(self.convict_shared_race(warp, access, lane as u32, cell * grain, with, "load"));
                }
            }
        }
        self.taint_shared(warp, access, mask);
        Ok(())
    }

    /// Not all addresses lie in the shared memory at hand: they are of other blocks' of the cluster, or a fault.
    #[inline(never)]
    fn access_elsewhere(&mut self, warp: &mut Warp, index: u32, mask: u32, load: bool) -> Result<(), Box<Fault>> {
        let access = &self.context.program.accesses[index as usize];
        let deed = |worker: &mut Self, warp: &mut Warp, lanes: u32| {
            let before = worker.tally.shared[index as usize];
            worker.access_shared_anew(warp, index, lanes, load)?;
            if worker.state.owner != worker.state.block {
                worker.tally.leave_to_peers(index as usize, before);
            }
            Ok(())
        };
        match self.at_each_rank(warp, access, mask, deed)? {
            Some(()) => Ok(()),
            None => Err(self.convict_shared_address(warp, access, mask)),
        }
    }

    /// A store meets a copy under way or an earlier access of its epoch, or two of its lanes meet: is any of it harmful? Or the
    /// order model watches.
    #[inline(never)]
    fn judge_shared_store(
        &mut self,
        warp: &Warp,
        access: &Access,
        mask: u32,
        (lost, conflict): (bool, bool),
    ) -> Result<(), Box<Fault>> {
        if lost {
            self.check_under_way(warp, access, mask)?;
        }
        if self.shared_by_clocks() {
            return self.order_access(warp, access, mask, Target::Shared, Deed::new(Kind::Write, access.bytes()));
        }
        if !conflict {
            return Ok(());
        }
        let stamp = self.stamp(warp, access.at);
        let (grain, addresses) = (self.context.program.shared_grain, &warp.scratch.offsets.0);
        let (block, mut reuses) = (self.state.block as u32, Vec::new());
        for lane in each(mask) {
            let now = stamp.of_thread(stamp.thread() + lane as u32);
            let new = warp.stored_bytes(access, lane);
            for offset in (0..access.bytes()).step_by(grain as usize) {
                let at = addresses[lane] + offset;
                let (write, reads) = (self.state.cells.write(at / grain), self.state.cells.reads(at / grain));
                let mut harmful = |read: &&Stamp| {
                    let by = (block, read.thread() / LANES as u32);
                    let reuse = self.is_reuse(access, (block, warp.number), read.at(), by);
                    if reuse {
                        let other = read.thread() % LANES as u32;
                        reuses.push(Reuse { offset: at, lane: lane as u32, other, at: read.at() });
                    }
                    !reuse
                };
                if let Some(read) = reads.iter().filter(|read| read.conflicts(now)).find(&mut harmful) {
                    return Err(self.convict_shared_race(warp, access, lane as u32, at, (*read, "load"), "store"));
                }
                let old = (0..grain).map(|n| read_shared(&self.state.shared, at + n, 1) as u8);
                let same = old.eq(new[offset as usize..][..grain as usize].iter().copied());
                if write.conflicts(now) && !same {
                    return Err(self.convict_shared_race(warp, access, lane as u32, at, (write, "store"), "store"));
                }
            }
            for other in each(mask & ((1 << lane) - 1)) {
                if addresses[other] == addresses[lane] && warp.stored_bytes(access, other) != new {
                    let with = (stamp.of_thread(stamp.thread() + other as u32), "store");
                    return Err(self.convict_shared_race(warp, access, lane as u32, addresses[lane], with, "store"));
                }
            }
        }
        for reuse in reuses {
            self.warn_of_reuse(warp, access, Target::Shared, &reuse);
        }
        Ok(())
    }
}

#[inline(always)]
fn count(traffic: &mut crate::machine::state::tally::Traffic, pattern: &Pattern, mask: u32) {
    traffic.requests += 1;
    traffic.lanes += u64::from(mask.count_ones());
    traffic.cost += u64::from(pattern.cost.wavefronts);
    traffic.ideal += u64::from(pattern.cost.ideal_wavefronts);
    traffic.unique_bytes += u64::from(pattern.cost.unique_bytes);
}

/// Remembers who reads the cells of a load. Says whether one of them was written by an unordered thread,
/// or not in this thread block, which began with epoch `since`.
#[inline(always)]
fn read_cells(cells: &mut Cells, pattern: &Pattern, first: u32, shift: u32, stamp: Stamp, since: u32) -> bool {
    let count = (pattern.bytes >> shift) as usize;
    if pattern.shape == PatternShape::Row && count == 1 {
        return cells.read_row((first >> shift) as usize, stamp, since);
    }
    let mut bad = false;
    for place in &pattern.places {
        let start = (first.wrapping_add(place.relative) >> shift) as usize;
        let now = stamp.of_thread(stamp.thread() + place.lane);
        bad |= match place.second {
            NOBODY => cells.read(start, count, now, since),
            second => cells.read_by_two(start, count, now, stamp.of_thread(stamp.thread() + second), since),
        };
    }
    bad
}

/// Whether a store meets another thread's access of its epoch, or two of its lanes have one address.
#[inline(always)]
fn writes_conflict(cells: &Cells, pattern: &Pattern, first: u32, shift: u32, stamp: Stamp) -> bool {
    let count = (pattern.bytes >> shift) as usize;
    if pattern.shape == PatternShape::Row && count == 1 {
        return cells.conflict_in_row((first >> shift) as usize, stamp);
    }
    let mut bad = false;
    for place in &pattern.places {
        let start = (first.wrapping_add(place.relative) >> shift) as usize;
        bad |= place.second != NOBODY || cells.conflict(start, count, stamp.of_thread(stamp.thread() + place.lane));
    }
    bad
}

/// Whether a store meets a copy under way, given the epoch of those.
#[inline(always)]
fn meets_copy(cells: &Cells, pattern: &Pattern, first: u32, shift: u32, epoch: u32) -> bool {
    let count = (pattern.bytes >> shift) as usize;
    let meets = |at: u32, count: usize| cells.written_in((at >> shift) as usize, count, epoch);
    match pattern.shape {
        PatternShape::Row => meets(first, LANES * count),
        _ => pattern.places.iter().any(|place| meets(first.wrapping_add(place.relative), count)),
    }
}

/// Moves the words of a load into registers. Lanes that do not run have a valid offset as well.
#[inline(always)]
fn read_words<const CPU: u8>(
    shared: &[u32],
    warp: &mut Warp,
    access: &Access,
    pattern: &Pattern,
    mask: u32,
    first: u32,
) {
    let start = (first / 4) as usize;
    if access.element_bytes != 4 || access.wide {
        return read_elements(shared, warp, access, pattern, mask, first);
    }
    match (access.elements, pattern.shape) {
        (1, PatternShape::Row) => {
            warp.r[access.registers[0] as usize].0.copy_from_slice(&shared[start..start + LANES]);
        }
        (_, PatternShape::Uniform) => {
            let words = &shared[start..start + access.elements as usize];
            for (slot, word) in access.registers.iter().zip(words) {
                warp.r[*slot as usize].0 = [*word; LANES];
            }
        }
        _ if CPU == AVX512 && pattern.few => read_few::<CPU>(shared, warp, access, pattern, first),
        (1, _) => read_vectors::<1>(shared, warp, access, pattern, mask, first),
        (2, _) => read_vectors::<2>(shared, warp, access, pattern, mask, first),
        _ => read_vectors::<4>(shared, warp, access, pattern, mask, first),
    }
}

/// A few distinct places, handed out to the lanes that read them.
#[inline(always)]
fn read_few<const CPU: u8>(shared: &[u32], warp: &mut Warp, access: &Access, pattern: &Pattern, first: u32) {
    let mut tables = [[0; FEW_PLACES]; 4];
    for (place, column) in pattern.places.iter().zip(0..FEW_PLACES) {
        let start = (first.wrapping_add(place.relative) / 4) as usize;
        let words = &shared[start..start + access.elements as usize];
        for (table, word) in tables.iter_mut().zip(words) {
            table[column] = *word;
        }
    }
    for (slot, table) in access.registers[..access.elements as usize].iter().zip(&tables) {
        pick::<CPU>(&mut warp.r[*slot as usize].0, table, &pattern.place_of);
    }
}

/// `N` neighbouring words for each lane.
#[inline(always)]
fn read_vectors<const N: usize>(
    shared: &[u32],
    warp: &mut Warp,
    access: &Access,
    pattern: &Pattern,
    mask: u32,
    first: u32,
) {
    let mut out = [[0; LANES]; N];
    for lane in 0..LANES {
        let start = (pattern.spread.at(first.into(), lane) / 4) as usize;
        let words = &shared[start..start + N];
        for element in 0..N {
            out[element][lane] = words[element];
        }
    }
    for (slot, out) in access.registers.iter().zip(&out) {
        warp.r[*slot as usize].set(out, mask);
    }
}

/// Elements of other widths.
#[inline(always)]
fn read_elements(shared: &[u32], warp: &mut Warp, access: &Access, pattern: &Pattern, mask: u32, first: u32) {
    for element in 0..access.elements {
        let at = |lane: usize| pattern.spread.at(first.into(), lane) as u32 + element * access.element_bytes;
        let out = for_each_lane(|lane| read_shared(shared, at(lane), access.element_bytes));
        warp.set_loaded(access, element, &out, mask);
    }
}

/// 1, 2, 4 or 8 bytes at an aligned offset.
#[inline(always)]
pub(crate) fn read_shared(shared: &[u32], at: u32, bytes: u32) -> u64 {
    let word = u64::from(shared[at as usize / 4]);
    match bytes {
        4 => word,
        8 => u64::from(shared[at as usize / 4 + 1]) << 32 | word,
        _ => word >> (at % 4 * 8) & ((1 << (8 * bytes)) - 1),
    }
}

#[inline(always)]
pub(crate) fn write_shared(shared: &mut [u32], at: u32, bytes: u32, value: u64) {
    let word = at as usize / 4;
    match bytes {
        4 => shared[word] = value as u32,
        8 => {
            shared[word] = value as u32;
            shared[word + 1] = (value >> 32) as u32;
        }
        _ => {
            let (shift, mask) = (at % 4 * 8, ((1u64 << (8 * bytes)) - 1) as u32);
            shared[word] = shared[word] & !(mask << shift) | (value as u32 & mask) << shift;
        }
    }
}
