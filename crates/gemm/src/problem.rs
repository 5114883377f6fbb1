//! The problem: its limits, and A and B filled from a seed.

use rand::{Rng, SeedableRng};
// By name: another generator, as a release of `rand` may choose, would give other matrices for the same seed.
use rand_chacha::ChaCha12Rng;

use crate::dtype::Dtype;
use crate::element::Element;
use crate::error::Error;
use crate::form::{Form, Layout};
use crate::level::{LaunchShape, Shape};
use crate::matrix::{Matrix, Scalar};

/// What the elements of A and B are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Reals from −1 up to 1, rounded to the elements' type; where that has whole numbers alone, any of these.
    Reals,
    /// Integers from −8 to 8: exact in every type, and sums of up to 2¹⁸ products are exact in f32.
    Integers,
    /// Integers of up to 13 bits in one matrix, from −2 to 2 in the other; which is which depends on the seed. An f16 holds 11 bits: so
    /// each product needs all parts that a number may be cut into, and sums of up to 2¹⁰ products are exact in f32.
    Wide,
}

/// Matrices to multiply: C becomes alpha·A·B + beta·C.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The sizes.
    pub shape: Shape,
    /// The types.
    pub dtype: Dtype,
    /// A: M × K, or K × M, as the form says.
    pub a: Matrix,
    /// B: K × N, or N × K, as the form says.
    pub b: Matrix,
    /// C before the launch, M × N: all NaN where beta is 0, or as near to it as C's type has, so that what is not written shows.
    pub c: Matrix,
    /// The factors, and how A and B lie in memory.
    pub form: Form,
}

impl Problem {
    /// A and B of these sizes, filled from a seed; an error where the machine has no memory for them.
    pub fn new(shape: Shape, dtype: Dtype, fill: Fill, seed: u64) -> Result<Problem, Error> {
        Problem::in_form(shape, dtype, Form::PLAIN, fill, seed)
    }

    /// The same in any form. C is filled from the seed, too, if beta is not 0.
    pub fn in_form(shape: Shape, dtype: Dtype, form: Form, fill: Fill, seed: u64) -> Result<Problem, Error> {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        // The largest integer in A, and in B.
        let most = match fill {
            Fill::Wide if seed.is_multiple_of(2) => [8191, 2],
            Fill::Wide => [2, 8191],
            _ => [8, 8],
        };
        let whole = dtype.input.whole();
        let mut drawn = |most: i32| match (fill, whole) {
            (Fill::Reals, Some([least, most])) => f64::from(random.random_range(least..=most)),
            (Fill::Reals, None) => random.random_range(-1.0..1.0),
            (Fill::Integers | Fill::Wide, _) => f64::from(random.random_range(-most..=most)),
        };
        let [a, b, c] = form.stored(&shape);
        let filled = |element: Element, (rows, columns): (u32, u32), padding: u32, next: &mut dyn FnMut() -> f64| {
            let leading = columns as usize + padding as usize;
            Matrix::filled(element, [rows as usize, columns as usize, leading], next)
        };
        let a = filled(dtype.input, a, form.padding[0], &mut || drawn(most[0]))?;
        let b = filled(dtype.input, b, form.padding[1], &mut || drawn(most[1]))?;
        // ANCHOR: poison
        let c = match form.beta {
            0.0 => filled(dtype.output, c, form.padding[2], &mut || f64::NAN)?,
            _ => filled(dtype.output, c, form.padding[2], &mut || drawn(8))?,
        };
        // ANCHOR_END: poison
        Ok(Problem { shape, dtype, a, b, c, form })
    }

    /// A·B for numbers that are there already, row-major and without padding: `a` has M × K elements, `b` K × N.
    pub fn of<T: Scalar>(shape: Shape, dtype: Dtype, a: &[T], b: &[T]) -> Result<Problem, Error> {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
        let c = Matrix::filled(dtype.output, [m, n, n], || f64::NAN)?;
        Ok(Problem { shape, dtype, a: Matrix::of(m, k, a)?, b: Matrix::of(k, n, b)?, c, form: Form::PLAIN })
    }

    /// The product of A's first rows, so many or all: as many rows of C.
    pub fn top(&self, rows: u32) -> Problem {
        let m = rows.min(self.shape.m);
        let shape = Shape { m, ..self.shape };
        let a = match self.form.a {
            Layout::Rows => self.a.top(m as usize),
            Layout::Columns => self.a.transposed().top(m as usize).transposed(),
        };
        let mut form = self.form;
        if form.a == Layout::Columns {
            form.padding[0] = 0;
        }
        Problem { shape, a, b: self.b.clone(), c: self.c.top(m as usize), form, ..*self }
    }

    /// The element of A in row `m` of C, that row `k` of B meets.
    pub fn a_at(&self, m: usize, k: usize) -> f64 {
        match self.form.a {
            Layout::Rows => self.a.at(m, k),
            Layout::Columns => self.a.at(k, m),
        }
    }

