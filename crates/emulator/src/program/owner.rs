//! Which variable in shared or local memory the address of an access derives from. Where it is exactly one, the access must
//! stay within that variable: running from one array into its neighbour is out of bounds, too.
//!
//! Flow-insensitive: a register that may hold addresses of two variables belongs to none.

use std::collections::{HashMap, HashSet};

use super::decode::PRESET;
use super::operands::{Role, visit};
use super::{Extension, File, Op, Preset, Program, SharedVariable, Slot};

/// A variable in local memory: its start and end there, or in the frame of a function that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalVariable {
    pub start: u32,
    pub end: u32,
    /// The function, by its number among those that are called.
    pub function: Option<u32>,
}

/// What is known of a register: nothing, the one variable that its values derive from, or that they are several.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Owner {
    Nobody,
    Shared(u32),
    Local(u32),
    Several,
}

impl Owner {
    fn join(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Nobody, known) | (known, Owner::Nobody) => known,
            (one, same) if one == same => one,
            _ => Owner::Several,
        }
    }
}

/// Sets `within` and `of_local` of the program's accesses. Runs before allocation. Some registers hold the address of a variable
/// in a frame.
pub(super) fn mark(
    program: &mut Program,
    counts: [u32; 3],
    presets: &[Vec<Preset>; 3],
    in_frames: &HashMap<Slot, u32>,
) {
    let mut owners: [Vec<Owner>; 3] = counts.map(|n| vec![Owner::Nobody; n as usize]);
    let of_preset = |file: File, slot: Slot| match presets[file as usize].get((slot & !PRESET) as usize) {
        Some(Preset::SharedAddress { variable, .. }) => Owner::Shared(*variable),
        Some(Preset::LocalAddress { variable, .. }) => Owner::Local(*variable),
        _ => Owner::Nobody,
    };
    let (mut accesses, mut extended) = (program.accesses.clone(), program.extended.clone());
    // What a load brings may be any address: a register that holds such at times belongs to no one variable.
    let maps = |index: u32| matches!(program.extended[index as usize].what, Extension::MapToRank { .. });
    let is_load = |op: Op| match op {
        Op::Load(_) => true,
        Op::Extended(index) => !maps(index),
        _ => false,
    };
    let mut loaded = HashSet::new();
    for instruction in program.code.iter().filter(|instruction| is_load(instruction.op)) {
        visit(&mut instruction.clone(), &mut accesses, &mut extended, &mut |file, role, slot| {
            if role == Role::Write {
                loaded.insert((file, *slot));
            }
        });
    }
    loop {
        let mut changed = false;
        for instruction in &program.code {
            let passes = !is_load(instruction.op);
            let mut flowing = Owner::Nobody;
            visit(&mut instruction.clone(), &mut accesses, &mut extended, &mut |file, role, slot| {
                let preset = *slot & PRESET != 0;
                match role {
                    Role::Read if preset => flowing = flowing.join(of_preset(file, *slot)),
                    Role::Read => flowing = flowing.join(owners[file as usize][*slot as usize]),
                    Role::Write if passes && !preset && file != File::P => {
                        let frame = in_frames.get(slot).filter(|_| file == File::D);
                        let flowing = frame.map_or(flowing, |variable| Owner::Local(*variable));
                        let owner = &mut owners[file as usize][*slot as usize];
                        let known = match owner.join(flowing) {
                            Owner::Shared(_) | Owner::Local(_) if loaded.contains(&(file, *slot)) => Owner::Several,
                            known => known,
                        };
                        changed |= known != *owner;
                        *owner = known;
                    }
                    Role::Write | Role::Address => {}
                }
            });
        }
        if !changed {
            break;
        }
    }
    for access in &mut program.accesses {
        let file = if access.base_wide { File::D } else { File::R };
        let owner = match access.base & PRESET {
            0 => owners[file as usize][access.base as usize],
            _ => of_preset(file, access.base),
        };
        access.within = match owner {
            Owner::Shared(variable) => program.shared[variable as usize].bounds(),
            Owner::Local(_) | Owner::Nobody | Owner::Several => SharedVariable::ANY,
        };
        access.of_local = match owner {
            Owner::Local(variable) => Some(variable),
            _ => None,
        };
    }
}
