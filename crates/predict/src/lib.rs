//! Predicted times: a few numbers for each shipped configuration, fitted by `press calibrate` to what was measured on a GPU.
//!
//! A prediction is no measurement and no bound: it is what launches of this configuration took elsewhere, extended by how much of each kind of
//! work this shape has, and corrected by what they took beyond that at the nearest shapes on record ([`nearby`]). Launches far from
//! all others on record may be predicted badly. How far predictions were off, at shapes that their numbers were not fitted to, is on record beside
//! them.
//!
//! Surveys of some thousand shapes are behind the numbers of the H200. `press calibrate --judge` holds them to others, drawn from seeds that came
//! after a fit (`nvidia-h200-shapes-TYPE-judge.csv` of `book/measurements/surveys.csv.zst`): it says the time of the fastest shipped
//! configuration, relative to that of the chosen one, and where that is worst.

#![forbid(unsafe_code)]

pub mod nearby;

use std::sync::OnceLock;

use archive::{Archive, Texts};
use emulator::gpu::Gpu;
use gemm::form::{Form, Layout};
use gemm::modelled::{Modelled, Predicted, PredictionError};
use gemm::{Build, Decomposition, Dtype, Neighbours, Parameter, Role, Shape};
use serde::{Deserialize, Serialize};

use nearby::{Beyond, Near, Surveyed};

/// What `press calibrate` made, a file for each GPU that was measured.
static FILES: [Archive; 1] = [Archive::new(include_bytes!("../nvidia-h200.json.zst"))];

/// What a launch's time is made of, in the order of [`terms`]. Ragged: rows are no whole vectors of 16 bytes, and kernels copy them
/// otherwise; of a single row there is no next one that a tensor map would have to find. Far: where A and B are more than half of the L2 cache keeps, parts of them come from its other half.
pub const TERMS: [&str; 34] = [
    "a launch",
    "a round of blocks",
    "a step along K of the blocks of an SM, one after the other, where A and B are whole vectors",
    "the same, where B is ragged",
    "the same, where A is ragged",
    "the same, where both are",
    "a step along K of a round of blocks, where A and B are whole vectors",
    "the same, where B is ragged",
    "the same, where A is ragged",
    "the same, where both are",
    "the same as the four, where data is far",
    "the same, where data is far and A or B is ragged",
    "a round of blocks, where C is ragged",
    "10^6 bytes of A and B",
    "10^6 bytes of C",
    "the same, where C is ragged",
    "10^6 bytes of A, B and C beyond what the L2 cache keeps",
    "10^6 bytes of tiles of A and B that blocks copy",
    "the same, where data is far",
    "the same, of what is ragged",
    "the same, of what is ragged and far",
    "the same, whose rows begin in the middle of a line",
    "the same, whose rows begin in the middle of a sector",
    "10^6 bytes of sums of parts of K",
    "a launch that splits K",
    "a block that adds a part of a tile to those of others, one after the other",
    "a step along K of the blocks of an SM, where all rows of A begin in the same bank of L1",
    "the same, where they begin in one of two banks",
    "a step along K of blocks that share the tiles which one whole round leaves",
    "10^6 bytes of C, whose rows begin in the middle of a line",
    "the same, in the middle of a sector",
    "the same, in the middle of 4 bytes",
    "a launch that copies A or B before the kernel's own",
    "10^6 bytes of what it copies",
];

/// 10⁶ bytes of A, B and C that stay in the L2 cache from one launch to the next, about: less than its size, 50 · 10⁶ on an H200.
const KEPT: f64 = 40.0;
/// 10⁶ bytes of A and B from which on parts of them are far, and from which on all of what an SM asks for may be: about.
const FAR: [f64; 2] = [20.0, 40.0];
/// Bytes of a line and of a sector.
const LINE: u64 = 128;
const SECTOR: u64 = 32;

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
    /// The records: files of `press survey`, with what they say of themselves.
    pub records: Vec<String>,
    /// For each type of element, how far predictions and choices were off.
    pub errors: Vec<Off>,
    /// For each type of element, the shapes that the records are of.
    pub surveyed: Vec<Surveyed>,
    /// The two again, of surveys whose B was stored as N × K, where times of the other one are known.
    #[serde(default)]
    pub errors_by_columns: Vec<Off>,
    /// See [`Numbers::by_columns`].
    #[serde(default)]
    pub surveyed_by_columns: Vec<Surveyed>,
    /// The configurations.
    pub configurations: Vec<Numbers>,
}

