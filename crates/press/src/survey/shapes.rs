//! Shapes drawn from a seed.

use gemm::Shape;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// The largest size.
pub const MOST: u32 = 8192;

/// Where shapes are drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The least size.
    pub least: u32,
    /// One size of each shape, K, M and N in turn, is at most this.
    pub thin: Option<u32>,
    /// All sizes are rounded down to multiples of this, where they are not smaller.
    pub multiple: Option<u32>,
}

/// So many shapes, each size log-uniform from the least to [`MOST`]: as many between 1 and 2 as between 4096 and 8192. The first, the
/// third and so on are aligned: sizes are rounded down to multiples of 16, or of 4, where they are not smaller. Of the others all
/// sizes are odd, rounded down. A range with a multiple has neither.
pub fn shapes(count: usize, seed: u64, range: Range) -> Vec<Shape> {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let mut shape = |number: usize| {
        let of: u32 = if random.random_bool(0.5) { 16 } else { 4 };
        let mut size = |side: usize| {
            let most = range.thin.filter(|_| number / 2 % 3 == side).unwrap_or(MOST).max(range.least);
            let [low, high] = [range.least, most + 1].map(f64::from);
            let size = (low * (high / low).powf(random.random_range(0.0..1.0))) as u32;
            let size = size.clamp(range.least, most);
            match (number % 2, range.multiple) {
                (1, None) => (size - 1) | 1,
                (_, of_all) => Some(size - size % of_all.unwrap_or(of)).filter(|&whole| whole > 0).unwrap_or(size),
            }
        };
        Shape { m: size(1), n: size(2), k: size(0) }
    };
    (0..count).map(&mut shape).collect()
}

/// Products of layers: from 1 to so many rows, by weights whose N and K are multiples of 64 up to these, with so many multiply-adds at most.
const ROWS: u32 = 4096;
const WEIGHTS: [u32; 2] = [65_536, 16_384];
const LEAST: u32 = 512;
const WORK: u64 = 1 << 35;
const OF_WEIGHTS: u64 = 1 << 28;

/// So many shapes of layers: sizes are log-uniform; every other number of rows is a power of 2.
pub fn layers(count: usize, seed: u64) -> Vec<Shape> {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let mut size = |least: u32, most: u32| {
        let [low, high] = [least, most].map(f64::from);
        low * (high / low).powf(random.random_range(0.0..=1.0))
    };
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let m = size(1, ROWS);
        let m = if drawn.len() % 2 == 0 { 1 << (m.log2().round() as u32) } else { m.round() as u32 };
        let [n, k] = WEIGHTS.map(|most| size(LEAST, most) as u32 / 64 * 64);
        let weights = u64::from(n) * u64::from(k);
        if weights <= OF_WEIGHTS && weights * u64::from(m) <= WORK {
            drawn.push(Shape { m, n, k });
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_whole_lines_and_few_rows_as_often_as_many() {
        let shapes = layers(600, 5);
        assert!(shapes.iter().all(|s| s.n % 64 == 0 && s.k % 64 == 0 && s.n >= LEAST && s.k >= LEAST));
        assert!(shapes.iter().all(|s| u64::from(s.m) * u64::from(s.n) * u64::from(s.k) <= WORK));
        let few = shapes.iter().filter(|s| s.m <= 16).count();
        assert!((200..350).contains(&few) && shapes.iter().any(|s| s.m > 2048), "{few}");
        assert_eq!(shapes[..9], layers(9, 5));
    }

    const ALL: Range = Range { least: 1, thin: None, multiple: None };

    #[test]
    fn half_are_aligned_half_are_odd_and_all_magnitudes_come() {
        let shapes = shapes(2000, 7, ALL);
        let sizes = |start: usize| shapes.iter().skip(start).step_by(2).flat_map(|s| [s.m, s.n, s.k]);
        assert!(sizes(1).all(|size| size % 2 == 1));
        assert!(sizes(0).all(|size| size < 16 || size % 4 == 0));
        for magnitude in 0..13 {
            let share = sizes(1).filter(|size| size.ilog2() == magnitude).count() as f64 / 3000.0;
            // 2 is rounded down to 1, 4 to 3.
            let expected = if magnitude == 0 { 0.09..0.15 } else { 0.045..0.1 };
            assert!(expected.contains(&share), "{share} of the sizes are around 2^{magnitude}");
        }
        assert!(shapes.iter().all(|s| [s.m, s.n, s.k].iter().all(|&size| (1..=MOST).contains(&size))));
    }

    #[test]
    fn a_seed_gives_the_same_shapes_and_another_one_others() {
        assert_eq!(shapes(9, 1, ALL), shapes(20, 1, ALL)[..9]);
        assert_ne!(shapes(9, 1, ALL), shapes(9, 2, ALL));
    }

    #[test]
    fn of_thin_shapes_each_size_is_small_in_turn_and_none_is_below_the_least() {
        let thin = shapes(600, 3, Range { thin: Some(8), ..ALL });
        for (number, shape) in thin.iter().enumerate() {
            let size = [shape.k, shape.m, shape.n][number / 2 % 3];
            assert!(size <= 8, "{shape}");
        }
        assert!(thin.iter().any(|shape| shape.k == 1 && shape.m > 1000));
        // Odd ones are rounded down, to no less than 255; aligned ones to 256.
        let large_range = Range { least: 256, ..ALL };
        let large = shapes(600, 3, large_range);
        assert!(large.iter().all(|s| [s.m, s.n, s.k].iter().all(|&size| (255..=MOST).contains(&size))));
        let even = shapes(600, 3, Range { multiple: Some(256), ..large_range });
        assert!(even.iter().all(|s| [s.m, s.n, s.k].iter().all(|&size| size >= 256 && size % 256 == 0)));
    }
}
