//! A check of a large product in O(n²), in which every element counts: C·x against A·(B·x), and yᵀ·C against (yᵀ·A)·B, for
//! vectors of random signs (Freivalds, Probabilistic machines can use less running time, 1977).
//!
//! An element that is off by e moves its row of C·x, and its column of yᵀ·C, by e. All the others move them too, by rounding: as
//! signs are random, by about √n times the error of one. How much that is, the rows say themselves: a quarter of them are
//! quieter than the first quartile. A row or column several times as loud as that becomes a suspect, and is computed as a whole, and judged by
//! the bound of rounding theory like any other. So a suspect may be innocent, which costs time, but nothing right is
//! ever called wrong. Where most rows are wrong none stands out; then the whole rows and columns that are computed in any case show it.
//!
//! What that finds: see [`Sampling::certain`].

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use serde::Serialize;

use super::Tolerance;
use super::reference::{Part, rows_of_a, rows_of_b};
use crate::level::Shape;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::workers;

/// Vectors on each side. Errors of a row that cancel out under one of them do so under all with probability 2⁻⁴ at most.
const VECTORS: usize = 4;
/// Tasks at most where each has sums of its own for all columns.
const TASKS: usize = 64;
/// A row or column this many standard deviations from what it should be is a suspect: of normal noise, one in 10¹⁸ is.
const LOUD: f64 = 9.0;
/// The first quartile of the absolute value of normal noise, in standard deviations.
const QUARTILE: f64 = 0.3186;
/// Multiply-adds granted to the rows, and to the columns, that are computed as a whole in any case.
const SAMPLED: u64 = 1 << 31;
/// Rows, and columns, of a sample at most, and at least.
const SAMPLE: [u64; 2] = [32, 4];
/// The same for suspects that are computed as a whole.
const SUSPECTS: [u64; 2] = [32, 4];

type Signed = [f64; VECTORS];

/// What a check by random products did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sampling {
    /// Products with random vectors, on both sides.
    pub products: usize,
    /// Rows that were compared element by element.
    pub rows: usize,
    /// Columns that were compared so.
    pub columns: usize,
    /// Rows and columns in which a random product differs by more than rounding explains.
    pub suspects: usize,
    /// An error of a single element that is found with certainty, wherever it is, in multiples of that element's bound (of
    /// one of average magnitude). One half as large is missed with probability 2⁻⁴ at most, for each side.
    pub certain: f64,
}

/// What random products of C must be, and a sample of whole rows and columns.
#[derive(Debug, Clone)]
pub struct Products {
    rows: Side,
    columns: Side,
    /// Whole rows, then whole columns.
    sample: [Part; 2],
}

/// Products with vectors on one side: a value for each row, or for each column, of C.
#[derive(Debug, Clone)]
struct Side {
    /// The vectors, interleaved.
    signs: Vec<Signed>,
    expected: Vec<Signed>,
    /// What rounding errors are relative to: the sum of a row's, or a column's, magnitudes.
    magnitude: Vec<f64>,
}

impl Products {
    /// For a problem whose matrices are not empty.
    pub fn of(problem: &Problem) -> Products {
        let [m, n, k] = [problem.shape.m, problem.shape.n, problem.shape.k].map(|size| size as usize);
        let mut random = ChaCha12Rng::seed_from_u64(0x6d61_7472_6978);
        let mut signs = |count: usize| -> Vec<Signed> {
            let sign = |bit: bool| if bit { 1.0 } else { -1.0 };
            (0..count).map(|_| std::array::from_fn(|_| sign(random.random()))).collect()
        };
        let (x, y) = (signs(n), signs(m));
        let (a, b) = (rows_of_a(problem), rows_of_b(problem));
        let (bx, b1) = from_right(&b, &x, &vec![1.0; n]);
        let (rows, row_magnitudes) = from_right(&a, &bx, &b1);
        let (ya, a1) = from_left(&a, &y, &vec![1.0; m]);
        let (columns, column_magnitudes) = from_left(&b, &ya, &a1);
        let mut rows = Side { signs: x, expected: rows, magnitude: row_magnitudes };
        let mut columns = Side { signs: y, expected: columns, magnitude: column_magnitudes };
        if !problem.is_plain() {
            let (alpha, beta) = (problem.form.alpha, problem.form.beta);
            let c = |from: fn(&Matrix, &[Signed], &[f64]) -> _, side: &Side| match beta {
                0.0 => None,
                _ => Some(from(&problem.c, &side.signs, &vec![1.0; side.signs.len()])),
            };
            let (of_rows, of_columns) = (c(from_right, &rows), c(from_left, &columns));
            rows.scale(alpha, beta, of_rows);
            columns.scale(alpha, beta, of_columns);
        }
        let [rows_sampled, columns_sampled] = [(m, n), (n, m)].map(|(count, other)| {
            let all: Vec<usize> = (0..count).collect();
            spread(&all, affordable(SAMPLED, other, k, SAMPLE))
        });
        let sample = [Part::rows(problem, &rows_sampled), Part::columns(problem, &columns_sampled)];
        Products { rows, columns, sample }
    }