/// How far predictions of a type were off, at shapes to which they were not fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Off {
    /// Element type.
    pub dtype: Dtype,
    /// Shapes at which that was found out; where a survey was made for it after the numbers were frozen, those of that survey.
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
    /// The kernel's name.
    pub level: String,
    /// The level that has the same kernel for the plain product: the times are its times, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
    /// The variant's name; empty where the level has none.
    pub variant: String,
    /// Tile sizes: `BM=32 BN=32`.
    pub tiles: String,
    /// How its blocks share the GPU.
    #[serde(flatten)]
    pub sharing: Sharing,
    /// How far predictions at shapes that nothing was fitted to are off: the root of the mean square of relative errors, each
    /// counted as 0.5 at most.
    pub error: f64,
    /// Products of numbers in the largest of the shapes that it was measured at, M·N·K.
    #[serde(default)]
    pub most: f64,
    /// Microseconds of each of [`TERMS`], none negative.
    #[serde(with = "of_each_term")]
    pub microseconds: [f64; TERMS.len()],
    /// What launches took beyond that, at each of the shapes of [`Model::surveyed`].
    pub beyond: Beyond,
    /// What they took relative to all that, where B was stored as N × K.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_columns: Option<ByColumns>,
}

/// How the times of a configuration differ where B is stored as N × K.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByColumns {
    /// The geometric mean of the ratios of both times.
    pub factor: f64,
    /// As [`Numbers::error`], of such predictions.
    pub error: f64,
    /// What launches took beyond that factor, at each of the shapes of [`Model::surveyed_by_columns`].
    pub beyond: Beyond,
}

/// How the blocks of a configuration share a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    /// Blocks that one SM holds.
    pub blocks_per_sm: u32,
    /// Fewer blocks than that on an SM take as long for a step as so many: they wait more, and hide less.
    pub side_by_side: f64,
    /// SMs on which no block runs, because what is left of their part of the GPU is no whole cluster.
    pub idle_sms: u32,
}

/// Arrays of as many numbers as there are terms, which is more than serde's own have.
mod of_each_term {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TERMS;

    pub(super) fn serialize<S: Serializer>(numbers: &[f64; TERMS.len()], to: S) -> Result<S::Ok, S::Error> {
        numbers.as_slice().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[f64; TERMS.len()], D::Error> {
        let numbers = Vec::deserialize(from)?;
        let wrong = |numbers: Vec<f64>| format!("{} numbers, and there are {} terms", numbers.len(), TERMS.len());
        numbers.try_into().map_err(|numbers| D::Error::custom(wrong(numbers)))
    }
}

/// The models that come with this crate.
pub fn models() -> &'static [Model] {
    static READ: OnceLock<Vec<Model>> = OnceLock::new();
    // A test reads each file: what cannot be read here was not shipped.
    let texts = || FILES.iter().filter_map(|file| file.texts().ok()).flat_map(Texts::iter);
    READ.get_or_init(|| texts().filter_map(|(_, text)| serde_json::from_str(text).ok()).collect())
}

/// What predicts the times of a modelled GPU; nothing, where no GPU like it was measured.
pub fn model_of(gpu: &Gpu) -> Option<&'static Model> {
    models().iter().find(|model| model.architecture == gpu.sm() && model.sms == gpu.sms)
}

/// What a launch is predicted to take on a modelled GPU, where such launches were measured.
pub fn predicted(gpu: &Gpu, build: &Build, shape: &Shape) -> Option<Predicted> {
    let model = model_of(gpu)?;
    let dtype = build.configuration.dtype;
    let near = model.near(dtype, shape, build.configuration.specialization.layout);
    let microseconds = model.of(build)?.microseconds(build, model.sms, &near);
    let off = model.errors.iter().find(|off| off.dtype == dtype);
    let error = off.map(|off| PredictionError { shapes: off.shapes, median: off.median });
    Some(Predicted { microseconds, gpu: model.gpu.clone(), error })
}

/// Adds that to what a report says of the modelled GPU.
pub fn add(modelled: &mut Option<Modelled>, gpu: &Gpu, build: &Build, shape: &Shape) {
    if let Some(modelled) = modelled {
        modelled.predicted = predicted(gpu, build, shape);
    }
}

