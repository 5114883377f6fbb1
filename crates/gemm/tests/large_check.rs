//! A product too large to be compared element by element: what is wrong is found all the same, and where.
//!
//! The product is a library's, summed and rounded in the type itself as a kernel's is.

use std::ops::Range;

use gemm::check::{Check, Method, Reference};
use gemm::dtype::Sum;
use gemm::form::Form;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::{Dtype, Element, Shape, Tile};
use ndarray::{ArrayView2, LinalgScalar, s};
use rayon::prelude::*;

/// M, N and K: half as large as lessons have them, which is too large to be compared whole, too. With `DEEP=1` as large in one type of each
/// kind: sums as wide as C, an element of C that is narrower, and whole numbers.
fn size(dtype: Dtype) -> usize {
    let is_of_a_kind = [Dtype::F32, Dtype::BF16].contains(&dtype) || dtype.sum.whole().is_some();
    if level_tests::deep() && is_of_a_kind { 4096 } else { 2048 }
}
/// The side of a block's tile, and a step along K.
const TILE: usize = 128;
const STEP: usize = 32;
const METHOD: Method = Method { tile: Tile { m: TILE as u32, n: TILE as u32, k: STEP as u32 }, sum: Sum::Rounded };

/// A·B summed as T.
fn summed<T: LinalgScalar + Send + Sync>(problem: &Problem, from: fn(f64) -> T, to: fn(T) -> f64) -> Matrix {
    let [a, b] = [&problem.a, &problem.b].map(|matrix| matrix.values().into_iter().map(from).collect::<Vec<T>>());
    let size = problem.shape.n as usize;
    let b = ArrayView2::from_shape((size, size), &b).unwrap();
    let part = |a: &[T]| -> Vec<T> {
        let a = ArrayView2::from_shape((a.len() / size, size), a).unwrap();
        a.dot(&b).into_raw_vec_and_offset().0
    };
    let sums: Vec<T> = a.par_chunks(TILE * size).flat_map_iter(part).collect();
    let mut sums = sums.into_iter().map(to);
    Matrix::filled(problem.dtype.output, [size; 3], || sums.next().unwrap()).unwrap()
}

fn multiply(problem: &Problem) -> Matrix {
    match problem.dtype.sum {
        Element::F64 | Element::S32 => summed::<f64>(problem, |x| x, |x| x),
        _ => summed::<f32>(problem, |x| x as f32, f64::from),
    }
}

struct Exam {
    problem: Problem,
    reference: Reference,
    c: Matrix,
}

impl Exam {
    fn new(dtype: Dtype) -> Exam {
        let edge = size(dtype) as u32;
        let problem = Problem::new(Shape { m: edge, n: edge, k: edge }, dtype, Fill::Reals, 11).unwrap();
        let reference = Reference::of(&problem);
        let c = multiply(&problem);
        Exam { problem, reference, c }
    }

    fn size(&self) -> usize {
        self.problem.shape.n as usize
    }

    fn check(&self, c: &Matrix) -> Check {
        Check::against(&self.reference, &self.problem, Fill::Reals, c, METHOD)
    }

    /// The check of C with each element of a region replaced.
    fn spoilt(&self, region: (Range<usize>, Range<usize>), value: impl Fn(usize, usize, f64) -> f64) -> Check {
        let mut c = self.c.clone();
        for row in region.0 {
            for col in region.1.clone() {
                c.set(row, col, value(row, col, self.c.at(row, col)));
            }
        }
        self.check(&c)
    }

