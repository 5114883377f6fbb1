//! The baseline: the plain triple loop on one core of the CPU, summed in the order of the definition.

use std::time::{Duration, Instant};

use crate::problem::{Element, Problem};

/// Repetitions at most.
const MOST: usize = 5;
/// Time after which no other repetition begins.
const ENOUGH: Duration = Duration::from_millis(500);

/// A·B, one element of C after the other, in the precision of the type.
pub fn multiply<T: Element>(problem: &Problem<T>) -> Vec<T> {
    let (n, k) = (problem.shape.n as usize, problem.shape.k as usize);
    let mut c = problem.c.clone();
    for (c, a) in c.chunks_mut(n).zip(problem.a.chunks(k)) {
        for (col, c) in c.iter_mut().enumerate() {
            let mut sum = T::from_f64(0.0);
            for (p, &a) in a.iter().enumerate() {
                sum = sum + a * problem.b[p * n + col];
            }
            *c = sum;
        }
    }
    c
}

/// The product, and the times of its repetitions in milliseconds: at least one, sorted.
pub fn timed<T: Element>(problem: &Problem<T>) -> (Vec<T>, Vec<f64>) {
    let began = Instant::now();
    let mut milliseconds = Vec::new();
    loop {
        let start = Instant::now();
        let c = multiply(problem);
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        if milliseconds.len() >= MOST || began.elapsed() > ENOUGH {
            milliseconds.sort_by(f64::total_cmp);
            return (c, milliseconds);
        }
    }
}