/// How much of each of [`TERMS`] a launch has, on a GPU with so many SMs that its blocks share like this. B is stored as the build wants it.
pub fn terms(build: &Build, sharing: &Sharing, sms: u32, shape: &Shape) -> [f64; TERMS.len()] {
    let Shape { m, n, k } = *shape;
    let (launch, dtype) = (build.launch(shape), build.configuration.dtype);
    let tile = launch.tile;
    let parts = u64::from(build.parts(shape));
    let tiles = match build.level.needs.decomposition {
        // Whole clusters: some of their blocks may have no tile.
        Decomposition::Clusters(side) | Decomposition::Persistent(_, side) => {
            let cluster = build.cluster().count() as u32;
            let [down, across] = if side == Neighbours::Below { [cluster, 1] } else { [1, cluster] };
            let whole = |size: u32, tile: u32, of: u32| u64::from(size.div_ceil(tile * of)) * u64::from(of);
            whole(m, tile.m, down) * whole(n, tile.n, across)
        }
        _ => launch.tiles(shape),
    };
    let all_steps = u64::from(k.div_ceil(tile.k));
    let (sms, held) = (u64::from(sms.saturating_sub(sharing.idle_sms).max(1)), u64::from(sharing.blocks_per_sm.max(1)));
    let side_by_side = sharing.side_by_side;
    let [rounds, work, sharers, shared] = match build.level.needs.decomposition {
        Decomposition::StreamK(size) => {
            // Whole rounds, then what is left of the tiles, shared out evenly.
            let size = u64::from(build.configuration.tiles[size]);
            let (whole, rest) = (tiles / size, tiles % size);
            let each = (rest * all_steps).div_ceil(size);
            let an_sm = (size as f64 / sms as f64).max(1.0);
            let sharers = if rest > 0 { all_steps.div_ceil(each) } else { 0 };
            let shared = if whole == 1 { each as f64 * an_sm } else { 0.0 };
            [
                whole as f64 + f64::from(rest > 0),
                (whole as f64 * all_steps as f64 + each as f64) * an_sm,
                sharers as f64,
                shared,
            ]
        }
        _ => {
            let blocks = tiles.saturating_mul(parts);
            let (full, rest) = (blocks / (sms * held), blocks % (sms * held));
            let last = if rest > 0 { (rest.div_ceil(sms) as f64).max(side_by_side) } else { 0.0 };
            let in_turn = full as f64 * (held as f64).max(side_by_side) + last;
            [full as f64 + f64::from(rest > 0), all_steps.div_ceil(parts) as f64 * in_turn, 0.0, 0.0]
        }
    };
    // Threads outside C have nothing to do where a block has no tiles to fill.
    let inside = f64::from(m.min(tile.m)) / f64::from(tile.m) * f64::from(n.min(tile.n)) / f64::from(tile.n);
    let work = if tile.k == 1 { work * inside } else { work };
    let (input, output) = (dtype.input.bytes() as f64, dtype.output.bytes() as f64);
    let elements = |rows: u64, columns: u64| (rows * columns) as f64;
    let by_maps = build.level.needs.parameters.iter().any(|parameter| matches!(parameter, Parameter::Map(_)));
    let [m, n, k] = [m, n, k].map(u64::from);
    let (inputs, c) = ((elements(m, k) + elements(k, n)) * input / 1e6, elements(m, n) * output / 1e6);
    // Rows of A, of B and of C, in bytes.
    let layout = build.configuration.specialization.layout;
    let copies = build.copies(shape, &Form { layout, ..Form::PLAIN });
    let (rows_of_b, columns_of_b) = layout.stored((k, n));
    let row = |role: Role, columns: u64| {
        // What is copied first is for the kernel as if it had come so.
        let copy = copies.iter().find(|copy| copy.role == role);
        copy.map_or(columns, |copy| copy.pitch) * dtype.input.bytes() as u64
    };
    let [of_a, of_b] = [row(Role::A, k), row(Role::B, columns_of_b)];
    let of_c = n * dtype.output.bytes() as u64;
    let is = |truth: bool| f64::from(u8::from(truth));
    let [a_ragged, b_ragged] =
        [(m, of_a), (rows_of_b, of_b)].map(|(rows, row)| is(row % 16 != 0 && !(by_maps && rows == 1)));
    let c_ragged = is(!of_c.is_multiple_of(16));
    let paths = [
        (1.0 - a_ragged) * (1.0 - b_ragged),
        (1.0 - a_ragged) * b_ragged,
        a_ragged * (1.0 - b_ragged),
        a_ragged * b_ragged,
    ];
    let far = ((inputs - FAR[0]) / (FAR[1] - FAR[0])).clamp(0.0, 1.0);
    let steps = rounds * all_steps as f64 / parts as f64;
    // Bytes that blocks copy.
    let copied = |side: u32| tiles as f64 * all_steps as f64 * f64::from(side) * f64::from(tile.k) * input / 1e6;
    let [a_copied, b_copied] = [copied(tile.m), copied(tile.n)];
    let ragged_copied = a_copied * a_ragged + b_copied * b_ragged;
    let amiss = |of: u64| {
        let [a_amiss, b_amiss] = [of_a, of_b].map(|row| is(row % of != 0));
        a_copied * a_amiss * (1.0 - a_ragged) + b_copied * b_amiss * (1.0 - b_ragged)
    };
    let split = is(parts > 1);
    [
        1.0,
        rounds,
        work * paths[0],
        work * paths[1],
        work * paths[2],
        work * paths[3],
        steps * paths[0],
        steps * paths[1],
        steps * paths[2],
        steps * paths[3],
        steps * far,
        steps * far * (1.0 - paths[0]),
        rounds * c_ragged,
        inputs,
        c,
        c * c_ragged,
        (inputs + c - KEPT).max(0.0),
        a_copied + b_copied,
        (a_copied + b_copied) * far,
        ragged_copied,
        ragged_copied * far,
        amiss(LINE),
        amiss(SECTOR),
        split * tiles as f64 * parts as f64 * f64::from(tile.m) * f64::from(tile.n) * input / 1e6,
        split,
        sharers,
        work * is(of_a % LINE == 0),
        work * is(of_a % LINE == LINE / 2),
        shared,
        c * is(!of_c.is_multiple_of(LINE)),
        c * is(!of_c.is_multiple_of(SECTOR)),
        c * is(!of_c.is_multiple_of(4)),
        is(!copies.is_empty()),
        copies.iter().map(|copy| elements(copy.rows.into(), copy.columns.into())).sum::<f64>() * input / 1e6,
    ]
}

