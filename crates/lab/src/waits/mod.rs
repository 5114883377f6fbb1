//! `lab waits`: what warps wait for, by a model of an SM, beside what Nsight Compute read on a GPU.
//!
//! - [`record`]: what Nsight Compute read
//! - [`model`]: the same launches, in the model
//! - [`refit`]: how good the model is for levels that it was not fitted to
//! - [`draw`]: a timeline of a launch
//! - [`any`]: any launch, in the model

pub(crate) mod any;
mod draw;
pub(crate) mod model;
mod record;
mod refit;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use gemm::Error;
use rayon::prelude::*;
use sm_model::figures::FITTED;

use crate::output::{print, progress};
use crate::table::table;
pub use draw::pictures;
use record::{GROUPS, Read, Shares, number, record};

const RECORD: &str = "book/measurements/nvidia-h200-waits.csv";
/// The levels that the model knows all instructions of.
const MODELLED: u32 = 8;
/// How far a share may be off, and from what difference on the order of the two largest counts.
const TOLERANCE: f64 = 0.10;
const APART: f64 = 0.05;

/// Launches of levels 0 to 8 in a record, and how many of them the model gets right. `--record` with the file finds each again.
struct Judged {
    file: &'static str,
    launches: usize,
    right: usize,
}

/// The records that the model's figures are fitted to.
const FITTED_TO: [Judged; 3] = [
    Judged { file: RECORD, launches: 30, right: 28 },
    Judged { file: "book/measurements/nvidia-h200-waits-sizes.csv", launches: 45, right: 45 },
    Judged { file: "book/measurements/nvidia-h200-waits-unseen.csv", launches: 45, right: 43 },
];
/// At sizes that were drawn by chance when the model was made, and read after that: nothing is fitted to these.
const DRAWN: Judged = Judged { file: "book/measurements/nvidia-h200-waits-drawn.csv", launches: 45, right: 44 };
/// Of the launches of the first record, how many are right by figures that were fitted without their level. `--held-out`
/// finds that again.
const HELD_OUT: usize = 25;

/// Where the model is off, and why.
const REASONS: [(&str, &str, &str); 5] = [
    (
        "level0-naive",
        "--size 4096",
        "B does not fit into L2; that its blocks then wait for DRAM together, longer than for its latency, the model does not know",
    ),
    (
        "level0-naive",
        "--size 2922",
        "rows begin at multiples of 8 bytes; L1 seems to be busy with them for longer than the model has it; why is not known",
    ),
    (
        "level2-register",
        "--size 4096 --define BM=128 --define BN=128 --define BK=8 --define TM=8 --define TN=8",
        "its warps wait longer for global memory than was read, and less for the register file's banks; why is not known",
    ),
    ("level7-register-pipeline", "--size 233", RAGGED),
    ("level8-rasterization", "--size 233", RAGGED),
];
const RAGGED: &str = "where rows are no whole vectors, the machine code reads rows of the tiles just before their use, and waits for \
                      them; the model reads them ahead";

/// What warps wait for, by a MODEL of an SM, beside what Nsight Compute read; levels 0 to 8 on an H200, in f32
#[derive(Debug, Clone, Args)]
pub struct Waits {
    /// The record of Nsight Compute
    #[arg(long, value_name = "FILE", default_value = RECORD)]
    record: PathBuf,
    /// Only launches of this level, by number
    #[arg(long, value_name = "N")]
    level: Option<u32>,
    /// Only launches of this size
    #[arg(long, value_name = "N")]
    size: Option<u32>,
    /// Fit the model's figures anew without each third of the levels, and judge these by that; takes minutes
    #[arg(long, conflicts_with_all = ["level", "size", "timeline", "clocks", "gpu"])]
    held_out: bool,
    /// Draw what each warp does when, of the first launch that is left
    #[arg(long, value_name = "FILE.svg")]
    timeline: Option<PathBuf>,
    /// Draw it for another GPU, by figures that are published and not measured here [default: h200]
    #[arg(long, value_name = "NAME", requires = "timeline")]
    gpu: Option<String>,
    /// The clocks that the timeline shows [default: a step along K, from the middle of the run on]
    #[arg(long, value_name = "FROM..TO", value_parser = clocks_of)]
    clocks: Option<(u32, u32)>,
}

fn clocks_of(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    parts
        .filter(|(from, to)| from < to)
        .ok_or_else(|| "clocks are written FROM..TO, for instance 1000..1400".to_string())
}

