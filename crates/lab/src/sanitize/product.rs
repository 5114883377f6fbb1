//! The product that a buffer is to hold, of two others, if it is one: then a wrong one is asked of which elements it is made.

use gemm::dtype::Dtype;
use gemm::form::Form;
use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::sums::Summed;
use gemm::{Element as Float, Error, Shape};

use super::element::Element;
use super::execute;
use super::plan::{Plan, Planned, Value};
use crate::probe::{MOST, Probe};

/// Elements that are held against a product to know it by.
const SAMPLES: usize = 24;
/// Whole numbers that are taken for sizes: so many at most, up to this one.
const NUMBERS: usize = 12;
const LARGEST: usize = 1 << 20;
/// How far they may be from it, in relation to the largest.
const NEAR: f64 = 0.02;
/// The same where something may be added besides, which is small beside the products.
const EXACT: f64 = 1e-4;
/// Whole numbers that are small.
const WHOLE: f64 = 256.0;
/// Products that are known by fewer elements may be others as well.
const KNOWN: usize = 8;
/// Alpha and beta are multiples of this part, if they are near one.
const PARTS: f64 = 64.0;

/// What is known of a product.
#[derive(Debug)]
struct Product {
    /// The buffers of A, B and C.
    buffers: [usize; 3],
    shape: Shape,
    /// A is stored as K x M, B as N x K.
    turned: [bool; 2],
    /// Elements from one row to the next, of A, B and C as they are stored.
    leading: [usize; 3],
    alpha: f64,
    beta: f64,
    added: Added,
}

/// What is added to a product, times beta.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Added {
    /// What C holds before.
    Before,
    /// Another buffer, as large as C.
    Matrix(usize),
    /// A buffer with a number for each column of C, or for each row.
    Columns(usize),
    Rows(usize),
}

/// Says of which elements a buffer is made that is to hold these, and holds others. Where it is no product, blocks along z may have one each.
pub fn explain(
    plan: &Plan,
    (c, wanted, got): (usize, &[f64], &[f64]),
    (ptx, sums): (&str, &[Summed]),
    limit: u64,
) -> Option<String> {
    let deep = plan.launches.iter().map(|launch| launch.grid.z as usize).max().unwrap_or(1);
    let product = match find(plan, c, wanted, 1) {
        None if deep > 1 && wanted.len().is_multiple_of(deep) && got.len() == wanted.len() => {
            let product = find(plan, c, wanted, deep)?;
            let plane = wanted.len() / deep;
            let near = |at: usize| (got[at] - wanted[at]).abs() <= NEAR * wanted[at].abs().max(1.0);
            if (0..plane).all(near) {
                return product.of_plane(plan, &got[plane..2 * plane]);
            }
            product
        }
        found => found?,
    };
    let probed = |problem: &Problem| launched(plan, &product, problem, limit);
    let plain = product.problem(plan).ok()?;
    let names = [0, 1].map(|factor: usize| plan.buffers[product.buffers[factor]].name.as_str());
    let added = match product.added {
        Added::Matrix(index) | Added::Columns(index) | Added::Rows(index) => plan.buffers[index].name.as_str(),
        Added::Before => "C",
    };
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() <= WHOLE;
    let whole = product.buffers[..2]
        .iter()
        .all(|index| numbers(&plan.buffers[*index]).is_some_and(|numbers| numbers.iter().all(is_whole)));
    Probe { plain, launch: &probed, turned: product.turned, ptx, names, added, whole, sums }.say().ok().flatten()
}

