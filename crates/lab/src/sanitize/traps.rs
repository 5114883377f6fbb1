//! A `trap` that no one wrote: the compiler knew that a thread does there what none may do, and made nothing else of it. Without
//! optimisation it writes down what the kernel says, and so the emulator finds what is wrong, and where.

use emulator::{Fault, FaultKind, Schedule};
use gemm::Error;

use super::execute::{self, Ran};
use super::plan::Plan;

/// The compiler's option for a kernel as it is written.
pub const AS_WRITTEN: &str = "--device-debug";

/// Puts what is wrong in the place of traps. `plan` makes a plan of the kernels as they are written.
pub fn explain(runs: &mut [Ran], instruction_limit: u64, plan: impl FnOnce() -> Result<Plan, Error>) {
    let trapped = |ran: &Ran| ran.fault.as_ref().is_some_and(|(_, fault)| is_trap(fault));
    if !runs.iter().any(trapped) {
        return;
    }
    // Where that cannot be had, the trap is what is known.
    let Ok(plan) = plan() else { return };
    for ran in runs.iter_mut().filter(|ran| trapped(ran)) {
        if let Some(found) = cause(&plan, ran.order, instruction_limit) {
            ran.fault = Some(found);
        }
    }
}

fn is_trap(fault: &Fault) -> bool {
    fault.kind == FaultKind::Trap && fault.site.opcode == "trap"
}

/// What is at fault in a kernel as it is written, if that is no trap: a trap is its own.
fn cause(plan: &Plan, order: Schedule, instruction_limit: u64) -> Option<(usize, Box<Fault>)> {
    let (launch, mut fault) = execute::run(plan, order, instruction_limit).ok()?.fault?;
    if is_trap(&fault) || fault.site.source.is_none() {
        return None;
    }
    fault.message += "; the compiler made a `trap` of it";
    Some((launch, fault))
}
