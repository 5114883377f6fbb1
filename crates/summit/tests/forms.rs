//! Every layout, epilogue and batch of the 16-bit road by the library's calls, on the emulator and on a Hopper GPU if there is one,
//! against a product in f64.
//!
//! Sums of integers must be the nearest numbers of C's type. Reals may differ by the bound of `gemm::check`, where three more
//! roundings are those of factors and bias; behind an activation by what that makes of it.

use std::sync::LazyLock;

use gemm::form::Layout;
use gemm::{Element, Level, Shape};
use summit::{
    Activation, Along, Apart, Batch, Beside, Chooser, Emulated, Error, Handle, KERNELS, OnGpu, Plan, Product, Types,
};

/// The largest slope of an activation: GELU's is 1.129.
const SLOPE: f64 = 1.13;

/// Numbers drawn from a seed.
struct Drawn {
    state: u64,
    reals: bool,
}

impl Drawn {
    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = self.state >> 33;
        match self.reals {
            true => number as f64 / f64::from(1u32 << 30) - 1.0,
            false => f64::from((number % 7) as u32) - 3.0,
        }
    }

    /// So many elements: their bytes, and what they are then.
    fn elements(&mut self, element: Element, count: u64) -> (Vec<u8>, Vec<f64>) {
        let bytes: Vec<u8> =
            (0..count).flat_map(|_| element.nearest(self.next())[..element.bytes()].to_vec()).collect();
        let numbers = bytes.chunks(element.bytes()).map(|bytes| element.value(bytes)).collect();
        (bytes, numbers)
    }

    /// Powers of two, which round nothing, or reals.
    fn factors(&mut self, count: u32) -> (Vec<u8>, Vec<f64>) {
        let reals = self.reals;
        let mut factor = || if reals { self.next() } else { 2f64.powi(self.next() as i32 % 2) };
        let factors: Vec<f32> = (0..count).map(|_| factor() as f32).collect();
        (factors.iter().flat_map(|factor| factor.to_le_bytes()).collect(), factors.into_iter().map(f64::from).collect())
    }
}

fn activated(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::GeluTanh => {
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::Gelu => x / 2.0 * (1.0 + erf(x / 2f64.sqrt())),
        _ => x,
    }
}

/// By its series, which has nine digits up to 4: behind that it is 1 to eight.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let mut term = x;
    let mut sum = x;
    for n in 1..150 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// What a product multiplies, as bytes: A, B, what is in D before, and what lies beside.
struct Given {
    matrices: [Vec<u8>; 3],
    beside: [Option<Vec<u8>>; 4],
}

fn on_the_emulator(plan: &Plan, Given { matrices: [a, b, d], beside: [c, bias, rows, columns] }: &Given) -> Vec<u8> {
    let beside = Beside {
        c: c.as_deref(),
        bias: bias.as_deref(),
        row_factors: rows.as_deref(),
        column_factors: columns.as_deref(),
    };
    let mut d = d.clone();
    Emulated::new().run(plan, a, b, &mut d, beside).unwrap();
    d
}

/// A plan by each kernel that makes batches and epilogues, with its default tile sizes.
fn by_each_kernel(product: &Product) -> Vec<Plan> {
    let chooser = Chooser::new(90, 132);
    let kernels = KERNELS.into_iter().filter(|kernel| kernel.takes_epilogues() && kernel.takes_batches());
    let plan = |kernel: &'static Level| {
        let build = kernel.default_build(product.types.dtype()?);
        Plan::by(&chooser, product, &build).ok()
    };
    kernels.filter_map(plan).collect()
}

