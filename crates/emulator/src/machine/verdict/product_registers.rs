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
                    "a product is under way until `wgmma.wait_group` has waited for its group; is it committed, and does the wait leave fewer groups?",
                    Some(("the product:".to_string(), other(then))),
                )
            }
        };
        let mut fault = fault(FaultKind::Race, message, site, hint).because(Cause::Registers);
        fault.other = other;
        fault
    }
}
