//! A thread block: its warps take turns until each has ended, meeting at barriers.

use super::alu::{self, Slots};
use super::cells::Cells;
use super::dispatch::TRACED;
use super::general;
use super::global_access::GlobalCache;
use super::lanes::LANES;
use super::race::{EPOCH_LIMIT, Stamp};
use super::shared_access::SharedCache;
use super::tally::Tally;
use super::warp::{Path, Shape, State, Warp};
use crate::Fault;
use crate::global::GlobalMemory;
use crate::program::{Barrier, Exit, Op, Program, Reduce};
use crate::trace::TracedAccess;

/// Blocks of code that a warp may pass before another warp has its turn.
const TURN: u32 = 1 << 16;

/// What all workers of a launch share.
pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub shape: Shape,
    pub parameters: Vec<u8>,
    /// What constant memory holds.
    pub constants: &'a [u8],
    pub memory: &'a GlobalMemory,
    pub sanitize: bool,
    pub instruction_limit: u64,
    pub last_first: bool,
}

impl Context<'_> {
    /// Which thread block has the `n`th turn, from 0; as well, which turn thread block `n` has.
    pub fn turn(&self, n: u64) -> u64 {
        if self.last_first { self.shape.grid.count() - 1 - n } else { n }
    }
}

/// Runs thread blocks, one after the other, on one core.
pub(crate) struct Worker<'a> {
    pub context: &'a Context<'a>,
    pub tally: Tally,
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Vec<u32>,
    /// One cell per grain of shared memory; none unless the launch is watched.
    pub(super) cells: Cells,
    pub(super) shared_bytes: u32,
    /// Barriers passed, over all thread blocks that this worker ran: each starts an epoch of its own.
    pub(super) epoch: u32,
    /// The epoch in which the present thread block started.
    pub(super) first_epoch: u32,
    pub(super) block: u64,
    /// Atomics and other ordered accesses to global memory of the present thread block; of those that ran before it, by
    /// turn, where blocks run one by one.
    pub(super) orders: u32,
    pub(super) orders_before: Vec<u32>,
    pub(super) global_caches: Vec<GlobalCache>,
    pub(super) shared_caches: Vec<SharedCache>,
    pub(super) executed: u64,
    /// Barriers that the present thread block has passed.
    pub(super) phase: u32,
    /// Asynchronous copies of all warps that have not landed.
    pub(super) copies_under_way: u32,
    /// What traced thread blocks accessed.
    pub traced: Vec<TracedAccess>,
}

