//! How times are taken: what comes before the first launch that counts, and how many do.

use std::time::Duration;

/// Time that launches fill before the first measured one: the clock rises, caches and code are in place.
pub const WARM_UP: Duration = Duration::from_millis(20);
/// Launches that are measured at least, and at a time.
pub const BATCH: usize = 20;
/// Launches that are measured at most.
const MOST_LAUNCHES: usize = 200;
/// Milliseconds after which the least number of launches is enough.
const ENOUGH_MS: f64 = 100.0;

/// Whether to measure another batch of launches.
pub fn wants_more(milliseconds: &[f64]) -> bool {
    let launches = milliseconds.len();
    launches < BATCH || (launches < MOST_LAUNCHES && milliseconds.iter().sum::<f64>() < ENOUGH_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_launches_are_measured_more_often() {
        assert!(wants_more(&[50.0; 19]));
        assert!(!wants_more(&[50.0; 20]));
        assert!(wants_more(&[0.01; 199]));
        assert!(!wants_more(&[0.01; 200]));
    }
}
