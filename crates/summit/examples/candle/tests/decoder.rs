//! A decoder of eight layers, fed the same tokens twice: once candle multiplies, once the library.
//!
//! Each product alone, of the same matrices, must differ by no more than both may err. What becomes of such errors on the way to the
//! logits, layer by layer, is found by letting them happen: candle's products are changed by that bound, with random signs. So far and no
//! farther may the logits be apart, and where the margin of the likeliest token exceeds twice that, it is the same one.

use std::cell::Cell;

use candle_core::{D, DType, Device, Result, Tensor};
use gemm::dtype::Sum;
use gemm::{Dtype, Element};
use summit_candle::Products;
use summit_candle::decoder::{Decoder, Multiply, Random, Sizes};

/// Times that candle's products are changed.
const DRAWS: u64 = 3;

/// By how much two products may differ, element by element, in f64: both have errors of their own.
fn bound(a: &Tensor, b: &Tensor, c: &Tensor) -> Result<Tensor> {
    // Tensor cores sum 16 products and the sum so far at once, and cut off.
    let cut = Sum::Cut { terms: 16, bits: 25, precision: 24 };
    let (element, sum, wide) = match a.dtype() {
        DType::F64 => (Element::F64, Sum::Rounded, DType::F64),
        DType::F32 => (Element::F32, Sum::Rounded, DType::F32),
        DType::BF16 => (Element::Bf16, cut, DType::F32),
        _ => (Element::F16, cut, DType::F32),
    };
    let types = summit::Types::of(element);
    let [relative, of_the_element, absolute] =
        Dtype::of(types.a, types.sum, types.c).bound(sum, a.dim(D::Minus1)? as u32);
    let [a, b] = [a, b].map(|matrix| matrix.to_dtype(wide)?.abs());
    let magnitude = a?.matmul(&b?)?.to_dtype(DType::F64)?;
    // A hundredth more: for the magnitude's own error, and for the element, which stands for the exact sum.
    let of_the_sum = (magnitude * (2.02 * relative))?;
    of_the_sum + (c.to_dtype(DType::F64)?.abs()? * (2.02 * of_the_element))?.affine(1.0, 2.0 * absolute)?
}

fn largest(tensor: &Tensor) -> Result<f64> {
    tensor.flatten_all()?.max(0)?.to_device(&Device::Cpu)?.to_scalar()
}

/// The largest difference of two products, in multiples of its bound; NaN becomes infinite.
fn of_bound(a: &Tensor, b: &Tensor, c: [&Tensor; 2]) -> Result<f64> {
    let [theirs, ours] = c.map(|c| c.to_dtype(DType::F64));
    let (theirs, ours) = (theirs?, ours?);
    let of_bound = ((&theirs - &ours)?.abs()? / bound(a, b, &theirs.maximum(&ours)?)?)?;
    // Where both are 0, and so is the bound.
    let nothing = theirs.eq(&ours)?;
    let of_bound = nothing.where_cond(&of_bound.zeros_like()?, &of_bound)?;
    let sum = of_bound.sum_all()?.to_device(&Device::Cpu)?.to_scalar::<f64>()?;
    if sum.is_finite() { largest(&of_bound) } else { Ok(f64::INFINITY) }
}

/// Plus or minus one, in f64.
fn signs(random: &Cell<u64>, like: &Tensor) -> Result<Tensor> {
    let mut source = Random::new(random.replace(random.get() + 1));
    let mut signs = Vec::with_capacity(like.elem_count());
    while signs.len() < like.elem_count() {
        let bits = source.bits();
        signs.extend(
            (0..64.min(like.elem_count() - signs.len())).map(|bit| if bits >> bit & 1 == 0 { 1.0f64 } else { -1.0 }),
        );
    }
    Tensor::from_vec(signs, like.dims(), like.device())
}

/// What came of it, to be judged and printed.
#[derive(Debug)]
struct Found {
    /// The largest difference of a product, in multiples of its bound, and products that were compared.
    product: f64,
    products: usize,
    /// The largest difference of logits, and the largest of it in multiples of its row's bound.
    logits: [f64; 2],
    /// Tokens whose margin exceeds the bound twice; tokens with the same likeliest token, among these and among all.
    clear: usize,
    same: [usize; 2],
    tokens: usize,
}

