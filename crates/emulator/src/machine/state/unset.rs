//! Registers that are read before they are written, as a thread block starts. They are followed as unwritten memory is.

use super::block::BlockState;
use super::context::Context;
use super::product_registers::ProductRegisters;
use super::shadow::Taint;
use crate::machine::lanes::{LANES, Lanes, each};
use crate::origin::{Origin, Place};
use crate::program::File;

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
            warp.group = ProductRegisters::of(program).filter(|_| context.sanitize);
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
                        let thread = warp.number * LANES as u32 + lane as u32;
                        let origin = Origin { place: Place::Register, at: u32::MAX, thread, block: self.block };
                        let origin = taint.note(origin);
                        taint.set(file, slot, lane, (whole(file), false), origin);
                    }
                }
            }
            warp.taint = taint;
        }
    }
}
