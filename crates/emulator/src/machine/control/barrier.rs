//! The block's sixteen barriers: who has arrived, and who goes on.
//!
//! A warp arrives as one, and counts as 32 threads. It has arrived once all of its lanes that have not ended are at
//! barriers of this number: at one instruction if that is aligned (`bar.sync`), at several otherwise (`barrier.sync`). Lanes
//! that a branch has sent where nothing is left to do but to end count as ended.
//! A barrier without a thread count is for all warps that have not ended.

use super::paths::leads;
use crate::machine::lanes::{LANES, each};
use crate::machine::state::barriers::{Arrival, BARRIERS};
use crate::machine::state::operands::set_predicate;
use crate::machine::state::warp::{Path, State, Wait, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Barrier, Exit, Reduce};
use crate::{Fault, Schedule};

impl Worker<'_> {
    /// The present path of a warp reaches a barrier. Says whether the warp stops here.
    #[inline(never)]
    pub(crate) fn reach_barrier(
        &mut self,
        warp: &mut Warp,
        path: Path,
        mask: u32,
        (barrier, at, next): (Barrier, u32, u32),
    ) -> Result<bool, Box<Fault>> {
        let mut on = mask;
        if let Some(guard) = barrier.guard {
            on &= warp.predicate(guard.predicate, guard.negated);
            if on == 0 {
                warp.advance(next);
                return Ok(false);
            }
        }
        let (id, threads) = self.check_barrier(warp, barrier, on, at)?;
        if on == warp.live {
            let now =
                Arrival { warp: warp.number, lanes: on, at, threads, reduces: barrier.reduce.is_some(), waits: true };
            if barrier.arrive_only {
                warp.advance(next);
                self.arrive(warp, id, Arrival { waits: false, ..now })?;
                return Ok(false);
            }
            warp.replace_path(&[Path { mask: on, wait: Wait::Barrier(id), ..path }]);
            warp.state = State::Waiting;
            self.arrive(warp, id, now)?;
            return Ok(true);
        }
        let (here, going) = (Path { mask: on, ..path }, Path { block: next, mask: mask & !on, ..path });
        if barrier.aligned {
            let program = self.context.program;
            let left = warp.left & warp.live & !mask;
            let comes =
                |(other, lanes): (Path, u32)| lanes & !(mask | left) == 0 || leads(program, other.block, path.block);
            if on != mask || !warp.places().all(comes) {
                return Err(self.convict_divergent_barrier(warp, on, warp.live, at));
            }
            warp.replace_path(&[Path { wait: Wait::Others(warp.live & !left), ..here }]);
        } else if going.mask == 0 {
            warp.replace_path(&[Path { wait: Wait::Gathering(id), ..here }]);
        } else {
            warp.replace_path(&[Path { wait: Wait::Gathering(id), ..here }, going]);
        }
        Ok(!self.next_path(warp)?)
    }

    /// Number and thread count of a barrier, if they are possible ones.
    fn check_barrier(&self, warp: &Warp, barrier: Barrier, on: u32, at: u32) -> Result<(u32, u32), Box<Fault>> {
        let lane = on.trailing_zeros();
        let of = |slot: u32, lane: u32| warp.r[slot as usize].0[lane as usize];
        let id = of(barrier.id, lane);
        let threads = barrier.threads.map(|slot| of(slot, lane));
        let differs = |slot: u32, value: u32| each(on).map(|lane| lane as u32).find(|lane| of(slot, *lane) != value);
        if let Some(other) = differs(barrier.id, id) {
            let what = format!("lane {lane} names barrier {id}, lane {other} barrier {}", of(barrier.id, other));
            return Err(self.convict_barrier(warp, on, at, what, "all lanes of a warp name the same barrier"));
        }
        if id >= BARRIERS {
            let what = format!("barrier {id} does not exist: a thread block has barriers 0 to {}", BARRIERS - 1);
            return Err(self.convict_barrier(warp, on, at, what, "use a number below 16"));
        }
        if let Some(count) = threads
            && (count == 0 || count % LANES as u32 != 0)
        {
            let what = format!("barrier {id} is for {count} threads, which is no multiple of {LANES}");
            return Err(self.convict_barrier(warp, on, at, what, "warps arrive as a whole: count all of their lanes"));
        }
        Ok((id, threads.unwrap_or(0)))
    }

    /// All lanes of a warp have arrived. Lets those go that wait, if they were the last.
    fn arrive(&mut self, warp: &mut Warp, id: u32, now: Arrival) -> Result<(), Box<Fault>> {
        let threads = self.context.shape.block.count().next_multiple_of(LANES as u64) as u32;
        let named = &mut self.state.barriers.all[id as usize];
        let whole = |count: u32| if count == threads { 0 } else { count };
        if named.warps != 0 {
            let first = named.arrivals[0];
            let twice = named.warps >> warp.number & 1 == 1;
            if twice || first.reduces != now.reduces || whole(named.threads) != whole(now.threads) {
                let own = named.arrivals.iter().find(|arrival| arrival.warp == warp.number);
                let before = *own.unwrap_or(&first);
                return Err(self.convict_arrival(warp, id, before, now));
            }
        }
        let goes_on = self.context.schedule == Schedule::EvenFirst;
        if let Some(before) = self.unmet_before(id, now).filter(|_| !goes_on) {
            return Err(self.convict_mixed(warp, id, before, now));
        }
        let missing = now.lanes != u32::MAX && now.lanes != Warp::existing(warp.number, self.context.shape.block);
        let named = &mut self.state.barriers.all[id as usize];
        named.threads = named.threads.max(now.threads);
        named.warps |= 1 << warp.number;
        named.arrivals.push(now);
        // Of a barrier for some threads only, nobody else is missed.
        if now.threads == 0 && (missing || self.state.ended != 0) {
            self.state.barriers.some_had_ended = true;
            self.note_ended(warp, now.lanes, now.at);
        }
        self.note_arrival(id, now);
        self.complete(warp, id);
        Ok(())
    }

    /// Lets those go who wait at a barrier, if it is complete.
    fn complete(&mut self, warp: &mut Warp, id: u32) {
        let named = &self.state.barriers.all[id as usize];
        let complete = match named.threads {
            0 => named.warps | self.state.ended == self.state.all_warps(),
            count => named.warps.count_ones() * LANES as u32 >= count,
        };
        if complete {
            self.release(warp, id);
        }
    }

    /// Lets those go who wait at a barrier. `present` is the warp that runs, and not in the list.
    fn release(&mut self, present: &mut Warp, id: u32) {
        let program = self.context.program;
        let named = &mut self.state.barriers.all[id as usize];
        (named.threads, named.warps) = (0, 0);
        let mut arrivals = std::mem::take(&mut named.arrivals);
        if arrivals.iter().any(|arrival| arrival.threads != 0) {
            named.last.clone_from(&arrivals);
        }
        self.note_release(present, id, &arrivals);
        let first = arrivals.first().copied();
        let apart = first.and_then(|first| Some([first, *arrivals.iter().find(|arrival| arrival.at != first.at)?]));
        self.state.barriers.apart = apart.map(|arrivals| (id, arrivals));
        let (mut count, mut all) = (0, true);
        for arrival in arrivals.iter().filter(|arrival| arrival.reduces) {
            let warp =
                if arrival.warp == present.number { &*present } else { &self.state.warps[arrival.warp as usize] };
            for path in warp.paths.iter().filter(|path| path.wait == Wait::Barrier(id)) {
                if let Exit::Barrier { barrier: Barrier { reduce: Some((_, _, predicate)), .. }, .. } =
                    program.blocks[path.block as usize].exit
                {
                    let yes = warp.p[predicate as usize] & path.mask & arrival.lanes;
                    count += yes.count_ones();
                    all &= yes == path.mask & arrival.lanes;
                }
            }
        }
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            let listed = arrival.warp != present.number;
            let warp = if listed { &mut self.state.warps[arrival.warp as usize] } else { &mut *present };
            warp.state = State::Ready;
            for index in 0..warp.paths.len() {
                let path = warp.paths[index];
                if path.wait != Wait::Barrier(id) {
                    continue;
                }
                let Exit::Barrier { barrier, next } = program.blocks[path.block as usize].exit else { continue };
                let set = |yes: bool| if yes { u32::MAX } else { 0 };
                match barrier.reduce {
                    Some((Reduce::Popc, result, _)) => warp.r[result as usize].set(&[count; LANES], path.mask),
                    Some((Reduce::And, result, _)) => set_predicate(warp, result, set(all), path.mask),
                    Some((Reduce::Or, result, _)) => set_predicate(warp, result, set(count > 0), path.mask),
                    None => {}
                }
                warp.let_go(index, next);
            }
        }
        self.state.phase += 1;
        arrivals.clear();
        self.state.barriers.all[id as usize].arrivals = arrivals;
    }

    /// A warp has ended: barriers for all of the block no longer wait for it.
    #[inline(never)]
    pub(crate) fn end_warp(&mut self, warp: &mut Warp) {
        warp.state = State::Done;
        self.state.ended |= 1 << warp.number;
        for id in 0..BARRIERS {
            let named = &self.state.barriers.all[id as usize];
            if named.warps != 0 && named.threads == 0 {
                self.complete(warp, id);
            }
        }
    }

    /// Once all live lanes of a warp are at one aligned barrier they go on as one path, and once they are at barriers of one
    /// number it has arrived. Says whether either was so.
    pub(crate) fn gather(&mut self, warp: &mut Warp) -> Result<bool, Box<Fault>> {
        let gathers = |path: &&Path| matches!(path.wait, Wait::Others(_) | Wait::Gathering(_));
        let Some(&top) = warp.paths.iter().rev().find(gathers) else { return Ok(false) };
        let block = &self.context.program.blocks[top.block as usize];
        let (Exit::Barrier { barrier, next }, at) = (block.exit, block.exit_info.unwrap_or(0)) else {
            return Ok(false);
        };
        let here = |path: &Path| path.wait == top.wait && (path.block == top.block || !barrier.aligned);
        let lanes = warp.paths.iter().filter(|path| here(path)).fold(0, |lanes, path| lanes | path.mask) & warp.live;
        if let Wait::Others(awaited) = top.wait
            && awaited & !warp.live != 0
        {
            // Who has ended did not come.
            return Err(self.convict_divergent_barrier(warp, lanes, warp.live | awaited, at));
        }
        if lanes != warp.live {
            return Ok(false);
        }
        if let Wait::Gathering(id) = top.wait {
            self.arrive_by_parts(warp, id, (barrier, at))?;
            return Ok(true);
        }
        let calls = |path: &Path| warp.calls_of(path.mask & warp.live);
        let apart = |path: &Path| path.meet != top.meet || calls(path) != calls(&top);
        if warp.paths.iter().any(|path| here(path) && apart(path)) {
            return Err(self.convict_divergent_barrier(warp, top.mask & warp.live, warp.live, at));
        }
        warp.paths.retain(|path| !here(path));
        let whole = Path { mask: lanes, wait: Wait::No, ..top };
        warp.paths.push(whole);
        warp.drop_dead_paths();
        self.reach_barrier(warp, whole, lanes, (barrier, at, next))?;
        Ok(true)
    }

    /// A warp arrives whose lanes are at several instructions.
    fn arrive_by_parts(&mut self, warp: &mut Warp, id: u32, (barrier, at): (Barrier, u32)) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let (mut threads, mut waits) = (None, false);
        for index in 0..warp.paths.len() {
            let path = warp.paths[index];
            if path.wait != Wait::Gathering(id) {
                continue;
            }
            let Exit::Barrier { barrier, next } = program.blocks[path.block as usize].exit else { continue };
            let count = self.check_barrier(warp, barrier, path.mask & warp.live, at)?.1;
            if threads.replace(count).is_some_and(|before| before != count) {
                let what = format!("barrier {id} is for different counts of threads in one warp, one of them {count}");
                return Err(self.convict_barrier(warp, path.mask & warp.live, at, what, "name one count"));
            }
            if barrier.arrive_only {
                warp.let_go(index, next);
            } else {
                waits = true;
                warp.paths[index].wait = Wait::Barrier(id);
            }
        }
        let (lanes, reduces, threads) = (warp.live, barrier.reduce.is_some(), threads.unwrap_or(0));
        self.arrive(warp, id, Arrival { warp: warp.number, lanes, at, threads, reduces, waits })
    }
}