    /// The parts of the product that C is to be compared with: the sample, and the rows and columns that are suspect.
    pub(super) fn parts(&self, problem: &Problem, c: &Matrix, tolerance: &Tolerance) -> (Vec<Part>, Sampling) {
        let Shape { m, n, k } = problem.shape;
        let [m, n, k] = [m, n, k].map(|size| size as usize);
        let (of_rows, _) = from_right(c, &self.rows.signs, &vec![1.0; n]);
        let (of_columns, _) = from_left(c, &self.columns.signs, &vec![1.0; m]);
        let (loud_rows, row_noise) = self.rows.suspects(&of_rows);
        let (loud_columns, column_noise) = self.columns.suspects(&of_columns);
        let [rows, columns] = [(&loud_rows, n, 0), (&loud_columns, m, 1)].map(|(suspects, other, side)| {
            let sampled = [&self.sample[0].rows, &self.sample[1].columns][side];
            let mut chosen = spread(suspects, affordable(SAMPLED, other, k, SUSPECTS));
            chosen.retain(|place| !sampled.contains(place));
            chosen
        });
        // What a suspect's product may be off without being loud, twice: once for the error, once for the noise against it.
        let certain = (row_noise * n as f64).min(column_noise * m as f64) * 2.0 * LOUD / self.bound(tolerance);
        let sampling = Sampling {
            products: 2 * VECTORS,
            rows: self.sample[0].rows.len() + rows.len(),
            columns: self.sample[1].columns.len() + columns.len(),
            suspects: loud_rows.len() + loud_columns.len(),
            certain: if certain.is_nan() { 0.0 } else { certain },
        };
        let mut parts = self.sample.to_vec();
        parts.extend([Part::rows(problem, &rows), Part::columns(problem, &columns)]);
        (parts, sampling)
    }
}

impl Products {
    /// The error that an element of average magnitude may have, relative to its magnitude.
    fn bound(&self, tolerance: &Tolerance) -> f64 {
        if tolerance.of_the_element == 0.0 && tolerance.absolute == 0.0 {
            return tolerance.relative;
        }
        let of = |part: &Part| -> (f64, f64) {
            let values = part.product.iter().zip(&part.magnitude);
            values.fold((0.0, 0.0), |(sum, all), (&e, &magnitude)| (sum + tolerance.at(e, magnitude), all + magnitude))
        };
        let [(rows, of_rows), (columns, of_columns)] = self.sample.each_ref().map(of);
        (rows + columns) / (of_rows + of_columns)
    }
}

impl Sampling {
    /// Elements that were compared one by one: rows and columns meet.
    pub(super) fn compared(&self, shape: &Shape) -> usize {
        self.rows * shape.n as usize + self.columns * shape.m as usize - self.rows * self.columns
    }
}

impl Side {
    fn scale(&mut self, alpha: f64, beta: f64, c: Option<(Vec<Signed>, Vec<f64>)>) {
        for (i, (expected, magnitude)) in self.expected.iter_mut().zip(&mut self.magnitude).enumerate() {
            let (of_c, sum) = c.as_ref().map_or(([0.0; VECTORS], 0.0), |(signed, sums)| (signed[i], sums[i]));
            *expected = std::array::from_fn(|v| alpha * expected[v] + beta * of_c[v]);
            *magnitude = alpha.abs() * *magnitude + beta.abs() * sum;
        }
    }

