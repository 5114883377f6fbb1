//! What candle's own tests of its products ask for (`candle-core/tests/matmul_tests.rs`), asked of the library: exact values, batches,
//! transposed and repeated matrices, empty ones, and what is refused. On the emulator, and on a GPU where candle is built for one.

use candle_core::{DType, Device, IndexOp, Result, Tensor};
use summit_candle::Products;
use summit_candle::decoder::Random;

const TYPES: [DType; 4] = [DType::F64, DType::F32, DType::BF16, DType::F16];

/// The CPU, and a GPU where there is one.
fn devices() -> Vec<Device> {
    let mut devices = vec![Device::Cpu];
    if cfg!(feature = "cuda") {
        match Device::new_cuda(0) {
            Ok(device) => devices.push(device),
            Err(error) => {
                eprintln!("skipped: no CUDA device ({})", error.to_string().lines().next().unwrap_or_default())
            }
        }
    }
    devices
}

fn on_each_device(test: impl Fn(&Device, &Products) -> Result<()>) {
    for device in devices() {
        let products = Products::on(&device).unwrap();
        test(&device, &products).unwrap_or_else(|error| panic!("on {device:?}: {error}"));
    }
}

/// Whole numbers from −4 to 4, of which all types here hold the sums of a few.
fn whole(sizes: &[usize], seed: u64, device: &Device) -> Result<Tensor> {
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..sizes.iter().product()).map(|_| (random.bits() % 9) as f64 - 4.0).collect();
    Tensor::from_vec(numbers, sizes, &Device::Cpu)?.to_device(device)
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// Multiplied one by one, as the tensors' elements are indexed.
fn expected(a: &Tensor, b: &Tensor) -> Result<Vec<f64>> {
    let ([m, k], n) = (*a.dims().last_chunk().unwrap(), b.dim(b.rank() - 1)?);
    let (a, b) = (numbers(&a.contiguous()?)?, numbers(&b.contiguous()?)?);
    let sum = |batch: usize, row: usize, column: usize| -> f64 {
        (0..k).map(|i| a[(batch * m + row) * k + i] * b[(batch * k + i) * n + column]).sum()
    };
    let places = (0..a.len() / (m * k)).flat_map(|batch| (0..m * n).map(move |at| (batch, at / n, at % n)));
    Ok(places.map(|(batch, row, column)| sum(batch, row, column)).collect())
}

fn is_exact(products: &Products, a: &Tensor, b: &Tensor) -> Result<()> {
    let c = products.matmul(a, b)?;
    assert_eq!(c.dims(), [&a.dims()[..a.rank() - 1], &b.dims()[b.rank() - 1..]].concat());
    assert!(c.dtype() == a.dtype() && c.is_contiguous());
    let what = format!("{:?} {:?} times {:?}", a.dtype(), a.layout(), b.layout());
    assert_eq!(numbers(&c)?, expected(a, b)?, "{what}");
    Ok(())
}

#[test]
fn known_values_come_out() {
    on_each_device(|device, products| {
        let count = |from: usize, sizes: (usize, usize, usize)| {
            let all: Vec<f32> = (0..sizes.0 * sizes.1 * sizes.2).map(|i| (i + from) as f32).collect();
            Tensor::from_vec(all, sizes, device)
        };
        let square = Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], device)?;
        assert_eq!(products.matmul(&square, &square)?.to_vec2::<f32>()?, [[7.0, 10.0], [15.0, 22.0]]);
        let (column, row) = (Tensor::new(&[[1.0f32], [2.0]], device)?, Tensor::new(&[[3.0f32, 4.0]], device)?);
        assert_eq!(products.matmul(&column, &row)?.to_vec2::<f32>()?, [[3.0, 4.0], [6.0, 8.0]]);
        let (a, b) = (count(0, (2, 2, 3))?, count(2, (2, 3, 2))?);
        let c = [[[16.0, 19.0], [52.0, 64.0]], [[214.0, 235.0], [304.0, 334.0]]];
        assert_eq!(products.matmul(&a, &b)?.to_vec3::<f32>()?, c);
        // The same matrices, stored column by column.
        let [a_t, b_t] = [&a, &b].map(|matrix| matrix.t()?.contiguous()?.t());
        let (a_t, b_t) = (a_t?, b_t?);
        assert_eq!((a_t.stride(), b_t.stride()), (&[6, 1, 2][..], &[6, 1, 3][..]));
        for (a, b) in [(&a_t, &b), (&a, &b_t), (&a_t, &b_t)] {
            assert_eq!(products.matmul(a, b)?.to_vec3::<f32>()?, c);
        }
        Ok(())
    });
}

#[test]
fn every_type_and_layout_is_exact() {
    on_each_device(|device, products| {
        for dtype in TYPES {
            for (batch, [m, n, k]) in
                [(&[][..], [5, 7, 9]), (&[3], [16, 8, 24]), (&[2, 3], [1, 10, 6]), (&[2, 1], [9, 1, 3])]
            {
                let sizes = |rows: usize, columns: usize| [batch, &[rows, columns]].concat();
                let of = |sizes: Vec<usize>, seed| whole(&sizes, seed, device)?.to_dtype(dtype);
                let (a, b) = (of(sizes(m, k), 1)?, of(sizes(k, n), 2)?);
                let (a_t, b_t) = (of(sizes(k, m), 3)?.t()?, of(sizes(n, k), 4)?.t()?);
                for a in [&a, &a_t] {
                    for b in [&b, &b_t] {
                        is_exact(products, a, b)?;
                    }
                }
            }
        }
        Ok(())
    });
}

