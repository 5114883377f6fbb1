//! The report: one struct, as text for a person and as JSON for a program.

use std::fmt::{self, Write};

use emulator::bound::{Assumptions, Bound, bound};
use emulator::gpu::Gpu;
use emulator::occupancy::{Occupancy, cluster_occupancy, occupancy};
use emulator::{TensorCount, Warning};
use serde::Serialize;

use crate::check::{Check, Sampling};
use crate::facts::{self, Facts};
use crate::form::Form;
use crate::judge::Judged;
use crate::kernel::{Kernel, Origin, Resources};
use crate::level::{Configuration, LaunchShape, Shape};
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

/// What a modelled GPU would make of a launch.
#[derive(Debug, Clone, Serialize)]
pub struct Modelled {
    /// The GPU's name.
    pub gpu: &'static str,
    /// Its architecture: 90 is `sm_90`.
    pub architecture: u32,
    /// What a thread and a block need there, if it is known: by ptxas, with the launch's dynamic shared memory.
    pub resources: Option<Resources>,
    /// The version of the ptxas that these are by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptxas: Option<String>,
    /// Blocks per SM and what limits them, if the resources are known.
    pub occupancy: Option<Occupancy>,
    /// Clusters that are resident at a time, of a launch that has them, if the resources and the GPU's clusters are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Clusters>,
    /// Other versions of ptxas by which more or fewer blocks fit, as far as the kernel's file records them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
    /// The least time that the counted work needs there.
    pub bound: Bound,
}

/// Clusters of thread blocks, each on the SMs of one part of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Clusters {
    /// Blocks of a cluster.
    pub blocks: u32,
    /// Clusters that are resident on the GPU at a time, if its parts are alike. A card of which more is switched off in one part than
    /// in another may hold fewer.
    pub resident: u32,
}

/// What another version of ptxas makes of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Otherwise {
    /// Its version.
    pub ptxas: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes per thread that are spilled.
    pub spilled_bytes: u32,
    /// Blocks that fit on an SM.
    pub blocks_per_sm: u32,
}

impl Modelled {
    /// A kernel's launch and the work that it did, on a modelled GPU.
    pub fn of(
        gpu: &'static Gpu,
        kernel: &Kernel,
        shape: &Shape,
        launch: &LaunchShape,
        work: &emulator::Report,
    ) -> Modelled {
        // ptxas knows static shared memory only; the launch, all of it.
        let with_dynamic = |r: &Resources| Resources { shared_bytes: r.shared_bytes.max(work.shared_bytes), ..*r };
        let resources = kernel.resources.get(&gpu.sm()).map(with_dynamic);
        let threads = launch.block.count() as u32;
        let fits = |registers, shared_bytes| occupancy(gpu, threads, registers, shared_bytes);
        let occupancy = resources.map(|r| fits(r.registers, r.shared_bytes));
        let blocks = u32::try_from(work.cluster.count()).unwrap_or(u32::MAX);
        let clusters = resources.filter(|_| blocks > 1).and_then(|r| {
            let resident = cluster_occupancy(gpu, threads, r.registers, r.shared_bytes, blocks)?;
            Some(Clusters { blocks, resident })
        });
        let mut otherwise = Vec::new();
        if let (Some(here), Some(occupancy)) = (&resources, &occupancy) {
            for generation in &kernel.generations {
                let Some(&Resources { registers, spilled_bytes, .. }) = generation.resources.get(&gpu.sm()) else {
                    continue;
                };
                let blocks_per_sm = fits(registers, here.shared_bytes).blocks_per_sm;
                if blocks_per_sm != occupancy.blocks_per_sm {
                    let ptxas = generation.version.clone();
                    otherwise.push(Otherwise { ptxas, registers, spilled_bytes, blocks_per_sm });
                }
            }
        }
        let ptxas = resources.map(|_| kernel.compiler.clone());
        let equal_blocks = launch.has_equal_blocks(shape);
        let bound = bound(work, gpu, Assumptions { equal_blocks, cold_l2: false });
        Modelled { gpu: gpu.name, architecture: gpu.sm(), resources, ptxas, occupancy, clusters, otherwise, bound }
    }
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
        line(f, "kernel", format!("{}, {}", self.kernel.entry, self.configuration))?;
        line(f, "PTX", self.origin())?;
        line(f, "device", &self.device)?;
        line(f, "launch", self.launch)?;
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
        let Some(Modelled { gpu, architecture, resources, ptxas, occupancy, clusters, otherwise, bound }) =
            &self.modelled
        else {
            return Ok(());
        };
        line(f, "modelled", format!("{gpu} (sm_{architecture})"))?;
        let (Some(r), Some(o)) = (resources, occupancy) else {
            line(f, "needs", format!("unknown: the compiler does not make code for sm_{architecture}"))?;
            return self.bound(f, bound);
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
        self.bound(f, bound)
    }

    fn bound(&self, f: &mut fmt::Formatter<'_>, bound: &Bound) -> fmt::Result {
        let microseconds = bound.seconds * 1e6;
        line(f, "bound", format!("no launch there takes less than {microseconds:.2} µs: {}", bound.bottleneck))
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

impl fmt::Display for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clusters { blocks, resident } = self;
        write!(f, "{resident} of {blocks} blocks at a time on the whole GPU, or fewer where its parts differ")
    }
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
    use std::collections::BTreeMap;

    use emulator::gpu::{A100, H200};
    use emulator::{Counters, TensorType};

    use super::*;
    use crate::level::Tile;
    use crate::{Dim3, Shape};

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

    #[test]
    fn a_launch_of_clusters_says_how_many_fit() {
        let resources = Resources { registers: 168, spilled_bytes: 0, shared_bytes: 1024 };
        let kernel = Kernel {
            entry: "k".into(),
            origin: Origin::Given,
            compiler: "13.0.88".into(),
            optimization: None,
            resources: BTreeMap::from([(90, resources), (80, resources)]),
            generations: Vec::new(),
            options: Vec::new(),
            ptx: String::new(),
        };
        let shape = Shape { m: 1024, n: 1024, k: 64 };
        let launch =
            LaunchShape { grid: Dim3::xy(64, 1), block: Dim3::xy(384, 1), tile: Tile { m: 128, n: 128, k: 64 } };
        let mut work = emulator::Report::new(launch.grid, launch.block, Counters::default());
        work.shared_bytes = 200 * 1024;
        let of = |gpu, work: &emulator::Report| Modelled::of(gpu, &kernel, &shape, &launch, work).clusters;
        assert_eq!(of(&H200, &work), None, "there are none");
        work.cluster = Dim3::xy(2, 1);
        let clusters = of(&H200, &work);
        assert_eq!(clusters, Some(Clusters { blocks: 2, resident: 66 }));
        assert_eq!(
            clusters.map(|clusters| clusters.to_string()),
            Some("66 of 2 blocks at a time on the whole GPU, or fewer where its parts differ".to_string())
        );
        work.cluster = Dim3::xy(2, 4);
        assert_eq!(of(&H200, &work), Some(Clusters { blocks: 8, resident: 16 }));
        work.shared_bytes = 100 * 1024;
        assert_eq!(of(&H200, &work), Some(Clusters { blocks: 8, resident: 16 }), "registers leave one block an SM");
        assert_eq!(of(&A100, &work), None, "which has no clusters");
    }
}
