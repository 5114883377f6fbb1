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

#[cfg(test)]
mod tests {
    use crate::Module;

    fn program(body: &str) -> crate::module::Kernel {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 tile[64];\n.visible .entry k(.param .u64 a)\n{{\n\
             .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d0, [a];\nmov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n"
        );
        Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn what_whole_barriers_order_asks_for_no_more() {
        // What is asked for: of shared memory, of global memory; some threads, asynchronous, clusters, warps.
        for (body, wanted) in [
            ("st.shared.u32 [tile], %r0;\nbar.sync 0;\nld.shared.u32 %r1, [tile];", ""),
            ("st.global.u32 [%d0], %r0;\nst.u32 [%d0], %r0;\nbarrier.cta.sync 1;", ""),
            ("bar.warp.sync -1;", "w"),
            ("bar.warp.sync 0xffffffff;", "w"),
            ("bar.warp.sync 0x7fffffff;", "sgw"),
            ("bar.warp.sync %r0;", "sgw"),
            ("bar.sync 1, 64;", "sgp"),
            ("bar.arrive 1, 64;", "sgp"),
            ("bar.sync 1;\nbar.red.popc.u32 %r1, 2, 1;", ""),
            ("atom.shared.add.u32 %r1, [tile], 1;", "s"),
            ("red.shared.add.u32 [tile], 1;", "s"),
            ("atom.global.add.u32 %r1, [%d0], 1;", "g"),
            ("red.global.add.u32 [%d0], 1;", "g"),
            ("atom.add.u32 %r1, [%d0], 1;", "sg"),
            ("ld.volatile.shared.u32 %r1, [tile];", "s"),
            ("ld.relaxed.gpu.global.u32 %r1, [%d0];", "g"),
            ("st.release.gpu.u32 [%d0], %r0;", "sg"),
            ("mbarrier.init.shared.b64 [tile], 1;", "sa"),
            ("cp.async.bulk.commit_group;", "sa"),
            ("barrier.cluster.arrive;\nbarrier.cluster.wait;", "sc"),
            ("ld.shared::cluster.u32 %r1, [%r0];", "sc"),
            ("st.shared::cta.u32 [%r0], %r0;", ""),
            ("atom.shared::cta.add.u32 %r1, [%r0], 1;", "s"),
            ("atom.shared::cluster.add.u32 %r1, [%r0], 1;", "sc"),
        ] {
            let needs = program(body).program.needs;
            let told = [
                (needs.shared, 's'),
                (needs.global, 'g'),
                (needs.partial, 'p'),
                (needs.asynchronous, 'a'),
                (needs.cluster, 'c'),
                (needs.of_warps, 'w'),
            ];
            let told: String = told.iter().filter(|(asked, _)| *asked).map(|(_, letter)| *letter).collect();
            assert_eq!(told, wanted, "{body}");
            assert_eq!(needs.any, needs.shared || needs.global, "{body}");
        }
    }

    #[test]
    fn a_value_is_one_that_goes_to_memory_and_decides_nothing() {
        for (body, wanted) in [
            ("ld.global.u32 %r1, [%d0];\nst.global.u32 [%d0+4], %r1;", true),
            ("ld.global.u32 %r1, [%d0];\nadd.u32 %r2, %r1, 1;\nst.global.u32 [%d0+4], %r2;", true),
            ("ld.global.v2.u32 {%r1, %r2}, [%d0];\nst.global.u32 [%d0+8], %r2;", true),
            ("ld.global.u64 %d1, [%d0];\nst.global.u64 [%d0+8], %d1;", true),
            ("ld.global.u32 %r1, [%d0];\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;", true),
            ("ld.global.u32 %r1, [%d0];", false),
            ("ld.global.u32 %r1, [%d0];\nsetp.eq.u32 %p1, %r1, 4;\n@%p1 bra A;\nA: st.global.u32 [%d0+4], %r1;", false),
            ("ld.global.u32 %r1, [%d0];\nsetp.eq.u32 %p1, %r1, 4;\nst.global.u32 [%d0+4], %r1;", false),
            ("ld.global.u64 %d1, [%d0];\nst.global.u32 [%d1], %r0;", false),
            ("ld.global.u64 %d1, [%d0];\nst.global.u64 [%d1], %d1;", false),
            (
                "ld.global.u32 %r1, [%d0];\nL: add.u32 %r2, %r2, %r3;\nmov.u32 %r3, %r1;\nsetp.lt.u32 %p1, %r0, 4;\n@%p1 bra L;\nst.global.u32 [%d0+4], %r2;",
                true,
            ),
        ] {
            assert_eq!(program(body).program.blind_loads.contains(&true), wanted, "{body}");
        }
    }
}
