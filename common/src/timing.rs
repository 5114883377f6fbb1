//! How times are taken: what comes before the first launch that counts, and how many do.

use std::time::Duration;

pub use rung::timing::*;

/// Time that launches fill before the first measured one: the clock rises, caches and code are in place.
pub const WARM_UP: Duration = Duration::from_millis(20);
/// Launches that are measured at least, and at a time.
pub const BATCH: usize = 20;
/// Launches that are measured at most.
const MOST_LAUNCHES: usize = 200;
/// Milliseconds after which the least number of launches is enough.
const ENOUGH_MS: f64 = 100.0;

/// Rounds in which contenders are timed in turns.
pub const ROUNDS: usize = 12;
/// Milliseconds that a turn is to take, and launches that it has at least and at most.
const TURN: (f64, usize, usize) = (4.0, 3, 20);

/// Launches of a turn of which one takes so many milliseconds.
pub fn in_a_turn(milliseconds: f64) -> usize {
    let (turn, least, most) = TURN;
    ((turn / milliseconds.max(1e-3)) as usize).clamp(least, most)
}

/// Whether to measure another batch of launches.
pub fn wants_more(milliseconds: &[f64]) -> bool {
    let launches = milliseconds.len();
    launches < BATCH || (launches < MOST_LAUNCHES && milliseconds.iter().sum::<f64>() < ENOUGH_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_a_few_milliseconds() {
        assert_eq!([0.0, 0.01, 0.5, 2.0, 100.0].map(in_a_turn), [20, 20, 8, 3, 3]);
    }

    #[test]
    fn short_launches_are_measured_more_often() {
        assert!(wants_more(&[50.0; 19]));
        assert!(!wants_more(&[50.0; 20]));
        assert!(wants_more(&[0.01; 199]));
        assert!(!wants_more(&[0.01; 200]));
    }
}
