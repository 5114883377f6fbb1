//! A layer of a network, gelu(x·Wᵀ + bias) in bf16, on a GPU of sm_90 if one answers, else by the same kernel on the emulator.
//!
//! ```sh
//! cargo run -p summit --example layer
//! ```

use std::error::Error;

use gemm::{Element, Shape};
use summit::{Activation, Along, Beside, Emulated, Handle, OnGpu, Product, Types};

fn main() -> Result<(), Box<dyn Error>> {
    // ANCHOR: layer
    // 64 rows of x; W as frameworks store it, a row of 256 numbers for each of 128 outputs.
    let shape = Shape { m: 64, n: 128, k: 256 };
    let product = Product::new(Types::of(Element::Bf16), shape)
        .with_b_as_columns()
        .with_bias(Along::N)
        .with_activation(Activation::Gelu);
    // ANCHOR_END: layer

    let (x, w, bias) = (numbers(64 * 256, 3), numbers(128 * 256, 5), numbers(128, 7));
    let mut y = vec![0u8; 64 * 128 * 2];
    match Handle::new() {
        Ok(handle) => on_a_gpu(&handle, &product, [&x, &w, &bias], &mut y)?,
        Err(why) => {
            eprintln!("note: {}", why.to_string().lines().next().unwrap_or_default());
            // ANCHOR: emulated
            let emulated = Emulated::new();
            println!("{}", emulated.plan(&product)?);
            emulated.gemm(&product, &x, &w, &mut y, Beside { bias: Some(&bias), ..Beside::default() })?;
            // ANCHOR_END: emulated
        }
    }
    println!("the last element of y is {}", Element::Bf16.value(&y[y.len() - 2..]));
    Ok(())
}

fn on_a_gpu(handle: &Handle, product: &Product, [x, w, bias]: [&[u8]; 3], y: &mut [u8]) -> Result<(), Box<dyn Error>> {
    // ANCHOR: gpu
    let stream = handle.context().new_stream()?;
    let (x, w, bias) = (stream.clone_htod(x)?, stream.clone_htod(w)?, stream.clone_htod(bias)?);
    let mut on_gpu = stream.alloc_zeros::<u8>(y.len())?;
    println!("{}", handle.plan(product)?);
    let bias: &dyn OnGpu = &bias;
    handle.gemm_with(&stream, product, (&x, &w), &mut on_gpu, Beside { bias: Some(bias), ..Beside::default() })?;
    stream.memcpy_dtoh(&on_gpu, y)?;
    // ANCHOR_END: gpu
    Ok(stream.synchronize()?)
}

/// Sixteenths from -1 to 1 that look random, in bf16.
fn numbers(count: usize, factor: usize) -> Vec<u8> {
    let number = |i: usize| ((i * i * factor + i) % 33) as f64 / 16.0 - 1.0;
    (0..count).flat_map(|i| Element::Bf16.nearest(number(i))[..2].to_vec()).collect()
}
