//! `cargo x book`: builds the book, in every language, with nothing installed, and looks at it.

use std::path::Path;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, anyhow};

use crate::crates::Crates;
use crate::reads::Reads;
use crate::{diffs, shell, wasm};

/// This crate's program that links mdBook, and the one that drives Chromium; the first time, cargo compiles them.
const BUILD: &str = "--quiet --locked --package xtask --features book --bin book";
/// What Chromium's benches are compared with.
const ANSWER: &str = "build --quiet --locked --package page --example answer";
const LOOK: &str = "--quiet --locked --package xtask --features browser --bin browser";

/// Builds the book and, if a folder is given, writes a picture of each page into it.
pub fn run(check: bool, screenshots: Option<&Path>) -> Result<ExitCode> {
    if check {
        return Ok(shell::exit_code(is_built()? && looks_right(&[], false)?));
    }
    diffs::write()?;
    let built = wasm::passes()? && shell::cargo(&format!("run {BUILD}"))?;
    let Some(folder) = screenshots.filter(|_| built) else { return Ok(shell::exit_code(built)) };
    let folder = std::path::absolute(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    let shown =
        shell::cargo(ANSWER)? && shell::cargo_and(&format!("run {LOOK} -- --screenshots"), &folder.to_string_lossy())?;
    Ok(shell::exit_code(shown))
}

/// Tests both programs, and builds the book without changing a file that is tracked. The module for its pages has a target folder of its
/// own, and is built beside the programs.
pub fn is_built() -> Result<bool> {
    diffs::write()?;
    let (module, programs) = thread::scope(|scope| {
        let module = scope.spawn(wasm::passes);
        let programs = programs_are_built();
        (module.join(), programs)
    });
    let module = module.map_err(|_| anyhow!("the thread of the module panicked"))??;
    Ok(module && programs? && shell::cargo(&format!("run {BUILD} -- --check"))?)
}

fn programs_are_built() -> Result<bool> {
    Ok(shell::cargo(&format!("test {BUILD}"))? && shell::cargo(&format!("test {LOOK}"))? && shell::cargo(ANSWER)?)
}

/// Looks at these pages of the built book in Chromium, in every language, or, where none is named, at all of them. Where Chromium is
/// missing, it is skipped, or, to be strict, an error.
pub fn looks_right(pages: &[String], strict: bool) -> Result<bool> {
    let words: String = pages.iter().map(|page| format!(" {page}")).collect();
    shell::cargo_with(&format!("run {LOOK} --{words}"), &[("REQUIRE", if strict { "no Chromium" } else { "" })])
}

/// What the built book depends on.
pub fn reads(crates: &Crates) -> Result<Reads> {
    // The lab's words stand in the pages in other languages.
    Ok(Reads::of(crates, &["page"], true)?.and([
        "book/",
        "crates/lab/po/",
        "crates/summit/",
        "crates/summit/examples/candle/src/",
        "kernels/",
        "xtask/",
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_pages_include_is_an_input_of_the_book() {
        let reads = reads(&Crates::of_repository().unwrap()).unwrap();
        let included = regex_lite::Regex::new(r"#include \.\./\.\./([^:}]+)").unwrap();
        let mut found = 0;
        for file in shell::files().unwrap().iter().filter(|file| file.starts_with("book/src/")) {
            let text = fs::read_to_string(shell::root().join(file)).unwrap_or_default();
            for path in included.captures_iter(&text).map(|found| found[1].to_string()) {
                assert!(reads.has(&path), "{file} includes {path}");
                found += 1;
            }
        }
        assert!(found > 20, "{found}");
        assert!(!reads.has("crates/lab/src/main.rs"));
    }
}
