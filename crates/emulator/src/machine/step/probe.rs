//! Endless loops and waits without end: found by a state that comes again, never by the time that passed.
//!
//! Where a warp has run for long, it is run on block by block of code, and its registers are compared with earlier ones
//! (Brent's way to find a cycle). If all are as they were, and it changed no memory since, it will do the same for ever,
//! unless somebody else changes what it reads.

use super::dispatch::step_probed;
use crate::Fault;
use crate::machine::lanes::Lanes;
use crate::machine::state::call_stack::Stack;
use crate::machine::state::probe::{Loads, Seen, Stuck};
use crate::machine::state::warp::{Path, State, Warp};
use crate::machine::state::worker::Worker;

/// How many blocks of code a warp is run on in search of a state that comes again.
const STEPS: u32 = 1 << 12;
/// Turns after which a warp counts as waiting though it looks at the clock.
const LONG: u64 = 1 << 6;
/// And how many warp instructions.
const INSTRUCTIONS: u64 = 1 << 18;

/// A warp's state, as far as it decides what the warp does next.
struct Snapshot {
    r: Vec<Lanes<u32>>,
    d: Vec<Lanes<u64>>,
    p: Vec<u32>,
    live: u32,
    paths: Vec<Path>,
    stacks: Vec<Stack>,
}

impl Snapshot {
    fn of(warp: &Warp) -> Snapshot {
        let (r, d, p) = (warp.r.clone(), warp.d.clone(), warp.p.clone());
        Snapshot { r, d, p, live: warp.live, paths: warp.paths.clone(), stacks: warp.stacks.clone() }
    }

    fn is(&self, warp: &Warp) -> bool {
        self.live == warp.live
            && self.paths == warp.paths
            && self.stacks == warp.stacks
            && self.p == warp.p
            && self.r.iter().zip(&warp.r).all(|(a, b)| a.0 == b.0)
            && self.d.iter().zip(&warp.d).all(|(a, b)| a.0 == b.0)
    }
}

impl Worker<'_> {
    /// Whether every warp that does not wait repeats itself: then one of them, if possible one that other thread blocks
    /// may set free.
    #[inline(never)]
    pub(crate) fn probe(&mut self) -> Result<Option<Stuck>, Box<Fault>> {
        let mut found: Option<Stuck> = None;
        self.probing.stuck.clear();
        let mut spare = Box::new(Warp::default());
        for index in 0..self.state.warps.len() {
            if self.state.warps[index].state != State::Ready {
                continue;
            }
            let mut warp = std::mem::replace(&mut self.state.warps[index], spare);
            self.probing.frozen = (self.state.turns >= LONG).then_some(self.state.executed);
            let stuck = self.probe_warp(&mut warp);
            self.probing.frozen = None;
            spare = std::mem::replace(&mut self.state.warps[index], warp);
            let Some(stuck) = stuck? else { return Ok(None) };
            self.probing.stuck.push(stuck);
            found = found.filter(|found| found.loads.global || !stuck.loads.global).or(Some(stuck));
        }
        Ok(found)
    }

    /// Whether another thread block may set a warp free that repeats itself.
    pub(crate) fn others_may_free(&self, stuck: &Stuck) -> bool {
        let loads = stuck.loads;
        loads.global && self.context.program.synchronises_globally
            || self.context.unit() > 1 && (loads.cluster || loads.barrier || loads.shared)
    }

    /// Whether a warp repeats itself, on all of its paths.
    fn probe_warp(&mut self, warp: &mut Warp) -> Result<Option<Stuck>, Box<Fault>> {
        let (mut lanes, mut loads) = (0, Loads::default());
        loop {
            if !self.repeats(warp)? {
                return Ok(None);
            }
            let Some(path) = warp.paths.last().copied() else { return Ok(None) };
            lanes |= path.mask;
            loads = loads.and(self.probing.seen.loads);
            if warp.choose_without(lanes) || warp.go_ahead() {
                continue;
            }
            if loads.clock && !loads.barrier && !loads.cluster {
                return Ok(None);
            }
            let at = self.comes_to(path.block);
            let lane = (path.mask & warp.live).trailing_zeros();
            return Ok(Some(Stuck { block: self.state.block, warp: warp.number, lane, at, loads }));
        }
    }

    /// Whether the present path of a warp comes back to where it was, and changes nothing.
    fn repeats(&mut self, warp: &mut Warp) -> Result<bool, Box<Fault>> {
        let end = self.state.executed + INSTRUCTIONS;
        let (mut before, mut age, mut until) = (Snapshot::of(warp), 0, 1);
        self.probing.seen = Seen::default();
        for _ in 0..STEPS {
            self.stop_at = (self.state.executed + 1).min(self.context.instruction_limit);
            let moved = step_probed(self, warp)?;
            if moved || self.probing.seen.changed || self.state.executed > end {
                return Ok(false);
            }
            if before.is(warp) {
                return Ok(true);
            }
            age += 1;
            if age == until {
                (before, age, until) = (Snapshot::of(warp), 0, 2 * until);
                self.probing.seen = Seen::default();
            }
        }
        Ok(false)
    }
}
