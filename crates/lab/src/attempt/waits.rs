//! What the kernel's warps wait for, by the model.

use emulator::Launch;
use gemm::facts::Facts;
use gemm::report::Report;
use gemm::{Error, Shape};

use super::{Candidate, Operands, Try, task};
use crate::flags::modelled;
use crate::waits::any::{Asked, Waiting, waiting};
use crate::waits::model::record;

/// What the model says of the launch that was counted; nothing of one that a card ran.
pub fn of(
    attempt: &Try,
    candidate: &Candidate,
    shape: Shape,
    operands: &Operands,
    report: &Report,
) -> Result<Option<Waiting>, Error> {
    let Facts::Emulator(counted) = &report.facts else { return Ok(None) };
    let gpu = modelled(&attempt.how.gpu)?;
    let task = task(attempt, candidate, shape, operands)?;
    let launch = Launch::new(task.launch.grid, task.launch.block).dynamic_shared(task.dynamic_shared);
    let instructions = counted.total.warp_instructions();
    let asked = Asked { gpu, resources: candidate.kernel.resources.get(&gpu.sm()), launch: &launch, instructions };
    let shape = attempt.layout.shape(shape);
    Ok(Some(waiting(asked, |wanted| record(&task, attempt.how.dtype, shape, wanted))))
}
