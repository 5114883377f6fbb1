//! A box of a tensor, row by row: where each row lies in shared memory, and what of it in global memory.
//!
//! What the manual leaves open is here as an H200 does it, in 726 copies by chance (`tests/data/tensor-copies.txt`):
//!
//! - The first coordinate, in bytes, is a multiple of 16, and no coordinate of a store or reduction is negative: all
//!   others end by an illegal instruction.
//! - Under a swizzle, rows lie as far apart as its span is long, however short they are. Only the rows' own bytes
//!   count for the barrier, and what is between them stays.
//! - A store or reduction goes on to the end of the 16 bytes in which the tensor's row ends. A load fills to the
//!   element.
//! - NaN outside the tensor is 0x7ff7 in all types, also twice or four times side by side.
//! - Types with flushing do not flush in copies; tf32 is rounded to the nearest, a NaN becomes 0x7fffe000.

use std::ops::Range;

use crate::program::{Atomic, AtomicOp, Format};
use crate::{TensorElement, TensorFill, TensorMapDescription, TensorSwizzle};

/// What a GPU of sm_90 fills with where it is to be NaN, in all types.
const NAN: u32 = 0x7ff7_7ff7;

/// A box, by its tensor map and coordinates.
pub(crate) struct TensorBox {
    pub map: TensorMapDescription,
    /// Where the map is, in words.
    pub name: String,
    pub coordinates: Vec<i32>,
}

/// Parts of shared memory: where they begin, and how many bytes they have.
pub(crate) type Pieces = Vec<(u32, u32)>;

/// A row of a box.
pub(crate) struct Row {
    /// Its place behind that of the box, in bytes, as if nothing were swizzled.
    pub start: u32,
    /// What of it lies in the tensor: the address of the first such byte, and which bytes of the row they are.
    pub inside: Option<(u64, Range<u32>)>,
}

impl TensorBox {
    /// The dimension in which the box begins before the tensor.
    pub fn before(&self) -> Option<usize> {
        self.coordinates.iter().position(|at| *at < 0)
    }

    /// Whether no element of it lies in the tensor.
    pub fn is_outside(&self) -> bool {
        let outside = |(n, at): (usize, &i32)| {
            let (at, steps) = (i64::from(*at), if n == 0 { 1 } else { i64::from(self.map.element_strides[n]) });
            at >= self.map.sizes[n] as i64 || at + (i64::from(self.map.moved(n)) - 1) * steps < 0
        };
        self.coordinates.iter().enumerate().any(outside)
    }

    /// The box at its coordinates in the other order.
    pub fn turned(&self) -> TensorBox {
        let coordinates = self.coordinates.iter().rev().copied().collect();
        TensorBox { map: self.map.clone(), name: self.name.clone(), coordinates }
    }

    /// Where in the tensor's rows the box begins, in bytes.
    pub fn first_byte(&self) -> i64 {
        i64::from(self.coordinates[0]) * i64::from(self.map.element.bytes())
    }

    pub fn rows(&self) -> u32 {
        (1..self.map.sizes.len()).map(|n| self.map.moved(n)).product()
    }

    /// The row of a load; of a store, which goes on to the end of the 16 bytes in which the tensor's row ends.
    pub fn row(&self, index: u32, store: bool) -> Row {
        let TensorMapDescription { element, address, sizes, strides, element_strides, .. } = &self.map;
        let (mut rest, mut address, mut inside) = (index, *address, true);
        for n in 1..sizes.len() {
            let moved = self.map.moved(n);
            let at = i64::from(self.coordinates[n]) + i64::from(rest % moved * element_strides[n]);
            rest /= moved;
            inside &= (0..sizes[n] as i64).contains(&at);
            address = address.wrapping_add((at as u64).wrapping_mul(strides[n - 1]));
        }
        let (first, bytes) = (i64::from(self.coordinates[0]), i64::from(element.bytes()));
        let (from, to) = (first.max(0), (first + i64::from(self.map.moved(0))).min(sizes[0] as i64));
        let range = || {
            let end = ((to - first) * bytes) as u32;
            ((from - first) * bytes) as u32..if store { end.next_multiple_of(16) } else { end }
        };
        let here = || (address.wrapping_add((from * bytes) as u64), range());
        Row { start: index * self.pitch(), inside: (inside && from < to).then(here) }
    }

