//! A thread block: its warps take turns until each has ended, meeting at barriers.

use super::alu::{self, Slots};
use super::async_copy::SourceUnderWay;
use super::dispatch::TRACED;
use super::general;
use super::global_access::GlobalCache;
use super::lanes::LANES;
use super::order::Clocks;
use super::race::Stamp;
use super::shared_access::SharedCache;
use super::state::BlockState;
use super::tally::Tally;
use super::warp::{Path, Shape, State, Warp};
use crate::Fault;
use crate::global::GlobalMemory;
use crate::program::{Barrier, Exit, Op, Program, Reduce};
use crate::trace::TracedAccess;
use std::sync::atomic::AtomicBool;

/// Blocks of code that a warp may pass before another warp has its turn.
const TURN: u32 = 1 << 16;

/// What all workers of a launch share.
pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub shape: Shape,
    pub parameters: Vec<u8>,
    pub memory: &'a GlobalMemory,
    pub sanitize: bool,
    pub instruction_limit: u64,
    pub last_first: bool,
    /// All is watched by the order model, whatever the program seems to need.
    pub thorough: bool,
    /// Stamps found a race that the order model might not.
    pub doubtful: AtomicBool,
}

impl Context<'_> {
    /// Which thread block has the `n`th turn, from 0; as well, which turn thread block `n` has.
    pub fn turn(&self, n: u64) -> u64 {
        if self.last_first { self.shape.grid.count() - 1 - n } else { n }
    }

    /// Shared memory of a thread block, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        match self.shape.dynamic_shared {
            0 => self.program.static_shared,
            dynamic => self.program.dynamic_shared + dynamic,
        }
    }
}

/// Runs thread blocks, one after the other, on one core.
pub(crate) struct Worker<'a> {
    pub context: &'a Context<'a>,
    pub tally: Tally,
    /// The thread block that it steps.
    pub(super) state: BlockState,
    pub(super) shared_bytes: u32,
    /// The order of threads, where it takes more than stamps.
    pub(super) clocks: Option<Box<Clocks>>,
    /// What asynchronous copies under way still read of memory that the launch may write.
    pub(super) sources: Vec<SourceUnderWay>,
    pub(super) global_caches: Vec<GlobalCache>,
    pub(super) shared_caches: Vec<SharedCache>,
    /// What traced thread blocks accessed.
    pub traced: Vec<TracedAccess>,
}

