//! Is the product right? Against an f64 product of our own, with the bound of rounding theory: element by element while
//! the problem is small, and in [parts](random) where it is large.

mod pattern;
mod random;
mod reference;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::dtype::Sum;
use crate::level::Tile;
use crate::matrix::Matrix;
use crate::problem::{Fill, Problem};
use pattern::Wrong;
pub use random::{Products, Sampling};
pub use reference::{Part, Reference};

/// Wrong elements that a report lists.
const LISTED: usize = 5;

/// The verdict on a product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Whether every element is within its bound.
    pub right: bool,
    /// Elements of C: M × N.
    pub elements: usize,
    /// Elements that are wrong, NaN included, among those that were compared one by one.
    pub wrong: usize,
    /// The largest error of these over its own bound; above 1 is wrong, and NaN counts as infinite.
    pub worst: f64,
    /// How the elements were checked, unless all were compared one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The first wrong elements, in row-major order.
    pub first: Vec<WrongElement>,
    /// Who stored the first of them, where the emulator ran the kernel and a thread did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
    /// What the pattern of the wrong elements suggests.
    pub suggestion: Option<String>,
}

/// An element that is not what it should be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WrongElement {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub col: usize,
    /// What the kernel computed; `null` in JSON where it is NaN.
    pub got: f64,
    /// What the reference computed.
    pub expected: f64,
}

/// What the check knows of how a product was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// What a thread block works on at a time: wrong elements that lie along its edges say so.
    pub tile: Tile,
    /// How products were summed: the bound of an element's error follows from it.
    pub sum: Sum,
}

/// The error that an element may have, as a function of what it is to be and of its magnitude.
#[derive(Debug, Clone, Copy)]
struct Tolerance {
    /// Relative to the sum of the absolute values of its products.
    relative: f64,
    /// Relative to the element.
    of_the_element: f64,
    /// Absolute.
    absolute: f64,
}

impl Tolerance {
    fn of(problem: &Problem, fill: Fill, sum: Sum) -> Tolerance {
        // Three more roundings: alpha, beta, and their sum.
        let roundings = problem.shape.k + if problem.is_plain() { 0 } else { 3 };
        let [mut relative, of_the_element, absolute] = problem.dtype.bound(sum, roundings);
        if fill != Fill::Reals {
            // Sums are exact; C's type may be too narrow for them.
            relative = 0.0;
        }
        Tolerance { relative, of_the_element, absolute }
    }

    fn at(&self, expected: f64, magnitude: f64) -> f64 {
        self.relative * magnitude + self.of_the_element * expected.abs() + self.absolute
    }
}

impl Check {
    /// Compares C with the reference. Sums of integers must be equal, reals within the bound.
    pub fn of(problem: &Problem, fill: Fill, c: &Matrix, method: Method) -> Check {
        Check::against(&Reference::of(problem), problem, fill, c, method)
    }

    /// The same, where the reference is known already.
    pub fn against(reference: &Reference, problem: &Problem, fill: Fill, c: &Matrix, method: Method) -> Check {
        let tolerance = Tolerance::of(problem, fill, method.sum);
        let (sampled, sampling) = match reference {
            Reference::Whole(_) => (Vec::new(), None),
            Reference::InPart(products) => {
                let (parts, sampling) = products.parts(problem, c, &tolerance);
                (parts, Some(sampling))
            }
        };
        let parts = match reference {
            Reference::Whole(part) => std::slice::from_ref(part),
            Reference::InPart(_) => &sampled,
        };
        let compared = sampling.as_ref().map_or(c.elements(), |sampling| sampling.compared(&problem.shape));
        let mut check = compare(problem, (parts, compared), &tolerance, c, method.tile);
        check.sampling = sampling;
        if let Some(products) = products_summed(problem, &check.first, &tolerance, method.tile.k) {
            let k = problem.shape.k;
            check.suggestion =
                Some(format!("only the first {products} of {k} products are summed: the last step along K"));
        }
        if let Some(row) = written_between_rows(&problem.c, c) {
            check.right = false;
            check.suggestion = Some(format!("what lies between rows {row} and {} of C was written", row + 1));
        }
        check
    }

