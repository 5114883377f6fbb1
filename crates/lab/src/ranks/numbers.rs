//! Matrices of the host that are too large to be filled, or compared, number by number on one core.

use gemm::{Element, Error, Shape};
use ranks::streamed::Cut;

use super::cores;

/// Bytes that a core fills at a time.
pub const CHUNK: usize = 1 << 20;

/// Bytes of A, B and C.
pub fn sizes(cut: &Cut) -> [u64; 3] {
    let (Shape { m, n, k }, types) = (cut.shape(), cut.types());
    [(m, k, types.a), (k, n, types.b), (m, n, types.c)]
        .map(|(rows, columns, of)| u64::from(rows) * u64::from(columns) * of.bytes() as u64)
}

/// A and B, full of numbers.
pub fn filled(cut: &Cut, seed: u64) -> Result<[Vec<u8>; 2], Error> {
    let [of_a, of_b, _] = sizes(cut);
    let [mut a, mut b] = [room(of_a)?, room(of_b)?];
    fill(&mut a, cut.types().a, seed);
    fill(&mut b, cut.types().b, seed.wrapping_add(1 << 32));
    Ok([a, b])
}

/// A matrix of zeros, or a line that says that there is no room.
pub fn room(bytes: u64) -> Result<Vec<u8>, Error> {
    Vec::<u8>::new().try_reserve_exact(bytes as usize).map_err(|_| {
        Error::usage(format!("this machine has no room for a matrix of {bytes} bytes"), "make the product smaller")
    })?;
    Ok(vec![0; bytes as usize])
}

/// Numbers between -1 and 1, each from its place and the seed.
pub fn fill(matrix: &mut [u8], element: Element, seed: u64) {
    // 256 numbers that every type has exactly.
    let few: Vec<[u8; 8]> = (0..256).map(|i| element.nearest(f64::from(2 * i - 255) / 256.0)).collect();
    let size = element.bytes();
    cores::over(matrix.chunks_mut(CHUNK).zip(0u64..), |_, (chunk, at)| {
        let mut state = seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for one in chunk.chunks_exact_mut(size) {
            let random = next(&mut state);
            match element {
                Element::F32 => one.copy_from_slice(&((random >> 40) as f32 / 8_388_608.0 - 1.0).to_le_bytes()),
                Element::F64 => {
                    one.copy_from_slice(&((random >> 11) as f64 / 4_503_599_627_370_496.0 - 1.0).to_le_bytes());
                }
                _ => one.copy_from_slice(&few[(random >> 56) as usize][..size]),
            }
        }
    });
}

/// The next of a row of random numbers: SplitMix64 (Steele, Lea, Flood, 2014).
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_filled_between_minus_one_and_one() {
        for element in [Element::F32, Element::F64, Element::Bf16, Element::F16] {
            let mut matrix = vec![0; 4096 * element.bytes()];
            fill(&mut matrix, element, 7);
            let mut values = vec![0.0; 4096];
            element.read(&matrix, &mut values);
            let mean = values.iter().sum::<f64>() / 4096.0;
            assert!(values.iter().all(|value| value.abs() <= 1.0) && mean.abs() < 0.05, "{element:?}: {mean}");
        }
    }
}
