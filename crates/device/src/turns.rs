//! Several programs timed in turns: a card that has grown warm, or that is at its power limit, is as slow for one as for the next.

use cudarc::driver::{CudaEvent, CudaFunction, LaunchConfig};
use cudarc::nvrtc::Ptx;
use gemm::problem::Problem;
use gemm::task::{Operand, Task};
use gemm::{Dtype, Error, Shape};

use crate::arguments::Arguments;
use crate::cuda::{Gpu, Operands, Unloaded, failed};
use crate::ffi;
use crate::nvrtc;
use crate::vendor::Vendor;
use gemm::timing::Timing;

/// What is launched again and again, with matrices of its own on the GPU.
pub struct Contender<'a>(Box<dyn Fn() -> Result<(), Error> + 'a>);

/// Launches shorter than so many milliseconds come behind a pause of the GPU, of so many nanoseconds for each. Until it ends, the host
/// has submitted all of them; else their times would be those of submitting.
const SHORT: (f64, u64) = (0.05, 25_000);
/// That pause.
const PAUSE: &str = "
.version 6.0
.target sm_60
.address_size 64
.visible .entry pause(.param .u64 nanoseconds) {
  .reg .u64 %start, %now, %long;
  .reg .pred %more;
  ld.param.u64 %long, [nanoseconds];
  mov.u64 %start, %globaltimer;
AGAIN:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %more, %now, %long;
  @%more bra AGAIN;
  ret;
}
";

/// A kernel of one thread that lets time pass.
#[derive(Debug)]
pub struct Pause(CudaFunction);

impl Pause {
    /// For this GPU.
    ///
    /// # Errors
    /// Where the driver does not load it.
    pub fn new(gpu: &Gpu) -> Result<Pause, Error> {
        let pause = gpu.context().load_module(Ptx::from_src(PAUSE)).and_then(|module| module.load_function("pause"));
        pause.map(Pause).map_err(|e| failed("loading the pause", e))
    }

    /// Before so many launches of which one takes so many milliseconds.
    fn before(&self, gpu: &Gpu, launches: usize, one: f64) -> Result<(), Error> {
        if one >= SHORT.0 { Ok(()) } else { self.pass(gpu, SHORT.1 * launches as u64) }
    }

    /// Has the GPU's own stream do nothing for so many nanoseconds.
    ///
    /// # Errors
    /// What the driver answers to the launch.
    pub fn pass(&self, gpu: &Gpu, nanoseconds: u64) -> Result<(), Error> {
        let one_thread = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        let arguments = Arguments::new(&[Operand::U64(nanoseconds)], ([0; 3], [0; 3]), 0);
        let paused = arguments.and_then(|arguments| ffi::launch(gpu.stream(), &self.0, one_thread, &arguments.slots));
        paused.map_err(|e| failed("pausing", e))
    }
}

/// How long contenders are timed.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Rounds, in each of which every contender has a turn.
    pub rounds: usize,
    /// Milliseconds that a turn is to take.
    pub turn_ms: f64,
    /// Launches that a turn has at least and at most.
    pub launches: [usize; 2],
}

impl Pace {
    /// For a record that compares a few kernels at a few shapes.
    pub const THOROUGH: Pace = Pace { rounds: 12, turn_ms: 4.0, launches: [3, 20] };
    /// For a record of hundreds of shapes.
    pub const QUICK: Pace = Pace { rounds: 6, turn_ms: 1.0, launches: [2, 10] };
    /// The same for launches of a few microseconds, which take tenths of them more or less from one turn to the next.
    pub const BRIEF: Pace = Pace { rounds: 24, ..Pace::QUICK };

    /// Launches of a turn of which one takes so many milliseconds.
    pub fn in_a_turn(&self, milliseconds: f64) -> usize {
        let [least, most] = self.launches;
        ((self.turn_ms / milliseconds.max(1e-3)) as usize).clamp(least, most)
    }
}

/// Launches that are under way.
pub(crate) struct Batch(CudaEvent);

impl Batch {
    /// Waits for their end.
    pub(crate) fn done(&self) -> Result<(), Error> {
        self.0.synchronize().map_err(|e| failed("running launches", e))
    }
}

impl<'a> Contender<'a> {
    /// What is submitted by a call.
    pub(crate) fn new(submit: impl Fn() -> Result<(), Error> + 'a) -> Contender<'a> {
        Contender(Box::new(submit))
    }

    /// One that launches nothing.
    pub fn idle() -> Contender<'a> {
        Contender::new(|| Ok(()))
    }

    /// Milliseconds of so many launches, one after the other.
    ///
    /// # Errors
    /// The first that a launch gives.
    pub fn timed(&self, gpu: &Gpu, launches: usize) -> Result<Vec<f64>, Error> {
        gpu.timed(&self.0, launches)
    }

    /// So many launches, submitted and not waited for.
    ///
    /// # Errors
    /// The first that a launch gives.
    pub(crate) fn batch(&self, gpu: &Gpu, launches: u32) -> Result<Batch, Error> {
        (0..launches).try_for_each(|_| self.0())?;
        let end = gpu.stream().record_event(None).map_err(|e| failed("submitting launches", e))?;
        Ok(Batch(end))
    }

    /// A kernel.
    ///
    /// # Errors
    /// As of a run: what the driver refuses, and where the GPU has no room for the matrices.
    pub fn kernel(gpu: &'a Gpu, task: &Task, problem: &Problem) -> Result<Contender<'a>, Error> {
        let loaded = gpu.load(task, nvrtc::find).map_err(Unloaded::error)?;
        let operands = Operands::of(gpu, problem)?;
        let launch = gpu.launcher(&loaded.functions, task, &operands)?;
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

/// Times of all, one after the other as the host submits them.
///
/// # Errors
/// The first that a launch gives.
pub fn in_turns(gpu: &Gpu, contenders: &[&Contender], of: (Shape, Dtype), pace: Pace) -> Result<Vec<Timing>, Error> {
    take_turns(gpu, contenders, of, pace, None)
}

/// Times of all, in rounds: in each one every contender has its turn, forwards and backwards by turns, with a launch that does not count
/// before those that do.
///
/// # Errors
/// The first that a launch gives.
pub(crate) fn take_turns(
    gpu: &Gpu,
    contenders: &[&Contender],
    (shape, dtype): (Shape, Dtype),
    pace: Pace,
    pause: Option<&Pause>,
) -> Result<Vec<Timing>, Error> {
    let mut times = vec![Vec::new(); contenders.len()];
    for round in 0..pace.rounds {
        let order: Vec<usize> = (0..contenders.len()).collect();
        let turns: Vec<usize> = if round % 2 == 0 { order } else { order.into_iter().rev().collect() };
        for turn in turns {
            let one = contenders[turn].timed(gpu, 2)?[1];
            let launches = pace.in_a_turn(one);
            pause.map_or(Ok(()), |pause| pause.before(gpu, launches, one))?;
            times[turn].extend(contenders[turn].timed(gpu, launches)?);
        }
    }
    Ok(times.into_iter().map(|times| Timing::of(times, &shape, gpu.peak(dtype))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_a_few_milliseconds() {
        assert_eq!([0.0, 0.01, 0.5, 2.0, 100.0].map(|ms| Pace::THOROUGH.in_a_turn(ms)), [20, 20, 8, 3, 3]);
        assert_eq!([0.0, 0.01, 0.5, 2.0, 100.0].map(|ms| Pace::QUICK.in_a_turn(ms)), [10, 10, 2, 2, 2]);
    }
}
