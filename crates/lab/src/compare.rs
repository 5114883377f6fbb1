//! `lab compare`: every level on the same problem, in one table.

use std::process::ExitCode;

use clap::Args;
use device::energy::Energy;
use device::vendor::Which;
use device::{Device, timing};
use gemm::form::Form;
use gemm::{Build, Element, Error, Level, Shape};
use serde::Serialize;

use crate::bench::{Bench, TAKEN_IN, for_shape, peak, place};
use crate::flags::{How, Rival, Sizes};
use crate::output::{fitted, note, print};
use crate::plot;
use crate::predicted;
use crate::ranks::beside::{self, Beside};
use crate::row::{Kind, Row};
use crate::table::{maybe, number, percent, table, wrapped};
use crate::takers::takers;

/// All levels on the same problem, in one table
#[derive(Debug, Clone, Args)]
pub struct Compare {
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    how: How,
    /// The product over so many GPUs, every variant and the vendor's way side by side; without GPUs, on emulated ranks and by a model
    /// [sizes then: 8192]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), conflicts_with_all =
          ["levels", "shipped", "vendor", "energy", "columns", "svg"])]
    gpus: Option<u16>,
    /// Who takes part: levels by number or name, the summit's kernels by name, and summit for the one that it chooses: 0,1,summit
    /// [default: all levels that are for such a product]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    /// Take every configuration that is shipped, not only each level's default
    #[arg(long)]
    shipped: bool,
    /// Leave the vendor's library out
    #[arg(long)]
    no_vendor: bool,
    #[command(flatten)]
    rival: Rival,
    /// What each product costs in joules, by the GPU's own count over some seconds
    #[arg(long)]
    energy: bool,
    /// Leave the serial baseline on the CPU out
    #[arg(long)]
    no_cpu: bool,
    /// The columns, by their heads without units; tiles are one of them: at-most,occupancy,bottleneck [default: all]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Vec<String>,
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
    if let Some(gpus) = compare.gpus {
        return over_gpus(compare, gpus.into());
    }
    let device = compare.how.device(false)?;
    let shape = compare.sizes.shape(512);
    let comparison = compared(compare, &device, shape)?;
    let text = if compare.json { json(&comparison)? } else { text(&comparison, shape, compare)? };
    print(&format!("{text}\n"))?;
    plot::draw(&compare.plot, &comparison.rows, &comparison.place)?;
    Ok(code(&comparison))
}

fn json(comparison: &Comparison) -> Result<String, Error> {
    serde_json::to_string_pretty(comparison).map_err(|e| Error::usage(e.to_string(), "leave --json out"))
}

