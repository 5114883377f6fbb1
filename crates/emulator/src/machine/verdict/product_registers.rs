//! Registers that a product of a warpgroup uses: before each instruction that may touch them, and in words.

use super::words::{fault, place};
use crate::machine::state::product_registers::Hazard;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Alu, File, Op, Slot, registers};
use crate::{Cause, Fault, FaultKind};

impl Worker<'_> {
    /// A warp is about to execute an instruction that may touch registers in flight.
    #[inline(always)]
    pub(crate) fn watch_flight(&self, warp: &mut Warp, at: u32) -> Result<(), Box<Fault>> {
        match self.context.program.grouped.touching[at as usize] {
            true => self.touch_flight(warp, at),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn touch_flight(&self, warp: &mut Warp, at: u32) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let Some(mut flight) = warp.group.take() else { return Ok(()) };
        let grouped = |slot: Slot| program.grouped.slots.get(slot as usize).is_some_and(|grouped| *grouped);
        let found = match program.code[at as usize].op {
            Op::Alu { code: Alu::Mov32, d, a, .. } => flight.moves(d, a, at),
            _ => registers(program, at)
                .into_iter()
                .filter(|(file, _, slot)| *file == File::R && grouped(*slot))
                .try_for_each(|(_, role, slot)| flight.touches(role, slot, at)),
        };
        warp.group = Some(flight);
        found.map_err(|hazard| self.convict_hazard(warp, at, hazard))
    }

    /// Groups of products that a warp has committed, and up to which one it has waited.
    fn flight_of(&self, warp: &Warp) -> Option<(u32, u32)> {
        warp.group.as_ref().map(|flight| (flight.committed, flight.retired))
    }

    #[inline(never)]
    pub(crate) fn convict_hazard(&self, warp: &Warp, at: u32, hazard: Hazard) -> Box<Fault> {
        let site = self.site_of(warp, 0, at);
        let other = |at: u32| self.site_of(warp, 0, at);
        let product = site.opcode.starts_with("wgmma.mma_async");
        let (message, hint, other) = match hazard {
            Hazard::NoFence => (
                format!("warp {} multiplies at {} with no `wgmma.fence` before", warp.number, place(&site)),
                "a warpgroup's first product comes behind a `wgmma.fence`: it orders what was done to registers before",
                None,
            ),
            Hazard::Unfenced(then) => (
                format!(
                    "registers of warp {} used at {}, and by the product at {}, with no `wgmma.fence` between",
                    warp.number,
                    place(&other(then)),
                    place(&site)
                ),
                "what instructions did to accumulators or to A in registers is there for products behind a `wgmma.fence`",
                Some(("the registers were used here:".to_string(), other(then))),
            ),
            Hazard::Sums(then) | Hazard::Factor(then) | Hazard::Shape(then) => {
                let whose = if matches!(hazard, Hazard::Factor(_)) { "A" } else { "accumulators" };
                let now = match (product, hazard) {
                    (true, Hazard::Shape(_)) => "by a product of another shape",
                    (true, _) => "by another product",
                    (false, Hazard::Factor(_)) => "written",
                    (false, _) => "touched",
                };
                (
                    format!(
                        "race on registers of warp {}: {whose} of the product at {}, {now} at {}, no `wgmma.wait_group` between",
                        warp.number,
                        place(&other(then)),
                        place(&site)
                    ),
                    match self.flight_of(warp) {
                        Some((0, _)) => {
                            "the product is in no group: `wgmma.commit_group` behind it, then `wgmma.wait_group 0` before its registers are touched"
                        }
                        Some((_, 0)) => {
                            "no wait has ended a group of products so far: `wgmma.wait_group 0`, or one that leaves fewer groups, before its registers are touched"
                        }
                        _ => {
                            "a product is under way until `wgmma.wait_group` has waited for its group; is it committed, and does the wait leave fewer groups?"
                        }
                    },
                    Some(("the product:".to_string(), other(then))),
                )
            }
        };
        let mut fault = fault(FaultKind::Race, message, site, hint).because(Cause::Registers);
        fault.other = other;
        fault
    }
}
