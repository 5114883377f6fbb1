//! Registers by liveness: PTX names a new register for nearly every result, and few are alive at once.
//! Presets come first and keep their slots; the others share what is left, by linear scan.
//!
//! Every write is masked to the active lanes, so a slot that serves another register on another path
//! cannot disturb the lanes that wait on this one.

use super::flow::successors;
use super::operands::{Role, visit, visit_exit};
use super::{Access, Exit, Extended, File, Instruction, Preset, Program, Slot};
use crate::program::decode::PRESET;

/// Gives every register its slot and rewrites the program to use them. Those 32-bit registers that are `apart` share theirs with
/// none.
pub(super) fn allocate(program: &mut Program, counts: [u32; 3], presets: &[Vec<Preset>; 3], apart: &[bool]) {
    let live_in = BlockSets::of(program, counts).live_in(program);
    let mut ranges = live_ranges(program, counts, &live_in);
    let alone = ranges[File::R as usize].iter_mut().zip(apart).filter(|(range, apart)| **apart && range.0 <= range.1);
    alone.for_each(|(range, _)| *range = (0, u32::MAX - 1));
    let mut totals: [u32; 3] = Default::default();
    let mut slots: [Vec<Slot>; 3] = Default::default();
    for file in 0..3 {
        let first = presets[file].len() as u32;
        (slots[file], totals[file]) = linear_scan(&ranges[file], first);
    }
    let mut rename = |file: File, _: Role, slot: &mut Slot| {
        *slot = if *slot & PRESET != 0 { *slot & !PRESET } else { slots[file as usize][*slot as usize] };
    };
    for instruction in &mut program.code {
        visit(instruction, &mut program.accesses, &mut program.extended, &mut rename);
    }
    for block in &mut program.blocks {
        visit_exit(&mut block.exit, &mut rename);
    }
    [program.registers32, program.registers64, program.predicates] = totals;
    if !apart.is_empty() {
        program.grouped.slots = vec![false; totals[File::R as usize] as usize];
        let own = slots[File::R as usize].iter().zip(apart).filter(|(_, apart)| **apart);
        own.for_each(|(slot, _)| program.grouped.slots[*slot as usize] = true);
    }
    let alive = |block: u32| {
        let mut alive = Vec::new();
        live_in[block as usize].each(|register| {
            let (file, index) = unflatten(register, counts);
            alive.push(([File::R, File::D, File::P][file], slots[file][index]));
        });
        alive
    };
    program.unset = alive(0);
    for called in &mut program.called {
        called.unset = alive(called.entry);
    }
    for block in &program.blocks {
        if let Exit::Call { site, next, .. } = block.exit {
            program.calls[site as usize].saved = alive(next);
        }
    }
    let frame = presets[File::D as usize].iter().position(|preset| *preset == Preset::Frame);
    program.frame = frame.unwrap_or_default() as Slot;
    let numbered = |file: File| presets[file as usize].iter().enumerate().map(|(slot, p)| (slot as Slot, *p));
    program.preset32 = numbered(File::R).collect();
    program.preset64 = numbered(File::D).collect();
    program.preset_predicates = numbered(File::P).collect();
}

/// First and last position at which each register is alive; a block takes one position more than it
/// has instructions, for its end. Registers that never occur get an empty range.
type Ranges = Vec<(u32, u32)>;

fn linear_scan(ranges: &Ranges, first: u32) -> (Vec<Slot>, u32) {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|&r| ranges[r].0 <= ranges[r].1).collect();
    order.sort_by_key(|&r| ranges[r]);
    let mut slots = vec![first; ranges.len()];
    let mut active = std::collections::BinaryHeap::new();
    let mut free = Vec::new();
    let mut total = first;
    for register in order {
        let (start, end) = ranges[register];
        while let Some(&(std::cmp::Reverse(last), slot)) = active.peek() {
            if last >= start {
                break;
            }
            active.pop();
            free.push(slot);
        }
        let slot = free.pop().unwrap_or_else(|| {
            total += 1;
            total - 1
        });
        slots[register] = slot;
        active.push((std::cmp::Reverse(end), slot));
    }
    (slots, total.max(first + 1))
}

