//! What a launch accesses, one warp instruction at a time, for pictures and for looking closely.

use std::fmt;
use std::sync::Arc;

use crate::access::{self, GlobalCost, SharedCost};
use crate::{Dim3, Report};

/// A launch's report, and what the blocks that were asked for accessed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// What an untraced launch reports, of the whole grid.
    pub report: Report,
    /// The accesses: block after block in the grid's order, and in a block as its warps took their turns; blocks that may wait
    /// for each other take turns as well. The turns are the emulator's; between two barriers a GPU may choose others.
    pub accesses: Vec<TracedAccess>,
}

/// One execution of a load, store, atomic or asynchronous copy by one warp, on global or on shared memory. An instruction
/// whose generic addresses lie in both is two.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedAccess {
    /// The file and line that the PTX attributes the instruction to; as of a [`Site`](crate::Site).
    pub source: Option<(Arc<str>, u32)>,
    /// The instruction's opcode, for instance `ld.global.f32`.
    pub opcode: Arc<str>,
    /// The thread block.
    pub block: Dim3,
    /// The warp in its block.
    pub warp: u32,
    /// Block-wide barriers that let the warp go before.
    pub phase: u32,
    /// Which memory.
    pub memory: Memory,
    /// What is done there.
    pub kind: AccessKind,
    /// Bytes that each lane accesses; for `ldmatrix` and `stmatrix` the bytes of a row, 16; 0 where `touched` says it.
    pub bytes: u32,
    /// The lanes that take part, from 0 up, and where.
    pub lanes: Vec<LaneAccess>,
    /// What it touches, if that is not `bytes` from each lane's address on.
    pub touched: Touched,
}

/// What an access touches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Touched {
    /// `bytes` from each lane's address on.
    Lanes,
    /// The rows of a box of a tensor that is copied, of each lane that asks for one.
    Box(Vec<TouchedRow>),
    /// A copy of a box, of which only the place in shared memory is known: its tensor map is no parameter of the kernel.
    Unknown,
    /// What a warp reads of A in a product of its warpgroup: sixteen rows, or as many columns of all of its lines along M.
    A(Vec<TouchedRow>),
    /// And of B, which all four warps read: columns, or lines along N.
    B(Vec<TouchedRow>),
}

/// A row of a box or a line of an operand, in chunks of 16 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TouchedRow {
    /// The addresses of its chunks in shared memory, in the row's order: what a swizzle has made of them.
    pub chunks: Vec<u32>,
    /// What of it a copy reads or writes in global memory; nothing outside the tensor, and of a product's operands.
    pub global: Option<GlobalBytes>,
}

/// Bytes of global memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobalBytes {
    /// The buffer.
    pub array: Arc<str>,
    /// Bytes from its start.
    pub offset: i64,
    /// The address of the first byte.
    pub address: u64,
    /// How many there are.
    pub bytes: u32,
}

/// What one lane accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneAccess {
    /// The lane in its warp, 0 to 31.
    pub lane: u32,
    /// The thread in its block.
    pub thread: Dim3,
    /// The buffer, or the shared variable: `A`, `As`.
    pub array: Arc<str>,
    /// In shared memory, the rank of the block whose memory it is, in its cluster; else 0.
    pub rank: u32,
    /// Bytes from the array's start.
    pub offset: u64,
    /// The address: in global memory, where sectors begin at multiples of 32; or in the block's shared memory, where the
    /// bank is `address / 4 % 32`.
    pub address: u64,
}

/// A memory that the lanes of more than one warp can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// Of the device.
    Global,
    /// Of the thread block.
    Shared,
}

/// What is done to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessKind {
    /// It is read.
    Load,
    /// It is written.
    Store,
    /// It is read and written in one.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
        })
    }
}

impl TracedAccess {
    /// The line of the source, whatever the file; 0 for none.
    pub fn line(&self) -> u32 {
        self.source.as_ref().map_or(0, |(_, line)| *line)
    }

    /// What a load or store costs on global memory; nothing for one on shared memory.
    pub fn global_cost(&self) -> Option<GlobalCost> {
        let (addresses, mask) = self.addresses();
        (self.memory == Memory::Global).then(|| access::global(&addresses, mask, self.bytes))
    }

    /// What a load or store costs on shared memory; nothing for one on global memory, for an atomic, for a tensor's box and for
    /// operands of a product.
    pub fn shared_cost(&self) -> Option<SharedCost> {
        if self.memory == Memory::Global || self.bytes == 0 {
            return None;
        }
        let (addresses, mask) = self.addresses();
        let addresses = addresses.map(|address| address as u32);
        if self.opcode.contains("matrix") {
            return Some(access::ldmatrix(&addresses, self.lanes.len() as u32 / 8));
        }
        match self.kind {
            AccessKind::Load => Some(access::shared_load(&addresses, mask, self.bytes)),
            AccessKind::Store => Some(access::shared_store(&addresses, mask, self.bytes)),
            AccessKind::Atomic => None,
        }
    }

    /// The lanes' addresses, and the mask of those that take part.
    fn addresses(&self) -> ([u64; 32], u32) {
        let (mut addresses, mut mask) = ([0; 32], 0);
        for lane in &self.lanes {
            addresses[lane.lane as usize] = lane.address;
            mask |= 1 << lane.lane;
        }
        (addresses, mask)
    }
}
