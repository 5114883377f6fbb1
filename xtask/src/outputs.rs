//! `cargo x outputs`: runs the commands whose output the book shows, and writes what the terminal shows.
//!
//! A file of `book/outputs/` begins with a command, as a reader types it at the repository's root; the rest is its
//! output. Nothing is filtered: the emulator is deterministic, and where a machine would give another text (it has no
//! NVRTC, or another one), the file is left out, with a line that says so.

mod annotated;
mod copy;
pub mod groups;
mod session;
pub use session::COLUMNS;

use std::fs;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use regex_lite::Regex;

use crate::proofs::Held;
use crate::{shell, text};
use session::Place;

/// Where the outputs lie, one folder for each page.
pub const FOLDER: &str = "book/outputs/";
/// The compiler that outputs are made with; that of the shipped PTX, and of CI. Another one may take other registers.
const NVRTC: &str = "13.0.88";

/// What became of one file.
#[derive(Debug, PartialEq)]
enum Outcome {
    Same,
    Changed(String),
    /// This machine cannot tell, because of what it has not.
    Skipped(String),
}

/// Runs every output whose path contains `pattern`. Writes those that changed; or, to check, shows how they differ.
pub fn run(check: bool, pattern: &str) -> Result<ExitCode> {
    let files: Vec<String> = all()?.into_iter().filter(|file| file.contains(pattern)).collect();
    ensure!(!files.is_empty(), "no file of {FOLDER} has '{pattern}' in its path");
    Ok(shell::exit_code(play(&files, check)? != Held::Not))
}

/// Every file with an output.
fn all() -> Result<Vec<String>> {
    Ok(shell::files()?.into_iter().filter(|file| file.starts_with(FOLDER)).collect())
}

/// Whether the tables that are made of outputs are what these say; runs nothing.
pub fn tables_are_fresh() -> Result<bool> {
    let mut fresh = true;
    for file in all()? {
        fresh &= annotated::passes(&file, true)?;
    }
    Ok(fresh)
}

/// Runs these outputs; to check, they hold where nothing differs.
pub fn play(files: &[String], check: bool) -> Result<Held> {
    let mut commands = Vec::new();
    for file in files {
        let recorded = fs::read_to_string(shell::root().join(file)).with_context(|| format!("cannot read {file}"))?;
        let changes_files = session::changes_files(&session::commands(&recorded).with_context(|| file.clone())?);
        commands.push((file, recorded, changes_files));
    }
    // In the copy one after another; and beside them, with a target folder of their own, those that leave files as they are.
    let (in_copy, in_place): (Vec<_>, Vec<_>) = commands.into_iter().partition(|(_, _, changes_files)| *changes_files);
    let all = |files: Vec<(&String, String, bool)>| -> Result<Held> {
        let mut held = Held::Whole;
        for (file, recorded, changes_files) in files {
            held = held.and(holds(file, &recorded, changes_files, check).with_context(|| file.clone())?);
        }
        Ok(held)
    };
    let (copied, placed) = thread::scope(|scope| {
        let copied = scope.spawn(|| all(in_copy));
        // In one place, one after the other.
        let copied = if copy::is_apart() { Ok(copied) } else { Err(copied.join()) };
        let placed = all(in_place);
        (copied.map_or_else(|done| done, |running| running.join()), placed)
    });
    let mut held = copied.map_err(|_| anyhow!("the thread of the copy's outputs panicked"))??.and(placed?);
    for file in files {
        held = held.and(Held::whole_if(annotated::passes(file, check)?));
    }
    if held == Held::Not {
        eprintln!("error: outputs have changed\nhint: if that is right, `cargo x outputs` writes them again");
    }
    Ok(held)
}

/// Plays one file, and says whether it is as recorded; writes it if it is not, or, to check, shows the difference.
fn holds(file: &str, recorded: &str, changes_files: bool, check: bool) -> Result<Held> {
    match played(recorded, changes_files)? {
        Outcome::Same => eprintln!("{file}: same"),
        Outcome::Skipped(why) => {
            eprintln!("{file}: skipped: {why}");
            return Ok(Held::InPart);
        }
        Outcome::Changed(now) if check => {
            print!("{}", text::diff(recorded, &now, file, "now"));
            return Ok(Held::Not);
        }
        Outcome::Changed(now) => {
            fs::write(shell::root().join(file), now).context("cannot write it")?;
            println!("{file}");
        }
    }
    Ok(Held::Whole)
}

/// Plays one file in the repository or, if it changes files, in the copy.
fn played(recorded: &str, changes_files: bool) -> Result<Outcome> {
    let commands = session::commands(recorded)?;
    if !changes_files {
        let root = Place { folder: shell::root().to_path_buf(), cargo: Vec::new(), is_copy: false, _alone: None };
        return Ok(outcome(recorded, session::play(&commands, &root)?));
    }
    let place = copy::of_repository()?;
    let now = session::play(&commands, &place)?;
    copy::ensure_restored(&place)?;
    Ok(outcome(recorded, now))
}

/// Compares a session with the recorded one.
fn outcome(recorded: &str, now: String) -> Outcome {
    let missing = "pip install nvidia-cuda-nvrtc";
    let compiled = Regex::new(r"compiled \S+ by NVRTC ([\d.]+\d)").expect("the pattern is a constant");
    let other = compiled.captures_iter(&now).map(|found| found[1].to_string()).find(|version| version != NVRTC);
    match other {
        _ if now == recorded => Outcome::Same,
        _ if now.contains(missing) && !recorded.contains(missing) => Outcome::Skipped("no NVRTC".to_string()),
        Some(version) => Outcome::Skipped(format!("NVRTC is {version}, and outputs are made with {NVRTC}")),
        None => Outcome::Changed(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "$ cargo run -p a\nkernel  gemm\nPTX     compiled now by NVRTC 13.0.88\nloads   1,024\n";

    #[test]
    fn a_changed_output_is_found() {
        assert_eq!(outcome(RECORDED, RECORDED.to_string()), Outcome::Same);
        for (from, to) in [("1,024", "1,025"), ("loads", "loads "), ("1,024\n", "1,024\nstores  1\n")] {
            let now = RECORDED.replace(from, to);
            assert_eq!(outcome(RECORDED, now.clone()), Outcome::Changed(now));
        }
    }

    #[test]
    fn a_machine_with_another_compiler_or_none_cannot_tell() {
        let other = RECORDED.replace("13.0.88", "12.9.86").replace("1,024", "1,025");
        assert!(matches!(outcome(RECORDED, other), Outcome::Skipped(_)));
        let none = "$ cargo run -p a\nerror: no compiler\nhint: `pip install nvidia-cuda-nvrtc` installs it\n";
        assert_eq!(outcome(RECORDED, none.to_string()), Outcome::Skipped("no NVRTC".to_string()));
        assert_eq!(outcome(none, none.to_string()), Outcome::Same);
    }

    #[test]
    fn outputs_are_made_with_the_compiler_of_ci() {
        assert!(include_str!("../../.ci/versions").contains(&format!("nvidia-cuda-nvrtc=={NVRTC}\"")));
    }
}