/// Rows that lie apart, matrices that begin behind others, batches in the order of heads: as attention and its cache have them.
#[test]
fn parts_of_larger_tensors_are_exact() {
    on_each_device(|device, products| {
        for dtype in TYPES {
            let of = |sizes: &[usize], seed| whole(sizes, seed, device)?.to_dtype(dtype);
            let (a, b) = (of(&[2, 3, 20, 16], 5)?, of(&[2, 3, 30, 16], 6)?);
            is_exact(products, &a.narrow(2, 3, 8)?, &b.narrow(2, 0, 11)?.t()?)?;
            is_exact(products, &a.narrow(3, 1, 9)?, &b.narrow(2, 4, 9)?.narrow(3, 2, 5)?)?;
            // Batch × rows × heads × columns, seen as batch × heads × rows × columns: no one stride covers both.
            is_exact(products, &of(&[2, 5, 3, 16], 7)?.transpose(1, 2)?, &b.narrow(2, 9, 16)?)?;
            // One row of many.
            is_exact(products, &of(&[1, 8, 16], 8)?.i((.., 7, ..))?, &of(&[32, 16], 9)?.t()?)?;
        }
        Ok(())
    });
}

#[test]
fn repeated_matrices_are_those_that_they_repeat() {
    on_each_device(|device, products| {
        for dtype in TYPES {
            let of = |sizes: &[usize], seed| whole(sizes, seed, device)?.to_dtype(dtype);
            let (a, b) = (of(&[3, 1, 4, 5], 1)?, of(&[6, 5, 2], 2)?);
            let c = products.broadcast_matmul(&a, &b)?;
            assert_eq!(c.dims(), [3, 6, 4, 2]);
            for (i, j) in (0..3).flat_map(|i| (0..6).map(move |j| (i, j))) {
                assert_eq!(numbers(&c.i((i, j))?)?, expected(&a.i((i, 0))?, &b.i(j)?)?);
            }
            for (batch, [m, n, k]) in [(32, [8, 8, 8]), (3, [1, 2, 5]), (4, [2, 3, 1]), (2, [5, 1, 3])] {
                is_exact(products, &of(&[1, m, k], 3)?.broadcast_as((batch, m, k))?, &of(&[batch, k, n], 4)?)?;
            }
            let b = of(&[5, 2], 5)?;
            for a in
                [of(&[3, 4, 5], 6)?, of(&[3, 6, 4, 5], 7)?, of(&[1, 1, 5], 8)?, of(&[3, 5, 4], 9)?.transpose(1, 2)?]
            {
                let c = products.broadcast_matmul(&a, &b)?;
                let all = b.broadcast_as([&a.dims()[..a.rank() - 2], &[5, 2]].concat())?;
                assert_eq!(numbers(&c)?, expected(&a, &all)?);
            }
        }
        Ok(())
    });
}

#[test]
fn nothing_times_something_is_zeros() {
    on_each_device(|device, products| {
        let zeros = |sizes: &[usize]| Tensor::zeros(sizes, DType::F32, device);
        let c = products.matmul(&zeros(&[2, 0])?, &zeros(&[0, 3])?)?;
        assert_eq!(c.to_vec2::<f32>()?, [[0.0; 3]; 2]);
        assert_eq!(products.matmul(&zeros(&[2, 0, 3])?, &zeros(&[2, 3, 0])?)?.dims(), [2, 0, 0]);
        Ok(())
    });
}

#[test]
fn what_no_kernel_multiplies_is_an_error() {
    on_each_device(|device, products| {
        let zeros = |sizes: &[usize], dtype| Tensor::zeros(sizes, dtype, device);
        let refused = |a: &Tensor, b: &Tensor, begin: &str| {
            let error = products.matmul(a, b).unwrap_err().to_string();
            assert!(error.starts_with(begin) && error.contains("\nhint: "), "{error}");
        };
        let f32 = |sizes: &[usize]| zeros(sizes, DType::F32);
        refused(&f32(&[2, 3])?, &f32(&[4, 0])?, "[2, 3] times [4, 0] is no product");
        refused(&f32(&[2, 2, 3])?, &f32(&[1, 3, 4])?, "[2, 2, 3] times [1, 3, 4] is no product");
        refused(&f32(&[3])?, &f32(&[3])?, "[3] times [3] is no product");
        refused(&f32(&[2, 3])?, &zeros(&[3, 4], DType::F16)?, "A is F32 on ");
        refused(&zeros(&[2, 3], DType::U32)?, &zeros(&[3, 4], DType::U32)?, "no kernel multiplies U32");
        let one_row_for_all = f32(&[1, 3])?.broadcast_as((2, 3))?;
        refused(&one_row_for_all, &f32(&[3, 4])?, "A is [2, 3] with strides [0, 1]: ");
        if !device.is_cpu() {
            refused(&Tensor::zeros((2, 3), DType::F32, &Device::Cpu)?, &f32(&[3, 4])?, "A is F32 on Cpu");
        }
        Ok(())
    });
}
