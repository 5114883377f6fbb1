//! The problem: its limits, and A and B filled from a seed.

use std::ops::{Add, Mul};

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use rand::{Rng, SeedableRng};
// By name: another generator, as a release of `rand` may choose, would give other matrices for the same seed.
use rand_chacha::ChaCha12Rng;

use crate::Error;
use crate::level::{Configuration, Dtype, LaunchShape, Level, Shape};

/// An element type, as Rust knows it.
pub trait Element:
    DeviceRepr + ValidAsZeroBits + Copy + Send + Sync + PartialEq + Add<Output = Self> + Mul<Output = Self> + 'static
{
    /// The type's name.
    const DTYPE: Dtype;
    /// Half of the distance from 1 to the next larger number: the largest relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// Not a number: what C holds before the launch.
    const NAN: Self;
    /// The nearest element to a double.
    fn from_f64(value: f64) -> Self;
    /// The element, exactly.
    fn to_f64(self) -> f64;
    /// The bytes of a matrix, as the device holds them.
    fn to_bytes(matrix: &[Self]) -> Vec<u8>;
    /// The matrix that these bytes are.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    const NAN: f32 = f32::NAN;

    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn to_bytes(matrix: &[f32]) -> Vec<u8> {
        matrix.iter().flat_map(|x| x.to_le_bytes()).collect()
    }
    fn from_bytes(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
    }
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    const NAN: f64 = f64::NAN;

    fn from_f64(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn to_bytes(matrix: &[f64]) -> Vec<u8> {
        matrix.iter().flat_map(|x| x.to_le_bytes()).collect()
    }
    fn from_bytes(bytes: &[u8]) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
    }
}

/// What the elements of A and B are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Reals from −1 up to 1.
    Reals,
    /// Integers from −8 to 8: sums of up to 2¹⁸ products are exact in f32.
    Integers,
}

/// Matrices to multiply, row-major: C becomes alpha·A·B + beta·C.
#[derive(Debug, Clone)]
pub struct Problem<T> {
    /// The sizes.
    pub shape: Shape,
    /// A: M × K.
    pub a: Vec<T>,
    /// B: K × N.
    pub b: Vec<T>,
    /// C before the launch, M × N: all NaN where beta is 0, so that what is not written shows.
    pub c: Vec<T>,
    /// The factor of A·B.
    pub alpha: f64,
    /// The factor of C.
    pub beta: f64,
}

impl<T: Element> Problem<T> {
    /// A and B of these sizes, filled from a seed; an error where the machine has no memory for them.
    pub fn new(shape: Shape, fill: Fill, seed: u64) -> Result<Problem<T>, Error> {
        Problem::scaled(shape, fill, seed, 1.0, 0.0)
    }

    /// The same with factors. C is filled from the seed, too, if beta is not 0.
    pub fn scaled(shape: Shape, fill: Fill, seed: u64, alpha: f64, beta: f64) -> Result<Problem<T>, Error> {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let a = filled(shape.m as usize * shape.k as usize, fill, &mut random)?;
        let b = filled(shape.k as usize * shape.n as usize, fill, &mut random)?;
        let mut problem = Problem { alpha, beta, ..Problem::of(shape, a, b)? };
        if beta != 0.0 {
            problem.c = filled(problem.c.len(), fill, &mut random)?;
        }
        Ok(problem)
    }

    /// A·B for matrices that are there already: `a` has M × K elements, `b` K × N.
    pub fn of(shape: Shape, a: Vec<T>, b: Vec<T>) -> Result<Problem<T>, Error> {
        // ANCHOR: poison
        let elements = shape.m as usize * shape.n as usize;
        let mut c = room_for(elements)?;
        c.resize(elements, T::NAN);
        // ANCHOR_END: poison
        Ok(Problem { shape, a, b, c, alpha: 1.0, beta: 0.0 })
    }

    /// Whether it is the plain product.
    pub fn is_plain(&self) -> bool {
        self.alpha == 1.0 && self.beta == 0.0
    }
}

