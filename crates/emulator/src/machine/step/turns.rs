//! Which thread block a worker steps, and for how long.
//!
//! Blocks start in the order of the schedule. A block runs to its end, unless it makes no progress by itself: all that
//! its warps do is to ask for what does not come, or it has run for very long. Then it is put aside. If it has written
//! something since, the block that started before it goes on, which may have waited for that; if not, the next one
//! starts, as long as the GPU has room for it beside those that are put aside; else, again, the one before it goes on,
//! and behind the first comes the last. When all of them have had a turn in vain, each is looked at closely: if every
//! warp repeats itself, they wait for each other for ever.
//!
//! Only blocks of a kernel with atomics or volatile accesses in global memory are put aside, and those of a cluster that may
//! meet: others cannot wait. Blocks of such a cluster start together, in the order of their ranks, and the last of them has
//! the first turn; a cluster starts where a block would, if the GPU has room for all of it. Clusters that
//! wait for no other run one after the other, or on several cores: each on one.
//!
//! What is held of those that have started, and how many these are, `clusters::residency` says.
//!
//! This order depends on the launch alone, and not on how many cores there are.

use crate::machine::state::block::BlockState;
use crate::machine::state::probe::Stuck;
use crate::machine::state::worker::{Pause, Worker};
use crate::{Fault, Schedule};

/// Warp instructions after which a block is put aside although it makes progress.
const PATIENCE: u64 = 1 << 26;
/// Short turns after which a block has run for long.
const LONG: u64 = 1 << 16;
/// How many thread blocks take turns where turns are short.
const SHORT: u64 = 4;

/// Steps the worker's present block until it pauses, traced or not.
pub(crate) type Step<'a> = &'a mut dyn FnMut(&mut Worker) -> Result<Pause, Box<Fault>>;

/// How a block's turn ended.
enum Turn {
    Ended,
    /// Whether it wrote or got anywhere, and what shows that it never will by itself.
    Stalled {
        progress: bool,
        stuck: Option<Stuck>,
    },
}

/// Runs thread blocks that wait for no other, or only for those of their cluster, one after the other, as `next` gives them.
pub(crate) fn run_alone(
    worker: &mut Worker,
    next: &mut dyn FnMut() -> Option<u64>,
    step: Step,
) -> Result<(), Box<Fault>> {
    let unit = worker.context.unit();
    while let Some(number) = next() {
        if unit > 1 {
            run_together(worker, &mut [number].into_iter(), &mut *step)?;
            continue;
        }
        worker.start(number);
        while !matches!(worker.take_turn(&mut *step, false)?, Turn::Ended) {}
    }
    Ok(())
}

/// Runs thread blocks that may wait for each other, in this order: of blocks, or of clusters that start together.
pub(crate) fn run_together(
    worker: &mut Worker,
    order: &mut dyn ExactSizeIterator<Item = u64>,
    step: Step,
) -> Result<(), Box<Fault>> {
    let mut ring = Ring { at: 0 };
    let unit = worker.context.unit();
    // Turns in vain since the last progress, the warps that they showed to be stuck, and rounds of such turns.
    let (mut vain, mut stuck, mut rounds) = (0, Vec::new(), 0u32);
    let residency = worker.context.residency.max(unit) as usize;
    loop {
        let started = worker.others.aside.len();
        let short = worker.context.schedule == Schedule::ShortTurns && started < residency.min(SHORT as usize);
        let can_start = started == 0 || started + unit as usize <= residency;
        if (started == 0 || vain > 0 || short)
            && can_start
            && let Some(number) = order.next()
        {
            ring.start(worker, number, unit);
            (vain, rounds) = (0, 0);
            stuck.clear();
        } else if started == 0 {
            return Ok(());
        }
        ring.resume(worker);
        let ended = match worker.take_turn(&mut *step, rounds.is_power_of_two())? {
            Turn::Ended => true,
            Turn::Stalled { progress: false, stuck: found } => {
                vain += 1;
                stuck.extend(found);
                false
            }
            Turn::Stalled { .. } => {
                (vain, rounds) = (0, 0);
                stuck.clear();
                false
            }
        };
        ring.put_aside(worker, ended);
        let started = worker.others.aside.len();
        if ended {
            (vain, rounds) = (0, 0);
            stuck.clear();
        } else if vain >= started && (order.len() == 0 || started + unit as usize > residency) {
            if stuck.len() == vain {
                // Who waits at the barrier of a cluster mostly waits for one who waits for something else.
                let first = stuck.iter().position(|stuck| !stuck.waits_for_cluster()).unwrap_or_default();
                ring.at =
                    worker.others.aside.iter().position(|state| state.block == stuck[first].block).unwrap_or_default();
                ring.resume(worker);
                // Who else of that block waits, and where.
                worker.probe()?;
                return Err(worker.convict_wait(stuck[first], &stuck, order.len() as u64 * unit));
            }
            (vain, rounds) = (0, rounds + 1);
            stuck.clear();
        }
    }
}

