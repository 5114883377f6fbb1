//! Matrices of more than 2³¹ elements: offsets that no `int` holds, on the emulator by rows that lie far apart in memory that is
//! taken only where it is accessed, and on a GPU by a whole C; and what is refused before a launch.

use gemm::form::{Form, Specialization};
use gemm::{Build, Element, Level, Shape};
use summit::{Chooser, Error, Handle, KERNELS, Plan, Product, Types};

/// A few rows, so far apart that the third begins behind element 2³¹, and that two rows are more than an `int` holds.
const SHAPE: Shape = Shape { m: 4, n: 6, k: 7 };
/// Elements between beginnings of rows: a tensor map can say the first, and no map the second.
const APART: [usize; 2] = [1_150_000_000, 1_150_000_001];
/// The largest side.
const MOST: u32 = i32::MAX as u32;

/// A whole number of a matrix, from −3 to 3.
fn number(matrix: usize, row: usize, col: usize) -> f64 {
    ((row * 31 + col * 17 + matrix * 11) * 7919 % 7) as f64 - 3.0
}

/// Multiplies with rows so far apart, and compares each element of C.
fn check(build: &Build, form: &Form) {
    let plan = build.plan_in(SHAPE, *form).unwrap();
    let kernel = gemm::kernel::Kernel::obtain(build, 90, device::nvrtc::find).unwrap();
    let task = plan.task(&kernel);
    let program = emulator::Module::parse(&kernel.ptx).unwrap().kernel(&kernel.entry).unwrap();
    let dtype = build.configuration.dtype;
    let elements = [dtype.input, dtype.input, dtype.output];
    let (stored, leading) = (form.stored(&SHAPE), form.leading(&SHAPE).map(|leading| leading as usize));
    let mut device = emulator::Device::new();
    let buffers = [0, 1, 2].map(|i| {
        let (element, size) = (elements[i], elements[i].bytes());
        let (rows, cols) = (stored[i].0 as usize, stored[i].1 as usize);
        let buffer = device.alloc_sparse(["A", "B", "C"][i], ((rows - 1) * leading[i] + cols) * size);
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let bytes = element.nearest(number(i, row, col));
            device.write_at(buffer, (row * leading[i] + col) * size, &bytes[..size]).unwrap();
        }
        buffer
    });
    let places = buffers.map(|buffer| (buffer, 0));
    let arguments = gemm::emulated::arguments(&task.operands, &mut device, places).unwrap();
    let how = emulator::Launch::new(task.launch.grid, task.launch.block).dynamic_shared(task.dynamic_shared);
    device.launch(&program, how, &arguments.values).unwrap_or_else(|error| panic!("{build}, {form}: {error}"));
    arguments.finish(&mut device, places[2]).unwrap();
    for (row, col) in (0..SHAPE.m as usize).flat_map(|row| (0..SHAPE.n as usize).map(move |col| (row, col))) {
        let a = |k: usize| if form.a.is_rows() { number(0, row, k) } else { number(0, k, row) };
        let b = |k: usize| if form.layout.is_rows() { number(1, k, col) } else { number(1, col, k) };
        let sum: f64 = (0..SHAPE.k as usize).map(|k| a(k) * b(k)).sum();
        let expected = form.alpha * sum + form.beta * number(2, row, col);
        let mut bytes = [0; 8];
        let size = dtype.output.bytes();
        device.read_at(buffers[2], (row * leading[2] + col) * size, &mut bytes[..size]).unwrap();
        let found = dtype.output.value(&bytes[..size]);
        assert_eq!(found, expected, "{build}, {form}: row {row}, column {col}");
    }
}

fn wide() -> impl Iterator<Item = &'static Level> {
    KERNELS.into_iter().filter(|kernel| kernel.needs.wide_offsets)
}

#[test]
fn offsets_beyond_32_bits_are_right_in_every_form() {
    for kernel in wide().filter(|kernel| kernel.takes_any_form()) {
        // Types differ by their bytes; bf16 stands for f16.
        for dtype in kernel.dtypes().filter(|dtype| dtype.input != Element::F16) {
            let build = kernel.default_build(dtype);
            for specialization in Specialization::all(kernel.layouts_of_a()) {
                let form = Form {
                    a: specialization.a,
                    layout: specialization.layout,
                    beta: if specialization.added { -1.0 } else { 0.0 },
                    ..Form::PLAIN
                };
                for apart in APART {
                    let form = form.with_leading(&SHAPE, [apart; 3]).unwrap();
                    check(&build.clone().in_form(&form).unwrap(), &form);
                }
            }
        }
    }
}

/// Every shipped build at the ends of what a size may be: predicted, or not, and counted, but no arithmetic overflows.
#[test]
fn no_size_is_too_large_to_predict() {
    let gpu = &emulator::gpu::H200;
    let sizes = [1, MOST - 1, MOST, u32::MAX];
    let shapes =
        || sizes.into_iter().flat_map(|m| sizes.map(|n| (m, n))).flat_map(|(m, n)| sizes.map(|k| Shape { m, n, k }));
    for build in KERNELS.into_iter().flat_map(|kernel| kernel.shipped_builds()) {
        for shape in shapes() {
            let predicted = predict::predicted(gpu, &build, &shape);
            assert!(
                predicted.is_none_or(|it| it.microseconds.is_finite() && it.microseconds > 0.0),
                "{build}: {shape}"
            );
            assert!(build.parts(&shape) >= 1);
        }
    }
}

