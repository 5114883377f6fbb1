//! `cargo x mutants`: one-line errors in the emulator, and whether its tests notice them.

use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// This crate's program that reads Rust; nothing else compiles what it needs.
const RUN: &str = "run --quiet --locked --package xtask --features mutants --bin mutants --";

/// Runs the program with these words.
pub fn run(words: &[String]) -> Result<ExitCode> {
    Ok(shell::exit_code(shell::cargo(&format!("{RUN} {}", words.join(" ")))?))
}
