//! `lab diff A.cu B.cu`: two kernels on the same problem, side by side: what differs, and in which lines.
//!
//! - [`side`]: one of the two; [`any`]: of kernels that are no product
//! - [`rows`]: the quantities that may differ; [`lines`]: where in each file
//! - [`text`]: how it is written

mod any;
mod lines;
mod rows;
mod side;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use gemm::Error;
use gemm::facts::Facts;
use gemm::report::Report;
use gemm::sums::Summed;
use serde::Serialize;

use crate::attempt::{Flags, Ready, Try};
use crate::candidate::File;
use crate::output::print;
use rows::Row;
use side::Side;

/// Two kernels on the same problem, side by side: what they do differently, and in which lines
///
/// Both run on the emulator, and their products are checked. What is the same for both is left out; what matters most comes first:
/// the least time on the modelled GPU, the work, memory, instructions, and what a thread and a block need. Fewer is better of all of
/// these, but for the warps of an SM. The flags are those of `lab try`, and hold for both kernels, behind those that a file carries;
/// --first and --second have more for one of them. Without a second file, both kernels are in the first.
///
/// With --arg, the kernels need be no product: the flags are then those of `lab sanitize`, of one launch.
#[derive(Debug, Clone, Args)]
pub struct Diff {
    #[command(flatten)]
    attempt: Box<Try>,
    /// The other kernel's file
    other: Option<PathBuf>,
    /// The next argument of any kernel, as `lab sanitize` takes it (repeatable)
    #[arg(long, value_name = "ARGUMENT", action = clap::ArgAction::Append, allow_hyphen_values = true)]
    arg: Vec<String>,
    /// A name for a number, with --arg (repeatable)
    #[arg(long, value_name = "NAME=NUMBER", action = clap::ArgAction::Append, requires = "arg")]
    set: Vec<String>,
    /// What a buffer is to hold afterwards, with --arg (repeatable)
    #[arg(long, value_name = "PART=CONTENT", action = clap::ArgAction::Append, requires = "arg")]
    expect: Vec<String>,
    /// Flags for the first kernel alone, as in --first '--entry simple --block 16,16'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    first: Option<String>,
    /// Flags for the second kernel alone
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    second: Option<String>,
}

/// What two kernels do differently.
#[derive(Debug, Serialize)]
struct Comparison {
    /// The sizes of a product.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<gemm::Shape>,
    /// The modelled GPU.
    gpu: &'static str,
    /// The kernels.
    kernels: [Kernel; 2],
    /// What differs, in the order of what matters.
    differs: Vec<Row>,
}

/// One of the kernels.
#[derive(Debug, Serialize)]
struct Kernel {
    /// Its file, and its name, as far as these tell the two apart.
    name: String,
    /// Whether its product is right, or no fault is found.
    right: bool,
    /// The launch, in words.
    launch: String,
    /// How its instructions sum products, where they do so in tensor cores or in few bits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sums: Vec<Summed>,
    /// The least time on the modelled GPU, in microseconds.
    bound_us: f64,
    /// The unit that needs it.
    bottleneck: String,
}

