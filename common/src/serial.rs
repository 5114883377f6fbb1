//! The baseline: the plain triple loop on one core of the CPU, summed in the order of the definition.
//!
//! Each row of C costs what the others do: it goes through all of B. So a large product is timed on its first rows alone.

use std::ops::{Add, Mul};
use std::time::{Duration, Instant};

use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::{Element, Shape};

/// Repetitions at most.
const MOST: usize = 5;
/// Time after which no other repetition begins.
const ENOUGH: Duration = Duration::from_millis(250);
/// Multiply-adds of a repetition, about: a small part of a second.
const PART: u64 = 1 << 24;

/// What the loop multiplied, and how long it took.
pub struct Timed {
    /// The first rows of the problem, or all.
    pub part: Problem,
    /// Their product.
    pub c: Matrix,
    /// Milliseconds of each repetition, sorted, at least one: of the whole problem, extended from the part by its share of the rows.
    pub milliseconds: Vec<f64>,
}

/// A·B, summed in the problem's type for sums, of as many rows as a part of a second allows.
pub fn timed(problem: &Problem) -> Timed {
    let part = problem.top(rows(&problem.shape));
    let (c, mut milliseconds) = match part.dtype.sum {
        Element::F64 => repeated(&part, |value| value, |sum| sum),
        _ => repeated(&part, |value| value as f32, f64::from),
    };
    let share = f64::from(problem.shape.m) / f64::from(part.shape.m);
    milliseconds.iter_mut().for_each(|one| *one *= share);
    Timed { part, c, milliseconds }
}

/// Rows that are timed: at least one.
fn rows(shape: &Shape) -> u32 {
    let row = u64::from(shape.n).saturating_mul(shape.k.into()).max(1);
    u32::try_from(PART / row).unwrap_or(u32::MAX).clamp(1, shape.m.max(1))
}

/// Numbers of the type for sums are made before the clock starts, and C after it stops.
fn repeated<T>(problem: &Problem, from: fn(f64) -> T, to: fn(T) -> f64) -> (Matrix, Vec<f64>)
where
    T: Copy + Add<Output = T> + Mul<Output = T>,
{
    let (m, n, k) = (problem.shape.m as usize, problem.shape.n as usize, problem.shape.k as usize);
    let a: Vec<T> = problem.a.values().into_iter().map(from).collect();
    let b: Vec<T> = (0..k * n).map(|at| from(problem.b_at(at / n, at % n))).collect();
    let mut c = vec![from(0.0); m * n];
    let began = Instant::now();
    let mut milliseconds = Vec::new();
    while milliseconds.is_empty() || (milliseconds.len() < MOST && began.elapsed() <= ENOUGH) {
        let start = Instant::now();
        multiply([n, k], &a, &b, &mut c, from(0.0));
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    milliseconds.sort_by(f64::total_cmp);
    let mut product = problem.c.clone();
    for (at, &sum) in c.iter().enumerate() {
        product.set(at / n, at % n, to(sum));
    }
    (product, milliseconds)
}

/// `a` has M × K elements, `b` K × N and `c` M × N.
fn multiply<T: Copy + Add<Output = T> + Mul<Output = T>>([n, k]: [usize; 2], a: &[T], b: &[T], c: &mut [T], zero: T) {
    for (c, a) in c.chunks_mut(n).zip(a.chunks(k)) {
        for (col, c) in c.iter_mut().enumerate() {
            let mut sum = zero;
            for (p, &a) in a.iter().enumerate() {
                sum = sum + a * b[p * n + col];
            }
            *c = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use gemm::check::{Check, Method};
    use gemm::dtype::{Dtype, Sum};
    use gemm::problem::Fill;
    use gemm::{Dim3, LaunchShape, Tile};

    use super::*;

    #[test]
    fn a_large_product_is_timed_on_its_first_rows() {
        let of = |m, n, k| rows(&Shape { m, n, k });
        assert_eq!(of(128, 128, 128), 128, "a small one whole");
        assert_eq!(of(1024, 1024, 1024), 16);
        assert_eq!(of(3, 1 << 20, 1 << 20), 1);
        assert_eq!(of(7, 1, 1), 7);
    }

    #[test]
    fn the_part_is_multiplied_right_and_its_time_extended() {
        let shape = Shape { m: 5, n: 1 << 12, k: 1 << 11 };
        let problem = Problem::new(shape, Dtype::F32, Fill::Integers, 1).unwrap();
        let Timed { part, c, milliseconds } = timed(&problem);
        assert_eq!(part.shape, Shape { m: 2, ..shape });
        let launch =
            LaunchShape { grid: Dim3::xy(1, 1), block: Dim3::xy(1, 1), tile: Tile { m: 2, n: 1 << 12, k: 1 << 11 } };
        let check = Check::of(&part, Fill::Integers, &c, Method { tile: launch.tile, sum: Sum::Rounded });
        assert!(check.right);
        assert_eq!((part.a.at(1, 7), c.rows()), (problem.a.at(1, 7), 2));
        assert!(milliseconds[0] > 0.0 && milliseconds.is_sorted());
    }
}
