//! The host's half of the road that every kernel takes: problem → kernel → device → check → time → report.
//!
//! A level is a [`Level`] and a `main` that calls [`run()`]. What a level is, and how its product is judged, is in [`gemm`], which
//! knows no GPU, no compiler and no terminal. Here is what does, in the order in which a run passes through it:
//!
//! - [`cli`]: the command line, the same for every level
//! - [`kernel`]: PTX, shipped or made by NVRTC, and what writes the shipped files
//! - [`device`]: a CUDA GPU, or the emulator
//! - [`timing`]: how long, on a GPU
//! - [`road`]: these steps, for any kernel
//! - [`multiply()`]: all of this as one call; [`choice`]: by which level, [`predict`]: by which times,
//!   [`nearby`]: how these are corrected, [`tuned`]: what measurements say of that
//! - [`Handle`]: for those who call us as a library: matrices stay on the GPU, kernels stay loaded
//! - [`serial`]: the same product on one core of the CPU, as a baseline
//! - [`progress`]: a word about what lasts long

mod arguments;
pub mod choice;
pub mod cli;
pub mod device;
mod ffi;
mod handle;
pub mod kernel;
mod libraries;
pub mod multiply;
pub mod nearby;
pub mod output;
pub mod predict;
pub mod progress;
pub mod road;
mod run;
pub mod serial;
pub mod timing;
pub mod tuned;

pub use choice::Choice;
pub use gemm::{
    Build, Configuration, Decomposition, Dim3, Dtype, Element, Error, LaunchShape, Level, Needs, Parameter, Plan,
    Shape, Source, Tile, Tiles, Types, Variant, annotate, check, dtype, element, error, fit, form, judge, level,
    matrix, modelled, plan, problem, report,
};
pub use handle::{Batch, Handle};
pub use multiply::multiply;
pub use run::{execute, run};