fn filled<T: Element>(elements: usize, fill: Fill, random: &mut ChaCha12Rng) -> Result<Vec<T>, Error> {
    let mut matrix = room_for(elements)?;
    matrix.extend((0..elements).map(|_| {
        T::from_f64(match fill {
            Fill::Reals => random.random_range(-1.0..1.0),
            Fill::Integers => f64::from(random.random_range(-8..=8)),
        })
    }));
    Ok(matrix)
}

/// An empty matrix with room for its elements.
fn room_for<T>(elements: usize) -> Result<Vec<T>, Error> {
    let mut matrix = Vec::new();
    match matrix.try_reserve_exact(elements) {
        Ok(()) => Ok(matrix),
        Err(_) => {
            let bytes = elements * size_of::<T>();
            Err(Error::usage(format!("there is no memory for a matrix of {bytes} bytes"), "make the problem smaller"))
        }
    }
}

/// What bounds a problem: how the kernels index, what a grid may be, and how far rounding theory reaches.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    shape: Shape,
    launch: LaunchShape,
    dtype: Dtype,
}

/// Blocks in a grid along x and along y, for every GPU since 2012 (CUDA C++ Programming Guide).
const LARGEST_GRID: [u32; 2] = [i32::MAX as u32, 65_535];

impl Limits {
    /// The limits of a level's kernel in a configuration.
    pub fn of(level: &Level, configuration: &Configuration, shape: &Shape) -> Limits {
        Limits { shape: *shape, launch: (level.launch)(shape, &configuration.tiles), dtype: configuration.dtype }
    }

    /// The limits of any launch.
    pub fn of_launch(launch: &LaunchShape, dtype: Dtype, shape: &Shape) -> Limits {
        Limits { shape: *shape, launch: *launch, dtype }
    }

    /// Refuses a problem that is too large.
    pub fn check(&self) -> Result<(), Error> {
        self.check_elements()?;
        self.check_grid()?;
        self.check_roundoff()
    }

    /// The kernels index with `int`, and threads beyond the edge compute an index, too.
    fn check_elements(&self) -> Result<(), Error> {
        let (Shape { m, n, k }, tile) = (self.shape, self.launch.tile);
        let round_up = |size: u32, step: u32| u64::from(size).next_multiple_of(u64::from(step));
        let (m, n, k) = (round_up(m, tile.m), round_up(n, tile.n), round_up(k, tile.k));
        for (name, rows, columns) in [("A", m, k), ("B", k, n), ("C", m, n)] {
            let elements = rows * columns;
            if elements > i32::MAX as u64 {
                return Err(Error::usage(
                    format!(
                        "{name} has {elements} elements in whole tiles, and the kernel's `int` index reaches {}",
                        i32::MAX
                    ),
                    "make the problem smaller: at most 46340 on every side",
                ));
            }
        }
        Ok(())
    }

    fn check_grid(&self) -> Result<(), Error> {
        let grid = self.launch.grid;
        for (axis, blocks, limit) in [("x", grid.x, LARGEST_GRID[0]), ("y", grid.y, LARGEST_GRID[1])] {
            if blocks > limit {
                return Err(Error::usage(
                    format!("the grid has {blocks} blocks along {axis}, and a GPU takes {limit}"),
                    "make the problem smaller, or the tile larger",
                ));
            }
        }
        Ok(())
    }

    /// The error bound of a sum of K products is finite only while K times the unit roundoff is well below 1.
    fn check_roundoff(&self) -> Result<(), Error> {
        let limit = 1 << 22;
        if self.dtype == Dtype::F32 && self.shape.k > limit {
            return Err(Error::usage(
                format!(
                    "k is {}, and no useful error bound holds for f32 sums of more than {limit} products",
                    self.shape.k
                ),
                "use `--dtype f64`, or a smaller k",
            ));
        }
        Ok(())
    }
}
