//! What a device is asked to launch.

use crate::Source;
use crate::check::Method;
use crate::dtype::Sum;
use crate::kernel::Kernel;
use crate::level::{Configuration, LaunchShape, Level, Shape};

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
    /// How it sums products.
    pub sum: Sum,
}

impl<'a> Task<'a> {
    /// The launch of a level's kernel that covers a problem.
    pub fn of_level(level: &Level, configuration: &Configuration, kernel: &'a Kernel, shape: &Shape) -> Task<'a> {
        Task {
            kernel,
            source: level.source(),
            launch: (level.launch)(shape, &configuration.tiles),
            dynamic_shared: (level.needs.shared)(configuration),
            operands: Operand::of_a_level(shape),
            sum: level.sum(configuration.dtype),
        }
    }
}

impl Task<'_> {
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
    /// A float.
    F32(f32),
    /// A double.
    F64(f64),
}

impl Operand {
    /// What every level's kernel takes: `(const T* A, const T* B, T* C, int M, int N, int K)`.
    pub fn of_a_level(shape: &Shape) -> Vec<Operand> {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(Operand::U32);
        vec![Operand::A, Operand::B, Operand::C, m, n, k]
    }
}