fn live_ranges(program: &mut Program, counts: [u32; 3], live_in: &[BitSet]) -> [Ranges; 3] {
    let mut ranges: [Ranges; 3] = counts.map(|n| vec![(u32::MAX, 0); n as usize]);
    let mut touch = |register: usize, at: u32| {
        let (file, index) = unflatten(register, counts);
        let range: &mut (u32, u32) = &mut ranges[file][index];
        *range = (range.0.min(at), range.1.max(at));
    };
    let mut position = 0;
    for (index, block) in program.blocks.iter_mut().enumerate() {
        live_in[index].each(|register| touch(register, position));
        for instruction in &mut program.code[block.start as usize..block.end as usize] {
            let tables = (&mut program.accesses[..], &mut program.extended[..]);
            uses(instruction, tables, counts, &mut |register, _| touch(register, position));
            position += 1;
        }
        exit_uses(&mut block.exit, counts, &mut |register, _| touch(register, position));
        for next in next_blocks(&block.exit) {
            live_in[next].each(|register| touch(register, position));
        }
        position += 1;
    }
    ranges
}

/// Visits the registers of an instruction as flat numbers, and whether each is written.
fn uses(
    instruction: &mut Instruction,
    (accesses, extended): (&mut [Access], &mut [Extended]),
    counts: [u32; 3],
    each: &mut dyn FnMut(usize, bool),
) {
    visit(instruction, accesses, extended, &mut |file, role, slot| {
        if *slot & PRESET == 0 {
            each(flatten(file, *slot, counts), role == Role::Write);
        }
    });
}

fn exit_uses(exit: &mut Exit, counts: [u32; 3], each: &mut dyn FnMut(usize, bool)) {
    visit_exit(exit, &mut |file, role, slot| {
        if *slot & PRESET == 0 {
            each(flatten(file, *slot, counts), role == Role::Write);
        }
    });
}

fn flatten(file: File, slot: Slot, counts: [u32; 3]) -> usize {
    let before: u32 = counts[..file as usize].iter().sum();
    (before + slot) as usize
}

fn unflatten(mut register: usize, counts: [u32; 3]) -> (usize, usize) {
    let mut file = 0;
    while register >= counts[file] as usize {
        register -= counts[file] as usize;
        file += 1;
    }
    (file, register)
}

fn next_blocks(exit: &Exit) -> impl Iterator<Item = usize> + use<> {
    successors(exit).into_iter().flatten().map(|n| n as usize)
}

/// For each block: what it reads before it writes it wholly, and all that it reads or writes.
struct BlockSets {
    reads: Vec<BitSet>,
    writes: Vec<BitSet>,
}

impl BlockSets {
    fn of(program: &mut Program, counts: [u32; 3]) -> BlockSets {
        let size = counts.iter().sum::<u32>() as usize;
        let mut sets = BlockSets { reads: Vec::new(), writes: Vec::new() };
        for block in &mut program.blocks {
            let (mut reads, mut writes) = (BitSet::new(size), BitSet::new(size));
            for instruction in &mut program.code[block.start as usize..block.end as usize] {
                // A guarded write leaves the old value where the guard is false.
                let partial = instruction.guard.is_some();
                let tables = (&mut program.accesses[..], &mut program.extended[..]);
                uses(instruction, tables, counts, &mut |register, written| {
                    if (!written || partial) && !writes.has(register) {
                        reads.add(register);
                    }
                    writes.add(register);
                });
            }
            let partial = matches!(block.exit, Exit::Barrier { barrier, .. } if barrier.guard.is_some());
            exit_uses(&mut block.exit, counts, &mut |register, written| {
                if (!written || partial) && !writes.has(register) {
                    reads.add(register);
                }
                writes.add(register);
            });
            sets.reads.push(reads);
            sets.writes.push(writes);
        }
        sets
    }

    fn live_in(&self, program: &Program) -> Vec<BitSet> {
        let mut live = self.reads.clone();
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..program.blocks.len()).rev() {
                for next in next_blocks(&program.blocks[index].exit) {
                    let incoming = live[next].clone();
                    changed |= live[index].add_all_but(&incoming, &self.writes[index]);
                }
            }
        }
        live
    }
}

