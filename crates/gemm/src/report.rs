//! The report: one struct, as text for a person and as JSON for a program.

use std::fmt::{self, Write};

use emulator::bound::Bound;
use emulator::{TensorCount, Warning};
use serde::Serialize;

use crate::check::{Check, Sampling};
use crate::copies::Copied;
use crate::facts::{self, Facts};
use crate::form::Form;
use crate::judge::Judged;
use crate::kernel::{Kernel, Origin};
use crate::level::{Configuration, LaunchShape, Shape};
use crate::modelled::{Modelled, Otherwise, Predicted, PredictionError};
pub use crate::text::LARGEST_PRINTED;
use crate::text::{count, matrices, ratio};
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
                counters(f, &report.total)?;
                report.unverified.iter().try_for_each(|what| line(f, "unverified", what))?;
                writeln!(f)?;
                self.modelled(f)?;
            }
            Facts::Cuda { resources, timing } => {
                gpu_resources(f, resources)?;
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

    /// What the modelled GPU would make of the launch: what it needs, how much of it fits, how fast it cannot be.
    fn modelled(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Modelled { gpu, architecture, resources, ptxas, occupancy, clusters, otherwise, bound, predicted }) =
            &self.modelled
        else {
            return Ok(());
        };
        line(f, "modelled", format!("{gpu} (sm_{architecture})"))?;
        let (Some(r), Some(o)) = (resources, occupancy) else {
            line(f, "needs", format!("unknown: the compiler does not make code for sm_{architecture}"))?;
            return times_there(f, bound, predicted.as_ref());
        };
        let spills = if r.spilled_bytes == 0 { String::new() } else { format!(" ({} bytes spilled)", r.spilled_bytes) };
        let shared = format!("{} bytes of shared memory per block", r.shared_bytes);
        line(f, "needs", format!("{} registers per thread{spills}, {shared}", r.registers))?;
        let limited: Vec<String> = o.limited_by.iter().map(|resource| resource.to_string()).collect();
        let fits = format!("{} blocks = {} warps per SM, {:.0}%", o.blocks_per_sm, o.warps_per_sm, 100.0 * o.share);
        line(f, "occupancy", format!("{fits}, limited by {}", limited.join(" and ")))?;
        clusters.iter().try_for_each(|clusters| line(f, "clusters", clusters))?;
        if let (Some(ptxas), false) = (ptxas, otherwise.is_empty()) {
            line(f, "", format!("by ptxas {ptxas}, and otherwise by"))?;
            for Otherwise { ptxas, registers, blocks_per_sm, .. } in otherwise {
                let blocks = if *blocks_per_sm == 1 { "block" } else { "blocks" };
                line(f, "", format!("ptxas {ptxas}: {registers} registers, {blocks_per_sm} {blocks}"))?;
            }
        }
        times_there(f, bound, predicted.as_ref())
    }

    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Check { right, elements, wrong, worst, sampling, .. } = &self.check;
        let elements = count(*elements as u64);
        if *right {
            let share = format!("the largest error is {:.2}% of its tolerance", worst * 100.0);
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
        self.check.suggestion.iter().try_for_each(|s| line(f, "", s))
    }
}

/// The least time that a launch takes on the modelled GPU, and the time that it is predicted to take.
fn times_there(f: &mut fmt::Formatter<'_>, bound: &Bound, predicted: Option<&Predicted>) -> fmt::Result {
    let microseconds = bound.seconds * 1e6;
    line(f, "bound", format!("no launch there takes less than {microseconds:.2} µs: {}", bound.bottleneck))?;
    let Some(Predicted { microseconds, gpu, error }) = predicted else { return Ok(()) };
    line(f, "predicted", format!("{microseconds:.2} µs, from launches at other shapes on an {gpu}"))?;
    let Some(PredictionError { shapes, median }) = error else { return Ok(()) };
    line(f, "", format!("at {shapes} shapes half of such times were off by less than {:.1}%", 100.0 * median))
}

/// What is doubtful, because the books do not agree.
fn warnings(f: &mut fmt::Formatter<'_>, warnings: &[Warning]) -> fmt::Result {
    warnings.iter().try_for_each(|warning| line(f, "warning", warning.line()))
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, text: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<12}{text}")
}

