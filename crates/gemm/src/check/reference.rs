//! What C is compared with: the product in f64, whole where the problem is small, and else in part.
//!
//! The sums run in the order of the definition, without fused multiply-adds, so that they have the same bits on
//! every machine: reports show an error's share of its tolerance, and are compared letter by letter. That is why no library's product
//! stands here, whose order depends on the CPU.

use std::borrow::Cow;

use super::random::Products;
use crate::form::Layout;
use crate::level::Shape;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::workers;

/// Multiply-adds up to which the whole product is computed: 1024³, a second or two on two cores.
const WHOLE: u64 = 1 << 30;
/// Rows of C that one task computes: a row of B, once loaded, serves them all.
const ROWS: usize = 8;
/// Columns of C that it works on at a time: they stay in the cache.
const COLUMNS: usize = 512;

/// What the product of a problem must be.
#[derive(Debug, Clone)]
pub enum Reference {
    /// Every element.
    Whole(Part),
    /// Some rows and columns, and products with random vectors, in which every element counts.
    InPart(Box<Products>),
}

impl Reference {
    /// The whole product up to 2³⁰ multiply-adds, and a part of a larger one.
    pub fn of(problem: &Problem) -> Reference {
        let Shape { m, n, k } = problem.shape;
        match u64::from(m) * u64::from(n) * u64::from(k) <= WHOLE {
            true => Reference::Whole(Part::whole(problem)),
            false => Reference::InPart(Box::new(Products::of(problem))),
        }
    }
}

/// Some elements of the product in f64, and how large rounding errors may be.
#[derive(Debug, Clone)]
pub struct Part {
    /// The rows that it holds, rising.
    pub rows: Vec<usize>,
    /// The columns that it holds, rising.
    pub columns: Vec<usize>,
    /// alpha·A·B + beta·C there, row by row.
    pub product: Vec<f64>,
    /// The same of absolute values: what rounding errors are relative to.
    pub magnitude: Vec<f64>,
}

impl Part {
    /// Every element.
    pub fn whole(problem: &Problem) -> Part {
        let [rows, columns] = [problem.shape.m, problem.shape.n].map(|size| (0..size as usize).collect());
        Part::multiplied(problem, rows, columns)
    }

    /// Some rows.
    pub fn rows(problem: &Problem, rows: &[usize]) -> Part {
        Part::multiplied(problem, rows.to_vec(), (0..problem.shape.n as usize).collect())
    }

    /// Some columns.
    pub fn columns(problem: &Problem, columns: &[usize]) -> Part {
        Part::multiplied(problem, (0..problem.shape.m as usize).collect(), columns.to_vec())
    }

    fn multiplied(problem: &Problem, rows: Vec<usize>, columns: Vec<usize>) -> Part {
        let (n, k) = (columns.len(), problem.shape.k as usize);
        let mut product = vec![0.0; rows.len() * n];
        let mut magnitude = product.clone();
        if product.is_empty() {
            return Part { rows, columns, product, magnitude };
        }
        let (whole_a, b) = (rows_of_a(problem), rows_of_b(problem));
        let is_whole = n == problem.shape.n as usize;
        let parts = product.chunks_mut(ROWS * n).zip(magnitude.chunks_mut(ROWS * n)).zip(rows.chunks(ROWS));
        workers::for_each(parts.collect(), |((product, magnitude), rows): ((&mut [f64], &mut [f64]), &[usize])| {
            let mut a = vec![0.0; rows.len() * k];
            rows.iter().zip(a.chunks_mut(k)).for_each(|(&row, a)| whole_a.read(row, 0, a));
            let mut wide = vec![0.0; COLUMNS.min(n)];
            for from in (0..n).step_by(COLUMNS) {
                let range = from..(from + COLUMNS).min(n);
                let wide = &mut wide[..range.len()];
                for p in 0..k {
                    match is_whole {
                        true => b.read(p, from, wide),
                        false => wide.iter_mut().zip(&columns[range.clone()]).for_each(|(b_at, &c)| *b_at = b.at(p, c)),
                    }
                    for (row, a) in a.chunks(k).enumerate() {
                        let a = a[p];
                        let product = &mut product[row * n..][range.clone()];
                        let magnitude = &mut magnitude[row * n..][range.clone()];
                        for ((c, s), b) in product.iter_mut().zip(magnitude).zip(&*wide) {
                            *c += a * b;
                            *s += (a * b).abs();
                        }
                    }
                }
            }
        });
        let mut part = Part { rows, columns, product, magnitude };
        if !problem.is_plain() {
            part.scale(problem);
        }
        part
    }

    /// From A·B to alpha·A·B + beta·C.
    fn scale(&mut self, problem: &Problem) {
        let (alpha, beta) = (problem.form.alpha, problem.form.beta);
        let places: Vec<(usize, usize)> = self.places().collect();
        let values = self.product.iter_mut().zip(&mut self.magnitude);
        for ((row, col), (product, magnitude)) in places.into_iter().zip(values) {
            // Where beta is 0, C counts as not read: 0 times NaN must not count.
            let c = if beta == 0.0 { 0.0 } else { beta * problem.c.at(row, col) };
            *product = alpha * *product + c;
            *magnitude = alpha.abs() * *magnitude + c.abs();
        }
    }

    /// Row and column of each element that it holds, in the order of `product`.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.iter().flat_map(|&row| self.columns.iter().map(move |&col| (row, col)))
    }
}

/// A with a row for each row of C, whatever its layout.
pub(super) fn rows_of_a(problem: &Problem) -> Cow<'_, Matrix> {
    match problem.form.a {
        Layout::Rows => Cow::Borrowed(&problem.a),
        Layout::Columns => Cow::Owned(problem.a.transposed()),
    }
}

/// B with a row for each k, whatever its layout.
pub(super) fn rows_of_b(problem: &Problem) -> Cow<'_, Matrix> {
    match problem.form.layout {
        Layout::Rows => Cow::Borrowed(&problem.b),
        Layout::Columns => Cow::Owned(problem.b.transposed()),
    }
}
