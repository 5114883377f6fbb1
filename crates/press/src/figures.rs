//! `press figures`: what the book shows of a GPU's record, and its pictures. Nothing in them is typed; a test holds them to the record
//! and to the kernels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use gemm::{Build, Dtype, Error, Shape};

use crate::cards;
use crate::forms;
use crate::instructions;
use crate::lessons::{self, Waits};
use crate::pictures;
use lab::check;
use lab::output::print;
use lab::plot::{Plot, picture};
use lab::record::{Earlier, Record};
use lab::row::{Row, distinct};
use lab::table::{MADE, markdown};
use lab::table::{maybe, percent};
use lab::waits;
use levels::LEVELS;

const RECORD: &str = "book/measurements/nvidia-h200.json";
const WAITS: &str = "book/measurements/nvidia-h200-waits.csv";
const PAGE: &str = "book/src/measurements.md";
/// The types of the ladder's table.
const DTYPES: [Dtype; 5] = [Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::TF32, Dtype::E4M3];
/// The square sizes of the ladder's table, and the one of the rooflines.
const SHORT: [u32; 2] = [1024, 4096];

/// Writes the tables and pictures of the book, from the record of a GPU and from what the kernels access
#[derive(Debug, Clone, Args)]
pub struct Figures {
    /// The repository
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    root: PathBuf,
}

