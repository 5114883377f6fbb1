//! `cargo x tidy`: a test of the repository itself.
//!
//! Each check is a function from the repository's files to its findings, in a file of its own with tests that see it
//! fail. A finding is one line: `path:line: what is wrong`.

mod anchors;
mod arrows;
mod blocks;
mod circles;
mod includes;
mod ladder;
mod lengths;
mod lessons;
mod links;
mod lints;
mod measured;
mod named;
mod numbers;
mod paths;
mod readme;
mod shipped;
mod shown;
mod summary;
mod translations;
mod tree;
mod unsafe_code;
mod words;

use std::process::ExitCode;

use anyhow::Result;

use crate::{proofs, shell};
use tree::{Finding, Tree};

/// Every check, in the order in which its findings are printed.
const CHECKS: &[fn(&Tree) -> Vec<Finding>] = &[
    ladder::check,
    readme::check,
    lengths::check,
    anchors::check,
    includes::check,
    shown::check,
    blocks::check,
    measured::check,
    numbers::check,
    lessons::check,
    summary::check,
    links::check,
    named::check,
    translations::check,
    words::check,
    paths::check,
    lints::check,
    unsafe_code::check,
    arrows::check,
    circles::check,
    shipped::check,
];

/// Exit code 0 if the repository is tidy, 1 if not.
pub fn run() -> Result<ExitCode> {
    Ok(shell::exit_code(passes()?))
}

/// Runs every check, prints the findings to stdout, and returns whether there were none.
pub fn passes() -> Result<bool> {
    let tree = Tree::of_repository()?;
    let findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    for finding in &findings {
        println!("{finding}");
    }
    for count in translations::counts(&tree) {
        eprintln!("translation {count}");
    }
    eprintln!("{}", proofs::summary()?);
    eprintln!("tidy: {} checks, {} files, {} findings", CHECKS.len(), tree.files().count(), findings.len());
    Ok(findings.is_empty())
}
