//! The check must be able to fail, and say what it saw.

use gemm::check::{Check, Method, Part};
use gemm::dtype::Sum;
use gemm::form::{Form, Layout};
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::{Dtype, Shape, Tile};
use proptest::prelude::*;

/// The product as a kernel would sum it: one element at a time, rounding at every step.
fn multiply(problem: &Problem) -> Matrix {
    let sum = problem.dtype.sum;
    let mut c = problem.c.clone();
    for (row, col) in (0..c.rows()).flat_map(|row| (0..problem.c.columns()).map(move |col| (row, col))) {
        let product = |p| sum.rounded(problem.a.at(row, p) * problem.b_at(p, col));
        c.set(row, col, (0..problem.shape.k as usize).fold(0.0, |so_far, p| sum.rounded(so_far + product(p))));
    }
    c
}

fn method(tile: u32) -> Method {
    Method { tile: Tile { m: tile, n: tile, k: tile }, sum: Sum::Rounded }
}

const SHAPE: Shape = Shape { m: 70, n: 50, k: 40 };

fn reals() -> (Problem, Matrix) {
    let problem = Problem::new(SHAPE, Dtype::F32, Fill::Reals, 7).unwrap();
    let c = multiply(&problem);
    (problem, c)
}

fn check(problem: &Problem, c: &Matrix) -> Check {
    Check::of(problem, Fill::Reals, c, method(32))
}

/// C with every element of a region replaced.
fn spoilt(c: &Matrix, value: f32, region: impl Fn(usize, usize) -> bool) -> Matrix {
    let mut spoilt = c.clone();
    let places = (0..c.rows()).flat_map(|row| (0..c.columns()).map(move |col| (row, col)));
    places.filter(|&(row, col)| region(row, col)).for_each(|(row, col)| spoilt.set(row, col, value.into()));
    spoilt
}

#[test]
fn a_rounded_product_is_right_and_uses_part_of_its_bound() {
    let (problem, c) = reals();
    let check = check(&problem, &c);
    assert!(check.right && check.wrong == 0 && check.suggestion.is_none(), "{check:?}");
    assert!(check.worst > 0.0 && check.worst < 1.0, "{check:?}");
    assert_eq!(check.elements, 3500);
}

/// A sum of k products has k roundings, and alpha, beta and their sum are three more: no error beyond their bound passes.
#[test]
fn an_element_is_granted_what_its_roundings_may_cost_and_no_more() {
    for (form, more) in [(Form::PLAIN, 0), (Form { alpha: 2.0, beta: -3.0, ..Form::PLAIN }, 3)] {
        let problem = Problem::in_form(SHAPE, Dtype::F32, form, Fill::Reals, 7).unwrap();
        let exact = Part::whole(&problem);
        let bound = f64::from(SHAPE.k + more) * 2f64.powi(-24) * exact.magnitude[0];
        let is_right = |share: f64| {
            let mut c = problem.c.clone();
            let places = (0..c.rows()).flat_map(|row| (0..SHAPE.n as usize).map(move |col| (row, col)));
            places.zip(&exact.product).for_each(|((row, col), value)| c.set(row, col, *value));
            c.set(0, 0, exact.product[0] + share * bound);
            check(&problem, &c).right
        };
        assert!(is_right(0.9) && !is_right(1.1), "{form}");
    }
}

#[test]
fn one_element_off_by_more_than_rounding_is_found() {
    let (problem, mut c) = reals();
    c.set(3, 4, c.at(3, 4) + 1e-3);
    let check = check(&problem, &c);
    assert!(!check.right && check.worst > 1.0);
    assert_eq!((check.wrong, check.first[0].row, check.first[0].col), (1, 3, 4));
    assert_eq!(check.first[0].got, c.at(3, 4));
}

#[test]
fn nan_and_infinity_never_pass() {
    let (problem, c) = reals();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let check = check(&problem, &spoilt(&c, value, |row, col| (row, col) == (69, 49)));
        assert_eq!((check.right, check.wrong, check.worst), (false, 1, f64::INFINITY), "{value}");
    }
}