    /// Sectors of 32 bytes that a copy moves between global memory and a block, as an H200 counts them: of each row those that
    /// hold its bytes in the tensor, and for a load as many as the rest of the row fills.
    pub fn sectors(&self, store: bool) -> u64 {
        let row_bytes = u64::from(self.map.row_bytes());
        let of_row = |index| match self.row(index, store).inside {
            Some((address, range)) => {
                let bytes = range.len() as u64;
                let outside = if store { 0 } else { (row_bytes - bytes).div_ceil(32) };
                (address + bytes).div_ceil(32) - address / 32 + outside
            }
            None if store => 0,
            None => row_bytes.div_ceil(32),
        };
        (0..self.rows()).map(of_row).sum()
    }

    /// Bytes from a row to the next one in shared memory: under a swizzle its span, however short the rows are.
    fn pitch(&self) -> u32 {
        if self.is_swizzled() { self.map.swizzle.span() } else { self.map.row_bytes() }
    }

    /// Bytes of shared memory from the first to the last that the box may touch.
    pub fn extent(&self) -> u64 {
        self.map.box_bytes() / u64::from(self.map.row_bytes()) * u64::from(self.pitch())
    }

    /// What a box covers in shared memory from `at` on: offsets from there, and lengths.
    pub fn pieces(&self, at: u32) -> Pieces {
        let (rows, row, pitch) = (self.rows(), self.map.row_bytes(), self.pitch());
        if row == pitch {
            return vec![(0, rows * row)];
        }
        let chunks = (0..rows).flat_map(|index| (0..row).step_by(16).map(move |chunk| index * pitch + chunk));
        chunks.map(|start| (self.place(at, start), 16)).collect()
    }

    /// Where in shared memory a byte of the box lies, from `at` on.
    pub fn place(&self, at: u32, byte: u32) -> u32 {
        self.map.swizzle.place(at + byte) - at
    }

    pub fn is_swizzled(&self) -> bool {
        self.map.swizzle != TensorSwizzle::None
    }

    /// What stands in a word of shared memory for elements outside the tensor.
    pub fn fill(&self) -> u32 {
        match self.map.fill {
            TensorFill::Nan => NAN,
            _ => 0,
        }
    }

    /// What becomes of words of the tensor on their way to shared memory.
    pub fn convert(&self, words: &mut [u32]) {
        use TensorElement::{Tf32, Tf32Ftz};
        let element = self.map.element;
        if matches!(element, Tf32 | Tf32Ftz) {
            words.iter_mut().for_each(|word| *word = to_tf32(*word));
        }
    }

    /// The operation of a copy that combines elements of the tensor, if there is one.
    pub fn atomic(&self, op: AtomicOp) -> Option<Atomic> {
        use AtomicOp::*;
        use TensorElement::*;
        let element = self.map.element;
        let format = match element {
            F16 => Some(Format::F16),
            Bf16 => Some(Format::Bf16),
            F32 | F32Ftz | Tf32 | Tf32Ftz => Some(Format::F32),
            F64 => Some(Format::F64),
            _ => None,
        };
        let whole = matches!(element, U32 | S32 | U64 | S64);
        let is_one = match op {
            Add => whole && element != S64 || format.is_some(),
            Min | Max => whole || matches!(element, F16 | Bf16),
            And | Or | Xor => matches!(element, U32 | S32 | U64),
            Increment | Decrement => element == U32,
            Exchange | CompareAndSwap => false,
        };
        let signed = matches!(element, S32 | S64);
        let bits = 8 * element.bytes() as u8;
        is_one.then(|| Atomic { op, bits, signed, float: format.map(|format| (format, false)) })
    }

