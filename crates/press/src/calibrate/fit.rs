//! Numbers, none negative, that make the relative errors of predictions small.

/// Sweeps over all numbers at most, and the relative change of the error below which they have settled.
const SWEEPS: usize = 5_000;
const SETTLED: f64 = 1e-10;
/// Fits in which what was far off counts less than before, and the error below which all count alike.
const AGAIN: usize = 2;
const NEAR: f64 = 0.05;

/// The numbers x for which `terms · x` comes the nearest to the times, relative to these, and the sum of the squares of the relative
/// errors that are left: non-negative least squares by coordinate descent, where each number in turn becomes the best one while the
/// others stay, and never less than 0.
pub fn fit<const N: usize>(terms: &[[f64; N]], times: &[f64]) -> ([f64; N], f64) {
    let x = weighed(terms, times, &vec![1.0; times.len()], [0.0; N]);
    let left = terms.iter().zip(times).map(|(row, time)| (sum(row, &x) / time - 1.0).powi(2)).sum();
    (x, left)
}

/// From those numbers to those that make relative errors small rather than their squares: what no term explains has less of a say.
pub fn refit<const N: usize>(terms: &[[f64; N]], times: &[f64], from: [f64; N]) -> [f64; N] {
    (0..AGAIN).fold(from, |x, _| {
        let weight = |(row, time): (&[f64; N], &f64)| 1.0 / (sum(row, &x) / time - 1.0).abs().max(NEAR);
        let weights: Vec<f64> = terms.iter().zip(times).map(weight).collect();
        weighed(terms, times, &weights, x)
    })
}

fn weighed<const N: usize>(terms: &[[f64; N]], times: &[f64], weights: &[f64], from: [f64; N]) -> [f64; N] {
    let (mut square, mut target) = ([[0.0; N]; N], [0.0; N]);
    for ((row, time), weight) in terms.iter().zip(times).zip(weights) {
        for i in 0..N {
            target[i] += weight * row[i] / time;
            for j in 0..N {
                square[i][j] += weight * row[i] / time * (row[j] / time);
            }
        }
    }
    let mut x = from;
    for _ in 0..SWEEPS {
        let mut gained = 0.0;
        for i in 0..N {
            if square[i][i] > 0.0 {
                let others: f64 = (0..N).filter(|&j| j != i).map(|j| square[i][j] * x[j]).sum();
                let better = ((target[i] - others) / square[i][i]).max(0.0);
                gained += square[i][i] * (better - x[i]) * (better - x[i]);
                x[i] = better;
            }
        }
        if gained < SETTLED * times.len() as f64 {
            break;
        }
    }
    x
}

/// The product of a row with the numbers.
pub fn sum<const N: usize>(row: &[f64; N], x: &[f64; N]) -> f64 {
    row.iter().zip(x).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_made_the_times_are_found_and_none_is_negative() {
        let terms: Vec<[f64; 3]> = (0..40).map(|i| [1.0, f64::from(i % 7), f64::from(i * i % 11)]).collect();
        let times: Vec<f64> = terms.iter().map(|row| sum(row, &[2.0, 0.5, 0.0])).collect();
        let (found, left) = fit(&terms, &times);
        assert!(left < 1e-9, "{left}");
        assert!(found.iter().zip([2.0, 0.5, 0.0]).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?}");
        let falling: Vec<f64> = (0..40).map(|i| 100.0 - f64::from(i % 7)).collect();
        assert!(fit(&terms, &falling).0.iter().all(|&x| x >= 0.0));
    }
}