/// C of a problem, whose matrices stand in for the buffers.
fn launched(plan: &Plan, product: &Product, problem: &Problem, limit: u64) -> Result<Matrix, Error> {
    let matrices = [&problem.a, &problem.b, &problem.c].map(Matrix::bytes);
    let mut others: Vec<(usize, &[u8])> = product.buffers.into_iter().zip(matrices).collect();
    let vector;
    match product.added {
        Added::Before => (),
        // C itself is as the plan has it.
        Added::Matrix(index) => others[2].0 = index,
        Added::Columns(index) | Added::Rows(index) => {
            // C is full of one number.
            let Planned { element, count, .. } = &plan.buffers[index];
            vector = element.float(problem.c.at(0, 0)).repeat(*count);
            others[2] = (index, &vector);
        }
    }
    let (after, _) = execute::with(plan, &others, None, limit).map_err(Error::Fault)?;
    let length = problem.c.bytes().len();
    match after[product.buffers[2]].all().and_then(|bytes| bytes.get(..length)) {
        Some(bytes) => Ok(problem.c.with_bytes(bytes.to_vec())),
        None => Err(Error::Fault("C is not whole".to_string())),
    }
}

impl Product {
    /// Where in A and B the second of several products is taken from, which lie one behind the other, if it is not from the second of each.
    fn of_plane(&self, plan: &Plan, got: &[f64]) -> Option<String> {
        let [m, n, k] = [self.shape.m, self.shape.n, self.shape.k].map(|size| size as usize);
        let sizes = [(0, "0"), (m * k, "M * K"), (k * n, "K * N"), (m * n, "M * N"), (m, "M"), (n, "N"), (k, "K")];
        let [a, b] = [0, 1].map(|place: usize| numbers(&plan.buffers[self.buffers[place]]));
        let (a, b) = (a?, b?);
        let own = [sizes[1], sizes[2]];
        let form = (self.shape, self.turned, self.leading);
        let taken = |from: [usize; 2]| {
            let of = [a.get(from[0]..)?, b.get(from[1]..)?];
            let whole = of[0].len() >= m * k && of[1].len() >= k * n;
            let (alpha, beta) = whole.then(|| fit(form, [of[0], of[1], &vec![0.0; got.len()], got], EXACT))??;
            (alpha == self.alpha && beta == 0.0).then_some(())
        };
        let pairs = sizes.iter().flat_map(|of_a| sizes.iter().map(move |of_b| [*of_a, *of_b]));
        let mut fitting = pairs.filter(|[of_a, of_b]| taken([of_a.0, of_b.0]).is_some());
        let found = fitting.next().filter(|found| found.iter().zip(own).any(|(one, own)| one.0 != own.0))?;
        let said = |place: usize| {
            let name = &plan.buffers[self.buffers[place]].name;
            let ((from, what), (right, meant)) = (found[place], own[place]);
            (from != right).then(|| match from {
                0 => format!("{name} of the first one again: a batch of {name} is {right} elements ({meant}) behind the one before"),
                _ => format!("{name} from its element {from} on ({what}), and its own is from {right} on: a batch of {name} is {meant} elements behind the one before"),
            })
        };
        let texts: Vec<String> = [0, 1].into_iter().filter_map(said).collect();
        Some(format!("the first product along z is right, and the second is made with {}", texts.join("; and with ")))
    }

    fn problem(&self, plan: &Plan) -> Result<Problem, Error> {
        let element = |index: usize| matrix_element(&plan.buffers[index]).unwrap_or(Float::F32);
        let stored = stored(self.shape, self.turned);
        let matrix = |place: usize| {
            let [rows, columns] = stored[place];
            Matrix::filled(element(self.buffers[place]), [rows, columns, self.leading[place]], || 0.0)
        };
        let [a, _, c] = self.buffers;
        let dtype = Dtype { input: element(a), sum: element(c), output: element(c) };
        let form = Form { alpha: self.alpha, beta: self.beta, ..Form::PLAIN };
        Ok(Problem { shape: self.shape, dtype, a: matrix(0)?, b: matrix(1)?, c: matrix(2)?, form })
    }
}

/// Rows and columns of A, B and C as they are stored.
fn stored(Shape { m, n, k }: Shape, turned: [bool; 2]) -> [[usize; 2]; 3] {
    let [m, n, k] = [m, n, k].map(|size| size as usize);
    [if turned[0] { [k, m] } else { [m, k] }, if turned[1] { [n, k] } else { [k, n] }, [m, n]]
}

