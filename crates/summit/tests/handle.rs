//! The handle on a GPU: every form, both types, several streams and threads at once, batches; and no memory allocated by a call.

use cudarc::driver::{CudaSlice, DeviceRepr};
use gemm::form::{Form, Layout};
use gemm::{Element, Shape};
use summit::{Batch, Error, Handle, Product, Types};

/// A handle, if there is a GPU.
fn handle() -> Option<Handle> {
    match Handle::new() {
        Ok(handle) => Some(handle),
        Err(error) => {
            level_tests::skipped(&error.to_string());
            None
        }
    }
}

/// Small integers: their products and sums are exact.
fn integers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 17) as f64 - 8.0).collect()
}

/// A product in a form.
fn wanted(element: Element, shape: Shape, form: &Form) -> Product {
    let mut product = Product::new(Types::of(element), shape);
    product.form = *form;
    product
}

fn product(shape: &Shape, form: &Form, a: &[f64], b: &[f64], c: &[f64]) -> Vec<f64> {
    let [lda, ldb, ldc] = form.leading(shape).map(|leading| leading as usize);
    let mut out = c.to_vec();
    for row in 0..shape.m as usize {
        for column in 0..shape.n as usize {
            let at = |k: usize| match form.layout {
                Layout::Rows => b[k * ldb + column],
                Layout::Columns => b[column * ldb + k],
            };
            let sum: f64 = (0..shape.k as usize).map(|k| a[row * lda + k] * at(k)).sum();
            let old = if form.beta == 0.0 { 0.0 } else { form.beta * c[row * ldc + column] };
            out[row * ldc + column] = form.alpha * sum + old;
        }
    }
    out
}

fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for layout in [Layout::Rows, Layout::Columns] {
        for beta in [0.0, -2.0] {
            forms.extend([[0; 3], [4, 8, 4], [1, 2, 3]].map(|padding| Form {
                alpha: 3.0,
                beta,
                layout,
                padding,
                ..Form::PLAIN
            }));
        }
    }
    forms
}

fn every_form_is_exact<T: gemm::matrix::Scalar + DeviceRepr + Default>(
    handle: &Handle,
    from: fn(f64) -> T,
    to: fn(T) -> f64,
) {
    let stream = handle.context().new_stream().unwrap();
    for (m, n, k) in [(1, 1, 1), (128, 128, 128), (100, 70, 333), (513, 260, 40)] {
        let shape = Shape { m, n, k };
        for form in forms() {
            let [a, b, c] = form.elements(&shape).map(|elements| elements as usize);
            let [a, b, c] = [integers(a, 1), integers(b, 2), integers(c, 3)];
            // At the beginning of memory, and one element behind: then no row begins at a multiple of 16 bytes.
            for before in [0, 1] {
                let upload = |numbers: &[f64]| -> CudaSlice<T> {
                    let numbers = std::iter::repeat_n(&0.0, before).chain(numbers);
                    stream.clone_htod(&numbers.map(|&x| from(x)).collect::<Vec<T>>()).unwrap()
                };
                let (on_a, on_b, mut on_c) = (upload(&a), upload(&b), upload(&c));
                let (from_a, from_b) = (on_a.slice(before..), on_b.slice(before..));
                let product = wanted(T::ELEMENT, shape, &form);
                handle.gemm(&stream, &product, &from_a, &from_b, &mut on_c.slice_mut(before..)).unwrap();
                let found: Vec<f64> = stream.clone_dtoh(&on_c).unwrap().into_iter().skip(before).map(to).collect();
                let expected = self::product(&shape, &form, &a, &b, &c);
                assert!(found == expected, "{shape}, {form}, {before} before");
            }
        }
    }
}

#[test]
fn every_form_is_exact_in_both_types() {
    let Some(handle) = handle() else { return };
    every_form_is_exact::<f32>(&handle, |x| x as f32, f64::from);
    every_form_is_exact::<f64>(&handle, |x| x, |x| x);
}

