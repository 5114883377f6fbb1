//! `lab compare`: every level on the same problem, in one table.

use std::process::ExitCode;

use clap::Args;
use device::{Device, timing, vendor};
use gemm::form::Form;
use gemm::{Build, Element, Error, Level, Shape};
use serde::Serialize;

use crate::bench::{Bench, TAKEN_IN, for_shape, peak, place};
use crate::flags::{How, Sizes};
use crate::output::{note, print};
use crate::plot;
use crate::predicted;
use crate::row::{Kind, Row};
use crate::table::{maybe, number, percent, table};
use levels::{builds, levels};

/// All levels on the same problem, in one table
#[derive(Debug, Clone, Args)]
pub struct Compare {
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    how: How,
    /// The levels that take part, by number or name: 0,1 [default: all that are for such a product]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    /// Take every configuration that is shipped, not only each level's default
    #[arg(long)]
    shipped: bool,
    /// Leave the vendor's library out
    #[arg(long)]
    no_vendor: bool,
    /// Leave the serial baseline on the CPU out
    #[arg(long)]
    no_cpu: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plot: plot::Flags,
}

/// The table as data.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Where it ran.
    pub place: String,
    /// The GPU's peak in 10⁹ operations per second, where it is modelled.
    pub peak_gflops: Option<f64>,
    /// The rows: levels in order, then the baselines.
    pub rows: Vec<Row>,
}

