//! Where the matrices of `wmma` lie, before a warp loads or stores one: at one place for all its lanes, in shared or global
//! memory, and as far apart and as aligned as the manual wants it. (An H100 ends a launch that loads from shared memory
//! rows that do not begin at multiples of 16 bytes, and gives other numbers for strides that are odd.)

use crate::global::locate;
use crate::machine::lanes::each;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::machine::verdict::words::fault;
use crate::program::{Extended, Fragment, LOCAL_WINDOW, SHARED_WINDOW, Space, in_window};
use crate::{Fault, FaultKind};

impl Worker<'_> {
    /// `extended` reads the address and the stride.
    pub(crate) fn check_fragment(
        &self,
        warp: &Warp,
        extended: &Extended,
        fragment: Fragment,
        (mask, at): (u32, u32),
    ) -> Result<(), Box<Fault>> {
        let [address, stride] = [0, 1].map(|n| extended.reads[n]);
        let of = |lane: usize| [address, stride].map(|(file, slot)| warp.wide(file, slot, lane));
        let first = mask.trailing_zeros() as usize & 31;
        let [base, stride] = of(first);
        let (address, bits) = (base.wrapping_add(fragment.offset as u64), u64::from(fragment.bits));
        let apart = stride as u32 as u64 * bits / 8;
        let wrong = if let Some(other) = each(mask).find(|lane| of(*lane) != [base, stride]) {
            of_two_lanes(first, other)
        } else if fragment.space == Space::Generic && in_window(address, LOCAL_WINDOW) {
            of_local_memory()
        } else if !apart.is_multiple_of(fragment.apart.into()) || !(stride * bits).is_multiple_of(8) {
            of_stride(stride as u32 as u64, apart, fragment)
        } else if !address.is_multiple_of(fragment.align.into()) {
            self.of_pointer(address, fragment)
        } else {
            return Ok(());
        };
        let (kind, what, hint) = wrong;
        let site = self.site_of(warp, first as u32, at);
        let verb = if site.opcode.starts_with("wmma.store") { "store" } else { "load" };
        Err(fault(kind, format!("{verb} of a matrix {what}"), site, &hint))
    }

    fn of_pointer(&self, address: u64, fragment: Fragment) -> (FaultKind, String, String) {
        let align = fragment.align;
        let shared = match fragment.space {
            Space::Shared => Some(address),
            _ => in_window(address, SHARED_WINDOW).then(|| address - SHARED_WINDOW),
        };
        let (buffer, offset) = locate(address);
        let place = match (shared, self.context.memory.buffers.get(buffer)) {
            (Some(at), _) => self.in_shared_words(at.wrapping_sub(self.state.base) as u32),
            (None, Some(memory)) => format!("{} at offset {offset}", memory.name),
            (None, None) => format!("address {address:#x}"),
        };
        (
            FaultKind::Misaligned,
            format!("that begins at {place}, which is no multiple of {align} bytes"),
            format!(
                "a tile begins at a multiple of {align} bytes, {} elements: the array by `__align__({align})`, and each tile in it",
                align * 8 / fragment.bits
            ),
        )
    }
}

fn of_two_lanes(first: usize, other: usize) -> (FaultKind, String, String) {
    (
        FaultKind::Trap,
        format!("by one warp, whose lanes {first} and {other} pass different pointers or strides"),
        "all lanes of a warp pass one pointer and one stride: an index of `threadIdx.x / 32`, not of `threadIdx.x`"
            .to_string(),
    )
}

fn of_local_memory() -> (FaultKind, String, String) {
    (
        FaultKind::Trap,
        "in local memory, and not in shared or global memory".to_string(),
        "each thread has an array of its own, and a matrix is one for the warp: make the array `__shared__`"
            .to_string(),
    )
}

fn of_stride(stride: u64, apart: u64, fragment: Fragment) -> (FaultKind, String, String) {
    let elements = u64::from(fragment.apart * 8 / fragment.bits);
    (
        FaultKind::Misaligned,
        format!("with a stride of {stride} elements, {apart} bytes, which is no multiple of {} bytes", fragment.apart),
        format!(
            "the leading dimension is a multiple of {elements} elements: pad the rows to {}, or copy tiles to shared memory",
            stride.next_multiple_of(elements)
        ),
    )
}