#[test]
fn a_batch_is_many_products() {
    let Some(handle) = handle() else { return };
    let stream = handle.context().default_stream();
    let (shape, form) = (Shape { m: 30, n: 50, k: 70 }, Form { layout: Layout::Columns, ..Form::PLAIN });
    let batch = Batch { count: 5, strides: [2100, 0, 1600] };
    let (a, b) = (integers(5 * 2100, 1), integers(3500, 2));
    let narrow = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (on_a, on_b) = (stream.clone_htod(&narrow(&a)).unwrap(), stream.clone_htod(&narrow(&b)).unwrap());
    let mut on_c = stream.alloc_zeros::<f32>(5 * 1600).unwrap();
    handle.gemm(&stream, &wanted(Element::F32, shape, &form).with_batch(batch), &on_a, &on_b, &mut on_c).unwrap();
    let found = stream.clone_dtoh(&on_c).unwrap();
    for number in 0..5 {
        let expected = product(&shape, &form, &a[number * 2100..], &b, &[0.0; 1500]);
        assert_eq!(found[number * 1600..][..1500], narrow(&expected), "product {number}");
        assert!(found[number * 1600 + 1500..(number + 1) * 1600].iter().all(|&between| between == 0.0));
    }
}

#[test]
fn matrices_of_the_host_are_copied_there_and_back() {
    let Some(handle) = handle() else { return };
    let shape = Shape { m: 130, n: 70, k: 50 };
    let (a, b) = (integers(130 * 50, 1), integers(50 * 70, 2));
    let expected = product(&shape, &Form::PLAIN, &a, &b, &[0.0; 130 * 70]);
    assert_eq!(handle.multiply(shape, &a, &b).unwrap(), expected);
    let error = handle.multiply(shape, &a, &b[1..]).unwrap_err().to_string();
    assert!(error.starts_with("B has 3499 elements, and 50 x 70 are 3500"), "{error}");
}

/// Kernels that gather parts of sums in global memory must not meet on it: two streams, two threads, many launches.
#[test]
fn streams_and_threads_do_not_disturb_each_other() {
    let Some(handle) = handle() else { return };
    // Stream-K shares the last round's tiles; split-K, K.
    let shapes = [Shape { m: 1500, n: 1300, k: 512 }, Shape { m: 128, n: 128, k: 8192 }];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (handle, shape) = (&handle, shapes[thread % 2]);
            scope.spawn(move || {
                let stream = handle.context().new_stream().unwrap();
                let [a, b, c] = Form::PLAIN.elements(&shape).map(|elements| elements as usize);
                let narrow = |numbers: Vec<f64>| numbers.iter().map(|&x| x as f32).collect::<Vec<f32>>();
                let a = stream.clone_htod(&narrow(integers(a, thread))).unwrap();
                let b = stream.clone_htod(&narrow(integers(b, thread + 9))).unwrap();
                let mut first = None;
                for _ in 0..40 {
                    let mut on_c = stream.alloc_zeros::<f32>(c).unwrap();
                    handle.gemm(&stream, &wanted(Element::F32, shape, &Form::PLAIN), &a, &b, &mut on_c).unwrap();
                    let found = stream.clone_dtoh(&on_c).unwrap();
                    let first = first.get_or_insert_with(|| found.clone());
                    assert!(*first == found, "{shape}: another product than the first time");
                }
            });
        }
    });
}

