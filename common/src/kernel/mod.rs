//! The kernel's PTX, with what makes it: NVRTC, and several versions of ptxas.

pub mod nvrtc;
pub mod ptxas;
mod write;

pub use gemm::kernel::*;
pub use write::{Record, build_file, ptx_file, write_ptx};