#[derive(Clone)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn new(size: usize) -> BitSet {
        BitSet(vec![0; size.div_ceil(64)])
    }

    fn has(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    fn add(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    /// Adds the members of `other` that are not in `but`; says whether anything was new.
    fn add_all_but(&mut self, other: &BitSet, but: &BitSet) -> bool {
        let mut changed = false;
        for ((mine, theirs), but) in self.0.iter_mut().zip(&other.0).zip(&but.0) {
            let new = *mine | (theirs & !but);
            changed |= new != *mine;
            *mine = new;
        }
        changed
    }

    fn each(&self, mut visit: impl FnMut(usize)) {
        for (word, &bits) in self.0.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                visit(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    fn dice() -> impl FnMut(u32) -> u32 {
        let mut state = 7_u32;
        move |n| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        }
    }

    #[test]
    fn as_many_slots_are_used_as_registers_are_alive_at_once() {
        let mut chance = dice();
        for first in [0, 3] {
            for _ in 0..200 {
                let count = 1 + chance(40);
                let any =
                    |start: u32, length: u32| if length == 0 { (u32::MAX, 0) } else { (start, start + length - 1) };
                let ranges: Ranges = (0..count).map(|_| any(chance(60), chance(12))).collect();
                let (slots, total) = linear_scan(&ranges, first);
                let alive =
                    |at: u32| (0..ranges.len()).filter(|r| (ranges[*r].0..=ranges[*r].1).contains(&at)).collect();
                let most = (0..80).map(|at| -> Vec<usize> { alive(at) }).map(|alive| alive.len()).max().unwrap_or(0);
                assert_eq!(total, first + (most as u32).max(1), "{ranges:?}");
                for at in 0..80 {
                    let here: Vec<Slot> = alive(at).into_iter().map(|register| slots[register]).collect();
                    let distinct: std::collections::HashSet<Slot> = here.iter().copied().collect();
                    assert_eq!(distinct.len(), here.len(), "{ranges:?}: {slots:?}");
                    assert!(here.iter().all(|slot| (first..total).contains(slot)), "{ranges:?}: {slots:?}");
                }
            }
        }
    }

    #[test]
    fn sets_and_flat_numbers_are_what_they_stand_for() {
        let mut chance = dice();
        for _ in 0..50 {
            let (mut sets, mut lists) = ([1, 2, 3].map(|_| BitSet::new(150)), [1, 2, 3].map(|_| vec![false; 150]));
            for _ in 0..60 {
                let (which, n) = (chance(3) as usize, chance(150) as usize);
                sets[which].add(n);
                lists[which][n] = true;
            }
            let [mut mine, other, but] = sets;
            let joined: Vec<bool> = (0..150).map(|n| lists[0][n] || lists[1][n] && !lists[2][n]).collect();
            assert_eq!(mine.add_all_but(&other, &but), joined != lists[0]);
            assert!((0..150).all(|n| mine.has(n) == joined[n]));
            assert!(!mine.add_all_but(&other, &but), "nothing is new");
            let mut members = Vec::new();
            mine.each(|n| members.push(n));
            assert_eq!(members, (0..150).filter(|n| joined[*n]).collect::<Vec<_>>());
        }
        let counts = [3, 0, 2];
        let all = [(File::R, 0), (File::R, 1), (File::R, 2), (File::P, 0), (File::P, 1)];
        for (flat, (file, slot)) in all.into_iter().enumerate() {
            assert_eq!(flatten(file, slot, counts), flat);
            assert_eq!(unflatten(flat, counts), (file as usize, slot as usize));
        }
    }

    /// The registers that a kernel has of each file.
    fn registers(body: &str) -> [u32; 3] {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<99>; .reg .b32 %r<99>; .reg .b64 %d<99>;\n\
             ld.param.u64 %d0, [a];\n{body}\nret;\n}}\n"
        );
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
        let program = kernel.unwrap_or_else(|error| panic!("{error}\n{text}")).program;
        [program.registers32, program.registers64, program.predicates]
    }

    #[test]
    fn who_is_not_alive_together_shares_a_slot() {
        let chain = |n: usize| -> String {
            let set = "mov.u32 %r1, %tid.x;\nmov.u64 %d1, %d0;\nsetp.eq.u32 %p1, %r1, 5;\n".to_string();
            let step = |n: usize| {
                format!(
                    "add.u32 %r{}, %r{n}, %r{n};\nadd.u64 %d{}, %d{n}, %d{n};\nnot.pred %p{}, %p{n};\n",
                    n + 1,
                    n + 1,
                    n + 1
                )
            };
            let use_it = format!("@%p{} st.global.u32 [%d{}], %r{};\n", n + 1, n + 1, n + 1);
            set + &(1..=n).map(step).collect::<String>() + &use_it
        };
        assert_eq!(registers(&chain(2)), registers(&chain(60)));
        let together = |n: usize| -> String {
            let set = |n: usize| {
                format!("ld.global.u32 %r{n}, [%d0];\nld.global.u64 %d{n}, [%d0];\nsetp.eq.u32 %p{n}, %r{n}, 5;\n")
            };
            let use_it = |n: usize| format!("@%p{n} st.global.u32 [%d{n}], %r{n};\n");
            (1..=n).map(set).collect::<String>() + &(1..=n).map(use_it).collect::<String>()
        };
        for n in [3, 10, 40] {
            assert_eq!(registers(&together(n + 1)), registers(&together(n)).map(|count| count + 1), "{n}");
        }
    }
}
