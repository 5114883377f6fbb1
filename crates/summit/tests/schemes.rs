//! Products of narrower numbers in place of a type's own: only where they are allowed, and what is not finite comes out as it would
//! from a plain product.

use device::Device;
use device::nvrtc::nowhere;
use gemm::facts::Extras;
use gemm::form::Form;
use gemm::kernel::Kernel;
use gemm::matrix::{Matrix, Scalar};
use gemm::problem::Problem;
use gemm::{Dtype, Element, Level, Shape};
use summit::kernels::{wgmma_bytes, wgmma_halves};
use summit::{Chooser, Error, KERNELS, Plan, Product, Scheme, Types};

const SCHEMES: [(Element, Scheme, &Level); 2] =
    [(Element::F32, Scheme::Halves, &wgmma_halves::KERNEL), (Element::F64, Scheme::Bytes, &wgmma_bytes::KERNEL)];

fn product(element: Element, size: u32) -> Product {
    Product::new(Types::of(element), Shape { m: size, n: size, k: size })
}

fn kernel_of(plan: &Plan) -> &'static str {
    plan.build().level.name
}

#[test]
fn a_scheme_is_chosen_where_it_is_allowed_and_pays() {
    let [hopper, ampere] = [(90, 132), (80, 108)].map(|(sm, sms)| Chooser::new(sm, sms));
    for (element, scheme, kernel) in SCHEMES {
        for size in [64, 512, 1024, 2048, 4096, 8192, 16384] {
            let plain = product(element, size);
            assert_ne!(kernel_of(&Plan::of(&hopper, &plain).unwrap()), kernel.name, "nobody allowed it");
            let allowed = plain.with_scheme(scheme);
            assert_eq!(kernel_of(&Plan::of(&hopper, &allowed).unwrap()) == kernel.name, size >= scheme.least());
            assert_ne!(kernel_of(&Plan::of(&ampere, &allowed).unwrap()), kernel.name, "it cannot run there");
            let invariant = allowed.with_invariant_rows();
            assert_ne!(kernel_of(&Plan::of(&hopper, &invariant).unwrap()), kernel.name, "it depends on M");
        }
        // In every form; C is as it would be from the level's kernel, whose tests these are.
        let size = scheme.least();
        for (turned, transposed, beta) in [(false, true, 1.0), (true, false, 0.0), (true, true, 1.0)] {
            let mut other = product(element, size).with_scheme(scheme).with_factors(3.0, beta);
            other = if turned { other.with_a_as_columns() } else { other };
            other = if transposed { other.with_b_as_columns() } else { other };
            let other = other.with_leading([size as usize + 1, size as usize + 3, size as usize + 5]).unwrap();
            let plan = Plan::of(&hopper, &other).unwrap();
            assert_eq!(kernel_of(&plan), kernel.name, "{plan}");
            assert_eq!(plan.build().configuration.specialization, other.form.specialization());
        }
    }
    assert_eq!(KERNELS.into_iter().filter(|kernel| kernel.needs.preparation.is_some()).count(), SCHEMES.len());
}

/// Sums of 14 bits are for who allows them, and nothing else is chosen otherwise.
#[test]
fn fast_sums_are_chosen_where_they_are_allowed() {
    let chooser = Chooser::new(90, 132);
    let loses_bits = |plan: &Plan| plan.build().level.sum(&plan.build().configuration).loses_bits();
    let mut fast = 0;
    for size in [256, 1024, 2048, 4096, 8192] {
        let plain = product(Element::E4m3, size).with_b_as_columns();
        let allowed = plain.with_scheme(Scheme::FastSums);
        let [plain, allowed] = [plain, allowed].map(|product| Plan::of(&chooser, &product).unwrap());
        assert!(!loses_bits(&plain), "nobody allowed it: {plain}");
        fast += u32::from(loses_bits(&allowed));
        assert!(allowed.to_string().contains("fast sums allowed"), "{allowed}");
    }
    assert!(fast >= 3, "{fast} of 5");
}

#[test]
fn a_plan_says_which_scheme_it_has_and_why_it_has_none() {
    let chooser = Chooser::new(90, 132);
    let said = |size| Plan::of(&chooser, &product(Element::F64, size).with_scheme(Scheme::Bytes)).unwrap().to_string();
    let large = said(4096);
    let lines: Vec<&str> = large.lines().collect();
    assert_eq!(lines[0], "4096×4096×4096, C = A·B, in f64, f64 from bytes allowed on sm_90");
    assert!(lines[1].starts_with("by summit wgmma_bytes (f64, BM=128 BN=192 "), "{large}");
    assert_eq!(lines[3], "because f64 from bytes is allowed, and faster from 4096 of M, N and K on");
    let small = said(512);
    let line =
        "not f64 from bytes: that is for sm_90, without an epilogue or invariant rows, and from 4096 of M, N and K on";
    assert!(small.lines().any(|other| other == line), "{small}");
}

