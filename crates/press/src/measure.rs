//! `press measure`: all levels on a GPU, over sizes and shapes, with all that is needed to believe a row, in one file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use device::cuda::Gpu;
use device::{Backend, Device};
use gemm::candidate::Options;
use gemm::facts::Extras;
use gemm::timing::L2_POLICY;
use gemm::{Dtype, Error, Level, Shape};

use lab::bench::{Bench, for_shape};
use lab::flags::{Rival, Shapes};
use lab::output::note;
use lab::provenance::{commit, file_name, now, nvidia_smi, save, state, timing};
use lab::record::{Earlier, Record};
use lab::row::Row;
use lab::takers::all;
use levels::builds;

/// From this size on, variants that are there to be slow are left out.
const LARGE: u64 = 4096 * 4096 * 4096;

/// All levels on a GPU, over sizes and shapes, into a file that says what is needed to believe it
#[derive(Debug, Clone, Args)]
pub struct Measure {
    /// The file; or a folder, where the file is named after the GPU. What it holds in other types is kept
    #[arg(long, value_name = "FILE", default_value = ".")]
    out: PathBuf,
    /// Element types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "f32,f64,tf32,bf16,f16")]
    dtypes: Vec<Dtype>,
    #[command(flatten)]
    at: Shapes,
    /// Who is measured: levels by number or name, the summit's kernels by name, or summit for all of these [default: all levels]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    #[command(flatten)]
    rival: Rival,
    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
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
    let takers = all(&measure.levels)?;
    let mut record = start(gpu, measure);
    keep_others(&mut record, &file, &measure.dtypes)?;
    save(&record, &file)?;
    let shapes = measure.at.shapes();
    for &dtype in &measure.dtypes {
        for &shape in &shapes {
            note(&format!("{dtype} {shape}"));
            point(&device, &takers, (shape, dtype), measure.rival, &mut record)?;
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

fn point(
    device: &Device,
    levels: &[&'static Level],
    (shape, dtype): (Shape, Dtype),
    rival: Rival,
    record: &mut Record,
) -> Result<(), Error> {
    let options =
        Options { gpu: &emulator::gpu::H200, extras: Extras::new(true, false), annotate: false, matrices: false };
    let bench = Bench::new(device, shape, dtype, record.seed, options)?.beside(rival.vendor);
    let work = u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
    let mut takers = for_shape(builds(levels, dtype, true)?, &shape, "");
    takers.retain(|build| work <= LARGE || build.is_first_variant());
    let mut rows = Vec::new();
    bench.rows(&takers, true, false, &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    bench.in_turns(&mut rows, &takers)?;
    for row in rows {
        record.ptx_by.extend(row.ptx_by.clone());
        record.ptx_by.sort();
        record.ptx_by.dedup();
        if row.is_vendor() {
            record.cublas = row.vendor_version().map(str::to_string);
            // There are shapes that it does not take, which makes no kernel wrong.
            if row.verdict.starts_with("failed") {
                note(&format!("{} is left out at {}: {}", row.kernel, row.shape(), row.verdict));
                continue;
            }
        }
        record.rows.push(row);
    }
    Ok(())
}

/// What another run measured on the same GPU in types that this one leaves alone. A file that is there and no record is an error.
fn keep_others(record: &mut Record, file: &Path, dtypes: &[Dtype]) -> Result<(), Error> {
    let Ok(text) = fs::read_to_string(file) else { return Ok(()) };
    let before = Record::read(&text).map_err(|error| {
        Error::usage(format!("{} is no record: {error}", file.display()), "name another file, or move this one away")
    })?;
    if before.gpu != record.gpu {
        let message = format!("{} is the record of another GPU, {}", file.display(), before.gpu);
        return Err(Error::usage(message, "name another file"));
    }
    let kept = |dtype: &Dtype| !dtypes.contains(dtype);
    record.rows = before.rows.into_iter().filter(|row| kept(&row.dtype)).collect();
    let mut held: Vec<Dtype> = record.rows.iter().map(|row| row.dtype).collect();
    held.dedup();
    if !held.is_empty() {
        record.peaks.extend(before.peaks.into_iter().filter(|(dtype, _)| kept(dtype)));
        record.ptx_by.extend(before.ptx_by);
        record.earlier = before.earlier;
        record.earlier.iter_mut().for_each(|run| run.dtypes.retain(|dtype| kept(dtype)));
        let of_earlier = |dtype: &Dtype, earlier: &[Earlier]| earlier.iter().any(|run| run.dtypes.contains(dtype));
        let dtypes: Vec<Dtype> = held.into_iter().filter(|dtype| !of_earlier(dtype, &record.earlier)).collect();
        let (state_before, state_after) = (before.state_before, before.state_after);
        let (commit, date, timing) = (before.commit, before.date, before.timing);
        record.earlier.push(Earlier { dtypes, commit, date, timing, state_before, state_after });
        record.earlier.retain(|run| !run.dtypes.is_empty());
    }
    Ok(())
}

fn start(gpu: &Gpu, measure: &Measure) -> Record {
    let peaks = measure.dtypes.iter().filter_map(|&dtype| Some((dtype, gpu.peak(dtype)?))).collect();
    Record {
        gpu: gpu.name().to_string(),
        architecture: gpu.architecture(),
        driver: nvidia_smi("driver_version"),
        cuda: gpu.cuda_version(),
        cublas: None,
        math: measure.rival.vendor.math().to_string(),
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
        command: "press measure".to_string(),
        complete: false,
        earlier: Vec::new(),
        rows: Vec::new(),
    }
}
