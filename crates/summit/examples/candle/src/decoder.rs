//! A decoder with random weights, as language models are built today: embedding, then layers of attention (rotary positions, a causal
//! mask, fewer heads for keys than for queries) and of a gated network, RMS norms between them. Who multiplies is an argument.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, softmax_last_dim};
use candle_nn::rotary_emb::rope;

/// What multiplies: A and B as of [`Tensor::matmul`].
pub type Multiply<'a> = &'a dyn Fn(&Tensor, &Tensor) -> Result<Tensor>;

const EPSILON: f32 = 1e-5;
/// Of the rotary positions.
const BASE: f64 = 10_000.0;

/// The sizes of a decoder.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Layers.
    pub layers: usize,
    /// Elements of the vector that goes from layer to layer.
    pub hidden: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and of values, of which each serves as many of the queries'.
    pub key_heads: usize,
    /// Elements of a head.
    pub head: usize,
    /// Elements between the two halves of the gated network.
    pub inner: usize,
    /// Tokens that there are.
    pub vocabulary: usize,
}

impl Sizes {
    /// Those of a model of seven billion weights, but eight layers of it.
    pub const LARGE: Sizes =
        Sizes { layers: 8, hidden: 4096, heads: 32, key_heads: 8, head: 128, inner: 14336, vocabulary: 32000 };
    /// For comparisons with products that are computed twice.
    pub const MEDIUM: Sizes =
        Sizes { layers: 8, hidden: 1024, heads: 16, key_heads: 4, head: 64, inner: 2816, vocabulary: 4096 };
    /// For the emulator.
    pub const SMALL: Sizes =
        Sizes { layers: 8, hidden: 32, heads: 4, key_heads: 2, head: 8, inner: 48, vocabulary: 64 };
}

#[derive(Debug)]
struct Layer {
    norms: [Tensor; 2],
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    output: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

/// The weights, and what depends on positions alone.
#[derive(Debug)]
pub struct Decoder {
    sizes: Sizes,
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Tensor,
    cosines: Tensor,
    sines: Tensor,
    /// Added to scores, positions × positions: no token sees one behind it.
    mask: Tensor,
}

/// Keys and values of the tokens so far, of each layer: batch × key heads × positions × head.
#[derive(Debug)]
pub struct Cache {
    kept: Vec<[Tensor; 2]>,
    /// Tokens so far.
    pub position: usize,
}

/// Uniform numbers, by Vigna's SplitMix64.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Tokens of a vocabulary: rows × columns.
    ///
    /// # Errors
    /// Where the device has no room.
    pub fn tokens(&mut self, [rows, columns]: [usize; 2], sizes: &Sizes, device: &Device) -> Result<Tensor> {
        let tokens: Vec<u32> = (0..rows * columns).map(|_| (self.bits() % sizes.vocabulary as u64) as u32).collect();
        Tensor::from_vec(tokens, (rows, columns), device)
    }

    /// A matrix of numbers of this standard deviation, the same on every device.
    fn matrix(&mut self, [rows, columns]: [usize; 2], deviation: f64, of: (DType, &Device)) -> Result<Tensor> {
        // From −√3 to √3, of which the standard deviation is 1; two of each draw.
        let scale = (deviation * 3f64.sqrt() / f64::from(1u32 << 31)) as f32;
        let number = |bits: u32| bits.cast_signed() as f32 * scale;
        let mut numbers = Vec::with_capacity(rows * columns + 1);
        while numbers.len() < rows * columns {
            let bits = self.bits();
            numbers.extend([number(bits as u32), number((bits >> 32) as u32)]);
        }
        numbers.truncate(rows * columns);
        Tensor::from_vec(numbers, (rows, columns), of.1)?.to_dtype(of.0)
    }
}

impl Decoder {
    /// Random weights, the same for a seed on every device; for so many positions.
    ///
    /// # Errors
    /// Where the device has no room.
    pub fn random(sizes: Sizes, positions: usize, dtype: DType, device: &Device, seed: u64) -> Result<Decoder> {
        let mut random = Random::new(seed);
        let mut weights = |outputs: usize, inputs: usize| {
            random.matrix([outputs, inputs], (inputs as f64).powf(-0.5), (dtype, device))
        };
        let Sizes { hidden, inner, vocabulary, .. } = sizes;
        let [of_queries, of_keys] = [sizes.heads, sizes.key_heads].map(|heads| heads * sizes.head);
        let norm = Tensor::ones(hidden, dtype, device)?;
        let mut layer = || {
            Ok(Layer {
                norms: [norm.clone(), norm.clone()],
                queries: weights(of_queries, hidden)?,
                keys: weights(of_keys, hidden)?,
                values: weights(of_keys, hidden)?,
                output: weights(hidden, of_queries)?,
                gate: weights(inner, hidden)?,
                up: weights(inner, hidden)?,
                down: weights(hidden, inner)?,
            })
        };
        let layers = (0..sizes.layers).map(|_| layer()).collect::<Result<Vec<_>>>()?;
        let (embedding, head) = (weights(vocabulary, hidden)?, weights(vocabulary, hidden)?);
        let half = sizes.head / 2;
        let angles: Vec<f32> = (0..positions)
            .flat_map(|position| {
                (0..half).map(move |i| (position as f64 * BASE.powf(-(i as f64) / half as f64)) as f32)
            })
            .collect();
        let angles = Tensor::from_vec(angles, (positions, half), device)?;
        let (cosines, sines) = (angles.cos()?.to_dtype(dtype)?, angles.sin()?.to_dtype(dtype)?);
        let seen = |row: usize, column: usize| if column > row { f32::NEG_INFINITY } else { 0.0 };
        let mask = (0..positions).flat_map(|row| (0..positions).map(move |column| seen(row, column))).collect();
        let mask = Tensor::from_vec(mask, (positions, positions), device)?.to_dtype(dtype)?;
        Ok(Decoder { sizes, embedding, layers, norm, head, cosines, sines, mask })
    }

