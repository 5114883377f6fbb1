//! What a tensor map may say: the limits of the driver's `cuTensorMapEncodeTiled`.

use super::{MAX_RANK, TensorElement, TensorFill, TensorInterleave, TensorMapDescription, TensorSwizzle};

/// Bytes that a box may have: all of an SM's shared memory.
const MOST_BYTES: u64 = 228 << 10;

/// Why a description is none of a map, or 128 bytes are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// No dimensions, or too many.
    #[error("a tensor of {rank} dimensions: a map is of 1 to 5; join or split some")]
    Rank {
        /// How many.
        rank: usize,
    },
    /// A list that has not one number for each dimension; of strides, for each but the first.
    #[error("{given} {what} for a tensor of {rank} dimensions: give {wanted}")]
    Count {
        /// What is listed.
        what: &'static str,
        /// The tensor's dimensions.
        rank: usize,
        /// How many numbers there should be.
        wanted: usize,
        /// How many there are.
        given: usize,
    },
    /// An address that is not aligned.
    #[error("a tensor at address {address:#x}, which is no multiple of 16: align its start")]
    Address {
        /// The address.
        address: u64,
    },
    /// A dimension without elements, or with too many.
    #[error("{size} elements in dimension {dimension}: a map takes 1 to 2^32; split the tensor")]
    Size {
        /// Which dimension.
        dimension: usize,
        /// How many elements.
        size: u64,
    },
    /// A stride that is not aligned, or too long.
    #[error(
        "a stride of {stride} bytes in dimension {dimension}: a map takes multiples of 16 below 2^40; pad the rows"
    )]
    Stride {
        /// Which dimension.
        dimension: usize,
        /// The stride in bytes.
        stride: u64,
    },
    /// A box without elements, or with too many.
    #[error("a box of {extent} elements in dimension {dimension}: a map takes 1 to 256; move it by several copies")]
    Box {
        /// Which dimension.
        dimension: usize,
        /// How many elements.
        extent: u32,
    },
    /// A row of the box that is no multiple of 16 bytes.
    #[error("a box whose rows have {bytes} bytes, no multiple of 16: make it wider or narrower in dimension 0")]
    Row {
        /// Bytes of the row.
        bytes: u32,
    },
    /// A row of the box that is longer than the swizzle's span.
    #[error(
        "a box whose rows have {bytes} bytes, and the swizzle takes at most {limit}: make it narrower in dimension 0"
    )]
    Swizzle {
        /// Bytes of the row.
        bytes: u32,
        /// The swizzle's span in bytes.
        limit: u32,
    },
    /// A box that is too large.
    #[error("a box of {bytes} bytes: a map takes at most {limit}; move it by several copies")]
    Total {
        /// Bytes of the box.
        bytes: u64,
        /// How many there may be.
        limit: u64,
    },
    /// A step of 0, or one that is too long.
    #[error(
        "an element stride of {step} in dimension {dimension}: a map takes 1 to 8; change the tensor's stride instead"
    )]
    ElementStride {
        /// Which dimension.
        dimension: usize,
        /// The step.
        step: u32,
    },
    /// NaN outside a tensor of integers.
    #[error("a tensor of {element} filled with NaN: only floating-point types have one; fill with zeros")]
    Fill {
        /// The type.
        element: TensorElement,
    },
    /// An interleaved layout.
    #[error("an interleaved tensor: the emulator runs maps without interleave alone; say the layout by strides")]
    Interleave,
    /// Bytes that are no map.
    #[error("no tensor map: {why}")]
    NoMap {
        /// What is wrong with them.
        why: &'static str,
    },
}

impl TensorMapDescription {
    /// Whether the driver would take it, and the emulator can run it.
    pub(super) fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.sizes.len();
        if rank == 0 || rank > MAX_RANK {
            return Err(TensorMapError::Rank { rank });
        }
        let lists = [
            ("strides", rank - 1, self.strides.len()),
            ("box sizes", rank, self.box_sizes.len()),
            ("element strides", rank, self.element_strides.len()),
        ];
        if let Some((what, wanted, given)) = lists.into_iter().find(|(_, wanted, given)| wanted != given) {
            return Err(TensorMapError::Count { what, rank, wanted, given });
        }
        if self.interleave != TensorInterleave::None {
            return Err(TensorMapError::Interleave);
        }
        if !self.address.is_multiple_of(16) {
            return Err(TensorMapError::Address { address: self.address });
        }
        for (dimension, &size) in self.sizes.iter().enumerate() {
            if size == 0 || size > 1 << 32 {
                return Err(TensorMapError::Size { dimension, size });
            }
        }
        for (n, &stride) in self.strides.iter().enumerate() {
            if !stride.is_multiple_of(16) || stride >= 1 << 40 {
                return Err(TensorMapError::Stride { dimension: n + 1, stride });
            }
        }
        for (dimension, &extent) in self.box_sizes.iter().enumerate() {
            if extent == 0 || extent > 256 {
                return Err(TensorMapError::Box { dimension, extent });
            }
        }
        for (dimension, &step) in self.element_strides.iter().enumerate() {
            if step == 0 || step > 8 {
                return Err(TensorMapError::ElementStride { dimension, step });
            }
        }
        let bytes = self.row_bytes();
        if !bytes.is_multiple_of(16) {
            return Err(TensorMapError::Row { bytes });
        }
        let limit = self.swizzle.span();
        if self.swizzle != TensorSwizzle::None && bytes > limit {
            return Err(TensorMapError::Swizzle { bytes, limit });
        }
        let (bytes, limit) = (self.counted_bytes(), MOST_BYTES);
        if bytes > limit {
            return Err(TensorMapError::Total { bytes, limit });
        }
        if self.fill == TensorFill::Nan && !self.element.is_float() {
            return Err(TensorMapError::Fill { element: self.element });
        }
        Ok(())
    }
}
