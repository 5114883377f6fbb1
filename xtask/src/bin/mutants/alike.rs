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

    /// Why this error changes nothing, if that is on record.
    pub fn reason(&self, mutant: &Mutant) -> Option<String> {
        let of = |entry: &&Entry| entry.file == mutant.file && entry.what == mutant.what;
        self.entries.iter().find(of).map(|entry| entry.reason.clone())
    }
}
