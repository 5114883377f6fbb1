//! How products in f64 are made of products of bytes: by slices of numbers, Ozaki's first scheme, and by remainders, the second, which
//! is level 23's. Sums of bytes' products are exact, so that only what a number keeps, and how sums are put together, counts here.

use super::{Errors, pairs};
use crate::exact::exact;
use crate::schemes::data::Data;

/// A scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme {
    /// A plain chain of FMA.
    Fma,
    /// So many slices of a number, 7 bits each, below the largest exponent of its row or column. Of their products those count that are
    /// not below the last slice: s·(s + 1) / 2.
    Slices(i32),
    /// The remainders by so many moduli, as level 23 has them.
    Remainders(usize),
}

/// What is compared.
pub const SCHEMES: [Scheme; 7] = [
    Scheme::Fma,
    Scheme::Slices(7),
    Scheme::Slices(8),
    Scheme::Slices(9),
    Scheme::Remainders(14),
    Scheme::Remainders(15),
    Scheme::Remainders(16),
];

/// Those of `remainders.cuh`.
const MODULI: [u128; 16] = [256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193];

/// Bits of a slice: with its sign it fills a byte.
const SLICE: i32 = 7;

impl Scheme {
    /// Its name, with the products of bytes that stand for one.
    pub fn name(self) -> String {
        match self {
            Scheme::Fma => "FMA".to_string(),
            Scheme::Slices(slices) => format!("{slices} slices, x {}", slices * (slices + 1) / 2),
            Scheme::Remainders(moduli) => format!("{moduli} moduli, x {moduli}"),
        }
    }

    /// C of rows and columns.
    pub fn product(self, [a, b]: &[Vec<Vec<f64>>; 2]) -> Vec<f64> {
        match self {
            Scheme::Fma => pairs(a, b).map(|(a, b)| chain(a, b)).collect(),
            Scheme::Slices(slices) => {
                let [a, b] = [a, b].map(|lines| lines.iter().map(|line| Sliced::of(line, slices)).collect::<Vec<_>>());
                pairs(&a, &b).map(|(a, b)| a.times(b, slices)).collect()
            }
            Scheme::Remainders(moduli) => {
                let whole = |lines: &[Vec<f64>]| lines.iter().map(|line| Whole::of(line, moduli)).collect::<Vec<_>>();
                let (whole_a, whole_b) = (whole(a), whole(b));
                let plain = pairs(a, b).map(|(a, b)| chain(a, b));
                let made = pairs(&whole_a, &whole_b).map(|(a, b)| Some(a.as_ref()?.times(b.as_ref()?)));
                made.zip(plain).map(|(made, plain)| made.unwrap_or(plain)).collect()
            }
        }
    }
}

fn chain(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0f64, |sum, (a, b)| a.mul_add(*b, sum))
}

/// 2 to a power that an f64 may be too narrow for: in two steps.
fn times_power(x: f64, power: i32) -> f64 {
    let half = power / 2;
    x * 2f64.powi(half) * 2f64.powi(power - half)
}

/// The exponent of a number: 0 for 1, and nothing for 0.
fn exponent(x: f64) -> Option<i32> {
    (x != 0.0).then(|| x.abs().log2().floor() as i32)
}

/// A line, of which every number is cut into slices below one power of two.
struct Sliced {
    /// The first slice counts halves of 2 to this power, and what is below.
    top: i32,
    slices: Vec<Vec<i64>>,
}

impl Sliced {
    fn of(line: &[f64], slices: i32) -> Sliced {
        let top = line.iter().filter_map(|x| exponent(*x)).max().unwrap_or(0) + 1;
        let mut rest: Vec<f64> = line.iter().map(|x| times_power(*x, -top)).collect();
        let mut cut = || {
            rest.iter_mut()
                .map(|rest| {
                    *rest *= f64::from(1 << SLICE);
                    let slice = rest.round_ties_even();
                    *rest -= slice;
                    slice as i64
                })
                .collect()
        };
        Sliced { top, slices: (0..slices).map(|_| cut()).collect() }
    }

    /// Sums of products of slices, the smallest first, each rounded once.
    fn times(&self, other: &Sliced, slices: i32) -> f64 {
        let mut sum = 0.0;
        for weight in (0..slices).rev() {
            let of_weight = |i: i32| -> i64 {
                let (a, b) = (&self.slices[i as usize], &other.slices[(weight - i) as usize]);
                a.iter().zip(b).map(|(a, b)| a * b).sum()
            };
            let exact: i64 = (0..=weight).map(of_weight).sum();
            sum += times_power(exact as f64, self.top + other.top - SLICE * (weight + 2));
        }
        sum
    }
}

