//! One SM, clock by clock: which warp issues, and what the others wait for.

use std::collections::VecDeque;

use emulator::stream::Touch;

use crate::figures::Figures;
use crate::memory::Memory;
use crate::ops::{Kind, Op};
pub use crate::waits::Span;
use crate::waits::{Tally, Why};
use crate::warp::Warp;

/// A thread block that lives on the SM: what its warps issue, each in order.
pub type Block = Vec<Vec<Op>>;

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Clocks until the last warp ended.
    pub clocks: u32,
    /// Clocks of warps, by what they did.
    pub tally: Tally,
    /// Instructions that were issued.
    pub issued: u64,
    /// Clocks in which the pipe of the load and store unit was busy.
    pub pipe_busy: u64,
    /// Sectors that came from beyond L1.
    pub l2_sectors: u64,
    /// By warp, what it did when; empty unless asked for.
    pub lanes: Vec<Vec<Span>>,
    /// When a barrier let the warps of a block go: block and clock.
    pub barriers: Vec<(usize, u32)>,
}

/// What else is said of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct How {
    /// Keep what each warp did when.
    pub timeline: bool,
    /// Clocks between the starts of two blocks.
    pub stagger: u32,
    /// Nobody has read the matrices before: what L1 has not comes from DRAM, not from L2.
    pub cold: bool,
}

const NEVER: u32 = u32::MAX;

/// An instruction in a queue of the load and store unit.
struct Queued {
    warp: usize,
    op: usize,
    since: u32,
}

struct Scheduler {
    warps: Vec<usize>,
    next: usize,
    /// Instructions of this warp in a row.
    row: u32,
    /// When its pipes are free.
    free: [u32; 6],
    dispatch: u32,
    conflicts: u32,
    shared: VecDeque<Queued>,
    global: VecDeque<Queued>,
    /// When the next one may leave the queue to global memory.
    global_free: f64,
}

fn pipe(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Fma => Some(0),
        Kind::Alu | Kind::Guard => Some(1),
        Kind::Fp64 => Some(2),
        Kind::Special => Some(3),
        Kind::Tensor => Some(4),
        _ => None,
    }
}