/// Nothing, where no GPU multiplies so.
fn on_a_gpu(plan: &Plan, Given { matrices, beside }: &Given) -> Option<Vec<u8>> {
    static HANDLE: LazyLock<Option<Handle>> = LazyLock::new(|| Handle::new().ok());
    let handle = HANDLE.as_ref().filter(|handle| handle.plan(plan.product()).is_ok())?;
    let stream = handle.context().new_stream().unwrap();
    let upload = |bytes: &Vec<u8>| stream.clone_htod(bytes).unwrap();
    let ([a, b, mut d], beside) =
        (matrices.each_ref().map(upload), beside.each_ref().map(|one| one.as_ref().map(upload)));
    let [c, bias, row_factors, column_factors] = beside.each_ref().map(|one| one.as_ref().map(|one| one as &dyn OnGpu));
    let beside = Beside { c, bias, row_factors, column_factors };
    handle.run_with::<u8, u8, u8>(&stream, plan, (&a, &b), &mut d, beside).unwrap();
    Some(stream.clone_dtoh(&d).unwrap())
}

/// Multiplies on every device, and compares all that D then holds.
fn check(product: &Product, reals: bool) {
    let Product { types, shape, form, batch, epilogue, .. } = *product;
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
    let mut drawn = Drawn { state: 0x5eed ^ u64::from(shape.m) << 20 ^ u64::from(shape.k), reals };
    let sizes = [types.a, types.b, types.c].map(|element| element.bytes() as u64);
    let [of_a, of_b, of_d] = [0, 1, 2].map(|i| product.bytes()[i] / sizes[i]);
    let ((a_bytes, a), (b_bytes, b)) = (drawn.elements(types.a, of_a), drawn.elements(types.b, of_b));
    // What is not read may be anything.
    let (d_bytes, before) = match form.beta == 0.0 || epilogue.apart.is_some() {
        true => (vec![0xff; product.bytes()[2] as usize], vec![f64::NAN; of_d as usize]),
        false => drawn.elements(types.c, of_d),
    };
    let needed = product.bytes_beside();
    let c = needed.c.map(|bytes| drawn.elements(types.c, bytes / sizes[2]));
    let bias = needed.bias.map(|bytes| drawn.elements(types.c, bytes / sizes[2]));
    let rows = needed.row_factors.map(|_| drawn.factors(shape.m));
    let columns = needed.column_factors.map(|_| drawn.factors(shape.n));
    let bytes = |one: &Option<(Vec<u8>, Vec<f64>)>| one.as_ref().map(|(bytes, _)| bytes.clone());
    let given = Given { matrices: [a_bytes, b_bytes, d_bytes], beside: [&c, &bias, &rows, &columns].map(bytes) };
    let untouched = &given.matrices[2];
    let plan = Emulated::new().plan(product).unwrap();
    assert_eq!(plan.launches(), 1, "{plan}");
    let named = by_each_kernel(product);
    let sum = plan.build().level.sum(&plan.build().configuration);
    let [relative, of_the_element, absolute] = types.dtype().unwrap().bound(sum, shape.k + 3);
    let [lda, ldb, ldd] = form.leading(&shape).map(|leading| leading as usize);
    let at = |numbers: &Option<(Vec<u8>, Vec<f64>)>, i: usize| numbers.as_ref().map(|(_, numbers)| numbers[i]);
    for found in named.iter().flat_map(|plan| [Some(on_the_emulator(plan, &given)), on_a_gpu(plan, &given)]).flatten() {
        let mut written = vec![false; of_d as usize];
        for z in 0..batch.count as usize {
            let [za, zb, zd] = batch.strides.map(|stride| z * stride as usize);
            for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
                let products = (0..k).map(|p| {
                    let x = if form.a == Layout::Rows { a[za + row * lda + p] } else { a[za + p * lda + row] };
                    let y = if form.layout == Layout::Rows { b[zb + p * ldb + col] } else { b[zb + col * ldb + p] };
                    x * y
                });
                let (ab, magnitude) =
                    products.fold((0.0, 0.0), |(sum, all), product| (sum + product, all + product.abs()));
                let factor = form.alpha * at(&rows, row).unwrap_or(1.0) * at(&columns, col).unwrap_or(1.0);
                let bias = at(&bias, if epilogue.bias == Some(Along::M) { row } else { col }).unwrap_or(0.0);
                let x = factor * ab + bias;
                let y = activated(epilogue.activation, x);
                let here = zd + row * ldd + col;
                let c = match epilogue.apart {
                    _ if form.beta == 0.0 => 0.0,
                    Some(Apart { leading, stride }) => {
                        at(&c, z * stride as usize + row * leading as usize + col).unwrap() * form.beta
                    }
                    None => before[here] * form.beta,
                };
                let expected = if epilogue.gated { y * c } else { y + c };
                let size = sizes[2] as usize;
                let got = &found[here * size..][..size];
                written[here] = true;
                let place = format!("{product}: product {z}, row {row}, column {col}");
                if !reals {
                    let nearest = types.c.nearest(expected);
                    assert_eq!(types.c.value(got), types.c.value(&nearest[..size]), "{place}");
                    continue;
                }
                let error_of_sum = relative * ((factor * magnitude).abs() + bias.abs());
                let error = match epilogue.activation {
                    Activation::None => error_of_sum,
                    // Of 16 bits, by a polynomial.
                    Activation::Gelu if size == 2 => SLOPE * error_of_sum + 2e-5 * x.abs(),
                    _ => SLOPE * error_of_sum + 2f64.powi(-20) * x.abs(),
                };
                let error = if epilogue.gated { error * c.abs() } else { error + relative * c.abs() };
                let bound = error + of_the_element * expected.abs() + absolute;
                let number = types.c.value(got);
                assert!((number - expected).abs() <= bound, "{place}: {number} and not {expected}, within {bound}");
            }
        }
        for (place, _) in written.iter().enumerate().filter(|(_, written)| !**written) {
            let range = place * sizes[2] as usize..(place + 1) * sizes[2] as usize;
            assert_eq!(found[range.clone()], untouched[range], "{product}: element {place} is not D's");
        }
    }
}

