//! `lab report`: the experiments that a student hands in, as one Markdown file with its tables and pictures.
//!
//! - [`points`]: kernels at sizes, each with its time, measured or predicted
//! - [`access`]: what a kernel asks of memory
//! - [`own`]: a kernel from a file
//! - [`text`]: the report itself

mod access;
mod own;
mod points;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use gemm::{Build, Dtype, Error, Shape};
use levels::{builds, levels};

use self::points::Points;
use crate::flags::How;
use crate::output::{note, progress};
use crate::plot::{Plot, picture};
use crate::row::Row;

/// A report to hand in: block sizes, matrix sizes with growth and speed-up, memory accesses, tiles, and a wrong kernel with its verdict
///
/// It writes `report.md`, its pictures, and all rows as `rows.csv` into a folder. On a GPU times are measured; without one they are
/// predicted for an H200, and called so.
#[derive(Debug, Clone, Args)]
pub struct Command {
    /// A file with a kernel of your own, which `lab try` takes as it is: the report has its verdict, accesses and times
    #[arg(value_name = "FILE.cu")]
    file: Option<PathBuf>,
    /// The folder that the report is written into
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Matrix sizes, M = N = K
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "128,256,512,1024,2048",
          value_parser = clap::value_parser!(u32).range(1..=16_384))]
    sizes: Vec<u32>,
    /// The levels of the sizes and of the division of work, by number or name
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "0,1,2,3")]
    levels: Vec<String>,
    #[command(flatten)]
    how: How,
}

/// The size at which products are checked, and accesses counted, where there is no GPU.
const CHECKED: u32 = 256;

/// What the report is made of.
struct Found {
    /// Levels 0 and 1, each block size, at the size in the middle.
    blocks: Vec<Row>,
    /// The levels at all sizes, then the loop on the CPU.
    sizes: Vec<Row>,
    /// What kernels ask of memory.
    access: Vec<access::Access>,
    /// All tiles of the levels at the size in the middle.
    tiles: Vec<Row>,
    /// The reader's kernel.
    own: Option<own::Own>,
    /// The wrong kernel.
    wrong: text::Wrong,
}

/// Runs the command.
pub fn run(command: &Command) -> Result<ExitCode, Error> {
    let folder = &command.out;
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let found = find(command)?;
    let pictures = [
        ("blocks.svg", Plot::Speed, &found.blocks),
        ("sizes.svg", Plot::Speed, &found.sizes),
        ("tiles.svg", Plot::Speed, &found.tiles),
    ];
    let place = points::place(&command.how)?;
    for (name, plot, rows) in pictures {
        write(&folder.join(name), &picture(plot, &rows.iter().collect::<Vec<_>>(), &place))?;
    }
    write(&folder.join("rows.csv"), &csv(&found)?)?;
    write(&folder.join("report.md"), &text::text(command, &found, &place))?;
    note(&format!("{} written, with its pictures and rows.csv", folder.join("report.md").display()));
    let is_own_wrong = found.own.as_ref().is_some_and(own::Own::is_wrong);
    let wrong = is_own_wrong || found.blocks.iter().chain(&found.sizes).chain(&found.tiles).any(points::is_wrong);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn find(command: &Command) -> Result<Found, Error> {
    let dtype = command.how.dtype;
    let first = |numbers: &[&str]| levels(&numbers.iter().map(|number| number.to_string()).collect::<Vec<_>>());
    let mut of_blocks = builds(&first(&["0", "1"])?, dtype, true)?;
    of_blocks.retain(Build::is_first_variant);
    let mut of_sizes = builds(&levels(&command.levels)?, dtype, false)?;
    of_sizes.retain(Build::is_first_variant);
    let mut of_tiles = builds(&levels(&command.levels)?, dtype, true)?;
    of_tiles.retain(Build::is_first_variant);
    let middle = square(middle(&command.sizes));
    // First what may be refused.
    let own = command.file.as_ref().map(|file| own::examined(file, &command.sizes, &command.how)).transpose()?;
    let points = Points::new(&command.how)?;
    let bar = progress((of_blocks.len() + of_sizes.len() * command.sizes.len() + of_tiles.len() + 6) as u64);
    let at = |builds: &[Build], shape| points.rows(builds, shape, &bar);
    let blocks = at(&of_blocks, middle)?;
    let mut sizes = Vec::new();
    for &size in &command.sizes {
        sizes.extend(at(&of_sizes, square(size))?);
        sizes.push(points.cpu(square(size))?);
    }
    compared(&mut sizes);
    let tiles = at(&of_tiles, middle)?;
    let mut access = access::found(&command.how, square(CHECKED))?;
    let (access_of_own, own) = own.map_or((None, None), |mut own| (own.access.take(), Some(own)));
    access.extend(access_of_own);
    bar.inc(6);
    let wrong = text::Wrong::judged()?;
    bar.finish_and_clear();
    Ok(Found { blocks, sizes, access, tiles, own, wrong })
}

fn square(size: u32) -> Shape {
    Shape { m: size, n: size, k: size }
}

/// The size that is neither among the smaller half nor among the larger.
fn middle(sizes: &[u32]) -> u32 {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes[sizes.len() / 2]
}

/// Growth from size to size, and how many times as fast as the loop on one core each kernel is.
fn compared(rows: &mut [Row]) {
    for i in 0..rows.len() {
        let before = rows[..i].iter().rev().find(|row| row.kernel == rows[i].kernel).and_then(|row| row.ms);
        let alone = rows.iter().find(|row| row.m == rows[i].m && points::is_cpu(row)).and_then(|row| row.ms);
        let ms = rows[i].ms;
        rows[i].growth = before.and_then(|before| Some(ms? / before));
        rows[i].speedup = alone.and_then(|alone| Some(alone / ms?));
    }
}

/// All rows, with a header.
fn csv(found: &Found) -> Result<String, Error> {
    let refused = |error: &dyn std::fmt::Display| Error::usage(format!("rows.csv: {error}"), "report this");
    let mut writer = csv::Writer::from_writer(Vec::new());
    let own = found.own.iter().flat_map(|own| &own.rows);
    let all = found.blocks.iter().chain(&found.sizes).chain(&found.tiles).chain(own);
    all.into_iter().try_for_each(|row| writer.serialize(row)).map_err(|error| refused(&error))?;
    let bytes = writer.into_inner().map_err(|error| refused(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The element type as the sentences name it.
fn named(dtype: Dtype) -> String {
    match dtype.name() {
        "f64" => "double precision (f64)".to_string(),
        "f32" => "single precision (f32)".to_string(),
        other => other.to_string(),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    fs::write(file, text).map_err(|error| cannot(file, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(format!("cannot write {}: {error}", path.display()), "`--out` names a folder that can be written")
}
