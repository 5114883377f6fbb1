//! `lab sweep`: the levels over sizes, blocks, tiles or shapes, or one product over more and more GPUs. Every row is out as soon as it is known, so that a sweep that
//! is stopped keeps what it had.

use std::process::ExitCode;

use clap::Args;
use device::Device;
use gemm::{Build, Error, Shape};
use indicatif::ProgressBar;

use crate::bench::{Bench, TAKEN_IN, for_shape, place};
use crate::flags::{How, Sizes, shape};
use crate::output::{Form, Rows, note, progress};
use crate::pivot::{self, Over};
use crate::plot;
use crate::ranks::beside::{self, Beside};
use crate::row::{Kind, Row};
use crate::takers::takers;

/// The levels over sizes, blocks, tiles or shapes; or one product over more and more GPUs
#[derive(Debug, Clone, Args)]
pub struct Sweep {
    /// What changes: size (square), block (8, 16, 32, with and without shared memory), tile (all that are shipped), shape,
    /// gpus (one product over several; without GPUs, on emulated ranks and by a model)
    #[arg(long, value_enum, hide_possible_values = true, default_value = "size")]
    pub over: Over,
    /// The sizes of a sweep over sizes [default: 128,256,512,1024,2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub sizes: Option<Vec<u32>>,
    /// The shapes of a sweep over shapes, MxNxK [default: flat, deep, tall, wide and odd ones]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = shape)]
    pub shapes: Option<Vec<Shape>>,
    /// The numbers of GPUs of a sweep over GPUs [default: 1,2,4,8; where several are here, as many as there are]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=64))]
    pub gpus: Option<Vec<u16>>,
    #[command(flatten)]
    pub at: Sizes,
    #[command(flatten)]
    pub how: How,
    /// Who takes part: levels by number or name, the summit's kernels by name, and summit for the one that it chooses
    /// [default: all levels that are for such a product; over blocks 0,1]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    pub levels: Vec<String>,
    /// Leave the vendor's library out
    #[arg(long)]
    pub no_vendor: bool,
    /// Leave the serial baseline on the CPU out
    #[arg(long)]
    pub no_cpu: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub plot: plot::Flags,
}

/// The sizes of a sweep over sizes, where none are said.
const SIZES: [u32; 5] = [128, 256, 512, 1024, 2048];
/// The shapes of a sweep over shapes, M, N, K, where none are said: flat, deep, tall, wide, and odd in every size.
const SHAPES: [[u32; 3]; 5] = [[1024, 1024, 64], [64, 1024, 1024], [1024, 64, 1024], [2048, 256, 128], [255, 513, 129]];

/// A problem, and who runs on it.
struct Point {
    shape: Shape,
    builds: Vec<Build>,
}

