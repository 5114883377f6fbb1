//! The lab: compare the levels, sweep sizes and tiles, try your own kernel.
//!
//! - [`compare`]: every level on the same problem; [`diff`]: two kernels, line by line
//! - [`sweep`]: the levels over sizes, blocks, tiles and shapes; [`pivot`]: its tables
//! - [`report`]: all of that as one file to hand in
//! - [`plot`]: pictures of measurements, [`svg`]: how they are written; [`pictures`]: those of the book
//! - [`measure`]: all levels on a GPU, into a file; [`figures`]: what the book shows of it, [`lessons`]: lesson by lesson,
//!   [`markdown`]: as tables
//! - [`survey`]: all shipped configurations on shapes drawn from a seed, on a GPU;
//!   [`calibrate`]: predicted times, fitted to that, and how far they are off; [`predict`]: what they are,
//!   [`predicted`]: in other tables
//! - [`accuracy`]: how far products are from the one in f64; [`schemes`]: in f32 from narrower parts
//! - [`tune`]: the fastest tile sizes, into a file that `common` uses
//! - [`attempt`]: any kernel from a file, the [`candidate`], with its [`operands`] and [`expression`]s;
//!   [`written`]: files as people write them
//! - [`sanitize`]: any kernel, GEMM or not, under the emulator's checks; [`shared_memory`]: what neither takes
//! - [`check`]: what a reader of the book did, against what an exercise asks
//!   (in the reader's language, [`words`])
//! - [`variants`]: the exercises' kernels, compiled for the book's pages
//! - [`gpus`]: the modelled GPUs, and what fits on them; [`cards`]: what every level needs on each architecture
//! - [`waits`]: what warps wait for, by a model, beside what Nsight Compute read; [`timeline`]: a picture of it
//! - [`product`]: one product by the summit, in any form
//! - [`takers`]: who takes part, [`bench`]: a problem on which they run, [`row`]: what comes of it
//! - [`flags`], [`table`], [`output`], [`provenance`]: what the commands share

#![forbid(unsafe_code)]

mod accuracy;
mod attempt;
mod bench;
mod calibrate;
mod candidate;
mod cards;
mod check;
mod compare;
mod diff;
mod expression;
mod figures;
mod flags;
mod gpus;
mod instructions;
mod lessons;
mod markdown;
mod measure;
mod operands;
mod output;
mod pictures;
mod pivot;
mod plot;
mod predict;
mod predicted;
mod product;
mod provenance;
mod report;
mod row;
mod sanitize;
mod schemes;
mod shared_memory;
mod survey;
mod svg;
mod sweep;
mod table;
mod takers;
mod timeline;
mod tune;
mod variants;
mod waits;
mod words;
mod written;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

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
    Survey(survey::Command),
    Accuracy(accuracy::Accuracy),
    Calibrate(calibrate::Calibrate),
    Predict(predict::Predict),
    Report(report::Command),
    Measure(measure::Measure),
    #[command(hide = true)]
    Figures(figures::Figures),
    Gpus(gpus::Gpus),
    Occupancy(gpus::Fit),
    Summit(product::Summit),
    Tune(tune::Tune),
    Cards(cards::Cards),
    Check(check::Check),
    Start(check::start::Start),
    #[command(hide = true)]
    Variants(variants::Variants),
    Waits(waits::Waits),
}

fn main() -> ExitCode {
    // A file's name may be no text; what is written down of the words is.
    let given: Vec<OsString> = env::args_os().skip(1).collect();
    let words: Vec<String> = given.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let lab = match Lab::try_parse_from([OsString::from("lab")].into_iter().chain(given.iter().cloned())) {
        Ok(lab) => lab,
        Err(error) => return common::cli::explain(&error),
    };
    let done = match &lab.command {
        Command::Accuracy(accuracy) => accuracy::run(accuracy),
        Command::Calibrate(calibrate) => calibrate::run(calibrate),
        Command::Cards(cards) => cards::run(cards),
        Command::Check(check) => check::run(check),
        Command::Start(start) => check::start::run(start),
        Command::Compare(compare) => compare::run(compare),
        Command::Diff(diff) => diff::run(diff, &words[1..]),
        Command::Figures(figures) => figures::run(figures),
        Command::Gpus(gpus) => gpus::list(gpus),
        Command::Occupancy(fit) => gpus::fit(fit),
        Command::Measure(measure) => measure::run(measure),
        Command::Predict(predict) => predict::run(predict),
        Command::Report(report) => report::run(report),
        Command::Sanitize(sanitize) => sanitize::run(sanitize, &given[1..]),
        Command::Survey(survey) => survey::run(survey, &words),
        Command::Sweep(sweep) => sweep::run(sweep),
        Command::Summit(summit) => product::run(summit),
        Command::Tune(tune) => tune::run(tune, &words),
        Command::Variants(variants) => variants::run(variants),
        Command::Waits(waits) => waits::run(waits),
        Command::Try(attempt) => attempt::run(attempt, &given[1..]),
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
