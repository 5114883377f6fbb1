//! What one kernel did on one problem: a row of every table, file and picture.

use device::energy::Energy;
use emulator::Counters;
use gemm::facts::Facts;
use gemm::modelled::Modelled;
use gemm::report::Report;
use gemm::timing::Timing;
use gemm::{Dtype, Shape};
use serde::{Deserialize, Serialize};

/// A kernel on a problem. What could not be found out is `None`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The level and its variant, `cuBLAS`, or `CPU, one core`.
    pub kernel: String,
    /// Tile sizes: `BM=32 BN=32`.
    pub tiles: String,
    /// Element type; products are summed in it, too.
    pub dtype: Dtype,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// `right`, `wrong: …`, `fault: …` or `failed: …`
    pub verdict: String,
    /// What `ms` is: measured or predicted; or that only a bound is known.
    pub ms_is: Kind,
    /// Milliseconds: the median of the launches, or what the modelled GPU is predicted to take, by what was measured on such a GPU at other shapes.
    pub ms: Option<f64>,
    /// Distance of the 90th from the 10th percentile, relative to the median.
    pub spread: Option<f64>,
    /// The shortest, in milliseconds.
    pub min_ms: Option<f64>,
    /// The longest, in milliseconds.
    pub max_ms: Option<f64>,
    /// Launches measured.
    pub launches: Option<usize>,
    /// Rows of C that were computed, where the time is extended from them to all.
    #[serde(default)]
    pub timed_rows: Option<u32>,
    /// 2·M·N·K operations in that time, in 10⁹ per second.
    pub gflops: Option<f64>,
    /// The rate as a share of the GPU's peak in this type; in f32 and f64 outside the tensor cores.
    pub of_peak: Option<f64>,
    /// The rate as a share of cuBLAS's in the same run.
    pub of_vendor: Option<f64>,
    /// The share of that peak which the bound allows at most.
    #[serde(default)]
    pub most_of_peak: Option<f64>,
    /// How many times as fast as the plain loop on one core of this machine's CPU.
    #[serde(default)]
    pub speedup: Option<f64>,
    /// How many times as fast as the kernel before.
    pub step: Option<f64>,
    /// How many times as long as at the point before.
    pub growth: Option<f64>,
    /// 32-byte sectors of global memory per multiply-add that the product needs: M·N·K.
    pub sectors_per_fma: Option<f64>,
    /// Wavefronts of shared memory per multiply-add that the product needs.
    pub wavefronts_per_fma: Option<f64>,
    /// Wavefronts of shared memory per request: above 1 by wide accesses, and by bank conflicts.
    pub wavefronts_per_request: Option<f64>,
    /// FLOPs per byte between the SMs and L2.
    pub intensity: Option<f64>,
    /// Blocks per SM.
    pub blocks_per_sm: Option<u32>,
    /// Resident warps as a share of what an SM holds.
    pub occupancy: Option<f64>,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes of shared memory per block.
    pub shared_bytes: Option<u32>,
    /// Bytes per thread that are spilled to local memory, where the compiler's word is known.
    pub spilled_bytes: Option<u32>,
    /// The least time that the modelled GPU needs for the counted work, in milliseconds.
    pub bound_ms: Option<f64>,
    /// The place among a level's candidates, before any is measured.
    pub rank: Option<usize>,
    /// The unit that needs the most time, by the counts.
    pub bottleneck: Option<String>,
    /// The version of the compiler that made the PTX.
    pub ptx_by: Option<String>,
    /// The sizes that the counters are from, if others than the row's.
    pub counted_at: Option<String>,
    /// What a product costs in joules, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// GPUs over which the product is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// Bytes of A and B that a rank receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// The rate as a share of that of one GPU, times their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
}

/// What a time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Measured on a GPU, between events.
    Measured,
    /// Measured on this machine's CPU.
    Cpu,
    /// Predicted for a modelled GPU.
    Predicted,
    /// No time is known: only the least that a modelled GPU needs for the counted work.
    Bound,
}

impl Row {
    /// A row that says nothing yet.
    pub fn new(kernel: String, tiles: String, dtype: Dtype, shape: Shape, ms_is: Kind) -> Row {
        let Shape { m, n, k } = shape;
        Row {
            kernel,
            tiles,
            dtype,
            m,
            n,
            k,
            verdict: String::new(),
            ms_is,
            ms: None,
            spread: None,
            min_ms: None,
            max_ms: None,
            launches: None,
            timed_rows: None,
            gflops: None,
            of_peak: None,
            of_vendor: None,
            most_of_peak: None,
            speedup: None,
            step: None,
            growth: None,
            sectors_per_fma: None,
            wavefronts_per_fma: None,
            wavefronts_per_request: None,
            intensity: None,
            blocks_per_sm: None,
            occupancy: None,
            registers: None,
            shared_bytes: None,
            spilled_bytes: None,
            bound_ms: None,
            rank: None,
            bottleneck: None,
            ptx_by: None,
            counted_at: None,
            energy: None,
            ranks: None,
            received_bytes: None,
            efficiency: None,
        }
    }

    /// The sizes.
    pub fn shape(&self) -> Shape {
        Shape { m: self.m, n: self.n, k: self.k }
    }

    /// Whether there is a right product.
    pub fn is_right(&self) -> bool {
        self.verdict == "right"
    }

