//! The host's half of the road that every kernel takes: problem → kernel → device → check → time → report.
//!
//! A level is a [`Level`] and a `main` that calls [`run()`]. What a level is, and how its product is judged, is in [`gemm`], which
//! knows no GPU, no compiler and no terminal. Here is what does, in the order in which a run passes through it:
//!
//! - [`cli`]: the command line, the same for every level
//! - [`road`]: from there to the report
//! - [`serial`]: the same product on one core of the CPU, as a baseline
//! - [`progress`]: a word about what lasts long
//! - [`ship`]: what writes the shipped PTX
//! - [`output`]: how all of it comes to stdout and stderr, in lines that [`wrap`] breaks

pub mod cli;
pub mod output;
pub mod progress;
pub mod road;
pub mod serial;
pub mod ship;
mod wrap;

pub use road::{execute, run};
