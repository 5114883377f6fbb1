//! The registers of a warpgroup's products: those of D and of A, and those that values go to and from by plain moves. A
//! product uses them beside the threads, so that they have slots of their own, and it is looked at who else touches them.

use super::decode::PRESET;
use super::operands::visit;
use super::{Alu, Extension, File, Group, Op, Program};

/// See the module; empty where a kernel has no such products.
#[derive(Debug, Default)]
pub(crate) struct Grouped {
    /// By slot: whether it is such a register.
    pub slots: Vec<bool>,
    /// By instruction: whether it uses one, and is none of a warpgroup.
    pub touching: Vec<bool>,
}

/// Of each 32-bit register whether it is one of them. Runs before allocation.
pub(super) fn registers(program: &Program, count: u32) -> Vec<bool> {
    let products = program.extended.iter().filter(|e| matches!(e.what, Extension::Group(Group::Multiply(_))));
    let mut found = Vec::new();
    for extended in products {
        let used = extended.reads.iter().chain(&extended.writes);
        let own = used.filter(|(file, slot)| *file == File::R && slot & PRESET == 0);
        found.resize(count as usize, false);
        own.for_each(|(_, slot)| found[*slot as usize] = true);
    }
    let mut changed = !found.is_empty();
    while std::mem::take(&mut changed) {
        for instruction in &program.code {
            if let Op::Alu { code: Alu::Mov32, d, a, .. } = instruction.op
                && (d | a) & PRESET == 0
                && found[d as usize] != found[a as usize]
            {
                (found[d as usize], found[a as usize]) = (true, true);
                changed = true;
            }
        }
    }
    found
}

/// The instructions that use one of them. Runs before allocation.
pub(super) fn touching(program: &Program, registers: &[bool]) -> Vec<bool> {
    let (mut accesses, mut extended) = (program.accesses.clone(), program.extended.clone());
    let touches = |instruction: &super::Instruction| {
        let mut touches = false;
        visit(&mut instruction.clone(), &mut accesses, &mut extended, &mut |file, _, slot| {
            touches |= file == File::R && *slot & PRESET == 0 && registers[*slot as usize];
        });
        let group = match instruction.op {
            Op::Extended(index) => matches!(program.extended[index as usize].what, Extension::Group(_)),
            _ => false,
        };
        touches && !group
    };
    if registers.is_empty() { Vec::new() } else { program.code.iter().map(touches).collect() }
}
