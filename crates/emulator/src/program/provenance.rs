//! Which parameters and module-level variables the address of a load or store may derive from, so that only buffers that are
//! written need watching for races. Flow-insensitive, so it errs on the side of watching more.

use super::operands::{Role, visit};
use super::{Bulk, Extension, File, MapDeed, Op, Preset, Program, Slot, Space, Tensor};
use crate::program::decode::PRESET;

/// A value that came out of memory: it may be any pointer.
const ANY: u64 = 1 << 63;
/// The address of a module-level variable.
const VARIABLE: u64 = 1 << 62;
/// The last parameter that has a bit of its own; those after it share its bit.
const LAST: usize = 61;

/// Sets `stored_through` and `loaded_through` of the program's parameters, and the same of its variables. Runs before allocation.
pub(super) fn mark(program: &mut Program, counts: [u32; 3], presets: &[Vec<Preset>; 3]) {
    let mut origin: [Vec<u64>; 3] = counts.map(|n| vec![0; n as usize]);
    let preset = |file: File, slot: Slot| presets[file as usize].get((slot & !PRESET) as usize);
    let offset_of = |slot: Slot| match preset(File::D, slot) {
        Some(Preset::Constant(bits)) if slot & PRESET != 0 => Some(*bits),
        _ => None,
    };
    let of_preset = |file, slot| match preset(file, slot) {
        Some(Preset::Global(..) | Preset::GlobalHalf(..)) => VARIABLE,
        _ => 0,
    };
    let (mut stored, mut loaded) = (0, 0);
    let (mut accesses, mut extended) = (program.accesses.clone(), program.extended.clone());
    loop {
        let mut changed = false;
        for instruction in &program.code {
            let mut flowing = match instruction.op {
                Op::Load(index) => {
                    let access = &program.accesses[index as usize];
                    match (access.space, offset_of(access.base)) {
                        (Space::Parameter, Some(base)) => {
                            parameter_bit(program, base.wrapping_add(access.offset as u64))
                        }
                        _ => ANY,
                    }
                }
                Op::Extended(_) => ANY,
                _ => 0,
            };
            let mut address = 0;
            visit(&mut instruction.clone(), &mut accesses, &mut extended, &mut |file, role, slot| {
                if *slot & PRESET != 0 {
                    match role {
                        Role::Read => flowing |= of_preset(file, *slot),
                        Role::Address => address |= of_preset(file, *slot),
                        Role::Write => {}
                    }
                    return;
                }
                let place = &mut origin[file as usize][*slot as usize];
                match role {
                    Role::Read => flowing |= *place,
                    Role::Address => address |= *place,
                    Role::Write => {
                        changed |= *place | flowing != *place;
                        *place |= flowing;
                    }
                }
            });
            match instruction.op {
                Op::Load(_) => loaded |= address,
                Op::Store(_) => stored |= address,
                Op::Extended(index) => {
                    loaded |= address;
                    let what = program.extended[index as usize].what;
                    let writes = matches!(what, Extension::TensorMap(MapDeed::Replace(_) | MapDeed::CopyOut(_)));
                    if writes || matches!(what, Extension::Atomic(_) | Extension::Bulk(Bulk::Store(_))) {
                        stored |= address;
                    }
                    // A tensor map may lead to any buffer whose address was given out.
                    match what {
                        Extension::Bulk(Bulk::Tensor(Tensor::Store(_), _)) => stored |= ANY,
                        Extension::Bulk(Bulk::Tensor(Tensor::Load { .. }, _)) => loaded |= ANY,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        if !changed {
            break;
        }
    }
    for (index, parameter) in program.parameters.iter_mut().enumerate() {
        let bit = 1 << index.min(LAST) | ANY;
        parameter.stored_through = stored & bit != 0;
        parameter.loaded_through = loaded & bit != 0;
    }
    program.globals_stored = stored & (VARIABLE | ANY) != 0;
    program.globals_loaded = loaded & (VARIABLE | ANY) != 0;
}

fn parameter_bit(program: &Program, offset: u64) -> u64 {
    let at =
        program.parameters.iter().position(|p| (u64::from(p.offset)..u64::from(p.offset + p.bytes)).contains(&offset));
    at.map_or(ANY, |index| 1 << index.min(LAST))
}

#[cfg(test)]
mod tests {
    use crate::Module;
    use crate::module::Kernel;

    fn kernel(parameters: usize, body: &str) -> Kernel {
        let list: Vec<String> = (0..parameters).map(|n| format!(".param .u64 a{n}")).collect();
        let loads: String = (0..parameters).map(|n| format!("ld.param.u64 %a{n}, [a{n}];\n")).collect();
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.global .align 8 .b8 v[64];\n.shared .align 16 .b8 tile[64];\n\
             .visible .entry k({})\n{{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>, %a<{parameters}>;\n{loads}mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p1, %r0, 3;\n{body}\nret;\n}}\n",
            list.join(", ")
        );
        Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn letters(loaded: bool, stored: bool) -> String {
        [(loaded, 'l'), (stored, 's')].iter().filter(|(is, _)| *is).map(|(_, letter)| *letter).collect()
    }

    #[test]
    fn what_is_loaded_and_stored_through_whom() {
        // Through each of three parameters, and through variables.
        for (body, wanted) in [
            ("ld.global.u32 %r1, [%a0];", ["l", "", "", ""]),
            ("st.global.u32 [%a1], %r0;", ["", "s", "", ""]),
            ("st.global.u64 [%a1], %a0;", ["", "s", "", ""]),
            ("add.u64 %d1, %a0, 4;\nld.u32 %r1, [%d1];\nst.u32 [%a2+8], %r1;", ["l", "", "s", ""]),
            ("selp.b64 %d1, %a0, %a1, %p1;\n@%p1 ld.global.u32 %r1, [%d1];", ["l", "l", "", ""]),
            ("L: ld.global.u32 %r1, [%d1];\nmov.u64 %d1, %d2;\nmov.u64 %d2, %a2;\n@%p1 bra L;", ["", "", "l", ""]),
            ("ld.global.u32 %r1, [v];", ["", "", "", "l"]),
            ("st.global.u32 [v+4], %r0;", ["", "", "", "s"]),
            ("mov.u64 %d1, v;\nadd.u64 %d1, %d1, 8;\nst.global.u32 [%d1], %r0;", ["", "", "", "s"]),
            ("mov.u64 %d1, v;\nselp.b64 %d1, %d1, %a1, %p1;\nld.global.u32 %r1, [%d1];", ["", "l", "", "l"]),
            ("atom.global.add.u32 %r1, [%a1], 1;", ["", "ls", "", ""]),
            ("red.global.add.u32 [%a2], 1;", ["", "", "ls", ""]),
            ("cp.async.ca.shared.global [tile], [%a0], 4;", ["l", "", "", ""]),
            (
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%a0], 16, [tile+32];",
                ["l", "", "", ""],
            ),
            // A value out of memory may be any pointer.
            ("ld.global.u64 %d1, [%a0];\nst.global.u32 [%d1], %r0;", ["ls", "s", "s", "s"]),
            ("ld.shared.u64 %d1, [tile];\nld.global.u32 %r1, [%d1];", ["l", "l", "l", "l"]),
            ("st.shared.u32 [tile], %r0;\nld.shared.u32 %r1, [tile];", ["", "", "", ""]),
        ] {
            let program = kernel(3, body).program;
            let through = program.parameters.iter().map(|p| letters(p.loaded_through, p.stored_through));
            let told: Vec<String> = through.chain([letters(program.globals_loaded, program.globals_stored)]).collect();
            assert_eq!(told, wanted, "{body}");
        }
    }

    #[test]
    fn of_many_parameters_the_last_ones_are_told_together() {
        for (through, wanted) in [(0, 0..1), (60, 60..61), (61, 61..70), (62, 61..70), (69, 61..70)] {
            let program = kernel(70, &format!("ld.global.u32 %r1, [%a{through}];")).program;
            let told: Vec<usize> = (0..70).filter(|n| program.parameters[*n].loaded_through).collect();
            assert_eq!(told, wanted.collect::<Vec<usize>>(), "{through}");
        }
    }
}