    /// Says that the launch wrote to inputs, which is more telling than what became of C.
    pub fn note_overwritten(&mut self, inputs: &[&str], before: &Matrix, after: &Matrix) {
        let (Some(first), rest) = (inputs.first(), inputs.get(1)) else { return };
        let (names, are) = match rest {
            Some(second) => (format!("{first} and {second}"), "which are inputs"),
            None => (first.to_string(), "which is an input"),
        };
        let untouched = before.bytes() == after.bytes();
        let never = if untouched { ", and never to C: are the arguments in the kernel's order?" } else { "" };
        self.suggestion = Some(format!("the kernel wrote to {names}, {are}{never}"));
    }
}

/// The first row of C after which something was written that is no element of it.
fn written_between_rows(before: &Matrix, after: &Matrix) -> Option<usize> {
    let size = before.element().bytes();
    let (row, columns) = (before.leading() * size, before.columns() * size);
    let rows = before.bytes().chunks(row.max(1)).zip(after.bytes().chunks(row.max(1)));
    rows.enumerate().find(|(_, (before, after))| before.get(columns..) != after.get(columns..)).map(|(row, _)| row)
}

/// How many products the wrong elements sum, if that is a number of whole steps along K, the same for all.
fn products_summed(problem: &Problem, wrong: &[WrongElement], tolerance: &Tolerance, step: u32) -> Option<usize> {
    let k = problem.shape.k as usize;
    let is_sum_of = |element: &WrongElement, products: usize| {
        let product = |p: usize| problem.a_at(element.row, p) * problem.b_at(p, element.col);
        let sum: f64 = (0..products).map(product).sum();
        let magnitude: f64 = (0..products).map(|p| product(p).abs()).sum();
        (element.got - sum).abs() <= tolerance.at(sum, magnitude)
    };
    let last_step = (k - 1) / step as usize * step as usize;
    (problem.is_plain() && last_step > 0 && !wrong.is_empty() && wrong.iter().all(|w| is_sum_of(w, last_step)))
        .then_some(last_step)
}

/// Compares the elements of C that the parts hold, which are `compared` in all.
// `!(error <= tolerance)` is not `error > tolerance`: NaN must be wrong.
#[allow(clippy::neg_cmp_op_on_partial_ord)]
fn compare(
    problem: &Problem,
    (parts, compared): (&[Part], usize),
    tolerance: &Tolerance,
    c: &Matrix,
    tile: Tile,
) -> Check {
    let mut worst = 0.0f64;
    // By place, in row-major order: a row and a column of the parts meet.
    let mut wrong = BTreeMap::new();
    for part in parts {
        let values = part.product.iter().zip(&part.magnitude);
        for ((row, col), (expected, magnitude)) in part.places().zip(values) {
            // ANCHOR: compare
            let error = (c.at(row, col) - expected).abs();
            let tolerance = tolerance.at(*expected, *magnitude);
            if !(error <= tolerance) {
                wrong.insert((row, col), *expected);
            }
            let share = if error == 0.0 { 0.0 } else { error / tolerance };
            worst = worst.max(if share.is_nan() { f64::INFINITY } else { share });
            // ANCHOR_END: compare
        }
    }
    let got = |row: usize, col: usize| c.at(row, col);
    let element =
        |(&(row, col), &expected): (&(usize, usize), &f64)| WrongElement { row, col, got: got(row, col), expected };
    let places: Vec<(usize, usize)> = wrong.keys().copied().collect();
    Check {
        right: wrong.is_empty(),
        elements: c.elements(),
        wrong: wrong.len(),
        worst,
        sampling: None,
        first: wrong.iter().take(LISTED).map(element).collect(),
        stored: None,
        suggestion: Wrong { places: &places, compared, before: &problem.c, after: c, tile }.suggestion(),
    }
}
