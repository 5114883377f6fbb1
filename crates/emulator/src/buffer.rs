//! Buffers of a device, as a program names them.

/// A handle to a buffer in a device's global memory. Whatever is done with it, it is never more than an error: also when
/// the buffer has been freed, or is another device's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer {
    pub(crate) device: u64,
    pub(crate) index: u32,
}
