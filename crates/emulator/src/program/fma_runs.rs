//! Rows of multiply-adds, which are executed together.

use super::*;

/// The lengths of runs of FMAs: the heart of a matrix product, executed without a look at each.
pub(super) fn fma_runs(program: &Program) -> Vec<u32> {
    let kind = |at: usize| match program.code[at] {
        Instruction { op: Op::Alu { code: code @ (Alu::FmaF32 | Alu::FmaF64), .. }, guard: None } => Some(code),
        _ => None,
    };
    let mut runs = vec![0; program.code.len()];
    for block in &program.blocks {
        for at in (block.start as usize..block.end as usize).rev() {
            let more = at + 1 < block.end as usize && kind(at + 1) == kind(at);
            runs[at] = match kind(at) {
                Some(_) if more => runs[at + 1] + 1,
                Some(_) => 1,
                None => 0,
            };
        }
    }
    runs
}
