//! `press tune`: the fastest tile sizes. The compiler, occupancy and the emulator's counts cut the search space down, a GPU measures
//! what is left, and what it finds is written as data that `Choice::Best` uses.
//!
//! - [`prune`]: what compiles, fits and is right; [`work`]: what it does, counted on one tile
//! - [`rank`]: what is worth a measurement, for one shape
//! - [`measured`]: the measurements; [`keeper`]: the record of them, [`choose`]: what it says
//! - [`show`]: the tables

mod choose;
mod keeper;
mod measured;
mod prune;
mod rank;
mod show;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use device::{Device, nvrtc};
use emulator::gpu::{GPUS, Gpu};
use gemm::candidate::Options;
use gemm::facts::Extras;
use gemm::kernel::INSTALL;
use gemm::{Build, Dtype, Error, Level};

use self::prune::{Pruned, Search, prune};
use lab::flags::{How, Shapes, modelled};
use lab::output::{Form, Rows, note, progress};
use lab::takers::all;

/// The fastest tile sizes: the search space is pruned, a GPU measures the rest, and `common` uses what it finds
#[derive(Debug, Clone, Args)]
pub struct Tune {
    /// Levels by number or name, the summit's kernels by name, or summit for all of these: 2,3 (repeatable) [default: all levels]
    #[arg(long, visible_alias = "level", value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    #[command(flatten)]
    at: Shapes,
    #[command(flatten)]
    how: How,
    /// The variants that take part (repeatable) [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    variant: Vec<String>,
    /// Only what is shipped compiled: needs no compiler
    #[arg(long)]
    shipped: bool,
    /// Candidates of a level that are measured at a shape, the most promising; those shipped in its first variant come on top
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    keep: u32,
    /// Seconds after which nothing new is begun; up to half of them go to compiling and counting [default: no end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seconds: Option<u32>,
    /// Per cent by which a configuration may be slower than the fastest, if it serves more shapes
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    slack: f64,
    /// The record: a file; or a folder, where the file is named after the GPU [default: crates/summit/tuned, or here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measure nothing: choose from what `press measure` has written
    #[arg(long, value_name = "FILE", conflicts_with_all = ["shipped", "keep", "seconds", "sizes", "shapes", "levels", "variant"])]
    from: Option<PathBuf>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|percent| (0.0..=50.0).contains(percent));
    number.ok_or_else(|| "it is a number from 0 to 50".to_string())
}

/// Runs the command; `words` are its arguments. A wrong product or a fault ends in exit code 1.
pub fn run(tune: &Tune, words: &[String]) -> Result<ExitCode, Error> {
    if let Some(file) = &tune.from {
        return keeper::from_file(tune, file);
    }
    let device = tune.how.device(false)?;
    tuned(tune, &device, words)
}

