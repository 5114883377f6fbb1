//! `cargo x mutants`: puts one-line errors into a copy of the emulator, and sees whether its own tests notice each of them.
//!
//! - [`find`]: where an error can be put; [`copy`]: a copy in which all chosen ones sleep, so that one build does for all
//! - [`cargo`]: builds it; [`suite`]: each test on its own, what it takes and which errors it passes
//! - [`alike`]: errors that change nothing that a caller can see, with the reasons
//!
//! What survives is printed at the end. The same seed chooses the same errors in the same text, and mostly the same ones
//! in a text that has changed a little.

#![forbid(unsafe_code)]

mod alike;
mod cargo;
mod copy;
mod find;
mod suite;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use alike::Alike;
use anyhow::{Context, Result};
use clap::Parser;
use copy::Copy;
use find::Mutant;
use suite::{Fate, Suite};

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
    #[arg(long, value_delimiter = ',', default_value = "crates/emulator/src/machine/,crates/emulator/src/program/")]
    within: Vec<String>,
    /// Only these test programs of the emulator, by name; its unit tests are `lib`
    #[arg(long, value_delimiter = ',')]
    tests: Vec<String>,
    /// Only these errors, by number, without the others of this seed
    #[arg(long, value_delimiter = ',')]
    only: Vec<usize>,
    /// Those that this file names instead, in lines as this program prints them: the survivors of earlier runs, say
    #[arg(long)]
    named: Option<PathBuf>,
    /// How many errors are tried side by side
    #[arg(long, default_value_t = 2)]
    jobs: usize,
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

/// Returns how many survived without a reason.
fn run(cli: &Cli) -> Result<usize> {
    let start = Instant::now();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the crate lies in the repository")?;
    let copy = Copy::new(repository, &repository.join("target/mutants/copy"), &cli.within)?;
    let (all, left_out) = copy.mutants()?;
    println!("{} places; {left_out} more stand where nothing is computed at run time, and are left out", all.len());
    let alike = Alike::read(repository)?;
    alike.left_over(&all).iter().for_each(|site| println!("a reason stands for what is no longer there: {site}"));
    let mut chosen = match &cli.named {
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            choose(all.into_iter().filter(|m| is_named(&text, m) && alike.reason(m).is_none()).collect(), 0, usize::MAX)
        }
        None => choose(all, cli.seed, cli.count + cli.count / 4),
    };
    cargo::keep_what_compiles(&copy, &mut chosen)?;
    while cli.named.is_none() && chosen.len() > cli.count {
        chosen.pop_last();
    }
    copy.put(&chosen)?;
    let suite = Suite::new(cargo::build_tests(&copy)?, &cli.tests, &copy.root)?;
    println!("{}; ready after {:.0} s", suite.describe(), start.elapsed().as_secs_f64());
    if !cli.only.is_empty() {
        chosen.retain(|number, _| cli.only.contains(number));
    }
    let survivors = try_all(&suite, &chosen, &alike, cli.jobs);
    let (excused, open): (Vec<_>, Vec<_>) = survivors.into_iter().partition(|(_, reason)| reason.is_some());
    let part = 100.0 * open.len() as f64 / chosen.len().max(1) as f64;
    println!(
        "{} of {} survive, {part:.1} %; {} change nothing that a caller can see; {:.0} s",
        open.len(),
        chosen.len(),
        excused.len(),
        start.elapsed().as_secs_f64()
    );
    for (line, reason) in excused.iter().chain(&open) {
        println!("{line}{}", reason.as_ref().map_or(String::new(), |reason| format!("\n       {reason}")));
    }
    Ok(open.len())
}

/// Tries each, and returns those that survive, with the reasons that are on record.
fn try_all(
    suite: &Suite,
    chosen: &BTreeMap<usize, Mutant>,
    alike: &Alike,
    jobs: usize,
) -> Vec<(String, Option<String>)> {
    let numbers: Vec<usize> = chosen.keys().copied().collect();
    let next = AtomicUsize::new(0);
    let survivors = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mutant = &chosen[number];
            let line = format!("{number:4} {}:{}: {}", mutant.file, mutant.line, mutant.what);
            let reason = alike.reason(mutant);
            let fate = if reason.is_some() { Fate::Survives } else { suite.fate(*number) };
            println!("{fate} {line}");
            if matches!(fate, Fate::Survives | Fate::Unreached) {
                let line = format!("{line}{}", if fate == Fate::Unreached { " (no test gets there)" } else { "" });
                survivors.lock().expect("no panic").insert(*number, (line, reason));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(work);
        }
    });
    survivors.into_inner().expect("no panic").into_values().collect()
}

/// Errors that do not overlap, numbered from 1. An edit elsewhere moves none of them.
fn choose(mut all: Vec<Mutant>, seed: u64, count: usize) -> BTreeMap<usize, Mutant> {
    all.sort_by_cached_key(|mutant| place_in_line(mutant, seed));
    let mut chosen: BTreeMap<usize, Mutant> = BTreeMap::new();
    for mutant in all {
        let overlaps = |other: &Mutant| {
            other.file == mutant.file && other.range.start < mutant.range.end && mutant.range.start < other.range.end
        };
        if chosen.len() < count && !chosen.values().any(overlaps) {
            chosen.insert(chosen.len() + 1, mutant);
        }
    }
    chosen
}

/// Whether a line of this text names this error, whatever its number and the line where it stood.
fn is_named(text: &str, mutant: &Mutant) -> bool {
    text.lines().any(|line| {
        let line = line.trim_end_matches(" (no test gets there)");
        let place = line.strip_suffix(mutant.what.as_str()).and_then(|rest| rest.strip_suffix(": "));
        let file = place.and_then(|place| place.rsplit_once(':')).map(|(file, _)| file);
        file.and_then(|file| file.rsplit(' ').next()) == Some(mutant.file.as_str())
    })
}

/// A number by chance, which depends on the error and the seed alone.
fn place_in_line(mutant: &Mutant, seed: u64) -> u64 {
    let text = format!("{seed} {} {}", mutant.file, mutant.what);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
    });
    (hash ^ hash >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_an_error_wherever_it_stands_now() {
        let mutant = |file: &str, what: &str| {
            let (file, what) = (file.to_string(), what.to_string());
            Mutant { file, what, line: 7, range: 0..1, text: String::new() }
        };
        let text = "3 of 9 survive\n  12 a/b.rs:3: `<` for `>` in `x: y > 1`\nSURVIVES  90 a/c.rs:4: not `x` (no test gets there)\n";
        assert!(is_named(text, &mutant("a/b.rs", "`<` for `>` in `x: y > 1`")));
        assert!(is_named(text, &mutant("a/c.rs", "not `x`")));
        assert!(!is_named(text, &mutant("a/c.rs", "`<` for `>` in `x: y > 1`")));
        assert!(!is_named(text, &mutant("b.rs", "`<` for `>` in `x: y > 1`")));
        assert!(!is_named(text, &mutant("a/b.rs", "y > 1`")));
    }
}
