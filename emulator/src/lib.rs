//! Runs PTX on the CPU, in lockstep warps of 32 lanes, and counts what the hardware counts.
//!
//! The public API is a small driver: allocate buffers on a [`Device`], copy bytes in, parse a
//! [`Module`], launch one of its kernels, and read the bytes and the [`Report`] (or the [`Fault`])
//! that come back. The crate knows PTX and GPUs and nothing of matrix multiplication.

pub mod access;
pub mod bound;
mod counters;
mod driver;
mod fault;
mod global;
pub mod gpu;
pub mod isa;
mod launch;
mod machine;
mod marks;
mod module;
pub mod occupancy;
mod program;
mod ptx;
mod trace;

pub use counters::{Class, ClassCount, Counters, GlobalCounters, LineCounters, Report, SharedCounters};
pub use driver::{Argument, Buffer, Device, DeviceError, Dim3, Launch, LaunchError};
pub use fault::{Fault, FaultKind, Site};
pub use module::{Kernel, Module, Parameter, PtxError};
pub use trace::{AccessKind, LaneAccess, Memory, Trace, TracedAccess};
