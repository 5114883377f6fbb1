//! `cargo x pack` and `cargo x unpack`: archives of texts, and what is in them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use archive::Texts;

use crate::shell;

/// Packs each file of texts by name into an archive beside it, and removes the file. What compresses is compiled for this alone.
pub fn run(files: &[PathBuf]) -> Result<bool> {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    shell::cargo(&format!("run --quiet --package xtask --features pack --bin pack -- {}", files.join(" ")))
}

/// Prints an archive's texts, or writes each of them into a folder.
pub fn unpack(archive: &Path, folder: Option<&Path>) -> Result<ExitCode> {
    let texts = Texts::read(archive)?;
    let Some(folder) = folder else {
        // A reader that has seen enough, as `head`, closes the pipe.
        return match io::stdout().write_all(texts.joined().as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("cannot print"),
            _ => Ok(ExitCode::SUCCESS),
        };
    };
    texts.write_below(folder).with_context(|| format!("cannot write into {}", folder.display()))?;
    eprintln!("{}: {} files written", folder.display(), texts.len());
    Ok(ExitCode::SUCCESS)
}
