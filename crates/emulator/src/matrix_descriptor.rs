//! Where a matrix lies in shared memory that a warpgroup multiplies (`wgmma`): the 64 bits that say so, and the address of
//! each of its elements.
//!
//! A matrix is made of chunks of 16 bytes, and only of such. What lies in a chunk is a piece of K or, where the matrix is
//! transposed, a piece of M or N. With `c` the chunk and `r` the line of chunks across it, a chunk's address is
//!
//! | layout | along K: line `r` of M or N, chunk `c` of K | along M or N: line `r` of K, chunk `c` of M or N |
//! |---|---|---|
//! | no swizzle | `r % 8 × 16 + r / 8 × stride + c × leading` | `r % 8 × 16 + r / 8 × leading + c × stride` |
//! | 32, 64 or 128 bytes, `w` chunks | `r % 8 × 16w + r / 8 × stride + c × 16` | `r % 8 × 16w + r / 8 × stride + c % w × 16 + c / w × leading` |
//!
//! from the start on, and then the bits of the chunk in the address are exclusively or-ed with those of the line: of 128 bytes
//! bits 4 to 6 with bits 7 to 9, of 64 bytes bits 4 and 5 with 7 and 8, of 32 bytes bit 4 with bit 7.

/// How the chunks of a matrix are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Within 128 bytes, over 8 lines of them.
    Bytes128,
    /// Within 64 bytes, over 4 pairs of them.
    Bytes64,
    /// Within 32 bytes, over 2 groups of four.
    Bytes32,
}

impl Swizzle {
    /// Chunks of 16 bytes that lie side by side.
    pub fn chunks(self) -> u32 {
        match self {
            Swizzle::None => 1,
            Swizzle::Bytes32 => 2,
            Swizzle::Bytes64 => 4,
            Swizzle::Bytes128 => 8,
        }
    }

    /// An address in the pattern as an address in memory. `shift` is how many lines of 128 bytes the pattern begins behind
    /// where it would by the address.
    pub fn apply(self, address: u32, shift: u32) -> u32 {
        address ^ ((address >> 7).wrapping_sub(shift) & (self.chunks() - 1)) << 4
    }
}

/// Which way the chunks of a matrix lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Major {
    /// Along K: not transposed.
    K,
    /// Along M or N: transposed, of 16-bit elements.
    Mn,
}

/// A matrix descriptor of `wgmma`, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixDescriptor {
    /// The address of its first chunk in shared memory: a multiple of 16.
    pub start: u32,
    /// The leading dimension's byte offset.
    pub leading: u32,
    /// The stride dimension's byte offset.
    pub stride: u32,
    /// How many lines of 128 bytes the swizzle's pattern begins behind a multiple of its size.
    pub base: u32,
    /// How chunks are mixed.
    pub swizzle: Swizzle,
}

/// Bits of a descriptor that belong to no field.
const RESERVED: u64 = !(FIELD | FIELD << 16 | FIELD << 32 | 7 << 49 | 3 << 62);
const FIELD: u64 = 0x3fff;

