//! `lab measure`: all levels on a GPU, over sizes and shapes, with all that is needed to believe a row, in one file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use clap::Args;
use common::cli::Backend;
use common::device::cuda::Gpu;
use common::device::{Device, Extras, vendor};
use common::problem::Element;
use common::road::Options;
use common::timing::{self, Peak};
use common::{Dtype, Error, Shape};
use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::ladder::{Entrant, LEVELS, entrants};
use crate::output::note;
use crate::row::Row;
use crate::sweep::shape;

/// From this size on, variants that are there to be slow are left out.
const LARGE: u64 = 4096 * 4096 * 4096;

/// All levels on a GPU, over sizes and shapes, into a file that says what is needed to believe it
#[derive(Debug, Clone, Args)]
pub struct Measure {
    /// The file; or a folder, where the file is named after the GPU
    #[arg(long, value_name = "FILE", default_value = ".")]
    out: PathBuf,
    /// Element types
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', default_value = "f32,f64")]
    dtypes: Vec<Dtype>,
    /// Square sizes
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "128,256,512,1024,2048,4096,8192",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    sizes: Vec<u32>,
    /// Rectangular shapes, MxNxK
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = shape,
          default_value = "4096x4096x128,128x128x16384,8192x128x1024,128x8192x1024,1111x777x333")]
    shapes: Vec<Shape>,
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
    let squares = measure.sizes.iter().map(|&size| Shape { m: size, n: size, k: size });
    let shapes: Vec<Shape> = squares.chain(measure.shapes.iter().copied()).collect();
    for &dtype in &measure.dtypes {
        for &shape in &shapes {
            note(&format!("{dtype} {shape}"));
            match dtype {
                Dtype::F32 => point::<f32>(&device, shape, &mut record)?,
                Dtype::F64 => point::<f64>(&device, shape, &mut record)?,
            }
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

fn point<T: Element>(device: &Device, shape: Shape, record: &mut Record) -> Result<(), Error> {
    let options =
        Options { gpu: &emulator::gpu::H200, extras: Extras::new(true, false), annotate: false, matrices: false };
    let bench = Bench::<T>::new(device, shape, record.seed, options)?;
    let work = u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
    let is_first = |e: &Entrant| e.configuration.variant == e.level.default_configuration(T::DTYPE).variant;
    let takers: Vec<Entrant> =
        entrants(&LEVELS, T::DTYPE, true).into_iter().filter(|e| work <= LARGE || is_first(e)).collect();
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
        accumulate: "levels: in the element type, by fused multiply-add".to_string(),
        ptx_by: Vec::new(),
        peaks,
        state_before: state(),
        state_after: None,
        timing: format!(
            "single launches between CUDA events, after a warm-up of {} ms; at least {} launches; ms is the median, spread \
             the distance of the 90th from the 10th percentile relative to it; inputs are random reals",
            timing::WARM_UP.as_millis(),
            timing::BATCH
        ),
        l2_policy: timing::L2_POLICY.to_string(),
        counters:
            "sectors, wavefronts, intensity and bottleneck are counted on the emulator, at counted_at where it is given"
                .to_string(),
        seed: measure.seed,
        commit: commit(),
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command: "lab measure".to_string(),
        complete: false,
        rows: Vec::new(),
    }
}

/// Clocks, temperature and power, as `nvidia-smi` says them.
fn state() -> Option<String> {
    nvidia_smi("clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw,power.limit,pstate")
}

/// What `nvidia-smi` says of the first GPU; nothing, where it is not there.
fn nvidia_smi(query: &str) -> Option<String> {
    let arguments = [format!("--query-gpu={query}"), "--format=csv,noheader".to_string(), "--id=0".to_string()];
    let output = Command::new("nvidia-smi").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    let named: Vec<String> =
        query.split(',').zip(text.split(", ")).map(|(name, value)| format!("{name} {value}")).collect();
    Some(if query.contains(',') { named.join(", ") } else { text })
}

/// The commit that this program was built from, as far as it is known.
fn commit() -> String {
    if let Some(commit) = option_env!("LAB_COMMIT") {
        return commit.to_string();
    }
    let git = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    let text =
        git.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    text.map_or_else(|| "unknown".to_string(), |text| text.trim().to_string())
}

/// `NVIDIA H200` as `nvidia-h200.json`.
fn file_name(gpu: &str) -> String {
    let plain: String = gpu.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    format!("{}.json", words.join("-"))
}

/// Replaces the file as a whole, or leaves it as it was.
fn save(record: &Record, file: &Path) -> Result<(), Error> {
    let new = file.with_extension("json.new");
    let text = serde_json::to_string_pretty(record).map_err(|error| Error::usage(error.to_string(), "report this"))?;
    fs::write(&new, text + "\n").and_then(|()| fs::rename(&new, file)).map_err(|error| {
        let _ = fs::remove_file(&new);
        Error::usage(format!("cannot write {}: {error}", file.display()), "what it held before is still there")
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_gpu_names_its_file() {
        assert_eq!(super::file_name("NVIDIA H200"), "nvidia-h200.json");
        assert_eq!(super::file_name("NVIDIA GeForce RTX 4090 (Laptop)"), "nvidia-geforce-rtx-4090-laptop.json");
    }
}
