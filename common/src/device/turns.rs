//! Several programs timed in turns: a card that has grown warm, or that is at its power limit, is as slow for one as for the next.

use rung::Error;
use rung::problem::Problem;
use rung::task::Task;

use super::cuda::{Gpu, Operands, Unloaded};
use super::vendor::Vendor;
use crate::kernel::nvrtc;
use crate::timing::{self, Timing};

/// What is launched again and again, with matrices of its own on the GPU.
pub struct Contender<'a>(Box<dyn Fn() -> Result<(), Error> + 'a>);

impl<'a> Contender<'a> {
    /// A kernel.
    ///
    /// # Errors
    /// As of a run: what the driver refuses, and where the GPU has no room for the matrices.
    pub fn kernel(gpu: &'a Gpu, task: &Task, problem: &Problem) -> Result<Contender<'a>, Error> {
        let loaded = gpu.load(task, nvrtc::find).map_err(Unloaded::error)?;
        let operands = Operands::of(gpu, problem)?;
        let launch = gpu.launcher(&loaded.function, task, &operands)?;
        // The matrices stay where they are as long as it may be launched.
        Ok(Contender(Box::new(move || launch().map(|()| _ = &operands))))
    }

    /// The vendor's product.
    ///
    /// # Errors
    /// Where the GPU has no room for the matrices.
    pub fn vendor(gpu: &'a Gpu, vendor: &'a Vendor, problem: &Problem) -> Result<Contender<'a>, Error> {
        let operands = Operands::of(gpu, problem)?;
        let (dtype, shape, form) = (problem.dtype, problem.shape, problem.form);
        Ok(Contender(Box::new(move || vendor.submit(dtype, &shape, &form, operands.addresses(gpu)))))
    }
}

/// Times of all, in rounds: in each one every contender has its turn, forwards and backwards by turns, with a launch that does not count
/// before those that do.
///
/// # Errors
/// The first that a launch gives.
pub fn in_turns(gpu: &Gpu, contenders: &[Contender], problem: &Problem) -> Result<Vec<Timing>, Error> {
    let mut times = vec![Vec::new(); contenders.len()];
    for round in 0..timing::ROUNDS {
        let order: Vec<usize> = (0..contenders.len()).collect();
        let turns: Vec<usize> = if round % 2 == 0 { order } else { order.into_iter().rev().collect() };
        for turn in turns {
            let Contender(run) = &contenders[turn];
            let one = gpu.timed(run, 2)?[1];
            times[turn].extend(gpu.timed(run, timing::in_a_turn(one))?);
        }
    }
    Ok(times.into_iter().map(|times| Timing::of(times, &problem.shape, gpu.peak(problem.dtype))).collect())
}
