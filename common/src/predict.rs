//! Predicted times: a few numbers for each shipped configuration, fitted by `lab calibrate` to what was measured on a GPU.
//!
//! A prediction is no measurement and no bound: it is what launches of this configuration took elsewhere, extended by how much of each kind of
//! work this shape has. How far such predictions were off, at shapes that their numbers were not fitted to, is on record beside them.

use std::sync::OnceLock;

use rung::{Build, Decomposition, Dtype, Shape};
use serde::{Deserialize, Serialize};

/// The files that `lab calibrate` made, one for each GPU that was measured.
const FILES: [&str; 1] = [include_str!("../tuned/nvidia-h200-times.json")];

/// What a launch's time is made of, in the order of [`terms`].
pub const TERMS: [&str; 12] = [
    "a launch",
    "a round of blocks",
    "a step along K of a block, one SM's blocks one after the other",
    "a step along K of a round of blocks",
    "the third, where rows of B are not whole vectors of 16 bytes",
    "the fourth, where rows of B are not whole vectors of 16 bytes",
    "10^6 bytes of A and B",
    "10^6 bytes of C",
    "10^6 bytes of A, B and C beyond what the L2 cache keeps",
    "a block, one SM's blocks one after the other",
    "10^6 bytes of tiles of A and B that blocks copy",
    "10^6 bytes of sums of parts of K",
];

/// Bytes of A, B and C that stay in the L2 cache from one launch to the next, about: less than its size, as it keeps other things, too.
const KEPT: f64 = 40e6;

/// What one GPU's times are predicted from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The GPU, as its driver names it.
    pub gpu: String,
    /// Its architecture: 90 is `sm_90`.
    pub architecture: u32,
    /// Its streaming multiprocessors.
    pub sms: u32,
    /// The command that made this from the records.
    pub command: String,
    /// The records: files of `lab survey`, with what they say of themselves.
    pub records: Vec<String>,
    /// For each type of element, how far predictions and choices were off.
    pub errors: Vec<Off>,
    /// The configurations.
    pub configurations: Vec<Numbers>,
}

/// How far predictions of a type were off, at shapes to which they were not fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Off {
    /// Element type.
    pub dtype: Dtype,
    /// Shapes on record.
    pub shapes: usize,
    /// The median of the relative errors of all predicted times.
    pub median: f64,
    /// Of the configurations that took at most twice as long as the fastest.
    pub median_of_the_fast: f64,
    /// The time of the fastest, relative to that of the chosen one: the geometric mean.
    pub chosen: f64,
    /// The same at the shape where it is the least.
    pub chosen_at_worst: f64,
}

/// A configuration, and what its times are made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Element type.
    pub dtype: Dtype,
    /// The level's crate.
    pub level: String,
    /// The variant's name; empty where the level has none.
    pub variant: String,
    /// Tile sizes: `BM=32 BN=32`.
    pub tiles: String,
    /// Blocks that one SM of this GPU holds.
    pub blocks_per_sm: u32,
    /// Microseconds of each of [`TERMS`], none negative.
    pub microseconds: [f64; TERMS.len()],
}

/// The models that come with this crate.
pub fn models() -> &'static [Model] {
    static READ: OnceLock<Vec<Model>> = OnceLock::new();
    // A test reads each file: what cannot be read here was not shipped.
    READ.get_or_init(|| FILES.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

/// How much of each of [`TERMS`] a launch has, on a GPU with so many SMs that hold so many of its blocks each.
pub fn terms(build: &Build, blocks_per_sm: u32, sms: u32, shape: &Shape) -> [f64; TERMS.len()] {
    let Shape { m, n, k } = *shape;
    let (launch, dtype) = (build.launch(shape), build.configuration.dtype);
    let tile = launch.tile;
    let (tiles, parts) = (launch.tiles(shape), u64::from(build.parts(shape)));
    let steps = u64::from(k.div_ceil(tile.k));
    let (sms, room) = (u64::from(sms), u64::from(sms) * u64::from(blocks_per_sm.max(1)));
    let blocks = tiles * parts;
    // Full rounds, and the blocks of the last one spread evenly.
    let in_turn = (blocks / room * u64::from(blocks_per_sm.max(1)) + (blocks % room).div_ceil(sms)) as f64;
    let rounds = blocks.div_ceil(room) as f64;
    let of_a_block = steps.div_ceil(parts) as f64;
    let [work, serial, rounds, in_turn] = match build.level.needs.decomposition {
        Decomposition::StreamK(size) => {
            let size = u64::from(build.configuration.tiles[size]) as f64;
            let (tiles, steps) = (tiles as f64, steps as f64);
            [tiles / sms as f64 * steps, tiles / size * steps, (tiles / size).ceil(), tiles / sms as f64]
        }
        _ => [in_turn * of_a_block, rounds * of_a_block, rounds, in_turn],
    };
    let (input, output) = (dtype.input.bytes() as f64, dtype.output.bytes() as f64);
    let elements = |rows: u32, columns: u32| f64::from(rows) * f64::from(columns);
    let (inputs, c) = ((elements(m, k) + elements(k, n)) * input, elements(m, n) * output);
    let vector = 16 / dtype.input.bytes() as u32;
    let ragged = if n.is_multiple_of(vector) { 0.0 } else { 1.0 };
    let copied = (tiles * steps * u64::from(tile.m + tile.n) * u64::from(tile.k)) as f64 * input;
    let sums = if parts > 1 { (tiles * parts * u64::from(tile.m) * u64::from(tile.n)) as f64 * input } else { 0.0 };
    let beyond = (inputs + c - KEPT).max(0.0);
    [
        1.0,
        rounds,
        work,
        serial,
        work * ragged,
        serial * ragged,
        inputs / 1e6,
        c / 1e6,
        beyond / 1e6,
        in_turn,
        copied / 1e6,
        sums / 1e6,
    ]
}

impl Numbers {
    /// Microseconds that a launch is predicted to take, on a GPU with so many SMs.
    pub fn microseconds(&self, build: &Build, sms: u32, shape: &Shape) -> f64 {
        let terms = terms(build, self.blocks_per_sm, sms, shape);
        self.microseconds.iter().zip(terms).map(|(one, count)| one * count).sum()
    }

    /// What they are the numbers of: type, level, variant, tile sizes.
    pub fn name(&self) -> (Dtype, String, String, String) {
        (self.dtype, self.level.clone(), self.variant.clone(), self.tiles.clone())
    }
}

/// What a configuration is called, as its [`Numbers`] call it: type, level, variant, tile sizes.
pub fn name(build: &Build) -> (Dtype, String, String, String) {
    let configuration = &build.configuration;
    let variant = configuration.variant.to_string();
    (configuration.dtype, build.level.name.to_string(), variant, configuration.tiles.to_string())
}
