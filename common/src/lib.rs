//! The road that every kernel takes: problem → kernel → device → check → time → report.
//!
//! A level is a [`Level`] and a `main` that calls [`run`]. The modules stand in the order in which
//! a run passes through them.

pub mod annotate;
pub mod check;
pub mod cli;
pub mod device;
pub mod error;
mod ffi;
pub mod kernel;
pub mod level;
pub mod problem;
pub mod report;
mod run;
#[doc(hidden)]
pub mod testing;
mod text;
pub mod timing;

pub use emulator::Dim3;
pub use error::Error;
pub use level::{Configuration, Dtype, LaunchShape, Level, Shape, Tile, Tiles, Variant};
pub use run::{execute, run};
