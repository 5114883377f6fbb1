//! Tensor maps: what a tensor in global memory looks like, and which box of it a tensor copy moves.
//!
//! A map is 128 bytes that the host makes and a kernel hands to `cp.async.bulk.tensor`, as a parameter
//! (`const __grid_constant__ CUtensorMap`), in constant or in global memory. Here [`TensorMapDescription::encode`]
//! makes them, with the checks of the driver's `cuTensorMapEncodeTiled`.

mod bits;
mod check;

use std::fmt;

pub use check::TensorMapError;

use crate::Argument;

/// Bytes of a map.
pub(crate) const BYTES: usize = 128;
/// Dimensions that a tensor may have.
pub(crate) const MAX_RANK: usize = 5;

/// What a tensor's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorElement {
    /// `CU_TENSOR_MAP_DATA_TYPE_UINT8`.
    U8,
    /// `CU_TENSOR_MAP_DATA_TYPE_UINT16`.
    U16,
    /// `CU_TENSOR_MAP_DATA_TYPE_UINT32`.
    U32,
    /// `CU_TENSOR_MAP_DATA_TYPE_INT32`.
    S32,
    /// `CU_TENSOR_MAP_DATA_TYPE_UINT64`.
    U64,
    /// `CU_TENSOR_MAP_DATA_TYPE_INT64`.
    S64,
    /// `CU_TENSOR_MAP_DATA_TYPE_FLOAT16`.
    F16,
    /// `CU_TENSOR_MAP_DATA_TYPE_FLOAT32`.
    F32,
    /// `CU_TENSOR_MAP_DATA_TYPE_FLOAT64`.
    F64,
    /// `CU_TENSOR_MAP_DATA_TYPE_BFLOAT16`.
    Bf16,
    /// `CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ`. (Loads and stores flush nothing, on an H200.)
    F32Ftz,
    /// `CU_TENSOR_MAP_DATA_TYPE_TFLOAT32`: rounded to tf32 on the way to shared memory.
    Tf32,
    /// `CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ`: the same.
    Tf32Ftz,
}

/// How 16-byte chunks lie in shared memory, by the bits of their address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TensorSwizzle {
    /// In order.
    #[default]
    None,
    /// Bit 4 is combined with bit 7, by exclusive or.
    B32,
    /// Bits 4 and 5 with bits 7 and 8.
    B64,
    /// Bits 4 to 6 with bits 7 to 9.
    B128,
}

/// How elements lie in global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TensorInterleave {
    /// As the strides say.
    #[default]
    None,
    /// In slices of 16 bytes. Not supported here.
    B16,
    /// In slices of 32 bytes. Not supported here.
    B32,
}

/// How much the L2 cache fetches at a time: changes no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TensorL2Promotion {
    /// What is asked for.
    #[default]
    None,
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
    /// 256 bytes.
    B256,
}

/// What a load puts in the place of elements outside the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TensorFill {
    /// Zeros.
    #[default]
    Zeros,
    /// NaN, of floating-point types.
    Nan,
}

