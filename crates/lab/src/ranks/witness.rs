//! Whether a large C is A·B: C·x against A·(B·x) in f64, for a vector x of random signs, on all cores of the host, from the memory where C
//! came to lie; and some elements, one by one, at the corners of parts and elsewhere.
//!
//! An element's error is a rounding of C, and one of each of K sums. In a row of C·x they add up as signs do, by the root of N.

use gemm::{Element, Shape};
use ranks::streamed::Cut;
use summit::Types;

use super::cores;
use super::numbers::next;

/// Rows, and columns, whose common elements are compared one by one.
const SAMPLED: usize = 32;
/// Standard deviations of what roundings are expected to do that are still taken for right.
const LOUD: f64 = 8.0;

/// A matrix of the host.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    bytes: &'a [u8],
    columns: usize,
    element: Element,
}

impl Matrix<'_> {
    /// A row's numbers.
    fn row(&self, row: usize, room: &mut Vec<f64>) {
        let size = self.element.bytes();
        room.resize(self.columns, 0.0);
        let bytes = &self.bytes[row * self.columns * size..][..self.columns * size];
        if self.element == Element::Bf16 {
            for (number, two) in room.iter_mut().zip(bytes.chunks_exact(2)) {
                *number = f32::from_bits(u32::from(u16::from_le_bytes([two[0], two[1]])) << 16).into();
            }
        } else {
            self.element.read(bytes, room);
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        let size = self.element.bytes();
        self.element.value(&self.bytes[(row * self.columns + column) * size..][..size])
    }
}

/// Whether it is, and what was compared.
pub fn check(cut: &Cut, [a, b, c]: [&[u8]; 3], seed: u64) -> (bool, String) {
    let (Shape { m, n, k }, types) = (cut.shape(), cut.types());
    let [m, n, k] = [m, n, k].map(|size| size as usize);
    let a = Matrix { bytes: a, columns: k, element: types.a };
    let b = Matrix { bytes: b, columns: n, element: types.b };
    let c = Matrix { bytes: c, columns: n, element: types.c };
    let mut state = !seed;
    let x: Vec<f64> = (0..n).map(|_| if next(&mut state) >> 63 == 0 { 1.0 } else { -1.0 }).collect();
    let sum = |row: &[f64], with: &[f64]| row.iter().zip(with).map(|(one, other)| one * other).sum::<f64>();
    let bx: Vec<f64> = cores::over(0..k, |room, row| {
        b.row(row, room);
        sum(room, &x)
    });
    let error = relative(types, k);
    let loud = cores::over(0..m, |room, row| {
        a.row(row, room);
        let expected = sum(room, &bx);
        c.row(row, room);
        let (got, squares) = (sum(room, &x), sum(room, room));
        // Not `>`: NaN is wrong.
        let most = LOUD * error * squares.sqrt() + f64::MIN_POSITIVE;
        if (got - expected).abs() <= most { None } else { Some((row, got, expected, most)) }
    });
    if let Some((row, got, expected, most)) = loud.into_iter().flatten().next() {
        return (
            false,
            format!("row {row} of C·x is {got:e}, and of A·(B·x) {expected:e}; roundings explain {most:e}"),
        );
    }
    elements([m, n], cut.sides(), [a, b, c], error)
}

/// What an element is off by, of the usual size of elements.
fn relative(types: Types, k: usize) -> f64 {
    types.c.unit_roundoff() + 2.0 * types.sum.unit_roundoff() * (k as f64).sqrt()
}

/// The elements at which some rows and columns meet.
fn elements([m, n]: [usize; 2], sides: [u32; 2], [a, b, c]: [Matrix; 3], error: f64) -> (bool, String) {
    let [rows, columns] = [(m, sides[0]), (n, sides[1])].map(|(all, side)| sampled(all, side as usize));
    let wrong = cores::over(rows.iter().copied(), |room, row| {
        a.row(row, room);
        let of_column = |&column: &usize| -> Option<String> {
            let products = || room.iter().enumerate().map(|(at, number)| number * b.at(at, column));
            let (expected, squares) = (products().sum::<f64>(), products().map(|p| p * p).sum::<f64>());
            let got = c.at(row, column);
            let off = LOUD * error * (squares.sqrt() + expected.abs());
            let right = (got - expected).abs() <= off + f64::MIN_POSITIVE;
            (!right).then(|| format!("C[{row}, {column}] is {got:e}, and the sum in f64 {expected:e}"))
        };
        columns.iter().find_map(of_column)
    });
    match wrong.into_iter().flatten().next() {
        Some(wrong) => (false, wrong),
        None => (true, format!("{m} rows of C·x in f64, and {} elements one by one", rows.len() * columns.len())),
    }
}

/// The first, the last, both sides of borders between parts, and some more.
fn sampled(all: usize, side: usize) -> Vec<usize> {
    let borders = (1..all.div_ceil(side)).flat_map(|part| [part * side - 1, part * side]);
    let spread = (0..SAMPLED).map(|at| at * (all - 1) / (SAMPLED - 1));
    let mut places: Vec<usize> = borders.take(SAMPLED).chain(spread).collect();
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::numbers::fill;

    /// A product of 40 × 24 × 16 in f32 by three loops, changed by somebody.
    fn verdict(change: impl Fn(&mut Vec<f32>)) -> (bool, String) {
        let shape = Shape { m: 40, n: 24, k: 16 };
        let cut = Cut::new(shape, Types::of(Element::F32), [16, 8]).unwrap();
        let (mut a, mut b) = (vec![0; 40 * 16 * 4], vec![0; 16 * 24 * 4]);
        fill(&mut a, Element::F32, 1);
        fill(&mut b, Element::F32, 2);
        let [of_a, of_b] =
            [(&a, 16), (&b, 24)].map(|(bytes, columns)| Matrix { bytes, columns, element: Element::F32 });
        let sum = |row: usize, column: usize| (0..16).map(|k| of_a.at(row, k) * of_b.at(k, column)).sum::<f64>() as f32;
        let mut c: Vec<f32> = (0..40 * 24).map(|at| sum(at / 24, at % 24)).collect();
        change(&mut c);
        let c: Vec<u8> = c.into_iter().flat_map(f32::to_le_bytes).collect();
        check(&cut, [&a, &b, &c], 3)
    }

    #[test]
    fn a_right_product_is_right_and_others_are_named() {
        assert!(verdict(|_| ()).0);
        let (right, said) = verdict(|c| c[7 * 24 + 3] += 1e-3);
        assert!(!right && said.starts_with("row 7 of C·x is "), "{said}");
        assert!(!verdict(|c| c[39 * 24 + 23] = f32::NAN).0);
        assert!(!verdict(|c| c.swap(0, 1)).0);
        // What C·x does not see: two errors in a row that cancel out under these signs, at a border of parts.
        assert!(!verdict(|c| c[16 * 24..17 * 24].iter_mut().for_each(|one| *one = 0.0)).0);
    }
}