impl MatrixDescriptor {
    /// Takes 64 bits apart; nothing if some are set that belong to no field.
    pub fn decode(bits: u64) -> Option<MatrixDescriptor> {
        let field = |at: u32| ((bits >> at & FIELD) as u32) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        let base = (bits >> 49 & 7) as u32;
        (bits & RESERVED == 0).then_some(MatrixDescriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base,
            swizzle,
        })
    }

    /// The 64 bits. Of each number those count that its field has.
    pub fn encode(&self) -> u64 {
        let field = |bytes: u32, at: u32| (u64::from(bytes >> 4) & FIELD) << at;
        let swizzle = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes128 => 1,
            Swizzle::Bytes64 => 2,
            Swizzle::Bytes32 => 3,
        };
        field(self.start, 0)
            | field(self.leading, 16)
            | field(self.stride, 32)
            | u64::from(self.base & 7) << 49
            | swizzle << 62
    }

    /// The address of a chunk of 16 bytes: the `chunk`th of the line `line`. Along K a line is a row of A or a column of B;
    /// else it is one of K.
    #[inline]
    pub fn chunk(&self, major: Major, line: u32, chunk: u32) -> u32 {
        let wide = self.swizzle.chunks();
        let offset = match (major, self.swizzle) {
            (Major::K, Swizzle::None) => line % 8 * 16 + line / 8 * self.stride + chunk * self.leading,
            (Major::Mn, Swizzle::None) => line % 8 * 16 + line / 8 * self.leading + chunk * self.stride,
            (Major::K, _) => line % 8 * 16 * wide + line / 8 * self.stride + chunk * 16,
            (Major::Mn, _) => {
                line % 8 * 16 * wide + line / 8 * self.stride + chunk % wide * 16 + chunk / wide * self.leading
            }
        };
        self.swizzle.apply(self.start + offset, self.base)
    }

    /// The address of an element, of so many bits: of row `index` of A or column `index` of B, and the `k`th there.
    pub fn element(&self, major: Major, index: u32, k: u32, bits: u32) -> u32 {
        let (line, along) = match major {
            Major::K => (index, k),
            Major::Mn => (k, index),
        };
        let byte = along * bits / 8;
        self.chunk(major, line, byte / 16) + byte % 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: MatrixDescriptor =
        MatrixDescriptor { start: 0x400, leading: 16, stride: 1024, base: 0, swizzle: Swizzle::Bytes128 };

    #[test]
    fn a_descriptor_is_read_as_it_is_written() {
        for swizzle in [Swizzle::None, Swizzle::Bytes128, Swizzle::Bytes64, Swizzle::Bytes32] {
            let given = MatrixDescriptor { start: 0x3fff0, leading: 0x120, stride: 0x2340, base: 5, swizzle };
            assert_eq!(MatrixDescriptor::decode(given.encode()), Some(given));
        }
        assert_eq!(TILE.encode(), 1 << 62 | 64 << 32 | 1 << 16 | 0x40);
        for bit in [14, 15, 30, 31, 46, 47, 48, 52, 61] {
            assert_eq!(MatrixDescriptor::decode(1 << bit), None, "bit {bit}");
        }
    }

    #[test]
    fn a_line_of_128_bytes_is_mixed_by_its_number() {
        for row in 0..64 {
            for chunk in 0..2 {
                let plain = 0x400 + row * 128 + chunk * 16;
                assert_eq!(TILE.chunk(Major::K, row, chunk), plain ^ (row % 8) << 4);
            }
        }
        // One step of K further, the start is within the pattern.
        let next = MatrixDescriptor { start: 0x420, ..TILE };
        assert_eq!(next.chunk(Major::K, 3, 0), 0x400 + 3 * 128 + ((2 ^ 3) << 4));
        assert_eq!(next.element(Major::K, 2, 9, 16), 0x400 + 2 * 128 + ((3 ^ 2) << 4) + 2);
    }

    /// Addresses worked out by hand, from layouts that an H200 was seen to have.
    #[test]
    fn chunks_lie_where_a_card_has_them() {
        use Major::{K, Mn};
        use Swizzle::{Bytes32, Bytes64, Bytes128, None};
        for (swizzle, major, line, chunk, address) in [
            (None, K, 9, 1, 0xd10),
            (None, Mn, 9, 3, 0x1d10),
            (Bytes32, K, 13, 1, 0xca0),
            (Bytes32, Mn, 13, 3, 0xda0),
            (Bytes64, K, 13, 1, 0xd70),
            (Bytes64, Mn, 15, 6, 0xef0),
            (Bytes128, K, 13, 1, 0xec0),
            (Bytes128, Mn, 13, 10, 0xfd0),
        ] {
            let given = MatrixDescriptor { start: 0x400, leading: 0x100, stride: 0x800, base: 0, swizzle };
            assert_eq!(given.chunk(major, line, chunk), address, "{swizzle:?}, {major:?}");
        }
        let behind = MatrixDescriptor { start: 0x480, base: 1, ..TILE };
        assert_eq!([behind.chunk(K, 0, 0), behind.chunk(K, 3, 1)], [0x480, 0x620]);
    }

    #[test]
    fn every_layout_names_each_chunk_once() {
        for swizzle in [Swizzle::None, Swizzle::Bytes128, Swizzle::Bytes64, Swizzle::Bytes32] {
            let wide = 16 * swizzle.chunks();
            let along_k = MatrixDescriptor { start: 0, leading: 64 * 16, stride: 8 * wide, base: 0, swizzle };
            let mut seen: Vec<u32> =
                (0..64).flat_map(|row| (0..2).map(move |chunk| along_k.chunk(Major::K, row, chunk))).collect();
            let across = match swizzle {
                Swizzle::None => MatrixDescriptor { leading: 8 * 128, stride: 128, ..along_k },
                _ => MatrixDescriptor { leading: 16 * wide, stride: 8 * wide, ..along_k },
            };
            let mut other: Vec<u32> =
                (0..16).flat_map(|k| (0..8).map(move |chunk| across.chunk(Major::Mn, k, chunk))).collect();
            for seen in [&mut seen, &mut other] {
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), 128, "{swizzle:?}");
            }
        }
    }
}