/// A line as whole numbers, times a power of two.
struct Whole {
    power: i32,
    numbers: Vec<i64>,
}

impl Whole {
    /// As `cut` of `remainders.cuh` scales a line; nothing, where it spreads too far.
    fn of(line: &[f64], moduli: usize) -> Option<Whole> {
        let kept = if moduli < 15 { 50 } else { 54 };
        let all = MODULI[..moduli].iter().fold(1.0, |product, modulus| product * *modulus as f64);
        let squares: f64 = line.iter().fold(0.0, |sum, x| x.mul_add(*x, sum));
        let numbers: Vec<f64> = line.iter().copied().filter(|x| *x != 0.0).collect();
        let count = numbers.len() as i64;
        if count == 0 {
            return Some(Whole { power: 0, numbers: vec![0; line.len()] });
        }
        let exponents: i64 = numbers.iter().map(|x| ((x.to_bits() >> 52) & 0x7ff) as i64).sum();
        let up = exponent((all * 0.499).min(2f64.powi(124)) / squares)? >> 1;
        let log = 63 - i64::from((count as u64).leading_zeros());
        let keeps = 2 * (exponents + (i64::from(up) - 1023) * count) >= (2 * kept - log) * count;
        let holds = squares > 2f64.powi(-800) && squares < 2f64.powi(800) && keeps;
        let whole = |x: &f64| times_power(*x, up).round_ties_even() as i64;
        holds.then(|| Whole { power: up, numbers: line.iter().map(whole).collect() })
    }

    fn times(&self, other: &Whole) -> f64 {
        let sum: i128 = self.numbers.iter().zip(&other.numbers).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
        times_power(sum as f64, -self.power - other.power)
    }
}

/// Of all schemes on some data.
pub fn errors(size: usize, k: usize, seed: u64, (name, data): (&'static str, Data)) -> Vec<Errors> {
    let lines = data.lines(size, k, seed, |x| x);
    let expected = pairs(&lines[0], &lines[1]).map(|(a, b)| exact(a.iter().copied().zip(b.iter().copied())));
    let expected: Vec<[f64; 2]> = expected.collect();
    let of = |scheme: Scheme| {
        let [worst, rms] = super::relative(&scheme.product(&lines), &expected);
        Errors { scheme: scheme.name(), data: name, k, worst, rms }
    };
    SCHEMES.map(of).into()
}

#[cfg(test)]
mod tests {
    use level_tests::skipped;

    use super::super::tests::by_level;
    use super::*;

    #[test]
    fn the_model_has_the_bits_of_level_23() {
        for data in [Data::Uniform, Data::Normal, Data::Spread(0.5), Data::Spread(4.0), Data::Positive] {
            let lines = data.lines(16, 330, 7, |x| x);
            let Some(got) = by_level("level23-f64-from-bytes", &lines) else { return skipped("no PTX") };
            let bits = |c: Vec<f64>| c.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(got), bits(Scheme::Remainders(14).product(&lines)), "{data:?}");
        }
    }

    #[test]
    fn a_slice_and_a_modulus_more_make_errors_smaller_and_spread_makes_those_of_slices_larger() {
        let of = |name: &'static str, data| errors(12, 600, 1, (name, data));
        let [uniform, spread] = [of("uniform", Data::Normal), of("spread 2", Data::Spread(2.0))];
        let worst = |rows: &[Errors], scheme: Scheme| {
            rows.iter().find(|row| row.scheme == scheme.name()).map(|row| row.worst).unwrap()
        };
        // Of nine slices, the last sum's rounding is what is seen.
        for pair in SCHEMES[1..].windows(2).filter(|pair| !pair.contains(&Scheme::Slices(9))) {
            assert!(worst(&uniform, pair[1]) < worst(&uniform, pair[0]) / 4.0, "{pair:?}");
        }
        let fma = worst(&uniform, Scheme::Fma);
        assert!(worst(&uniform, Scheme::Remainders(14)) < fma && fma < worst(&uniform, Scheme::Slices(7)));
        assert!(worst(&spread, Scheme::Slices(8)) > 4.0 * worst(&spread, Scheme::Fma));
        assert_eq!(worst(&spread, Scheme::Remainders(14)), worst(&spread, Scheme::Fma));
    }
}