#[test]
fn a_single_wrong_bit_of_an_integer_is_found() {
    for (name, dtype) in Dtype::ALL {
        let problem = Problem::new(SHAPE, dtype, Fill::Integers, 3).unwrap();
        let c = multiply(&problem);
        assert!(Check::of(&problem, Fill::Integers, &c, method(32)).right, "{name}");
        let mut bytes = c.bytes().to_vec();
        // Where C is narrower than the sum, the last bit may be within its rounding.
        bytes[0] ^= if dtype.output == dtype.sum { 1 } else { 2 };
        assert_eq!(Check::of(&problem, Fill::Integers, &c.with_bytes(bytes), method(32)).wrong, 1, "{name}");
    }
}

#[test]
fn a_kernel_that_leaves_out_the_last_product_is_wrong() {
    let (problem, c) = reals();
    let last = SHAPE.k as usize - 1;
    let mut short = c.clone();
    for (row, col) in (0..c.rows()).flat_map(|row| (0..c.columns()).map(move |col| (row, col))) {
        short.set(row, col, c.at(row, col) - problem.a.at(row, last) * problem.b_at(last, col));
    }
    let check = check(&problem, &short);
    assert!(check.wrong > 3400, "{check:?}");
}

#[test]
fn the_bound_grows_with_k_and_no_further() {
    for (k, error) in [(4u32, 5e-6), (4096, 5e-3)] {
        let shape = Shape { m: 1, n: 1, k };
        let ones = vec![1.0f32; k as usize];
        let problem = Problem::of(shape, Dtype::F32, &ones, &ones).unwrap();
        let verdict = |c: f32| Check::of(&problem, Fill::Reals, &Matrix::of(1, 1, &[c]).unwrap(), method(8));
        // γ is about (k + 2) · 2⁻²⁴, and the magnitude is k.
        let bound = f64::from(k) * f64::from(k + 2) * f64::from(f32::EPSILON) / 2.0;
        assert!(verdict(k as f32 + (bound * 0.9) as f32).right, "k = {k}");
        assert!(!verdict(k as f32 + (bound * 1.1 + error) as f32).right, "k = {k}");
    }
}

#[test]
fn the_pattern_of_wrong_elements_is_named() {
    let (problem, c) = reals();
    let suggestion = |c: Matrix| check(&problem, &c).suggestion.unwrap();
    let rows = suggestion(spoilt(&c, 9.0, |row, _| row >= 64));
    assert_eq!(rows, "all wrong rows ≥ 64: the edge of the last tile along M");
    let columns = suggestion(spoilt(&c, f32::NAN, |_, col| col == 49));
    let edge = "all wrong columns ≥ 49: the edge of the last tile along N; all of them are NaN, as before the launch";
    assert_eq!(columns, edge);
    let left = suggestion(spoilt(&c, 9.0, |_, col| col < 8));
    assert_eq!(left, "all wrong columns ≤ 7: how blocks and threads map to columns");
    let all = suggestion(spoilt(&c, 99.0, |_, _| true));
    assert_eq!(all, "every element is wrong: the store to C, or the sum along K");
    let scattered = suggestion(spoilt(&c, 99.0, |row, col| (row + col) % 7 == 0));
    assert!(scattered.starts_with("wrong elements lie scattered"), "{scattered}");
}

