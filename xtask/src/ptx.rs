//! `cargo x ptx`: regenerates the PTX that every level and the summit ship, that of the lab's kernels, and that of the pages' variants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::{matrix, pack, shell};

/// Lets each level's own program write its shipped PTX: the level knows its configurations, `common` the compiler.
///
/// What each ptxas makes of it is recorded where `cargo x matrix` has fetched them; else a file keeps that record while its PTX
/// stays the same. `only` names some of what there is: an empty list is all.
pub fn run(only: &[String]) -> Result<ExitCode> {
    let known = [levels()?, kernels()?, below(SUMMIT)?, vec![VARIANTS.to_string(), OF_SUMMIT.to_string()]].concat();
    if let Some(word) = only.iter().find(|word| !known.contains(word)) {
        eprintln!(
            "error: there is no `{word}` with PTX of its own\nhint: a level's name, the path of a kernel, {VARIANTS} or {OF_SUMMIT}"
        );
        return Ok(ExitCode::from(2));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| word == name);
    let ptxas = matrix::recorded();
    if ptxas.is_none() {
        eprintln!(
            "note: not every ptxas is at hand, and PTX that changes loses its record of them; `cargo x matrix` fetches them"
        );
    }
    let ptxas: Vec<(&str, &str)> = ptxas.iter().map(|programs| ("PTXAS", programs.as_str())).collect();
    let mut texts = Vec::new();
    for level in levels()?.into_iter().filter(|level| wanted(level)) {
        texts.push(folder(&level).join("kernel.ptx"));
        if !shell::cargo_with(&format!("run --quiet --package {level} -- --write-ptx"), &ptxas)? {
            eprintln!("error: the PTX of {level} was not written");
            return Ok(ExitCode::FAILURE);
        }
    }
    for kernel in below(SUMMIT)?.into_iter().filter(|kernel| wanted(kernel) || wanted(OF_SUMMIT)) {
        let kernel = PathBuf::from(kernel);
        let name = kernel.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !shell::cargo_with(&format!("run --quiet --package lab -- summit {name} --write-ptx"), &ptxas)? {
            eprintln!("error: the PTX of {name} was not written");
            return Ok(ExitCode::FAILURE);
        }
        texts.push(kernel.with_extension("ptx"));
    }
    for kernel in kernels()?.into_iter().filter(|kernel| wanted(kernel)) {
        let text = fs::read_to_string(shell::root().join(&kernel)).with_context(|| format!("cannot read {kernel}"))?;
        let command = if text.contains("// lab sanitize: ") { "sanitize" } else { "try" };
        if !shell::cargo_with(&format!("run --quiet --package lab -- {command} {kernel} --write-ptx"), &ptxas)? {
            eprintln!("error: the PTX of {kernel} was not written");
            return Ok(ExitCode::FAILURE);
        }
    }
    if wanted(VARIANTS) {
        if !shell::cargo_with("run --quiet --package press -- variants", &ptxas)? {
            eprintln!("error: the PTX of book/variants was not written");
            return Ok(ExitCode::FAILURE);
        }
        texts.push(PathBuf::from("book/variants/kernels.ptx"));
    }
    if texts.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(shell::exit_code(pack::run(&texts)?))
}

/// The kernels that the book's pages offer.
const VARIANTS: &str = "variants";
/// The kernels that programs call.
const OF_SUMMIT: &str = "summit";

/// Where the levels lie that are not at the root.
const FURTHER: &str = "further";

/// A level's folder, below the root.
pub fn folder(level: &str) -> PathBuf {
    let further = Path::new(FURTHER).join(level);
    if shell::root().join(&further).is_dir() { further } else { PathBuf::from(level) }
}

/// The summit's kernels, which have their archives beside them.
const SUMMIT: &str = "crates/summit/kernels";

/// The kernel that copies matrices before a launch.
const COPIES: &str = "crates/device/src/copies.cu";

/// The kernels of the lab, and the one that copies, which have their PTX beside them.
fn kernels() -> Result<Vec<String>> {
    let mut kernels = below("kernels")?;
    kernels.push(COPIES.to_string());
    kernels.sort();
    Ok(kernels)
}

/// The kernels in a folder, by name.
fn below(folder: &str) -> Result<Vec<String>> {
    let mut kernels = Vec::new();
    for entry in fs::read_dir(shell::root().join(folder)).with_context(|| format!("cannot list {folder}"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cu") {
            kernels.push(format!("{folder}/{name}"));
        }
    }
    kernels.sort();
    Ok(kernels)
}

/// The levels' names, in the ladder's order.
pub fn levels() -> Result<Vec<String>> {
    let mut levels = Vec::new();
    for above in [shell::root().to_path_buf(), shell::root().join(FURTHER)] {
        for entry in fs::read_dir(&above).with_context(|| format!("cannot list {}", above.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("level") && entry.path().join("kernel.cu").is_file() {
                levels.push(name);
            }
        }
    }
    // By number, then name: level10 comes after level9.
    levels.sort_by_key(|name| (name.split('-').next().map(str::len), name.clone()));
    Ok(levels)
}