/// 16-bit elements come as what they are stored in; of a sum of small integers none is rounded.
#[test]
fn sixteen_bits_are_multiplied_from_slices_of_any_type_and_from_addresses() {
    let Some(handle) = handle() else { return };
    let stream = handle.context().new_stream().unwrap();
    let shape = Shape { m: 130, n: 72, k: 40 };
    for element in [Element::Bf16, Element::F16] {
        let form = Form { layout: Layout::Columns, ..Form::PLAIN };
        let wanted = wanted(element, shape, &form);
        if let Err(error) = handle.plan(&wanted) {
            return level_tests::skipped(&error.to_string());
        }
        let stored = |numbers: &[f64]| -> Vec<u8> {
            numbers.iter().flat_map(|&number| element.nearest(number)[..2].to_vec()).collect()
        };
        let (a, b) = (integers(130 * 40, 1), integers(72 * 40, 2));
        let narrow = |number: &f64| number % 4.0;
        let (a, b): (Vec<f64>, Vec<f64>) = (a.iter().map(narrow).collect(), b.iter().map(narrow).collect());
        let expected = stored(&product(&shape, &form, &a, &b, &[0.0; 130 * 72]));
        let (on_a, on_b) = (stream.clone_htod(&stored(&a)).unwrap(), stream.clone_htod(&stored(&b)).unwrap());
        let mut on_c = stream.alloc_zeros::<u16>(130 * 72).unwrap();
        handle.gemm(&stream, &wanted, &on_a, &on_b, &mut on_c).unwrap();
        let bytes: Vec<u8> = stream.clone_dtoh(&on_c).unwrap().into_iter().flat_map(u16::to_le_bytes).collect();
        assert!(bytes == expected, "{element:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_in_a_line() {
    let Some(handle) = handle() else { return };
    let stream = handle.context().new_stream().unwrap();
    let small = stream.alloc_zeros::<f32>(10).unwrap();
    let mut c = stream.alloc_zeros::<f32>(16).unwrap();
    let product = wanted(Element::F32, Shape { m: 4, n: 4, k: 4 }, &Form::PLAIN);
    let error = handle.gemm(&stream, &product, &small, &small, &mut c).unwrap_err();
    assert!(matches!(error, Error::Misuse { .. }));
    assert!(error.to_string().starts_with("A has 40 bytes, and 4×4×4 needs 64\nhint: "), "{error}");
}

/// Parts of sums are added in one place for each stream: two threads that share it by an address get two.
#[test]
fn the_stream_of_each_thread_is_one_for_each() {
    let Some(handle) = handle() else { return };
    let stream = handle.context().per_thread_stream();
    // Splits K.
    let shape = Shape { m: 64, n: 64, k: 16384 };
    let product = wanted(Element::F32, shape, &Form::PLAIN);
    std::thread::scope(|scope| {
        for seed in 1..5 {
            let (handle, stream, product) = (&handle, &stream, &product);
            scope.spawn(move || {
                handle.context().bind_to_thread().unwrap();
                let (a, b) = (vec![seed as f32; 64 * 16384], vec![1.0f32; 64 * 16384]);
                let (a, b) = (stream.clone_htod(&a).unwrap(), stream.clone_htod(&b).unwrap());
                for _ in 0..20 {
                    let c = handle.gemm_new::<f32, f32, f32>(stream, product, &a, &b).unwrap();
                    let c = stream.clone_dtoh(&c).unwrap();
                    assert!(c.iter().all(|element| *element == seed as f32 * 16384.0), "thread {seed}");
                }
            });
        }
    });
}

/// At every call, and for streams and slices alike.
#[test]
fn another_context_is_refused() {
    let Some(handle) = handle() else { return };
    let Ok(other) = cudarc::driver::CudaContext::new(1) else {
        return level_tests::skipped("one GPU alone: there is no other context");
    };
    let (stream, theirs) = (handle.context().default_stream(), other.default_stream());
    let (a, strange) = (stream.alloc_zeros::<f32>(16).unwrap(), theirs.alloc_zeros::<f32>(16).unwrap());
    let mut c = stream.alloc_zeros::<f32>(16).unwrap();
    let product = wanted(Element::F32, Shape { m: 4, n: 4, k: 4 }, &Form::PLAIN);
    for _ in 0..2 {
        handle.gemm(&stream, &product, &a, &a, &mut c).unwrap();
        let error = handle.gemm(&theirs, &product, &a, &a, &mut c).unwrap_err().to_string();
        assert!(error.starts_with("the stream is of another context, on GPU 1: the handle's is GPU 0"), "{error}");
        let error = handle.gemm(&stream, &product, &a, &strange, &mut c).unwrap_err().to_string();
        assert!(error.starts_with("B is of another context"), "{error}");
    }
    let there = Handle::on(&other).unwrap();
    let mut c = theirs.alloc_zeros::<f32>(16).unwrap();
    there.gemm(&theirs, &product, &strange, &strange, &mut c).unwrap();
}