    /// Whether it is of a vendor's library.
    pub fn is_vendor(&self) -> bool {
        self.kernel.starts_with("cuBLAS")
    }

    /// The version of the vendor's library, as the row's name has it: of `cuBLASLt 13.1.0, best of 16` what stands before the comma.
    pub fn vendor_version(&self) -> Option<&str> {
        self.kernel.split([' ', ',']).nth(1).filter(|_| self.is_vendor())
    }

    /// Whether it speaks against a kernel: anything but a right product, but for a vendor's library that is not there.
    pub fn is_bad(&self) -> bool {
        !(self.is_right() || self.is_vendor() && self.verdict.starts_with("failed"))
    }

    /// The verdict of a check.
    pub fn judge(&mut self, check: &gemm::check::Check) {
        self.verdict = match (check.right, &check.suggestion) {
            (true, _) => "right".to_string(),
            (false, Some(suggestion)) => format!("wrong: {} of {}; {suggestion}", check.wrong, check.elements),
            (false, None) => format!("wrong: {} of {}", check.wrong, check.elements),
        };
    }

    /// A time, and the rate that it is.
    pub fn time(&mut self, ms: f64) {
        let flops = 2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k);
        (self.ms, self.gflops) = (Some(ms), Some(flops / ms / 1e6));
    }

    /// Over how many GPUs it is, and what each receives.
    pub fn over(&mut self, ranks: usize, received_bytes: u64) {
        (self.ranks, self.received_bytes) = (Some(ranks), Some(received_bytes));
    }

    /// `2 GPUs`; nothing for a product that is of one kernel.
    pub fn over_gpus(&self) -> String {
        match self.ranks {
            None => String::new(),
            Some(1) => "1 GPU".to_string(),
            Some(ranks) => format!("{ranks} GPUs"),
        }
    }

    /// The most operations in 10⁹ per second that the bound allows.
    pub fn most_gflops(&self) -> Option<f64> {
        let flops = 2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k);
        self.bound_ms.map(|ms| flops / ms / 1e6)
    }

    /// Measured times.
    pub fn timing(&mut self, timing: &Timing) {
        self.time(timing.median_ms);
        (self.min_ms, self.max_ms) = (Some(timing.min_ms), Some(timing.max_ms));
        (self.spread, self.launches, self.of_peak) = (Some(timing.spread), Some(timing.launches), timing.of_peak);
    }

    /// What a report says.
    pub fn fill(&mut self, report: &Report) {
        self.judge(&report.check);
        self.ptx_by = Some(report.kernel.compiler.clone());
        match &report.facts {
            Facts::Cuda { resources, timing } => {
                timing.iter().for_each(|timing| self.timing(timing));
                self.registers = Some(resources.registers);
                self.shared_bytes = Some(resources.shared_bytes);
                self.blocks_per_sm = Some(resources.blocks_per_sm);
                self.occupancy = Some(f64::from(resources.warps_per_sm) / f64::from(resources.max_warps_per_sm));
            }
            Facts::Emulator(_) => {
                self.count(report);
                if let Some(modelled) = &report.modelled {
                    self.model(modelled);
                }
            }
        }
    }

    /// The counters of an emulated run alone.
    pub fn count(&mut self, report: &Report) {
        let Facts::Emulator(counts) = &report.facts else { return };
        self.count_of(&counts.total, report.shape);
        self.bottleneck = report.modelled.as_ref().map(|modelled| modelled.bound.bottleneck.to_string());
    }

    /// Counters of a problem of this shape.
    pub fn count_of(&mut self, total: &Counters, shape: Shape) {
        let Shape { m, n, k } = shape;
        let fmas = f64::from(m) * f64::from(n) * f64::from(k);
        let per_fma = |count: u64| Some(count as f64 / fmas);
        self.sectors_per_fma = per_fma(total.global_sectors());
        self.wavefronts_per_fma = per_fma(total.shared_wavefronts());
        self.wavefronts_per_request = wavefronts_per_request(total);
        self.intensity = Some(total.arithmetic_intensity()).filter(|i| i.is_finite());
    }

    fn model(&mut self, modelled: &Modelled) {
        self.bound_ms = Some(modelled.bound.seconds * 1e3);
        if let Some(predicted) = &modelled.predicted {
            self.ms_is = Kind::Predicted;
            self.time(predicted.microseconds / 1e3);
        }
        if let (Some(resources), Some(occupancy)) = (&modelled.resources, &modelled.occupancy) {
            self.registers = Some(resources.registers);
            self.shared_bytes = Some(resources.shared_bytes);
            self.blocks_per_sm = Some(occupancy.blocks_per_sm);
            self.occupancy = Some(occupancy.share);
        }
    }
}

/// Each value once, in the order of its first.
pub fn distinct<V: PartialEq>(values: impl IntoIterator<Item = V>) -> Vec<V> {
    values.into_iter().fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}

/// Wavefronts of shared memory per request; nothing where there are no requests.
pub fn wavefronts_per_request(total: &Counters) -> Option<f64> {
    let (load, store) = (&total.shared_load, &total.shared_store);
    let requests = load.requests + store.requests;
    (requests > 0).then(|| (load.wavefronts + store.wavefronts) as f64 / requests as f64)
}
