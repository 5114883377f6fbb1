//! `cargo x ci`: the whole of continuous integration, without what the ledger has for the same inputs.

mod pages;
mod parts;

use std::env;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use crate::proofs::{self, Held, Inputs};
use crate::{book, outputs, shell, tidy, wasm};
use parts::Part;

/// The command by which the README tells a reader to run the tests; `tidy` holds the README to it.
pub const TEST_COMMAND: &str = "cargo test --workspace";

/// What is run, and what becomes of it.
#[derive(Args)]
pub struct Options {
    /// Run what the ledger has for the same inputs as well
    #[arg(long)]
    all: bool,
    /// Write what holds into the ledger: needs all that a test may ask for, apart from a GPU
    #[arg(long)]
    record: bool,
    /// Believe the ledger only where it says the same at this commit: a change cannot bring its own proofs
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
}

/// One thing that must hold: what it is called, and how to find out.
struct Step {
    name: &'static str,
    run: Run,
}

enum Run {
    /// Whatever has changed.
    Always(fn() -> Result<bool>),
    /// The parts that are given; of all, whether there are no others.
    Parts(fn(parts: &[&Part], all: bool, strict: bool) -> Result<Held>),
}

/// The library beside crates that choose and link another CUDA version of cudarc than the workspace does.
const BESIDE_OTHERS: &str =
    "check --locked --manifest-path .ci/beside/Cargo.toml --target-dir target/beside --features linked";

/// Quick checks first; the tests last, so that the output ends with their results.
const STEPS: [Step; 8] = [
    Step { name: "format", run: Run::Always(|| shell::cargo("fmt --all --check")) },
    Step {
        name: "clippy",
        run: Run::Always(|| shell::cargo("clippy --locked --workspace --all-targets -- -D warnings")),
    },
    Step { name: "beside", run: Run::Always(|| shell::cargo(BESIDE_OTHERS)) },
    Step { name: "tidy", run: Run::Always(tidy::passes) },
    Step { name: "tables", run: Run::Always(outputs::tables_are_fresh) },
    Step { name: BOOK, run: Run::Parts(|_, _, _| Ok(Held::whole_if(book::is_built()?))) },
    Step { name: "outputs", run: Run::Parts(|parts, _, _| compare(parts)) },
    Step { name: "test", run: Run::Parts(test) },
];

/// Chromium leaves most of a machine idle: it looks at the book, once built, beside the steps that come after.
const BOOK: &str = "book";
const LOOKS: &str = "looks";

/// What tests need beside a GPU, as they say when they are skipped without it.
const NEEDS: [&str; 7] = ["no NVRTC", "NVRTC is", "needs ptxas", "no WebAssembly", "ython", "Node", "no C compiler"];

fn compare(parts: &[&Part]) -> Result<Held> {
    let files: Vec<String> = parts.iter().flat_map(|part| part.outputs.clone()).collect();
    outputs::play(&files, true)
}

/// The tests; what needs NVRTC, or Node and a library for WebAssembly, must not be skipped where these are at hand.
fn test(parts: &[&Part], all: bool, strict: bool) -> Result<Held> {
    let mut required: Vec<&str> = NEEDS.into_iter().filter(|_| strict).collect();
    required.extend(env::var_os("VIRTUAL_ENV").map(|_| "no NVRTC"));
    required.extend(wasm::runs().then_some("no WebAssembly"));
    let command = match all {
        true => TEST_COMMAND.trim_start_matches("cargo ").to_string(),
        false => parts.iter().fold("test".to_string(), |words, part| format!("{words} -p {}", part.name)),
    };
    Ok(Held::whole_if(shell::cargo_with(&command, &[("REQUIRE", &required.join(","))])?))
}