impl<'a> Worker<'a> {
    pub fn new(context: &'a Context<'a>) -> Worker<'a> {
        let program = context.program;
        let warps = context.shape.block.count().div_ceil(LANES as u64) as u32;
        let shared_bytes = match context.shape.dynamic_shared {
            0 => program.static_shared,
            dynamic => program.dynamic_shared + dynamic,
        };
        let cells = if context.sanitize { shared_bytes.div_ceil(program.shared_grain) } else { 0 };
        Worker {
            context,
            tally: Tally::new(program),
            warps: (0..warps).map(|number| Warp::new(program, number)).collect(),
            shared: vec![0; shared_bytes.div_ceil(4) as usize],
            cells: Cells::new(cells as usize),
            shared_bytes,
            epoch: 0,
            first_epoch: 0,
            block: 0,
            orders: 0,
            orders_before: Vec::new(),
            global_caches: vec![GlobalCache::default(); program.accesses.len()],
            shared_caches: vec![SharedCache::default(); program.accesses.len()],
            executed: 0,
            phase: 0,
            copies_under_way: 0,
            traced: Vec::new(),
        }
    }

    /// Runs thread block `block` to its end.
    #[inline(always)]
    pub fn run<const CPU: u8>(&mut self, block: u64) -> Result<(), Box<Fault>> {
        self.start(block);
        loop {
            let mut ran = false;
            for index in 0..self.warps.len() {
                if self.warps[index].state == State::Ready {
                    // The warp leaves the list while it runs, so that both can be borrowed.
                    let mut warp = std::mem::replace(&mut self.warps[index], Warp::placeholder());
                    let result = self.run_warp::<CPU>(&mut warp);
                    self.warps[index] = warp;
                    result?;
                    ran = true;
                }
            }
            if !ran && !self.release_barrier()? {
                return Ok(());
            }
        }
    }

    fn start(&mut self, block: u64) {
        let context = self.context;
        if context.turn(block) > 0 {
            self.orders_before.push(self.orders);
        }
        self.block = block;
        self.orders = 0;
        self.executed = 0;
        self.phase = 0;
        self.copies_under_way = 0;
        if self.epoch + 1 >= EPOCH_LIMIT / 2 {
            self.cells.forget();
            self.epoch = 0;
        }
        // In the epoch before the first, nothing runs: copies under way have it.
        self.epoch += 2;
        self.first_epoch = self.epoch;
        // What nobody wrote reads as NaN.
        self.shared.fill(u32::MAX);
        let at = context.shape.block_at(block);
        for warp in &mut self.warps {
            warp.start(context.program, &context.shape, at);
        }
    }

    /// Runs a warp until it waits, ends, or has had its turn.
    #[inline(always)]
    fn run_warp<const CPU: u8>(&mut self, warp: &mut Warp) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        for _ in 0..TURN {
            let Some(&path) = warp.paths.last() else {
                warp.state = State::Done;
                return Ok(());
            };
            let mask = path.mask & warp.live;
            if mask == 0 || path.block == path.meet {
                warp.paths.pop();
                continue;
            }
            let block = &program.blocks[path.block as usize];
            let passes = &mut self.tally.blocks[path.block as usize];
            passes.warps += 1;
            passes.threads += u64::from(mask.count_ones());
            self.executed += u64::from(block.end - block.start) + 1;
            if self.executed > self.context.instruction_limit {
                return Err(self.convict_stuck(warp, path.block, mask));
            }
            let mut at = block.start;
            while at < block.end {
                let run = program.fma_runs[at as usize];
                if run > 1 && warp.taint.is_none() {
                    alu::fma_run::<CPU>(warp, &program.code[at as usize..(at + run) as usize], mask);
                    at += run;
                } else {
                    self.step::<CPU>(warp, at, mask)?;
                    at += 1;
                }
            }
            match block.exit {
                Exit::Jump(next) => advance(warp, next),
                Exit::Branch { predicate, negated, target, fall, meet } => {
                    if warp.taint.is_some() {
                        self.check_branch(warp, predicate, mask, block.exit_info)?;
                    }
                    let taken = mask & warp.predicate(predicate, negated);
                    if taken == mask {
                        advance(warp, target);
                    } else if taken == 0 {
                        advance(warp, fall);
                    } else {
                        self.tally.blocks[path.block as usize].divergent += 1;
                        diverge(warp, program, [(fall, mask & !taken), (target, taken)], meet);
                    }
                }
                Exit::Barrier { barrier, next } => {
                    advance(warp, next);
                    if self.arrive(warp, barrier, mask, block.exit_info)? {
                        return Ok(());
                    }
                }
                Exit::Return => warp.live &= !mask,
                Exit::Trap => return Err(self.convict_trap(warp, block.exit_info, mask)),
            }
        }
        Ok(())
    }

    /// Executes one instruction for the lanes of `mask`.
    #[inline(always)]
    fn step<const CPU: u8>(&mut self, warp: &mut Warp, at: u32, mask: u32) -> Result<(), Box<Fault>> {
        let instruction = &self.context.program.code[at as usize];
        let mut mask = mask;
        if let Some(guard) = instruction.guard {
            let on = mask & warp.predicate(guard.predicate, guard.negated);
            self.tally.idle_threads[at as usize] += u64::from((mask & !on).count_ones());
            self.tally.idle_warps[at as usize] += u64::from(on == 0);
            if warp.taint.is_some() {
                self.check_guard(warp, guard.predicate, mask, at)?;
            }
            mask = on;
            if mask == 0 {
                return Ok(());
            }
        }
        if warp.taint.is_some() {
            self.propagate_taint(warp, at, mask)?;
        }
        if CPU == TRACED {
            self.trace(warp, at, mask);
        }
        match instruction.op {
            Op::Alu { code, d, a, b, c } => alu::execute(warp, code, Slots { d, a, b, c }, mask),
            Op::Load(index) => self.load::<CPU>(warp, index, mask)?,
            Op::Store(index) => self.store(warp, index, mask)?,
            _ => self.step_rare(warp, at, mask)?,
        }
        Ok(())
    }

    #[inline(never)]
    fn step_rare(&mut self, warp: &mut Warp, at: u32, mask: u32) -> Result<(), Box<Fault>> {
        match self.context.program.code[at as usize].op {
            Op::Lop3 { d, a, b, c, table } => alu::lop3(warp, Slots { d, a, b, c }, table, mask),
            Op::General { code, d, sources } => general::execute(warp, code, d, sources, mask),
            Op::Extended(index) => self.extended(warp, index, mask, at)?,
            Op::Shuffle { mode, d, valid, a, b, c, members } => {
                self.check_members(warp, members, mask, at)?;
                warp.shuffle(mode, [d, valid, a, b, c], mask);
            }
            Op::Vote { mode, d, predicate, negated, members } => {
                self.check_members(warp, members, mask, at)?;
                warp.vote(mode, d, predicate, negated, mask);
            }
            Op::ActiveMask { d } => warp.r[d as usize].set(&[mask; LANES], mask),
            Op::WarpSync { members } => self.warp_sync(warp, members, mask, at)?,
            // With a flag, or an atomic operation, a fence orders threads of a block as a barrier would.
            Op::Fence if self.context.program.synchronises => self.epoch += 1,
            Op::Fence => {}
            Op::Alu { .. } | Op::Load(_) | Op::Store(_) => unreachable!("`step` handles these"),
        }
        Ok(())
    }

    /// The stamp of an access by this warp, for its lane 0.
    #[inline(always)]
    pub(super) fn stamp(&self, warp: &Warp, at: u32) -> Stamp {
        Stamp::new(self.epoch, warp.epoch, at, warp.number * LANES as u32)
    }

    /// A warp reaches a barrier. Says whether it waits.
    fn arrive(&mut self, warp: &mut Warp, barrier: Barrier, mask: u32, at: Option<u32>) -> Result<bool, Box<Fault>> {
        let at = at.unwrap_or(0);
        let mut on = mask;
        if let Some(guard) = barrier.guard {
            on &= warp.predicate(guard.predicate, guard.negated);
            if on == 0 {
                return Ok(false);
            }
        }
        if on != warp.live {
            return Err(self.convict_divergent_barrier(warp, on, at));
        }
        let lane = on.trailing_zeros() as usize;
        let id = warp.r[barrier.id as usize].0[lane];
        let threads = barrier.threads.map_or(0, |slot| warp.r[slot as usize].0[lane]);
        warp.pending = Some((barrier, on));
        warp.state = State::Waiting { id, threads, at };
        Ok(true)
    }

    /// When no warp can run: lets those go whose barrier is complete. Says whether any goes on.
    #[inline(never)]
    fn release_barrier(&mut self) -> Result<bool, Box<Fault>> {
        let Some(first) = self.warps.iter().position(|warp| warp.state != State::Done) else { return Ok(false) };
        let mut ids: Vec<u32> = Vec::new();
        for warp in &self.warps {
            if let State::Waiting { id, .. } = warp.state
                && !ids.contains(&id)
            {
                ids.push(id);
            }
        }
        for id in ids {
            if self.complete(id) {
                self.let_go(id);
                return Ok(true);
            }
        }
        Err(self.convict_incomplete_barrier(first))
    }

    /// Whether as many threads have arrived at barrier `id` as it is for.
    fn complete(&self, id: u32) -> bool {
        let (mut arrived, mut wanted) = (0, 0);
        for warp in &self.warps {
            if let State::Waiting { id: at, threads, .. } = warp.state
                && at == id
            {
                arrived += LANES as u32;
                wanted = wanted.max(threads);
            }
        }
        // Without a count, the barrier is for all threads that have not ended.
        let live = self.warps.iter().filter(|warp| warp.state != State::Done).count() as u32 * LANES as u32;
        arrived >= if wanted == 0 { live } else { wanted }
    }

    fn let_go(&mut self, id: u32) {
        self.epoch += 1;
        self.phase += 1;
        let waiting = |warp: &Warp| matches!(warp.state, State::Waiting { id: at, .. } if at == id);
        let mut votes: Vec<(u32, u32)> = Vec::new();
        for warp in self.warps.iter().filter(|warp| waiting(warp)) {
            if let Some((Barrier { reduce: Some((_, _, predicate)), .. }, mask)) = warp.pending {
                votes.push((warp.p[predicate as usize] & mask, mask));
            }
        }
        let count: u32 = votes.iter().map(|(yes, _)| yes.count_ones()).sum();
        let all = votes.iter().all(|(yes, mask)| yes == mask);
        for warp in self.warps.iter_mut().filter(|warp| waiting(warp)) {
            warp.state = State::Ready;
            warp.epoch = 0;
            if let Some((Barrier { reduce: Some((reduce, result, _)), .. }, mask)) = warp.pending.take() {
                let set = |yes: bool| if yes { u32::MAX } else { 0 };
                match reduce {
                    Reduce::Popc => warp.r[result as usize].set(&[count; LANES], mask),
                    Reduce::And => alu::set_predicate(warp, result, set(all), mask),
                    Reduce::Or => alu::set_predicate(warp, result, set(count > 0), mask),
                }
            }
        }
    }

    fn warp_sync(&mut self, warp: &mut Warp, members: u32, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        self.check_members(warp, members, mask, at)?;
        warp.epoch += 1;
        Ok(())
    }

    /// Every live lane that the register `members` names must be here.
    pub(super) fn check_members(&self, warp: &Warp, members: u32, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        let lane = mask.trailing_zeros() as usize;
        let members = warp.r[members as usize].0[lane] & warp.live;
        match members & !mask {
            0 => Ok(()),
            _ => Err(self.convict_divergent_warp_barrier(warp, members, mask, at)),
        }
    }
}

#[inline(always)]
fn advance(warp: &mut Warp, next: u32) {
    if let Some(path) = warp.paths.last_mut() {
        path.block = next;
    }
}

/// Splits the present path in two that meet at `meet`; the second runs first. Lanes that go straight to
/// the kernel's end, end.
fn diverge(warp: &mut Warp, program: &Program, sides: [(u32, u32); 2], meet: u32) {
    advance(warp, meet);
    let end = program.blocks.len() as u32 - 1;
    for (block, mask) in sides {
        if block == end {
            warp.live &= !mask;
        } else if block != meet {
            warp.paths.push(Path { block, meet, mask });
        }
    }
}
