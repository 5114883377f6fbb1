//! Errors that change nothing that a caller can see, with the reasons: `alike.txt`, a paragraph each.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::find::Mutant;

/// The record.
pub struct Alike {
    entries: Vec<Entry>,
}

struct Entry {
    file: String,
    what: String,
    reason: String,
}

const RECORD: &str = "xtask/src/bin/mutants/alike.txt";

impl Alike {
    /// Reads the record of the repository.
    pub fn read(repository: &Path) -> Result<Alike> {
        let text = fs::read_to_string(repository.join(RECORD)).with_context(|| format!("cannot read {RECORD}"))?;
        Alike::parse(&text)
    }

    /// A paragraph is `file: what` as the program prints it, but for the line's number, and the reason in the lines that follow.
    fn parse(text: &str) -> Result<Alike> {
        let mut entries = Vec::new();
        for paragraph in text.split("\n\n").map(str::trim).filter(|p| !p.is_empty() && !p.starts_with('#')) {
            let (site, reason) = paragraph.split_once('\n').with_context(|| format!("no reason: {paragraph}"))?;
            let (file, what) = site.split_once(": ").with_context(|| format!("no file: {site}"))?;
            let reason = reason.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            ensure!(!reason.is_empty(), "no reason: {site}");
            entries.push(Entry { file: file.to_string(), what: what.to_string(), reason });
        }
        Ok(Alike { entries })
    }

    /// Those that are none of these errors any more: their lines have changed.
    pub fn left_over(&self, all: &[Mutant]) -> Vec<String> {
        let gone = |entry: &&Entry| !all.iter().any(|m| entry.file == m.file && entry.what == m.what);
        self.entries.iter().filter(gone).map(|entry| format!("{}: {}", entry.file, entry.what)).collect()
    }

    /// Why this error changes nothing, if that is on record.
    pub fn reason(&self, mutant: &Mutant) -> Option<String> {
        let of = |entry: &&Entry| entry.file == mutant.file && entry.what == mutant.what;
        self.entries.iter().find(of).map(|entry| entry.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_of_one_error_and_may_be_of_several_lines() {
        let alike =
            Alike::parse("# About.\n\na/b.rs: one more than 1 in `x: 1`\nNobody\n  reads it.\n").expect("it is right");
        let mutant = |file: &str, what: &str| {
            let (file, what) = (file.to_string(), what.to_string());
            Mutant { file, what, line: 1, range: 0..1, text: String::new() }
        };
        let reason = alike.reason(&mutant("a/b.rs", "one more than 1 in `x: 1`"));
        assert_eq!(reason.as_deref(), Some("Nobody reads it."));
        assert_eq!(alike.reason(&mutant("a/b.rs", "one more than 1 in `x: 1` (again: 2)")), None);
        assert_eq!(alike.reason(&mutant("a/c.rs", "one more than 1 in `x: 1`")), None);
        assert!(Alike::parse("a/b.rs: `x`\n").is_err(), "no reason");
        let here = mutant("a/b.rs", "one more than 1 in `x: 1`");
        assert!(alike.left_over(&[here]).is_empty());
        assert_eq!(alike.left_over(&[mutant("a/b.rs", "another")]), ["a/b.rs: one more than 1 in `x: 1`"]);
    }
}
