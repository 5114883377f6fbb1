//! A copy of the repository in which every chosen mutant stands, asleep until the variable `MUTANT` names it: one build for all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::find::{Mutant, mutants};

/// The question that a mutant asks. It stands at the end of the crate's `lib.rs`.
const QUESTION: &str = include_str!("question.txt");

/// What a mutant may do that the compiler forbids: it is to fail when it runs.
const ALLOWED: &str = "#![allow(warnings, arithmetic_overflow, unconditional_panic)]\n";

/// The copy, with the texts of the files that hold mutants.
pub struct Copy {
    /// Its root.
    pub root: PathBuf,
    sources: BTreeMap<String, String>,
}

impl Copy {
    /// Copies what git knows of the repository, but for the book; keeps of the workspace the emulator only.
    pub fn new(repository: &Path, root: &Path, folders: &[String]) -> Result<Copy> {
        let listed =
            Command::new("git").current_dir(repository).args(["ls-files", "-co", "--exclude-standard"]).output()?;
        ensure!(listed.status.success(), "git does not list the repository's files");
        let mut sources = BTreeMap::new();
        for file in String::from_utf8_lossy(&listed.stdout).lines().filter(|file| !file.starts_with("book/")) {
            let Ok(bytes) = fs::read(repository.join(file)) else { continue };
            if folders.iter().any(|folder| file.starts_with(folder.as_str())) && file.ends_with(".rs") {
                sources.insert(file.to_string(), String::from_utf8_lossy(&bytes).into_owned());
            }
            write(&root.join(file), &bytes)?;
        }
        let manifest = fs::read_to_string(repository.join("Cargo.toml"))?;
        let (before, rest) = manifest.split_once("members = [").context("the workspace has members")?;
        let (_, after) = rest.split_once(']').context("the list of members ends")?;
        write(
            &root.join("Cargo.toml"),
            format!("{before}members = [\"crates/emulator\", \"crates/emulator-tests\"]{after}").as_bytes(),
        )?;
        let library = fs::read_to_string(repository.join("crates/emulator/src/lib.rs"))?;
        write(&root.join("crates/emulator/src/lib.rs"), format!("{ALLOWED}{library}{QUESTION}").as_bytes())?;
        Ok(Copy { root: root.to_path_buf(), sources })
    }

    /// All mutants of all files, and how many more places there are that cannot ask at run time.
    pub fn mutants(&self) -> Result<(Vec<Mutant>, usize)> {
        let (mut all, mut left_out) = (Vec::new(), 0);
        for (file, text) in &self.sources {
            if is_test(&self.sources, file) {
                continue;
            }
            let (here, out) = mutants(file, text).with_context(|| format!("cannot read {file}"))?;
            all.extend(here);
            left_out += out;
        }
        Ok((all, left_out))
    }

    /// Writes the files with these mutants, by number, and returns where each came to stand.
    pub fn put(&self, chosen: &BTreeMap<usize, Mutant>) -> Result<BTreeMap<usize, (String, std::ops::Range<usize>)>> {
        let mut places = BTreeMap::new();
        for (file, text) in &self.sources {
            let mut here: Vec<_> = chosen.iter().filter(|(_, mutant)| mutant.file == *file).collect();
            here.sort_by_key(|(_, mutant)| mutant.range.start);
            let (mut new, mut at) = (String::new(), 0);
            for (number, mutant) in here {
                new += &text[at..mutant.range.start];
                let asked = mutant.text.replacen("{}", &format!("crate::mutant::is({number})"), 1);
                let asked = asked.replace("{{", "{").replace("}}", "}");
                places.insert(*number, (file.clone(), new.len()..new.len() + asked.len()));
                new += &asked;
                at = mutant.range.end;
            }
            new += &text[at..];
            let path = self.root.join(file);
            // What stays the same is not written, so that cargo does not build it again.
            if fs::read_to_string(&path).ok().as_deref() != Some(&new) {
                write(&path, new.as_bytes())?;
            }
        }
        Ok(places)
    }
}

/// Whether a file is a module for tests only, or lies within one, as its parents say.
fn is_test(sources: &BTreeMap<String, String>, file: &str) -> bool {
    let module = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let Some((folder, name)) = module.rsplit_once('/') else { return false };
    let declared = format!("#[cfg(test)]\nmod {name};");
    let parents = [format!("{folder}/mod.rs"), format!("{folder}.rs")];
    parents
        .iter()
        .filter_map(|parent| sources.get(parent).map(|text| (parent, text)))
        .any(|(parent, text)| text.contains(&declared) || is_test(sources, parent))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::read(path).ok().as_deref() == Some(bytes) {
        return Ok(());
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_for_tests_are_told_from_code_wherever_they_lie() {
        let declared = "mod code;\n#[cfg(test)]\nmod tests;\nmod testsuite;\n";
        let parents =
            ["a/mod.rs", "a/code.rs", "a/tests.rs", "a/tests/deep.rs", "a/other/mod.rs", "a/other/tests/mod.rs"];
        let sources =
            parents.map(|file| (file.to_string(), if file.contains("tests") { "mod deep;" } else { declared }));
        let sources = sources.map(|(file, text)| (file, text.to_string())).into();
        for file in
            ["a/tests.rs", "a/code/tests.rs", "a/tests/deep.rs", "a/other/tests/mod.rs", "a/other/tests/deep.rs"]
        {
            assert!(is_test(&sources, file), "{file}");
        }
        for file in ["a/mod.rs", "a/code.rs", "a/testsuite.rs", "a/code/testsuite.rs", "a/other/mod.rs", "tests.rs"] {
            assert!(!is_test(&sources, file), "{file}");
        }
    }
}
