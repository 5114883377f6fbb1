//! Numbers, none negative, that make the relative errors of predictions small.

/// Sweeps over all numbers, after which they have long settled.
const SWEEPS: usize = 3000;
/// Times that errors are weighed anew, and the error below which all weigh the same: where a configuration does
/// something of its own at a few shapes, these do not bend the others.
const ROUNDS: usize = 6;
const SMALL: f64 = 0.05;

/// The numbers x for which `terms · x` comes near the times. Errors are relative, and large ones weigh less than their squares.
pub fn fit<const N: usize>(terms: &[[f64; N]], times: &[f64]) -> [f64; N] {
    let mut weights = vec![1.0; times.len()];
    let mut x = [0.0; N];
    for _ in 0..ROUNDS {
        x = least_squares(terms, times, &weights);
        for ((row, time), weight) in terms.iter().zip(times).zip(&mut weights) {
            *weight = 1.0 / (sum(row, &x) / time - 1.0).abs().max(SMALL);
        }
    }
    x
}

/// The product of a row with the numbers.
pub fn sum<const N: usize>(row: &[f64; N], x: &[f64; N]) -> f64 {
    row.iter().zip(x).map(|(a, b)| a * b).sum()
}

/// Non-negative least squares of the weighted relative errors, by coordinate descent: each number in turn becomes the best one while
/// the others stay, and never less than 0.
fn least_squares<const N: usize>(terms: &[[f64; N]], times: &[f64], weights: &[f64]) -> [f64; N] {
    let (mut square, mut target) = ([[0.0; N]; N], [0.0; N]);
    for ((row, time), weight) in terms.iter().zip(times).zip(weights) {
        for i in 0..N {
            target[i] += weight * row[i] / time;
            for j in 0..N {
                square[i][j] += weight * row[i] / time * (row[j] / time);
            }
        }
    }
    let mut x = [0.0; N];
    for _ in 0..SWEEPS {
        for i in 0..N {
            if square[i][i] > 0.0 {
                let others: f64 = (0..N).filter(|&j| j != i).map(|j| square[i][j] * x[j]).sum();
                x[i] = ((target[i] - others) / square[i][i]).max(0.0);
            }
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_made_the_times_are_found_and_none_is_negative() {
        let terms: Vec<[f64; 3]> = (0..40).map(|i| [1.0, f64::from(i % 7), f64::from(i * i % 11)]).collect();
        let times: Vec<f64> = terms.iter().map(|row| sum(row, &[2.0, 0.5, 0.0])).collect();
        let found = fit(&terms, &times);
        assert!(found.iter().zip([2.0, 0.5, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        let falling: Vec<f64> = (0..40).map(|i| 100.0 - f64::from(i % 7)).collect();
        assert!(fit(&terms, &falling).iter().all(|&x| x >= 0.0));
    }

    #[test]
    fn a_few_odd_times_do_not_bend_the_others() {
        let terms: Vec<[f64; 2]> = (0..50).map(|i| [1.0, f64::from(i)]).collect();
        let mut times: Vec<f64> = terms.iter().map(|row| sum(row, &[3.0, 1.0])).collect();
        times[10] *= 4.0;
        times[30] *= 4.0;
        let found = fit(&terms, &times);
        assert!((found[1] - 1.0).abs() < 0.02, "{found:?}");
    }
}