/// Takes turns among the blocks that have started.
struct Ring {
    /// Whose turn it is.
    at: usize,
}

impl Ring {
    /// A block starts, or all of a cluster; the last one has the next turn.
    fn start(&mut self, worker: &mut Worker, number: u64, unit: u64) {
        let round = worker.context.schedule.turns_round();
        for n in 0..unit {
            let rank = if round { unit - 1 - n } else { n };
            let mut state = worker.others.free.pop().unwrap_or_else(|| BlockState::new(worker.context));
            state.start(worker.context, number * unit + rank);
            worker.others.aside.push(state);
        }
        self.at = worker.others.aside.len() - 1;
    }

    /// The worker gets the block whose turn it is, or gives it back. (Its own state stands there meanwhile.)
    fn resume(&mut self, worker: &mut Worker) {
        std::mem::swap(&mut worker.state, &mut worker.others.aside[self.at]);
    }

    /// The block goes back where it was, or its room is free; the one that started before it is next.
    fn put_aside(&mut self, worker: &mut Worker, ended: bool) {
        std::mem::swap(&mut worker.state, &mut worker.others.aside[self.at]);
        if ended {
            let state = worker.others.aside.remove(self.at);
            worker.others.free.push(state);
        }
        self.at = self.at.checked_sub(1).unwrap_or(worker.others.aside.len().saturating_sub(1));
    }
}

#[cfg(test)]
impl Worker<'_> {
    /// Thread blocks that there is room for, its own among them, and those of which the order model knows the threads and the
    /// shared memory.
    pub fn held(&self) -> [usize; 2] {
        [
            1 + self.others.aside.len() + self.others.free.len(),
            self.clocks.as_ref().map(|clocks| clocks.held()).unwrap_or_default(),
        ]
    }
}

impl Worker<'_> {
    /// Steps the present block until it ends or makes no progress by itself. `closely`: looks whether it ever will.
    fn take_turn(&mut self, step: Step, closely: bool) -> Result<Turn, Box<Fault>> {
        let others = self.context.program.synchronises_globally || self.context.unit() > 1;
        let (writes, moves, end) = (self.state.writes, self.state.moves, self.state.executed + PATIENCE);
        loop {
            let idle = match step(self)? {
                Pause::Ended => {
                    self.check_left()?;
                    self.leave_cluster()?;
                    self.check_registers()?;
                    self.note_end();
                    self.context.note_progress();
                    return Ok(Turn::Ended);
                }
                Pause::Blocked => return Err(self.convict_blocked()),
                Pause::Turn { idle } => idle,
            };
            self.state.turns += 1;
            let progress = |worker: &Worker| worker.state.writes != writes || worker.state.moves != moves;
            let turns = self.state.turns;
            let short = self.context.schedule == Schedule::ShortTurns;
            if closely && idle || turns.is_power_of_two() && (!short || turns >= LONG) {
                match self.probe()? {
                    Some(stuck) if !self.others_may_free(&stuck) => {
                        return Err(self.convict_wait(stuck, &[], 0));
                    }
                    Some(stuck) => return Ok(Turn::Stalled { progress: progress(self), stuck: Some(stuck) }),
                    None => {}
                }
            }
            if others && (idle || short || self.state.executed > end) {
                return Ok(Turn::Stalled { progress: progress(self) || !idle, stuck: None });
            }
        }
    }
}