/// Runs thread blocks that live on the SM together, until all have ended.
pub fn run(blocks: &[Block], touches: &[Touch], figures: &Figures, how: How) -> Outcome {
    let mut warps: Vec<Warp> = Vec::new();
    let mut schedulers: Vec<Scheduler> = (0..figures.schedulers)
        .map(|_| Scheduler {
            warps: Vec::new(),
            next: 0,
            row: 0,
            free: [0; 6],
            dispatch: 0,
            conflicts: 0,
            shared: VecDeque::new(),
            global: VecDeque::new(),
            global_free: 0.0,
        })
        .collect();
    for (number, block) in blocks.iter().enumerate() {
        for ops in block {
            let index = warps.len();
            schedulers[index % figures.schedulers].warps.push(index);
            warps.push(Warp {
                ops,
                block: number,
                at: 0,
                done: vec![NEVER; ops.len()],
                until: 0,
                why: Why::NoInstruction,
                at_barrier: false,
                starts: number as u32 * how.stagger,
                group: 0,
                groups: Vec::new(),
                loads: Vec::new(),
                copies: 0,
                lane: Vec::new(),
            });
        }
    }
    let mut outcome = Outcome::default();
    let mut memory = Memory::new(how.cold);
    let mut arrived = vec![0usize; blocks.len()];
    let mut left: Vec<usize> = blocks.iter().map(Vec::len).collect();
    let mut alive = warps.len();
    let (mut clock, mut pipe_free, mut turn) = (0u32, 0u32, 0usize);
    for warp in &warps {
        if warp.ops.is_empty() {
            alive -= 1;
            left[warp.block] -= 1;
        }
    }
    while alive > 0 && clock < NEVER / 2 {
        // The load and store unit takes the next instruction of a scheduler, in turns.
        if pipe_free <= clock {
            for n in 0..schedulers.len() {
                let index = (turn + n) % schedulers.len();
                let scheduler = &mut schedulers[index];
                // In the order in which they came.
                let since = |queue: &VecDeque<Queued>| queue.front().map_or(NEVER, |queued| queued.since);
                let full = memory.banks_free > clock + figures.behind;
                let held = full || scheduler.global_free > f64::from(clock);
                let first = match held || since(&scheduler.shared) <= since(&scheduler.global) {
                    true => scheduler.shared.pop_front(),
                    false => {
                        scheduler.global_free =
                            scheduler.global_free.max(f64::from(clock) - 1.0) + figures.global_every;
                        scheduler.global.pop_front()
                    }
                };
                if let Some(Queued { warp, op, .. }) = first {
                    if warps[warp].ops[op].kind == Kind::Copy {
                        warps[warp].copies -= 1;
                    }
                    let busy = memory.serve(&mut warps[warp], op, touches, figures, clock);
                    let (taken, busy) = busy;
                    pipe_free = clock + taken;
                    outcome.pipe_busy += u64::from(busy);
                    turn = index + 1;
                    break;
                }
            }
        }
        for scheduler in &mut schedulers {
            let mut issued = None;
            let count = scheduler.warps.len();
            for n in 0..count {
                let place = (scheduler.next + n) % count;
                let index = scheduler.warps[place];
                let warp = &mut warps[index];
                if warp.at >= warp.ops.len() || warp.starts > clock {
                    continue;
                }
                let why = warp.obstacle(clock, scheduler, figures);
                let why = match why {
                    None if issued.is_none() => {
                        issued = Some((place, index));
                        Why::Issue
                    }
                    None => Why::NotSelected,
                    Some(why) => why,
                };
                outcome.tally.add(why, 1);
                if how.timeline {
                    warp.note(clock, why);
                }
            }
            let Some((place, index)) = issued else { continue };
            // A warp goes on for a while if it can; then others have their turn.
            scheduler.row = if scheduler.next % count == place { scheduler.row + 1 } else { 1 };
            let enough = scheduler.row >= figures.patience;
            scheduler.next = place + usize::from(enough);
            scheduler.row = if enough { 0 } else { scheduler.row };
            let warp = &mut warps[index];
            let op = &warp.ops[warp.at];
            outcome.issued += 1;
            let number = warp.at;
            warp.at += 1;
            warp.until = clock + if matches!(op.kind, Kind::Fma | Kind::Fp64) { 1 } else { figures.pause };
            warp.why = Why::Wait;
            match op.kind {
                Kind::Fma | Kind::Alu | Kind::Guard | Kind::Parameter | Kind::Fp64 | Kind::Special | Kind::Tensor => {
                    let (busy, latency) = match op.kind {
                        Kind::Fma => (figures.fma, figures.fixed),
                        Kind::Alu => (figures.alu, figures.fixed),
                        Kind::Guard => (figures.alu, figures.guard),
                        Kind::Parameter => (1, figures.parameter),
                        Kind::Fp64 => (figures.fp64, figures.fp64_latency),
                        Kind::Special => (8, 20),
                        _ => (16, 33),
                    };
                    if let Some(pipe) = pipe(op.kind) {
                        scheduler.free[pipe] = clock + busy;
                    }
                    warp.done[number] = clock + latency;
                    if op.kind == Kind::Fma {
                        scheduler.conflicts += figures.bank_conflicts;
                        if scheduler.conflicts >= 100 {
                            scheduler.conflicts -= 100;
                            scheduler.dispatch = clock + 2;
                        }
                    }
                }
                Kind::SharedLoad | Kind::SharedStore => {
                    scheduler.shared.push_back(Queued { warp: index, op: number, since: clock })
                }
                Kind::GlobalLoad | Kind::GlobalStore | Kind::Copy => {
                    warp.copies += u32::from(op.kind == Kind::Copy);
                    if op.kind == Kind::GlobalLoad {
                        warp.loads.push(number as u32);
                    }
                    scheduler.global.push_back(Queued { warp: index, op: number, since: clock })
                }
                Kind::Commit => {
                    let group = std::mem::take(&mut warp.group);
                    warp.groups.push(group);
                    warp.done[number] = clock + 1;
                }
                Kind::Wait(_) => warp.done[number] = clock + 1,
                Kind::Branch => {
                    warp.done[number] = clock + 1;
                    (warp.until, warp.why) = (clock + figures.branch, Why::Wait);
                }
                Kind::Barrier => {
                    warp.done[number] = clock + 1;
                    warp.at_barrier = true;
                    arrived[warp.block] += 1;
                }
            }
            let block = warp.block;
            if warp.at == warp.ops.len() {
                alive -= 1;
                left[block] -= 1;
            }
            if left[block] > 0 && arrived[block] >= left[block] {
                arrived[block] = 0;
                outcome.barriers.push((block, clock + figures.barrier));
                for warp in warps.iter_mut().filter(|warp| warp.block == block && warp.at_barrier) {
                    warp.at_barrier = false;
                    (warp.until, warp.why) = (clock + figures.barrier, Why::Barrier);
                }
            }
        }
        clock += 1;
    }
    outcome.clocks = clock;
    outcome.l2_sectors = memory.misses;
    outcome.lanes = warps.into_iter().map(|warp| warp.lane).collect();
    outcome
}

