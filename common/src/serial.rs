//! The baseline: the plain triple loop on one core of the CPU, summed in the order of the definition.

use std::ops::{Add, Mul};
use std::time::{Duration, Instant};

use rung::Element;
use rung::matrix::Matrix;
use rung::problem::Problem;

/// Repetitions at most.
const MOST: usize = 5;
/// Time after which no other repetition begins.
const ENOUGH: Duration = Duration::from_millis(500);

/// A·B, summed in the problem's type for sums, and the times of its repetitions in milliseconds: at least one, sorted.
pub fn timed(problem: &Problem) -> (Matrix, Vec<f64>) {
    match problem.dtype.sum {
        Element::F64 => repeated(problem, |value| value, |sum| sum),
        _ => repeated(problem, |value| value as f32, f64::from),
    }
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