fn matrix_element(planned: &Planned) -> Option<Float> {
    match planned.element {
        Element::Float(float) => Some(float),
        Element::Signed(1) => Some(Float::S8),
        Element::Signed(4) => Some(Float::S32),
        _ => None,
    }
}

/// What a buffer of numbers holds before the launch.
fn numbers(planned: &Planned) -> Option<Vec<f64>> {
    matrix_element(planned)?;
    let bytes = planned.bytes.as_ref().filter(|_| !planned.variable && !planned.sparse)?;
    Some(bytes.chunks_exact(planned.element.bytes()).map(|bytes| planned.element.number(bytes).to_f64()).collect())
}

/// The one product of two buffers that these elements are; or the first of so many, which lie one behind the other in each buffer.
fn find(plan: &Plan, c: usize, wanted: &[f64], deep: usize) -> Option<Product> {
    matrix_element(&plan.buffers[c])?;
    let first = |mut numbers: Vec<f64>| {
        numbers.truncate(if numbers.len().is_multiple_of(deep) { numbers.len() / deep } else { numbers.len() });
        numbers
    };
    let wanted = &wanted[..wanted.len() / deep];
    let before = numbers(&plan.buffers[c]).map_or_else(|| vec![0.0; wanted.len()], first);
    let others = (0..plan.buffers.len()).filter(|index| *index != c);
    let factors: Vec<(usize, Vec<f64>)> =
        others.filter_map(|index| Some((index, first(numbers(&plan.buffers[index])?)))).collect();
    let numbers = whole_arguments(plan);
    let fitting = |added: Added, before: &[f64], near: f64| {
        let mut found: Vec<Product> = Vec::new();
        for (a, of_a) in &factors {
            let alike = |b: usize| *a != b && plan.buffers[*a].element == plan.buffers[b].element;
            for (b, of_b) in factors.iter().filter(|(b, _)| alike(*b)) {
                for (shape, turned, leading) in forms([of_a.len(), of_b.len(), wanted.len()], &numbers) {
                    let spread = spread(added, before, (shape, leading[2]), wanted.len());
                    let Some(before) = spread.as_deref().or((added == Added::Before).then_some(before)) else {
                        continue;
                    };
                    let fitted = fit((shape, turned, leading), [of_a, of_b, before, wanted], near);
                    let made =
                        |(alpha, beta)| Product { buffers: [*a, *b, c], shape, turned, leading, alpha, beta, added };
                    found.extend(fitted.map(made));
                }
            }
        }
        found
    };
    let mut found = fitting(Added::Before, &before, EXACT);
    if found.is_empty() {
        let alike = |index: usize| plan.buffers[index].element == plan.buffers[c].element;
        for (index, numbers) in factors.iter().filter(|(index, _)| alike(*index)) {
            for added in [Added::Matrix(*index), Added::Columns(*index), Added::Rows(*index)] {
                found.extend(
                    fitting(added, numbers, EXACT).into_iter().filter(|product| !product.buffers.contains(index)),
                );
            }
        }
    }
    if found.is_empty() {
        found = fitting(Added::Before, &before, NEAR);
    }
    // A part of a product fits as the whole does. Where several fit that are as large, as with factors full of ones, none is known.
    let size = |product: &Product| {
        let Shape { m, n, k } = product.shape;
        u64::from(m) * u64::from(n) * u64::from(k)
    };
    found.sort_by_key(size);
    let last = found.pop()?;
    found.last().is_none_or(|other| size(other) < size(&last)).then_some(last)
}

