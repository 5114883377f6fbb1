//! A timeline of a launch, as text and as a picture.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clocks::sm::{How, Outcome};
use clocks::timeline;
use common::{Error, Shape};

use super::Waits;
use super::model::{FIGURES, LENGTHS, Recorded, modelled};
use super::record::{GROUPS, Read, launch_of};
use crate::output::print;
use crate::timeline as picture;

/// Letters of a line of a timeline.
const COLUMNS: u32 = 96;

/// What is drawn of a launch.
struct Drawn {
    title: String,
    error: String,
    outcome: Outcome,
    /// The clocks that are shown.
    shown: (u32, u32),
    steps: u32,
}

impl Drawn {
    /// The clocks that are asked for or, from the middle of the run on, those of a step along K.
    fn of(read: &Read, shown: Option<(u32, u32)>) -> Result<Drawn, Error> {
        let (build, shape) = launch_of(read)?;
        let shape = Shape { k: shape.k.min(LENGTHS[1]), ..shape };
        let recorded = Recorded::of(&build, shape)?;
        let how = How { timeline: true, ..How::default() };
        let outcome = recorded.run(&recorded.assembled(FIGURES), FIGURES, how);
        let steps = shape.k.div_ceil(build.tile().k).max(1);
        let middle = outcome.clocks / 2;
        let (from, to) = shown.unwrap_or((middle, middle + outcome.clocks / steps));
        let (from, to) = (from.min(outcome.clocks), to.min(outcome.clocks.max(from + 1)));
        let title = format!("MODEL of an H200's SM: {} {}, clocks {from} to {to}", read.level, read.arguments);
        Ok(Drawn { title, error: fits_in_words(read)?, outcome, shown: (from, to), steps })
    }

    fn picture(&self) -> String {
        picture::draw(&self.title, &self.error, &self.outcome, self.shown)
    }
}

/// A timeline of a launch, as text and into a file.
pub fn draw(waits: &Waits, read: &Read, file: &Path) -> Result<ExitCode, Error> {
    let drawn = Drawn::of(read, waits.clocks)?;
    fs::write(file, drawn.picture())
        .map_err(|error| Error::usage(format!("cannot write {}: {error}", file.display()), "name another file"))?;
    let Drawn { title, error, outcome, shown, steps } = drawn;
    let lanes = outcome.lanes.iter().enumerate();
    let lanes: String =
        lanes.map(|(warp, lane)| format!("warp {warp:>2}  {}\n", timeline::line(lane, shown, COLUMNS))).collect();
    print(&format!(
        "{title}\n{error}\n{} clocks for {steps} steps along K; {:.2} instructions a clock\n\n{lanes}\n{}\n",
        outcome.clocks,
        outcome.issued as f64 / f64::from(outcome.clocks.max(1)),
        timeline::LEGEND
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// How far the model is off for this launch.
fn fits_in_words(read: &Read) -> Result<String, Error> {
    let modelled = modelled(read)?;
    let each = GROUPS.iter().zip(modelled.iter().zip(&read.shares));
    let words = each.map(|((name, _), (m, r))| format!("{name} {:.0} ({:.0})", 100.0 * m, 100.0 * r));
    Ok(format!("shares in percent, in brackets as Nsight Compute read them: {}", words.collect::<Vec<_>>().join(", ")))
}
