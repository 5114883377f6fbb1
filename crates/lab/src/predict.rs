//! `lab predict`: the shipped configurations of the levels, by the time that they are predicted to take; or how far such times
//! are from a record, and whether they order its levels as the GPU did.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use gemm::form::Layout;
use gemm::{Build, Dtype, Error, Shape};
use levels::builds;
use predict::{Model, model_of, models};
use serde::Serialize;

use crate::flags::{Sizes, modelled};
use crate::output::print;
use crate::predicted;
use crate::record::Record;
use crate::row::{Row, distinct};
use crate::table::{number, percent, table};
use crate::takers::{all, everyone};

/// The levels' predicted times, the fastest first; no kernel runs
#[derive(Debug, Clone, Args)]
pub struct Predict {
    #[command(flatten)]
    sizes: Sizes,
    /// Element types: f32, f64, or what else the levels multiply
    #[arg(long, value_name = "DTYPE", default_value = "f32")]
    dtype: Dtype,
    /// The GPU whose times are predicted
    #[arg(long, value_name = "NAME", default_value = "h200")]
    gpu: String,
    /// Who takes part: levels by number or name, the summit's kernels by name, or summit for all of these: 0,1,summit
    /// [default: all levels]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    /// Take every configuration that is shipped, not only each level's default
    #[arg(long)]
    shipped: bool,
    /// Instead, hold predictions to this record of `press measure`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["m", "n", "k", "size", "levels", "shipped", "json", "dtype", "gpu"])]
    record: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A configuration's time.
#[derive(Debug, Serialize)]
struct Line {
    kernel: String,
    tiles: String,
    microseconds: f64,
    gflops: f64,
    /// As [`predict::Numbers::error`] has it.
    error: f64,
}

/// From this size of M, N and K on, a record's rows are held to predicted times.
const LEAST: u32 = 256;
/// The sizes at which the order of the levels is compared.
const ORDERED: [u32; 4] = [128, 512, 1024, 4096];
/// Times that differ by less are in no order.
const APART: f64 = 1.1;
/// Rows that are listed, from the farthest off.
const LISTED: usize = 12;

/// Runs the command.
pub fn run(predict: &Predict) -> Result<ExitCode, Error> {
    if let Some(file) = &predict.record {
        print(&against(file)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let gpu = modelled(&predict.gpu)?;
    let model = model_of(gpu).ok_or_else(|| unknown(gpu.name))?;
    let (shape, dtype) = (predict.sizes.shape(512), predict.dtype);
    let takers = builds(&all(&predict.levels)?, dtype, predict.shipped)?;
    let (mut lines, mut unknown) = (Vec::new(), Vec::new());
    let near = model.near(dtype, &shape, Layout::Rows);
    for build in &takers {
        match model.of(build).filter(|_| build.plan(shape).is_ok()) {
            Some(numbers) => {
                lines.push(line(build, numbers.microseconds(build, model.sms, &near), numbers.error, shape))
            }
            None => unknown.push(format!("{}, {}", build.name(), build.configuration.tiles)),
        }
    }
    lines.sort_by(|a, b| a.microseconds.total_cmp(&b.microseconds));
    if predict.json {
        let text = serde_json::json!({ "gpu": model.gpu, "predicted": lines, "not_predicted": unknown });
        print(&format!("{text:#}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Shape { m, n, k } = shape;
    let head = format!("C ({m} x {n}) = A ({m} x {k}) * B ({k} x {n}), {dtype}; predicted for {}\n\n", model.gpu);
    print(&(head + &text(&lines) + "\n" + &notes(model, dtype, &unknown)))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(gpu: &str) -> Error {
    let known: Vec<&str> = models().iter().map(|model| model.gpu.as_str()).collect();
    let hint = format!(
        "predicted are those of {}; on the GPU itself, `press survey` and `press calibrate` make others",
        known.join(", ")
    );
    Error::usage(format!("no times are predicted for {gpu}"), hint)
}

fn line(build: &Build, microseconds: f64, error: f64, shape: Shape) -> Line {
    let operations = 2.0 * f64::from(shape.m) * f64::from(shape.n) * f64::from(shape.k);
    let (kernel, tiles) = (build.name(), build.configuration.tiles.to_string());
    Line { kernel, tiles, microseconds, gflops: operations / microseconds / 1e3, error }
}

fn text(lines: &[Line]) -> String {
    let mut rows = vec![["", "predicted µs", "off by", "GFLOP/s", "of the fastest"].map(String::from).to_vec()];
    for line in lines {
        rows.push(vec![
            format!("{}, {}", line.kernel, line.tiles),
            number(line.microseconds),
            percent(Some(line.error)),
            number(line.gflops),
            percent(Some(lines[0].microseconds / line.microseconds)),
        ]);
    }
    table(&rows)
}

/// What the columns mean, and how far they are off.
fn notes(model: &Model, dtype: Dtype, unknown: &[String]) -> String {
    let mut notes = vec![
        "off by: root mean square of the errors at shapes that the numbers were not fitted to, each taken as 50% at most"
            .to_string(),
    ];
    notes.extend(predicted::note(model, dtype));
    notes.extend(unknown.iter().map(|name| format!("not predicted: {name}")));
    notes.iter().map(|note| format!("  {note}\n")).collect()
}

/// A row of a record beside what is predicted. Times are in microseconds.
struct Pair<'a> {
    row: &'a Row,
    measured: f64,
    predicted: f64,
    is_default: bool,
}

impl<'a> Pair<'a> {
    /// Of a row whose configuration is shipped and predicted.
    fn of(row: &'a Row, model: &Model, known: &[Build]) -> Option<Pair<'a>> {
        let is_it = |build: &&Build| {
            let configuration = &build.configuration;
            build.name() == row.kernel
                && configuration.tiles.to_string() == row.tiles
                && configuration.dtype == row.dtype
        };
        let build = known.iter().find(is_it)?;
        let near = model.near(row.dtype, &row.shape(), Layout::Rows);
        let predicted = model.of(build)?.microseconds(build, model.sms, &near);
        Some(Pair { row, measured: 1e3 * row.ms?, predicted, is_default: build.is_default() })
    }

    fn off(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

/// How far predictions are from a record.
fn against(file: &Path) -> Result<String, Error> {
    let cannot =
        |why: String| Error::usage(format!("cannot read {}: {why}", file.display()), "`press measure` makes records");
    let text = fs::read_to_string(file).map_err(|error| cannot(error.to_string()))?;
    let record = Record::read(&text).map_err(|error| cannot(error.to_string()))?;
    let model = models().iter().find(|model| model.gpu == record.gpu).ok_or_else(|| unknown(&record.gpu))?;
    let known: Vec<Build> = everyone().flat_map(|level| level.shipped_builds()).collect();
    let pairs: Vec<Pair> =
        record.rows.iter().filter(|row| row.is_right()).filter_map(|row| Pair::of(row, model, &known)).collect();
    let types = distinct(pairs.iter().map(|pair| pair.row.dtype));
    Ok(types.into_iter().map(|dtype| of_type(dtype, &pairs)).collect())
}

fn of_type(dtype: Dtype, pairs: &[Pair]) -> String {
    let counts = |pair: &&Pair| pair.row.dtype == dtype && pair.row.m.min(pair.row.n).min(pair.row.k) >= LEAST;
    let mut held: Vec<&Pair> = pairs.iter().filter(counts).collect();
    held.sort_by(|a, b| b.off().abs().total_cmp(&a.off().abs()));
    let within = held.iter().filter(|pair| pair.off().abs() <= 0.15).count();
    let mean = held.iter().map(|pair| pair.off().abs()).sum::<f64>() / held.len().max(1) as f64;
    let mut text = format!(
        "{dtype}: of {} rows with M, N and K of at least {LEAST}, {} within 15% ({}); mean error {}\n",
        held.len(),
        within,
        percent(Some(within as f64 / held.len().max(1) as f64)),
        percent(Some(mean))
    );
    let mut rows = vec![["", "", "measured µs", "predicted µs", "off by"].map(String::from).to_vec()];
    for pair in held.iter().take(LISTED) {
        rows.push(vec![
            format!("{}, {}", pair.row.kernel, pair.row.tiles),
            pair.row.shape().to_string(),
            number(pair.measured),
            number(pair.predicted),
            percent(Some(pair.off())),
        ]);
    }
    text += &table(&rows);
    for size in ORDERED {
        let square = Shape { m: size, n: size, k: size };
        let here: Vec<&Pair> = pairs
            .iter()
            .filter(|pair| pair.row.dtype == dtype && pair.is_default && pair.row.shape() == square)
            .collect();
        text += &order(size, &here);
    }
    text + "\n"
}

/// The pairs of levels whose predicted order is not the measured one, where the measured times differ enough.
fn order(size: u32, here: &[&Pair]) -> String {
    let (mut compared, mut wrong) = (0, Vec::new());
    for (place, a) in here.iter().enumerate() {
        for b in &here[place + 1..] {
            let (fast, slow) = if a.measured < b.measured { (a, b) } else { (b, a) };
            if slow.measured > APART * fast.measured {
                compared += 1;
                if slow.predicted < fast.predicted {
                    wrong.push(format!("{} before {}", slow.row.kernel, fast.row.kernel));
                }
            }
        }
    }
    let list = if wrong.is_empty() { String::new() } else { format!(": {}", wrong.join(", ")) };
    format!(
        "  at {size}, of {compared} pairs of levels more than 10% apart, {} in the wrong order{list}\n",
        wrong.len()
    )
}
