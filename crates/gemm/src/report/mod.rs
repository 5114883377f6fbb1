//! The report: what a run found out, with all its numbers by their names; as text for a person, and as JSON for a program.

mod text;

use serde::Serialize;

pub use self::text::WRONG;
use crate::check::{Check, Sampling};
use crate::copies::Copied;
use crate::counted::Counted;
use crate::facts::{self, Facts};
use crate::form::Form;
use crate::judge::Judged;
use crate::kernel::Kernel;
use crate::level::{Configuration, LaunchShape, Shape};
use crate::modelled::Modelled;
use crate::numbers::{Label, Number, Numbers};
use crate::sums::Summed;
pub use crate::text::LARGEST_PRINTED;
use crate::timing::Timing;

/// What a run found out.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The level's crate, or the file of another kernel.
    pub level: String,
    /// Its idea.
    pub title: String,
    /// The sizes.
    pub shape: Shape,
    /// And the product's form, where it is not the plain one.
    #[serde(skip_serializing_if = "Form::is_plain")]
    pub form: Form,
    /// Seed of A and B.
    pub seed: u64,
    /// Element type, variant and tile sizes.
    pub configuration: Configuration,
    /// Where the PTX comes from.
    pub kernel: Kernel,
    /// The device's name: a GPU's, or `emulator`.
    pub device: String,
    /// What a modelled GPU would make of the launch; nothing on a real one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modelled: Option<Modelled>,
    /// Grid, block and tile.
    pub launch: LaunchShape,
    /// What was copied before it, to where tensor maps can say it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Copied>,
    /// Is the product right?
    pub check: Check,
    /// Inputs that hold something else after the launch, as far as the device says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overwritten: Vec<&'static str>,
    /// What the kernel found out about the matrices, and what it did therefore; nothing, where they are as usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The counted operations in relation to the 2·M·N·K of the product, where that is worth a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_product: Option<f64>,
    /// How the kernel's instructions sum products, where somebody asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<Summed>,
    /// What the emulator says of the kernel, where a GPU ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// What the device knows.
    pub facts: Facts,
    /// A, B and C, row-major, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrices: Option<[Vec<f64>; 3]>,
    /// The kernel's text with counters in the margin, if asked for.
    #[serde(skip)]
    pub annotated: Option<String>,
}

/// A report with its numbers beside it, as JSON has it.
#[derive(Debug, Clone, Serialize)]
pub struct Named<R> {
    /// The report.
    #[serde(flatten)]
    pub report: R,
    /// All its numbers.
    pub numbers: Numbers,
}

impl Report {
    /// The report as one JSON object.
    pub fn json(&self) -> String {
        let named = Named { report: self, numbers: self.numbers() };
        serde_json::to_string_pretty(&named).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
    }

    /// All its numbers, in the order of its lines.
    pub fn numbers(&self) -> Numbers {
        let mut numbers = self.launched();
        numbers.extend(checked(&self.check).0);
        match &self.facts {
            Facts::Emulator(report) => {
                let counted = Counted { total: &report.total, of_product: self.of_product };
                numbers.extend(counted.numbers().0);
                numbers.extend(self.modelled.iter().flat_map(|modelled| modelled.numbers().0));
                numbers.extend(self.barriers_a_step(report.total.barriers));
            }
            Facts::Cuda { resources, timing } => {
                numbers.extend(on_a_gpu(resources).0);
                numbers.extend(timing.iter().flat_map(|timing| timed(timing).0));
            }
        }
        numbers
    }

    /// Of the launch.
    fn launched(&self) -> Numbers {
        let (grid, block) = (self.launch.grid.count(), self.launch.block.count());
        Numbers(vec![Number::stated("blocks in the grid", grid), Number::stated("threads per block", block)])
    }

    /// How often a warp meets a barrier in a step along K.
    fn barriers_a_step(&self, barriers: u64) -> Option<Number> {
        let launch = &self.launch;
        let warps = launch.grid.count() * launch.block.count().div_ceil(32);
        let steps = warps * u64::from(self.shape.k.div_ceil(launch.tile.k.max(1)));
        (steps > 0).then(|| Number::new("barriers a step", barriers as f64 / steps as f64, 2, Label::Counted))
    }
}

/// Of the check of the product.
fn checked(check: &Check) -> Numbers {
    let mut numbers = vec![
        Number::counted("elements", check.elements as u64),
        Number::counted("wrong elements", check.wrong as u64),
        Number::new("largest error", check.worst * 100.0, 2, Label::Counted).of("% of its tolerance"),
    ];
    if let Some(Sampling { products, rows, columns, certain, .. }) = &check.sampling {
        numbers.push(Number::stated("random products", *products as u64));
        numbers.push(Number::stated("rows that were compared", *rows as u64));
        numbers.push(Number::stated("columns that were compared", *columns as u64));
        numbers.push(Number::new("error that is certainly found", *certain, 1, Label::Stated).of("tolerances"));
    }
    Numbers(numbers)
}

/// Of a kernel on a GPU, by its driver.
fn on_a_gpu(r: &facts::Resources) -> Numbers {
    let measured = |name, value: u32| Number::stated(name, value).being(Label::Measured);
    let occupancy = 100.0 * f64::from(r.warps_per_sm) / f64::from(r.max_warps_per_sm);
    Numbers(vec![
        measured("registers per thread", r.registers),
        measured("bytes of local memory per thread", r.local_bytes),
        measured("bytes of shared memory per block", r.shared_bytes),
        measured("blocks per SM", r.blocks_per_sm),
        measured("warps per SM", r.warps_per_sm),
        measured("most warps per SM", r.max_warps_per_sm),
        Number::new("occupancy", occupancy, 0, Label::Measured).of("%"),
    ])
}

/// Of the times of launches.
fn timed(timing: &Timing) -> Numbers {
    let measured = |name, value, digits| Number::new(name, value, digits, Label::Measured);
    let mut numbers = vec![
        measured("time", timing.median_ms, 4).of("ms"),
        measured("launches", timing.launches as f64, 0),
        measured("shortest time", timing.min_ms, 4).of("ms"),
        measured("longest time", timing.max_ms, 4).of("ms"),
        measured("spread of the times", timing.spread * 100.0, 1).of("%"),
        measured("rate", timing.gflops, 1).of("GFLOP/s"),
    ];
    if let (Some(peak), Some(share)) = (&timing.peak, timing.of_peak) {
        numbers.push(measured("share of the peak", share * 100.0, 1).of("%"));
        numbers.push(Number::new("peak", peak.gflops(), 0, Label::Bound).of("GFLOP/s"));
        numbers.push(measured("SMs", f64::from(peak.multiprocessors), 0));
        numbers.push(Number::stated("FMA per clock", peak.fma_per_clock));
        numbers.push(measured("highest clock", f64::from(peak.clock_mhz), 0).of("MHz"));
    }
    Numbers(numbers)
}