/// A tensor in global memory, and the box of it that one copy moves. Dimension 0 is the one whose elements lie side
/// by side.
///
/// ```
/// # use emulator::{Device, TensorElement, TensorMapDescription, TensorSwizzle};
/// let mut device = Device::new();
/// let a = device.alloc("A", 512 * 256 * 2);
/// let address = device.address(a).unwrap();
/// // 512 rows of 256 halves; a copy moves 64 rows of 64.
/// let map = TensorMapDescription::packed(TensorElement::F16, address, &[256, 512], &[64, 64])
///     .swizzle(TensorSwizzle::B128)
///     .encode()
///     .unwrap();
/// assert_eq!(map.bytes().len(), 128);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TensorMapDescription {
    /// The type of the elements.
    pub element: TensorElement,
    /// Where the tensor begins: a multiple of 16. Of a buffer, [`Device::address`](crate::Device::address) says it.
    pub address: u64,
    /// Elements in each dimension: 1 to 5 numbers from 1 to 2³².
    pub sizes: Vec<u64>,
    /// Bytes from an element to the next one in dimensions 1 and above: multiples of 16 below 2⁴⁰.
    pub strides: Vec<u64>,
    /// Elements of a box in each dimension: 1 to 256. Those of dimension 0 have a multiple of 16 bytes.
    pub box_sizes: Vec<u32>,
    /// In each dimension, the step from an element of the box to the next that is moved: 1 to 8. That of dimension 0 is
    /// ignored.
    pub element_strides: Vec<u32>,
    /// How elements lie in global memory.
    pub interleave: TensorInterleave,
    /// How they lie in shared memory.
    pub swizzle: TensorSwizzle,
    /// What the L2 cache fetches.
    pub l2_promotion: TensorL2Promotion,
    /// What stands for elements outside the tensor.
    pub fill: TensorFill,
}

/// A field that `tensormap.replace` names; some with the number of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapField {
    Address,
    Rank,
    Box(u8),
    Size(u8),
    Stride(u8),
    Step(u8),
    Element,
    Interleave,
    Swizzle,
    Fill,
}

/// A tensor map: 128 bytes, an argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TensorMap([u8; BYTES]);

impl TensorElement {
    /// Every type, in the order of the driver's numbers for them.
    pub const ALL: [TensorElement; 13] = [
        TensorElement::U8,
        TensorElement::U16,
        TensorElement::U32,
        TensorElement::S32,
        TensorElement::U64,
        TensorElement::S64,
        TensorElement::F16,
        TensorElement::F32,
        TensorElement::F64,
        TensorElement::Bf16,
        TensorElement::F32Ftz,
        TensorElement::Tf32,
        TensorElement::Tf32Ftz,
    ];

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        use TensorElement::*;
        match self {
            U8 => 1,
            U16 | F16 | Bf16 => 2,
            U32 | S32 | F32 | F32Ftz | Tf32 | Tf32Ftz => 4,
            U64 | S64 | F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        use TensorElement::*;
        matches!(self, F16 | F32 | F64 | Bf16 | F32Ftz | Tf32 | Tf32Ftz)
    }
}

impl fmt::Display for TensorElement {
    /// As PTX would say it: `bf16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TensorElement::*;
        f.write_str(match self {
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            S32 => "s32",
            U64 => "u64",
            S64 => "s64",
            F16 => "f16",
            F32 => "f32",
            F64 => "f64",
            Bf16 => "bf16",
            F32Ftz => "f32.ftz",
            Tf32 => "tf32",
            Tf32Ftz => "tf32.ftz",
        })
    }
}

impl TensorSwizzle {
    /// Bytes within which chunks change their places, and those that a row of a box may have at most; without a
    /// swizzle, a chunk, which stays where it is.
    pub(crate) fn span(self) -> u32 {
        match self {
            TensorSwizzle::None => 16,
            TensorSwizzle::B32 => 32,
            TensorSwizzle::B64 => 64,
            TensorSwizzle::B128 => 128,
        }
    }

    /// Where in shared memory a byte lies that would lie at `at` without it.
    pub(crate) fn place(self, at: u32) -> u32 {
        at ^ (at >> 3 & (self.span() - 16))
    }
}

impl TensorMapDescription {
    /// A tensor whose dimensions 1 and above have these strides, in bytes; no steps, no swizzle, filled with zeros.
    pub fn new(
        element: TensorElement,
        address: u64,
        sizes: &[u64],
        strides: &[u64],
        box_sizes: &[u32],
    ) -> TensorMapDescription {
        TensorMapDescription {
            element,
            address,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            box_sizes: box_sizes.to_vec(),
            element_strides: vec![1; sizes.len()],
            interleave: TensorInterleave::None,
            swizzle: TensorSwizzle::None,
            l2_promotion: TensorL2Promotion::None,
            fill: TensorFill::Zeros,
        }
    }