/// What another buffer adds to each element of C, if it has as many as there are.
fn spread(added: Added, numbers: &[f64], (shape, leading): (Shape, usize), count: usize) -> Option<Vec<f64>> {
    let (rows, columns) = (shape.m as usize, shape.n as usize);
    let of = |pick: &dyn Fn(usize, usize) -> usize| {
        let at = |at: usize| numbers.get(pick(at / leading.max(1), at % leading.max(1))).copied().unwrap_or(0.0);
        (0..count).map(at).collect()
    };
    match added {
        Added::Before => None,
        Added::Matrix(_) => (numbers.len() == count).then(|| numbers.to_vec()),
        Added::Columns(_) => (numbers.len() == columns && columns > 1).then(|| of(&|_, column| column)),
        Added::Rows(_) => (numbers.len() == rows && rows > 1).then(|| of(&|row, _| row)),
    }
}

/// The whole numbers above 0 that the launches hand over: sizes, and distances of rows, among others.
fn whole_arguments(plan: &Plan) -> Vec<usize> {
    let values = plan.launches.iter().flat_map(|launch| &launch.arguments);
    let plain = values.filter(|value| value.pointers.is_empty() && value.maps.is_empty() && value.bytes.len() <= 8);
    let number = |value: &Value| {
        let mut wide = [0; 8];
        wide[..value.bytes.len()].copy_from_slice(&value.bytes);
        usize::try_from(u64::from_le_bytes(wide)).ok().filter(|number| (1..=LARGEST).contains(number))
    };
    let mut numbers: Vec<usize> = plain.filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(NUMBERS);
    numbers
}

/// A product's sizes, how A and B are stored, and how far rows are apart.
type Arrangement = (Shape, [bool; 2], [usize; 3]);

/// What products matrices with so many elements may be of: without padding, or by the numbers that are handed over.
fn forms(counts: [usize; 3], numbers: &[usize]) -> Vec<Arrangement> {
    let mut all = Vec::new();
    let mut add = |[m, n, k]: [usize; 3], padded: bool| {
        let size = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let shape = Shape { m: size(m), n: size(n), k: size(k) };
        if [m, n, k].into_iter().map(|size| size as u64).fold(1, u64::saturating_mul) > MOST {
            return;
        }
        // A vector is its own transpose, and what comes first of two factors the other one times it; of few elements none is known.
        let is_vector = n == 1 && m > 1;
        if m == 1 && n > 1 || is_vector && m < KNOWN {
            return;
        }
        let turns = [[false, false], [false, true], [true, false], [true, true]];
        for turned in turns.into_iter().filter(|[_, b]| !(is_vector && *b)) {
            let leading = |place: usize| -> Vec<usize> {
                let [rows, columns] = stored(shape, turned)[place];
                let fits = |apart: usize| {
                    apart >= columns && (rows - 1) * apart + columns <= counts[place] && counts[place] <= rows * apart
                };
                let others = numbers.iter().copied().filter(|apart| padded && *apart != columns);
                [columns].into_iter().chain(others).filter(|apart| fits(*apart)).collect()
            };
            let [a, b, c] = [0, 1, 2].map(leading);
            let pairs = || a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
            all.extend(pairs().flat_map(|(a, b)| c.iter().map(move |c| (shape, turned, [a, b, *c]))));
        }
    };
    let whole = whole_sizes(counts);
    whole.into_iter().for_each(|sizes| add(sizes, false));
    // A vector's 1 is no argument.
    let with_one: Vec<usize> = [1].into_iter().chain(numbers.iter().copied().filter(|number| *number != 1)).collect();
    for m in &with_one {
        for n in &with_one {
            numbers
                .iter()
                .map(|k| [*m, *n, *k])
                .filter(|sizes| Some(*sizes) != whole)
                .for_each(|sizes| add(sizes, true));
        }
    }
    all
}

/// M, N and K of matrices that have so many elements and no padding.
fn whole_sizes([a, b, c]: [usize; 3]) -> Option<[usize; 3]> {
    let k = (a as f64 * b as f64 / c.max(1) as f64).sqrt().round() as usize;
    let (m, n) = (a.checked_div(k)?, b.checked_div(k)?);
    (m * k == a && k * n == b && m * n == c && m > 0 && n > 0).then_some([m, n, k])
}

