//! What a push proves, in parts, each of which is proved once for the same inputs: the book, the outputs of each program, the tests of
//! each crate. The formatter, clippy and tidy are no parts: they are quick, and look at everything.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::pages;
use crate::crates::Crates;
use crate::outputs::groups;
use crate::proofs::{Inputs, Proof, Rows};
use crate::reads::Reads;
use crate::{book, shell};

/// A part of a step.
#[derive(Debug)]
pub struct Part {
    /// The name of the step that proves it.
    pub step: &'static str,
    /// What of the step it is: a crate, or crates with `+` between; nothing where it is the whole step.
    pub name: String,
    pub proof: Proof,
    /// The outputs that are compared.
    pub outputs: Vec<String>,
}

/// This crate, whose tests look at the whole repository.
const SELF: &str = "xtask";
/// What says which parts there are, and runs them: an input of all.
const RULES: &str = "xtask/src/ci";

/// All parts, those of a step together.
pub fn all() -> Result<Vec<Part>> {
    let crates = Crates::of_repository()?;
    let machine = machine()?;
    let part = |step, name: &str, reads: Reads, outputs| {
        let proof = format!("push {step} {name}");
        let proof = Proof { name: proof.trim_end().to_string(), reads: reads.and([RULES]), with: machine.clone() };
        Part { step, name: name.to_string(), proof, outputs }
    };
    let mut parts = vec![part("book", "", book::reads(&crates)?, Vec::new())];
    for (name, reads) in pages::of_repository(&crates)? {
        parts.push(part("looks", &name, reads, Vec::new()));
    }
    for (name, group) in groups::of_repository()? {
        parts.push(part("outputs", &name, groups::reads(&crates, &name, &group)?, group.files));
    }
    for name in crates.names() {
        let reads = if name == SELF { Reads::everything() } else { Reads::of(&crates, &[name], true)? };
        parts.push(part("test", name, reads, Vec::new()));
    }
    Ok(parts)
}

/// The compiler and what it compiles for, which are inputs of all programs; and whether there is a GPU, on which tests have more to do.
fn machine() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").current_dir(shell::root()).output();
    let output = output.context("cannot start rustc\nhint: is it on PATH?")?;
    ensure!(output.status.success(), "rustc -vV failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    let gpu = if Path::new("/dev/nvidiactl").exists() { "a GPU" } else { "no GPU" };
    Ok(format!("{}{gpu}", String::from_utf8_lossy(&output.stdout)))
}

/// What the ledger proves: of what it says, that which it says at `base` for the same inputs as well, if a commit is given. So a change
/// cannot bring its own proofs.
pub fn believed(base: Option<&str>) -> Result<Rows> {
    let rows = Rows::of_repository()?;
    let Some(base) = base else { return Ok(rows) };
    let there = shell::git(shell::root()).args(["show", &format!("{base}:{}", crate::proofs::LEDGER)]).output();
    let there = there.context("cannot start git\nhint: is it on PATH?")?;
    if !there.status.success() {
        eprintln!("note: there is no ledger at {base}, so that nothing counts as proved");
        return Ok(Rows::default());
    }
    Ok(rows.both(&Rows::read(&String::from_utf8_lossy(&there.stdout))))
}

/// The parts that are not proved for the inputs as they are, each with why.
pub fn open<'a>(parts: &'a [Part], rows: &Rows, inputs: &Inputs) -> Vec<(&'a Part, String)> {
    parts.iter().filter_map(|part| Some((part, rows.lack(&part.proof, inputs)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The parts that a change of a file opens, where all are proved before it.
    fn opened_by(path: &str) -> BTreeSet<String> {
        let changed = all().unwrap().into_iter().filter(|part| part.proof.reads.has(path));
        changed.map(|part| part.proof.name.trim_start_matches("push ").to_string()).collect()
    }

    fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(str::to_string).into()
    }

    #[test]
    fn a_change_in_a_level_opens_the_level_and_what_has_all_levels() {
        let tests = ["common", "lab", "level6-async-copy", "levels", "page", "press", "xtask"];
        let mut expected = set(tests.map(|name| format!("test {name}")).each_ref().map(String::as_str));
        expected.extend(set(["book", "outputs lab", "outputs level6-async-copy", "outputs press"]));
        // Beside its own page those whose bench is worked through.
        expected.extend(set(["looks lesson1", "looks lesson2", "looks lesson6", "looks lesson13"]));
        assert_eq!(opened_by("further/level6-async-copy/src/lib.rs"), expected);
        let by_kernel = opened_by("further/level6-async-copy/kernel.cu");
        assert!(by_kernel.is_superset(&expected) && !by_kernel.contains("looks lesson5"), "{by_kernel:?}");
        assert_eq!(by_kernel.iter().filter(|name| !name.starts_with("looks ")).count(), 11, "{by_kernel:?}");
    }

    #[test]
    fn a_change_in_the_emulator_opens_all_but_what_does_not_use_it() {
        let mut expected = opened_by("Cargo.lock");
        expected.retain(|name| name != "test archive" && name != "test cuda-source");
        expected.retain(|name| !name.starts_with("looks "));
        expected.extend(set(["looks lesson1", "looks lesson2", "looks lesson6", "looks lesson13"]));
        assert_eq!(opened_by("crates/emulator/src/lib.rs"), expected);
        let tests = ["common", "emulator-tests", "gemm", "press", "ptx-emulator", "xtask"];
        let tests = set(tests.map(|name| format!("test {name}")).each_ref().map(String::as_str));
        assert_eq!(opened_by("crates/emulator/tests/order.rs"), tests);
    }

    #[test]
    fn a_change_in_the_book_or_the_lab_opens_no_tests_of_a_level() {
        assert_eq!(
            opened_by("book/src/lesson6.md"),
            set(["book", "looks lesson6", "test lab", "test press", "test xtask"])
        );
        let output = opened_by("book/outputs/lesson6/run.txt");
        let expected = ["book", "looks lesson6", "outputs level6-async-copy", "test lab", "test press", "test xtask"];
        assert_eq!(output, set(expected));
        assert_eq!(
            opened_by("crates/lab/src/main.rs"),
            set(["outputs lab", "outputs press", "test lab", "test press", "test xtask"])
        );
    }

    #[test]
    fn what_all_is_built_of_opens_all() {
        for path in ["Cargo.lock", "Cargo.toml", ".ci/versions", "xtask/src/ci.rs", "a-new-folder/file"] {
            assert_eq!(opened_by(path).len(), all().unwrap().len(), "{path}");
        }
        assert_eq!(opened_by("CONTRIBUTING.md"), set(["test xtask"]));
    }

    #[test]
    fn nothing_is_open_where_nothing_changed() {
        let (parts, inputs) = (all().unwrap(), Inputs::of_repository().unwrap());
        assert_eq!(open(&parts, &Rows::default(), &inputs).len(), parts.len());
        let rows = parts.iter().map(|part| format!("{},{},2026-01-02,0\n", part.proof.name, inputs.hash(&part.proof)));
        let rows = Rows::read(&format!("proof,inputs,date,seconds\n{}", rows.collect::<String>()));
        assert!(open(&parts, &rows, &inputs).is_empty());
        let one = rows.both(&Rows::read("proof,inputs,date,seconds\n"));
        assert_eq!(open(&parts, &one, &inputs)[0].1, "never proved");
    }
}
