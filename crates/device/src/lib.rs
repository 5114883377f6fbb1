//! Where a kernel runs: a CUDA GPU, or the emulator. No terminal, and no command line: what a person is to be told is handed out.
//!
//! - [`cuda`]: a GPU, through the driver; [`functions`]: kernels there; [`copies`]: what is copied for a launch
//! - [`nvrtc`]: the compiler, [`ptxas`]: several versions of its assembler
//! - [`timing`]: how times are taken; [`turns`]: several kernels in turns, [`survey`]: many at many shapes
//! - [`vendor`]: cuBLAS, as a yardstick; [`energy`]: what a product costs in joules
//! - [`inventory`]: what of CUDA is on this machine
//! - [`peers`]: several GPUs, and NCCL among them; [`pinned`]: matrices of the host that copy engines read and write

mod arguments;
mod backend;
pub mod copies;
pub mod cuda;
pub mod energy;
mod ffi;
pub mod functions;
pub mod inventory;
mod libraries;
mod notes;
pub mod nvrtc;
pub mod peers;
pub mod pinned;
pub mod ptxas;
pub mod survey;
pub mod timing;
pub mod turns;
pub mod vendor;

pub use backend::Backend;
use emulator::gpu::Gpu;
pub use ffi::{Memory, unwritten};
use gemm::Error;
use gemm::emulated::{self, Watch};
use gemm::facts::{Extras, Ran};
use gemm::fit::Card;
use gemm::problem::Problem;
use gemm::task::Task;

/// A device that runs kernels.
#[derive(Debug)]
pub enum Device {
    /// A GPU that answers through the CUDA driver.
    Cuda(cuda::Gpu),
    /// The CPU, running the PTX in lockstep warps.
    Emulator,
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
            Device::Emulator => emulated::NAME.to_string(),
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

    /// The GPU as far as it decides what can run there; on the emulator the one that it models.
    pub fn card(&self, modelled: &'static Gpu) -> Card {
        match self {
            Device::Cuda(gpu) => Card::named(gpu.name(), gpu.architecture()),
            Device::Emulator => Card::modelled(modelled),
        }
    }

    /// Runs a kernel on the problem.
    pub fn launch(&self, task: &Task, problem: &Problem, extras: Extras) -> Result<Ran, Error> {
        self.launch_watched(task, problem, extras, |_| (), |_| ())
    }

    /// The same. `watch` may ask the emulator to say how far it is; `note` is told what a person should know.
    pub fn launch_watched(
        &self,
        task: &Task,
        problem: &Problem,
        extras: Extras,
        watch: Watch,
        note: impl FnOnce(&str),
    ) -> Result<Ran, Error> {
        match self {
            Device::Cuda(gpu) => match gpu.load(task, nvrtc::find) {
                Ok(loaded) => gpu.launch(loaded, task, problem, extras.time),
                Err(cuda::Unloaded::Refused(why)) if gpu.falls_back => {
                    note(&format!("running on the emulator, because {why}"));
                    emulated::launch(task, problem, extras, watch)
                }
                Err(unloaded) => Err(unloaded.error()),
            },
            Device::Emulator => emulated::launch(task, problem, extras, watch),
        }
    }
}