    /// Room for the keys and values of so many positions.
    ///
    /// # Errors
    /// Where the device has no room.
    pub fn cache(&self, batch: usize) -> Result<Cache> {
        let Sizes { key_heads, head, .. } = self.sizes;
        let (positions, _) = self.cosines.dims2()?;
        let room = || Tensor::zeros((batch, key_heads, positions, head), self.norm.dtype(), self.norm.device());
        let kept = self.layers.iter().map(|_| Ok([room()?, room()?])).collect::<Result<Vec<_>>>()?;
        Ok(Cache { kept, position: 0 })
    }

    /// The logits behind each token, batch × tokens × vocabulary, or behind the last one alone, batch × 1 × vocabulary.
    ///
    /// # Errors
    /// Where a product fails, the device has no room, or the cache no positions.
    pub fn logits(&self, tokens: &Tensor, cache: &mut Cache, last: bool, multiply: Multiply) -> Result<Tensor> {
        let (batch, count) = tokens.dims2()?;
        let mut x =
            self.embedding.index_select(&tokens.flatten_all()?, 0)?.reshape((batch, count, self.sizes.hidden))?;
        let (first, all) = (cache.position, cache.position + count);
        let mask = self.mask.narrow(0, first, count)?.narrow(1, 0, all)?;
        for (layer, kept) in self.layers.iter().zip(&cache.kept) {
            let attended = self.attention(layer, &x, (kept, first), &mask, multiply)?;
            x = (x + attended)?;
            let normal = rms_norm(&x, &layer.norms[1], EPSILON)?;
            let gated = (linear(&normal, &layer.gate, multiply)?.silu()? * linear(&normal, &layer.up, multiply)?)?;
            x = (x + linear(&gated, &layer.down, multiply)?)?;
        }
        cache.position = all;
        let x = if last { x.narrow(1, count - 1, 1)?.contiguous()? } else { x };
        linear(&rms_norm(&x, &self.norm, EPSILON)?, &self.head, multiply)
    }

    fn attention(
        &self,
        layer: &Layer,
        x: &Tensor,
        (kept, position): (&[Tensor; 2], usize),
        mask: &Tensor,
        multiply: Multiply,
    ) -> Result<Tensor> {
        let (batch, count, _) = x.dims3()?;
        let Sizes { heads, key_heads, head, .. } = self.sizes;
        let x = rms_norm(x, &layer.norms[0], EPSILON)?;
        let of_heads = |weights: &Tensor, heads: usize| {
            let projected = linear(&x, weights, multiply)?.reshape((batch, count, heads, head))?;
            projected.transpose(1, 2)?.contiguous()
        };
        let [cosines, sines] = [&self.cosines, &self.sines].map(|angles| angles.narrow(0, position, count));
        let (cosines, sines) = (cosines?, sines?);
        let queries = rope(&of_heads(&layer.queries, heads)?, &cosines, &sines)?;
        kept[0].slice_set(&rope(&of_heads(&layer.keys, key_heads)?, &cosines, &sines)?, 2, position)?;
        kept[1].slice_set(&of_heads(&layer.values, key_heads)?, 2, position)?;
        let [keys, values] = kept.each_ref().map(|kept| kept.narrow(2, 0, position + count));
        // The heads that share keys are more rows of one product.
        let queries =
            (queries.reshape((batch, key_heads, heads / key_heads * count, head))? * (head as f64).powf(-0.5))?;
        let scores = multiply(&queries, &keys?.t()?)?.reshape((batch, heads, count, position + count))?;
        // A token that is alone sees all.
        let scores = if count > 1 { scores.broadcast_add(mask)? } else { scores };
        let weights = softmax_last_dim(&scores)?.reshape((batch, key_heads, (), position + count))?;
        let attended = multiply(&weights, &values?)?.reshape((batch, heads, count, head))?;
        linear(&attended.transpose(1, 2)?.reshape((batch, count, heads * head))?, &layer.output, multiply)
    }
}

/// `x·Wᵀ`, with a row of W for each output.
fn linear(x: &Tensor, weights: &Tensor, multiply: Multiply) -> Result<Tensor> {
    let (batch, count, inputs) = x.dims3()?;
    multiply(&x.reshape((batch * count, inputs))?, &weights.t()?)?.reshape((batch, count, ()))
}
