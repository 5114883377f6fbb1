//! The interpreter: a warp's turn, block of code by block of code, instruction by instruction.

use crate::Fault;
use crate::machine::arithmetic::alu::{self, Slots};
use crate::machine::arithmetic::general;
use crate::machine::cpu::{PROBED, TRACED};
use crate::machine::lanes::LANES;
use crate::machine::state::warp::{Path, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Exit, Extension, Guard, Instruction, Op, Program};

impl Worker<'_> {
    /// Runs a warp until it waits, ends, or has had its turn: then it says `false`.
    #[inline(always)]
    pub(crate) fn run_warp<const CPU: u8>(&mut self, warp: &mut Warp) -> Result<bool, Box<Fault>> {
        let program = self.context.program;
        loop {
            // The path stays where it is: a copy of it, at each block of code, cost 3 % of level 2.
            let Some(path) = warp.paths.last() else {
                self.end_warp(warp);
                return Ok(true);
            };
            let (mask, place) = (path.mask & warp.live, path.block);
            if mask == 0 || place == path.meet {
                warp.paths.pop();
                if warp.waiting != 0 && !self.next_path(warp)? {
                    return Ok(true);
                }
                continue;
            }
            if self.state.executed >= self.stop_at {
                if self.state.executed >= self.context.instruction_limit {
                    return Err(self.convict_stuck(warp, place, mask));
                }
                return Ok(false);
            }
            let block = &program.blocks[place as usize];
            let passes = &mut self.tally.blocks[place as usize];
            passes.warps += 1;
            passes.threads += u64::from(mask.count_ones());
            self.state.executed += u64::from(block.stop - block.start) + 1;
            let mut at = block.start;
            while at < block.stop {
                let run = program.fma_runs[at as usize];
                if CPU != TRACED && run > 1 && warp.taint.is_none() && warp.group.is_none() {
                    alu::fma_run::<CPU>(warp, &program.code[at as usize..(at + run) as usize], mask);
                    at += run;
                } else {
                    self.step::<CPU>(warp, at, mask)?;
                    at += 1;
                }
            }
            if CPU == TRACED {
                self.record_exit(warp, place);
            }
            match block.exit {
                Exit::Jump(next) => warp.advance(next),
                Exit::Branch { predicate, negated, target, fall, meet } => {
                    if warp.taint.is_some() {
                        self.check_branch(warp, predicate, mask, block.exit_info)?;
                    }
                    let taken = mask & warp.predicate(predicate, negated);
                    if taken == mask {
                        warp.advance(target);
                    } else if taken == 0 {
                        warp.advance(fall);
                    } else {
                        self.tally.blocks[place as usize].divergent += 1;
                        let mut sides = [(fall, mask & !taken), (target, taken)];
                        if self.context.schedule.turns_round() {
                            sides.reverse();
                        }
                        warp.diverge(program, sides, meet);
                    }
                }
                Exit::Meeting(next) => {
                    if CPU == TRACED || CPU == PROBED && self.notes.tracing {
                        self.trace_meeting(warp, block.end - 1, mask);
                    }
                    if self.reach_meeting(warp, warp.path(), mask, next)? {
                        return Ok(true);
                    }
                }
                Exit::Barrier { barrier, next } => {
                    if self.reach_barrier(
                        warp,
                        warp.path(),
                        mask,
                        (barrier, block.exit_info.unwrap_or_default(), next),
                    )? {
                        return Ok(true);
                    }
                }
                Exit::Call { site, pointer, next } => {
                    let at = block.exit_info.unwrap_or_default();
                    warp.advance(next);
                    self.call(warp, mask, (site, pointer, at))?;
                }
                Exit::Leave => {
                    self.leave(warp, mask);
                    if warp.waiting != 0 && !self.next_path(warp)? {
                        return Ok(true);
                    }
                }
                Exit::Return => warp.live &= !mask,
                Exit::Trap => return Err(self.convict_trap(warp, block.exit_info, mask)),
            }
        }
    }

    /// Executes one instruction for the lanes of `mask`.
    #[inline(always)]
    fn step<const CPU: u8>(&mut self, warp: &mut Warp, at: u32, mask: u32) -> Result<(), Box<Fault>> {
        let instruction = &self.context.program.code[at as usize];
        let mut mask = mask;
        if let Some(guard) = instruction.guard {
            mask = self.guarded(warp, guard, mask, at)?;
            if mask == 0 {
                if CPU == TRACED {
                    self.record(warp, at, 0);
                }
                return Ok(());
            }
        }
        if warp.taint.is_some() {
            self.propagate_taint(warp, at, mask)?;
        }
        if warp.group.is_some() {
            self.watch_flight(warp, at)?;
        }
        if CPU == TRACED {
            self.record(warp, at, mask);
        }
        if CPU == TRACED || CPU == PROBED && self.notes.tracing {
            self.trace(warp, at, mask);
        }
        if CPU == PROBED {
            self.watch_change(warp, at, mask);
        }
        match instruction.op {
            Op::Alu { code, d, a, b, c } => alu::execute(warp, code, Slots { d, a, b, c }, mask),
            Op::Load(index) => self.load::<CPU>(warp, index, mask)?,
            Op::Store(index) => self.store(warp, index, mask)?,
            _ => self.step_rare(warp, at, mask)?,
        }
        if CPU == PROBED {
            self.see_change();
        }
        Ok(())
    }

    /// The lanes for which an instruction's guard holds; the others are counted as idle.
    #[inline(always)]
    fn guarded(&mut self, warp: &Warp, guard: Guard, mask: u32, at: u32) -> Result<u32, Box<Fault>> {
        let on = mask & warp.predicate(guard.predicate, guard.negated);
        self.tally.idle_threads[at as usize] += u64::from((mask & !on).count_ones());
        self.tally.idle_warps[at as usize] += u64::from(on == 0);
        if warp.taint.is_some() {
            self.check_guard(warp, guard.predicate, mask, at)?;
        }
        Ok(on)
    }

    /// The present path of a warp comes to an instruction at which lanes meet, or the warps of a warpgroup. Says whether the warp stops
    /// here.
    #[inline(never)]
    fn reach_meeting(&mut self, warp: &mut Warp, path: Path, mask: u32, next: u32) -> Result<bool, Box<Fault>> {
        let at = self.context.program.blocks[path.block as usize].end - 1;
        let instruction = self.context.program.code[at as usize];
        let mut on = mask;
        if let Some(guard) = instruction.guard {
            on = self.guarded(warp, guard, mask, at)?;
            if on == 0 {
                warp.advance(next);
                return Ok(false);
            }
        }
        if is_product(self.context.program, &instruction) {
            return self.reach_group(warp, path, on, (at, next));
        }
        self.lanes_meet(warp, (path, at, next), (on, mask & !on))
    }

    #[inline(never)]
    fn step_rare(&mut self, warp: &mut Warp, at: u32, mask: u32) -> Result<(), Box<Fault>> {
        match self.context.program.code[at as usize].op {
            Op::Lop3 { d, a, b, c, table } => alu::lop3(warp, Slots { d, a, b, c }, table, mask),
            Op::General { code, d, sources } => general::execute(warp, code, d, sources, mask),
            Op::Extended(index) => self.extended(warp, index, mask, at)?,
            Op::ActiveMask { d } => warp.r[d as usize].set(&[mask; LANES], mask),
            Op::Fence { order, scope } => self.note_fence(warp, mask, order, scope),
            Op::Nothing => {}
            Op::Shuffle { .. } | Op::Vote { .. } | Op::WarpSync { .. } => {
                unreachable!("lanes meet for these at the end of a block")
            }
            Op::Alu { .. } | Op::Load(_) | Op::Store(_) => unreachable!("`step` handles these"),
        }
        Ok(())
    }
}

/// Whether a warpgroup executes an instruction together.
fn is_product(program: &Program, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Extended(index) => matches!(program.extended[index as usize].what, Extension::Group(_)),
        _ => false,
    }
}
