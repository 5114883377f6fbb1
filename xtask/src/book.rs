//! `cargo x book`: builds the book with nothing installed.

use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// Runs this crate's other program, the only one that links mdBook; the first time, cargo compiles it.
pub fn run() -> Result<ExitCode> {
    Ok(shell::exit_code(shell::cargo("run --quiet --package xtask --features book --bin book")?))
}