/// Runs the command, whose own words are `words`.
pub fn run(diff: &Diff, words: &[String]) -> Result<ExitCode, Error> {
    let files =
        [&diff.attempt.file(), &diff.other.as_ref().unwrap_or(diff.attempt.file())].map(|path| path.to_path_buf());
    let own = [&diff.first, &diff.second];
    let common = common_words(diff, words);
    let all_words = |path: &Path, own: &Option<String>| -> Vec<OsString> {
        let own = own.iter().flat_map(|flags| flags.split_whitespace()).map(str::to_string);
        let words = [path.display().to_string()].into_iter().chain(common.iter().cloned()).chain(own);
        words.map(OsString::from).collect()
    };
    if !diff.arg.is_empty() {
        let words = [all_words(&files[0], own[0]), all_words(&files[1], own[1])];
        return any::run([&files[0], &files[1]], words);
    }
    let mut sides = Vec::new();
    for (path, own) in files.iter().zip(own) {
        let file = File::of_products(path)?;
        let all = all_words(path, own);
        let flags = match Flags::read(&file, &all) {
            Ok(flags) => flags,
            Err(error) => return Ok(common::cli::explain(&error)),
        };
        let ready = flags.ready(&file)?;
        let report = ready.counted().map_err(|error| of_file(error, &path.display().to_string()))?;
        sides.push((ready, report));
    }
    let [first, second] = [&sides[0], &sides[1]];
    if first.1.shape != second.1.shape {
        let (a, b) = (first.1.shape, second.1.shape);
        return Err(Error::usage(
            format!("the kernels have different problems: {a} and {b}"),
            "--m, --n and --k, or --size, are for both",
        ));
    }
    let comparison = compared([first, second])?;
    shown(&comparison, first.0.json())
}

/// Prints the comparison; the exit code says whether both are right.
fn shown(comparison: &Comparison, json: bool) -> Result<ExitCode, Error> {
    print(&match json {
        true => format!("{}\n", serde_json::to_string_pretty(comparison).unwrap_or_default()),
        false => text::text(comparison),
    })?;
    let right = comparison.kernels.iter().all(|kernel| kernel.right);
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The words that are for both kernels: all but the files, and what is for one of them.
fn common_words(diff: &Diff, words: &[String]) -> Vec<String> {
    let mut left = words.to_vec();
    let files = [Some(diff.attempt.file()), diff.other.as_ref()];
    for file in files.into_iter().flatten().map(|file| file.display().to_string()) {
        // Files stand before flags or behind them, but a flag's value is not a file of kernels.
        if let Some(at) = left.iter().position(|word| *word == file) {
            left.remove(at);
        }
    }
    for flag in ["--first", "--second"] {
        while let Some(at) = left.iter().position(|word| word == flag) {
            left.drain(at..(at + 2).min(left.len()));
        }
        left.retain(|word| !word.starts_with(&format!("{flag}=")));
    }
    left
}

/// A fault with the file that it is in.
fn of_file(error: Error, file: &str) -> Error {
    match error {
        Error::Fault(text) => Error::Fault(format!("{file}: {text}")),
        Error::Usage { message, hint } => Error::Usage { message: format!("{file}: {message}"), hint },
    }
}

fn compared(sides: [&(Ready, Report); 2]) -> Result<Comparison, Error> {
    let [first, second] = sides.map(|(_, report)| report);
    let none = || Error::usage("there are no counts", "kernels are compared on the emulator");
    let [Some(one), Some(other)] = sides.map(|(ready, report)| side(ready, report)) else { return Err(none()) };
    let same_file = first.level == second.level;
    let name = |report: &Report| match same_file {
        true => report.kernel.entry.clone(),
        false => report.level.rsplit('/').next().unwrap_or_default().to_string(),
    };
    let kernel = |report: &Report| Kernel {
        name: name(report),
        right: report.check.right,
        launch: report.launch.to_string(),
        sums: report.sums.clone(),
        bound_us: report.modelled.as_ref().map_or(0.0, |modelled| 1e6 * modelled.bound.seconds),
        bottleneck: report.modelled.as_ref().map_or_else(String::new, |modelled| modelled.bound.bottleneck.to_string()),
    };
    let differs = rows::rows([one, other]);
    let kernels = [kernel(first), kernel(second)];
    Ok(Comparison { shape: Some(first.shape), gpu: one.modelled.gpu, kernels, differs })
}

fn side<'a>(ready: &'a Ready, report: &'a Report) -> Option<Side<'a>> {
    let (Facts::Emulator(counted), Some(modelled)) = (&report.facts, &report.modelled) else { return None };
    Some(Side {
        source: ready.source(),
        total: &counted.total,
        lines: &counted.lines,
        footprint_bytes: counted.footprint_bytes,
        shared_bytes: counted.shared_bytes,
        modelled,
    })
}