    /// The element of B that row `k` of A meets, in column `n` of C.
    pub fn b_at(&self, k: usize, n: usize) -> f64 {
        match self.form.layout {
            Layout::Rows => self.b.at(k, n),
            Layout::Columns => self.b.at(n, k),
        }
    }

    /// Whether it is the plain product, without factors.
    pub fn is_plain(&self) -> bool {
        self.form.alpha == 1.0 && self.form.beta == 0.0
    }
}

/// What bounds a problem: how the kernels index, what a grid may be, and how far rounding theory reaches.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    shape: Shape,
    launch: LaunchShape,
    dtype: Dtype,
    form: Form,
    wide: bool,
}

/// Blocks in a cluster that every GPU with clusters takes (CUDA C++ Programming Guide).
pub(crate) const LARGEST_CLUSTER: u32 = 8;

/// Blocks in a grid along x and along y, for every GPU since 2012 (CUDA C++ Programming Guide).
const LARGEST_GRID: [u32; 2] = [i32::MAX as u32, 65_535];

impl Limits {
    /// The limits of any launch, by a kernel that indexes matrices with `int`.
    pub fn of_launch(launch: &LaunchShape, dtype: Dtype, shape: &Shape, form: &Form) -> Limits {
        Limits { shape: *shape, launch: *launch, dtype, form: *form, wide: false }
    }

    /// The same by a kernel whose rows and columns are `int`, and whose offsets have 64 bits, if it is one
    /// ([`Needs::wide_offsets`](crate::Needs)).
    pub fn with_wide_offsets(self, wide: bool) -> Limits {
        Limits { wide, ..self }
    }

    /// Refuses a problem that is too large.
    pub fn check(&self) -> Result<(), Error> {
        if self.wide { self.check_sides() } else { self.check_elements() }?;
        self.check_grid()?;
        self.check_range()?;
        self.check_roundoff()
    }

    /// Rows, columns and the distance of rows are `int`, those of the last cluster's blocks beyond the edge among them.
    fn check_sides(&self) -> Result<(), Error> {
        let (Shape { m, n, k }, tile) = (self.shape, self.launch.tile);
        for (name, size, step) in [("m", m, tile.m), ("n", n, tile.n), ("k", k, tile.k)] {
            let whole = u64::from(size).next_multiple_of(u64::from(step) * u64::from(LARGEST_CLUSTER));
            if size > i32::MAX as u32 || whole > 1 << 31 {
                return Err(Error::usage(
                    format!(
                        "{name} is {size}, in whole tiles {whole}, and the kernel's `int` index reaches {}",
                        i32::MAX
                    ),
                    "make the problem smaller, or its tile a power of two",
                ));
            }
        }
        for (name, leading) in ["A", "B", "C"].into_iter().zip(self.form.leading(&self.shape)) {
            if leading > i32::MAX as u64 {
                return Err(Error::usage(
                    format!("rows of {name} are {leading} elements apart, and the kernel's `int` reaches {}", i32::MAX),
                    "rows so far apart need a copy first",
                ));
            }
        }
        Ok(())
    }

    /// The kernels index with `int`, and threads beyond the edge compute an index, too.
    fn check_elements(&self) -> Result<(), Error> {
        let (Shape { m, n, k }, tile) = (self.shape, self.launch.tile);
        let round_up = |size: u32, step: u32| u64::from(size).next_multiple_of(u64::from(step));
        let (m, n, k) = (round_up(m, tile.m), round_up(n, tile.n), round_up(k, tile.k));
        let (a, b) = (self.form.a.stored((m, k)), self.form.layout.stored((k, n)));
        let stored = [("A", a), ("B", b), ("C", (m, n))];
        for ((name, (rows, columns)), padding) in stored.into_iter().zip(self.form.padding) {
            let elements = rows.saturating_mul(columns + u64::from(padding));
            if elements > i32::MAX as u64 {
                return Err(Error::usage(
                    format!(
                        "{name} has {elements} elements in whole tiles, and the kernel's `int` index reaches {}",
                        i32::MAX
                    ),
                    format!("make the problem smaller: rows times columns of {name} at most {}", i32::MAX),
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

    /// A sum of whole numbers is exact as long as the largest one has room in its type, whatever the matrices hold.
    fn check_range(&self) -> Result<(), Error> {
        let (Some([least, _]), Some([_, most])) = (self.dtype.input.whole(), self.dtype.sum.whole()) else {
            return Ok(());
        };
        let product = least.unsigned_abs() * least.unsigned_abs();
        let (k, limit, sum) = (self.shape.k, most.unsigned_abs() / product, self.dtype.sum);
        if k <= limit {
            return Ok(());
        }
        Err(Error::usage(
            format!("k is {k}, and an {sum} has room for sums of {limit} products of up to {product}"),
            "multiply parts of K, and add them in a wider type",
        ))
    }

    /// The error bound of a sum of K products is finite only while K times the unit roundoff is well below 1.
    fn check_roundoff(&self) -> Result<(), Error> {
        let limit = 1 << 22;
        if self.dtype.sum == Element::F32 && self.shape.k > limit {
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
