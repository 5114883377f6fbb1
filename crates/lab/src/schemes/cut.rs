//! How a number in f32 is cut into narrower parts, and how tensor cores sum their products: a model of sm_90's arithmetic, whose bits
//! are those of level 21's kernel on the emulator.

/// A type of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// 11 significant bits, exponents as of f32.
    Tf32,
    /// 8 significant bits, exponents as of f32.
    Bf16,
    /// 11 significant bits, from 2⁻²⁴ up to 65504.
    F16,
}

/// A scheme: what stands for a product of two numbers in f32.
#[derive(Debug, Clone, Copy)]
pub struct Scheme {
    /// Its name.
    pub name: &'static str,
    /// The type of the parts.
    pub part: Part,
    /// The parts of a number: each is what the one before has left, times 2 to this power.
    pub shift: i32,
    /// Which part of a and which of b are multiplied, the smallest products first.
    pub products: &'static [(usize, usize)],
    /// Whether each 128 numbers along K are scaled by a power of two, so that the largest fills f16's range.
    pub scaled: bool,
    /// Products that tensor cores sum before such sums are added in f32.
    pub every: usize,
}

/// Numbers with one scale.
const CHUNK: usize = 128;

impl Part {
    /// Significant bits, the least exponent, and the largest number.
    fn limits(self) -> (i32, i32, f64) {
        match self {
            Part::Tf32 => (11, -126, f64::from(f32::MAX)),
            Part::Bf16 => (8, -126, f64::from(f32::MAX)),
            Part::F16 => (11, -14, 65504.0),
        }
    }

    /// Products that tensor cores add at once.
    fn terms(self) -> usize {
        if self == Part::Tf32 { 8 } else { 16 }
    }

    /// The nearest number of this type, to even in the middle.
    fn nearest(self, x: f64) -> f64 {
        let (bits, least, most) = self.limits();
        let unit = 2.0f64.powi(exponent(x).max(least) - bits + 1);
        let rounded = (x / unit).round_ties_even() * unit;
        if rounded.abs() > most { rounded * f64::INFINITY } else { rounded }
    }
}

impl Scheme {
    /// The parts of a line's numbers, and the scale of each chunk.
    pub fn cut(&self, line: &[f32]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let scales: Vec<f64> = line.chunks(CHUNK).map(|chunk| if self.scaled { scale(chunk) } else { 1.0 }).collect();
        let count = 1 + self.products.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0);
        let mut left: Vec<f64> = line.iter().enumerate().map(|(at, &x)| f64::from(x) / scales[at / CHUNK]).collect();
        let parts = (0..count).map(|_| {
            let part: Vec<f64> = left.iter().map(|&x| self.part.nearest(x)).collect();
            left.iter_mut().zip(&part).for_each(|(x, part)| *x = (*x - part) * 2.0f64.powi(self.shift));
            part
        });
        (parts.collect(), scales)
    }

    /// The sum of products of a row and a column that are cut.
    pub fn sum(&self, a: &(Vec<Vec<f64>>, Vec<f64>), b: &(Vec<Vec<f64>>, Vec<f64>)) -> f32 {
        let (length, terms) = (a.0[0].len(), self.part.terms());
        let mut total = 0.0f32;
        for first in (0..length).step_by(self.every) {
            let end = length.min(first + self.every);
            // Products of which the same power of two was taken are summed together.
            let mut sums = [0.0f32; 2];
            for from in (first..end).step_by(terms) {
                let step = from..end.min(from + terms);
                for &(p, q) in self.products {
                    let apart = usize::from(self.shift > 0 && p + q > 0);
                    sums[apart] = fused(sums[apart], self.part, &a.0[p][step.clone()], &b.0[q][step.clone()]);
                }
            }
            let sum = sums[0] + sums[1] * 2.0f32.powi(-self.shift);
            let scale = a.1[first / CHUNK] * b.1[first / CHUNK];
            total = (f64::from(total) + f64::from(sum) * scale) as f32;
        }
        total
    }
}

/// The power of two whose product with 2¹⁴ or a bit more is the largest number; as level 21 has it.
fn scale(chunk: &[f32]) -> f64 {
    let most = chunk.iter().map(|x| x.to_bits() & 0x7fff_ffff).max().unwrap_or(0);
    2.0f64.powi(127 - (268 - (most >> 23) as i32).min(253))
}

/// Of the power of two that a number is at least.
fn exponent(x: f64) -> i32 {
    if x == 0.0 || x.is_subnormal() { -1022 } else { (x.to_bits() >> 52 & 0x7ff) as i32 - 1023 }
}

/// Products of some numbers, and the sum so far, as sm_90 adds them: each is cut off 25 bits below the largest exponent, and the sum to
/// 24 significant bits. All numbers on the way are exact in f64.
fn fused(sum: f32, part: Part, a: &[f64], b: &[f64]) -> f32 {
    let least = part.limits().1;
    let terms = || a.iter().zip(b).filter(|(a, b)| **a != 0.0 && **b != 0.0);
    let of_terms = terms().map(|(a, b)| exponent(*a).max(least) + exponent(*b).max(least));
    let of_sum = (sum != 0.0).then(|| exponent(f64::from(sum)).max(-126));
    let Some(most) = of_terms.chain(of_sum).max() else { return 0.0 };
    let unit = 2.0f64.powi(most - 25);
    let all: f64 = terms().map(|(a, b)| (a * b / unit).trunc()).sum::<f64>() + (f64::from(sum) / unit).trunc();
    let quantum = 2.0f64.powi((exponent(all * unit) - 23).max(-149));
    ((all * unit / quantum).trunc() * quantum) as f32
}
