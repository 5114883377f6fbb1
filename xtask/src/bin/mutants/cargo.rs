//! What cargo does with the copy.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use crate::copy::Copy;
use crate::find::Mutant;

/// A test program: its name and where it lies.
pub struct Program {
    pub name: String,
    pub path: PathBuf,
}

/// Takes out, and puts again, until the copy compiles without those that it cannot have.
pub fn keep_what_compiles(copy: &Copy, chosen: &mut BTreeMap<usize, Mutant>) -> Result<()> {
    for _ in 0..20 {
        let places = copy.put(chosen)?;
        let errors = errors(copy)?;
        if errors.is_empty() {
            return Ok(());
        }
        let bad: HashSet<usize> = errors.iter().filter_map(|error| culprit(error, &places)).collect();
        ensure!(!bad.is_empty(), "the copy does not compile, and no error says where: {:?}", errors.first());
        chosen.retain(|number, _| !bad.contains(number));
        eprintln!("{} do not compile", bad.len());
    }
    bail!("the copy does not compile")
}

/// File and bytes.
type Place = (String, Range<usize>);

/// The error that stands where the compiler points to, or else the nearest one of that file.
fn culprit(error: &(String, usize), places: &BTreeMap<usize, Place>) -> Option<usize> {
    let distance = |range: &Range<usize>| match error.1 {
        at if at < range.start => range.start - at,
        at => (at + 1).saturating_sub(range.end),
    };
    let here = places.iter().filter(|(_, place)| place.0.ends_with(&error.0));
    here.min_by_key(|(_, place)| distance(&place.1)).map(|(number, _)| *number)
}

fn cargo(copy: &Copy, words: &str) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&copy.root).args(words.split(' ')).arg("--offline");
    // The tests are small: what is built quickly is done sooner than what runs quickly.
    command.args(["--config", "profile.dev.package.ptx-emulator.opt-level=1"]);
    command.env("CARGO_TARGET_DIR", copy.root.with_file_name("target")).stderr(Stdio::null());
    command
}

fn messages(output: &[u8]) -> Vec<Value> {
    String::from_utf8_lossy(output).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// File and byte of each of the compiler's errors.
fn errors(copy: &Copy) -> Result<Vec<(String, usize)>> {
    let output =
        cargo(copy, "check --manifest-path crates/emulator/Cargo.toml --lib --message-format=json").output()?;
    let mut errors = Vec::new();
    for message in messages(&output.stdout) {
        if message["message"]["level"] != "error" {
            continue;
        }
        for span in message["message"]["spans"].as_array().into_iter().flatten() {
            if span["is_primary"] == true {
                let file = span["file_name"].as_str().unwrap_or_default().to_string();
                errors.push((file, span["byte_start"].as_u64().unwrap_or_default() as usize));
            }
        }
    }
    ensure!(output.status.success() || !errors.is_empty(), "cargo check fails, and names no place");
    Ok(errors)
}

/// Builds the tests, and returns their programs.
pub fn build_tests(copy: &Copy) -> Result<Vec<Program>> {
    let words = "test --manifest-path crates/emulator-tests/Cargo.toml --tests --no-run --message-format=json";
    let output = cargo(copy, words).output()?;
    ensure!(output.status.success(), "the copy's tests do not compile");
    let mut programs = Vec::new();
    for message in messages(&output.stdout) {
        let Some(path) = message["executable"].as_str() else { continue };
        let name = message["target"]["name"].as_str().unwrap_or_default();
        programs.push(Program { name: name.to_string(), path: path.into() });
    }
    Ok(programs)
}
