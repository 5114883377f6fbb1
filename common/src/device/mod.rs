//! Where a kernel runs: a CUDA GPU, or the emulator.

pub mod cuda;
pub mod emulated;
mod task;
pub mod vendor;

use serde::Serialize;

use crate::Error;
use crate::cli::Backend;
use crate::kernel::nvrtc;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::timing::Timing;
pub use task::{Operand, Task};

/// A device that runs kernels.
#[derive(Debug)]
pub enum Device {
    /// A GPU that answers through the CUDA driver.
    Cuda(cuda::Gpu),
    /// The CPU, running the PTX in lockstep warps.
    Emulator,
}

/// What a launch gives back.
#[derive(Debug, Clone)]
pub struct Ran {
    /// C, M × N; what the kernel did not write is NaN.
    pub c: Matrix,
    /// What is known about the launch.
    pub facts: Facts,
}

/// What a device knows about a launch.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Facts {
    /// From a GPU: what the driver says, and times.
    Cuda {
        /// Registers, shared memory and occupancy.
        resources: cuda::Resources,
        /// Times of repeated launches, unless they were not asked for.
        timing: Option<Timing>,
    },
    /// From the emulator: counts, and no time.
    Emulator(Box<emulator::Report>),
}

/// What to do beside the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extras {
    /// GPU: launch again and again, and take times.
    pub time: bool,
    /// Emulator: look for races and uninitialised memory.
    pub sanitize: bool,
    /// Emulator: warp instructions after which a thread block counts as stuck.
    pub instruction_limit: u64,
    /// Emulator: the order in which thread blocks and warps run.
    pub schedule: emulator::Schedule,
}

impl Extras {
    /// With the emulator's own limit, and the first thread block first.
    pub fn new(time: bool, sanitize: bool) -> Extras {
        let schedule = emulator::Schedule::FirstFirst;
        Extras { time, sanitize, instruction_limit: emulator::Launch::INSTRUCTION_LIMIT, schedule }
    }
}

impl Device {
    /// The device that `backend` asks for, and, where there was a choice, why it is this one.
    /// Only the emulator can count `by_line`.
    pub fn pick(backend: Backend, by_line: bool) -> Result<(Device, Option<String>), Error> {
        match (backend, by_line) {
            (Backend::Emulator, _) => return Ok((Device::Emulator, None)),
            (Backend::Auto, true) => {
                let note = "running on the emulator, because only it counts by line";
                return Ok((Device::Emulator, Some(note.to_string())));
            }
            (Backend::Cuda, true) => {
                let message = "`--annotate` needs counters by line, and a GPU has none";
                return Err(Error::usage(message, "use `--backend emulator`"));
            }
            (_, false) => (),
        }
        match cuda::Gpu::find() {
            Ok(gpu) => {
                let note =
                    format!("running on {}, because it answers; `--backend emulator` counts instead", gpu.name());
                Ok((Device::Cuda(gpu), (backend == Backend::Auto).then_some(note)))
            }
            Err(why) if backend == Backend::Auto => {
                Ok((Device::Emulator, Some(format!("running on the emulator, because {why}"))))
            }
            Err(why) => Err(Error::usage(
                format!("no CUDA device: {why}"),
                "`--backend emulator` runs the same kernel on the CPU",
            )),
        }
    }

    /// The same device; where the choice was ours, and the GPU's driver refuses a kernel in every form, the emulator runs it.
    pub fn falling_back(mut self, backend: Backend) -> Device {
        if let (Device::Cuda(gpu), Backend::Auto) = (&mut self, backend) {
            gpu.falls_back = true;
        }
        self
    }

    /// The GPU's name, or `emulator`.
    pub fn name(&self) -> String {
        match self {
            Device::Cuda(gpu) => gpu.name().to_string(),
            Device::Emulator => "emulator".to_string(),
        }
    }

    /// Its architecture, 90 for `sm_90`: the GPU's, or that of the GPU that the emulator models by default.
    pub fn architecture(&self) -> u32 {
        match self {
            Device::Cuda(gpu) => gpu.architecture(),
            Device::Emulator => emulator::gpu::H200.sm(),
        }
    }

    /// Its SMs: the GPU's, or those of the GPU that the emulator models by default.
    pub fn multiprocessors(&self) -> u32 {
        match self {
            Device::Cuda(gpu) => gpu.multiprocessors(),
            Device::Emulator => emulator::gpu::H200.sms,
        }
    }

    /// Runs a kernel on the problem.
    pub fn launch(&self, task: &Task, problem: &Problem, extras: Extras) -> Result<Ran, Error> {
        match self {
            Device::Cuda(gpu) => match gpu.load(task, nvrtc::find) {
                Ok(loaded) => gpu.launch(loaded, task, problem, extras.time),
                Err(cuda::Unloaded::Refused(why)) if gpu.falls_back => {
                    eprintln!("note: running on the emulator, because {why}");
                    emulated::launch(task, problem, extras)
                }
                Err(unloaded) => Err(unloaded.error()),
            },
            Device::Emulator => emulated::launch(task, problem, extras),
        }
    }
}