/// Runs the command.
pub fn run(compare: &Compare) -> Result<ExitCode, Error> {
    plot::check(&compare.plot)?;
    let device = compare.how.device(false)?;
    let shape = compare.sizes.shape(512);
    let comparison = compared(compare, &device, shape)?;
    let text = match compare.json {
        true => {
            serde_json::to_string_pretty(&comparison).map_err(|e| Error::usage(e.to_string(), "leave --json out"))?
        }
        false => text(&comparison, shape, compare),
    };
    print(&format!("{text}\n"))?;
    plot::draw(&compare.plot, &comparison.rows, &comparison.place)?;
    let right = !comparison.rows.iter().any(Row::is_bad);
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compared(compare: &Compare, device: &Device, shape: Shape) -> Result<Comparison, Error> {
    let options = compare.how.options()?;
    let asked = levels(&compare.levels)?;
    let mut takers = builds(&asked, compare.how.dtype, compare.shipped)?;
    let multiplies = |level: &Level| takers.iter().any(|build| build.level.number == level.number);
    for level in asked.iter().filter(|level| !compare.levels.is_empty() && !multiplies(level)) {
        note(&format!("{} does not multiply {}, and is left out", level.name, compare.how.dtype));
    }
    if compare.levels.is_empty() {
        takers = for_shape(takers, &shape, TAKEN_IN);
    }
    let bench = Bench::new(device, shape, compare.how.dtype, compare.how.seed, options)?;
    let mut rows = bench.levels(&takers);
    steps(&takers, &mut rows);
    if !compare.no_vendor {
        rows.extend(bench.vendor());
    }
    against_vendor(&mut rows);
    if !compare.no_cpu {
        rows.push(bench.cpu());
    }
    let modelled = matches!(device, Device::Emulator).then(|| peak(options.gpu, compare.how.dtype)).flatten();
    Ok(Comparison { place: place(device, &options), peak_gflops: modelled, rows })
}

/// Each row against the default configuration of the level before.
fn steps(takers: &[Build], rows: &mut [Row]) {
    let first = |number: u32| takers.iter().position(|build| build.level.number == number && build.is_default());
    for i in 0..takers.len() {
        let before = takers[i].level.number.checked_sub(1).and_then(first);
        rows[i].step = before.and_then(|b| Some(rows[b].ms? / rows[i].ms?));
    }
}

/// Each row against cuBLAS's, if it is there and right.
pub fn against_vendor(rows: &mut [Row]) {
    let vendor = rows.iter().find(|row| row.is_vendor() && row.is_right()).and_then(|row| row.gflops);
    for row in rows.iter_mut() {
        row.of_vendor = vendor.and_then(|vendor| Some(row.gflops? / vendor));
    }
}

fn text(comparison: &Comparison, shape: Shape, compare: &Compare) -> String {
    let Shape { m, n, k } = shape;
    let (dtype, seed) = (compare.how.dtype, compare.how.seed);
    let mut text = format!(
        "C ({m} x {n}) = A ({m} x {k}) * B ({k} x {n}{}), {dtype}, seed {seed}; {}\n\n{}",
        if Form::usual(dtype) == Form::PLAIN { "" } else { ", stored as N x K" },
        comparison.place,
        head_and_rows(&comparison.rows)
    );
    for row in comparison.rows.iter().filter(|row| !row.is_right()) {
        text += &format!("\n{} {}: {}\n", row.kernel, row.tiles, row.verdict);
    }
    text + "\n" + &notes(comparison)
}

/// The rows as a table. On a GPU times are in milliseconds, bounds in microseconds.
pub fn head_and_rows(rows: &[Row]) -> String {
    let bound = rows.iter().any(|row| row.ms_is == Kind::Bound);
    let times = if bound { ["at least µs", "at most GFLOP/s"] } else { ["ms", "GFLOP/s"] };
    let predicted = rows.iter().any(|row| row.predicted_ms.is_some());
    let mut head = vec!["", "check"];
    if predicted {
        head.push("predicted µs");
    }
    head.extend([times[0], times[1], "step"]);
    if !bound {
        head.push("of cuBLAS");
    }
    head.extend(["of peak", "sectors/FMA", "wavefronts/FMA", "FLOPs/byte", "occupancy", "bottleneck"]);
    let mut lines = vec![head.iter().map(|word| word.to_string()).collect()];
    lines.extend(rows.iter().map(|row| cells(row, bound, predicted)));
    table(&lines)
}

fn cells(row: &Row, bound: bool, predicted: bool) -> Vec<String> {
    let check = row.verdict.split(':').next().unwrap_or_default().to_string();
    let name = if row.tiles.is_empty() { row.kernel.clone() } else { format!("{}, {}", row.kernel, row.tiles) };
    let step = row.step.map_or_else(|| "-".to_string(), |step| format!("{step:.2}x"));
    let fits = |(blocks, share): (u32, f64)| format!("{:.0}% ({blocks})", share * 100.0);
    let time = match row.ms_is {
        Kind::Bound => maybe(row.ms.map(|ms| 1e3 * ms)),
        Kind::Measured => maybe(row.ms),
        // In a column of microseconds, of bounds: say that it is neither.
        Kind::Cpu => format!("{} ms", maybe(row.ms)),
    };
    let mut cells = vec![name, check];
    if predicted {
        cells.push(maybe(row.predicted_ms.map(|ms| 1e3 * ms)));
    }
    cells.extend([time, maybe(row.gflops), step]);
    if !bound {
        cells.push(percent(row.of_vendor));
    }
    cells.extend([
        percent(row.of_peak),
        maybe(row.sectors_per_fma),
        maybe(row.wavefronts_per_fma),
        maybe(row.intensity),
        row.blocks_per_sm.zip(row.occupancy).map_or_else(|| "-".to_string(), fits),
        row.bottleneck.clone().unwrap_or_else(|| "-".to_string()),
    ]);
    cells
}

/// What the columns mean.
fn notes(comparison: &Comparison) -> String {
    let bound = comparison.rows.iter().any(|row| row.ms_is == Kind::Bound);
    let mut notes = Vec::new();
    if bound {
        notes.push(
            "at least: a bound from counted work: no launch on the modelled GPU is faster; step is by it; none was measured".into(),
        );
        notes.extend(predicted::explained(&comparison.rows));
    } else {
        notes.push(format!("times are medians of at least {} launches; {}", timing::BATCH, gemm::timing::L2_POLICY));
    }
    if comparison.rows.iter().any(|row| row.is_vendor()) {
        notes.push(format!("cuBLAS: {}", vendor::MATH));
    }
    if let Some(at) = comparison.rows.iter().find_map(|row| row.counted_at.clone()) {
        notes.push(format!("counters and bottleneck are counted on the emulator at {at}"));
    }
    if let Some(peak) = comparison.peak_gflops {
        let units = match comparison.rows.first().map(|row| row.dtype.input) {
            None | Some(Element::F32 | Element::F64) => "outside the tensor cores",
            _ => "of the tensor cores",
        };
        notes.push(format!("peak: {} GFLOP/s at the boost clock, {units}", number(peak)));
    }
    if let Some(row) = comparison.rows.iter().find(|row| row.ms_is == Kind::Cpu) {
        let on = match row.timed_rows {
            Some(rows) => format!("measured on {rows} of {} rows and extended to all", row.m),
            None => "measured".to_string(),
        };
        notes.push(format!(
            "CPU, one core: the plain triple loop on this machine, {on}; the others are another machine's"
        ));
    }
    notes.push("FMA: the M*N*K multiply-adds that the product needs".into());
    notes.push("step: how many times as fast as the level before; occupancy: share of warps (blocks per SM)".into());
    notes.iter().map(|note| format!("  {note}\n")).collect()
}
