//! Pictures of rows: speed over size, the roofline, bars of counters.

mod bars;
mod roofline;
mod speed;

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gemm::Error;

use crate::row::{Row, distinct};
use crate::svg::{Anchor, Svg, series};

/// Which picture, and where it goes.
#[derive(Debug, Clone, Args)]
pub struct Flags {
    /// Draw a picture into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Which picture: speed (over size, or as bars at one shape), roofline (each kernel a point), counters (bars)
    #[arg(long, value_enum, hide_possible_values = true, default_value = "speed")]
    pub plot: Plot,
}

/// A kind of picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Plot {
    /// Size against GFLOP/s, with the crossover against cuBLAS.
    Speed,
    /// Intensity against GFLOP/s, below the GPU's roofs.
    Roofline,
    /// Sectors and wavefronts per multiply-add.
    Counters,
}

/// Refuses a file that cannot be written, before any work is done.
pub fn check(flags: &Flags) -> Result<(), Error> {
    let folder = flags.svg.as_ref().and_then(|file| file.parent()).filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            Err(Error::usage(format!("there is no folder {}", folder.display()), "make it, or name another file"))
        }
        _ => Ok(()),
    }
}

/// Draws, if a file is named. The file is replaced as a whole or not at all.
pub fn draw(flags: &Flags, rows: &[Row], place: &str) -> Result<(), Error> {
    let Some(file) = &flags.svg else { return Ok(()) };
    let right: Vec<&Row> = rows.iter().filter(|row| row.is_right()).collect();
    if right.is_empty() {
        return Err(Error::usage(
            "there is nothing to draw: no row has a right product",
            "the rows say what is wrong, or why a level did not run",
        ));
    }
    let text = picture(flags.plot, &right, place);
    let new = file.with_extension("svg.new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, file)).map_err(|error| {
        let _ = fs::remove_file(&new);
        Error::usage(format!("cannot write {}: {error}", file.display()), "name a file in a folder that is there")
    })
}

/// The picture of one row or more, as the text of an SVG file.
pub fn picture(plot: Plot, rows: &[&Row], place: &str) -> String {
    match plot {
        Plot::Speed if rows.iter().all(|row| row.shape() == rows[0].shape()) => bars::speed(rows, place),
        Plot::Speed => speed::draw(rows, place),
        Plot::Roofline => roofline::draw(rows, place),
        Plot::Counters => bars::counters(rows, place),
    }
}

/// What a series is called: the kernel, and its tile sizes where they tell series apart.
fn name(row: &Row) -> String {
    format!("{} {}", row.kernel, row.tiles).trim_end().to_string()
}

/// Height of a series in a list of them.
const ENTRY: f64 = 33.0;

/// The height of a picture, with room for so many series beside it from `top` on.
fn height(top: f64, series: usize) -> f64 {
    (top + ENTRY * series as f64 + 20.0).max(430.0)
}

/// One series in the list beside a picture: its dot, the kernel, and the tile sizes below.
fn entry(svg: &mut Svg, (left, top): (f64, f64), index: usize, row: &Row) {
    let y = top + 10.0 + ENTRY * index as f64;
    svg.dot((left, y - 4.0), &series(index), &name(row));
    svg.text(left + 12.0, y, &row.kernel, "", Anchor::Start);
    svg.text(left + 12.0, y + 14.0, &row.tiles, "small", Anchor::Start);
}

/// The names of all series, in order of appearance.
fn names(rows: &[&Row]) -> Vec<String> {
    distinct(rows.iter().map(|row| name(row)))
}
