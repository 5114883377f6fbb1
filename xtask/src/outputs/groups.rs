//! Which outputs depend on the same: those of the same program, of whichever page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};

use super::{all, session};
use crate::crates::Crates;
use crate::reads::Reads;
use crate::shell;

/// What `cargo run` alone runs: the workspace's default member.
const DEFAULT: &str = "levels";

/// Outputs of the same programs.
#[derive(Debug, Default)]
pub struct Group {
    /// The files with the outputs, from the root.
    pub files: Vec<String>,
    /// What else the commands name: kernels, changes to them.
    named: BTreeSet<String>,
}

/// All outputs by the crates whose programs they are of; where a session runs several, their names with `+` between.
pub fn of_repository() -> Result<BTreeMap<String, Group>> {
    let is_there = |path: &str| !path.starts_with(['/', '.']) && shell::root().join(path).exists();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for file in all()? {
        let text = fs::read_to_string(shell::root().join(&file)).with_context(|| format!("cannot read {file}"))?;
        let (programs, named) = uses(&session::commands(&text).with_context(|| file.clone())?, is_there);
        let group = groups.entry(programs.into_iter().collect::<Vec<_>>().join("+")).or_default();
        group.files.push(file);
        group.named.extend(named);
    }
    Ok(groups)
}

/// What the outputs of a group depend on, by its name.
pub fn reads(crates: &Crates, name: &str, group: &Group) -> Result<Reads> {
    let reads = Reads::of(crates, &name.split('+').collect::<Vec<_>>(), false)?;
    let files = group.files.iter().chain(&group.named).map(String::as_str);
    Ok(reads.and(files).and(["xtask/src/outputs"]))
}

/// The crates whose programs these commands run, and the paths that they name.
fn uses(commands: &[String], is_there: impl Fn(&str) -> bool) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut programs, mut named) = (BTreeSet::new(), BTreeSet::new());
    for command in commands {
        let words = shell_words::split(command).unwrap_or_default();
        if words.first().is_some_and(|word| word == "cargo") {
            let name = words.windows(2).find(|two| two[0] == "-p" || two[0] == "--package").map(|two| two[1].as_str());
            programs.insert(name.unwrap_or(DEFAULT).to_string());
        }
        let parts = words.iter().flat_map(|word| word.split(['=', ',']));
        named.extend(parts.filter(|part| is_there(part)).map(str::to_string));
    }
    (programs, named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_say_which_programs_they_run_and_which_files_they_name() {
        let commands = ["git apply x/a.diff", "cargo run -p lab -- try k.cu --out=x", "cargo run -p b", "cargo run"];
        let commands = commands.map(String::from);
        let (programs, named) = uses(&commands, |path| ["x/a.diff", "k.cu"].contains(&path));
        assert_eq!(programs.into_iter().collect::<Vec<_>>(), ["b", "lab", "levels"]);
        assert_eq!(named.into_iter().collect::<Vec<_>>(), ["k.cu", "x/a.diff"]);
    }

    #[test]
    fn every_output_is_in_one_group_and_depends_on_its_text_and_its_changes() {
        let groups = of_repository().unwrap();
        assert_eq!(groups.values().map(|group| group.files.len()).sum::<usize>(), all().unwrap().len());
        let crates = Crates::of_repository().unwrap();
        let level = reads(&crates, "level1-tiling", &groups["level1-tiling"]).unwrap();
        for path in ["book/outputs/lesson1/run.txt", "level1-tiling/kernel.cu", "crates/emulator/src/lib.rs"] {
            assert!(level.has(path), "{path}");
        }
        assert!(
            groups["level1-tiling"].named.iter().any(|path| path.starts_with("book/exercises/") && level.has(path))
        );
        for path in ["book/outputs/lesson2/run.txt", "further/level6-async-copy/kernel.cu", "book/src/lesson1.md"] {
            assert!(!level.has(path), "{path}");
        }
    }
}
