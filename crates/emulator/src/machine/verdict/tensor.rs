//! What is wrong with copies of boxes of tensors, put into words.

use super::words::fault;
use crate::machine::state::tensor_box::TensorBox;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;
use crate::{Fault, FaultKind};

impl Worker<'_> {
    /// Bytes that are no tensor map, or not where one may be.
    #[inline(never)]
    pub(crate) fn convict_map(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        kind: FaultKind,
        (name, what): (&str, &str),
    ) -> Box<Fault> {
        let hint = match kind {
            FaultKind::Misaligned => "a tensor map is aligned to 64 bytes: `alignas(64)`, or CUtensorMap itself",
            FaultKind::Trap => {
                "is it a `const __grid_constant__ CUtensorMap`, encoded by the host, and handed over by its address?"
            }
            FaultKind::Uninitialised => "copy the map to the device before the launch",
            _ => "a tensor map is a parameter by value, or lies in constant or global memory",
        };
        let message = format!("tensor copy by the tensor map {name}, which {what}");
        fault(kind, message, self.site_of(warp, lane as u32, access.at), hint)
    }

    /// A box that cannot be copied.
    #[inline(never)]
    pub(crate) fn convict_tensor(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        kind: FaultKind,
        (tensor, what): (&TensorBox, &str),
    ) -> Box<Fault> {
        let hint = match kind {
            FaultKind::Misaligned => "a box begins at a multiple of 128 bytes of shared memory: `alignas(128)`",
            FaultKind::OutOfBounds => {
                "do the map's sizes and strides describe the buffer, and is there room for the whole box in shared memory?"
            }
            FaultKind::UseAfterFree => "free a buffer after the last launch that uses it",
            _ => "does the element type of the map have this operation?",
        };
        let message = format!("tensor copy by the map {}: the box of {} {what}", tensor.name, tensor.in_words());
        fault(kind, message, self.site_of(warp, lane as u32, access.at), hint)
    }
}
