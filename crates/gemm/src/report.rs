//! The report: one struct, as text for a person and as JSON for a program.

use std::fmt::{self, Write};

use emulator::Warning;
use serde::Serialize;

use crate::check::{Check, Sampling};
use crate::copies::Copied;
use crate::counted::Counted;
use crate::facts::{self, Facts};
use crate::form::Form;
use crate::judge::Judged;
use crate::kernel::{Kernel, Origin};
use crate::level::{Configuration, LaunchShape, Shape};
use crate::modelled::Modelled;
use crate::sums::Summed;
pub use crate::text::LARGEST_PRINTED;
use crate::text::{count, line, matrices};
use crate::timing::Timing;

/// Where the words of a report are explained: its last line.
const WORDS: &str = "explained one by one in book/src/counters.md";

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

impl Report {
    /// The report as one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { m, n, k } = self.shape;
        writeln!(f, "{}: {}", self.level, self.title)?;
        writeln!(f)?;
        line(f, "problem", format!("C ({m} x {n}) = A ({m} x {k}) * B ({k} x {n}), seed {}", self.seed))?;
        if !self.form.is_plain() {
            line(f, "form", self.form)?;
        }
        line(f, "kernel", format!("{}, {}", emulator::plain_name(&self.kernel.entry), self.configuration))?;
        line(f, "PTX", self.origin())?;
        line(f, "device", &self.device)?;
        line(f, "launch", self.launch)?;
        self.copies.iter().try_for_each(|copy| line(f, "copied", copy))?;
        match &self.facts {
            Facts::Emulator(report) => {
                self.verdict(f)?;
                warnings(f, &report.warnings)?;
                writeln!(f)?;
                write!(f, "{}", Counted { total: &report.total, of_product: self.of_product })?;
                self.sums.iter().try_for_each(|summed| line(f, "sums", summed))?;
                report.unverified.iter().try_for_each(|what| line(f, "unverified", what))?;
                writeln!(f)?;
                self.modelled.iter().try_for_each(|modelled| write!(f, "{modelled}"))?;
            }
            Facts::Cuda { resources, timing } => {
                gpu_resources(f, resources)?;
                self.sums.iter().try_for_each(|summed| line(f, "sums", summed))?;
                self.verdict(f)?;
                if let Some(judged) = &self.judged {
                    line(f, "judged", judged.line())?;
                    warnings(f, &judged.warnings)?;
                }
                timing.iter().try_for_each(|timing| times(f, timing, self.configuration.dtype.to_string()))?;
            }
        }
        for text in self.matrices.iter().map(|three| matrices(&self.shape, three)).chain(self.annotated.clone()) {
            write!(f, "\n{text}")?;
        }
        writeln!(f)?;
        line(f, "words", WORDS)
    }
}

impl Report {
    fn origin(&self) -> String {
        let how = match self.kernel.origin {
            Origin::Shipped => "shipped, made by",
            Origin::Compiled => "compiled now by",
            Origin::Given => return format!("as given, made by CUDA {}", self.kernel.compiler),
        };
        format!("{how} NVRTC {}", self.kernel.compiler)
    }

    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Check { right, elements, wrong, worst, sampling, .. } = &self.check;
        let elements = count(*elements as u64);
        if *right {
            let share = match self.configuration.dtype.sum.whole() {
                Some(_) => "each of them exact".to_string(),
                None => format!("the largest error is {:.2}% of its tolerance", worst * 100.0),
            };
            line(f, "check", format!("right: {elements} elements, {share}"))?;
        } else {
            line(f, "check", format!("WRONG: {} of {elements} elements", count(*wrong as u64)))?;
        }
        if let Some(Sampling { products, rows, columns, certain, .. }) = sampling {
            line(
                f,
                "",
                format!("by {products} random products, and {rows} rows and {columns} columns element by element"),
            )?;
            let certain = match *certain <= 1.0 {
                true => "more than its tolerance".to_string(),
                false => format!("{certain:.1} times its tolerance"),
            };
            line(f, "", format!("a single element off by {certain} is found, wherever it is"))?;
        }
        for e in &self.check.first {
            line(f, "", format!("C[{}][{}] is {:?}, and should be {:?}", e.row, e.col, e.got, e.expected))?;
        }
        self.check.stored.iter().try_for_each(|stored| line(f, "", format!("the first was stored by {stored}")))?;
        self.check.suggestion.iter().try_for_each(|s| line(f, "", s))
    }
}

/// What is doubtful, because the books do not agree.
fn warnings(f: &mut fmt::Formatter<'_>, warnings: &[Warning]) -> fmt::Result {
    warnings.iter().try_for_each(|warning| line(f, "warning", warning.line()))
}

fn gpu_resources(f: &mut fmt::Formatter<'_>, r: &facts::Resources) -> fmt::Result {
    let (registers, local, shared) = (r.registers, r.local_bytes, r.shared_bytes);
    line(
        f,
        "resources",
        format!(
            "{registers} registers and {local} bytes of local memory per thread, {shared} bytes of shared memory per block"
        ),
    )?;
    line(f, "", format!("by the ptxas that made the machine code: {}", r.ptxas))?;
    let occupancy = 100.0 * f64::from(r.warps_per_sm) / f64::from(r.max_warps_per_sm);
    let (blocks, warps, most) = (r.blocks_per_sm, r.warps_per_sm, r.max_warps_per_sm);
    line(f, "occupancy", format!("{blocks} blocks per SM: {warps} of {most} warps, {occupancy:.0}%"))
}

fn times(f: &mut fmt::Formatter<'_>, timing: &Timing, dtype: String) -> fmt::Result {
    let Timing { launches, median_ms, min_ms, max_ms, spread, gflops, .. } = timing;
    let range = format!("from {min_ms:.4} to {max_ms:.4}, spread {:.1}%", spread * 100.0);
    line(f, "time", format!("{median_ms:.4} ms, median of {launches} launches ({range})"))?;
    let mut rate = format!("{gflops:.1} GFLOP/s");
    if let (Some(peak), Some(share)) = (&timing.peak, timing.of_peak) {
        // Writing to a String cannot fail.
        let _ = write!(rate, ", {:.1}% of the {dtype} peak of {:.0} GFLOP/s", share * 100.0, peak.gflops());
    }
    line(f, "rate", rate)?;
    if let Some(peak) = &timing.peak {
        let (sms, fma, clock) = (peak.multiprocessors, peak.fma_per_clock, peak.clock_mhz);
        line(f, "peak", format!("{sms} SMs x {fma} FMA x 2 FLOPs x {clock} MHz, the highest clock"))?;
    }
    line(f, "policy", timing.policy)
}
