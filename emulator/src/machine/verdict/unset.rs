//! Values that nobody set, other than in memory: registers that are read before they are written, and what a shuffle
//! takes from a lane that does not execute it. They are followed as unwritten memory is.

use crate::machine::control::meeting::Party;
use crate::machine::lanes::{LANES, Lanes, each};
use crate::machine::state::block::BlockState;
use crate::machine::state::product_registers::InFlight;
use crate::machine::state::shadow::{Origin, Place, Taint};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Context;
use crate::machine::state::worker::Worker;
use crate::program::{File, Op};

/// The bytes of a register.
fn whole(file: File) -> u8 {
    match file {
        File::R => 0xf,
        File::D => 0xff,
        File::P => 1,
    }
}

impl BlockState {
    /// Registers that some way through the kernel reads before it sets them hold zero, and nobody set them.
    pub(crate) fn unset_registers(&mut self, context: &Context) {
        let program = context.program;
        for warp in &mut self.warps {
            warp.group = InFlight::of(program).filter(|_| context.sanitize);
        }
        if program.unset.is_empty() {
            return;
        }
        for warp in &mut self.warps {
            let mut taint = context.sanitize.then(|| Box::new(Taint::new(program)));
            for &(file, slot) in &program.unset {
                match file {
                    File::R => warp.r[slot as usize] = Lanes::default(),
                    File::D => warp.d[slot as usize] = Lanes::default(),
                    File::P => warp.p[slot as usize] = u32::default(),
                }
                if let Some(taint) = &mut taint {
                    for lane in each(warp.live) {
                        let origin = taint.note(Origin { place: Place::Register, at: u32::MAX, lane: lane as u32 });
                        taint.set(file, slot, lane, (whole(file), false), origin);
                    }
                }
            }
            warp.taint = taint;
        }
    }
}

impl Worker<'_> {
    /// A shuffle took the values of lanes that do not execute it: `from` says which.
    pub(crate) fn taint_absent(&self, warp: &mut Warp, party: Party, from: &[usize; LANES]) {
        let Op::Shuffle { d, .. } = self.context.program.code[party.at as usize].op else { return };
        let mut taint = warp.taint.take().unwrap_or_else(|| Box::new(Taint::new(self.context.program)));
        for lane in each(party.lanes) {
            let place = Place::Lane(from[lane] as u32);
            let origin = taint.note(Origin { place, at: party.at, lane: lane as u32 });
            // No copy of anything: what it is, is undefined.
            taint.set(File::R, d, lane, (0, true), origin);
        }
        warp.taint = Some(taint);
    }
}
