//! The matrices of the host that several GPUs multiply, and whether their product is right.

use common::progress::step;
use gemm::check::{Check, Method, Reference};
use gemm::level::Tile;
use gemm::problem::{Fill, Problem};
use gemm::{Dtype, Error, Shape};
use ranks::streamed::Cut;
use summit::Types;

use super::{numbers, witness};
use crate::output::note;

/// Elements of C from which on each number comes from its place, and the check is of random products and some elements.
const WIDE: u64 = 1 << 26;

/// The matrices of the host, and what C is held against.
pub enum Inputs {
    /// From one row of random numbers, with a reference.
    Usual(Box<(Problem, Reference)>),
    /// From their places.
    Large([Vec<u8>; 2], Cut, u64),
}

impl Inputs {
    /// Full of random numbers.
    pub fn of(shape: Shape, dtype: Dtype, seed: u64) -> Result<Inputs, Error> {
        if elements(&shape) < WIDE || dtype == Dtype::TF32 {
            let problem = step("filling A and B", || Problem::new(shape, dtype, Fill::Reals, seed))?;
            let reference = step("computing what the check needs", || Reference::of(&problem));
            return Ok(Inputs::Usual(Box::new((problem, reference))));
        }
        let cut = Cut::new(shape, Types::of(dtype.input), [shape.m.div_ceil(2), shape.n.div_ceil(2)])?;
        Ok(Inputs::Large(step("filling A and B", || numbers::filled(&cut, seed))?, cut, seed))
    }

    /// A and B.
    pub fn bytes(&self) -> [&[u8]; 2] {
        match self {
            Inputs::Usual(problem) => [problem.0.a.bytes(), problem.0.b.bytes()],
            Inputs::Large([a, b], ..) => [a, b],
        }
    }

    /// Whether C is their product.
    pub fn check(&self, c: Vec<u8>) -> bool {
        match self {
            Inputs::Usual(problem) => check(&problem.1, &problem.0, Fill::Reals, c).right,
            Inputs::Large([a, b], cut, seed) => {
                let (right, said) = step("checking the product", || witness::check(cut, [a, b, &c], *seed));
                if !right {
                    note(&format!("note: {said}"));
                }
                right
            }
        }
    }
}

/// Elements of C.
pub fn elements(shape: &Shape) -> u64 {
    u64::from(shape.m) * u64::from(shape.n)
}

/// The product of the check: within the bound of its type.
pub fn check(reference: &Reference, problem: &Problem, fill: Fill, c: Vec<u8>) -> Check {
    // No tile of one kernel: the product is of several.
    let method = Method { tile: Tile { m: 128, n: 128, k: 64 }, sum: problem.dtype.vendor_sum() };
    step("checking the product", || Check::against(reference, problem, fill, &problem.c.with_bytes(c), method))
}
