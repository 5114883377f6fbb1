//! The check must be able to fail, and say what it saw.

use common::check::{Check, Part};
use common::problem::{Element, Fill, Problem};
use common::{Dim3, LaunchShape, Shape, Tile};
use proptest::prelude::*;

/// The product as a kernel would sum it: one element at a time, rounding at every step.
fn multiply<T: Element>(problem: &Problem<T>) -> Vec<T> {
    let Shape { m, n, k } = problem.shape;
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let element = |i: usize| {
        (0..k).fold(T::from_f64(0.0), |sum, p| {
            let product = problem.a[i / n * k + p].to_f64() * problem.b[p * n + i % n].to_f64();
            T::from_f64(sum.to_f64() + T::from_f64(product).to_f64())
        })
    };
    (0..m * n).map(element).collect()
}

fn launch(shape: Shape, tile: u32) -> LaunchShape {
    LaunchShape {
        grid: Dim3::xy(shape.n.div_ceil(tile), shape.m.div_ceil(tile)),
        block: Dim3::xy(tile, tile),
        tile: Tile { m: tile, n: tile, k: tile },
    }
}

const SHAPE: Shape = Shape { m: 70, n: 50, k: 40 };

fn reals() -> (Problem<f32>, Vec<f32>) {
    let problem = Problem::new(SHAPE, Fill::Reals, 7).unwrap();
    let c = multiply(&problem);
    (problem, c)
}

fn check(problem: &Problem<f32>, c: &[f32]) -> Check {
    Check::of(problem, Fill::Reals, c, &launch(problem.shape, 32))
}

/// C with every element of a region replaced.
fn spoilt(c: &[f32], value: f32, region: impl Fn(usize, usize) -> bool) -> Vec<f32> {
    let n = SHAPE.n as usize;
    c.iter().enumerate().map(|(i, &x)| if region(i / n, i % n) { value } else { x }).collect()
}

#[test]
fn a_rounded_product_is_right_and_uses_part_of_its_bound() {
    let (problem, c) = reals();
    let check = check(&problem, &c);
    assert!(check.right && check.wrong == 0 && check.suggestion.is_none(), "{check:?}");
    assert!(check.worst > 0.0 && check.worst < 1.0, "{check:?}");
    assert_eq!(check.elements, 3500);
}

#[test]
fn one_element_off_by_more_than_rounding_is_found() {
    let (problem, mut c) = reals();
    c[3 * 50 + 4] += 1e-3;
    let check = check(&problem, &c);
    assert!(!check.right && check.worst > 1.0);
    assert_eq!((check.wrong, check.first[0].row, check.first[0].col), (1, 3, 4));
    assert_eq!(check.first[0].got, f64::from(c[154]));
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
    let problem = Problem::<f32>::new(SHAPE, Fill::Integers, 3).unwrap();
    let mut c = multiply(&problem);
    let launch = launch(SHAPE, 32);
    assert!(Check::of(&problem, Fill::Integers, &c, &launch).right);
    c[0] = f32::from_bits(c[0].to_bits() ^ 1);
    assert_eq!(Check::of(&problem, Fill::Integers, &c, &launch).wrong, 1);
}

#[test]
fn a_kernel_that_leaves_out_the_last_product_is_wrong() {
    let (problem, c) = reals();
    let k = SHAPE.k as usize;
    let last = |i: usize| problem.a[i / 50 * k + k - 1] * problem.b[(k - 1) * 50 + i % 50];
    let short: Vec<f32> = c.iter().enumerate().map(|(i, x)| x - last(i)).collect();
    let check = check(&problem, &short);
    assert!(check.wrong > 3400, "{check:?}");
}

