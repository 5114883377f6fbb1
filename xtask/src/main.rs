//! The repository's own commands: `cargo x …`.
//!
//! - `ci`: continuous integration, by what has changed; `tidy`: a test of the repository itself
//! - `deep`: what a push proves in part, whole, and `proofs`: the ledger of it; `matrix`: every compiler and every ptxas;
//!   `mutants`: whether the emulator's tests notice an error in it
//! - `ptx`: what NVIDIA's compiler makes of the kernels; `pack` and `unpack`: the archives in which it lies
//! - `outputs`, `diffs`, `figures`: what the book includes; `book`: the book itself; `wasm`: the module for its pages
//! - `measure`, `ncu`, `ncu-waits`: what a GPU says; `bundle`: programs for a machine without Rust
//!
//! Of the workspace's crates this one depends on `archive` alone, which depends on none: it runs cargo and reads files, so that it works
//! while the others do not compile.

#![forbid(unsafe_code)]

mod book;
mod bundle;
mod ci;
mod crates;
mod deep;
mod diffs;
mod matrix;
mod mutants;
mod ncu;
mod outputs;
mod pack;
mod po;
mod proofs;
mod ptx;
mod reads;
mod shell;
mod text;
mod tidy;
mod wasm;

use std::path::PathBuf;
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
    /// What continuous integration checks, in order, up to the first failure, without what the ledger has for the same inputs
    Ci(ci::Options),
    /// Check the repository itself: names, links, anchors, lengths, lints
    Tidy,
    /// Compile every kernel again and write the PTX that is shipped (needs NVRTC, no GPU)
    Ptx {
        /// Only these: level9-split-k,kernels/missing-barrier.cu,variants
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        only: Vec<String>,
    },
    /// Pack texts by name, each file into FILE.zst, and remove the file
    Pack {
        /// Files as `cargo x unpack` prints them
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Print what is in an archive, for instance level2-register/kernel.ptx.zst
    Unpack {
        /// The archive
        archive: PathBuf,
        /// Write each text into this folder instead
        folder: Option<PathBuf>,
    },
    /// Run the tests with every compiler, and assemble every shipped file with every ptxas that the ladder serves (needs Python)
    Matrix {
        /// Only these releases: 12.0,13.5
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        only: Vec<String>,
        /// Only the tests of these crates: common,lab
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        crates: Vec<String>,
    },
    /// Prove what a push proves in part, whole, and write it into the ledger; goes on where it was stopped (hours)
    Deep {
        /// Only these claims: level9-split-k,lab
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        only: Vec<String>,
    },
    /// Print the ledger of proofs: fail if one is missing, or of other inputs
    Proofs,
    /// Measure all levels on this machine's GPU, into book/measurements
    Measure,
    /// Write the tables and pictures of the book again, from what was measured and from what the kernels access
    Figures,
    /// Make a folder of programs for a machine without Rust: target/ladder
    Bundle,
    /// Build the ladder as a WebAssembly module for a page: target/page/page.wasm
    Wasm,
    /// Record the hardware's counters for every level (needs an NVIDIA GPU and ncu)
    Ncu {
        /// Folder with the levels' binaries
        #[arg(long, default_value = "target/release")]
        binaries: PathBuf,
        /// Where the record goes: one of `common/tests/data/ncu-*.csv`, by the card
        #[arg(long)]
        out: PathBuf,
        /// Only these levels, and the rows of the others as they are
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        levels: Vec<String>,
    },
    /// Record where the time goes on an NVIDIA GPU: occupancy, issue, what warps wait for (needs ncu)
    NcuWaits {
        /// Folder with the levels' binaries
        #[arg(long, default_value = "target/release")]
        binaries: PathBuf,
        /// Where the record goes
        #[arg(long, default_value = "book/measurements/nvidia-h200-waits.csv")]
        out: PathBuf,
        /// Only these levels, and the rows of the others as they are
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        levels: Vec<String>,
        /// Only the default tiles, at these sizes: what a model was not fitted to
        #[arg(long, value_delimiter = ',', value_name = "LIST")]
        sizes: Vec<u32>,
    },
    /// Run the commands whose output the book shows, and write what they show
    Outputs {
        /// Write nothing: fail if an output has changed, and show how
        #[arg(long)]
        check: bool,
        /// Only the files of book/outputs whose path contains this
        #[arg(default_value = "")]
        pattern: String,
    },
    /// Write the difference of each level's kernel from the one that it starts from, into book/diffs, for plain mdBook
    Diffs,
    /// Put one-line errors into a copy of the emulator, and see whether its tests notice each of them
    #[command(disable_help_flag = true)]
    Mutants {
        /// What the program takes: --count, --seed, --within, --tests, --only
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Build the book into book/book, in every language (needs no installed mdBook)
    Book {
        /// Change no file that is tracked: fail if the translations' template is stale, a link dead, or a page not in order in
        /// Chromium
        #[arg(long)]
        check: bool,
        /// Write a picture of each page, as Chromium shows it, into this folder
        #[arg(long, value_name = "DIR", conflicts_with = "check")]
        screenshots: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Ci(options) => ci::run(&options),
        Command::Tidy => tidy::run(),
        Command::Ptx { only } => ptx::run(&only),
        Command::Pack { files } => pack::run(&files).map(shell::exit_code),
        Command::Unpack { archive, folder } => pack::unpack(&archive, folder.as_deref()),
        Command::Matrix { only, crates } => matrix::run(&only, &crates),
        Command::Deep { only } => deep::run(&only),
        Command::Proofs => proofs::run(),
        Command::Measure => bundle::measure(),
        Command::Figures => bundle::figures(),
        Command::Bundle => bundle::run(),
        Command::Wasm => wasm::run(),
        Command::Ncu { binaries, out, levels } => ncu::counters(&binaries, &out, &levels),
        Command::NcuWaits { binaries, out, levels, sizes } => ncu::where_time_goes(&binaries, &out, &levels, &sizes),
        Command::Outputs { check, pattern } => outputs::run(check, &pattern),
        Command::Diffs => diffs::write(),
        Command::Mutants { words } => mutants::run(&words),
        Command::Book { check, screenshots } => book::run(check, screenshots.as_deref()),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
