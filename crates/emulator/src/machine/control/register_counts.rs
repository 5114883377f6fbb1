//! `setmaxnreg`: warpgroups give registers back, and take more. All four warps of a warpgroup do it alike, and what they have
//! in the end fits on the multiprocessor.

use crate::machine::lanes::LANES;
use crate::machine::state::block::Registers;
use crate::machine::state::warp::{GROUP, Warp};
use crate::machine::state::worker::Worker;
use crate::machine::verdict::words::{fault, place};
use crate::{Fault, FaultKind};
/// Registers that a thread may have.
const MOST: u32 = 255;
/// Registers of a multiprocessor.
const POOL: u32 = 1 << 16;

fn often(times: u32) -> String {
    match times {
        0 => "never".into(),
        1 => "once".into(),
        many => format!("{many} times"),
    }
}

impl Worker<'_> {
    pub(crate) fn set_registers(&mut self, warp: &Warp, mask: u32, (count, at): (u32, u32)) -> Result<(), Box<Fault>> {
        if mask != warp.live {
            let message = format!(
                "registers set by {} of the {} live lanes of warp {}",
                mask.count_ones(),
                warp.live.count_ones(),
                warp.number
            );
            let site = self.site_of(warp, mask.trailing_zeros(), at);
            return Err(fault(FaultKind::Barrier, message, site, "all threads of a warpgroup execute it together"));
        }
        let warps = self.state.warps.len();
        self.state.registers.resize(warps, Registers::default());
        let own = &mut self.state.registers[warp.number as usize];
        *own = Registers { times: own.times + 1, count, at };
        Ok(())
    }

    /// Registers for each thread that a warp keeps from the launch on: as many as the bounds of the launch leave. 0, where there are none.
    fn launched_registers(&self) -> u32 {
        let program = self.context.program;
        let bound = |name: &str| program.bounds.get(name)?.iter().try_fold(1, |all: u32, part| all.checked_mul(*part));
        let of_blocks = || {
            let threads = bound("maxntid").or(bound("reqntid"))?.checked_mul(bound("minnctapersm")?)?;
            Some(POOL.checked_div(threads)? & !7)
        };
        bound("maxnreg").or_else(of_blocks).unwrap_or(0).min(MOST)
    }

    /// All warps have ended: have those of each warpgroup done alike, and does it fit?
    pub(crate) fn check_registers(&self) -> Result<(), Box<Fault>> {
        if self.state.registers.is_empty() {
            return Ok(());
        }
        let site = |warp: usize, at: u32| self.context.site(self.state.block, (warp * LANES) as u32, at);
        let (mut all, mut last) = (0, None);
        for (number, group) in self.state.registers.chunks(GROUP).enumerate() {
            let first = GROUP * number;
            let Some(some) = group.iter().position(|warp| warp.times > 0) else {
                all += self.launched_registers() * (group.len() * LANES) as u32;
                continue;
            };
            let unlike = |warp: &Registers| (warp.times, warp.count) != (group[some].times, group[some].count);
            if let Some(other) = group.iter().position(unlike) {
                let here = site(first + some, group[some].at);
                let message = match group[other].times == group[some].times {
                    true => format!(
                        "registers set to {} by warp {}, and to {} by warp {} of the same warpgroup",
                        group[some].count,
                        first + some,
                        group[other].count,
                        first + other
                    ),
                    false => format!(
                        "registers set at {} by warp {} {}, and by warp {} of the same warpgroup {}",
                        place(&here),
                        first + some,
                        often(group[some].times),
                        first + other,
                        often(group[other].times)
                    ),
                };
                let hint = "a warpgroup is four warps in a row: does the branch that leads here part them?";
                return Err(fault(FaultKind::Barrier, message, here, hint));
            }
            all += group[some].count * (group.len() * LANES) as u32;
            last = Some((first, group[some].at));
        }
        // Registers are given to a warp in eights, and a block has no more than it was launched with.
        let (each, threads) =
            (self.launched_registers().next_multiple_of(8), (self.state.registers.len() * LANES) as u32);
        let limit = if each == 0 { POOL } else { POOL.min(each.saturating_mul(threads)) };
        match last {
            Some((warp, at)) if all > limit => {
                let launched = if each == 0 {
                    String::new()
                } else {
                    format!(": {each} for each of {threads} threads at the launch")
                };
                let message =
                    format!("registers set to {all} for the warpgroups of a thread block, of {limit}{launched}");
                let hint = "those that need few give more back: by `setmaxnreg.dec`, before others take them";
                Err(fault(FaultKind::Barrier, message, site(warp, at), hint))
            }
            _ => Ok(()),
        }
    }
}
