//! What was measured to be the fastest: `press tune` writes it, and [`crate::Choice::Best`] reads it.

use std::sync::OnceLock;

use gemm::{Build, Dtype, Level, Shape};
use serde::{Deserialize, Serialize};

/// The files in `crates/summit/tuned`, one for each GPU that was measured.
const FILES: [&str; 2] =
    [include_str!("../tuned/nvidia-h200.json"), include_str!("../tuned/nvidia-h100-80gb-hbm3.json")];

/// What one GPU was the fastest with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The GPU, as its driver names it.
    pub gpu: String,
    /// Its architecture: 90 is `sm_90`.
    pub architecture: u32,
    /// The runs that measured it, the latest last. No two have the same shape, element type and level.
    pub runs: Vec<Run>,
}

/// One run of `press tune`: where, when and how, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The command.
    pub command: String,
    /// When it began.
    pub date: String,
    /// What the program was built from.
    pub commit: String,
    /// The GPU driver's version.
    pub driver: Option<String>,
    /// The CUDA version that the driver implements.
    pub cuda: Option<String>,
    /// The version of cuBLAS.
    pub cublas: Option<String>,
    /// How times were taken.
    pub timing: String,
    /// What was done about the caches.
    pub l2_policy: String,
    /// Whether it came to its end.
    pub complete: bool,
    /// The fastest configuration of each level, for each shape and element type.
    pub best: Vec<Best>,
}

/// The fastest configuration of a level at a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Element type.
    pub dtype: Dtype,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// How many products in one launch, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// The level's crate, or the kernel's name.
    pub level: String,
    /// The variant's name; empty where the level has none.
    pub variant: String,
    /// Tile sizes: `BM=32 BN=32`.
    pub tiles: String,
    /// The median of its launches, in milliseconds.
    pub ms: f64,
    /// That of cuBLAS at this shape in the same run, in milliseconds; nothing, if cuBLAS was not there.
    pub cublas_ms: Option<f64>,
}

/// The records that come with this crate.
pub fn records() -> &'static [Record] {
    static READ: OnceLock<Vec<Record>> = OnceLock::new();
    // A test reads each file: what cannot be read here was not shipped.
    READ.get_or_init(|| FILES.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

impl Best {
    /// The sizes of a product.
    pub fn shape(&self) -> Shape {
        Shape { m: self.m, n: self.n, k: self.k }
    }

    /// The level's build; nothing, if it is another level's, or if the level has changed its names.
    pub fn build(&self, level: &'static Level) -> Option<Build> {
        if self.level == level.name { level.build_named(self.dtype, &self.variant, &self.tiles) } else { None }
    }
}

impl Record {
    /// Everything on record.
    pub fn best(&self) -> impl Iterator<Item = &Best> {
        self.runs.iter().flat_map(|run| &run.best)
    }

    /// Adds a run. What it measured replaces what earlier runs say of the same shapes, element types and levels.
    pub fn add(&mut self, run: Run) {
        let key = |one: &Best| (one.dtype, one.shape(), one.batch, one.level.clone());
        let same = |a: &Best, b: &Best| key(a) == key(b);
        for earlier in &mut self.runs {
            earlier.best.retain(|old| !run.best.iter().any(|new| same(old, new)));
        }
        self.runs.retain(|earlier| !earlier.best.is_empty());
        self.runs.push(run);
    }
}
