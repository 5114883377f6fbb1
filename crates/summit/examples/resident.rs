//! The library from outside: matrices that stay on the GPU, a stream of the caller's, B stored N × K as the weights of a
//! layer are, and what a call costs the host, beside cuBLAS where it is found.
//!
//! ```sh
//! cargo run --release -p summit --example resident
//! ```

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaSlice, CudaStream};
use device::vendor::Vendor;
use gemm::form::{Form, Layout};
use gemm::{Element, Shape};
use summit::{Handle, Product, Types};

/// Calls that are timed, submitted one after the other; so few that the GPU's queue has room for them all.
const CALLS: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let handle = match Handle::new() {
        Ok(handle) => handle,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    };
    println!("{}, B stored N x K, f32", handle.gpu().name());
    println!("{:>5}  {:>9}  {:>12}  {:>12}  {:>12}  kernel", "n", "who", "error", "host, µs", "GPU, µs");
    for n in [128, 1024, 4096] {
        beside(&handle, n)?;
    }
    Ok(())
}

/// y = x · Wᵀ by the summit and by cuBLAS.
fn beside(handle: &Handle, n: u32) -> Result<(), Box<dyn Error>> {
    let stream = handle.context().new_stream()?;
    let shape = Shape { m: n, n, k: n };
    let product = Product::new(Types::of(Element::F32), shape).with_b_as_columns();
    let form = Form { layout: Layout::Columns, ..Form::PLAIN };
    let (size, length) = (n as usize, (n * n) as usize);
    let (host_x, host_w) = (numbers(length, 1), numbers(length, 2));
    let (x, w) = (stream.clone_htod(&host_x)?, stream.clone_htod(&host_w)?);
    let mut y = stream.alloc_zeros::<f32>(length)?;

    let plan = handle.plan(&product)?;
    handle.gemm(&stream, &product, &x, &w, &mut y)?;
    let error = worst(&stream.clone_dtoh(&y)?, &host_x, &host_w, size);
    let free = cudarc::driver::result::mem_get_info()?.0;
    let times = time(&stream, &mut y, |y| Ok(handle.gemm(&stream, &product, &x, &w, y)?))?;
    if cudarc::driver::result::mem_get_info()?.0 != free {
        return Err("calls on resident matrices have allocated memory of the GPU".into());
    }
    show(n, "summit", error, times, &plan.build().to_string());

    match Vendor::on(handle.gpu(), &stream) {
        Err(why) => eprintln!("note: {why}"),
        Ok(vendor) => {
            vendor.gemm(&stream, shape, &form, &x, &w, &mut y)?;
            let error = worst(&stream.clone_dtoh(&y)?, &host_x, &host_w, size);
            let times = time(&stream, &mut y, |y| Ok(vendor.gemm(&stream, shape, &form, &x, &w, y)?))?;
            show(n, "cuBLAS", error, times, "");
        }
    }
    Ok(())
}

fn show(n: u32, who: &str, error: f64, [host, gpu]: [Duration; 2], level: &str) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("{n:>5}  {who:>9}  {error:>12.2e}  {:>12.2}  {:>12.2}  {level}", micros(host), micros(gpu));
}

/// The least time of a call on the host, and the mean time on the GPU, of several rounds.
fn time(
    stream: &Arc<CudaStream>,
    y: &mut CudaSlice<f32>,
    mut call: impl FnMut(&mut CudaSlice<f32>) -> Result<(), Box<dyn Error>>,
) -> Result<[Duration; 2], Box<dyn Error>> {
    let mut best = [Duration::MAX; 2];
    for _ in 0..10 {
        stream.synchronize()?;
        let (start, end) =
            (stream.context().new_event(Some(CU_EVENT_DEFAULT))?, stream.context().new_event(Some(CU_EVENT_DEFAULT))?);
        start.record(stream)?;
        let began = Instant::now();
        for _ in 0..CALLS {
            call(black_box(y))?;
        }
        let host = began.elapsed() / CALLS;
        end.record(stream)?;
        let gpu = Duration::from_secs_f32(start.elapsed_ms(&end)? / 1e3) / CALLS;
        best = [best[0].min(host), best[1].min(gpu)];
    }
    Ok(best)
}

/// Numbers from −1 to 1 that look random.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// The largest error of some elements of C, against sums in f64.
fn worst(y: &[f32], x: &[f32], w: &[f32], size: usize) -> f64 {
    let exact = |row: usize, column: usize| -> f64 {
        let (x, w) = (&x[row * size..][..size], &w[column * size..][..size]);
        x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum()
    };
    let places = (0..size).map(|i| (i, i * 7 % size));
    places.map(|(row, column)| (f64::from(y[row * size + column]) - exact(row, column)).abs()).fold(0.0, f64::max)
}
