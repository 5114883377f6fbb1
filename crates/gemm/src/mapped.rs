//! Matrices that a kernel's tensor copies see: the tensor maps among its parameters.

use emulator::{TensorElement, TensorL2Promotion, TensorMapDescription};

pub use emulator::TensorSwizzle;
use serde::Serialize;

use crate::element::Element;

/// One of a product's matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Role {
    /// M × K.
    A,
    /// K × N, or stored as N × K.
    B,
    /// M × N.
    C,
}

impl Role {
    /// All three, in the order in which addresses and leading dimensions are given.
    pub const ALL: [Role; 3] = [Role::A, Role::B, Role::C];

    /// Its own of three things in that order.
    pub fn of<T: Copy>(self, each: [T; 3]) -> T {
        each[self as usize]
    }
}

/// The box of a matrix that one tensor copy moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorBox {
    /// Its rows, at most 256.
    pub rows: u32,
    /// Its columns, at most 256: a multiple of 16 bytes, and no more bytes than the swizzle spans.
    pub columns: u32,
    /// How its 16-byte chunks lie in shared memory.
    pub swizzle: TensorSwizzle,
}

/// A matrix as a tensor map says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// Which one.
    pub role: Role,
    /// The type of its elements.
    pub element: Element,
    /// Its rows, as it is stored.
    pub rows: u32,
    /// Its columns, as it is stored.
    pub columns: u32,
    /// Elements from the beginning of a row to that of the next.
    pub leading: u64,
    /// Of a map with a third dimension, how many of it there are, and elements from one to the next; 0, where one serves all.
    pub batch: Option<(u32, u64)>,
    /// Whether it is copied where no map can say it as it lies ([`crate::copies`]).
    pub copied: bool,
    /// What a copy moves.
    pub tensor_box: TensorBox,
}

/// Bytes of a map.
pub const MAP_BYTES: usize = 128;

/// Bytes of which addresses and rows of a tensor are multiples.
const ALIGNMENT: u64 = 16;

impl Mapped {
    /// What its map says, where the matrix begins at this address. Nothing, where no map can say it: the address, or the distance of
    /// rows or of matrices, is no multiple of 16 bytes; or a row of C is none, whose last 16 bytes a copy would write as a whole.
    pub fn description(&self, address: u64) -> Option<TensorMapDescription> {
        let TensorBox { rows, columns, swizzle } = self.tensor_box;
        // Of a single row nothing follows.
        let stride = match self.rows {
            1 => (self.leading * self.element.bytes() as u64).next_multiple_of(ALIGNMENT),
            _ => self.leading * self.element.bytes() as u64,
        };
        let row = u64::from(self.columns) * self.element.bytes() as u64;
        let apart = match self.batch {
            Some((count, apart)) if count > 1 && apart > 0 => (count, apart * self.element.bytes() as u64),
            _ => (1, stride),
        };
        let fits = [address, stride, apart.1].iter().all(|bytes| bytes.is_multiple_of(ALIGNMENT))
            && (self.role != Role::C || row.is_multiple_of(ALIGNMENT));
        let sizes = [u64::from(self.columns), u64::from(self.rows), u64::from(apart.0)];
        let dimensions = if self.batch.is_some() { 3 } else { 2 };
        let (strides, boxes) = ([stride, apart.1], [columns, rows, 1]);
        fits.then(|| {
            let sizes = &sizes[..dimensions];
            let (strides, boxes) = (&strides[..dimensions - 1], &boxes[..dimensions]);
            TensorMapDescription::new(element(self.element), address, sizes, strides, boxes)
                .swizzle(swizzle)
                // A line, as a box has: where rows begin between lines, more is fetched in vain.
                .l2_promotion(TensorL2Promotion::B128)
        })
    }
}

/// The type as tensor copies name it; they convert nothing.
fn element(element: Element) -> TensorElement {
    match element {
        Element::F64 => TensorElement::F64,
        Element::F32 | Element::Tf32 => TensorElement::F32,
        Element::F16 => TensorElement::F16,
        Element::Bf16 => TensorElement::Bf16,
        Element::S32 => TensorElement::S32,
        Element::E4m3 | Element::E5m2 | Element::S8 => TensorElement::U8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_made_where_rows_are_multiples_of_16_bytes() {
        let tensor_box = TensorBox { rows: 64, columns: 64, swizzle: TensorSwizzle::B128 };
        let matrix = |rows, leading| Mapped {
            role: Role::A,
            element: Element::Bf16,
            rows,
            columns: 100,
            leading,
            batch: None,
            copied: false,
            tensor_box,
        };
        let map = matrix(70, 104).description(4096).unwrap();
        assert_eq!((map.sizes.as_slice(), map.strides.as_slice()), ([100, 70].as_slice(), [208].as_slice()));
        assert!(map.encode().is_ok());
        assert_eq!(matrix(70, 100).description(4096), None);
        assert_eq!(matrix(70, 104).description(4096 + 8), None);
        let row = matrix(1, 100).description(4096).unwrap();
        assert!(row.encode().is_ok(), "a single row has no next one");
        let of = |count, apart| Mapped { batch: Some((count, apart)), ..matrix(70, 104) }.description(4096);
        let many = of(5, 8000).unwrap();
        assert_eq!((&many.sizes[..], &many.strides[..]), ([100, 70, 5].as_slice(), [208, 16_000].as_slice()));
        assert!(many.encode().is_ok());
        assert_eq!(of(5, 8001), None);
        assert_eq!(of(5, 0).unwrap().sizes, [100, 70, 1], "one serves all");
        assert_eq!(Mapped { role: Role::C, ..matrix(70, 104) }.description(4096), None, "100 columns are 200 bytes");
    }
}
