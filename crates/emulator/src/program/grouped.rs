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

#[cfg(test)]
mod tests {
    use crate::Module;

    #[test]
    fn registers_are_those_of_products_and_what_they_are_moved_from_and_to() {
        // So many registers of their own, and so many instructions that use them, for products of four sums, A in registers or not.
        for (a, sums, of_a) in [("{%r10, %r11, %r12, %r13}", 4, 4), ("%d1", 4, 0)] {
            for moves in 0..3 {
                let chain: String = (0..moves)
                    .map(|n| format!("mov.f32 %f{}, %f{};\n", 20 + n, if n == 0 { 0 } else { 19 + n }))
                    .collect();
                let last = if moves == 0 { 0 } else { 19 + moves };
                let text = format!(
                    ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<9>; .reg .b32 %r<20>; .reg .f32 %f<40>; .reg .b64 %d<9>;\n\
                     ld.param.u64 %d0, [a];\nmov.u32 %r0, %tid.x;\nadd.u32 %r1, %r0, %r0;\nmov.u32 %r2, %r1;\nst.global.u32 [%d0], %r2;\n\
                     wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f0, %f1, %f2, %f3}}, {a}, %d1, 1, 1, 1{}, 0;\n\
                     {chain}add.f32 %f39, %f{last}, %f{last};\nst.global.f32 [%d0], %f39;\nret;\n}}\n",
                    if of_a == 0 { ", 0" } else { "" }
                );
                let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
                let program = kernel.unwrap_or_else(|error| panic!("{error}\n{text}")).program;
                let grouped = &program.grouped;
                let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
                assert_eq!(count(&grouped.slots), sums + of_a + moves, "{a}, {moves}");
                assert_eq!(count(&grouped.touching), moves + 1, "{a}, {moves}");
            }
        }
    }
}
