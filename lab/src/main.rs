//! The lab: compare the levels, sweep sizes and tiles, try your own kernel.
//!
//! - [`compare`]: every level on the same problem
//! - [`ladder`]: the levels, [`bench`]: a problem on which they run, [`row`]: what comes of it
//! - [`flags`], [`table`], [`output`]: what the commands share

#![forbid(unsafe_code)]

mod bench;
mod compare;
mod flags;
mod ladder;
mod output;
mod row;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The lab: compare the levels, sweep sizes and tiles, try your own kernel.
#[derive(Debug, Parser)]
#[command(name = "lab", version)]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(compare::Compare),
}

fn main() -> ExitCode {
    let lab = match Lab::try_parse() {
        Ok(lab) => lab,
        Err(error) => return common::cli::explain(&error),
    };
    let done = match &lab.command {
        Command::Compare(compare) => compare::run(compare),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        error.exit_code()
    })
}