fn plan(element: Element, [m, n, k]: [u32; 3]) -> Result<Plan, Error> {
    let product = Product::new(Types::of(element), Shape { m, n, k }).with_b_as_columns();
    Plan::of(&Chooser::new(90, 132), &product)
}

#[test]
fn sides_up_to_2_to_the_31_are_taken_by_kernels_that_reach_so_far() {
    for element in [Element::Bf16, Element::F16, Element::E4m3] {
        for shape in [[65_536, 65_536, 4096], [MOST, 8, 16], [8, MOST, 16], [16, 8, 1 << 22], [1 << 20, 4096, 1 << 20]]
        {
            let plan = plan(element, shape).unwrap();
            assert!(plan.build().level.needs.wide_offsets, "{plan}");
        }
    }
}

#[test]
fn what_is_too_large_is_refused_before_a_launch_and_says_so() {
    let refused = |element, shape| match plan(element, shape) {
        Err(Error::Unsupported { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    for (element, shape, said) in [
        (Element::Bf16, [MOST + 1, 8, 16], "m is 2147483648"),
        (Element::F16, [8, u32::MAX, 16], "n is 4294967295"),
        (Element::F32, [65_536, 65_536, 64], "C has 4294967296 elements in whole tiles"),
        (Element::F64, [8, 1 << 20, 4096], "B has 4294967296 elements in whole tiles"),
    ] {
        let message = refused(element, shape);
        assert!(message.contains(said), "{message}");
    }
}

/// The columns of A that are not 0 in a row: so few that every element of C is exact in 16 bits.
const FILLED: usize = 64;

/// All of C, by a product with a vector, and a few rows by themselves.
#[test]
fn a_c_of_2_to_the_32_elements_is_right_on_a_gpu() {
    let handle = match Handle::new() {
        Ok(handle) => handle,
        Err(error) => return level_tests::skipped(&error.to_string()),
    };
    let (side, k) = (65_536, 4096);
    let room = 2 * (side * side + 2 * side * k);
    if handle.context().mem_get_info().unwrap().0 < room + (1 << 30) || handle.plan(&product(side, side, k)).is_err() {
        return level_tests::skipped("a GPU of sm_90 with 11 GB of free memory");
    }
    let one = |sign: bool| if sign { 0x3f80_u16 } else { 0xbf80 }; // 1 or −1 in bf16
    let hash = |i: usize, seed: usize| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let value = |bits: u16| match bits {
        0 => 0,
        0x3f80 => 1,
        _ => -1_i64,
    };
    let mut a = vec![0; side * k];
    for (row, of_row) in a.chunks_mut(k).enumerate() {
        (0..FILLED).for_each(|i| of_row[hash(row * FILLED + i, 1) % k] = one(hash(row * FILLED + i, 2) % 2 == 0));
    }
    let b: Vec<u16> = (0..side * k).map(|i| one(hash(i, 3) % 2 == 0)).collect();
    let x: Vec<u16> = (0..side).map(|i| one(hash(i, 4) % 2 == 0)).collect();
    let stream = handle.context().new_stream().unwrap();
    let [on_a, on_b, on_x] = [&a, &b, &x].map(|numbers| stream.clone_htod(numbers).unwrap());
    let mut c = stream.alloc_zeros::<u16>(side * side).unwrap();
    handle.gemm(&stream, &product(side, side, k), &on_a, &on_b, &mut c).unwrap();
    for row in [0, 1, 32_767, 32_768, 32_769, 49_151, 65_534, 65_535] {
        let found = stream.clone_dtoh(&c.slice(row * side..(row + 1) * side)).unwrap();
        let filled: Vec<usize> = (0..k).filter(|&p| a[row * k + p] != 0).collect();
        for col in 0..side {
            let sum: i64 = filled.iter().map(|&p| value(a[row * k + p]) * value(b[col * k + p])).sum();
            assert_eq!(f64::from(f32::from_bits(u32::from(found[col]) << 16)), sum as f64, "row {row}, column {col}");
        }
    }
    // C·x = A·(B·x): C is now the matrix that is read.
    let types = Types { c: Element::F32, ..Types::of(Element::Bf16) };
    let shape = Shape { m: side as u32, n: 1, k: side as u32 };
    let by_x = Product::new(types, shape).with_b_as_columns();
    let mut y = stream.alloc_zeros::<f32>(side).unwrap();
    handle.gemm(&stream, &by_x, &c, &on_x, &mut y).unwrap();
    let mut bx = vec![0_i64; k];
    for (col, of_col) in b.chunks(k).enumerate() {
        bx.iter_mut().zip(of_col).for_each(|(sum, &number)| *sum += value(number) * value(x[col]));
    }
    for (row, found) in stream.clone_dtoh(&y).unwrap().into_iter().enumerate() {
        let sum: i64 = a[row * k..][..k].iter().zip(&bx).map(|(&number, bx)| value(number) * bx).sum();
        assert_eq!(f64::from(found), sum as f64, "row {row} of C·x");
    }
    eprintln!("{} and {}", handle.plan(&product(side, side, k)).unwrap(), handle.plan(&by_x).unwrap());
}

fn product(m: usize, n: usize, k: usize) -> Product {
    Product::new(Types::of(Element::Bf16), Shape { m: m as u32, n: n as u32, k: k as u32 }).with_b_as_columns()
}
