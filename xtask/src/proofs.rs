//! The ledger of proofs: what held, of which inputs, when, and how long it took to see that.
//!
//! A row of [`LEDGER`] is a claim's name, the hash of the files that it depends on, the day on which it held for them, and seconds.
//! `cargo x deep` and `cargo x matrix` write rows of what a push is too short for; `cargo x tidy` says which are missing or stale, and
//! `cargo x proofs` fails by them. `cargo x ci --record` writes rows of what a push proves, which `cargo x ci` then leaves out.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use hmac_sha256::Hash;

use crate::reads::Reads;
use crate::{deep, matrix, shell};

/// Where the rows are.
pub const LEDGER: &str = "xtask/proofs.csv";
const HEAD: &str = "# Written by `cargo x deep`, `cargo x matrix` and `cargo x ci --record`: what held, for which inputs, and when.\n\
     proof,inputs,date,seconds\n";

/// What a check says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Held {
    Whole,
    /// As far as this machine can tell: something was skipped.
    InPart,
    Not,
}

impl Held {
    /// Whole or not at all.
    pub fn whole_if(holds: bool) -> Held {
        if holds { Held::Whole } else { Held::Not }
    }

    /// What two checks say together.
    pub fn and(self, other: Held) -> Held {
        match (self, other) {
            (Held::Not, _) | (_, Held::Not) => Held::Not,
            (Held::InPart, _) | (_, Held::InPart) => Held::InPart,
            (Held::Whole, Held::Whole) => Held::Whole,
        }
    }
}

/// What is proved once for the same inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    pub name: String,
    /// The files that it depends on.
    pub reads: Reads,
    /// What else it depends on: the compiler, for instance.
    pub with: String,
}

/// What the ledger says of a proof.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    hash: String,
    date: String,
    seconds: u64,
}

/// The rows, by the proof's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows(BTreeMap<String, Row>);

/// Hashes of the repository's files.
pub struct Inputs(Vec<(String, [u8; 32])>);

impl Inputs {
    /// The files as they are now.
    pub fn of_repository() -> Result<Inputs> {
        let hashed = |path: String| {
            let bytes = fs::read(shell::root().join(&path)).with_context(|| format!("cannot read {path}"))?;
            Ok((path, Hash::hash(&bytes)))
        };
        // The ledger says what was proved; it proves nothing.
        let files = shell::files()?.into_iter().filter(|path| path != LEDGER);
        Ok(Inputs(files.map(hashed).collect::<Result<_>>()?))
    }