const BF16: Types = Types::of(Element::Bf16);
const F16: Types = Types::of(Element::F16);
const WIDE: Types = Types { c: Element::F32, ..BF16 };
/// Rows that tensor maps can say, whatever the layouts; and rows that none can.
const EVEN: Shape = Shape { m: 136, n: 72, k: 80 };
const ODD: Shape = Shape { m: 35, n: 21, k: 67 };

fn with_layouts(product: Product, a: bool, b: bool) -> Product {
    let product = if a { product.with_a_as_columns() } else { product };
    if b { product.with_b_as_columns() } else { product }
}

/// Matrices that follow each other, with so many elements between.
fn batch_of(product: Product, count: u32, between: u64) -> Product {
    let strides = product.form.elements(&product.shape).map(|elements| elements.next_multiple_of(8) + between);
    product.with_batch(Batch { count, strides })
}

fn apart(shape: Shape, more: u32) -> Apart {
    let leading = shape.n + more;
    Apart { leading, stride: u64::from(shape.m * leading) + u64::from(more) }
}

#[test]
fn every_layout_is_exact_in_every_type_with_and_without_c() {
    for (number, types) in [BF16, F16, WIDE].into_iter().enumerate() {
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            for beta in [0.0, -2.0] {
                // Each type meets both shapes, each layout too.
                let odd = (number + usize::from(a) + usize::from(b) + usize::from(beta != 0.0)) % 2 == 1;
                let shape = if odd { ODD } else { EVEN };
                check(&with_layouts(Product::new(types, shape), a, b).with_factors(2.0, beta), false);
            }
        }
    }
}

#[test]
fn batches_are_one_launch_in_every_layout() {
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        for (shape, between) in [(Shape { k: 24, ..EVEN }, 8), (Shape { m: 8, n: 8, k: 8 }, 3), (ODD, 1)] {
            let beta = if a { 1.0 } else { 0.0 };
            check(&batch_of(with_layouts(Product::new(BF16, shape), a, b).with_factors(1.0, beta), 3, between), false);
        }
    }
    // One B for all, and one A.
    for shared in [0, 1] {
        let mut product = batch_of(Product::new(F16, Shape { m: 24, n: 16, k: 40 }), 4, 0);
        product.batch.strides[shared] = 0;
        check(&product, false);
    }
}

