//! Where the clocks of an SM go: a model, fed by what the emulator's warps execute.
//!
//! It is no measurement, and every figure that it gives is to be shown with how far it was off where a GPU was
//! measured. Its parts:
//!
//! - [`figures`]: the clocks and widths of an SM, with their sources
//! - [`gpus`]: the same of other GPUs, by what is published of them
//! - [`assemble`]: from executed PTX to what the SM issues; `place` puts it into the order that an assembler would choose,
//!   `ops` is what both speak of
//! - [`sm`]: schedulers, pipes, queues and barriers, clock by clock; `memory` is what lies behind the load and store unit, `warp` how
//!   far each warp is
//! - [`waits`]: what a warp does in a clock, by the names of Nsight Compute
//! - [`timeline`]: what each warp did when, as text

#![forbid(unsafe_code)]

pub mod assemble;
pub mod figures;
pub mod gpus;
mod memory;
mod ops;
mod place;
pub mod sm;
pub mod timeline;
pub mod waits;
mod warp;

use emulator::stream::Stream;

use figures::Figures;
use sm::{How, Outcome};

/// The recorded thread blocks side by side on one SM, of threads with so many registers.
pub fn run(stream: &Stream, registers: u32, figures: &Figures, how: How) -> Outcome {
    sm::run(&assembled(stream, registers, figures), &stream.touches, figures, how)
}

/// What their warps issue.
pub fn assembled(stream: &Stream, registers: u32, figures: &Figures) -> Vec<sm::Block> {
    let warps =
        |warps: &[Vec<_>]| warps.iter().map(|warp| assemble::assemble(stream, warp, registers, figures)).collect();
    stream.blocks.iter().map(|block| warps(&block.warps)).collect()
}
