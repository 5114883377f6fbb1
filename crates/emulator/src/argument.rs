//! What a kernel is given.

use crate::Buffer;

/// A kernel argument. It must have the size of the kernel's parameter.
///
/// Numbers and buffers convert into one: `[out.into(), 4096u32.into(), 0.5f32.into()]`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Argument {
    /// The address of a buffer.
    Buffer(Buffer),
    /// The address of a byte of a buffer, counted from the buffer's start.
    Within(Buffer, u64),
    /// A 32-bit integer, signed or not.
    U32(u32),
    /// A 64-bit integer, signed or not.
    U64(u64),
    /// A float.
    F32(f32),
    /// A double.
    F64(f64),
    /// A structure, or any other value, as its bytes lie. Pointers in it come from [`Device::address`](crate::Device::address).
    Bytes(Vec<u8>),
}

macro_rules! converts {
    ($($from:ty => |$value:ident| $argument:expr;)*) => { $(
        impl From<$from> for Argument {
            fn from($value: $from) -> Argument {
                $argument
            }
        }
    )* };
}

converts! {
    Buffer => |buffer| Argument::Buffer(buffer);
    u32 => |value| Argument::U32(value);
    i32 => |value| Argument::U32(value as u32);
    u64 => |value| Argument::U64(value);
    i64 => |value| Argument::U64(value as u64);
    f32 => |value| Argument::F32(value);
    f64 => |value| Argument::F64(value);
    Vec<u8> => |bytes| Argument::Bytes(bytes);
    &[u8] => |bytes| Argument::Bytes(bytes.to_vec());
}