impl Warp<'_> {
    /// Why the warp's next instruction cannot be issued now.
    fn obstacle(&mut self, clock: u32, scheduler: &Scheduler, figures: &Figures) -> Option<Why> {
        if self.at_barrier {
            return Some(Why::Barrier);
        }
        if self.until > clock {
            return Some(self.why);
        }
        let op = &self.ops[self.at];
        if op.needs.iter().any(|need| self.loads.contains(need)) {
            let landed = self.loads.iter().map(|&load| self.done[load as usize]).max().unwrap_or(0);
            if landed > clock {
                if landed != NEVER {
                    (self.until, self.why) = (landed, Why::LongScoreboard);
                }
                return Some(Why::LongScoreboard);
            }
            self.loads.clear();
        }
        let late = op.needs.iter().filter(|&&need| self.done[need as usize] > clock);
        if let Some(&need) = late.max_by_key(|&&need| self.done[need as usize]) {
            let why = match self.ops[need as usize].kind {
                Kind::GlobalLoad | Kind::GlobalStore | Kind::Copy => Why::LongScoreboard,
                Kind::SharedLoad | Kind::SharedStore | Kind::Special | Kind::Parameter => Why::ShortScoreboard,
                _ => Why::Wait,
            };
            // Once it is known when the result is there, nobody has to look again.
            let known = self.done[need as usize];
            if known != NEVER {
                (self.until, self.why) = (known, why);
            }
            return Some(why);
        }
        match op.kind {
            Kind::Wait(pending) => {
                let over = self.groups.len().saturating_sub(pending as usize);
                let lands = self.groups[..over].iter().copied().max().unwrap_or(0);
                if lands > clock {
                    (self.until, self.why) = (lands, Why::LongScoreboard);
                    return Some(Why::LongScoreboard);
                }
            }
            Kind::SharedLoad | Kind::SharedStore if scheduler.shared.len() >= figures.shared_queue => {
                return Some(Why::MioThrottle);
            }
            // The registers of its address are those of an earlier one.
            Kind::Copy if self.copies > 0 => return Some(Why::LongScoreboard),
            Kind::GlobalLoad | Kind::GlobalStore | Kind::Copy if scheduler.global.len() >= figures.global_queue => {
                return Some(Why::LgThrottle);
            }
            kind => {
                if pipe(kind).is_some_and(|pipe| scheduler.free[pipe] > clock) {
                    return Some(Why::MathPipeThrottle);
                }
            }
        }
        (scheduler.dispatch > clock).then_some(Why::DispatchStall)
    }

    fn note(&mut self, clock: u32, why: Why) {
        match self.lane.last_mut() {
            Some(span) if span.why == why && span.to == clock => span.to += 1,
            _ => self.lane.push(Span { from: clock, to: clock + 1, why }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::H200;

    const QUIET: Figures = Figures { bank_conflicts: 0, ..H200 };

    fn op(kind: Kind, needs: &[u32], touch: u32) -> Op {
        Op { kind, needs: needs.to_vec(), touch, code: 0 }
    }

    fn touch(wavefronts: u32, sectors: std::ops::Range<u64>) -> Touch {
        let mut touch = Touch::default();
        (touch.wavefronts, touch.sectors) = (wavefronts, sectors.collect());
        touch
    }

    fn alone(ops: Vec<Op>, touches: &[Touch]) -> Outcome {
        run(&[vec![ops]], touches, &QUIET, How::default())
    }

    #[test]
    fn a_chain_of_multiply_adds_takes_four_clocks_for_each() {
        let link = |n: u32| op(Kind::Fma, &n.checked_sub(1).into_iter().collect::<Vec<u32>>(), 0);
        let outcome = alone((0..100).map(link).collect(), &[]);
        assert_eq!(outcome.clocks, 99 * 4 + 1);
        assert_eq!((outcome.tally.of(Why::Issue), outcome.tally.of(Why::Wait)), (100.0, 297.0));
    }

    #[test]
    fn independent_multiply_adds_are_bound_by_issue() {
        let free = || (0..100).map(|_| op(Kind::Fma, &[], 0)).collect::<Vec<_>>();
        assert_eq!(alone(free(), &[]).clocks, 100);
        // Eight warps, two for each scheduler: while one issues, the other is not selected.
        let outcome = run(&[(0..8).map(|_| free()).collect()], &[], &QUIET, How::default());
        assert_eq!((outcome.clocks, outcome.issued), (200, 800));
        assert!(outcome.tally.of(Why::NotSelected) >= 4.0 * 90.0);
    }

    #[test]
    fn who_comes_early_to_a_barrier_waits_for_the_last() {
        let early = vec![op(Kind::Barrier, &[], 0), op(Kind::Fma, &[], 0)];
        let mut late: Vec<Op> = (0..50).map(|_| op(Kind::Fma, &[], 0)).collect();
        late.extend(early.clone());
        let outcome = run(&[vec![early, late]], &[], &QUIET, How::default());
        // The last one comes in clock 50.
        assert_eq!(outcome.barriers, [(0, 50 + QUIET.barrier)]);
        assert_eq!(outcome.clocks, 50 + QUIET.barrier + 1);
        assert_eq!(outcome.tally.of(Why::Barrier), f64::from(50 + QUIET.barrier - 1) + f64::from(QUIET.barrier - 1));
    }

    #[test]
    fn a_load_is_waited_for_and_conflicts_take_their_wavefronts() {
        for wavefronts in [1, 32] {
            let ops = vec![op(Kind::SharedLoad, &[], 0), op(Kind::Fma, &[0], 0)];
            let outcome = alone(ops, &[touch(wavefronts, 0..0)]);
            // Out of the queue in the clock after it was issued.
            assert_eq!(outcome.clocks, 1 + QUIET.shared + wavefronts - 1 + 1);
            assert!(outcome.tally.of(Why::ShortScoreboard) > 0.0);
        }
        let ops = vec![op(Kind::GlobalLoad, &[], 0), op(Kind::Fma, &[0], 0)];
        assert!(alone(ops, &[touch(0, 0..4)]).tally.share(Why::LongScoreboard) > 0.9);
    }

    #[test]
    fn many_loads_are_bound_by_the_way_from_l2() {
        let touches: Vec<Touch> = (0..200u64).map(|n| touch(0, 16 * n..16 * n + 16)).collect();
        let outcome =
            alone((0..200).map(|n| op(Kind::GlobalLoad, &[], n)).chain([op(Kind::Fma, &[199], 0)]).collect(), &touches);
        let clocks = 3200.0 / QUIET.l2_sectors + f64::from(QUIET.l2);
        assert_eq!(outcome.l2_sectors, 3200);
        assert!((f64::from(outcome.clocks) / clocks - 1.0).abs() < 0.02, "{} {clocks}", outcome.clocks);
    }

    #[test]
    fn what_nobody_has_read_before_comes_later() {
        let ops = || vec![op(Kind::GlobalLoad, &[], 0), op(Kind::Fma, &[0], 0)];
        let clocks = |cold| run(&[vec![ops()]], &[touch(0, 0..4)], &QUIET, How { cold, ..How::default() }).clocks;
        assert_eq!(clocks(true) - clocks(false), QUIET.dram - QUIET.l2);
    }

    #[test]
    fn who_waits_for_one_load_waits_for_all() {
        // The first comes from L1, the second does not; what needs the first alone waits for both.
        let warm = op(Kind::GlobalLoad, &[], 0);
        let ops = |needs: u32| {
            let both = [warm.clone(), op(Kind::GlobalLoad, &[], 1), op(Kind::Fma, &[needs], 0)];
            let mut ops = vec![warm.clone(), op(Kind::Fma, &[0], 0)];
            ops.extend(both.map(|op| Op { needs: op.needs.iter().map(|need| need + 2).collect(), ..op }));
            ops
        };
        let clocks = |needs| alone(ops(needs), &[touch(0, 0..4), touch(0, 4..8)]).clocks;
        assert_eq!(clocks(0), clocks(1));
        assert!(clocks(0) > 2 * QUIET.l2);
    }

    #[test]
    fn a_warp_has_one_copy_in_its_queue() {
        let copies: Vec<Op> = (0..8).map(|n| op(Kind::Copy, &[], n)).collect();
        let touches: Vec<Touch> = (0..8u64).map(|n| touch(1, 4 * n..4 * n + 4)).collect();
        assert!(alone(copies, &touches).tally.of(Why::LongScoreboard) > 0.0);
        let loads: Vec<Op> = (0..8).map(|n| op(Kind::GlobalLoad, &[], n)).collect();
        assert_eq!(alone(loads, &touches).tally.of(Why::LongScoreboard), 0.0);
    }
}