/// Compares `ours` with candle's own products on the way of a decoder.
fn compare(sizes: Sizes, count: usize, dtype: DType, device: &Device, ours: Multiply) -> Result<Found> {
    let decoder = Decoder::random(sizes, count, dtype, device, 1)?;
    let tokens = Random::new(2).tokens([1, count], &sizes, device)?;
    let run = |multiply: Multiply| -> Result<Vec<Vec<f64>>> {
        let logits = decoder.logits(&tokens, &mut decoder.cache(1)?, false, multiply)?;
        logits.squeeze(0)?.to_dtype(DType::F64)?.to_device(&Device::Cpu)?.to_vec2()
    };
    let (product, products) = (Cell::new(0.0f64), Cell::new(0));
    let theirs = run(&|a, b| {
        let (theirs, ours) = (a.matmul(b)?, ours(a, b)?);
        product.set(product.get().max(of_bound(a, b, [&theirs, &ours])?));
        products.set(products.get() + 1);
        Ok(theirs)
    })?;
    let ours = run(ours)?;
    let apart =
        |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    let random = Cell::new(1000);
    let mut bounds = vec![0.0f64; count];
    for _ in 0..DRAWS {
        let changed = run(&|a, b| {
            let c = a.matmul(b)?;
            let by = (bound(a, b, &c)? * signs(&random, &c)?)?;
            (c.to_dtype(DType::F64)? + by)?.to_dtype(c.dtype())
        })?;
        bounds
            .iter_mut()
            .zip(theirs.iter().zip(&changed))
            .for_each(|(bound, (one, other))| *bound = bound.max(apart(one, other)));
    }
    let mut found = Found {
        product: product.get(),
        products: products.get(),
        logits: [0.0; 2],
        clear: 0,
        same: [0; 2],
        tokens: count,
    };
    for ((theirs, ours), bound) in theirs.iter().zip(&ours).zip(bounds) {
        assert!(ours.iter().all(|logit| logit.is_finite()), "a logit is no number");
        let difference = apart(theirs, ours);
        found.logits = [found.logits[0].max(difference), found.logits[1].max(difference / bound)];
        let (first, margin) = likeliest(theirs);
        let same = likeliest(ours).0 == first;
        found.same[1] += usize::from(same);
        if margin > 2.0 * bound {
            found.clear += 1;
            found.same[0] += usize::from(same);
        }
    }
    Ok(found)
}

/// The token with the largest logit, and how far the next one is behind.
fn likeliest(logits: &[f64]) -> (usize, f64) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    (order[0], logits[order[0]] - logits[order[1]])
}

fn agrees(sizes: Sizes, count: usize, dtype: DType, device: &Device) {
    let products = Products::on(device).unwrap();
    let found = compare(sizes, count, dtype, device, &|a, b| products.matmul(a, b)).unwrap();
    let Found { product, products, logits, clear, same, tokens } = found;
    println!(
        "{dtype:?}: {products} products at most {product:.3} of their bounds apart, logits {:.4} of theirs ({:.1e})",
        logits[1], logits[0]
    );
    println!(
        "{:>5} same first choice for {} of {tokens} tokens, and for {} of the {clear} with a margin beyond the bound",
        "", same[1], same[0]
    );
    assert_eq!(products, 9 * sizes.layers + 1);
    assert!(
        product <= 1.0 && logits[1] <= 1.0 && same[0] == clear,
        "{found:?}",
        found = (product, logits, same, clear)
    );
    assert!(clear > 0, "no margin exceeds the bound: the choice says nothing");
}

#[test]
fn the_emulators_logits_are_candles() {
    agrees(Sizes::SMALL, 6, DType::F32, &Device::Cpu);
}

#[test]
fn a_product_that_is_wrong_in_one_element_is_noticed() {
    let calls = Cell::new(0);
    let wrong = |a: &Tensor, b: &Tensor| {
        let c = a.matmul(b)?;
        calls.set(calls.get() + 1);
        let once = if calls.get() == 40 { 1e-3 } else { 0.0 };
        let at: Vec<f32> = (0..c.elem_count()).map(|i| if i == 5 { once } else { 0.0 }).collect();
        c.clone() + Tensor::from_vec(at, c.dims(), c.device())?
    };
    let found = compare(Sizes::SMALL, 6, DType::F32, &Device::Cpu, &wrong).unwrap();
    assert!(found.product > 1.0, "{found:?}");
}

/// 256 tokens, in every type that candle's norm has.
#[test]
fn a_gpus_logits_are_candles() {
    if !cfg!(feature = "cuda") {
        return eprintln!("skipped: candle is not built for a GPU");
    }
    match Device::new_cuda(0) {
        Err(error) => eprintln!("skipped: no CUDA device ({})", error.to_string().lines().next().unwrap_or_default()),
        Ok(device) => {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                agrees(Sizes::MEDIUM, 256, dtype, &device);
            }
        }
    }
}
