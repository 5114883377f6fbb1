//! Whether a product on a GPU is right, by a few of its rows.

use device::survey::Survey as Ground;
use gemm::dtype::Sum;
use gemm::{Dtype, Error, Shape};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// Rows of C that are compared: the first, the last, and others. Of each, the elements that are summed here.
pub const ROWS: u32 = 6;
pub const SAMPLES: u32 = 8;

/// What products of a shape must be, as far as a few rows say it.
pub struct Judge<'a> {
    ground: &'a Ground<'a>,
    shape: Shape,
    rows: Vec<u32>,
    /// Places in the rows, and what stands there before any rounding.
    samples: Vec<(usize, u32, f64)>,
    dtype: Dtype,
    /// The rows of the first product that has them, and how its sums were made.
    right: Option<(Vec<Vec<f64>>, Sum)>,
}

impl<'a> Judge<'a> {
    /// For a shape.
    pub fn new(ground: &'a Ground<'a>, shape: Shape, dtype: Dtype) -> Judge<'a> {
        let Shape { m, n, k } = shape;
        let mut random = ChaCha12Rng::seed_from_u64(u64::from(m) << 40 | u64::from(n) << 20 | u64::from(k));
        let mut rows = vec![0, m - 1];
        rows.extend((2..ROWS).map(|_| random.random_range(0..m)));
        rows.sort_unstable();
        rows.dedup();
        let mut samples = Vec::new();
        for (place, &row) in rows.iter().enumerate() {
            for sample in 0..SAMPLES {
                let column = if sample == 0 { n - 1 } else { random.random_range(0..n) };
                samples.push((place, column, ground.exact(shape, row, column)));
            }
        }
        Judge { ground, shape, rows, samples, dtype, right: None }
    }

    /// Whether C as it is now is right, its sums made like this; `Err` says what is not.
    pub fn check(&mut self, sum: Sum) -> Result<Result<(), String>, Error> {
        let rows = self.ground.rows(self.shape, &self.rows)?;
        let tolerance = |sum| tolerance(self.dtype, sum, self.shape.k);
        let is_near = |a: f64, b: f64, [absolute, relative]: [f64; 2]| {
            (a - b).abs() <= absolute + relative * a.abs().max(b.abs())
        };
        let own = tolerance(sum);
        let sampled =
            self.samples.iter().all(|&(place, column, exact)| is_near(rows[place][column as usize], exact, own));
        let compared = self.right.as_ref().is_none_or(|(right, their_sum)| {
            let theirs = tolerance(*their_sum);
            let both = [0, 1].map(|i| own[i].max(theirs[i]));
            right.iter().flatten().zip(rows.iter().flatten()).all(|(&a, &b)| is_near(a, b, both))
        });
        if !sampled || !compared || rows.iter().flatten().any(|value| value.is_nan()) {
            return Ok(Err("wrong".to_string()));
        }
        self.right.get_or_insert((rows, sum));
        Ok(Ok(()))
    }
}

/// How far two right elements may be apart, absolutely and relative to the larger: 64 roundings of a sum of K products of numbers
/// between −1 and 1, whose sizes are 1/4 on the average, and a rounding to C's type. One product too many or too few is far more.
/// Sums of fp8 that cut bits off may be as far from the exact one as their worst case, which hides a missing product: the levels'
/// own tests compare those bit by bit.
fn tolerance(dtype: Dtype, sum: Sum, k: u32) -> [f64; 2] {
    let sizes = f64::from(k) / 4.0 + 1.0;
    let roundings = 64.0 * dtype.sum.unit_roundoff();
    let cut = match sum {
        Sum::Cut { precision, .. } | Sum::Promoted { precision, .. } => precision < 24,
        Sum::Rounded | Sum::Halved { .. } => false,
    };
    let of_the_sum = if cut { roundings.max(dtype.bound(sum, k)[0]) } else { roundings };
    [of_the_sum * sizes, 4.0 * dtype.output.unit_roundoff()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::shapes::MOST;

    #[test]
    fn a_missing_product_is_beyond_the_tolerance() {
        for dtype in [Dtype::F32, Dtype::F64] {
            let [absolute, relative] = tolerance(dtype, Sum::Rounded, MOST);
            // Sums of so many are around 30.
            assert!(absolute + 100.0 * relative < 0.25 / 10.0, "{dtype}");
        }
    }

    #[test]
    fn sums_of_fp8_alone_are_granted_what_they_cut_off() {
        let cut = |bits, precision| Sum::Cut { terms: 32, bits, precision };
        let of = |dtype, sum| tolerance(dtype, sum, 1000)[0];
        let usual = of(Dtype::BF16, Sum::Rounded);
        assert_eq!(of(Dtype::BF16, cut(25, 24)), usual);
        let short = of(Dtype::E4M3, cut(13, 14));
        let promoted = of(Dtype::E4M3, Sum::Promoted { terms: 32, bits: 13, precision: 14, every: 128 });
        assert!(usual < promoted && promoted < short, "{usual} {promoted} {short}");
    }
}
