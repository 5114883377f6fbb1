//! The report for a person: lines, of which the numbers are those of the report's list.

use std::fmt;

use emulator::Warning;

use super::Report;
use crate::check::{Check, Sampling};
use crate::counted::Counted;
use crate::facts::{self, Facts};
use crate::kernel::Origin;
use crate::level::Shape;
use crate::numbers::Numbers;
use crate::text::{line, matrices};
use crate::timing::Timing;

/// Where the words of a report are explained: its last line.
const WORDS: &str = "explained one by one in book/src/counters.md";

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Shape { m, n, k }, numbers) = (self.shape, self.numbers());
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
        self.found.iter().try_for_each(|found| line(f, "found", found))?;
        match &self.facts {
            Facts::Emulator(report) => {
                self.verdict(f, &numbers)?;
                warnings(f, &report.warnings)?;
                writeln!(f)?;
                write!(f, "{}", Counted { total: &report.total, of_product: self.of_product })?;
                self.sums.iter().try_for_each(|summed| line(f, "sums", summed))?;
                report.unverified.iter().try_for_each(|what| line(f, "unverified", what))?;
                writeln!(f)?;
                self.modelled.iter().try_for_each(|modelled| write!(f, "{modelled}"))?;
            }
            Facts::Cuda { resources, timing } => {
                gpu_resources(f, resources, &numbers)?;
                self.sums.iter().try_for_each(|summed| line(f, "sums", summed))?;
                self.verdict(f, &numbers)?;
                if let Some(judged) = &self.judged {
                    line(f, "judged", judged.line())?;
                    warnings(f, &judged.warnings)?;
                }
                timing
                    .iter()
                    .try_for_each(|timing| times(f, timing, &numbers, self.configuration.dtype.to_string()))?;
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

    fn verdict(&self, f: &mut fmt::Formatter<'_>, numbers: &Numbers) -> fmt::Result {
        let Check { right, sampling, .. } = &self.check;
        let text = match self.configuration.dtype.sum.whole() {
            _ if !right => WRONG,
            Some(_) => RIGHT_EXACTLY,
            None => RIGHT,
        };
        line(f, "check", numbers.fill(text))?;
        if let Some(Sampling { certain, .. }) = sampling {
            line(f, "", numbers.fill(SAMPLED))?;
            let certain = if *certain <= 1.0 { "more than" } else { "{error that is certainly found} times" };
            let found = format!("a single element off by {certain} its tolerance is found, wherever it is");
            line(f, "", numbers.fill(&found))?;
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

fn gpu_resources(f: &mut fmt::Formatter<'_>, r: &facts::Resources, numbers: &Numbers) -> fmt::Result {
    line(f, "resources", numbers.fill(RESOURCES))?;
    line(f, "", format!("by the ptxas that made the machine code: {}", r.ptxas))?;
    line(f, "occupancy", numbers.fill(OCCUPANCY))
}

fn times(f: &mut fmt::Formatter<'_>, timing: &Timing, numbers: &Numbers, dtype: String) -> fmt::Result {
    line(f, "time", numbers.fill(TIME))?;
    let of_peak = match timing.of_peak {
        Some(_) => format!(", {{share of the peak}}% of the {dtype} peak of {{peak}} GFLOP/s"),
        None => String::new(),
    };
    line(f, "rate", numbers.fill(&format!("{{rate}} GFLOP/s{of_peak}")))?;
    if timing.peak.is_some() {
        line(f, "peak", numbers.fill(PEAK))?;
    }
    line(f, "policy", timing.policy)
}

const RIGHT: &str = "right: {elements} elements, the largest error is {largest error}% of its tolerance";
const RIGHT_EXACTLY: &str = "right: {elements} elements, each of them exact";
/// Of a product that is not right, with its numbers in the place of their names.
pub const WRONG: &str = "WRONG: {wrong elements} of {elements} elements";
const SAMPLED: &str = "by {random products} random products, and {rows that were compared} rows and \
                       {columns that were compared} columns element by element";
const RESOURCES: &str = "{registers per thread} registers and {bytes of local memory per thread} bytes of local memory per \
                         thread, {bytes of shared memory per block} bytes of shared memory per block";
const OCCUPANCY: &str = "{blocks per SM} blocks per SM: {warps per SM} of {most warps per SM} warps, {occupancy}%";
const TIME: &str = "{time} ms, median of {launches} launches (from {shortest time} to {longest time}, spread \
                    {spread of the times}%)";
const PEAK: &str = "{SMs} SMs x {FMA per clock} FMA x 2 FLOPs x {highest clock} MHz, the highest clock";