#[test]
fn a_last_step_along_k_that_is_left_out_is_named() {
    let (problem, _) = reals();
    let first_32 = Problem { shape: Shape { k: 32, ..SHAPE }, ..problem.clone() };
    let suggestion = check(&problem, &multiply(&first_32)).suggestion.unwrap();
    assert_eq!(suggestion, "only the first 32 of 40 products are summed: the last step along K");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reference_is_the_plain_triple_loop(m in 1..40u32, n in 1..600u32, k in 1..20u32, seed: u64) {
        let problem = Problem::new(Shape { m, n, k }, Dtype::F64, Fill::Integers, seed).unwrap();
        let reference = Part::whole(&problem);
        prop_assert_eq!(&reference.product, &multiply(&problem).values());
        let sizes = |matrix: &Matrix| {
            let sizes: Vec<f64> = matrix.values().iter().map(|x| x.abs()).collect();
            Matrix::of(matrix.rows(), matrix.columns(), &sizes).unwrap()
        };
        let magnitudes = Problem { a: sizes(&problem.a), b: sizes(&problem.b), ..problem };
        prop_assert_eq!(reference.magnitude, multiply(&magnitudes).values());
    }

    #[test]
    fn a_rounded_product_is_within_its_bound(m in 1..20u32, n in 1..20u32, k in 1..300u32, seed: u64) {
        for (_, dtype) in Dtype::ALL {
            let problem = Problem::new(Shape { m, n, k }, dtype, Fill::Reals, seed).unwrap();
            let check = Check::of(&problem, Fill::Reals, &multiply(&problem), method(8));
            prop_assert!(check.right, "{}: {:?}", dtype, check);
        }
    }

    #[test]
    fn every_form_has_the_product_of_the_definition(
        (m, n, k) in (1..20u32, 1..20u32, 1..20u32),
        padding in prop::array::uniform3(0..4u32),
        columns: bool,
        seed: u64,
    ) {
        let layout = if columns { Layout::Columns } else { Layout::Rows };
        let form = Form { alpha: 2.0, beta: -3.0, layout, padding, ..Form::PLAIN };
        let problem = Problem::in_form(Shape { m, n, k }, Dtype::F64, form, Fill::Integers, seed).unwrap();
        let product = multiply(&problem);
        let mut c = problem.c.clone();
        for (row, col) in (0..m as usize).flat_map(|row| (0..n as usize).map(move |col| (row, col))) {
            c.set(row, col, 2.0 * product.at(row, col) - 3.0 * problem.c.at(row, col));
        }
        prop_assert_eq!(Part::whole(&problem).product, c.values());
        prop_assert!(Check::of(&problem, Fill::Integers, &c, method(8)).right);
    }
}

#[test]
fn what_is_written_between_the_rows_of_c_is_found() {
    let form = Form { padding: [0, 0, 3], ..Form::PLAIN };
    let problem = Problem::in_form(SHAPE, Dtype::F32, form, Fill::Integers, 1).unwrap();
    let right = multiply(&problem);
    assert!(Check::of(&problem, Fill::Integers, &right, method(8)).right);
    let mut bytes = right.bytes().to_vec();
    // Row 7 has 50 elements and 3 more; the second of these.
    let at = (7 * 53 + 51) * 4;
    bytes[at..at + 4].copy_from_slice(&0.0f32.to_le_bytes());
    let wrong = Check::of(&problem, Fill::Integers, &right.with_bytes(bytes), method(8));
    assert!(!wrong.right && wrong.wrong == 0);
    assert_eq!(wrong.suggestion.unwrap(), "what lies between rows 7 and 8 of C was written");
}

/// A number cut towards zero to a multiple of a power of two.
fn cut(value: f64, exponent: i32) -> f64 {
    let unit = 2f64.powi(exponent);
    (value / unit).trunc() * unit
}

fn exponent(value: f64) -> i32 {
    value.abs().log2().floor() as i32
}

