//! The repository's own commands: `cargo x …`.
//!
//! `ci` is the whole of continuous integration, `tidy` tests the repository itself, `ptx` regenerates what NVIDIA's
//! compiler makes of the kernels, `measure` measures on a GPU, `bundle` makes a folder of programs, `book` builds the book. This crate depends on none of the workspace's others: it runs
//! cargo and reads files, so that it works while they do not compile.

#![forbid(unsafe_code)]

mod book;
mod bundle;
mod ci;
mod ptx;
mod shell;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The repository's own commands.
#[derive(Parser)]
#[command(bin_name = "cargo x")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that continuous integration checks, in order, up to the first failure
    Ci,
    /// Check the repository itself: names, links, anchors, lengths, lints
    Tidy,
    /// Compile every level's kernel.cu again and write the PTX that is shipped (needs NVRTC, no GPU)
    Ptx,
    /// Measure all levels on this machine's GPU, into book/measurements
    Measure,
    /// Make a folder of programs for a machine without Rust: target/ladder
    Bundle,
    /// Build the book into book/book (needs no installed mdBook)
    Book,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Ci => ci::run(),
        Command::Tidy => tidy::run(),
        Command::Ptx => ptx::run(),
        Command::Measure => bundle::measure(),
        Command::Bundle => bundle::run(),
        Command::Book => book::run(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