#[test]
fn vectors_and_c_apart_are_exact() {
    for (number, types) in [BF16, F16, WIDE].into_iter().enumerate() {
        for (shape, more) in [(EVEN, 8), (ODD, 3), (ODD, 1)] {
            let product = Product::new(types, shape);
            check(&product.with_bias(Along::N), false);
            check(&product.with_bias(Along::M).with_vectors_of_factors(true, false), false);
            let all = product.with_b_as_columns().with_bias(Along::N).with_vectors_of_factors(number != 1, true);
            check(&all.with_factors(1.0, 1.0).with_c_apart(apart(shape, more)), false);
        }
    }
    let relu = Product::new(BF16, EVEN).with_bias(Along::N).with_activation(Activation::Relu);
    check(&relu, false);
    let gated = relu.with_factors(1.0, 2.0).with_gate();
    check(&gated, false);
    let batch = batch_of(gated.with_c_apart(apart(EVEN, 8)), 2, 8);
    check(&batch, false);
}

#[test]
fn activations_are_within_their_bounds() {
    for activation in [Activation::Silu, Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
        for types in [BF16, F16, WIDE] {
            // Sums up to 15 or so: where activations bend, and where they do not.
            let product = Product::new(types, ODD).with_factors(3.0, 0.0).with_activation(activation);
            check(&product.with_bias(Along::N), true);
        }
        let residual = Product::new(BF16, EVEN).with_b_as_columns().with_factors(1.0, 1.0).with_activation(activation);
        check(&residual.with_bias(Along::N).with_c_apart(apart(EVEN, 8)), true);
        check(&residual.with_gate().with_vectors_of_factors(true, true), true);
    }
}

#[test]
fn what_does_not_fit_is_refused_before_a_launch() {
    let product = Product::new(BF16, Shape { m: 4, n: 4, k: 4 }).with_bias(Along::N);
    let (matrix, vector) = (vec![0; 32], vec![0; 8]);
    let refused =
        |product: &Product, beside| match Emulated::new().gemm(product, &matrix, &matrix, &mut [0; 32], beside) {
            Err(Error::Misuse { message, .. }) => message,
            other => panic!("{other:?}"),
        };
    let with = |bias| Beside { bias, ..Beside::default() };
    assert_eq!(refused(&product, with(None)), "the bias: asked for, and not given");
    assert_eq!(refused(&product, with(Some(&vector[1..]))), "the bias: 7 bytes, and 4×4×4 needs 8");
    let rows = Beside { row_factors: Some(&vector[..]), ..with(Some(&vector[..])) };
    assert_eq!(refused(&product, rows), "the factors of rows: given, and not asked for");
    assert_eq!(refused(&product.with_gate(), with(Some(&vector[..]))), "C is asked for, and beta is 0");
    let close = product.with_factors(1.0, 1.0).with_c_apart(Apart { leading: 3, stride: 0 });
    assert_eq!(refused(&close, with(Some(&vector[..]))), "rows of C are 3 elements apart, and have 4");
    assert!(Emulated::new().gemm(&product, &matrix, &matrix, &mut [0; 32], with(Some(&vector[..]))).is_ok());
}

#[test]
fn what_is_asked_for_is_a_sentence() {
    let shape = Shape { m: 512, n: 384, k: 256 };
    let product = Product::new(BF16, shape).with_a_as_columns().with_b_as_columns().with_factors(1.0, 1.0);
    let product = product.with_bias(Along::N).with_activation(Activation::Gelu).with_c_apart(apart(shape, 0));
    assert_eq!(
        batch_of(product, 3, 0).to_string(),
        "3 times 512×384×256, C = A·B + C, A stored K×M, B stored N×K, a bias for each column, GELU before C, \
         C apart from D, in bf16"
    );
}
