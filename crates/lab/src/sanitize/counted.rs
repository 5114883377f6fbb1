//! What was counted of the launches, and what a modelled GPU would make of them: the words of `lab try`.

use std::fmt;

use emulator::LineCounters;
use emulator::gpu::Gpu;
use gemm::annotate::annotate;
use gemm::modelled::Modelled;
use gemm::{Source, counted};
use serde::Serialize;

use super::execute::Ran;
use crate::candidate::{File, Kernels};

/// A launch's counts.
#[derive(Debug, Serialize)]
pub struct Counted {
    /// The counts of the whole launch.
    pub total: emulator::Counters,
    /// Counts by source line, ordered by file and line.
    pub lines: Vec<LineCounters>,
    /// Distinct bytes of global memory that the launch touched, in whole sectors of 32 bytes.
    pub footprint_bytes: u64,
    /// What a modelled GPU would make of it.
    pub modelled: Modelled,
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
        modelled: Modelled::of_any(gpu, &kernels.kernel, false, report),
        annotated: annotate(&Source { path: &file.path, text: &file.text }, report),
    };
    ran.reports.iter().map(one).collect()
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { total, modelled, .. } = self;
        writeln!(f, "{}\n{modelled}", counted::Counted { total, of_product: None })
    }
}
