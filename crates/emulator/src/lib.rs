#![doc = include_str!("../README.md")]

pub mod access;
mod argument;
pub mod bound;
mod buffer;
mod circumstance;
mod clusters;
mod config;
mod copies;
mod counters;
mod dim3;
mod driver;
mod error;
mod fault;
mod global;
pub mod gpu;
pub mod isa;
mod lanewise;
mod launch;
mod library;
mod machine;
mod marks;
mod matrix_descriptor;
mod module;
pub mod occupancy;
mod origin;
mod printf;
mod program;
mod progress;
mod ptx;
mod schedule;
mod sparse;
mod stamp;
pub mod stream;
mod tensor;
mod tensor_map;
mod trace;
mod warning;
mod workers;

pub use argument::Argument;
pub use buffer::Buffer;
pub use circumstance::Circumstance;
pub use config::Launch;
pub use counters::{
    BulkCounters, Class, ClassCount, Counters, GlobalCounters, LineCounters, PeerCounters, Printed, Report,
    SharedCounters, TensorCount, TensorType,
};
pub use dim3::Dim3;
pub use driver::Device;
pub use error::{DeviceError, LaunchError, PtxError, Refusal};
pub use fault::{Cause, Fault, FaultKind, Site, Step};
pub use matrix_descriptor::{Major, MatrixDescriptor, Swizzle};
pub use module::{Kernel, Module, Parameter};
pub use program::plain_name;
pub use schedule::Schedule;
pub use tensor_map::{
    TensorElement, TensorFill, TensorInterleave, TensorL2Promotion, TensorMap, TensorMapDescription, TensorMapError,
    TensorSwizzle,
};
pub use trace::{AccessKind, GlobalBytes, LaneAccess, Memory, Touched, TouchedRow, Trace, TracedAccess};
pub use warning::{Warning, WarningKind};