    /// The same, with nothing between the elements.
    pub fn packed(element: TensorElement, address: u64, sizes: &[u64], box_sizes: &[u32]) -> TensorMapDescription {
        let mut bytes = u64::from(element.bytes());
        let stride = |size: &u64| {
            bytes = bytes.saturating_mul(*size);
            bytes
        };
        let strides: Vec<u64> = sizes.iter().take(sizes.len().saturating_sub(1)).map(stride).collect();
        TensorMapDescription::new(element, address, sizes, &strides, box_sizes)
    }

    /// With steps from an element of the box to the next.
    pub fn element_strides(self, element_strides: &[u32]) -> TensorMapDescription {
        TensorMapDescription { element_strides: element_strides.to_vec(), ..self }
    }

    /// With chunks in other places of shared memory.
    pub fn swizzle(self, swizzle: TensorSwizzle) -> TensorMapDescription {
        TensorMapDescription { swizzle, ..self }
    }

    /// With elements in another order of global memory.
    pub fn interleave(self, interleave: TensorInterleave) -> TensorMapDescription {
        TensorMapDescription { interleave, ..self }
    }

    /// With another fetch of the L2 cache.
    pub fn l2_promotion(self, l2_promotion: TensorL2Promotion) -> TensorMapDescription {
        TensorMapDescription { l2_promotion, ..self }
    }

    /// With something else outside the tensor.
    pub fn fill(self, fill: TensorFill) -> TensorMapDescription {
        TensorMapDescription { fill, ..self }
    }

    /// The map's 128 bytes. An error says which value is beyond which limit, as where the driver gives
    /// `CUDA_ERROR_INVALID_VALUE`, or names what the emulator does not do.
    pub fn encode(&self) -> Result<TensorMap, TensorMapError> {
        self.check()?;
        Ok(TensorMap(bits::encode(self)))
    }

    /// Bytes of a box, as the driver counts them: by whole steps, those of dimension 0 among them.
    fn counted_bytes(&self) -> u64 {
        let steps = self.box_sizes.iter().zip(&self.element_strides);
        steps.fold(self.element.bytes().into(), |bytes, (size, step)| bytes.saturating_mul(u64::from(size / step)))
    }

    /// Elements that a copy moves in a dimension.
    pub(crate) fn moved(&self, dimension: usize) -> u32 {
        match dimension {
            0 => self.box_sizes[0],
            n => self.box_sizes[n].div_ceil(self.element_strides[n]),
        }
    }

    /// Bytes of a row of the box.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.moved(0) * self.element.bytes()
    }

    /// Bytes that a copy moves.
    pub(crate) fn box_bytes(&self) -> u64 {
        (1..self.sizes.len()).fold(self.row_bytes().into(), |bytes, n| bytes * u64::from(self.moved(n)))
    }
}

impl TensorMap {
    /// The bytes, as they lie in memory.
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// A map of bytes that somebody else made, the driver for instance. Whether they are one shows when it is used.
    pub fn from_bytes(bytes: [u8; BYTES]) -> TensorMap {
        TensorMap(bytes)
    }

    /// As `tensormap.replace` changes it: the value is that of its operand.
    pub(crate) fn replace(&mut self, field: MapField, value: u64) {
        bits::replace(&mut self.0, field, value);
    }

    /// What the bytes say; what is wrong with them, if they are no map.
    pub fn description(&self) -> Result<TensorMapDescription, TensorMapError> {
        let description = bits::decode(&self.0)?;
        description.check()?;
        Ok(description)
    }
}

impl fmt::Debug for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.description() {
            Ok(description) => f.debug_tuple("TensorMap").field(&description).finish(),
            Err(error) => f.debug_tuple("TensorMap").field(&error.to_string()).finish(),
        }
    }
}

impl From<TensorMap> for Argument {
    fn from(map: TensorMap) -> Argument {
        Argument::Bytes(map.0.to_vec())
    }
}
