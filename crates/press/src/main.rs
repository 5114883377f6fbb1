//! What makes the book's pictures and tables, and keeps the records of GPUs.
//!
//! - [`measure`]: all levels on a GPU, into a file
//! - [`survey`]: all shipped configurations on shapes drawn from a seed, on a GPU; [`calibrate`]: predicted times, fitted to that,
//!   and how far they are off
//! - [`versus`]: the summit's choice beside the tuned vendor's product, in time and in joules, into a file
//! - [`tune`]: the fastest tile sizes, into a file that the summit uses
//! - [`cards`]: what every level needs on each architecture
//! - [`figures`]: what the book shows of all this; [`forms`]: of an H100's run, [`lessons`]: lesson by lesson, [`instructions`]: those that the emulator has,
//!   [`pictures`]: drawn from what kernels access
//! - [`variants`]: the exercises' kernels, compiled for the book's pages

#![forbid(unsafe_code)]

mod calibrate;
mod cards;
mod figures;
mod forms;
mod instructions;
mod lessons;
mod measure;
mod pictures;
mod survey;
mod tune;
mod variants;
mod versus;

use std::env;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What makes the book's pictures and tables, and keeps the records of GPUs.
#[derive(Debug, Parser)]
#[command(name = "press", version, subcommand_required = true, arg_required_else_help = false)]
struct Press {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Measure(measure::Measure),
    Survey(survey::Command),
    Calibrate(calibrate::Calibrate),
    Tune(tune::Tune),
    Cards(cards::Cards),
    Figures(figures::Figures),
    Variants(variants::Variants),
    Versus(versus::Versus),
}

fn main() -> ExitCode {
    let press = match Press::try_parse() {
        Ok(press) => press,
        Err(error) => return common::cli::explain(&error),
    };
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match &press.command {
        Command::Measure(measure) => measure::run(measure),
        Command::Survey(survey) => survey::run(survey, &words),
        Command::Calibrate(calibrate) => calibrate::run(calibrate),
        Command::Tune(tune) => tune::run(tune, &words),
        Command::Cards(cards) => cards::run(cards),
        Command::Figures(figures) => figures::run(figures),
        Command::Variants(variants) => variants::run(variants),
        Command::Versus(versus) => versus::run(versus, &words),
    };
    done.unwrap_or_else(|error| {
        lab::output::note(&format!("error: {error}"));
        ExitCode::from(error.exit_code())
    })
}
