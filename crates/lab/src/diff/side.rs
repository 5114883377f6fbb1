//! One of the two kernels, as far as both kinds of comparison have it.

use emulator::{Counters, LineCounters};
use gemm::Source;
use gemm::modelled::Modelled;

/// A kernel's launch: its text, what was counted, and what a modelled GPU makes of it.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The text.
    pub source: Source<'a>,
    /// The counts of the launch.
    pub total: &'a Counters,
    /// The same by line.
    pub lines: &'a [LineCounters],
    /// Distinct bytes of global memory that it touched.
    pub footprint_bytes: u64,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The modelled GPU's part.
    pub modelled: &'a Modelled,
}