    /// The rows (or columns) whose products are louder than rounding explains, and the standard deviation of the others'
    /// relative to their magnitude.
    fn suspects(&self, got: &[Signed]) -> (Vec<usize>, f64) {
        let noise: Vec<Signed> = got
            .iter()
            .zip(&self.expected)
            .zip(&self.magnitude)
            .map(|((got, expected), magnitude)| {
                // No magnitude, and nothing got: a row of zeros.
                let relative = |v: usize| match (got[v] - expected[v]).abs() {
                    0.0 => 0.0,
                    off => off / magnitude,
                };
                std::array::from_fn(relative)
            })
            .collect();
        let mut quiet: Vec<f64> = noise.as_flattened().iter().copied().filter(|x| !x.is_nan()).collect();
        quiet.sort_by(f64::total_cmp);
        let deviation = quiet.get(quiet.len() / 4).map_or(0.0, |quartile| quartile / QUARTILE);
        // NaN is loud.
        let is_loud = |noise: &Signed| !noise.iter().all(|x| *x <= LOUD * deviation);
        ((0..noise.len()).filter(|&i| is_loud(&noise[i])).collect(), deviation)
    }
}

/// How many rows of `other` × `k` multiply-adds each may be computed.
fn affordable(budget: u64, other: usize, k: usize, [most, least]: [u64; 2]) -> usize {
    (budget / (other as u64 * k as u64).max(1)).clamp(least, most) as usize
}

/// At most `count` of these places, the first and the last among them, the others spread evenly.
fn spread(places: &[usize], count: usize) -> Vec<usize> {
    if places.len() <= count {
        return places.to_vec();
    }
    (0..count).map(|i| places[i * (places.len() - 1) / (count - 1)]).collect()
}

/// A matrix times vectors, and its absolute values times `sizes`: a value for each row.
fn from_right(matrix: &Matrix, vectors: &[Signed], sizes: &[f64]) -> (Vec<Signed>, Vec<f64>) {
    let product = |values: &mut Vec<f64>, row: usize| {
        values.resize(matrix.columns(), 0.0);
        matrix.read(row, 0, values);
        let (mut signed, mut size) = ([0.0; VECTORS], 0.0);
        for ((x, vector), weight) in values.iter().zip(vectors).zip(sizes) {
            for (sum, sign) in signed.iter_mut().zip(vector) {
                *sum += x * sign;
            }
            size += x.abs() * weight;
        }
        (signed, size)
    };
    workers::map((0..matrix.rows()).collect(), product).into_iter().unzip()
}

/// Vectors times a matrix, and `sizes` times its absolute values: a value for each column.
fn from_left(matrix: &Matrix, vectors: &[Signed], sizes: &[f64]) -> (Vec<Signed>, Vec<f64>) {
    let columns = matrix.columns();
    let rows = vectors.len().div_ceil(TASKS);
    let chunks = vectors.chunks(rows).zip(sizes.chunks(rows)).enumerate().collect();
    // Chunks are added in their order, so that the sums are the same on every machine.
    let sums = workers::map(chunks, |values: &mut Vec<f64>, (chunk, (vectors, sizes))| {
        let mut signed = vec![[0.0; VECTORS]; columns];
        let mut size = vec![0.0; columns];
        values.resize(columns, 0.0);
        for (row, (vector, weight)) in vectors.iter().zip(sizes).enumerate() {
            matrix.read(chunk * rows + row, 0, values);
            for ((x, sums), size) in values.iter().zip(&mut signed).zip(&mut size) {
                for (sum, sign) in sums.iter_mut().zip(vector) {
                    *sum += x * sign;
                }
                *size += x.abs() * weight;
            }
        }
        (signed, size)
    });
    let mut total = (vec![[0.0; VECTORS]; columns], vec![0.0; columns]);
    for (signed, size) in sums {
        for (total, part) in total.0.iter_mut().zip(signed) {
            *total = std::array::from_fn(|v| total[v] + part[v]);
        }
        total.1.iter_mut().zip(size).for_each(|(total, part)| *total += part);
    }
    total
}
