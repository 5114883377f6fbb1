//! What kernels ask of memory, as the emulator counts it: the same numbers as the hardware's.

use common::road::run_level;
use device::{Device, nvrtc};
use gemm::candidate::Exam;
use gemm::facts::Facts;
use gemm::form::Form;
use gemm::problem::{Fill, Problem};
use gemm::report::Report;
use gemm::{Build, Error, Shape};
use levels::{builds, levels};

use crate::flags::How;

/// A kernel's requests to memory.
pub struct Access {
    /// The level and its variant.
    pub kernel: String,
    /// Its tile sizes.
    pub tiles: String,
    /// Requests of a warp for global memory: loads.
    pub requests: u64,
    /// Sectors of 32 bytes that they touch.
    pub sectors: u64,
    /// Those that they would touch at least, if lanes lay side by side.
    pub ideal: u64,
    /// Requests of a warp for shared memory: loads.
    pub shared: u64,
    /// Passes over the banks that they take.
    pub wavefronts: u64,
    /// Operations for each byte of the sectors that are asked for.
    pub intensity: f64,
}

/// Levels 0 to 2, with every variant.
pub fn found(how: &How, shape: Shape) -> Result<Vec<Access>, Error> {
    let chosen = levels(&["0", "1", "2"].map(String::from))?;
    builds(&chosen, how.dtype, false)?.iter().map(|build| of(build, how, shape)).collect()
}

fn of(build: &Build, how: &How, shape: Shape) -> Result<Access, Error> {
    let problem = Problem::in_form(shape, how.dtype, Form::PLAIN, Fill::Reals, how.seed)?;
    let exam = Exam { problem: &problem, seed: how.seed, reference: None };
    let report = run_level(&build.plan(shape)?, &Device::Emulator, exam, &how.options()?, nvrtc::find)?;
    Access::of(&report, &build.name(), &build.configuration.tiles.to_string())
        .ok_or_else(|| Error::usage("the emulator gave no counters", "report this"))
}

impl Access {
    /// What a report counted; nothing, where it is of a GPU.
    pub fn of(report: &Report, kernel: &str, tiles: &str) -> Option<Access> {
        let Facts::Emulator(counts) = &report.facts else { return None };
        let (global, shared) = (&counts.total.global_load, &counts.total.shared_load);
        Some(Access {
            kernel: kernel.to_string(),
            tiles: tiles.to_string(),
            requests: global.requests,
            sectors: global.sectors,
            ideal: global.ideal_sectors,
            shared: shared.requests,
            wavefronts: shared.wavefronts,
            intensity: counts.total.arithmetic_intensity(),
        })
    }
}