#[test]
fn the_bound_grows_with_k_and_no_further() {
    for (k, error) in [(4u32, 5e-6), (4096, 5e-3)] {
        let shape = Shape { m: 1, n: 1, k };
        let ones = vec![1.0f32; k as usize];
        let problem = Problem::of(shape, ones.clone(), ones).unwrap();
        let verdict = |c: f32| Check::of(&problem, Fill::Reals, &[c], &launch(shape, 8));
        // γ is about (k + 2) · 2⁻²⁴, and the magnitude is k.
        let bound = f64::from(k) * f64::from(k + 2) * f64::from(f32::EPSILON) / 2.0;
        assert!(verdict(k as f32 + (bound * 0.9) as f32).right, "k = {k}");
        assert!(!verdict(k as f32 + (bound * 1.1 + error) as f32).right, "k = {k}");
    }
}

#[test]
fn the_pattern_of_wrong_elements_is_named() {
    let (problem, c) = reals();
    let suggestion = |c: &[f32]| check(&problem, c).suggestion.unwrap();
    let rows = suggestion(&spoilt(&c, 9.0, |row, _| row >= 64));
    assert_eq!(rows, "all wrong rows ≥ 64: the edge of the last tile along M");
    let columns = suggestion(&spoilt(&c, f32::NAN, |_, col| col == 49));
    let edge = "all wrong columns ≥ 49: the edge of the last tile along N; all of them are NaN, as before the launch";
    assert_eq!(columns, edge);
    let left = suggestion(&spoilt(&c, 9.0, |_, col| col < 8));
    assert_eq!(left, "all wrong columns ≤ 7: how blocks and threads map to columns");
    let all = suggestion(&spoilt(&c, 99.0, |_, _| true));
    assert_eq!(all, "every element is wrong: the store to C, or the sum along K");
    let scattered = suggestion(&spoilt(&c, 99.0, |row, col| (row + col) % 7 == 0));
    assert!(scattered.starts_with("wrong elements lie scattered"), "{scattered}");
}

#[test]
fn a_last_step_along_k_that_is_left_out_is_named() {
    let (problem, _) = reals();
    let a = problem.a.chunks(40).flat_map(|row| row[..32].to_vec()).collect();
    let first_32 = Problem::of(Shape { k: 32, ..SHAPE }, a, problem.b[..32 * 50].to_vec()).unwrap();
    let suggestion = check(&problem, &multiply(&first_32)).suggestion.unwrap();
    assert_eq!(suggestion, "only the first 32 of 40 products are summed: the last step along K");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reference_is_the_plain_triple_loop(m in 1..40u32, n in 1..600u32, k in 1..20u32, seed: u64) {
        let problem = Problem::<f64>::new(Shape { m, n, k }, Fill::Integers, seed).unwrap();
        let reference = Part::whole(&problem);
        prop_assert_eq!(&reference.product, &multiply(&problem));
        let magnitudes = Problem {
            a: problem.a.iter().map(|x| x.abs()).collect(),
            b: problem.b.iter().map(|x| x.abs()).collect(),
            ..problem
        };
        prop_assert_eq!(reference.magnitude, multiply(&magnitudes));
    }

    #[test]
    fn a_rounded_product_is_within_its_bound(m in 1..20u32, n in 1..20u32, k in 1..300u32, seed: u64) {
        let shape = Shape { m, n, k };
        let single = Problem::<f32>::new(shape, Fill::Reals, seed).unwrap();
        prop_assert!(Check::of(&single, Fill::Reals, &multiply(&single), &launch(shape, 8)).right);
        let double = Problem::<f64>::new(shape, Fill::Reals, seed).unwrap();
        prop_assert!(Check::of(&double, Fill::Reals, &multiply(&double), &launch(shape, 8)).right);
    }
}

#[test]
fn inputs_depend_on_the_seed_and_are_not_symmetric() {
    let shape = Shape { m: 8, n: 8, k: 8 };
    let problem = |seed| Problem::<f32>::new(shape, Fill::Reals, seed).unwrap();
    let (one, two) = (problem(1), problem(2));
    assert_eq!(one.a, problem(1).a);
    assert_ne!(one.a, two.a);
    assert_ne!(one.a, one.b);
    assert!((0..8).any(|i| one.a[i * 8] != one.a[i]));
    assert!(one.a.iter().chain(&one.b).all(|x| (-1.0..=1.0).contains(x)));
}
