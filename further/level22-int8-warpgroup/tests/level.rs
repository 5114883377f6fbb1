//! What every level must hold, and which wrong versions of this one's kernel are caught.

level_tests::level_tests!(level22_int8_warpgroup::LEVEL);

level_tests::persistent_tests!(level22_int8_warpgroup::LEVEL);

level_tests::mutation_tests!(level22_int8_warpgroup::LEVEL, without: ["leave the edge unfilled"]);

/// The largest sums that can be: of as many products as K may be, all of them the largest one. One more is refused.
#[test]
fn the_largest_sums_fit() {
    use gemm::dtype::Dtype;
    use gemm::facts::Extras;
    use gemm::form::Form;
    use gemm::kernel::Kernel;
    use gemm::matrix::Matrix;
    use gemm::problem::Problem;

    const MOST: u32 = 131_071;
    let build = LEVEL.default_build(Dtype::S8);
    let kernel = Kernel::obtain(&build, 90, device::nvrtc::find).unwrap();
    let [m, n, k] = [2, 3, MOST as usize];
    let (a, b) = (vec![i8::MIN; m * k], [i8::MIN, i8::MAX, 0].map(|x| vec![x; k]).concat());
    let shape = Shape { m: 2, n: 3, k: MOST };
    let problem = Problem {
        shape,
        dtype: Dtype::S8,
        a: Matrix::of(m, k, &a).unwrap(),
        b: Matrix::of(n, k, &b).unwrap(),
        c: Matrix::of(m, n, &[7i32; 6]).unwrap(),
        form: Form::usual(Dtype::S8),
    };
    let plan = build.plan(shape).unwrap();
    let ran = Device::Emulator.launch(&plan.task(&kernel), &problem, Extras::new(false, false)).unwrap();
    let [least, most] = [-128 * 127 * MOST as i32, 128 * 128 * MOST as i32];
    assert_eq!(ran.c.numbers::<i32>().unwrap(), [most, least, 0, most, least, 0]);
    let refused = build.plan(Shape { k: MOST + 1, ..shape }).unwrap_err().to_string();
    assert!(
        refused.contains("k is 131072, and an s32 has room for sums of 131071 products of up to 16384"),
        "{refused}"
    );
}
