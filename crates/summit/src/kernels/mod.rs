//! The summit's kernels: what the ladder taught, in every form and type that they are shipped in.
//!
//! - [`fma_direct`]: f32 and f64; a thread computes an element from global memory
//! - [`fma_tiles`]: f32 and f64; a thread computes an element from tiles in shared memory
//! - [`fma_vectors`]: f32 and f64; a thread computes several elements, and memory is moved 16 bytes at a time
//! - [`fma_pipeline`]: f32 and f64 by multiply-adds, with asynchronous copies and two sets of registers
//! - [`fma_split_k`]: f32 and f64 by multiply-adds; warps and blocks share out K
//! - [`fma_stream_k`]: f32 and f64 by multiply-adds; the blocks of the last round share its tiles
//! - [`fma_rows`]: f32 and f64 by multiply-adds, for a C of few rows and a B that is stored as N × K
//! - [`mma_sync`]: 16 bits, tf32 and f64 by the tensor cores of sm_80 and later
//! - [`wgmma_clusters`]: 16 bits by the warpgroups of sm_90, in clusters of persistent blocks
//! - [`wgmma_split_k`]: 16 bits by warpgroups; the blocks of a cluster share out K
//! - [`wgmma_thin`]: 16 bits by warpgroups, for a C of few rows
//! - [`wgmma_tf32`]: tf32 by warpgroups
//! - [`wgmma_fp8`]: fp8 by warpgroups, with sums promoted to f32
//! - [`thin`]: products with few rows, few columns or a small K
//! - [`wgmma_ping_pong`]: 16 bits and fp8 by two warpgroups in turns
//! - [`wgmma_halves`]: f32 by products of f16, where that is allowed
//! - [`wgmma_bytes`]: f64 by products of bytes, where that is allowed
//!
//! Each is described as a level is, by a [`Level`], and is no rung: a level's kernel has one idea, and one of these what a program
//! needs. [`Level::from`] names the level of which it is explained.

use gemm::{Level, Parameter, Role};

pub mod fma_direct;
pub mod fma_pipeline;
pub mod fma_rows;
pub mod fma_split_k;
pub mod fma_stream_k;
pub mod fma_tiles;
pub mod fma_vectors;
pub mod mma_sync;
pub mod thin;
pub mod wgmma_bytes;
pub mod wgmma_clusters;
pub mod wgmma_fp8;
pub mod wgmma_halves;
pub mod wgmma_ping_pong;
pub mod wgmma_split_k;
pub mod wgmma_tf32;
pub mod wgmma_thin;

/// What a kernel of maps of A and B takes that does any form of a product.
const OF_TWO_MAPS: &[Parameter] = &[
    Parameter::Map(Role::A),
    Parameter::Map(Role::B),
    Parameter::Mapped,
    Parameter::A,
    Parameter::B,
    Parameter::C,
    Parameter::M,
    Parameter::N,
    Parameter::K,
    Parameter::Lda,
    Parameter::Ldb,
    Parameter::Ldc,
    Parameter::Alpha,
    Parameter::Beta,
];

/// What one of maps of A, B and D takes that does batches, too, and all that may become of a sum.
const OF_THREE_MAPS: &[Parameter] = &[
    Parameter::Map(Role::A),
    Parameter::Map(Role::B),
    Parameter::Map(Role::C),
    Parameter::Mapped,
    Parameter::A,
    Parameter::B,
    Parameter::C,
    Parameter::M,
    Parameter::N,
    Parameter::K,
    Parameter::Lda,
    Parameter::Ldb,
    Parameter::Ldc,
    Parameter::Alpha,
    Parameter::Beta,
    Parameter::Batch,
    Parameter::Epilogue,
];

/// Every kernel; those that run on the oldest cards come first.
pub static KERNELS: [&Level; 17] = [
    &fma_direct::KERNEL,
    &fma_tiles::KERNEL,
    &fma_vectors::KERNEL,
    &fma_pipeline::KERNEL,
    &fma_split_k::KERNEL,
    &fma_stream_k::KERNEL,
    &fma_rows::KERNEL,
    &mma_sync::KERNEL,
    &wgmma_clusters::KERNEL,
    &wgmma_split_k::KERNEL,
    &wgmma_thin::KERNEL,
    &wgmma_tf32::KERNEL,
    &wgmma_fp8::KERNEL,
    &thin::KERNEL,
    &wgmma_ping_pong::KERNEL,
    &wgmma_halves::KERNEL,
    &wgmma_bytes::KERNEL,
];

/// What the names of all begin with.
const SUMMIT: &str = "summit ";

/// The kernel of this name, `thin` or `summit thin`; nothing, if there is none.
pub fn named(word: &str) -> Option<&'static Level> {
    let word = word.strip_prefix(SUMMIT).unwrap_or(word);
    KERNELS.into_iter().find(|kernel| short(kernel) == word)
}

/// A kernel's name without the summit's: `thin`.
pub fn short(kernel: &Level) -> &'static str {
    kernel.name.strip_prefix(SUMMIT).unwrap_or(kernel.name)
}

/// In which order a kernel sums products along K, whatever its tile sizes: two kernels of one order give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By `wgmma`, as many products at once as an instruction has, from the first on.
    Warpgroup,
    /// By `mma.sync`, the same.
    Warp,
    /// One multiply-add after the other, from the first on.
    One,
}

impl Order {
    /// Those of the faster instructions first.
    pub const ALL: [Order; 3] = [Order::Warpgroup, Order::Warp, Order::One];

    /// That of a kernel; nothing, where the order depends on sizes, because warps, blocks or rounds share out K, or sums are promoted.
    pub fn of(kernel: &Level) -> Option<Order> {
        match short(kernel) {
            "wgmma_clusters" | "wgmma_ping_pong" | "wgmma_tf32" => Some(Order::Warpgroup),
            "mma_sync" => Some(Order::Warp),
            "fma_direct" | "fma_tiles" | "fma_vectors" | "fma_pipeline" => Some(Order::One),
            _ => None,
        }
    }
}