fn code(comparison: &Comparison) -> ExitCode {
    let right = !comparison.rows.iter().any(Row::is_bad);
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All variants of the product over several GPUs.
fn over_gpus(compare: &Compare, gpus: usize) -> Result<ExitCode, Error> {
    let shape = compare.sizes.shape(beside::SIZE);
    let asked = Beside::new(shape, &compare.how, !compare.no_vendor, gpus)?;
    let (rows, said) = asked.rows(gpus)?;
    let comparison = Comparison { place: asked.place(), peak_gflops: None, rows };
    let text = match compare.json {
        true => json(&comparison)? + "\n",
        false => format!(
            "{}{}\n{said}",
            problem(shape, compare, &comparison.place),
            fitted(&beside::cells(&comparison.rows))
        ),
    };
    print(&text)?;
    Ok(code(&comparison))
}

/// What is multiplied, and where.
fn problem(Shape { m, n, k }: Shape, compare: &Compare, place: &str) -> String {
    let (dtype, seed) = (compare.how.dtype, compare.how.seed);
    let stored = if Form::usual(dtype) == Form::PLAIN { "" } else { ", stored as N x K" };
    format!("C ({m} x {n}) = A ({m} x {k}) * B ({k} x {n}{stored}), {dtype}, seed {seed}; {place}\n\n")
}

fn compared(compare: &Compare, device: &Device, shape: Shape) -> Result<Comparison, Error> {
    let options = compare.how.options()?;
    let asked = takers(&compare.levels)?;
    let mut takers = asked.builds(compare.how.dtype, compare.shipped, &shape, (device, options.gpu))?;
    let multiplies = |level: &Level| takers.iter().any(|build| build.level.name == level.name);
    for level in asked.kernels.iter().filter(|level| !compare.levels.is_empty() && !multiplies(level)) {
        note(&format!("{} does not multiply {}, and is left out", level.name, compare.how.dtype));
    }
    if compare.levels.is_empty() {
        takers = for_shape(takers, &shape, TAKEN_IN);
    }
    let bench = Bench::new(device, shape, compare.how.dtype, compare.how.seed, options)?.beside(compare.rival.vendor);
    let mut rows = bench.levels(&takers);
    steps(&takers, &mut rows);
    if !compare.no_vendor {
        rows.extend(bench.vendor());
    }
    if compare.rival.vendor == Which::Tuned {
        bench.in_turns(&mut rows, &takers)?;
    }
    against_vendor(&mut rows);
    if compare.energy {
        bench.energy(&mut rows, &takers)?;
    }
    if !compare.no_cpu {
        rows.push(bench.cpu());
    }
    against_cpu(&mut rows);
    let modelled = matches!(device, Device::Emulator).then(|| peak(options.gpu, compare.how.dtype)).flatten();
    Ok(Comparison { place: place(device, &options), peak_gflops: modelled, rows })
}

/// Each row against the default configuration of the level before.
fn steps(takers: &[Build], rows: &mut [Row]) {
    let first =
        |number: u32| takers.iter().position(|build| build.level.number() == Some(number) && build.is_default());
    for i in 0..takers.len() {
        let before = takers[i].level.number().and_then(|number| number.checked_sub(1)).and_then(first);
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

/// Each row against the plain loop on one core, if it is there.
fn against_cpu(rows: &mut [Row]) {
    let alone = rows.iter().find(|row| row.ms_is == Kind::Cpu).and_then(|row| row.ms);
    for row in rows.iter_mut() {
        row.speedup = alone.and_then(|alone| Some(alone / row.ms?));
    }
}

fn text(comparison: &Comparison, shape: Shape, compare: &Compare) -> Result<String, Error> {
    let mut text = problem(shape, compare, &comparison.place);
    text += &fitted(&cells(&chosen(columns(&comparison.rows), &compare.columns)?, &comparison.rows));
    for row in comparison.rows.iter().filter(|row| !row.is_right()) {
        text += &format!("\n{} {}: {}\n", row.kernel, row.tiles, row.verdict);
    }
    Ok(text + "\n" + &notes(comparison, &compare.columns, compare.rival.vendor))
}

/// A column: its head, and what a row has in it.
type Column = (&'static str, Box<dyn Fn(&Row) -> String>);

/// The rows as a table. On a GPU times are in milliseconds; predicted ones and bounds in microseconds.
pub fn head_and_rows(rows: &[Row]) -> String {
    table(&cells(&columns(rows), rows))
}

/// The columns that `names` names, in this order, behind the kernel's name; without names, all.
fn chosen(all: Vec<Column>, names: &[String]) -> Result<Vec<Column>, Error> {
    if names.is_empty() {
        return Ok(all);
    }
    let mut columns: Vec<Column> = vec![("", Box::new(|row| row.kernel.clone()))];
    let mut left: Vec<Column> = all.into_iter().skip(1).collect();
    left.push(("tiles", Box::new(|row| row.tiles.clone())));
    for asked in names {
        let Some(at) = left.iter().position(|(head, _)| name(head) == asked.to_lowercase()) else {
            let there: Vec<String> = left.iter().map(|(head, _)| name(head)).collect();
            return Err(Error::usage(
                format!("this table has no column `{asked}`, or it is named twice"),
                format!("the others are {}", there.join(", ")),
            ));
        };
        columns.push(left.remove(at));
    }
    Ok(columns)
}

/// A column's name on the command line: `at least µs` is at-least.
fn name(head: &str) -> String {
    head.trim_end_matches(" µs").replace(' ', "-").to_lowercase()
}

fn cells(columns: &[Column], rows: &[Row]) -> Vec<Vec<String>> {
    let head = columns.iter().map(|(head, _)| head.to_string()).collect();
    std::iter::once(head).chain(rows.iter().map(|row| columns.iter().map(|(_, cell)| cell(row)).collect())).collect()
}

/// Those of which some row has something.
fn columns(rows: &[Row]) -> Vec<Column> {
    let some = |kind| rows.iter().any(|row| row.ms_is == kind);
    let times = |value: Option<f64>| value.map_or_else(|| "-".to_string(), |times| format!("{times:.2}x"));
    let mut columns: Vec<Column> = vec![
        ("", Box::new(|row| format!("{}, {}", row.kernel, row.tiles).trim_end_matches(", ").to_string())),
        ("check", Box::new(|row| row.verdict.split(':').next().unwrap_or_default().to_string())),
    ];
    if some(Kind::Measured) || !some(Kind::Predicted) && some(Kind::Cpu) {
        columns.push(("ms", Box::new(|row| maybe(row.ms))));
    }
    if some(Kind::Predicted) {
        // Among microseconds, the CPU's are to say that they are none.
        let time = |row: &Row| match row.ms_is {
            Kind::Cpu => format!("{} ms", maybe(row.ms)),
            _ => maybe(row.ms.map(|ms| 1e3 * ms)),
        };
        columns.push(("predicted µs", Box::new(time)));
    }
    if !some(Kind::Bound) || some(Kind::Predicted) {
        columns.push(("GFLOP/s", Box::new(|row| maybe(row.gflops))));
    }
    if rows.iter().any(|row| row.step.is_some()) {
        columns.push(("step", Box::new(move |row| times(row.step))));
    }
    if rows.iter().any(|row| row.of_vendor.is_some()) {
        columns.push(("of cuBLAS", Box::new(|row| percent(row.of_vendor))));
    }
    if rows.iter().any(|row| row.ms_is != Kind::Cpu && row.speedup.is_some()) {
        let of = |row: &Row| row.speedup.filter(|_| row.ms_is != Kind::Cpu);
        columns.push((
            "over CPU",
            Box::new(move |row| of(row).map_or_else(|| "-".to_string(), |s| format!("{}x", number(s)))),
        ));
    }
    if rows.iter().any(|row| row.energy.is_some()) {
        let of = |row: &Row, value: fn(&Row, &Energy) -> f64| maybe(row.energy.map(|energy| value(row, &energy)));
        columns.extend::<[Column; 5]>([
            ("mJ", Box::new(move |row| of(row, |_, energy| 1e3 * energy.joules))),
            ("pJ/FLOP", Box::new(move |row| of(row, |row, energy| energy.picojoules_per_flop(&row.shape())))),
            ("W", Box::new(move |row| of(row, |_, energy| energy.watts))),
            ("MHz", Box::new(move |row| of(row, |_, energy| energy.mhz))),
            ("°C", Box::new(move |row| of(row, |_, energy| energy.celsius))),
        ]);
    }
    if some(Kind::Measured) {
        columns.push(("of peak", Box::new(|row| percent(row.of_peak))));
    } else {
        columns.push(("at least µs", Box::new(|row| maybe(row.bound_ms.map(|ms| 1e3 * ms)))));
        columns.push(("at most", Box::new(|row| percent(row.most_of_peak))));
    }
    let fits = |(blocks, share): (u32, f64)| format!("{:.0}% ({blocks})", share * 100.0);
    columns.extend::<[Column; 5]>([
        ("sectors/FMA", Box::new(|row| maybe(row.sectors_per_fma))),
        ("wavefronts/FMA", Box::new(|row| maybe(row.wavefronts_per_fma))),
        ("FLOPs/byte", Box::new(|row| maybe(row.intensity))),
        ("occupancy", Box::new(move |row| row.blocks_per_sm.zip(row.occupancy).map_or_else(|| "-".to_string(), fits))),
        ("bottleneck", Box::new(|row| row.bottleneck.clone().unwrap_or_else(|| "-".to_string()))),
    ]);
    columns
}

/// What the columns mean that are shown: those named, or all.
fn notes(comparison: &Comparison, names: &[String], which: Which) -> String {
    let some = |kind| comparison.rows.iter().any(|row| row.ms_is == kind);
    let shown = |columns: &[&str]| names.is_empty() || names.iter().any(|n| columns.contains(&&*n.to_lowercase()));
    let bounds = shown(&["at-least", "at-most"]);
    let mut notes = Vec::new();
    if some(Kind::Measured) && shown(&["ms", "gflop/s", "step", "of-cublas", "of-peak"]) {
        notes.push(format!("times are medians of at least {} launches; {}", timing::BATCH, gemm::timing::L2_POLICY));
    }
    if some(Kind::Predicted) && shown(&["predicted", "gflop/s", "step"]) {
        notes.extend(predicted::explained(&comparison.rows));
    }
    if some(Kind::Predicted) && bounds {
        notes.push(
            "at least: a bound from counted work: no launch on the modelled GPU is faster; at most: the share of the peak that it allows"
                .into(),
        );
    }
    if some(Kind::Bound) && bounds {
        notes.push(predicted::UNKNOWN.into());
    }
    if let Some(row) = comparison.rows.iter().find(|row| row.is_vendor()) {
        notes.push(format!("{}: {}", row.kernel.split(' ').next().unwrap_or_default(), which.math()));
    }
    if comparison.rows.iter().any(|row| row.energy.is_some()) {
        notes.push(
            "mJ: of a product, by NVML's count of the GPU's energy over launches of at least 2 s without a pause, after the power has \
             settled; pJ/FLOP: of 2*M*N*K operations; W, MHz and °C: means of that run"
                .into(),
        );
    }
    if let Some(at) = comparison.rows.iter().find_map(|row| row.counted_at.clone()) {
        notes.push(format!("counters and bottleneck are counted on the emulator at {at}"));
    }
    if let Some(peak) = comparison.peak_gflops.filter(|_| shown(&["at-most", "of-peak"])) {
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
    if shown(&["sectors/fma", "wavefronts/fma"]) {
        notes.push("FMA: the M*N*K multiply-adds that the product needs".into());
    }
    if comparison.rows.iter().any(|row| row.step.is_some()) && shown(&["step"]) {
        notes.push("step: how many times as fast as the level before".into());
    }
    if shown(&["occupancy"]) {
        notes.push("occupancy: share of warps (blocks per SM)".into());
    }
    notes.iter().map(|note| wrapped(note)).collect()
}