fn counters(f: &mut fmt::Formatter<'_>, total: &emulator::Counters) -> fmt::Result {
    let products: u64 = total.tensor.iter().map(|count| count.multiply_adds).sum();
    let of_cores = if products > 0 { format!(", {} by tensor cores", count(2 * products)) } else { String::new() };
    line(f, "work", format!("{} FLOPs, {} by FMA{of_cores}", count(total.flops()), count(2 * fmas(total))))?;
    let (warp, thread) = (total.warp_instructions(), total.thread_instructions());
    line(f, "", format!("{} warp instructions, {} thread instructions", count(warp), count(thread)))?;
    line(f, "", format!("{} barriers (per warp)", count(total.barriers)))?;
    let split = format!("{} of {} branches", count(total.divergent_branches), count(total.branches));
    line(f, "", format!("{split} split a warp: branch efficiency {:.1}%", 100.0 * total.branch_efficiency()))?;
    line(
        f,
        "intensity",
        format!("{:.2} FLOPs per byte of the sectors that the SMs ask for", total.arithmetic_intensity()),
    )?;

    writeln!(f, "\n{}", row("", ["requests", "sectors", "per request", "ideal", "bytes"].map(String::from)))?;
    for (name, g) in [("global loads", &total.global_load), ("global stores", &total.global_store)] {
        let ideal = ratio(g.ideal_sectors, g.requests);
        let cells = [count(g.requests), count(g.sectors), ratio(g.sectors, g.requests), ideal, count(g.bytes)];
        writeln!(f, "{}", row(name, cells))?;
    }
    let bulk = &total.bulk;
    for (name, copies, bytes) in
        [("bulk loads", bulk.loads, bulk.bytes_read), ("bulk stores", bulk.stores, bulk.bytes_written)]
    {
        if copies > 0 {
            let cells = [count(copies), count(bytes / 32), ratio(bytes / 32, copies), "-".to_string(), count(bytes)];
            writeln!(f, "{}", row(name, cells))?;
        }
    }
    if total.shared_load.requests + total.shared_store.requests + total.operand_wavefronts() == 0 {
        return Ok(());
    }
    writeln!(f, "\n{}", row("", ["requests", "wavefronts", "per request", "ideal", "bytes"].map(String::from)))?;
    for (name, s) in [("shared loads", &total.shared_load), ("shared stores", &total.shared_store)] {
        let ideal = ratio(s.ideal_wavefronts, s.requests);
        let cells = [count(s.requests), count(s.wavefronts), ratio(s.wavefronts, s.requests), ideal, count(s.bytes)];
        writeln!(f, "{}", row(name, cells))?;
    }
    if total.operand_wavefronts() > 0 {
        let of_wgmma = |count: &&TensorCount| count.operand_wavefronts > 0;
        let requests = total.tensor.iter().filter(of_wgmma).map(|count| count.instructions).sum();
        let wavefronts = total.operand_wavefronts();
        let [per_request, bytes] = [ratio(wavefronts, requests), count(128 * wavefronts)];
        writeln!(f, "{}", row("of wgmma", [count(requests), count(wavefronts), per_request, "-".to_string(), bytes]))?;
    }
    Ok(())
}

fn fmas(total: &emulator::Counters) -> u64 {
    [emulator::Class::FmaF32, emulator::Class::FmaF64].map(|class| total.class(class).thread).iter().sum()
}

fn row(name: &str, cells: [String; 5]) -> String {
    let [a, b, c, d, e] = cells;
    format!("{name:<14}{a:>14}{b:>16}{c:>13}{d:>8}{e:>18}").trim_end().to_string()
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

#[cfg(test)]
mod tests {
    use emulator::{Counters, TensorType};

    use super::*;

    struct Shown(Counters);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            counters(f, &self.0)
        }
    }

    #[test]
    fn products_and_copies_beside_the_threads_have_lines_of_their_own() {
        let mut total = Counters::default();
        let plain = Shown(total.clone()).to_string();
        let tensor = &mut total.tensor[TensorType::Bf16 as usize];
        (tensor.instructions, tensor.multiply_adds, tensor.operand_wavefronts) = (8, 262_144, 96);
        (total.bulk.loads, total.bulk.bytes_read, total.bulk.stores, total.bulk.bytes_written) = (4, 49_152, 1, 2048);
        let text = Shown(total).to_string();
        let new: Vec<String> = text
            .lines()
            .filter(|line| !plain.contains(line))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            new,
            [
                "work 0 FLOPs, 0 by FMA, 524,288 by tensor cores",
                "intensity 0.00 FLOPs per byte of the sectors that the SMs ask for",
                "bulk loads 4 1,536 384.00 - 49,152",
                "bulk stores 1 64 64.00 - 2,048",
                "requests wavefronts per request ideal bytes",
                "shared loads 0 0 - - 0",
                "shared stores 0 0 - - 0",
                "of wgmma 8 96 12.00 - 12,288",
            ]
        );
    }
}
