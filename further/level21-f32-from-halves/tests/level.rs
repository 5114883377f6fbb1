//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level21_f32_from_halves::LEVEL);

level_tests::persistent_tests!(level21_f32_from_halves::LEVEL);

level_tests::mutation_tests!(level21_f32_from_halves::LEVEL, without: ["leave the edge unfilled"]);

/// What is not finite comes out as of a plain sum, and so does what is too large for f32. Nothing else is touched by it.
#[test]
fn infinities_and_nans_are_those_of_a_plain_product() {
    use gemm::dtype::Dtype;
    use gemm::facts::Extras;
    use gemm::kernel::Kernel;
    use gemm::problem::Problem;

    let shape = Shape { m: 5, n: 6, k: 130 };
    let mut a: Vec<f32> = (0..5 * 130).map(|i| ((i * 37 % 101) as f32 - 50.0) / 64.0).collect();
    let mut b: Vec<f32> = (0..130 * 6).map(|i| ((i * 53 % 97) as f32 - 48.0) / 32.0).collect();
    a[130 + 7] = f32::INFINITY;
    a[2 * 130 + 129] = f32::MAX;
    a[2 * 130 + 128] = f32::MAX;
    b[129 * 6 + 1] = 8.0;
    b[128 * 6 + 1] = 8.0;
    b[9 * 6 + 4] = f32::NAN;
    a[3 * 130] = 1e-44;
    let problem = Problem::of(shape, Dtype::F32, &a, &b).unwrap();
    let build = LEVEL.default_build(Dtype::F32);
    let kernel = Kernel::obtain(&build, 90, device::nvrtc::find).unwrap();
    let plan = build.plan(shape).unwrap();
    let ran = Device::Emulator.launch(&plan.task(&kernel), &problem, Extras::new(false, true)).unwrap();
    for (i, got) in ran.c.values().into_iter().enumerate() {
        let (row, column) = (i / 6, i % 6);
        let products = (0..130).map(|k| (a[row * 130 + k], b[k * 6 + column]));
        let plain = products.clone().fold(0.0f32, |sum, (a, b)| a.mul_add(b, sum));
        let size: f64 = products.map(|(a, b)| (f64::from(a) * f64::from(b)).abs()).sum();
        match plain.is_finite() {
            true => assert!((got - f64::from(plain)).abs() <= 2e-6 * size, "({row}, {column}): {got}, {plain}"),
            false => assert!(
                got.to_bits() == f64::from(plain).to_bits() || got.is_nan() && plain.is_nan(),
                "({row}, {column}): {got}, {plain}"
            ),
        }
    }
}

/// At ten shapes, ragged ones among them.
#[test]
fn the_emulators_bits_are_those_of_a_gpu() {
    use gemm::dtype::Dtype;
    use gemm::facts::Extras;
    use gemm::kernel::Kernel;
    use gemm::problem::{Fill, Problem};

    let Some(gpu) = level_tests::gpu() else { return };
    let sizes = [1, 64, 127, 128, 129, 200, 256, 300, 333, 512];
    for (at, &m) in sizes.iter().enumerate() {
        let shape = Shape { m, n: sizes[(3 * at + 1) % 10], k: sizes[(7 * at + 2) % 10] };
        let problem = Problem::new(shape, Dtype::F32, Fill::Reals, at as u64).unwrap();
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