/// Runs the steps in order and stops at the first that fails.
pub fn run(options: &Options) -> Result<ExitCode> {
    ensure!(
        !options.record || env::var_os("VIRTUAL_ENV").is_some() && wasm::runs(),
        "--record needs a virtual environment with NVRTC, a library for WebAssembly and Node: tests that are skipped prove \
         nothing\nhint: `bash .ci/run --record` installs what is missing"
    );
    let untracked = if options.record { shell::untracked()? } else { Vec::new() };
    if !untracked.is_empty() {
        eprintln!("note: what is recorded holds with these files, which git does not track: {}", untracked.join(", "));
    }
    let inputs = Inputs::of_repository()?;
    let parts = parts::all()?;
    let mut open: Vec<(&Part, String)> = match options.all {
        true => parts.iter().map(|part| (part, "all are run".to_string())).collect(),
        false => parts::open(&parts, &parts::believed(options.base.as_deref())?, &inputs),
    };
    let is_open = |name: &str| open.iter().any(|(part, _)| part.step == name);
    if is_open(LOOKS) && !is_open(BOOK) {
        open.extend(parts.iter().filter(|part| part.step == BOOK).map(|part| (part, "to look at it".to_string())));
    }
    let of_step = |name: &str| parts.iter().filter(|part| part.step == name).collect::<Vec<_>>();
    let chosen = |name: &str| open.iter().map(|(part, _)| *part).filter(|part| part.step == name).collect::<Vec<_>>();
    let mut account = Vec::new();
    let passed = thread::scope(|scope| {
        let mut beside = None;
        for (index, step) in STEPS.iter().enumerate() {
            eprintln!("\nci {}/{}: {}", index + 1, STEPS.len(), step.name);
            let begin = Instant::now();
            let (all, chosen) = (of_step(step.name), chosen(step.name));
            let held = match step.run {
                Run::Always(run) => Held::whole_if(run()?),
                Run::Parts(run) => {
                    eprintln!("{}", said(&all, &open));
                    if chosen.is_empty() {
                        continue;
                    }
                    run(&chosen, chosen.len() == all.len(), options.record)?
                }
            };
            if held == Held::Not {
                return Ok(stopped(step.name));
            }
            let took = begin.elapsed();
            eprintln!("ci: {} took {:.0} s", step.name, took.as_secs_f64());
            account.push((step.name, took));
            if options.record && held == Held::Whole {
                record(&chosen, &inputs)?;
            }
            if step.name == BOOK {
                beside = Some(scope.spawn(|| look(&of_step(LOOKS), &open, options.record)));
            }
        }
        if let Some(looks) = beside {
            let (looked, took) = looks.join().map_err(|_| anyhow!("the thread of '{LOOKS}' panicked"))??;
            if !looked {
                return Ok(stopped(LOOKS));
            }
            account.push((LOOKS, took));
            if options.record {
                record(&chosen(LOOKS), &inputs)?;
            }
        }
        anyhow::Ok(true)
    })?;
    print_account(&account);
    Ok(shell::exit_code(passed))
}

/// Looks at those of the book's pages that are open; returns how long it took, too.
fn look(pages: &[&Part], open: &[(&Part, String)], strict: bool) -> Result<(bool, Duration)> {
    let begin = Instant::now();
    eprintln!("\nci, beside the next steps: {LOOKS}\n{}", said(pages, open));
    let chosen: Vec<&&Part> =
        pages.iter().filter(|page| open.iter().any(|(part, _)| part.proof == page.proof)).collect();
    let names: Vec<String> = chosen.iter().map(|page| format!("{}.html", page.name)).collect();
    let looks_right = match names.len() {
        0 => true,
        all if all == pages.len() => book::looks_right(&[], strict)?,
        _ => book::looks_right(&names, strict)?,
    };
    Ok((looks_right, begin.elapsed()))
}

/// What of a step is run, each part with why, and how much is left out.
fn said(of_step: &[&Part], open: &[(&Part, String)]) -> String {
    let name = |part: &Part| if part.name.is_empty() { part.step.to_string() } else { part.name.clone() };
    let run = open.iter().filter(|(part, _)| of_step.iter().any(|other| other.proof == part.proof));
    let run: Vec<String> = run.map(|(part, why)| format!("  {}: {why}", name(part))).collect();
    let left_out = of_step.len() - run.len();
    let head = format!("{} of {} parts are run; {left_out} are proved for these inputs", run.len(), of_step.len());
    [vec![head], run].concat().join("\n")
}

/// Writes down that these parts hold, unless a file that they depend on has changed since the steps began.
fn record(parts: &[&Part], inputs: &Inputs) -> Result<()> {
    let now = Inputs::of_repository()?;
    for part in parts {
        match inputs.hash(&part.proof) == now.hash(&part.proof) {
            true => proofs::record(&part.proof, inputs, Duration::ZERO)?,
            false => eprintln!("note: '{}' is not recorded: its inputs changed meanwhile", part.proof.name),
        }
    }
    Ok(())
}

fn print_account(account: &[(&str, Duration)]) {
    eprintln!("\nci, in seconds:");
    for (name, took) in account {
        eprintln!("{name:<16}{:>6.0}", took.as_secs_f64());
    }
}

fn stopped(step: &str) -> bool {
    eprintln!("error: ci stopped: step '{step}' failed");
    false
}