/// Runs the command.
pub fn run(waits: &Waits) -> Result<ExitCode, Error> {
    if let Some(level) = waits.level.filter(|&level| level > MODELLED) {
        return Err(Error::usage(
            format!("the model does not know the instructions of level {level}"),
            format!("it knows levels 0 to {MODELLED}"),
        ));
    }
    let text = fs::read_to_string(&waits.record).map_err(|error| {
        Error::usage(format!("cannot read {}: {error}", waits.record.display()), "is this the repository's root?")
    })?;
    let launches = wanted(waits, &text)?;
    let Some(first) = launches.first() else {
        return Err(lacking(waits, &text));
    };
    if let Some(file) = &waits.timeline {
        return draw::draw(waits, first, file);
    }
    let (shares, fits) = match waits.held_out {
        true => {
            let held = refit::held_out(&launches)?;
            (held.shares, fitted(&held.figures))
        }
        false => (modelled(&launches)?, reasons(&launches)),
    };
    let (lines, within) = compared(&launches, &shares);
    print(&format!(
        "MODEL of an H200's SM, fed by the PTX that the emulator executes; in brackets what Nsight Compute read.\n{}\n\
         Shares of all clocks of warps, in percent.\n\n{}\n{within} of {} launches within {:.0} points for the two \
         largest, in the same order\n{fits}",
        error_on_record(),
        table(&lines),
        launches.len(),
        100.0 * TOLERANCE,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// How far to trust the model.
fn error_on_record() -> String {
    let sum = |of: fn(&Judged) -> usize| FITTED_TO.iter().map(of).sum::<usize>();
    format!(
        "It is right in {} of {} launches that were read, at sizes drawn by chance, after it was made\n\
         (`--record {}`), and in {} of the {} to which {} of its figures\nare fitted; \
         fitted without each third of the levels, in {HELD_OUT} of {} that it had not seen (`--held-out`).\n\
         How it is made was decided with all but the first of these in view.",
        DRAWN.right,
        DRAWN.launches,
        DRAWN.file,
        sum(|judged| judged.right),
        sum(|judged| judged.launches),
        FITTED.len(),
        FITTED_TO[0].launches,
    )
}

/// Why the model is off, where it is.
fn reasons(launches: &[Read]) -> String {
    let here =
        |level: &str, arguments: &str| launches.iter().any(|read| read.level == level && read.arguments == arguments);
    let off = REASONS.iter().filter(|(level, arguments, _)| here(level, arguments));
    off.map(|(level, arguments, why)| format!("off: {level} {arguments}: {why}\n")).collect()
}

/// The launches that are asked for.
fn wanted(waits: &Waits, text: &str) -> Result<Vec<Read>, Error> {
    let size = waits.size.map(|size| size.to_string());
    let wanted = |read: &Read| {
        let sizes = size.as_ref().is_none_or(|size| read.arguments.split_whitespace().any(|word| word == size));
        let level = number(&read.level);
        level.is_some_and(|level| level <= MODELLED && waits.level.is_none_or(|wanted| wanted == level)) && sizes
    };
    Ok(record(text)?.into_iter().filter(wanted).collect())
}

/// The record has launches, and none of this level and this size.
fn lacking(waits: &Waits, text: &str) -> Error {
    let level = waits.level.map_or(String::new(), |level| format!(" of level {level}"));
    let size = waits.size.map_or(String::new(), |size| format!(" of size {size}"));
    let of_any_size = wanted(&Waits { size: None, ..waits.clone() }, text).unwrap_or_default();
    let size_of = |read: Read| read.arguments.strip_prefix("--size ")?.split(' ').next()?.parse().ok();
    let sizes: BTreeSet<u32> = of_any_size.into_iter().filter_map(size_of).collect();
    let sizes = sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let hint = if sizes.is_empty() { "`--record` names another".to_string() } else { format!("it has sizes {sizes}") };
    Error::usage(format!("{} has no launch{level}{size}", waits.record.display()), hint)
}

/// The model's shares of each launch.
fn modelled(launches: &[Read]) -> Result<Vec<Shares>, Error> {
    let bar = progress(launches.len() as u64);
    let each = launches.par_iter().map(|read| {
        let shares = model::modelled(read);
        bar.inc(1);
        shares
    });
    let shares = each.collect();
    bar.finish_and_clear();
    shares
}

/// The figures that each fit found, as a table.
fn fitted(fits: &[sm_model::figures::Figures]) -> String {
    let mut lines = vec![vec!["figure".to_string(), "all levels".to_string()]];
    lines[0].extend((0..fits.len()).map(|n| {
        let levels: Vec<String> =
            (0..=MODELLED).filter(|level| level % refit::FOLDS == n as u32).map(|level| level.to_string()).collect();
        format!("without {}", levels.join(", "))
    }));
    for figure in &FITTED {
        let mut line = vec![figure.name.to_string(), (figure.get)(model::FIGURES).to_string()];
        line.extend(fits.iter().map(|figures| (figure.get)(figures).to_string()));
        lines.push(line);
    }
    format!("\nEach by figures that were fitted without its third of the levels:\n\n{}", table(&lines))
}

/// The table, and how many launches are within the tolerance.
fn compared(launches: &[Read], shares: &[Shares]) -> (Vec<Vec<String>>, usize) {
    let mut lines = vec![vec!["launch".to_string()]];
    lines[0].extend(GROUPS.iter().map(|(name, _)| (*name).to_string()));
    lines[0].extend(["worst".to_string(), String::new()]);
    let mut within = 0;
    for (read, modelled) in launches.iter().zip(shares) {
        let fits = fits(modelled, &read.shares);
        within += usize::from(fits);
        let mut line = vec![format!("{} {}", read.level, read.arguments)];
        line.extend(modelled.iter().zip(&read.shares).map(|(m, r)| format!("{:.1} ({:.1})", 100.0 * m, 100.0 * r)));
        let worst = modelled.iter().zip(&read.shares).map(|(m, r)| (m - r).abs()).fold(0.0, f64::max);
        line.push(format!("{:.1}", 100.0 * worst));
        line.push(if fits { "" } else { "off" }.to_string());
        lines.push(line);
    }
    (lines, within)
}

/// Which of [`GROUPS`] are the largest and the next.
fn two_largest(shares: &Shares) -> (usize, usize) {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    (order[0], order[1])
}

/// Whether the two largest shares are right, and in the right order where they differ.
fn fits(modelled: &Shares, read: &Shares) -> bool {
    let (first, second) = two_largest(read);
    let close = |at: usize| (modelled[at] - read[at]).abs() <= TOLERANCE;
    close(first) && close(second) && (read[first] - read[second] <= APART || modelled[first] >= modelled[second])
}

#[cfg(test)]
mod tests {
    use super::*;
    use level_tests::deep;

    /// The launches of a record.
    fn launches(judged: &Judged) -> Vec<Read> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(judged.file);
        let all = record(&fs::read_to_string(path).unwrap()).unwrap();
        all.into_iter().filter(|read| number(&read.level).is_some_and(|n| n <= MODELLED)).collect()
    }

    /// Each launch is right, or is off and has its reason.
    fn judge(launches: &[Read]) {
        let shares = modelled(launches).unwrap();
        let (lines, _) = compared(launches, &shares);
        for (read, shares) in launches.iter().zip(&shares) {
            let wrong = format!("{} {}\n{}", read.level, read.arguments, table(&lines));
            assert_eq!(has_reason(read), !fits(shares, &read.shares), "{wrong}");
        }
    }

    fn has_reason(read: &Read) -> bool {
        REASONS.iter().any(|(level, words, _)| *level == read.level && *words == read.arguments)
    }

    /// All launches are on record, and so many have no reason to be off.
    fn count(judged: &Judged) -> Vec<Read> {
        let launches = launches(judged);
        let right = launches.iter().filter(|read| !has_reason(read)).count();
        assert_eq!((launches.len(), right), (judged.launches, judged.right), "{}", judged.file);
        launches
    }

    /// Of each level one launch, of another size than the level's before.
    fn one_of_each_level(launches: Vec<Read>) -> Vec<Read> {
        let mut sizes: Vec<String> = launches.iter().map(|read| read.arguments.clone()).collect();
        sizes.sort();
        sizes.dedup();
        let is_its_turn = |read: &Read| {
            let level = number(&read.level).unwrap() as usize;
            read.arguments == sizes[level % sizes.len()]
        };
        let some: Vec<Read> = launches.into_iter().filter(is_its_turn).collect();
        assert_eq!(some.len(), MODELLED as usize + 1);
        assert!(sizes.iter().all(|size| some.iter().any(|read| read.arguments == *size)), "{sizes:?}");
        some
    }

    /// All of them with `DEEP=1`.
    #[test]
    fn nine_of_ten_launches_that_it_had_not_seen_are_right_and_each_other_has_its_reason() {
        const { assert!(10 * DRAWN.right >= 9 * DRAWN.launches) };
        let launches = count(&DRAWN);
        judge(&if deep() { launches } else { one_of_each_level(launches) });
    }

    /// It takes many minutes: `DEEP=1` asks for it.
    #[test]
    fn what_was_held_out_is_as_stated() {
        if !deep() {
            return println!("skipped: DEEP is not set");
        }
        let launches = launches(&FITTED_TO[0]);
        let held = refit::held_out(&launches).unwrap();
        assert_eq!(compared(&launches, &held.shares).1, HELD_OUT);
    }

    /// It takes a minute: the launches themselves with `DEEP=1`.
    #[test]
    fn what_it_is_fitted_to_is_as_stated() {
        let launches = FITTED_TO.iter().map(count);
        launches.filter(|_| deep()).for_each(|launches| judge(&launches));
    }

    #[test]
    fn the_two_largest_shares_count() {
        let read = [0.30, 0.28, 0.20, 0.01, 0.0];
        assert!(fits(&[0.25, 0.33, 0.0, 0.0, 0.0], &read));
        assert!(!fits(&[0.41, 0.28, 0.20, 0.01, 0.0], &read));
        assert!(!fits(&[0.30, 0.39, 0.20, 0.01, 0.0], &read));
        // Further apart than five points: the order counts.
        assert!(!fits(&[0.28, 0.30, 0.0, 0.0, 0.0], &[0.35, 0.25, 0.0, 0.0, 0.0]));
    }
}
