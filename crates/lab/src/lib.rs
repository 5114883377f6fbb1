//! The lab, the readers' program: compare the levels, sweep sizes and tiles, try your own kernel. What makes the book's pictures and
//! keeps records, `press`, takes tables and measurements from here.
//!
//! - [`compare`]: every level on the same problem; [`diff`]: two kernels, line by line
//! - [`sweep`]: the levels over sizes, blocks, tiles and shapes, and products over GPUs; [`pivot`]: its tables
//! - [`report`]: all of that as one file to hand in
//! - [`plot`]: pictures of measurements, [`svg`]: how they are written
//! - [`record`]: what was measured on a GPU; [`predict`]: predicted times, [`predicted`]: in other tables
//! - [`accuracy`]: how far products are from the one in f64; [`schemes`]: in f32 from narrower parts
//! - [`attempt`]: any kernel from a file, the [`candidate`], with its [`operands`] and [`expression`]s;
//!   [`written`]: files as people write them
//! - [`probe`]: of which elements a wrong product is made, and by which launch or change it would be right
//! - [`sanitize`]: any kernel, GEMM or not, under the emulator's checks; [`shared_memory`]: what neither takes
//! - [`check`]: what a reader of the book did, against what an exercise asks
//!   (in the reader's language, [`words`])
//! - [`gpus`]: the modelled GPUs, and what fits on them; [`cards`]: what every level needs on each architecture
//! - [`waits`]: what warps wait for, by a model, beside what Nsight Compute read; [`timeline`]: a picture of it, on a [`sheet`]
//! - [`product`]: one product by the summit, in any form; [`mod@ranks`]: one over several GPUs
//! - [`doctor`]: what of CUDA is on this machine; [`completions`]: the commands, for a shell
//! - [`takers`]: who takes part, [`bench`]: a problem on which they run, [`row`]: what comes of it
//! - [`flags`], [`table`], [`output`], [`provenance`]: what the commands share

#![forbid(unsafe_code)]

mod accuracy;
mod attempt;
pub mod bench;
mod candidate;
pub mod cards;
pub mod check;
mod compare;
mod completions;
mod diff;
mod doctor;
mod exact;
mod expression;
pub mod flags;
mod gpus;
mod operands;
pub mod output;
mod pivot;
pub mod plot;
mod predict;
mod predicted;
mod probe;
mod product;
pub mod provenance;
mod ranks;
pub mod record;
mod report;
pub mod row;
mod sanitize;
mod schemes;
mod shared_memory;
pub mod sheet;
pub mod svg;
mod sweep;
pub mod table;
pub mod takers;
mod timeline;
pub mod waits;
mod words;
mod written;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

/// The lab: compare the levels, sweep sizes and tiles, try your own kernel.
#[derive(Debug, Parser)]
#[command(name = "lab", version, subcommand_required = true, arg_required_else_help = false)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(compare::Compare),
    Diff(diff::Diff),
    Sanitize(Box<sanitize::Sanitize>),
    Sweep(sweep::Sweep),
    Try(Box<attempt::Try>),
    Accuracy(accuracy::Accuracy),
    Predict(predict::Predict),
    Ranks(ranks::Ranks),
    Report(report::Command),
    Gpus(gpus::Gpus),
    Occupancy(gpus::Fit),
    Summit(product::Summit),
    Cards(cards::Cards),
    Check(check::Check),
    Start(check::start::Start),
    Waits(waits::Waits),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

/// The program: reads its arguments, and runs the command.
pub fn run() -> ExitCode {
    // A file's name may be no text; what is written down of the words is.
    let given: Vec<OsString> = env::args_os().skip(1).collect();
    let words: Vec<String> = given.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match Lab::try_parse_from([OsString::from("lab")].into_iter().chain(given.iter().cloned())) {
        Ok(lab) => command(&lab, &given[1..], &words[1..]),
        Err(error) if error.kind() == ErrorKind::DisplayVersion => said(&format!("lab {}\n", provenance::version())),
        Err(error) => return common::cli::explain(&error),
    };
    done.unwrap_or_else(|error| {
        // The words are English, but where the command speaks another language.
        output::note(&match &error {
            gemm::Error::Usage { message, hint } => words::say("error: {0}\nhint: {1}", &[message, hint]),
            gemm::Error::Fault(text) => format!("error: {text}"),
        });
        ExitCode::from(error.exit_code())
    })
}

/// Runs a command; `given`, and as text `words`, is what stands behind its name.
fn command(lab: &Lab, given: &[OsString], words: &[String]) -> Result<ExitCode, gemm::Error> {
    match &lab.command {
        Command::Accuracy(accuracy) => accuracy::run(accuracy),
        Command::Cards(cards) => cards::run(cards),
        Command::Check(check) => check::run(check),
        Command::Start(start) => check::start::run(start),
        Command::Compare(compare) => compare::run(compare),
        Command::Completions(completions) => completions::run::<Lab>(completions),
        Command::Doctor(doctor) => doctor::run(doctor),
        Command::Diff(diff) => diff::run(diff, words),
        Command::Gpus(gpus) => gpus::list(gpus),
        Command::Occupancy(fit) => gpus::fit(fit),
        Command::Predict(predict) => predict::run(predict),
        Command::Ranks(ranks) => ranks::run(ranks),
        Command::Report(report) => report::run(report),
        Command::Sanitize(sanitize) => sanitize::run(sanitize, given),
        Command::Sweep(sweep) => sweep::run(sweep),
        Command::Summit(summit) => product::run(summit),
        Command::Waits(waits) => waits::run(waits),
        Command::Try(attempt) => attempt::run(attempt, given),
    }
}

fn said(text: &str) -> Result<ExitCode, gemm::Error> {
    output::print(text).map(|()| ExitCode::SUCCESS)
}