impl<'a> Worker<'a> {
    pub fn new(context: &'a Context<'a>) -> Worker<'a> {
        let program = context.program;
        let warps = context.shape.block.count().div_ceil(LANES as u64) as u32;
        let clocks = context.sanitize.then(|| Clocks::new(program, warps, context.thorough));
        Worker {
            context,
            tally: Tally::new(program),
            state: BlockState::new(context),
            shared_bytes: context.shared_bytes(),
            clocks: clocks.flatten(),
            sources: Vec::new(),
            global_caches: vec![GlobalCache::default(); program.accesses.len()],
            shared_caches: vec![SharedCache::default(); program.accesses.len()],
            traced: Vec::new(),
        }
    }

    /// Runs thread block `block` to its end.
    #[inline(always)]
    pub fn run<const CPU: u8>(&mut self, block: u64) -> Result<(), Box<Fault>> {
        self.start(block);
        loop {
            let mut ran = false;
            for index in 0..self.state.warps.len() {
                if self.state.warps[index].state == State::Ready {
                    // The warp leaves the list while it runs, so that both can be borrowed.
                    let mut warp = std::mem::replace(&mut self.state.warps[index], Warp::placeholder());
                    let result = self.run_warp::<CPU>(&mut warp);
                    self.state.warps[index] = warp;
                    result?;
                    ran = true;
                }
            }
            if !ran && !self.release_barrier()? {
                self.end();
                return Ok(());
            }
        }
    }

    /// The thread block has ended.
    fn end(&mut self) {
        if let Some(clocks) = &mut self.clocks {
            clocks.end(self.state.block as u32);
        }
        let block = self.state.block;
        self.sources.retain(|source| source.block != block);
    }

    fn start(&mut self, block: u64) {
        if let Some(clocks) = &mut self.clocks {
            clocks.start(block as u32);
        }
        self.state.start(self.context, block);
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
            self.state.executed += u64::from(block.end - block.start) + 1;
            if self.state.executed > self.context.instruction_limit {
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
            Op::Fence { order, scope } => {
                if let Some(clocks) = &mut self.clocks {
                    clocks.fence(self.state.block as u32, warp.number, mask, order, scope);
                }
            }
            Op::Nothing => {}
            Op::Alu { .. } | Op::Load(_) | Op::Store(_) => unreachable!("`step` handles these"),
        }
        Ok(())
    }

    /// The stamp of an access by this warp, for its lane 0.
    #[inline(always)]
    pub(super) fn stamp(&self, warp: &Warp, at: u32) -> Stamp {
        Stamp::new(self.state.epoch, warp.epoch, at, warp.number * LANES as u32)
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
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive(self.state.block as u32, id, warp.number, on);
        }
        warp.pending = Some((barrier, on));
        warp.state = State::Waiting { id, threads, at };
        Ok(true)
    }

    /// When no warp can run: lets those go whose barrier is complete. Says whether any goes on.
    #[inline(never)]
    fn release_barrier(&mut self) -> Result<bool, Box<Fault>> {
        let Some(first) = self.state.warps.iter().position(|warp| warp.state != State::Done) else { return Ok(false) };
        let mut ids: Vec<u32> = Vec::new();
        for warp in &self.state.warps {
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
        for warp in &self.state.warps {
            if let State::Waiting { id: at, threads, .. } = warp.state
                && at == id
            {
                arrived += LANES as u32;
                wanted = wanted.max(threads);
            }
        }
        // Without a count, the barrier is for all threads that have not ended.
        let live = self.state.warps.iter().filter(|warp| warp.state != State::Done).count() as u32 * LANES as u32;
        arrived >= if wanted == 0 { live } else { wanted }
    }

    fn let_go(&mut self, id: u32) {
        self.order_barrier(id);
        self.state.epoch += 1;
        self.state.phase += 1;
        let waiting = |warp: &Warp| matches!(warp.state, State::Waiting { id: at, .. } if at == id);
        let mut votes: Vec<(u32, u32)> = Vec::new();
        for warp in self.state.warps.iter().filter(|warp| waiting(warp)) {
            if let Some((Barrier { reduce: Some((_, _, predicate)), .. }, mask)) = warp.pending {
                votes.push((warp.p[predicate as usize] & mask, mask));
            }
        }
        let count: u32 = votes.iter().map(|(yes, _)| yes.count_ones()).sum();
        let all = votes.iter().all(|(yes, mask)| yes == mask);
        for warp in self.state.warps.iter_mut().filter(|warp| waiting(warp)) {
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

    /// Tells the order model whom barrier `id` lets go. One without a count is for all threads: those that have ended
    /// count as arrived.
    fn order_barrier(&mut self, id: u32) {
        let Some(clocks) = &mut self.clocks else { return };
        let (mut waiting, mut ended, mut counted) = (Vec::new(), Vec::new(), false);
        for warp in &self.state.warps {
            if let State::Waiting { id: at, threads, .. } = warp.state
                && at == id
            {
                counted |= threads != 0;
                waiting.push((warp.number, warp.pending.map_or(warp.live, |(_, mask)| mask)));
            }
            let gone = warp.existing(self.context.shape.block) & !warp.live;
            if gone != 0 {
                ended.push((warp.number, gone));
            }
        }
        if counted {
            ended.clear();
        }
        let warps = &self.state.warps;
        let live = |number: u32| warps[number as usize].live;
        clocks.complete(self.state.block as u32, id, &waiting, &ended, live);
    }

    fn warp_sync(&mut self, warp: &mut Warp, members: u32, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        self.check_members(warp, members, mask, at)?;
        if let Some(clocks) = &mut self.clocks {
            let named = warp.r[members as usize].0[mask.trailing_zeros() as usize & 31];
            let lanes = named & warp.existing(self.context.shape.block) | mask;
            clocks.warp_barrier(self.state.block as u32, warp.number, lanes, warp.live);
        }
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
