//! What a program asks of the order model: whether whole barriers are all that orders its threads, and which loads bring a
//! value that only goes on to memory.

use super::decode::PRESET;
use super::operands::{Role, visit, visit_exit};
use super::{Exit, Extension, File, Op, Preset, Program, Space};

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// Accesses to shared, to global memory take part in the order of threads, or barriers are for some threads only.
    pub shared: bool,
    pub global: bool,
    /// Any of it.
    pub any: bool,
    /// There are barriers for some threads of the block only.
    pub partial: bool,
    /// There are barriers in shared memory, or bulk copies.
    pub asynchronous: bool,
    /// Thread blocks of a cluster may meet, or access each other's shared memory.
    pub cluster: bool,
    /// There are barriers of warps: stamps tell so many of them apart.
    pub of_warps: bool,
}

impl Needs {
    /// Runs before allocation.
    pub(super) fn of(program: &Program, presets: &[Vec<Preset>; 3]) -> Needs {
        let all = |slot: u32| {
            slot & PRESET != 0
                && presets[File::R as usize].get((slot & !PRESET) as usize) == Some(&Preset::Constant(0xffff_ffff))
        };
        let of_warps = program.code.iter().any(|instruction| match instruction.op {
            Op::WarpSync { members } => !all(members),
            _ => false,
        });
        let any_of_warps = program.code.iter().any(|instruction| matches!(instruction.op, Op::WarpSync { .. }));
        let partial = program.blocks.iter().any(|block| match block.exit {
            Exit::Barrier { barrier, .. } => barrier.threads.is_some() || barrier.arrive_only,
            _ => false,
        });
        let strong = |space: Space| {
            let atomics = program.extended.iter().filter(|extended| matches!(extended.what, Extension::Atomic(_)));
            let atomics =
                atomics.flat_map(|extended| &extended.accesses).map(|index| &program.accesses[*index as usize]);
            let ordered = program.accesses.iter().filter(|access| access.ordered());
            ordered.chain(atomics).any(|access| access.space == space || access.space == Space::Generic)
        };
        let asynchronous = program.extended.iter().any(|extended| extended.what.is_asynchronous());
        let cluster = program.extended.iter().any(|extended| extended.what.is_of_clusters())
            || program.accesses.iter().any(|access| access.of_cluster);
        let some = partial || of_warps;
        let shared = some || asynchronous || cluster || strong(Space::Shared);
        let global = some || strong(Space::Global);
        Needs { shared, global, any: shared || global, partial, asynchronous, cluster, of_warps: any_of_warps }
    }
}

/// For each access whether it is a load of which the value reaches what is stored or handed to other lanes, and no predicate:
/// it is used as it is, and nobody looks whether it is there yet. Flow-insensitive; runs before allocation.
pub(super) fn values(program: &Program, counts: [u32; 3]) -> Vec<bool> {
    // Of each register, whether its value reaches memory, and a predicate.
    let mut reach: [Vec<(bool, bool)>; 3] = counts.map(|n| vec![(false, false); n as usize]);
    let (mut accesses, mut extended) = (program.accesses.clone(), program.extended.clone());
    loop {
        let mut changed = false;
        let mut join =
            |reach: &mut [Vec<(bool, bool)>; 3], file: File, slot: u32, (memory, predicate): (bool, bool)| {
                if slot & PRESET == 0 {
                    let known = &mut reach[file as usize][slot as usize];
                    let joined = (known.0 | memory, known.1 | predicate);
                    changed |= joined != *known;
                    *known = joined;
                }
            };
        for instruction in program.code.iter().rev() {
            let (mut reads, mut out) = (Vec::new(), (false, false));
            out.0 |= matches!(instruction.op, Op::Store(_) | Op::Extended(_) | Op::Shuffle { .. });
            let load = matches!(instruction.op, Op::Load(_));
            visit(&mut instruction.clone(), &mut accesses, &mut extended, &mut |file, role, slot| match role {
                Role::Read | Role::Address => reads.push((file, *slot, role)),
                // Whether a shuffle's source is one says nothing of its value.
                Role::Write if file == File::P => out.1 |= !matches!(instruction.op, Op::Shuffle { .. }),
                Role::Write if !load && *slot & PRESET == 0 => {
                    let reached = reach[file as usize][*slot as usize];
                    out = (out.0 | reached.0, out.1 | reached.1);
                }
                Role::Write => {}
            });
            for (file, slot, role) in reads {
                // Where something lies is looked at, too.
                join(&mut reach, file, slot, if role == Role::Address { (false, true) } else { out });
            }
        }
        for block in &program.blocks {
            visit_exit(&mut block.exit.clone(), &mut |file, role, slot| {
                if role == Role::Read {
                    join(&mut reach, file, *slot, (false, true));
                }
            });
        }
        if !changed {
            break;
        }
    }
    let mut found = vec![false; program.accesses.len()];
    for instruction in &program.code {
        let Op::Load(index) = instruction.op else { continue };
        let access = &program.accesses[index as usize];
        let file = if access.wide { File::D } else { File::R };
        let slots = access.registers[..access.elements as usize].iter().filter(|slot| **slot & PRESET == 0);
        let mut reached = slots.map(|slot| reach[file as usize][*slot as usize]);
        found[index as usize] = reached.any(|(memory, predicate)| memory && !predicate);
    }
    found
}
