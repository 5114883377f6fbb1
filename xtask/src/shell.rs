//! Runs cargo at the repository's root.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

/// The repository's root: the folder above this crate's.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Runs `cargo` with the words of `arguments` at the root, its output going where ours goes.
///
/// Returns whether it succeeded; an error means that cargo could not be started.
pub fn cargo(arguments: &str) -> Result<bool> {
    cargo_with(arguments, &[])
}

/// The same, with variables set in the environment.
pub fn cargo_with(arguments: &str, environment: &[(&str, &str)]) -> Result<bool> {
    eprintln!("$ cargo {arguments}");
    let status = Command::new("cargo")
        .envs(environment.iter().copied())
        .args(arguments.split_whitespace())
        .current_dir(root())
        .status()
        .context("cannot start cargo\nhint: is it on PATH?")?;
    Ok(status.success())
}

/// The exit code of a command that passed or failed: 0 or 1.
pub fn exit_code(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
