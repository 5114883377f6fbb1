//! What every level must hold, and that products of remainders are those of f64.

level_tests::level_tests!(level23_f64_from_bytes::LEVEL);

level_tests::persistent_tests!(level23_f64_from_bytes::LEVEL);

level_tests::mutation_tests!(level23_f64_from_bytes::LEVEL, without: ["leave the edge unfilled"]);

use gemm::candidate::{Exam, Options};
use gemm::dtype::Dtype;
use gemm::facts::Extras;
use gemm::kernel::Kernel;
use gemm::problem::{Fill, Problem};

/// C by the default tile sizes with so many moduli.
fn product(device: &Device, shape: Shape, moduli: u32, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut build = LEVEL.default_build(Dtype::F64);
    for (_, size) in build.configuration.tiles.0.iter_mut().filter(|(name, _)| *name == "MODULI") {
        *size = moduli;
    }
    let kernel = Kernel::obtain(&build, 90, device::nvrtc::find).unwrap();
    let plan = build.plan(shape).unwrap();
    let problem = Problem::of(shape, Dtype::F64, a, b).unwrap();
    device.launch(&plan.task(&kernel), &problem, Extras::new(false, true)).unwrap().c.numbers::<f64>().unwrap()
}

/// An element in twice the bits, as the chain of FMA that a plain product is, and the sum of its products' absolute values.
fn plain(shape: Shape, a: &[f64], b: &[f64], row: usize, col: usize) -> [f64; 3] {
    let [n, k] = [shape.n, shape.k].map(|size| size as usize);
    let (mut sum, mut rest, mut chain, mut magnitude) = (0.0, 0.0, 0.0f64, 0.0);
    for i in 0..k {
        let (x, y) = (a[row * k + i], b[i * n + col]);
        chain = x.mul_add(y, chain);
        // Twice the bits: the error of the product and of the sum are kept.
        let product = x * y;
        let next = sum + product;
        let back: f64 = next - sum;
        rest += x.mul_add(y, -product) + (sum - (next - back)) + (product - back);
        (sum, magnitude) = (next, magnitude + product.abs());
    }
    [sum + rest, chain, magnitude]
}

/// Numbers from -1 to 1, times e to the power of so many normal ones.
fn numbers(count: usize, spread: f64, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut unit = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 + 0.5) / 2f64.powi(53)
    };
    let mut number = || {
        let normal = (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        (2.0 * unit() - 1.0) * (spread * normal).exp()
    };
    (0..count).map(|_| number()).collect()
}

/// The largest and the mean error, over the sum of the products' absolute values, of the level's product and of a plain one.
fn errors(shape: Shape, moduli: u32, spread: f64) -> [f64; 4] {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
    let (a, b) = (numbers(m * k, spread, 5), numbers(k * n, spread, 6));
    let c = product(&Device::Emulator, shape, moduli, &a, &b);
    let mut found = [0f64; 4];
    for (at, value) in c.iter().enumerate() {
        let [exact, chain, magnitude] = plain(shape, &a, &b, at / n, at % n);
        let errors = [value, &chain].map(|x| (x - exact).abs() / magnitude);
        for (i, error) in errors.into_iter().enumerate() {
            found[i] = found[i].max(error);
            found[2 + i] += error / (m * n) as f64;
        }
    }
    found
}

#[test]
fn errors_are_smaller_than_those_of_a_plain_product() {
    let shape = Shape { m: 33, n: 34, k: 1000 };
    for moduli in [14, 15, 16] {
        for spread in [0.0, 0.5, 1.0] {
            let [largest, of_the_chain, mean, mean_of_the_chain] = errors(shape, moduli, spread);
            let what = format!(
                "{moduli} moduli, spread {spread}: {largest:e} {of_the_chain:e} {mean:e} {mean_of_the_chain:e}"
            );
            assert!(largest < of_the_chain && mean < mean_of_the_chain, "{what}");
            // Bits that a further modulus buys.
            assert!(moduli == 14 || mean < mean_of_the_chain / 8.0, "{what}");
        }
    }
}

