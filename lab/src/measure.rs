//! `lab measure`: all levels on a GPU, over sizes and shapes, with all that is needed to believe a row, in one file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use common::cli::Backend;
use common::device::cuda::Gpu;
use common::device::{Device, Extras, vendor};
use common::road::Options;
use common::timing::{L2_POLICY, Peak};
use common::{Dtype, Error, Shape};
use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::flags::Shapes;
use crate::output::note;
use crate::provenance::{commit, file_name, now, nvidia_smi, save, state, timing};
use crate::row::Row;
use ladder::{LEVELS, builds};

/// From this size on, variants that are there to be slow are left out.
const LARGE: u64 = 4096 * 4096 * 4096;

/// All levels on a GPU, over sizes and shapes, into a file that says what is needed to believe it
#[derive(Debug, Clone, Args)]
pub struct Measure {
    /// The file; or a folder, where the file is named after the GPU
    #[arg(long, value_name = "FILE", default_value = ".")]
    out: PathBuf,
    /// Element types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "f32,f64,tf32,bf16,f16")]
    dtypes: Vec<Dtype>,
    #[command(flatten)]
    at: Shapes,
    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The file: where, when and how, and the rows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    pub gpu: String,
    pub architecture: u32,
    pub driver: Option<String>,
    pub cuda: Option<String>,
    pub cublas: Option<String>,
    pub math: String,
    pub accumulate: String,
    pub ptx_by: Vec<String>,
    pub peaks: Vec<(Dtype, Peak)>,
    pub state_before: Option<String>,
    pub state_after: Option<String>,
    pub timing: String,
    pub l2_policy: String,
    pub counters: String,
    pub seed: u64,
    pub commit: String,
    pub date: String,
    pub command: String,
    pub complete: bool,
    pub rows: Vec<Row>,
}

impl Record {
    /// The row of a problem.
    pub fn find(&self, dtype: Dtype, shape: Shape, wanted: impl Fn(&Row) -> bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.dtype == dtype && row.shape() == shape && wanted(row))
    }
}

/// Runs the command. The file is written anew after every problem, so that what is measured is kept.
pub fn run(measure: &Measure) -> Result<ExitCode, Error> {
    let (device, _) = Device::pick(Backend::Cuda, false).map_err(|error| {
        let why = error.to_string();
        let first = why.lines().next().unwrap_or_default().to_string();
        Error::usage(first, "only a GPU is measured; `lab compare` and `lab sweep` run on the emulator, too")
    })?;
    let Device::Cuda(gpu) = &device else { return Err(Error::usage("no CUDA device", "measure on a GPU")) };
    let file = if measure.out.is_dir() { measure.out.join(file_name(gpu.name())) } else { measure.out.clone() };
    let mut record = start(gpu, measure);
    save(&record, &file)?;
    let shapes = measure.at.shapes();
    for &dtype in &measure.dtypes {
        for &shape in &shapes {
            note(&format!("{dtype} {shape}"));
            point(&device, shape, dtype, &mut record)?;
            save(&record, &file)?;
        }
    }
    (record.state_after, record.complete) = (state(), true);
    save(&record, &file)?;
    note(&format!("{} rows in {}", record.rows.len(), file.display()));
    let wrong: Vec<&Row> = record.rows.iter().filter(|row| !row.is_right()).collect();
    wrong.iter().for_each(|row| note(&format!("{} {} {}: {}", row.kernel, row.tiles, row.shape(), row.verdict)));
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn point(device: &Device, shape: Shape, dtype: Dtype, record: &mut Record) -> Result<(), Error> {
    let options =
        Options { gpu: &emulator::gpu::H200, extras: Extras::new(true, false), annotate: false, matrices: false };
    let bench = Bench::new(device, shape, dtype, record.seed, options)?;
    let work = u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
    let mut takers = builds(&LEVELS, dtype, true)?;
    takers.retain(|build| work <= LARGE || build.is_first_variant());
    bench.rows(&takers, true, false, &mut |row| {
        record.ptx_by.extend(row.ptx_by.clone());
        record.ptx_by.sort();
        record.ptx_by.dedup();
        if row.kernel.starts_with("cuBLAS ") {
            record.cublas = row.kernel.strip_prefix("cuBLAS ").map(str::to_string);
        }
        record.rows.push(row);
        Ok(())
    })
}

fn start(gpu: &Gpu, measure: &Measure) -> Record {
    let peaks = measure.dtypes.iter().filter_map(|&dtype| Some((dtype, gpu.peak(dtype)?))).collect();
    Record {
        gpu: gpu.name().to_string(),
        architecture: gpu.architecture(),
        driver: nvidia_smi("driver_version"),
        cuda: gpu.cuda_version(),
        cublas: None,
        math: vendor::MATH.to_string(),
        accumulate: "levels: in the sum's type, by fused multiply-add, or by tensor cores where the level uses them"
            .to_string(),
        ptx_by: Vec::new(),
        peaks,
        state_before: state(),
        state_after: None,
        timing: timing(),
        l2_policy: L2_POLICY.to_string(),
        counters:
            "sectors, wavefronts, intensity and bottleneck are counted on the emulator, at counted_at where it is given"
                .to_string(),
        seed: measure.seed,
        commit: commit(),
        date: now(),
        command: "lab measure".to_string(),
        complete: false,
        rows: Vec::new(),
    }
}
