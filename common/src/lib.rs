//! The road that every kernel takes: problem → kernel → device → check → time → report.
//!
//! A level is a [`Level`] and a `main` that calls [`run()`]. In the order in which a run passes through them:
//!
//! - [`level`]: what a level is, its configurations and its launch
//! - [`dtype`]: the types of a product; [`element`]: of a matrix's elements; [`matrix`]: bytes with a type
//! - [`plan`]: a level in one configuration, and what it launches for a problem
//! - [`cli`]: the command line, the same for every level
//! - [`problem`]: sizes and their limits, A and B
//! - [`kernel`]: shipped PTX, or compiled by NVRTC
//! - [`device`]: a CUDA GPU, or the emulator
//! - [`fit`]: whether a GPU can run a kernel, and which tile sizes, if not the default ones
//! - [`check`]: is C right?
//! - [`judge`]: what the emulator says, in every order of blocks and warps, also of what a GPU ran
//! - [`timing`]: how long, on a GPU
//! - [`multiply()`]: all of this as one call; [`choice`]: by which level, [`tuned`]: what measurements say of that
//! - [`serial`]: the same product on one core of the CPU, as a baseline
//! - [`road`]: these steps, for any kernel
//! - [`report`]: for a person or a program; [`annotate`]: kernel.cu with counters in its margin
//! - [`progress`]: a word about what lasts long
//! - [`error`]: what can go wrong, and the exit code that it means

pub mod annotate;
pub mod check;
pub mod choice;
pub mod cli;
pub mod device;
pub mod dtype;
pub mod element;
pub mod error;
mod ffi;
pub mod fit;
pub mod judge;
pub mod kernel;
pub mod level;
mod libraries;
pub mod matrix;
pub mod multiply;
pub mod plan;
pub mod problem;
pub mod progress;
pub mod report;
pub mod road;
mod run;
pub mod serial;
mod source;
#[doc(hidden)]
pub mod testing;
mod text;
pub mod timing;
pub mod tuned;

pub use choice::Choice;
pub use dtype::Dtype;
pub use element::Element;
pub use emulator::Dim3;
pub use error::Error;
pub use level::{
    Configuration, Decomposition, LaunchShape, Level, Needs, Parameter, Shape, Tile, Tiles, Types, Variant,
};
pub use multiply::multiply;
pub use plan::{Build, Plan};
pub use run::{execute, run};
pub use source::Source;
