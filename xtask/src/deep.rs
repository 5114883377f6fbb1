//! `cargo x deep`: what a push proves by a part of its cases, whole. It takes hours; it writes each claim that holds into the ledger at
//! once, leaves out what is there for the same inputs, and so goes on where it was stopped.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::crates::Crates;
use crate::proofs::{self, Inputs, Proof, Rows};
use crate::reads::Reads;
use crate::{book, matrix, ptx, shell};

/// A claim, and what proves it.
pub struct Claim {
    pub proof: Proof,
    /// The words after `cargo`.
    command: String,
}

/// The tests of the library's example in candle, on the emulator: a workspace of its own, which a push does not build.
const CANDLE: &str =
    "test --locked --manifest-path crates/summit/examples/candle/Cargo.toml --target-dir target/candle";
const CANDLES: &str = "crates/summit/examples/candle/";

/// The numbers that times are predicted from.
const PREDICTED: &str = "crates/predict/nvidia-";

/// Every claim, in an order in which those that need the least come first.
pub fn claims() -> Result<Vec<Claim>> {
    let crates = Crates::of_repository()?;
    let tests = |name: &str, packages: &[&str]| {
        let command = packages.iter().fold("test".to_string(), |words, package| format!("{words} -p {package}"));
        anyhow::Ok(claim(name, &command, Reads::of(&crates, packages, true)?))
    };
    let mut claims = vec![tests("emulator", &["emulator-tests"])?, tests("gemm", &["gemm"])?];
    claims.push(tests("common", &["common", "device"])?);
    claims.push(tests("summit", &["summit"])?);
    for level in ptx::levels()? {
        let mut of_level = tests(&level, &[&level])?;
        // Shapes, mutants and tiles are what it adds to a push, which sees predicted times: these are fitted anew for any kernel.
        of_level.proof.reads = of_level.proof.reads.without([PREDICTED]);
        claims.push(of_level);
    }
    for name in ["levels", "lab", "press", "page"] {
        claims.push(tests(name, &[name])?);
    }
    claims.push(claim("candle", CANDLE, Reads::of(&crates, &["summit"], false)?.and([CANDLES])));
    claims.push(claim("pages in Chromium", "x book --check", book::reads(&crates)?));
    Ok(claims)
}

fn claim(name: &str, command: &str, reads: Reads) -> Claim {
    let proof = Proof { name: format!("deep {name}"), reads, with: String::new() };
    Claim { proof, command: command.to_string() }
}

/// Proves what the ledger does not have, or of it what `only` names: first what took the shortest the last time, so that a run that is
/// stopped has proved many. Exit code 1 where a claim does not hold.
pub fn run(only: &[String]) -> Result<ExitCode> {
    let claims = claims()?;
    let name = |claim: &Claim| claim.proof.name.trim_start_matches("deep ").to_string();
    if let Some(unknown) = only.iter().find(|word| !claims.iter().any(|claim| name(claim) == **word)) {
        let known: Vec<String> = claims.iter().map(name).collect();
        bail!("there is no claim {unknown}\nhint: there are {}", known.join(", "));
    }
    let compiler = matrix::compiler()?;
    let path = matrix::path_to(&compiler)?;
    let (compiler, path) = (compiler.display().to_string(), path.to_string_lossy().into_owned());
    let environment = [("DEEP", "1"), ("REQUIRE", "no NVRTC"), ("VIRTUAL_ENV", &compiler), ("PATH", &path)];
    let rows = Rows::of_repository()?;
    let mut chosen: Vec<&Claim> =
        claims.iter().filter(|claim| only.is_empty() || only.contains(&name(claim))).collect();
    chosen.sort_by_key(|claim| match rows.seconds(&claim.proof) {
        0 => u64::MAX,
        seconds => seconds,
    });
    let mut all_hold = true;
    for claim in chosen {
        let (inputs, begin) = (Inputs::of_repository()?, Instant::now());
        if proofs::open(std::slice::from_ref(&claim.proof), &inputs)?.is_empty() {
            eprintln!("{}: on record", claim.proof.name);
            continue;
        }
        let holds = shell::cargo_with(&claim.command, &environment)?;
        println!("{}: {}", claim.proof.name, if holds { "holds" } else { "DOES NOT HOLD" });
        if holds {
            proofs::record(&claim.proof, &inputs, begin.elapsed())?;
        }
        all_hold &= holds;
    }
    Ok(shell::exit_code(all_hold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_levels_claim_is_of_its_kernel_and_not_of_other_kernels_times() {
        let claims = claims().unwrap();
        let reads = |name: &str, path: &str| {
            let claim = claims.iter().find(|claim| claim.proof.name == format!("deep {name}"));
            claim.unwrap().proof.reads.has(path)
        };
        for path in ["crates/predict/nvidia-h200.json.zst", "crates/summit/kernels/thin.cu"] {
            assert!(shell::root().join(path).exists() && !reads("level2-register", path), "{path}");
            assert!(reads("lab", path), "{path}");
        }
        assert!(reads("level2-register", "level2-register/kernel.cu"));
        assert!(reads("level2-register", "crates/emulator/src/lib.rs"));
    }
}