/// The product as tensor cores sum it, from their published description: some products and the sum so far at once, every term cut
/// below the largest, and the result cut, too. Such sums of `every` products are added in f32.
fn multiply_by_cuts(problem: &Problem, [terms, bits, precision]: [i32; 3], every: usize) -> Matrix {
    let (mut c, k) = (problem.c.clone(), problem.shape.k as usize);
    for (row, col) in (0..c.rows()).flat_map(|row| (0..problem.c.columns()).map(move |col| (row, col))) {
        let products: Vec<f64> = (0..k).map(|p| problem.a.at(row, p) * problem.b_at(p, col)).collect();
        let add = |sum: f64, products: &[f64]| {
            let all = || products.iter().chain([&sum]).filter(|term| **term != 0.0);
            let Some(largest) = all().map(|term| exponent(*term)).max() else { return 0.0 };
            let sum: f64 = all().map(|term| cut(*term, largest - bits)).sum();
            if sum == 0.0 { 0.0 } else { cut(sum, exponent(sum) + 1 - precision) }
        };
        let parts = products.chunks(every).map(|part| part.chunks(terms as usize).fold(0.0, add));
        c.set(row, col, parts.fold(0f32, |sum, part| sum + part as f32).into());
    }
    c
}

#[test]
fn a_sum_that_is_cut_is_within_its_own_bound_and_beyond_that_of_rounding() {
    let ways = [("bf16", [16, 25, 24]), ("tf32", [8, 25, 24]), ("e4m3-f32", [32, 13, 14]), ("e5m2", [32, 13, 14])];
    for (name, [terms, bits, precision]) in ways {
        let dtype: Dtype = name.parse().unwrap();
        let sum = Sum::Cut { terms: terms as u32, bits: bits as u32, precision };
        for k in [1, 33, 1000, 40_000] {
            let problem = Problem::new(Shape { m: 3, n: 5, k }, dtype, Fill::Reals, 5).unwrap();
            let c = multiply_by_cuts(&problem, [terms, bits, precision], k as usize);
            let by = |sum| Check::of(&problem, Fill::Reals, &c, Method { sum, ..method(8) });
            let own = by(sum);
            assert!(own.right && own.worst.is_finite(), "{name}, k = {k}: {own:?}");
            // The 14-bit sum is what the bound of f32 does not allow.
            if name == "e4m3-f32" && k == 33 {
                assert!(!by(Sum::Rounded).right, "{:?}", by(Sum::Rounded));
            }
        }
    }
}

#[test]
fn a_promoted_sum_is_within_its_own_bound_and_one_that_is_not_promoted_beyond_it() {
    let dtype: Dtype = "e4m3-f32".parse().unwrap();
    let sum = Sum::Promoted { terms: 32, bits: 13, precision: 14, every: 128 };
    for k in [1, 33, 129, 1000, 40_000] {
        let mut problem = Problem::new(Shape { m: 3, n: 5, k }, dtype, Fill::Reals, 5).unwrap();
        // Of one sign, so that what is cut off does not even out.
        for matrix in [&mut problem.a, &mut problem.b] {
            let (rows, columns) = (matrix.rows(), matrix.columns());
            for (row, col) in (0..rows).flat_map(|row| (0..columns).map(move |col| (row, col))) {
                matrix.set(row, col, matrix.at(row, col).abs());
            }
        }
        let by = |every: usize| {
            let c = multiply_by_cuts(&problem, [32, 13, 14], every);
            Check::of(&problem, Fill::Reals, &c, Method { sum, ..method(8) })
        };
        assert!(by(128).right, "k = {k}: {:?}", by(128));
        assert_eq!(by(k as usize).right, k < 10_000, "k = {k}: {:?}", by(k as usize));
    }
}

#[test]
fn inputs_depend_on_the_seed_and_are_not_symmetric() {
    let shape = Shape { m: 8, n: 8, k: 8 };
    let problem = |seed| Problem::new(shape, Dtype::F32, Fill::Reals, seed).unwrap();
    let (one, two) = (problem(1), problem(2));
    assert_eq!(one.a, problem(1).a);
    assert_ne!(one.a, two.a);
    assert_ne!(one.a, one.b);
    assert!((0..8).any(|i| one.a.at(i, 0) != one.a.at(0, i)));
    assert!(one.a.values().iter().chain(&one.b.values()).all(|x| (-1.0..=1.0).contains(x)));
}
