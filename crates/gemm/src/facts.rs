//! What a device is to do beside the product, and what it knows of a launch.

use serde::Serialize;

use crate::matrix::Matrix;
use crate::timing::Timing;

/// What a launch gives back.
#[derive(Debug, Clone)]
pub struct Ran {
    /// C, M × N; what the kernel did not write is NaN.
    pub c: Matrix,
    /// What is known about the launch.
    pub facts: Facts,
    /// Inputs that hold something else than before; a GPU does not say.
    pub overwritten: Vec<&'static str>,
    /// What a preparation left that is to be read: [`Task::found`](crate::task::Task::found) bytes.
    pub found: Vec<u8>,
}

/// What a device knows about a launch.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Facts {
    /// From a GPU: what the driver says, and times.
    Cuda {
        /// Registers, shared memory and occupancy.
        resources: Resources,
        /// Times of repeated launches, unless they were not asked for.
        timing: Option<Timing>,
    },
    /// From the emulator: counts, and no time.
    Emulator(Box<emulator::Report>),
}

/// What the driver says about a kernel on this GPU.
#[derive(Debug, Clone, Serialize)]
pub struct Resources {
    /// Whose ptxas made the machine code: registers differ from one to another.
    pub ptxas: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread: spills.
    pub local_bytes: u32,
    /// Bytes of shared memory per block, static and dynamic.
    pub shared_bytes: u32,
    /// Blocks that fit on one SM.
    pub blocks_per_sm: u32,
    /// Warps that these blocks are.
    pub warps_per_sm: u32,
    /// Warps that an SM can hold.
    pub max_warps_per_sm: u32,
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
    /// Emulator: the GPU whose tensor cores' arithmetic it is, 90 for sm_90.
    pub architecture: u32,
}

impl Extras {
    /// With the emulator's own limit, and the first thread block first.
    pub fn new(time: bool, sanitize: bool) -> Extras {
        let schedule = emulator::Schedule::FirstFirst;
        Extras { time, sanitize, instruction_limit: emulator::Launch::INSTRUCTION_LIMIT, schedule, architecture: 90 }
    }
}