/// Runs the command. A wrong product ends in exit code 1.
pub fn run(sweep: &Sweep) -> Result<ExitCode, Error> {
    plot::check(&sweep.plot)?;
    heard(sweep)?;
    if sweep.over == Over::Gpus {
        return over_gpus(sweep);
    }
    let device = sweep.how.device(false)?;
    let form = Form::of(sweep.csv, sweep.json);
    let mut rows = Rows::new(Box::new(std::io::stdout()), form)?;
    if form == Form::Text {
        rows.say(&format!(
            "{}, seed {}; {}\n\n",
            sweep.how.dtype,
            sweep.how.seed,
            place(&device, &sweep.how.options()?)
        ))?;
    }
    let outcome = swept(sweep, &device, &mut rows);
    plot::draw(&sweep.plot, rows.all(), &place(&device, &sweep.how.options()?))?;
    outcome?;
    if form == Form::Text {
        let tables = pivot::tables(rows.all(), sweep.over);
        rows.say(&tables)?;
    }
    let wrong = rows.all().iter().any(Row::is_bad);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Refuses sizes that this sweep would not look at.
fn heard(sweep: &Sweep) -> Result<(), Error> {
    let at = &sweep.at;
    let (over, takes) = match sweep.over {
        Over::Size => ("sizes", "--sizes"),
        Over::Shape => ("shapes", "--shapes"),
        Over::Block => ("blocks", "--size, or --m, --n and --k"),
        Over::Tile => ("tiles", "--size, or --m, --n and --k"),
        Over::Gpus => ("GPUs", "--gpus, and --size, or --m, --n and --k"),
    };
    let gpus = sweep.over == Over::Gpus;
    let one = gpus || matches!(sweep.over, Over::Block | Over::Tile);
    let unheard = [
        ("--sizes", sweep.sizes.is_some() && sweep.over != Over::Size),
        ("--shapes", sweep.shapes.is_some() && sweep.over != Over::Shape),
        ("--gpus", sweep.gpus.is_some() && !gpus),
        ("--levels", !sweep.levels.is_empty() && gpus),
        ("--svg", sweep.plot.svg.is_some() && gpus),
        ("--size", at.size.is_some() && !one),
        ("--m", at.m.is_some() && !one),
        ("--n", at.n.is_some() && !one),
        ("--k", at.k.is_some() && !one),
    ];
    match unheard.iter().find(|(_, unheard)| *unheard) {
        Some((flag, _)) => {
            Err(Error::usage(format!("a sweep over {over} does not take {flag}"), format!("it takes {takes}")))
        }
        None => Ok(()),
    }
}

/// The numbers of GPUs, where none are said.
const GPUS: [u16; 4] = [1, 2, 4, 8];

/// One product over more and more GPUs.
fn over_gpus(sweep: &Sweep) -> Result<ExitCode, Error> {
    let asked = sweep.gpus.as_deref().unwrap_or(&GPUS);
    let most = sweep.gpus.iter().flatten().max().map_or(2, |&most| usize::from(most));
    let beside = Beside::new(sweep.at.shape(beside::SIZE), &sweep.how, !sweep.no_vendor, most)?;
    let counts: Vec<usize> = match (beside.gpus(), &sweep.gpus) {
        (Some(there), None) => (1..=there.min(8)).collect(),
        _ => asked.iter().map(|&count| count.into()).collect(),
    };
    let form = Form::of(sweep.csv, sweep.json);
    let mut rows = Rows::new(Box::new(std::io::stdout()), form)?;
    if form == Form::Text {
        rows.say(&format!("{}, seed {}; {}\n\n", sweep.how.dtype, sweep.how.seed, beside.place()))?;
    }
    let mut last = String::new();
    for count in counts {
        let (of_count, said) = beside.rows(count)?;
        // What one GPU does beside several is measured as a point of its own.
        of_count.into_iter().filter(|row| row.ranks == Some(count)).try_for_each(|row| rows.put(row))?;
        last = said;
    }
    if form == Form::Text {
        let tables = pivot::tables(rows.all(), sweep.over);
        rows.say(&format!("{tables}\n{last}"))?;
    }
    let wrong = rows.all().iter().any(Row::is_bad);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// All points, row by row.
pub fn swept(sweep: &Sweep, device: &Device, rows: &mut Rows) -> Result<(), Error> {
    let points = points(sweep, device)?;
    let bar = progress(points.iter().map(|point| point.builds.len() as u64 + 2).sum());
    for point in &points {
        run_point(sweep, device, point, rows, &bar)?;
    }
    bar.finish_and_clear();
    Ok(())
}

fn points(sweep: &Sweep, device: &Device) -> Result<Vec<Point>, Error> {
    let dtype = sweep.how.dtype;
    let of_blocks = sweep.over == Over::Block && sweep.levels.is_empty();
    let chosen = if of_blocks { takers(&["0".into(), "1".into()])? } else { takers(&sweep.levels)? };
    let all_tiles = matches!(sweep.over, Over::Block | Over::Tile);
    let gpu = sweep.how.options()?.gpu;
    let point = |shape| {
        let mut builds = chosen.builds(dtype, all_tiles, &shape, (device, gpu))?;
        // The first variant is the level's own; the others are lessons of their own.
        builds.retain(Build::is_first_variant);
        let all = sweep.levels.is_empty();
        Ok(Point { shape, builds: if all { for_shape(builds, &shape, TAKEN_IN) } else { builds } })
    };
    match sweep.over {
        Over::Size => {
            let sizes = sweep.sizes.as_deref().unwrap_or(&SIZES);
            sizes.iter().map(|&size| point(Shape { m: size, n: size, k: size })).collect()
        }
        Over::Shape => match &sweep.shapes {
            Some(shapes) => shapes.iter().copied().map(point).collect(),
            None => SHAPES.into_iter().map(|[m, n, k]| point(Shape { m, n, k })).collect(),
        },
        Over::Block | Over::Tile | Over::Gpus => Ok(vec![point(sweep.at.shape(512))?]),
    }
}

fn run_point(sweep: &Sweep, device: &Device, point: &Point, rows: &mut Rows, bar: &ProgressBar) -> Result<(), Error> {
    let mut put = |mut row: Row, bar: &ProgressBar| -> Result<(), Error> {
        row.growth = rows.before(&row).and_then(|before| Some(row.ms? / before.ms?));
        bar.inc(1);
        bar.suspend(|| rows.put(row))
    };
    let bench = match Bench::new(device, point.shape, sweep.how.dtype, sweep.how.seed, sweep.how.options()?) {
        Ok(bench) => bench,
        Err(error) => {
            note(&format!("note: {}: {error}", point.shape));
            for build in &point.builds {
                let tiles = build.configuration.tiles.to_string();
                let mut row = Row::new(build.name(), tiles, sweep.how.dtype, point.shape, Kind::Bound);
                row.verdict = format!("failed: {}", error.to_string().lines().next().unwrap_or_default());
                put(row, bar)?;
            }
            return Ok(());
        }
    };
    bar.set_message(point.shape.to_string());
    bench.rows(&point.builds, !sweep.no_vendor, !sweep.no_cpu, &mut |row| put(row, bar))
}