    /// The hash of all that a proof depends on.
    pub fn hash(&self, proof: &Proof) -> String {
        let mut hasher = Hash::new();
        hasher.update(proof.with.as_bytes());
        for (path, hash) in self.0.iter().filter(|(path, _)| proof.reads.has(path)) {
            hasher.update(path.as_bytes());
            hasher.update(hash);
        }
        hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// All proofs, in the order in which they are made.
pub fn all() -> Result<Vec<Proof>> {
    let mut all: Vec<Proof> = deep::claims()?.into_iter().map(|claim| claim.proof).collect();
    all.extend(matrix::proofs()?);
    Ok(all)
}

impl Rows {
    /// The ledger as it is.
    pub fn of_repository() -> Result<Rows> {
        let text = fs::read_to_string(shell::root().join(LEDGER)).with_context(|| format!("cannot read {LEDGER}"))?;
        Ok(Rows::read(&text))
    }

    /// A ledger's rows; a line that is none proves nothing.
    pub fn read(text: &str) -> Rows {
        let row = |line: &str| {
            let mut fields = line.split(',').map(str::to_string);
            let (name, hash, date) = (fields.next()?, fields.next()?, fields.next()?);
            let seconds = fields.next().and_then(|text| text.parse().ok()).unwrap_or_default();
            Some((name, Row { hash, date, seconds }))
        };
        Rows(text.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(row).collect())
    }

    /// The rows that `other` has for the same inputs.
    pub fn both(mut self, other: &Rows) -> Rows {
        self.0.retain(|name, row| other.0.get(name).is_some_and(|there| there.hash == row.hash));
        self
    }

    /// Why a proof is not on record for the inputs as they are; nothing if it is.
    pub fn lack(&self, proof: &Proof, inputs: &Inputs) -> Option<String> {
        match self.0.get(&proof.name) {
            None => Some("never proved".to_string()),
            Some(row) if row.hash != inputs.hash(proof) => Some(format!("proved for other inputs, {}", row.date)),
            Some(_) => None,
        }
    }

    /// How long a proof took the last time, in seconds; 0 if nobody knows.
    pub fn seconds(&self, proof: &Proof) -> u64 {
        self.0.get(&proof.name).map_or(0, |row| row.seconds)
    }

    fn text(&self) -> String {
        let line = |(name, row): (&String, &Row)| format!("{name},{},{},{}\n", row.hash, row.date, row.seconds);
        format!("{HEAD}{}", self.0.iter().map(line).collect::<String>())
    }
}

/// Which of these proofs are not on record for the inputs as they are, each with why.
pub fn open<'a>(proofs: &'a [Proof], inputs: &Inputs) -> Result<Vec<(&'a Proof, String)>> {
    let rows = Rows::of_repository()?;
    Ok(proofs.iter().filter_map(|proof| Some((proof, rows.lack(proof, inputs)?))).collect())
}

/// Writes down that a proof holds for these inputs, today, and how long it took.
pub fn record(proof: &Proof, inputs: &Inputs, took: Duration) -> Result<()> {
    let file = shell::root().join(LEDGER);
    let mut rows = Rows::read(&fs::read_to_string(&file).unwrap_or_default());
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let date = now.split('T').next().unwrap_or_default().to_string();
    let row = Row { hash: inputs.hash(proof), date, seconds: took.as_secs_f64().round() as u64 };
    rows.0.insert(proof.name.clone(), row);
    fs::write(&file, rows.text()).with_context(|| format!("cannot write {LEDGER}"))
}

/// One line about the ledger, for `cargo x tidy`.
pub fn summary() -> Result<String> {
    let (proofs, inputs) = (all()?, Inputs::of_repository()?);
    let open = open(&proofs, &inputs)?;
    let names: Vec<&str> = open.iter().map(|(proof, _)| proof.name.as_str()).collect();
    let list = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    Ok(format!("proofs: {} of {} are stale{list}", open.len(), proofs.len()))
}

/// Prints the ledger; exit code 1 where a proof is missing or stale.
pub fn run() -> Result<ExitCode> {
    let (proofs, inputs) = (all()?, Inputs::of_repository()?);
    let open = open(&proofs, &inputs)?;
    for proof in &proofs {
        let why = open.iter().find(|(other, _)| *other == proof).map_or("holds", |(_, why)| why);
        println!("{:<40}{why}", proof.name);
    }
    Ok(shell::exit_code(open.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(x: u8, y: u8) -> Inputs {
        Inputs(vec![("x/1".to_string(), [x; 32]), ("y/1".to_string(), [y; 32])])
    }

    #[test]
    fn a_proof_is_stale_when_an_input_changes_and_another_file_does_not_matter() {
        let proof = Proof {
            name: "a".to_string(),
            reads: Reads::everything().without([""]).and(["x/"]),
            with: "rustc 1".to_string(),
        };
        let hash = inputs(1, 1).hash(&proof);
        let rows = Rows::read(&format!("{HEAD}a,{hash},2026-01-02,9\n"));
        assert_eq!(rows.lack(&proof, &inputs(1, 2)), None);
        assert_eq!(rows.lack(&proof, &inputs(2, 1)).unwrap(), "proved for other inputs, 2026-01-02");
        assert_eq!(
            rows.lack(&Proof { name: "b".to_string(), ..proof.clone() }, &inputs(1, 1)).unwrap(),
            "never proved"
        );
        let newer = Proof { with: "rustc 2".to_string(), ..proof.clone() };
        assert_eq!(rows.lack(&newer, &inputs(1, 1)).unwrap(), "proved for other inputs, 2026-01-02");
        assert_eq!(rows.seconds(&proof), 9);
    }

    #[test]
    fn a_ledger_is_read_as_it_is_written_and_what_another_lacks_is_not_believed() {
        let text = format!("{HEAD}a,11,2026-01-02,3\nb,22,2026-01-02,0\n");
        let rows = Rows::read(&text);
        assert_eq!(rows.text(), text);
        let base = Rows::read(&format!("{HEAD}a,11,2026-01-01,4\nb,33,2026-01-01,0\n"));
        assert_eq!(rows.both(&base).text(), format!("{HEAD}a,11,2026-01-02,3\n"));
    }
}
