//! `cargo x mutants`: puts one-line errors into a copy of the emulator, and sees whether its own tests notice each of them.
//!
//! - [`find`]: where an error can be put; [`copy`]: a copy in which all chosen ones sleep, so that one build does for all
//!
//! What survives is printed at the end. The same seed chooses the same errors in the same text.

#![forbid(unsafe_code)]

mod copy;
mod find;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use copy::Copy;
use find::Mutant;

/// Puts one-line errors into a copy of the emulator, and sees whether its own tests notice each of them
#[derive(Parser)]
#[command(bin_name = "cargo x mutants")]
struct Cli {
    /// How many errors
    #[arg(long, default_value_t = 200)]
    count: usize,
    /// Which ones
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folders whose files they are put into
    #[arg(long, value_delimiter = ',', default_value = "emulator/src/machine/,emulator/src/program/")]
    within: Vec<String>,
    /// Only these tests of the emulator, by name; its unit tests are `lib`
    #[arg(long, value_delimiter = ',')]
    tests: Vec<String>,
    /// Only these errors, by number, without the others of this seed
    #[arg(long, value_delimiter = ',')]
    only: Vec<usize>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns how many survived.
fn run(cli: &Cli) -> Result<usize> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate lies in the repository")?;
    let copy = Copy::new(repository, &repository.join("target/mutants/copy"), &cli.within)?;
    let all = copy.mutants()?;
    let mut chosen = choose(&all, cli.seed, cli.count + cli.count / 2);
    println!("{} places, {} of them chosen", all.len(), chosen.len());
    keep_what_compiles(&copy, &mut chosen)?;
    while chosen.len() > cli.count {
        chosen.pop_last();
    }
    copy.put(&chosen)?;
    let tests = build(&copy, &cli.tests)?;
    let mut survivors = Vec::new();
    let tried: Vec<_> = chosen.iter().filter(|(number, _)| cli.only.is_empty() || cli.only.contains(number)).collect();
    for (number, mutant) in &tried {
        let line = format!("{number:4} {}:{}: {}", mutant.file, mutant.line, mutant.what);
        let noticed = tests.iter().find(|test| !test.passes(&copy.root, **number));
        println!("{} {line}", noticed.map_or("SURVIVES", |test| &test.name));
        if noticed.is_none() {
            survivors.push(line);
        }
    }
    println!("{} of {} survive:\n{}", survivors.len(), tried.len(), survivors.join("\n"));
    Ok(survivors.len())
}

/// Errors that do not overlap, numbered from 1.
fn choose(all: &[Mutant], seed: u64, count: usize) -> BTreeMap<usize, Mutant> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut left: Vec<&Mutant> = all.iter().collect();
    let mut chosen: BTreeMap<usize, Mutant> = BTreeMap::new();
    while chosen.len() < count && !left.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mutant = left.swap_remove((state % left.len() as u64) as usize);
        let overlaps = |other: &Mutant| {
            other.file == mutant.file && other.range.start < mutant.range.end && mutant.range.start < other.range.end
        };
        if !chosen.values().any(overlaps) {
            chosen.insert(chosen.len() + 1, mutant.clone());
        }
    }
    chosen
}

/// Takes out, and puts again, until the copy compiles without those that it cannot have.
fn keep_what_compiles(copy: &Copy, chosen: &mut BTreeMap<usize, Mutant>) -> Result<()> {
    for _ in 0..12 {
        let places = copy.put(chosen)?;
        let errors = errors(copy)?;
        if errors.is_empty() {
            return Ok(());
        }
        let at = |error: &(String, usize), place: &(String, std::ops::Range<usize>)| {
            place.0.ends_with(&error.0) && place.1.contains(&error.1)
        };
        let bad: HashSet<usize> = places
            .iter()
            .filter(|(_, place)| errors.iter().any(|error| at(error, place)))
            .map(|(number, _)| *number)
            .collect();
        ensure!(!bad.is_empty(), "the copy does not compile, and no error says where: {:?}", errors.first());
        chosen.retain(|number, _| !bad.contains(number));
        eprintln!("{} do not compile", bad.len());
    }
    bail!("the copy does not compile")
}

fn cargo(copy: &Copy, words: &str) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&copy.root).args(words.split(' ')).arg("--offline");
    command.env("CARGO_TARGET_DIR", copy.root.with_file_name("target")).stderr(Stdio::null());
    command
}

/// File and byte of each of the compiler's errors.
fn errors(copy: &Copy) -> Result<Vec<(String, usize)>> {
    let output = cargo(copy, "check --manifest-path emulator/Cargo.toml --lib --message-format=json").output()?;
    let mut errors = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
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

/// A test program, and how long it takes when nothing is wrong.
struct Test {
    name: String,
    program: PathBuf,
    takes: Duration,
}

impl Test {
    /// Whether it passes while this error is awake; 0 is none. What takes ten times as long as it should does not.
    fn passes(&self, root: &Path, number: usize) -> bool {
        let mut command = Command::new(&self.program);
        command.current_dir(root.join("emulator")).arg("--quiet").env("MUTANT", number.to_string());
        command.env("INSTA_UPDATE", "no").env("PROPTEST_CASES", "64").env("CARGO_MANIFEST_DIR", root.join("emulator"));
        let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else { return false };
        let end = Instant::now() + (self.takes * 10).max(Duration::from_secs(20));
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
            }
        }
    }
}

/// Builds the tests, and keeps those that pass while no error is awake: the quick ones first.
fn build(copy: &Copy, only: &[String]) -> Result<Vec<Test>> {
    let output = cargo(copy, "test --manifest-path emulator/Cargo.toml --lib --tests --no-run --message-format=json")
        .output()?;
    ensure!(output.status.success(), "the copy's tests do not compile");
    let mut tests = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let Some(program) = message["executable"].as_str() else { continue };
        let is_library = message["target"]["kind"][0] == "lib";
        let name = if is_library { "lib" } else { message["target"]["name"].as_str().unwrap_or_default() };
        if !only.is_empty() && !only.iter().any(|wanted| wanted == name) {
            continue;
        }
        let mut test = Test { name: name.to_string(), program: program.into(), takes: Duration::from_secs(60) };
        let start = Instant::now();
        let passes = test.passes(&copy.root, 0);
        test.takes = start.elapsed();
        println!(
            "{name}: {:.1} s{}",
            test.takes.as_secs_f64(),
            if passes { "" } else { ", fails by itself: left out" }
        );
        if passes {
            tests.push(test);
        }
    }
    ensure!(!tests.is_empty(), "no test passes");
    tests.sort_by_key(|test| test.takes);
    Ok(tests)
}
