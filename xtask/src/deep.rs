//! `cargo x deep`: what a push proves by a part of its cases, whole. It takes hours; it writes each claim that holds into the ledger at
//! once, leaves out what is there for the same inputs, and so goes on where it was stopped.

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::proofs::{self, Inputs, Proof};
use crate::{matrix, ptx, shell};

/// A claim, and what proves it.
pub struct Claim {
    pub proof: Proof,
    /// The words after `cargo`.
    command: String,
}

/// What runs a kernel without a GPU.
const MACHINE: [&str; 6] = [
    "common/src/",
    "crates/archive/",
    "crates/device/",
    "crates/emulator/src/",
    "crates/gemm/src/",
    "crates/level-tests/",
];

/// All levels.
const LEVELS: [&str; 3] = ["level", "further/", "crates/levels/"];

/// Every claim, the quick ones first.
pub fn claims() -> Result<Vec<Claim>> {
    let mut claims = vec![
        claim(
            "emulator",
            "test -p emulator-tests",
            &[&["crates/emulator/", "crates/emulator-tests/", "crates/archive/"]],
        ),
        claim("gemm", "test -p gemm", &[&MACHINE, &["crates/gemm/"]]),
        claim("common", "test -p common -p device", &[&MACHINE, &LEVELS, &["common/", "crates/summit/"]]),
        claim("summit", "test -p summit", &[&MACHINE, &["crates/summit/"]]),
    ];
    for level in ptx::levels()? {
        let folder = format!("{}/", ptx::folder(&level).display());
        claims.push(claim(&level, &format!("test -p {level}"), &[&MACHINE, &[&folder]]));
    }
    let lab = ["crates/lab/", "crates/sm-model/", "kernels/", "book/checks/", "book/exercises/", "book/measurements/"];
    let page = ["crates/page/", "book/variants/", "book/exercises/"];
    claims.extend([
        claim("levels", "test -p levels", &[&MACHINE, &LEVELS]),
        claim("lab", "test -p lab", &[&MACHINE, &LEVELS, &lab]),
        claim("page", "test -p page", &[&MACHINE, &LEVELS, &page]),
        claim("pages in Chromium", "x book --check", &[&MACHINE, &LEVELS, &page, &["book/", "xtask/src/bin/"]]),
    ]);
    Ok(claims)
}

fn claim(name: &str, command: &str, inputs: &[&[&str]]) -> Claim {
    let inputs = inputs.concat().into_iter().map(str::to_string).collect();
    Claim { proof: Proof { name: format!("deep {name}"), inputs }, command: command.to_string() }
}

/// Proves what the ledger does not have, or of it what `only` names. Exit code 1 where a claim does not hold.
pub fn run(only: &[String]) -> Result<ExitCode> {
    let claims = claims()?;
    let name = |claim: &Claim| claim.proof.name.trim_start_matches("deep ").to_string();
    if let Some(unknown) = only.iter().find(|word| !claims.iter().any(|claim| name(claim) == **word)) {
        let known: Vec<String> = claims.iter().map(name).collect();
        bail!("there is no claim {unknown}\nhint: there are {}", known.join(", "));
    }
    let compiler = matrix::compiler()?;
    let path = env::join_paths(
        [compiler.join("bin")].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    )?;
    let (compiler, path) = (compiler.display().to_string(), path.to_string_lossy().into_owned());
    let environment = [("DEEP", "1"), ("REQUIRE", "no NVRTC"), ("VIRTUAL_ENV", &compiler), ("PATH", &path)];
    let mut all_hold = true;
    for claim in claims.iter().filter(|claim| only.is_empty() || only.contains(&name(claim))) {
        let inputs = Inputs::of_repository()?;
        if proofs::open(std::slice::from_ref(&claim.proof), &inputs)?.is_empty() {
            eprintln!("{}: on record", claim.proof.name);
            continue;
        }
        let holds = shell::cargo_with(&claim.command, &environment)?;
        println!("{}: {}", claim.proof.name, if holds { "holds" } else { "DOES NOT HOLD" });
        if holds {
            proofs::record(&claim.proof, &inputs)?;
        }
        all_hold &= holds;
    }
    Ok(shell::exit_code(all_hold))
}
