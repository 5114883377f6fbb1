//! Tokens a second of a decoder of eight layers, in bf16: by candle's own products, which are cuBLAS's, and by the library's, in turns.
//!
//! ```sh
//! cargo run --release --no-default-features --features cuda
//! ```

use std::cell::RefCell;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use candle_core::{DType, Device, Result, Tensor};
use summit_candle::Products;
use summit_candle::decoder::{Decoder, Multiply, Random, Sizes};

/// Rounds, in which each has its turn once; one more before them, which loads kernels.
const ROUNDS: usize = 7;
/// Tokens that a batch has before it is continued, and how many it is continued by.
const CONTEXT: usize = 256;
const STEPS: usize = 32;
const PREFILL: usize = 2048;
/// Calls of one product that are timed at once.
const CALLS: usize = 50;
const BATCHES: [usize; 3] = [1, 8, 64];

fn main() -> ExitCode {
    let measured = Device::new_cuda(0).and_then(|device| measure(&device));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error = error.to_string();
            let line = error.lines().next().unwrap_or_default();
            eprintln!(
                "error: {line}\nhint: this needs a GPU, and candle built for it: `--no-default-features --features cuda`"
            );
            ExitCode::from(2)
        }
    }
}

fn measure(device: &Device) -> Result<()> {
    let (sizes, dtype) = (Sizes::LARGE, DType::BF16);
    eprint!("random weights …");
    let decoder = Decoder::random(sizes, PREFILL, dtype, device, 1)?;
    eprintln!(" done");
    // ANCHOR: products
    let products = Products::on(device)?;
    let theirs = |a: &Tensor, b: &Tensor| a.matmul(b);
    let ours = |a: &Tensor, b: &Tensor| products.matmul(a, b);
    // ANCHOR_END: products
    let who: [Multiply; 2] = [&theirs, &ours];
    println!("{}; {sizes:?}, {dtype:?}; {ROUNDS} rounds in turns, medians; tokens a second", products.name());
    println!("{:<34}  {:>8}  {:>8}  {:>8}  {:>13}", "", "cuBLAS", "summit", "of both", "spread");
    for batch in BATCHES {
        let tokens = Random::new(2).tokens([batch, CONTEXT], &sizes, device)?;
        let seconds = turns(|turn| continued(&decoder, &tokens, who[turn], device))?;
        row(&format!("batch {batch}, {STEPS} tokens behind {CONTEXT}"), (batch * STEPS) as f64, &seconds);
    }
    let tokens = Random::new(3).tokens([1, PREFILL], &sizes, device)?;
    let seconds = turns(|turn| prefilled(&decoder, &tokens, who[turn], device))?;
    row(&format!("prefill of {PREFILL}"), PREFILL as f64, &seconds);
    for batch in BATCHES {
        println!("\nbatch {batch}: the products of a layer and of the head, µs a call where one follows the other");
        let tokens = Random::new(2).tokens([batch, CONTEXT], &sizes, device)?;
        products_of(&decoder, &tokens, who, device)?;
    }
    Ok(())
}

/// Prints the time of each product of a step behind the tokens, where the same one is computed many times: weights may be in L2.
fn products_of(decoder: &Decoder, tokens: &Tensor, who: [Multiply; 2], device: &Device) -> Result<()> {
    let mut cache = decoder.cache(tokens.dim(0)?)?;
    decoder.logits(tokens, &mut cache, true, who[0])?;
    let seen = RefCell::new(Vec::new());
    let timed = |a: &Tensor, b: &Tensor| {
        let what = format!("{:?} times {:?}", a.dims(), b.dims());
        if !seen.borrow().contains(&what) {
            let seconds = turns(|turn| {
                device.synchronize()?;
                let begin = Instant::now();
                (0..CALLS).try_for_each(|_| who[turn](a, b).map(drop))?;
                device.synchronize()?;
                Ok(begin.elapsed().as_secs_f64() / CALLS as f64)
            })?;
            let [theirs, ours] = seconds.each_ref().map(|seconds| 1e6 * seconds[ROUNDS / 2]);
            println!("{what:<44}  {theirs:>8.1}  {ours:>8.1}  {:>8.3}", theirs / ours);
            seen.borrow_mut().push(what);
        }
        who[0](a, b)
    };
    decoder.logits(&tokens.narrow(1, 0, 1)?.contiguous()?, &mut cache, true, &timed)?;
    Ok(())
}

/// Seconds of each round, of candle's products and of the library's.
fn turns(mut run: impl FnMut(usize) -> Result<f64>) -> Result<[Vec<f64>; 2]> {
    let mut seconds = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS + 1 {
        for turn in 0..2 {
            let took = run((turn + round) % 2)?;
            if round > 0 {
                seconds[(turn + round) % 2].push(took);
            }
        }
    }
    seconds.iter_mut().for_each(|seconds| seconds.sort_by(f64::total_cmp));
    Ok(seconds)
}

/// Medians, how many times as fast the library is, and how far the slowest round is from the fastest, of both.
fn row(what: &str, tokens: f64, seconds: &[Vec<f64>; 2]) {
    let [theirs, ours] = seconds.each_ref().map(|seconds| tokens / seconds[ROUNDS / 2]);
    let [of_theirs, of_ours] = seconds.each_ref().map(|seconds| 100.0 * (seconds[ROUNDS - 1] / seconds[0] - 1.0));
    let spread = format!("{of_theirs:.1} %, {of_ours:.1} %");
    println!("{what:<34}  {theirs:>8.0}  {ours:>8.0}  {:>8.3}  {spread:>13}", ours / theirs);
    let _ = std::io::stdout().flush();
}

/// Seconds that it takes to continue a batch, each token the likeliest one.
fn continued(decoder: &Decoder, tokens: &Tensor, multiply: Multiply, device: &Device) -> Result<f64> {
    let mut cache = decoder.cache(tokens.dim(0)?)?;
    let likeliest = |logits: Tensor| logits.squeeze(1)?.argmax_keepdim(1);
    let mut next = likeliest(decoder.logits(tokens, &mut cache, true, multiply)?)?;
    device.synchronize()?;
    let begin = Instant::now();
    for _ in 0..STEPS {
        next = likeliest(decoder.logits(&next, &mut cache, true, multiply)?)?;
    }
    device.synchronize()?;
    Ok(begin.elapsed().as_secs_f64())
}

/// Seconds until the logits behind the last token are there.
fn prefilled(decoder: &Decoder, tokens: &Tensor, multiply: Multiply, device: &Device) -> Result<f64> {
    let mut cache = decoder.cache(1)?;
    device.synchronize()?;
    let begin = Instant::now();
    decoder.logits(tokens, &mut cache, true, multiply)?;
    device.synchronize()?;
    Ok(begin.elapsed().as_secs_f64())
}
