//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level21_f32_from_halves::LEVEL);

level_tests::mutation_tests!(level21_f32_from_halves::LEVEL, without: ["leave the edge unfilled"]);

/// Numbers whose scales cannot be multiplied with each other come out as of a plain sum. What is not finite spoils its row and its column
/// alone.
#[test]
fn numbers_of_any_size_come_out_right() {
    use gemm::dtype::Dtype;
    use gemm::facts::Extras;
    use gemm::kernel::Kernel;
    use gemm::problem::Problem;

    let shape = Shape { m: 5, n: 6, k: 130 };
    let mut a: Vec<f32> = (0..5 * 130).map(|i| ((i * 37 % 101) as f32 - 50.0) / 64.0).collect();
    let mut b: Vec<f32> = (0..130 * 6).map(|i| ((i * 53 % 97) as f32 - 48.0) / 32.0).collect();
    let scaled = |x: &mut f32, exponent: i32| *x *= 2f32.powi(exponent);
    a[..130].iter_mut().for_each(|x| scaled(x, -120));
    b.iter_mut().step_by(6).for_each(|x| scaled(x, 120));
    a[130..260].iter_mut().for_each(|x| scaled(x, 60));
    a[3 * 130] = 1e-44;
    a[2 * 130 + 129] = f32::INFINITY;
    b[9 * 6 + 4] = f32::NAN;
    let problem = Problem::of(shape, Dtype::F32, &a, &b).unwrap();
    let build = LEVEL.default_build(Dtype::F32);
    let kernel = Kernel::obtain(&build, 90, device::nvrtc::find).unwrap();
    let plan = build.plan(shape).unwrap();
    let ran = Device::Emulator.launch(&plan.task(&kernel), &problem, Extras::new(false, true)).unwrap();
    for (i, got) in ran.c.values().into_iter().enumerate() {
        let (row, column) = (i / 6, i % 6);
        let products = (0..130).map(|k| f64::from(a[row * 130 + k]) * f64::from(b[k * 6 + column]));
        let (plain, size) = products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
        match row != 2 && column != 4 && size < f64::from(f32::MAX) {
            true => assert!((got - plain).abs() <= 2e-6 * size, "({row}, {column}): {got}, {plain}"),
            false => assert!(!got.is_finite(), "({row}, {column}): {got}, {plain}"),
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
