//! What the warps of some thread blocks execute, one warp instruction after the other: what a model of time is fed
//! with.

use std::sync::Arc;

use crate::{Class, Dim3, Report};

/// What thread blocks executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stream {
    /// The kernel's instructions of PTX.
    pub code: Vec<Code>,
    /// The thread blocks that were asked for, in the order in which they ran.
    pub blocks: Vec<BlockStream>,
    /// What the accesses to memory cost, by [`Executed::touch`].
    pub touches: Vec<Touch>,
    /// What all thread blocks that ran did, those asked for alone where only they ran.
    pub report: Option<Box<Report>>,
}

/// An instruction of PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Code {
    /// For instance `ld.global.f32`.
    pub opcode: Arc<str>,
    /// How it counts; `None` for a part of an instruction that does several things.
    pub class: Option<Class>,
    /// The line of the source; 0 for none.
    pub line: u32,
    /// Registers that it reads, and those of them that are parts of addresses.
    pub reads: Vec<Register>,
    /// How many of `reads`, from the first on, are the predicate of its guard or parts of addresses.
    pub addresses: u32,
    /// Registers that it writes.
    pub writes: Vec<Register>,
    /// Of what waits for groups of copies, how many may still be under way.
    pub pending: Option<u32>,
    /// Multiply-adds of tensor cores for a warp.
    pub multiply_adds: u32,
    /// A branch to an earlier place.
    pub back: bool,
}

/// A register: registers of PTX share them where one is not needed any more when the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

/// What a thread block executed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockStream {
    /// Its place in the grid.
    pub block: Dim3,
    /// What each of its warps executed, in order.
    pub warps: Vec<Vec<Executed>>,
}

/// A warp executed an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executed {
    /// Index into [`Stream::code`].
    pub code: u32,
    /// Index into [`Stream::touches`], if it touches global or shared memory; [`Executed::NOTHING`] otherwise. Of
    /// barriers: number and, above
    /// bit 8, threads that it is for, 0 for all.
    pub touch: u32,
}

impl Executed {
    /// It touches no memory.
    pub const NOTHING: u32 = u32::MAX;
}

/// What an access costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Touch {
    /// Wavefronts of shared memory.
    pub wavefronts: u32,
    /// The sectors of global memory that it touches: addresses ÷ 32, each once, from the first up.
    pub sectors: Vec<u64>,
}
