//! Times, and the rates that they are: the numbers, as a report has them. Only a real GPU has any.

use serde::{Deserialize, Serialize};

use crate::dtype::Dtype;
use crate::level::Shape;

/// What was done about the caches, stated with every time.
pub const L2_POLICY: &str = "L2 cache warm: operands stay where they are, nothing is flushed between launches";

/// Times of repeated launches of one kernel.
#[derive(Debug, Clone, Serialize)]
pub struct Timing {
    /// Launches measured, after the warm-up.
    pub launches: usize,
    /// The median, in milliseconds.
    pub median_ms: f64,
    /// The shortest, in milliseconds.
    pub min_ms: f64,
    /// The longest, in milliseconds.
    pub max_ms: f64,
    /// Distance of the 90th from the 10th percentile, relative to the median.
    pub spread: f64,
    /// 2·M·N·K floating-point operations in the median time, in units of 10⁹ per second.
    pub gflops: f64,
    /// The most that this GPU can do at its highest clock, if known.
    pub peak: Option<Peak>,
    /// That rate as a fraction of the peak.
    pub of_peak: Option<f64>,
    /// What was done about the caches.
    pub policy: &'static str,
}

/// The most that a GPU's FMA units can do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Peak {
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Fused multiply-adds per SM and clock.
    pub fma_per_clock: u32,
    /// The highest SM clock, in MHz.
    pub clock_mhz: u32,
}

impl Peak {
    /// 10⁹ floating-point operations per second: an FMA is two.
    pub fn gflops(&self) -> f64 {
        2.0 * f64::from(self.multiprocessors) * f64::from(self.fma_per_clock) * f64::from(self.clock_mhz) / 1000.0
    }
}

/// Fused multiply-adds per SM and clock, outside the tensor cores, by architecture (90 is `sm_90`); none for types that only
/// tensor cores multiply.
/// From the table of arithmetic throughput in the CUDA C++ Programming Guide.
pub fn fma_per_clock(architecture: u32, dtype: Dtype) -> Option<u32> {
    let (f32, f64) = match architecture {
        60 | 70 | 72 => (64, 32),
        61 => (128, 4),
        75 => (64, 2),
        80 => (64, 32),
        86 | 87 | 89 => (128, 2),
        90 | 100 => (128, 64),
        120 => (128, 2),
        _ => return None,
    };
    match dtype {
        Dtype::F32 => Some(f32),
        Dtype::F64 => Some(f64),
        _ => None,
    }
}

impl Timing {
    /// The summary of measured launches, of which there is at least one.
    pub fn of(mut milliseconds: Vec<f64>, shape: &Shape, peak: Option<Peak>) -> Timing {
        milliseconds.sort_by(f64::total_cmp);
        let median_ms = percentile(&milliseconds, 0.5);
        let flops = 2.0 * f64::from(shape.m) * f64::from(shape.n) * f64::from(shape.k);
        let gflops = flops / median_ms / 1e6;
        Timing {
            launches: milliseconds.len(),
            median_ms,
            min_ms: percentile(&milliseconds, 0.0),
            max_ms: percentile(&milliseconds, 1.0),
            spread: (percentile(&milliseconds, 0.9) - percentile(&milliseconds, 0.1)) / median_ms,
            gflops,
            peak,
            of_peak: peak.map(|peak| gflops / peak.gflops()),
            policy: L2_POLICY,
        }
    }
}

/// The value below which this fraction of the sorted values lies, between neighbours where it falls there.
fn percentile(sorted: &[f64], fraction: f64) -> f64 {
    let position = fraction * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    low + (high - low) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_stands_between_the_two_middle_launches() {
        let shape = Shape { m: 1000, n: 1000, k: 1000 };
        let timing = Timing::of(vec![4.0, 1.0, 2.0, 3.0], &shape, None);
        assert_eq!((timing.median_ms, timing.min_ms, timing.max_ms), (2.5, 1.0, 4.0));
        assert_eq!(timing.gflops, 800.0);
    }

    #[test]
    fn an_h200_peaks_at_66_9_tflops() {
        let peak = Peak { multiprocessors: 132, fma_per_clock: 128, clock_mhz: 1980 };
        assert!((peak.gflops() - 66_908.0).abs() < 1.0);
    }
}
