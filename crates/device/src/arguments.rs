//! A kernel's arguments on a CUDA GPU.

use cudarc::driver::{DriverError, sys};
use gemm::task::{Operand, is_plain, mapped};

use crate::ffi::tensor_map;

/// A kernel's arguments, with A, B and C at some addresses.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// In its order. Each has the room of a tensor map.
    pub(crate) slots: Vec<sys::CUtensorMap>,
    /// Whether the kernel for plain products does for them.
    pub(crate) plain: bool,
}

impl Arguments {
    /// The arguments for matrices at these addresses; the driver makes the tensor maps, which see the matrices at the addresses `seen`:
    /// others, where a matrix is copied first. `room` is the address of what memory there is beside them.
    pub(crate) fn new(
        operands: &[Operand],
        (addresses, seen): ([u64; 3], [u64; 3]),
        room: u64,
    ) -> Result<Arguments, DriverError> {
        let number = |value: u64| {
            let mut slot = sys::CUtensorMap { opaque: [0; 16] };
            // Little-endian, as every host of a CUDA GPU is: an argument of 32 bits is the first half of 64.
            slot.opaque[0] = value;
            slot
        };
        let words = |words: &[u64]| {
            let mut slot = sys::CUtensorMap { opaque: [0; 16] };
            slot.opaque[..words.len()].copy_from_slice(words);
            slot
        };
        let argument = |operand: &Operand| {
            Ok(match *operand {
                Operand::A => number(addresses[0]),
                Operand::B => number(addresses[1]),
                Operand::C => number(addresses[2]),
                Operand::U32(value) => number(value.into()),
                Operand::U64(value) => number(value),
                Operand::Half(bits) => number(bits.into()),
                Operand::F32(value) => number(value.to_bits().into()),
                Operand::F64(value) => number(value.to_bits()),
                Operand::Room(_) => number(room),
                Operand::Batch(batch) => words(&batch.words()),
                Operand::Epilogue(epilogue) => words(&epilogue.words(addresses[2])),
                Operand::Mapped { .. } => number(mapped(operands, seen).into()),
                Operand::Map(map) => match map.description(map.role.of(seen)) {
                    Some(description) => tensor_map(&description)?,
                    None => number(0),
                },
            })
        };
        let slots = operands.iter().map(argument).collect::<Result<_, _>>()?;
        Ok(Arguments { slots, plain: is_plain(operands, seen) })
    }
}