/// Runs the command.
pub fn run(figures: &Figures) -> Result<ExitCode, Error> {
    for (file, text) in all(&figures.root)? {
        let path = figures.root.join(&file);
        let folder = path.parent().unwrap_or(&figures.root);
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).map_err(|error| {
            Error::usage(format!("cannot write {}: {error}", path.display()), "is this the repository's root?")
        })?;
        print(&format!("{file}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Every file that is made here, by its path in the repository, as record and kernels say that it is.
fn all(root: &Path) -> Result<Vec<(String, String)>, Error> {
    let record = Record::read(&read(root, RECORD)?).map_err(|error| unlike(error.to_string()))?;
    if record.rows.iter().any(|row| !row.is_right()) {
        return Err(unlike("a product is wrong".to_string()));
    }
    let mut files = vec![
        (PAGE.to_string(), page(&record, &read(root, forms::RECORD)?)),
        ("book/generated/ladder.md".to_string(), format!("{MADE}\n{}", ladder(&record))),
    ];
    files.push(("book/generated/cards.md".to_string(), cards::page(&read(root, "crates/lab/data/cards.csv")?)?));
    files.push(("book/generated/instructions.md".to_string(), instructions::page(&read(root, instructions::TABLE)?)?));
    files.push((check::book::FILE.to_string(), check::book::questions(root)?));
    files.extend(lessons::tables(&record, &Waits::from(&read(root, WAITS)?)?));
    let place = format!("on {}", record.gpu);
    for dtype in measured(&record) {
        let is_default = |row: &&Row| row.is_vendor() || LEVELS.iter().any(|level| is(row, &default(level, dtype)));
        let shown = record.rows.iter().filter(|row| row.dtype == dtype && is_square(row)).filter(is_default);
        let speed: Vec<&Row> = shown.collect();
        let large = speed.iter().copied().filter(|row| row.m == SHORT[1] && !has_rounds(row)).collect();
        for (plot, rows) in [(Plot::Speed, speed), (Plot::Roofline, large)] {
            if rows.is_empty() {
                return Err(unlike(format!("no square problems in {dtype}")));
            }
            files.push((format!("book/src/{}", svg(plot, dtype)), picture(plot, &rows, &place)));
        }
    }
    files.extend(pictures::all()?);
    files.extend(waits::pictures(&read(root, WAITS)?)?);
    Ok(files)
}

fn read(root: &Path, file: &str) -> Result<String, Error> {
    let path = root.join(file);
    fs::read_to_string(&path).map_err(|error| {
        Error::usage(format!("cannot read {}: {error}", path.display()), "run it at the repository's root")
    })
}

fn unlike(what: String) -> Error {
    Error::usage(format!("{RECORD} is no record to show: {what}"), "`cargo x measure` on that GPU makes it")
}

/// Each level by default.
fn ladder(record: &Record) -> String {
    let columns = DTYPES.iter().flat_map(|&dtype| SHORT.map(|size| (dtype, Shape { m: size, n: size, k: size })));
    let columns: Vec<(Dtype, Shape)> = columns.collect();
    let cell = |row: Option<&Row>| {
        let rate = row.and_then(|row| row.gflops).map(|gflops| gflops / 1e3);
        row.filter(|row| !row.is_vendor())
            .map_or_else(|| maybe(rate), |row| format!("{} ({})", maybe(rate), percent(row.of_vendor)))
    };
    let mut lines = vec![vec!["TFLOP/s (share of cuBLAS)".to_string(), "tile sizes".to_string()]];
    lines[0].extend(columns.iter().map(|(dtype, shape)| format!("{dtype}, n = {}", shape.n)));
    for level in LEVELS {
        let configuration = default(level, level.types[0].dtype);
        let mut line = vec![configuration.name(), configuration.configuration.tiles.to_string()];
        line.extend(columns.iter().map(|(dtype, shape)| {
            let wanted = level.dtypes().any(|own| own == *dtype).then(|| default(level, *dtype));
            cell(wanted.and_then(|wanted| record.find(*dtype, *shape, |row| is(row, &wanted))))
        }));
        lines.push(line);
    }
    let mut line = vec!["cuBLAS".to_string(), String::new()];
    line.extend(columns.iter().map(|(dtype, shape)| cell(record.find(*dtype, *shape, Row::is_vendor))));
    lines.push(line);
    format!(
        "Measured, M = N = K = n, each level with its default tile sizes:\n\n{}\n{}",
        markdown(&lines, 2),
        origin(record)
    )
}

/// The book's page.
fn page(record: &Record, forms: &str) -> String {
    let mut text = format!(
        "<!-- made by `cargo x figures` from {RECORD} -->\n\n# Measurements\n\n{}\nHow: {}. Seed {}, commit {}.\nLevels' sums: {}.\n{}",
        origin(record),
        record.timing,
        record.seed,
        record.commit,
        record.accumulate.trim_start_matches("levels: "),
        if record.complete { "" } else { "The run was ended before its last problems: they are not in the tables.\n" },
    );
    let (first, others): (Vec<Dtype>, Vec<Dtype>) = measured(record).partition(|dtype| *dtype == Dtype::F32);
    for dtype in first.iter().chain(&others) {
        text += &of_type(record, *dtype);
    }
    text + &forms::section(forms)
}

/// What was measured in one type: the chart and the fastest kernels, and folded, what they are taken from.
fn of_type(record: &Record, dtype: Dtype) -> String {
    let rows: Vec<&Row> = record.rows.iter().filter(|row| row.dtype == dtype).collect();
    let part = |square: bool| rows.iter().copied().filter(|row| is_square(row) == square).collect::<Vec<&Row>>();
    let large = Shape { m: SHORT[1], n: SHORT[1], k: SHORT[1] };
    let counted = record.find(dtype, large, |row| row.counted_at.is_some()).and_then(|row| row.counted_at.as_ref());
    let roofline = format!(
        "![Roofline, {dtype}, M = N = K = {}]({})\n\nM = N = K = {}, each level with its default tile sizes. The rates are measured; the FLOPs per byte are counted on\nthe emulator{}.{}\n",
        SHORT[1],
        svg(Plot::Roofline, dtype),
        SHORT[1],
        counted.map_or_else(String::new, |at| format!(", at {at}")),
        if rows.iter().any(|row| has_rounds(row)) { LEFT_OUT } else { "" }
    );
    let mut text = format!(
        "\n## {dtype}\n\n![Size against GFLOP/s, {dtype}]({})\n\nThe fastest of all levels, against cuBLAS in the same run:\n\n{}",
        svg(Plot::Speed, dtype),
        fastest(&rows)
    );
    text += &folded("The roofline", &roofline);
    text +=
        &folded("All kernels, M = N = K", &format!("GFLOP/s, M = N = K (-: not measured):\n\n{}", rates(&part(true))));
    if !part(false).is_empty() {
        text += &folded("All kernels, other shapes", &format!("GFLOP/s, M×N×K:\n\n{}", rates(&part(false))));
    }
    text
}

fn folded(summary: &str, text: &str) -> String {
    format!("\n<details>\n<summary>{summary}</summary>\n\n{text}\n</details>\n")
}

/// The types that are on record, in the order of their names' list.
fn measured(record: &Record) -> impl Iterator<Item = Dtype> {
    Dtype::ALL.into_iter().map(|(_, dtype)| dtype).filter(|dtype| record.rows.iter().any(|row| row.dtype == *dtype))
}

/// Kernel by kernel, problem by problem; a dash where a kernel was left out.
fn rates(rows: &[&Row]) -> String {
    let shapes = distinct(rows.iter().map(|row| row.shape()));
    let kernels: Vec<(&str, &str)> = distinct(rows.iter().map(|row| (&*row.kernel, &*row.tiles)));
    let mut lines = vec![vec!["kernel".to_string(), "tile sizes".to_string()]];
    lines[0].extend(shapes.iter().map(|s| if s.m == s.n && s.n == s.k { s.n.to_string() } else { s.to_string() }));
    for (kernel, tiles) in kernels {
        let mut line = vec![kernel.to_string(), tiles.to_string()];
        let at = |shape: &Shape| {
            rows.iter().find(|row| row.shape() == *shape && (&*row.kernel, &*row.tiles) == (kernel, tiles))
        };
        line.extend(shapes.iter().map(|shape| maybe(at(shape).and_then(|row| row.gflops))));
        lines.push(line);
    }
    let spread = rows.iter().filter_map(|row| row.spread).fold(0.0, f64::max);
    format!("{}\nThe widest spread of these is {} of its median.\n", markdown(&lines, 2), percent(Some(spread)))
}

/// The fastest kernel of each problem: a line per problem.
fn fastest(rows: &[&Row]) -> String {
    let mut lines = vec![["M×N×K", "fastest", "tile sizes", "ms", "cuBLAS = 1"].map(str::to_string).to_vec()];
    for vendor in rows.iter().filter(|row| row.is_vendor()) {
        let rivals = rows.iter().filter(|row| row.shape() == vendor.shape() && !row.is_vendor());
        if let Some(best) = rivals.max_by(|a, b| a.of_vendor.unwrap_or(0.0).total_cmp(&b.of_vendor.unwrap_or(0.0))) {
            let ratio = best.of_vendor.map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
            lines.push(vec![best.shape().to_string(), best.kernel.clone(), best.tiles.clone(), maybe(best.ms), ratio]);
        }
    }
    markdown(&lines, 3)
}

/// Which types were measured in an earlier run, and when.
fn earlier(record: &Record) -> String {
    let of = |run: &Earlier| {
        let dtypes: Vec<String> = run.dtypes.iter().map(Dtype::to_string).collect();
        let day = run.date.split('T').next().unwrap_or_default();
        format!(" ({} in another run, {day}, commit {})", dtypes.join(", "), run.commit)
    };
    record.earlier.iter().map(of).collect()
}

/// Where the numbers are from, so that they can be believed or not.
fn origin(record: &Record) -> String {
    let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "unknown".to_string());
    format!(
        "{}, driver {}, CUDA {}, cuBLAS {}, {}{}; {}.\ncuBLAS: {}.\n",
        record.gpu,
        known(&record.driver),
        known(&record.cuda),
        known(&record.cublas),
        record.date.split('T').next().unwrap_or_default(),
        earlier(record),
        record.l2_policy,
        record.math
    )
}

/// The picture's file, as the book's page names it.
fn svg(plot: Plot, dtype: Dtype) -> String {
    format!("figures/{}-{dtype}.svg", if plot == Plot::Roofline { "roofline" } else { "speed" })
}

fn default(level: &'static gemm::Level, dtype: Dtype) -> Build {
    level.default_build(dtype)
}

fn is(row: &Row, build: &Build) -> bool {
    row.kernel == build.name() && row.tiles == build.configuration.tiles.to_string()
}

/// What the page says of kernels that are not in the roofline.
const LEFT_OUT: &str = " A level that shares the tiles of its last round is left out:\na problem that is small enough to be counted is nothing but that round.";

/// Whether the row's kernel shares the tiles of its last round.
fn has_rounds(row: &Row) -> bool {
    let is_it = |level: &&&gemm::Level| row.kernel.starts_with(level.name);
    let shares = |level: &&'static gemm::Level| level.default_build(row.dtype).round() > 1;
    LEVELS.iter().find(is_it).is_some_and(shares)
}

fn is_square(row: &Row) -> bool {
    row.m == row.n && row.n == row.k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_show_what_record_and_kernels_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        for (file, text) in all(root).unwrap() {
            let same = fs::read_to_string(root.join(&file)).is_ok_and(|shown| shown == text);
            assert!(
                same,
                "{file} is not what {RECORD} and the kernels give\nhint: `cargo x figures`, and commit what it writes"
            );
        }
    }
}