impl Model {
    /// What a configuration's times are predicted from, where it was measured and its matrices lie as it is made for.
    pub fn of(&self, build: &Build) -> Option<&Numbers> {
        if !(build.level.needs.is_meant_for)(&build.configuration) {
            return None;
        }
        let (dtype, level, variant, tiles) = name(build);
        self.configurations.iter().find(|numbers| {
            let is_it = numbers.level == level || numbers.also.as_ref() == Some(&level);
            is_it && numbers.dtype == dtype && numbers.variant == variant && numbers.tiles == tiles
        })
    }

    /// What is known near a shape, of a type whose B is stored like this.
    pub fn near(&self, dtype: Dtype, shape: &Shape, layout: Layout) -> Near {
        let of = |all: &[Surveyed]| all.iter().find(|surveyed| surveyed.dtype == dtype).map(|one| one.near(shape));
        let mut near = of(&self.surveyed).unwrap_or_else(|| Near::nothing(shape));
        if layout == Layout::Columns {
            near.by_columns = of(&self.surveyed_by_columns).map(Box::new);
        }
        near
    }
}

/// The error of a prediction at twice the largest shape that was measured.
const DOUBLED: f64 = 0.25;

/// Products of numbers in a product of matrices.
pub fn products(shape: &Shape) -> f64 {
    f64::from(shape.m) * f64::from(shape.n) * f64::from(shape.k)
}

impl Numbers {
    /// Microseconds that a launch is predicted to take at a shape, on a GPU with so many SMs.
    pub fn microseconds(&self, build: &Build, sms: u32, near: &Near) -> f64 {
        let by_columns = self.by_columns(near).map_or(1.0, |(it, near)| it.factor * near.factor(&it.beyond));
        self.by_terms(build, sms, &near.shape) * near.factor(&self.beyond) * by_columns
    }

    fn by_columns<'a>(&'a self, near: &'a Near) -> Option<(&'a ByColumns, &'a Near)> {
        self.by_columns.as_ref().zip(near.by_columns.as_deref())
    }

    /// The same, not corrected by what launches took at other shapes.
    pub fn by_terms(&self, build: &Build, sms: u32, shape: &Shape) -> f64 {
        let terms = terms(build, &self.sharing, sms, shape);
        self.microseconds.iter().zip(terms).map(|(one, count)| one * count).sum()
    }

    /// The same with half the error of such predictions on top, by which configurations are ranked: of two that are predicted alike the
    /// one is taken of which more is known. Beyond what it was measured at the GPU's power or memory may set the time: each time that a
    /// shape doubles there, a quarter more may be missing.
    pub fn cautious(&self, build: &Build, sms: u32, near: &Near) -> f64 {
        let error = self.by_columns(near).map_or(self.error, |(it, _)| it.error);
        let error = error.max(DOUBLED * (products(&near.shape) / self.most).log2());
        self.microseconds(build, sms, near) * (1.0 + error / 2.0)
    }

    /// What they are the numbers of: type, kernel, variant, tile sizes.
    pub fn name(&self) -> (Dtype, String, String, String) {
        (self.dtype, self.level.clone(), self.variant.clone(), self.tiles.clone())
    }
}

/// What a configuration is called, as its [`Numbers`] call it: type, kernel, variant, tile sizes.
pub fn name(build: &Build) -> (Dtype, String, String, String) {
    let configuration = &build.configuration;
    let variant = configuration.variant.to_string();
    (configuration.dtype, build.level.name.to_string(), variant, configuration.tiles.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read() {
        let folder = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
        let archives = folder.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "zst"));
        assert_eq!(archives.count(), FILES.len());
        assert_eq!(models().len(), FILES.len());
        assert!(models().iter().all(|model| !model.configurations.is_empty()));
    }
}
