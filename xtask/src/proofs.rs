//! The ledger of proofs: what a push is too short for, who proved it last, and of which inputs.
//!
//! A row of [`LEDGER`] is a claim's name, the hash of the files that it depends on, and the day on which it held for them. `cargo x deep`
//! and `cargo x matrix` write rows; `cargo x tidy` says which are missing or stale, and `cargo x proofs` fails by them.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{deep, matrix, shell};

/// Where the rows are.
pub const LEDGER: &str = "xtask/proofs.csv";
const HEAD: &str =
    "# Written by `cargo x deep` and `cargo x matrix`: what held, for which inputs, and when.\nproof,inputs,date\n";

/// What is proved away from a push.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    pub name: String,
    /// The files that it depends on: how their paths begin.
    pub inputs: Vec<String>,
}

/// A benchmark with its results, which no proof reads: more of them do not make a proof stale.
const NO_INPUT: &str = "kernels/hazards/";

/// The rows, by name: hash and date.
type Rows = BTreeMap<String, (String, String)>;

/// Hashes of the repository's files.
pub struct Inputs(Vec<(String, [u8; 32])>);

impl Inputs {
    /// The files as they are now.
    pub fn of_repository() -> Result<Inputs> {
        let hashed = |path: String| {
            let bytes = fs::read(shell::root().join(&path)).with_context(|| format!("cannot read {path}"))?;
            Ok((path, Sha256::digest(bytes).into()))
        };
        let files = shell::files()?.into_iter().filter(|path| !path.starts_with(NO_INPUT));
        Ok(Inputs(files.map(hashed).collect::<Result<_>>()?))
    }

    /// The hash of all that a proof depends on.
    pub fn hash(&self, proof: &Proof) -> String {
        let mut hasher = Sha256::new();
        let is_input = |path: &str| proof.inputs.iter().any(|begin| path.starts_with(begin.as_str()));
        for (path, hash) in self.0.iter().filter(|(path, _)| is_input(path)) {
            hasher.update(path.as_bytes());
            hasher.update(hash);
        }
        hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// All proofs, in the order in which they are made.
pub fn all() -> Result<Vec<Proof>> {
    let mut all: Vec<Proof> = deep::claims()?.into_iter().map(|claim| claim.proof).collect();
    all.extend(matrix::proofs());
    Ok(all)
}

/// Which of these proofs are not on record for the inputs as they are, each with why.
pub fn open<'a>(proofs: &'a [Proof], inputs: &Inputs) -> Result<Vec<(&'a Proof, String)>> {
    let text = fs::read_to_string(shell::root().join(LEDGER)).with_context(|| format!("cannot read {LEDGER}"))?;
    Ok(stale(proofs, &rows(&text), |proof| inputs.hash(proof)))
}

fn stale<'a>(proofs: &'a [Proof], rows: &Rows, hash: impl Fn(&Proof) -> String) -> Vec<(&'a Proof, String)> {
    let why = |proof: &Proof| match rows.get(&proof.name) {
        None => Some("never proved".to_string()),
        Some((inputs, date)) if *inputs != hash(proof) => Some(format!("proved for other inputs, {date}")),
        Some(_) => None,
    };
    proofs.iter().filter_map(|proof| Some((proof, why(proof)?))).collect()
}

/// Writes down that a proof holds for these inputs, today.
pub fn record(proof: &Proof, inputs: &Inputs) -> Result<()> {
    let file = shell::root().join(LEDGER);
    let mut rows = rows(&fs::read_to_string(&file).unwrap_or_default());
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let date = now.split('T').next().unwrap_or_default().to_string();
    rows.insert(proof.name.clone(), (inputs.hash(proof), date));
    let lines: String = rows.iter().map(|(name, (hash, date))| format!("{name},{hash},{date}\n")).collect();
    fs::write(&file, format!("{HEAD}{lines}")).with_context(|| format!("cannot write {LEDGER}"))
}

fn rows(text: &str) -> Rows {
    let row = |line: &str| {
        let mut fields = line.split(',').map(str::to_string);
        Some((fields.next()?, (fields.next()?, fields.next()?)))
    };
    text.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(row).collect()
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

    #[test]
    fn a_proof_is_stale_when_an_input_changes_and_another_file_does_not_matter() {
        let proof = Proof { name: "a".to_string(), inputs: vec!["x/".to_string()] };
        let inputs = |x: u8, y: u8| Inputs(vec![("x/1".to_string(), [x; 32]), ("y/1".to_string(), [y; 32])]);
        let hash = inputs(1, 1).hash(&proof);
        let rows = rows(&format!("{HEAD}a,{hash},2026-01-02\n"));
        let said = |inputs: Inputs| {
            let found = stale(std::slice::from_ref(&proof), &rows, |proof| inputs.hash(proof));
            found.into_iter().map(|(_, why)| why).collect::<Vec<_>>()
        };
        assert!(said(inputs(1, 2)).is_empty());
        assert_eq!(said(inputs(2, 1)), ["proved for other inputs, 2026-01-02"]);
        let other = Proof { name: "b".to_string(), ..proof.clone() };
        assert_eq!(stale(&[other], &rows, |_| hash.clone())[0].1, "never proved");
    }
}
