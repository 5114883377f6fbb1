//! What was counted of the launches, and what a modelled GPU would make of them: the words of `lab try`.

use std::fmt;

use emulator::gpu::Gpu;
use emulator::{Dim3, Launch, LineCounters};
use gemm::annotate::annotate;
use gemm::modelled::Modelled;
use gemm::{Source, counted};
use serde::Serialize;

use super::execute::{Ran, recorded};
use super::plan::Plan;
use crate::candidate::{File, Kernels};
use crate::waits::any::{Asked, Waiting, waiting};

/// A launch's counts.
#[derive(Debug, Serialize)]
pub struct Counted {
    /// The counts of the whole launch.
    pub total: emulator::Counters,
    /// Counts by source line, ordered by file and line.
    pub lines: Vec<LineCounters>,
    /// Distinct bytes of global memory that the launch touched, in whole sectors of 32 bytes.
    pub footprint_bytes: u64,
    /// Bytes of shared memory of a block.
    #[serde(skip)]
    pub shared_bytes: u32,
    /// What a modelled GPU would make of it.
    pub modelled: Modelled,
    /// What its warps wait for, by a model, if that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waiting>,
    /// The kernel's text with counters in the margin.
    #[serde(skip)]
    pub annotated: String,
}

/// The counts of all launches, in one order of thread blocks.
pub fn counted(file: &File, kernels: &Kernels, ran: &Ran, gpu: &'static Gpu) -> Vec<Counted> {
    let one = |report: &emulator::Report| Counted {
        total: report.total.clone(),
        lines: report.lines.clone(),
        footprint_bytes: report.footprint_bytes,
        shared_bytes: report.shared_bytes,
        modelled: Modelled::of_any(gpu, &kernels.kernel, false, report),
        waits: None,
        annotated: annotate(&Source { path: &file.path, text: &file.text }, report),
    };
    ran.reports.iter().map(one).collect()
}

/// What the warps of each launch wait for, by the model.
pub fn wait(
    counted: &mut [Counted],
    plan: &Plan,
    kernels: &Kernels,
    (ran, instruction_limit): (&Ran, u64),
    gpu: &'static Gpu,
) {
    let resources = kernels.kernel.resources.get(&gpu.sm());
    for (index, (counted, planned)) in counted.iter_mut().zip(&plan.launches).enumerate() {
        let launch = Launch::new(planned.grid, planned.block).dynamic_shared(planned.shared);
        let instructions = counted.total.warp_instructions();
        let asked = Asked { gpu, resources, launch: &launch, instructions };
        let record = |wanted: &dyn Fn(Dim3) -> bool| recorded(plan, ran.order, instruction_limit, (index, wanted));
        counted.waits = Some(waiting(asked, record));
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { total, modelled, waits, .. } = self;
        writeln!(f, "{}\n{modelled}", counted::Counted { total, of_product: None })?;
        waits.as_ref().map_or(Ok(()), |waits| write!(f, "\n{waits}"))
    }
}