    fn all_is_found(&self) {
        let size = self.size();
        let right = self.check(&self.c);
        let certain = right.sampling.as_ref().unwrap().certain;
        let dtype = self.problem.dtype;
        assert!(right.right && right.wrong == 0 && right.suggestion.is_none(), "{dtype}: {right:?}");
        // Where C is as wide as the sums, whatever is beyond its bound is found; its own rounding hides more than that.
        let is_wide = dtype.output == dtype.sum;
        let exact = dtype.sum.whole().is_some();
        assert!((certain > 0.0) != exact && certain < if is_wide { 1.0 } else { 200.0 }, "{dtype}: {certain}");

        // One element, where no sample is.
        let (row, col) = (size * 3 / 10, size * 4 / 5);
        // K·u of the sum of absolute values, and of an absolute product the mean is 1/4: twice that in f64, where the reference rounds, too.
        let [relative, _, _] = dtype.bound(METHOD.sum, size as u32);
        let bound = relative * size as f64 / 4.0;
        let off = if exact { 1.0 } else { bound * 2.5f64.max(2.0 * certain) };
        let element = self.spoilt((row..row + 1, col..col + 1), |_, _, x| x + off);
        assert_eq!((element.right, element.wrong), (false, 1), "{element:?}");
        assert_eq!((element.first[0].row, element.first[0].col), (row, col));
        let mut values = vec![f64::NAN];
        let is_uniform = dtype.input == dtype.output;
        if is_uniform && is_wide {
            values.extend([f64::INFINITY, 0.0]);
        }
        for value in values {
            let element = self.spoilt((row..row + 1, col..col + 1), |_, _, _| value);
            assert_eq!((element.wrong, element.first[0].row, element.first[0].col), (1, row, col), "{value}");
        }

        let a_row = self.spoilt((row..row + 1, 0..size), |row, col, _| self.c.at(row - 1, col));
        assert!(a_row.wrong > size * 9 / 10 && a_row.first[0].row == row, "{a_row:?}");
        if !(is_uniform && is_wide) {
            return self.a_tile_and_a_step_are_found();
        }
        let a_column = self.spoilt((0..size, col..col + 1), |row, col, _| self.c.at(row, col - 1));
        assert!(a_column.wrong > size * 9 / 10 && a_column.first[0].col == col, "{a_column:?}");
        let all = self.spoilt((0..size, 0..size), |_, _, _| f64::NAN);
        let nothing =
            "every element is wrong: the store to C, or the sum along K; all of them are NaN, as before the launch";
        assert_eq!(all.suggestion.as_deref(), Some(nothing));
        let last = self.spoilt((size - TILE..size, size - TILE..size), |_, _, _| f64::NAN);
        let edge = format!(
            "all wrong rows ≥ {}: the edge of the last tile along M; all of them are NaN, as before the launch",
            size - TILE
        );
        assert_eq!(last.suggestion, Some(edge));
        self.a_tile_and_a_step_are_found();
    }

    /// C as a kernel leaves it that does not take the last step along K.
    fn without_the_last_step(&self) -> Matrix {
        let size = self.size();
        let step = s![.., size - STEP..];
        let [a, b] = [&self.problem.a, &self.problem.b].map(Matrix::values);
        let [a, b] = [&a, &b].map(|values| ArrayView2::from_shape((size, size), values).unwrap());
        let last = a.slice(step).dot(&b.slice(s![size - STEP.., ..]));
        let mut left = self.c.values().into_iter().zip(last).map(|(sum, last)| sum - last);
        Matrix::filled(self.problem.dtype.output, [size; 3], || left.next().unwrap()).unwrap()
    }

    fn a_tile_and_a_step_are_found(&self) {
        let tile = self.spoilt((5 * TILE..6 * TILE, 7 * TILE..8 * TILE), |_, _, _| 0.0);
        let first = &tile.first[0];
        assert!(tile.wrong > 16 * TILE && (first.row, first.col) == (5 * TILE, 7 * TILE), "{tile:?}");
        let short = self.check(&self.without_the_last_step());
        assert!(!short.right);
        let size = self.size();
        let summed = size - STEP;
        let step = format!("only the first {summed} of {size} products are summed: the last step along K");
        assert_eq!(short.suggestion, Some(step));
    }
}

#[test]
fn in_every_type_what_is_wrong_is_found_and_located() {
    // The others are of these inputs and outputs, too.
    for dtype in Dtype::ALL.map(|(_, dtype)| dtype).into_iter().filter(|dtype| !dtype.name().contains('-')) {
        Exam::new(dtype).all_is_found();
    }
}

/// Where C is wider than K is long, a row's noise is larger, and the columns find it. Factors count, too.
#[test]
fn a_flat_product_with_factors_is_checked_as_well() {
    let shape = Shape { m: 40, n: 300_000, k: 100 };
    let form = Form { alpha: 2.0, beta: -1.0, ..Form::PLAIN };
    let problem = Problem::in_form(shape, Dtype::F32, form, Fill::Integers, 3).unwrap();
    let [n, k] = [shape.n as usize, shape.k as usize];
    let [a, b, mut c] = [&problem.a, &problem.b, &problem.c].map(Matrix::values);
    for (c, a) in c.chunks_mut(n).zip(a.chunks(k)) {
        c.iter_mut().for_each(|c| *c = -*c);
        for (a, b) in a.iter().zip(b.chunks(n)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += 2.0 * a * b);
        }
    }
    let method = Method { tile: Tile { m: 8, n: 8, k: 8 }, ..METHOD };
    let check = |c: &[f64]| {
        let c: Vec<f32> = c.iter().map(|&c| c as f32).collect();
        Check::of(&problem, Fill::Integers, &Matrix::of(40, n, &c).unwrap(), method)
    };
    assert!(check(&c).right && check(&c).sampling.is_some());
    // A single unit in integers of up to some thousands.
    c[17 * n + 123_457] += 1.0;
    let wrong = check(&c);
    assert_eq!((wrong.wrong, wrong.first[0].row, wrong.first[0].col), (1, 17, 123_457), "{wrong:?}");
}