#[test]
fn a_scheme_of_another_type_is_refused() {
    let refused = |element, scheme| match Plan::of(&Chooser::new(90, 132), &product(element, 4096).with_scheme(scheme))
    {
        Err(Error::Misuse { message, hint }) => [message, hint],
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(Element::F32, Scheme::Bytes),
        ["the product allows f64 from bytes, and is in f32", "it stands for products in f64"]
    );
    assert_eq!(
        refused(Element::Bf16, Scheme::Halves),
        ["the product allows f32 from halves, and is in bf16", "it stands for products in f32"]
    );
    let [message, hint] = refused(Element::Bf16, Scheme::FastSums);
    assert_eq!(message, "the product allows fast sums, and is in bf16");
    assert!(hint.starts_with("it stands for products in e4m3"), "{hint}");
}

const SHAPE: Shape = Shape { m: 5, n: 6, k: 200 };

/// A and B: small numbers, and some that are not. A plain sum has infinities of both signs, NaNs, and numbers.
fn awkward(least: f64) -> [Vec<f64>; 2] {
    let [m, n, k] = [SHAPE.m, SHAPE.n, SHAPE.k].map(|size| size as usize);
    let mut a: Vec<f64> = (0..m * k).map(|i| (i * 37 % 17) as f64 / 4.0 - 2.0).collect();
    let mut b: Vec<f64> = (0..k * n).map(|i| (i * 29 % 13) as f64 / 4.0 - 1.6).collect();
    a[3] = f64::INFINITY;
    b[3 * n + 2] = 0.0;
    a[k + 7] = f64::NAN;
    (a[2 * k + 1], a[2 * k + 150]) = (f64::INFINITY, f64::NEG_INFINITY);
    a[3 * k..4 * k].iter_mut().for_each(|x| *x *= least);
    b[9 * n + 4] = f64::NEG_INFINITY;
    [a, b]
}

/// The product by the emulator, without padding.
fn multiplied<T: Scalar>(kernel: &'static Level, dtype: Dtype, a: &[T], b: &[T], of: impl Fn(T) -> f64) -> Vec<f64> {
    let [m, n, k] = [SHAPE.m, SHAPE.n, SHAPE.k].map(|size| size as usize);
    let build = kernel.shipped_builds().pop().unwrap();
    let compiled = Kernel::obtain(&build, 90, nowhere).unwrap();
    let c = Matrix::filled(dtype.output, [m, n, n], &mut || f64::NAN).unwrap();
    let [a, b] = [Matrix::of(m, k, a).unwrap(), Matrix::of(k, n, b).unwrap()];
    let problem = Problem { shape: SHAPE, dtype, a, b, c, form: Form::PLAIN };
    let plan = build.plan(SHAPE).unwrap();
    let ran = Device::Emulator.launch(&plan.task(&compiled), &problem, Extras::new(false, false)).unwrap();
    ran.c.numbers::<T>().unwrap().iter().map(|&x| of(x)).collect()
}

#[test]
fn what_is_not_finite_comes_out_as_from_a_plain_product() {
    let [a, b] = awkward(1e-40);
    let narrow = |of: &[f64]| of.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (a, b) = (narrow(&a), narrow(&b));
    let wide = |of: &[f32]| of.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let c = multiplied(&wgmma_halves::KERNEL, Dtype::F32, &a, &b, f64::from);
    compare(&wide(&a), &wide(&b), &c, [1e-6, 2e-45]);
    let [a, b] = awkward(1e-310);
    let c = multiplied(&wgmma_bytes::KERNEL, Dtype::F64, &a, &b, |x| x);
    compare(&a, &b, &c, [1e-14, 1e-323]);
}

fn compare(a: &[f64], b: &[f64], c: &[f64], [relative, absolute]: [f64; 2]) {
    let [n, k] = [SHAPE.n, SHAPE.k].map(|size| size as usize);
    let (mut numbers, mut infinities, mut none) = (0, 0, 0);
    for (i, &found) in c.iter().enumerate() {
        let products = (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]);
        let (sum, all) = products.fold((0.0, 0.0), |(sum, all), x| (sum + x, all + x.abs()));
        let same = match sum {
            _ if sum.is_nan() => found.is_nan(),
            _ if sum.is_infinite() => found == sum,
            _ => (found - sum).abs() <= relative * all + absolute,
        };
        assert!(same, "element {i} is {found}, and a plain sum {sum}");
        let kind = if sum.is_nan() {
            &mut none
        } else if sum.is_infinite() {
            &mut infinities
        } else {
            &mut numbers
        };
        *kind += 1;
    }
    assert!(numbers > 9 && infinities > 5 && none > 9, "{numbers} numbers, {infinities} infinities, {none} NaNs");
}
