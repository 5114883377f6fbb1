//! A product too large to be compared element by element: what is wrong is found all the same, and where.
//!
//! The product is a library's, summed and rounded in the type itself as a kernel's is.

use std::ops::Range;

use common::check::{Check, Reference};
use common::problem::{Element, Fill, Problem};
use common::{Dim3, LaunchShape, Shape, Tile};
use ndarray::{ArrayView2, LinalgScalar, s};
use rayon::prelude::*;

const SIZE: usize = 4096;
/// The side of a block's tile, and a step along K.
const TILE: usize = 128;
const STEP: usize = 32;
const LAUNCH: LaunchShape = LaunchShape {
    grid: Dim3 { x: (SIZE / TILE) as u32, y: (SIZE / TILE) as u32, z: 1 },
    block: Dim3 { x: 256, y: 1, z: 1 },
    tile: Tile { m: TILE as u32, n: TILE as u32, k: STEP as u32 },
};

/// C = A·B in the type itself, with only the first `products` of each sum.
fn multiply<T: Element + LinalgScalar>(problem: &Problem<T>, products: usize) -> Vec<T> {
    let b = ArrayView2::from_shape((SIZE, SIZE), &problem.b).unwrap();
    let part = |a: &[T]| -> Vec<T> {
        let a = ArrayView2::from_shape((a.len() / SIZE, SIZE), a).unwrap();
        a.slice(s![.., ..products]).dot(&b.slice(s![..products, ..])).into_raw_vec_and_offset().0
    };
    problem.a.par_chunks(TILE * SIZE).flat_map_iter(part).collect()
}

struct Exam<T> {
    problem: Problem<T>,
    reference: Reference,
    c: Vec<T>,
}

impl<T: Element + LinalgScalar> Exam<T> {
    fn new() -> Exam<T> {
        let size = SIZE as u32;
        let problem = Problem::new(Shape { m: size, n: size, k: size }, Fill::Reals, 11).unwrap();
        let reference = Reference::of(&problem);
        let c = multiply(&problem, SIZE);
        Exam { problem, reference, c }
    }

    fn check(&self, c: &[T]) -> Check {
        Check::against(&self.reference, &self.problem, Fill::Reals, c, &LAUNCH)
    }

    /// The check of C with each element of a region replaced.
    fn spoilt(&self, region: (Range<usize>, Range<usize>), value: impl Fn(usize, usize, T) -> T) -> Check {
        let mut c = self.c.clone();
        for row in region.0 {
            for col in region.1.clone() {
                c[row * SIZE + col] = value(row, col, c[row * SIZE + col]);
            }
        }
        self.check(&c)
    }

    fn all_is_found(&self) {
        let right = self.check(&self.c);
        let certain = right.sampling.as_ref().unwrap().certain;
        assert!(right.right && right.wrong == 0 && right.suggestion.is_none(), "{right:?}");
        assert!(certain > 0.0 && certain < 1.0, "whatever is beyond its bound is found: {certain}");

        // One element, where no sample is.
        let (row, col) = (1234, 3210);
        // K·u of the sum of absolute values, and of an absolute product the mean is 1/4: twice that in f64, where the reference rounds, too.
        let bound = T::UNIT_ROUNDOFF * SIZE as f64 * SIZE as f64 / 4.0;
        let off = T::from_f64(bound * 2.5);
        let element = self.spoilt((row..row + 1, col..col + 1), |_, _, x| x + off);
        assert_eq!((element.right, element.wrong), (false, 1), "{element:?}");
        assert_eq!((element.first[0].row, element.first[0].col), (row, col));
        for value in [f64::NAN, f64::INFINITY, 0.0] {
            let element = self.spoilt((row..row + 1, col..col + 1), |_, _, _| T::from_f64(value));
            assert_eq!((element.wrong, element.first[0].row, element.first[0].col), (1, row, col), "{value}");
        }

        let a_row = self.spoilt((row..row + 1, 0..SIZE), |row, col, _| self.c[(row - 1) * SIZE + col]);
        assert!(a_row.wrong > SIZE * 9 / 10 && a_row.first[0].row == row, "{a_row:?}");
        let a_column = self.spoilt((0..SIZE, col..col + 1), |row, col, _| self.c[row * SIZE + col - 1]);
        assert!(a_column.wrong > SIZE * 9 / 10 && a_column.first[0].col == col, "{a_column:?}");

        let tile = self.spoilt((5 * TILE..6 * TILE, 7 * TILE..8 * TILE), |_, _, _| T::from_f64(0.0));
        let first = &tile.first[0];
        assert!(tile.wrong > 16 * TILE && (first.row, first.col) == (5 * TILE, 7 * TILE), "{tile:?}");
        let last = self.spoilt((SIZE - TILE..SIZE, SIZE - TILE..SIZE), |_, _, _| T::NAN);
        let edge =
            "all wrong rows ≥ 3968: the edge of the last tile along M; all of them are NaN, as before the launch";
        assert_eq!(last.suggestion.as_deref(), Some(edge));

        let short = self.check(&multiply(&self.problem, SIZE - STEP));
        assert!(!short.right);
        let step = "only the first 4064 of 4096 products are summed: the last step along K";
        assert_eq!(short.suggestion.as_deref(), Some(step));
        let all = self.spoilt((0..SIZE, 0..SIZE), |_, _, _| T::NAN);
        let nothing =
            "every element is wrong: the store to C, or the sum along K; all of them are NaN, as before the launch";
        assert_eq!(all.suggestion.as_deref(), Some(nothing));
    }
}

#[test]
fn at_4096_in_f32_what_is_wrong_is_found_and_located() {
    Exam::<f32>::new().all_is_found();
}

#[test]
fn at_4096_in_f64_what_is_wrong_is_found_and_located() {
    Exam::<f64>::new().all_is_found();
}

/// Where C is wider than K is long, a row's noise is larger, and the columns find it. Factors count, too.
#[test]
fn a_flat_product_with_factors_is_checked_as_well() {
    let shape = Shape { m: 40, n: 300_000, k: 100 };
    let problem = Problem::<f32>::scaled(shape, Fill::Integers, 3, 2.0, -1.0).unwrap();
    let [n, k] = [shape.n as usize, shape.k as usize];
    let mut c: Vec<f32> = problem.c.iter().map(|c| -c).collect();
    for (c, a) in c.chunks_mut(n).zip(problem.a.chunks(k)) {
        for (a, b) in a.iter().zip(problem.b.chunks(n)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += 2.0 * a * b);
        }
    }
    let launch = LaunchShape { tile: Tile { m: 8, n: 8, k: 8 }, ..LAUNCH };
    let check = |c: &[f32]| Check::of(&problem, Fill::Integers, c, &launch);
    assert!(check(&c).right && check(&c).sampling.is_some());
    // A single unit in integers of up to some thousands.
    c[17 * n + 123_457] += 1.0;
    let wrong = check(&c);
    assert_eq!((wrong.wrong, wrong.first[0].row, wrong.first[0].col), (1, 17, 123_457), "{wrong:?}");
}
