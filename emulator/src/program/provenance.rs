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
        Some(Preset::Global(..)) => VARIABLE,
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