    /// The box in words: `64 x 32 at (0, 128)`.
    pub fn in_words(&self) -> String {
        let sizes: Vec<String> = self.map.box_sizes.iter().map(u32::to_string).collect();
        let coordinates: Vec<String> = self.coordinates.iter().map(i32::to_string).collect();
        format!("{} at ({})", sizes.join(" x "), coordinates.join(", "))
    }
}

/// A float of 32 bits, rounded to the nearest of the 19 bits of tf32.
fn to_tf32(word: u32) -> u32 {
    match word & 0x7fff_ffff {
        0x7f80_0001.. => 0x7fff_e000,
        _ => (word + 0xfff + (word >> 13 & 1)) & 0xffff_e000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(coordinates: &[i32], swizzle: TensorSwizzle, steps: &[u32]) -> TensorBox {
        // 40 x 6 x 4 floats in rows of 176 bytes, moved by 8 x 4 x 3.
        let map = TensorMapDescription::new(TensorElement::F32, 1 << 40, &[40, 6, 4], &[176, 1056], &[8, 4, 3]);
        let map = map.swizzle(swizzle).element_strides(steps);
        TensorBox { map, name: String::new(), coordinates: coordinates.to_vec() }
    }

    #[test]
    fn rows_are_those_of_the_tensor_and_no_others() {
        let tensor = boxed(&[36, -1, 2], TensorSwizzle::None, &[1, 1, 1]);
        assert_eq!(tensor.rows(), 12);
        let inside: Vec<u32> = (0..12).filter(|index| tensor.row(*index, false).inside.is_some()).collect();
        assert_eq!(inside, [1, 2, 3, 5, 6, 7], "the row before the first and the plane behind the last are not");
        assert_eq!(tensor.row(5, false).inside, Some(((1 << 40) + 36 * 4 + 3 * 1056, 0..16)));
        assert_eq!(tensor.row(5, false).start, 5 * 32);
        let stepped = boxed(&[0, 1, 0], TensorSwizzle::None, &[1, 3, 2]);
        let starts: Vec<Option<u64>> = (0..4).map(|n| Some(stepped.row(n, false).inside?.0 - (1 << 40))).collect();
        assert_eq!(starts, [Some(176), Some(176 * 4), Some(176 + 2112), Some(176 * 4 + 2112)]);
    }

    #[test]
    fn a_store_ends_with_16_bytes() {
        let map = TensorMapDescription::new(TensorElement::U8, 1 << 40, &[37], &[], &[64]);
        let tensor = TensorBox { map, name: String::new(), coordinates: vec![0] };
        assert_eq!([false, true].map(|store| tensor.row(0, store).inside.unwrap().1), [0..37, 0..48]);
    }

    #[test]
    fn short_rows_lie_as_far_apart_as_the_swizzle_is_long() {
        let tensor = boxed(&[0, 0, 0], TensorSwizzle::B64, &[1, 1, 3]);
        assert_eq!(tensor.extent(), 4 * 64);
        // (Bits 7 and 8 of the address change bits 4 and 5.)
        assert_eq!(&tensor.pieces(128)[..6], [(16, 16), (0, 16), (80, 16), (64, 16), (160, 16), (176, 16)]);
        assert_eq!(boxed(&[0, 0, 0], TensorSwizzle::B32, &[1, 1, 3]).pieces(0), [(0, 4 * 32)]);
    }

    #[test]
    fn tf32_is_rounded_to_the_nearest() {
        let rounded = [0x3f80_0fff, 0x3f80_1000, 0x3f80_3000, 0x7f7f_ffff, 0xffc0_0001, 0xff80_0000].map(to_tf32);
        assert_eq!(rounded, [0x3f80_0000, 0x3f80_0000, 0x3f80_4000, 0x7f80_0000, 0x7fff_e000, 0xff80_0000]);
    }
}
