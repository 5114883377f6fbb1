//! `cargo x book`: builds the book, in every language, with nothing installed, and looks at it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::{shell, wasm};

/// This crate's program that links mdBook, and the one that drives Chromium; the first time, cargo compiles them.
const BUILD: &str = "--quiet --locked --package xtask --features book --bin book";
/// What Chromium's benches are compared with.
const ANSWER: &str = "build --quiet --locked --package page --example answer";
const LOOK: &str = "--quiet --locked --package xtask --features browser --bin browser";

/// Builds the book and, if a folder is given, writes a picture of each page into it.
pub fn run(check: bool, screenshots: Option<&Path>) -> Result<ExitCode> {
    if check {
        return Ok(shell::exit_code(is_built()? && looks_right()?));
    }
    let built = wasm::if_possible()? && shell::cargo(&format!("run {BUILD}"))?;
    let Some(folder) = screenshots.filter(|_| built) else { return Ok(shell::exit_code(built)) };
    let folder = std::path::absolute(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    let shown =
        shell::cargo(ANSWER)? && shell::cargo_and(&format!("run {LOOK} -- --screenshots"), &folder.to_string_lossy())?;
    Ok(shell::exit_code(shown))
}

/// Tests both programs, and builds the book without changing a file that is tracked.
pub fn is_built() -> Result<bool> {
    Ok(wasm::if_possible()?
        && shell::cargo(&format!("test {BUILD}"))?
        && shell::cargo(&format!("run {BUILD} -- --check"))?
        && shell::cargo(&format!("test {LOOK}"))?
        && shell::cargo(ANSWER)?)
}

/// Looks at every page of the built book in Chromium.
pub fn looks_right() -> Result<bool> {
    shell::cargo(&format!("run {LOOK}"))
}
