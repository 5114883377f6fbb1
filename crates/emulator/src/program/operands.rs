//! Which registers an operation reads and writes: what allocation, provenance and tracking of
//! uninitialised values have in common.

use super::{Access, Exit, Extended, File, Instruction, Op, Program, Slot};

/// How an operation uses a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Read,
    /// Read as part of an address.
    Address,
    Write,
}

/// Calls `visit` for each register of an instruction, reads before writes.
pub(super) fn visit(
    instruction: &mut Instruction,
    accesses: &mut [Access],
    extended: &mut [Extended],
    visit: &mut dyn FnMut(File, Role, &mut Slot),
) {
    use File::*;
    use Role::*;
    if let Some(guard) = &mut instruction.guard {
        visit(P, Read, &mut guard.predicate);
    }
    match &mut instruction.op {
        Op::Alu { code, d, a, b, c } => {
            let signature = code.signature();
            for (file, slot) in signature[1..].iter().zip([a, b, c]) {
                visit(*file, Read, slot);
            }
            visit(signature[0], Write, d);
        }
        Op::General { code, d, sources } => {
            let (result, files) = code.signature();
            for (file, slot) in files.iter().zip(sources) {
                visit(*file, Read, slot);
            }
            visit(result, Write, d);
        }
        Op::Extended(index) => {
            let extended = &mut extended[*index as usize];
            for index in &extended.accesses {
                let access = &mut accesses[*index as usize];
                visit(if access.base_wide { D } else { R }, Address, &mut access.base);
            }
            for (file, slot) in &mut extended.reads {
                visit(*file, Read, slot);
            }
            for (file, slot) in &mut extended.writes {
                visit(*file, Write, slot);
            }
        }
        Op::Lop3 { d, a, b, c, .. } => {
            for slot in [a, b, c] {
                visit(R, Read, slot);
            }
            visit(R, Write, d);
        }
        Op::Load(index) => access(&mut accesses[*index as usize], Write, visit),
        Op::Store(index) => access(&mut accesses[*index as usize], Read, visit),
        Op::Shuffle { d, valid, a, b, c, members, .. } => {
            for slot in [a, b, c, members] {
                visit(R, Read, slot);
            }
            visit(R, Write, d);
            visit(P, Write, valid);
        }
        Op::Vote { mode, d, predicate, members, .. } => {
            visit(P, Read, predicate);
            visit(R, Read, members);
            visit(if *mode == super::VoteMode::Ballot { R } else { P }, Write, d);
        }
        Op::ActiveMask { d } => visit(R, Write, d),
        Op::WarpSync { members } => visit(R, Read, members),
        Op::Fence { .. } | Op::Nothing => {}
    }
}

fn access(access: &mut Access, role: Role, visit: &mut dyn FnMut(File, Role, &mut Slot)) {
    let data = if access.wide { File::D } else { File::R };
    visit(if access.base_wide { File::D } else { File::R }, Role::Address, &mut access.base);
    for slot in &mut access.registers[..access.elements as usize] {
        visit(data, role, slot);
    }
}

/// Calls `visit` for each register that the end of a block reads or writes.
pub(super) fn visit_exit(exit: &mut Exit, visit: &mut dyn FnMut(File, Role, &mut Slot)) {
    match exit {
        Exit::Branch { predicate, .. } => visit(File::P, Role::Read, predicate),
        Exit::Barrier { barrier, .. } => {
            if let Some(guard) = &mut barrier.guard {
                visit(File::P, Role::Read, &mut guard.predicate);
            }
            visit(File::R, Role::Read, &mut barrier.id);
            if let Some(threads) = &mut barrier.threads {
                visit(File::R, Role::Read, threads);
            }
            if let Some((reduce, result, predicate)) = &mut barrier.reduce {
                visit(File::P, Role::Read, predicate);
                visit(if *reduce == super::Reduce::Popc { File::R } else { File::P }, Role::Write, result);
            }
        }
        Exit::Call { pointer: Some(pointer), .. } => visit(File::D, Role::Read, pointer),
        Exit::Jump(_) | Exit::Meeting(_) | Exit::Call { .. } | Exit::Leave | Exit::Return | Exit::Trap => {}
    }
}

/// The registers of an instruction of a decoded program.
pub(crate) fn registers(program: &Program, at: u32) -> Vec<(File, Role, Slot)> {
    let mut instruction = program.code[at as usize];
    // Only what this instruction refers to is copied.
    let (mut accesses, mut extended) = (Vec::new(), Vec::new());
    match &mut instruction.op {
        Op::Load(index) | Op::Store(index) => {
            accesses.push(program.accesses[*index as usize].clone());
            *index = 0;
        }
        Op::Extended(index) => {
            let mut copy = program.extended[*index as usize].clone();
            for (n, access) in copy.accesses.iter_mut().enumerate() {
                accesses.push(program.accesses[*access as usize].clone());
                *access = n as u32;
            }
            extended.push(copy);
            *index = 0;
        }
        _ => {}
    }
    let mut list = Vec::new();
    visit(&mut instruction, &mut accesses, &mut extended, &mut |file, role, slot| list.push((file, role, *slot)));
    list
}