/// Where the moduli do not hold a row's spread, where K is too large for sums in s32, and where a number is none.
#[test]
fn what_remainders_do_not_say_is_summed_plainly() {
    let shape = Shape { m: 3, n: 2, k: 300 };
    let (mut a, b) = (numbers(900, 0.0, 1), numbers(600, 0.0, 2));
    a[300..600].iter_mut().step_by(2).for_each(|x| *x *= 1e-20);
    a[600] = f64::INFINITY;
    let c = product(&Device::Emulator, shape, 14, &a, &b);
    assert_eq!(c[2..4], [0, 1].map(|col| plain(shape, &a, &b, 1, col)[1]));
    assert!(c[4].is_infinite() && c[5].is_infinite());
    a[601] = f64::NAN;
    let c = product(&Device::Emulator, shape, 14, &a, &b);
    assert!(c[..4].iter().all(|x| x.is_finite()) && c[4..].iter().all(|x| x.is_nan()));
    a[600..].iter_mut().for_each(|x| *x = 0.0);
    a[299] = 1e-310;
    a[600] = 5e-324;
    let mut tiny = b.clone();
    tiny[0] = 3.0;
    let c = product(&Device::Emulator, shape, 14, &a, &tiny);
    assert_eq!(c[4], 3.0 * 5e-324);
    // The emulator takes minutes for as many.
    for (gpu, k) in level_tests::gpu().iter().flat_map(|gpu| [(gpu, 131_071), (gpu, 131_072)]) {
        let shape = Shape { m: 1, n: 1, k };
        let (a, b) = (vec![1.0; k as usize], vec![3.0; k as usize]);
        assert_eq!(product(gpu, shape, 14, &a, &b), [3.0 * f64::from(k)]);
    }
}

#[test]
fn the_report_says_what_was_summed_plainly() {
    let build = LEVEL.default_build(Dtype::F64);
    let kernel = Kernel::obtain(&build, 90, device::nvrtc::find).unwrap();
    let found = |shape: Shape, a: &[f64], b: &[f64]| {
        let problem = Problem::of(shape, Dtype::F64, a, b).unwrap();
        let gpu = emulator::gpu::Gpu::named("h200").unwrap();
        let options = Options { gpu, extras: Extras::new(false, false), annotate: false, matrices: false };
        let exam = Exam { problem: &problem, seed: 1, reference: None };
        let (report, _) = build.plan(shape).unwrap().candidate(&kernel).run(exam, &options, |_| ()).unwrap();
        assert_eq!(report.found.is_some(), report.to_string().contains("\nfound "), "{report}");
        report.found
    };
    let shape = Shape { m: 3, n: 2, k: 300 };
    let (mut a, mut b) = (numbers(900, 0.0, 1), numbers(600, 0.0, 2));
    assert_eq!(found(shape, &a, &b), None);
    a[300..600].iter_mut().step_by(2).for_each(|x| *x *= 1e-20);
    let words = "spread too far for whole numbers: products with them are summed in f64";
    assert_eq!(found(shape, &a, &b).unwrap(), format!("1 of 3 rows of A and 0 of 2 columns of B {words}"));
    a[0] = f64::NAN;
    b[1] = f64::INFINITY;
    assert_eq!(found(shape, &a, &b).unwrap(), format!("2 of 3 rows of A and 1 of 2 columns of B {words}"));
    let most = LEVEL.needs.preparation.and_then(|preparation| preparation.finding).unwrap();
    let longer = (most.words)(&Shape { k: 131_072, ..shape }, &build.configuration.tiles, &[0; 5120]);
    assert!(longer.is_some_and(|words| words.starts_with("K is over 131071")));
}

/// At ten shapes, ragged ones among them.
#[test]
fn the_emulators_bits_are_those_of_a_gpu() {
    let Some(gpu) = level_tests::gpu() else { return };
    let sizes = [1, 64, 127, 128, 129, 200, 256, 300, 333, 512];
    for (at, &m) in sizes.iter().enumerate() {
        let shape = Shape { m, n: sizes[(3 * at + 1) % 10], k: sizes[(7 * at + 2) % 10] };
        let problem = Problem::new(shape, Dtype::F64, Fill::Reals, at as u64).unwrap();
        for build in LEVEL.shipped_builds() {
            let kernel = Kernel::obtain(&build, 90, device::nvrtc::find).unwrap();
            let plan = build.plan(shape).unwrap();
            let task = plan.task(&kernel);
            let [card, emulator] = [&gpu, &Device::Emulator]
                .map(|device| device.launch(&task, &problem, Extras::new(false, false)).unwrap());
            assert!(card.c.bytes() == emulator.c.bytes(), "{build}, {shape}");
        }
    }
}
