//! What is wrong with a warpgroup's product, put into words.

use super::words::{fault, place};
use crate::machine::state::warp::{GROUP, State, Wait, Warp};
use crate::machine::state::worker::Worker;
use crate::program::Access;
use crate::{Fault, FaultKind};

const TOGETHER: &str =
    "a warpgroup is four warps in a row, from a multiple of 4 on: all of its threads execute it together";

impl Worker<'_> {
    /// Not all lanes of a warp execute what a warpgroup executes together.
    #[inline(never)]
    pub(crate) fn convict_part_of_warp(&self, warp: &Warp, mask: u32, at: u32) -> Box<Fault> {
        let site = self.site_of(warp, mask.trailing_zeros() & 31, at);
        let message = format!("{} by lanes {mask:#010x} of warp {} only", site.opcode, warp.number);
        fault(FaultKind::Barrier, message, site, TOGETHER)
    }

    /// The thread block ends before the warpgroup does.
    #[inline(never)]
    pub(crate) fn convict_small_group(&self, warp: &Warp, at: u32) -> Box<Fault> {
        let site = self.site_of(warp, 0, at);
        let (first, all) = (warp.number as usize / GROUP * GROUP, self.state.warps.len());
        let message =
            format!("{} by a warpgroup of warps {first} to {}, in a block of {all} warps", site.opcode, first + 3);
        fault(FaultKind::Barrier, message, site, TOGETHER)
    }

    #[inline(never)]
    pub(crate) fn convict_ended_warp(&self, warp: &Warp, at: u32, ended: u32) -> Box<Fault> {
        let site = self.site_of(warp, 0, at);
        let message = format!("{} by warp {}, and warp {ended} of its warpgroup has ended", site.opcode, warp.number);
        fault(FaultKind::Barrier, message, site, TOGETHER)
    }

    /// Warps of one warpgroup are at different products.
    #[inline(never)]
    pub(crate) fn convict_other_product(&self, warp: &Warp, at: u32, (number, there): (u32, u32)) -> Box<Fault> {
        let site = self.site_of(warp, 0, at);
        let other = self.context.site(self.state.block, number * 32, there);
        let message = format!(
            "warp {} multiplies at {}, and warp {number} of its warpgroup at {}",
            warp.number,
            place(&site),
            place(&other)
        );
        let mut fault = fault(FaultKind::Barrier, message, site, TOGETHER);
        fault.other = Some(("another warp of the warpgroup:".to_string(), other));
        fault
    }

    /// A warp waits for another of its warpgroup, which will not come.
    #[inline(never)]
    pub(crate) fn convict_lonely_product(&self, warp: &Warp, at: u32) -> Box<Fault> {
        let site = self.site_of(warp, 0, at);
        let first = warp.number as usize / GROUP * GROUP;
        let absent = |number: &usize| {
            let other = &self.state.warps[*number];
            !other.paths.last().is_some_and(|path| path.wait == Wait::Group)
        };
        let other = (first..first + GROUP).find(absent).unwrap_or(first);
        let ended = self.state.warps.get(other).is_some_and(|warp| warp.state == State::Done);
        let how = if ended { "has ended" } else { "is elsewhere" };
        let message = format!("{} waits for warp {other} of its warpgroup, which {how}", site.opcode);
        let mut fault = fault(FaultKind::Barrier, message, site, TOGETHER);
        let there = self.state.warps.get(other).and_then(|warp| self.where_it_waits(self.state.block, warp));
        fault.other = there.map(|site| ("it waits here:".to_string(), site));
        fault
    }

    /// Threads name different operands.
    #[inline(never)]
    pub(crate) fn convict_unlike(&self, warp: &Warp, lane: u32, at: u32, what: &str) -> Box<Fault> {
        let site = self.site_of(warp, lane, at);
        let message = format!("threads of a warpgroup say differently {what}: thread {} and the first", site.thread);
        fault(
            FaultKind::Barrier,
            message,
            site,
            "descriptors and predicates of a product are the same in all 128 threads",
        )
    }

    #[inline(never)]
    pub(crate) fn convict_groups(&self, warp: &Warp, at: u32, (own, number, theirs): (u32, u32, u32)) -> Box<Fault> {
        let site = self.site_of(warp, 0, at);
        let message = format!(
            "warp {} has committed {own} groups of products, and warp {number} of its warpgroup {theirs}",
            warp.number
        );
        fault(FaultKind::Barrier, message, site, TOGETHER)
    }

    /// An operand that does not lie in shared memory as it is described.
    #[inline(never)]
    pub(crate) fn convict_descriptor(&self, warp: &Warp, access: &Access, kind: FaultKind, what: &str) -> Box<Fault> {
        let site = self.site_of(warp, 0, access.at);
        let hint = match kind {
            FaultKind::OutOfBounds => {
                "start, leading and stride offset are in units of 16 bytes: is the offset that of eight rows, or of K?"
            }
            _ => {
                "addresses and offsets have 18 bits, of which the upper 14 are in the descriptor: shifted by 4, and masked"
            }
        };
        fault(kind, format!("operand of `{}`: {what}", site.opcode), site, hint)
    }
}