fn tuned(tune: &Tune, device: &Device, words: &[String]) -> Result<ExitCode, Error> {
    let began = Instant::now();
    let levels = all(&tune.levels)?;
    check_variants(tune, &levels)?;
    let gpu = model(tune, device)?;
    let mut record = match device {
        Device::Cuda(gpu) => Some(keeper::Keeper::new(tune, gpu, words)?),
        Device::Emulator => None,
    };
    let after = |seconds: f64| Some(began + Duration::from_secs_f64(seconds));
    let total = tune.seconds.map(f64::from);
    let search = Search {
        gpu,
        find: if tune.shipped { nvrtc::nowhere } else { nvrtc::find },
        extras: Extras { time: false, ..tune.how.options()?.extras },
        until: total.and_then(|total| after(if record.is_some() { total / 2.0 } else { total })),
    };
    if !tune.shipped {
        nvrtc::find().map_err(|why| Error::usage(why, format!("{INSTALL}; `--shipped` needs none")))?;
    }
    let form = Form::of(tune.csv, tune.json);
    let mut rows = Rows::new(Box::new(std::io::stdout()), form)?;
    let pruned = all_pruned(tune, &levels, &search);
    let summary: String = pruned.iter().map(|pruned| pruned.summary(gpu)).collect();
    match form {
        Form::Text => rows.say(&format!("{}\n{summary}", show::heading(tune.how.dtype, device, gpu)))?,
        _ => note(summary.trim_end()),
    }
    match (&mut record, device) {
        (Some(record), Device::Cuda(_)) => {
            let options = Options { gpu, ..tune.how.options()? };
            let until = total.and_then(after);
            measured::all(tune, device, &options, &pruned, &mut rows, record, until)?;
        }
        _ => {
            show::all(tune, gpu, &pruned, &mut rows)?;
            note("note: nothing was measured, and nothing is written: that takes a GPU");
        }
    }
    let late = pruned.iter().flat_map(|pruned| &pruned.out).any(|out| *out == prune::Out::Late);
    if late {
        note("note: the time was up before every candidate was looked at");
    }
    let bad = |out: &prune::Out| matches!(out, prune::Out::Wrong(_));
    let wrong = pruned.iter().flat_map(|pruned| &pruned.out).any(bad) || rows.all().iter().any(show::is_bad);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn all_pruned(tune: &Tune, levels: &[&'static Level], search: &Search) -> Vec<Pruned> {
    let spaces: Vec<Vec<Build>> = levels.iter().map(|level| space(tune, level, tune.how.dtype)).collect();
    let bar = progress(spaces.iter().map(|candidates| candidates.len() as u64).sum());
    let mut pruned = Vec::new();
    for (&level, candidates) in levels.iter().zip(spaces) {
        bar.set_message(format!("compile and count {}", level.name));
        let search = Search { until: share(search.until, levels.len() - pruned.len()), ..*search };
        pruned.push(prune(level, candidates, &search, &bar));
    }
    bar.finish_and_clear();
    pruned
}

/// Refuses a variant that no level has.
fn check_variants(tune: &Tune, levels: &[&'static Level]) -> Result<(), Error> {
    let known: Vec<&str> = levels.iter().flat_map(|level| level.variants).map(|variant| variant.name).collect();
    match tune.variant.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if known.is_empty() => Err(Error::usage(
            format!("no level has a variant `{name}`"),
            "these levels have none: leave `--variant` out",
        )),
        Some(name) => {
            Err(Error::usage(format!("no level has a variant `{name}`"), format!("known are {}", known.join(", "))))
        }
    }
}

/// A level's candidates: what is shipped first, the others scattered, so that any part of them is a sample of the space.
fn space(tune: &Tune, level: &'static Level, dtype: Dtype) -> Vec<Build> {
    let wanted = |variant| tune.variant.is_empty() || tune.variant.iter().any(|name| name == variant);
    let takes_part = |build: &Build| wanted(build.configuration.variant);
    let (mut candidates, rest): (Vec<_>, Vec<_>) =
        level.candidates(dtype).into_iter().filter(takes_part).partition(Build::is_shipped);
    if !tune.shipped {
        let mut rest: Vec<(u32, Build)> = (0..).zip(rest).collect();
        // Multiples of this odd number, cut to 32 bits, are all different, and neighbours lie far apart.
        rest.sort_by_key(|(i, _): &(u32, _)| i.wrapping_mul(0x9E37_79B1));
        candidates.extend(rest.into_iter().map(|(_, build)| build));
    }
    candidates
}

/// When the first of so many parts has to end: each may take an equal share of what is left, and what one does not need the next
/// ones have.
fn share(until: Option<Instant>, parts: usize) -> Option<Instant> {
    let now = Instant::now();
    until.map(|until| now + until.saturating_duration_since(now) / parts.max(1) as u32)
}

/// The model of the GPU: of the one that is there, by its name, else by its architecture; else the one that `--gpu` names.
fn model(tune: &Tune, device: &Device) -> Result<&'static Gpu, Error> {
    let Device::Cuda(there) = device else { return modelled(&tune.how.gpu) };
    let same_name = GPUS.iter().find(|gpu| there.name().ends_with(gpu.name));
    match same_name.or_else(|| GPUS.iter().find(|gpu| gpu.sm() == there.architecture())) {
        Some(gpu) => Ok(gpu),
        None => {
            note(&format!("note: no GPU like {} is modelled: `--gpu {}` stands for it", there.name(), tune.how.gpu));
            modelled(&tune.how.gpu)
        }
    }
}