/// Alpha and beta of a product, if that is what these elements are: some are looked at.
fn fit((shape, turned, leading): Arrangement, [a, b, before, wanted]: [&[f64]; 4], near: f64) -> Option<(f64, f64)> {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
    let of_a =
        |row: usize, step: usize| if turned[0] { a[step * leading[0] + row] } else { a[row * leading[0] + step] };
    let of_b = |step: usize, column: usize| {
        if turned[1] { b[column * leading[1] + step] } else { b[step * leading[1] + column] }
    };
    let samples = (0..SAMPLES).map(|sample| sample * 7919 % (m * n)).map(|at| {
        let sum: f64 = (0..k).map(|step| of_a(at / n, step) * of_b(step, at % n)).sum();
        let place = at / n * leading[2] + at % n;
        [sum, before[place], wanted[place]]
    });
    let samples: Vec<[f64; 3]> = samples.collect();
    let inner = |one: usize, other: usize| samples.iter().map(|sample| sample[one] * sample[other]).sum::<f64>();
    // Least squares.
    let (det, of_sums) = (inner(0, 0) * inner(1, 1) - inner(0, 1) * inner(0, 1), inner(0, 2) / inner(0, 0));
    let (alpha, beta) = match det > 1e-9 * inner(0, 0) * inner(1, 1) {
        true => (
            (inner(0, 2) * inner(1, 1) - inner(0, 1) * inner(1, 2)) / det,
            (inner(0, 0) * inner(1, 2) - inner(0, 1) * inner(0, 2)) / det,
        ),
        false => (of_sums, 0.0),
    };
    let [alpha, beta] = [alpha, beta].map(|factor| match (factor * PARTS).round() / PARTS {
        round if (round - factor).abs() < NEAR * factor.abs().max(0.5) => round,
        _ => factor,
    });
    let largest = samples.iter().map(|sample| sample[2].abs()).fold(0.0, f64::max);
    let is_near = |[sum, before, wanted]: &[f64; 3]| (alpha * sum + beta * before - wanted).abs() <= near * largest;
    (alpha != 0.0 && largest > 0.0 && samples.iter().all(is_near)).then_some((alpha, beta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_known_by_its_elements() {
        let number = |at: usize| (at * at * 31 % 97) as f64 / 50.0 - 1.0;
        let (m, n, k) = (6, 5, 7);
        let a: Vec<f64> = (0..m * k).map(number).collect();
        let b: Vec<f64> = (0..k * n).map(|at| number(at + 50)).collect();
        let before: Vec<f64> = (0..m * n).map(|at| number(at + 100)).collect();
        let sum = |at: usize| (0..k).map(|step| a[at / n * k + step] * b[at % n * k + step]).sum::<f64>();
        let wanted: Vec<f64> = (0..m * n).map(|at| 1.5 * sum(at) - 0.25 * before[at]).collect();
        let fitted = |counts: [usize; 3], numbers: &[usize], all: [&[f64]; 4]| -> Vec<_> {
            let fit = |form| fit(form, all, NEAR).map(|factors| (form, factors));
            forms(counts, numbers).into_iter().filter_map(fit).collect()
        };
        let counts = [a.len(), b.len(), wanted.len()];
        let shape = Shape { m: 6, n: 5, k: 7 };
        let found = ((shape, [false, true], [7, 7, 5]), (1.5, -0.25));
        assert_eq!(fitted(counts, &[], [&a, &b, &before, &wanted]), [found]);
        assert_eq!(fitted(counts, &[5, 6, 7], [&a, &b, &before, &wanted]), [found]);
        assert_eq!(whole_sizes([12, 10, 7]), None);
        // Rows of A that are nine elements apart.
        let padded: Vec<f64> = (0..m * 9).map(|at| if at % 9 < k { a[at / 9 * k + at % 9] } else { 99.0 }).collect();
        let found = ((shape, [false, true], [9, 7, 5]), (1.5, -0.25));
        assert_eq!(fitted([54, 35, 30], &[5, 6, 7, 9], [&padded, &b, &before, &wanted]), [found]);
    }
}
