//! What a device is asked to launch.

use crate::check::Method;
use crate::dtype::Sum;
use crate::epilogue::{Batch, Epilogue};
use crate::kernel::Kernel;
use crate::level::LaunchShape;
use crate::mapped::Mapped;
use crate::source::Source;

use emulator::Dim3;

/// A launch of a kernel: all that a device needs beside the matrices.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its text, for the lines that faults name.
    pub source: Source<'a>,
    /// Grid and block.
    pub launch: LaunchShape,
    /// Bytes of dynamic shared memory per block.
    pub dynamic_shared: u32,
    /// The kernel's arguments, in its order.
    pub operands: Vec<Operand>,
    /// What is launched before it.
    pub before: Option<Before>,
    /// How it sums products.
    pub sum: Sum,
}

/// A launch of another kernel of the same PTX, with the same arguments.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    /// The kernel's name.
    pub entry: &'static str,
    /// Thread blocks in its grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// Bytes that are read of its memory when all is done, from the first one on.
    pub found: u64,
}

impl Task<'_> {
    /// Bytes that are read of the memory beside the matrices when all is done.
    pub fn found(&self) -> usize {
        self.before.map_or(0, |before| usize::try_from(before.found).unwrap_or(usize::MAX))
    }

    /// What the check of its product is to know.
    pub fn method(&self) -> Method {
        Method { tile: self.launch.tile, sum: self.sum }
    }
}

/// A kernel's argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand {
    /// The address of A.
    A,
    /// The address of B.
    B,
    /// The address of C.
    C,
    /// A 32-bit integer, signed or not.
    U32(u32),
    /// A 64-bit integer, signed or not.
    U64(u64),
    /// A `__half` or `__nv_bfloat16`, by its bits.
    Half(u16),
    /// A float.
    F32(f32),
    /// A double.
    F64(f64),
    /// The tensor map of a matrix, 128 bytes; zeros where no map can describe it.
    Map(Mapped),
    /// The address of so many bytes of memory, which hold anything at first.
    Room(u64),
    /// How many products, as [`Batch::words`] says it.
    Batch(Batch),
    /// What becomes of a sum, as [`Epilogue::words`] says it.
    Epilogue(Epilogue),
    /// A 32-bit integer: which of the matrices among these operands have a map that describes them. Bit 0 stands for A, 1 for B, 2 for C.
    Mapped {
        /// Whether the product is one A·B whose sums leave as they are, of a K as [`Needs::plain`] says. If all matrices have maps, too,
        /// it is launched by [`Kernel::plain`].
        ///
        /// [`Needs::plain`]: crate::level::Needs::plain
        bare: bool,
    },
}

/// Bytes of the memory that the operands ask for; 0, if for none.
pub fn room(operands: &[Operand]) -> u64 {
    let asked = operands.iter().find_map(|operand| match operand {
        Operand::Room(bytes) => Some(*bytes),
        _ => None,
    });
    asked.unwrap_or(0)
}

/// The value of [`Operand::Mapped`], where what maps describe is at these addresses.
pub fn mapped(operands: &[Operand], addresses: [u64; 3]) -> u32 {
    operands.iter().fold(0, |mask, operand| match operand {
        Operand::Map(map) if map.description(map.role.of(addresses)).is_some() => mask | 1 << map.role as u32,
        _ => mask,
    })
}

/// Whether [`Kernel::plain`] does for these operands, where what maps describe is at these addresses.
pub fn is_plain(operands: &[Operand], addresses: [u64; 3]) -> bool {
    operands.contains(&Operand::Mapped { bare: true }) && mapped(operands, addresses) == 7
}
