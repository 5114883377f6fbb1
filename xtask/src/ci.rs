//! `cargo x ci`: the whole of continuous integration.

use std::env;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use crate::{book, diffs, outputs, shell, tidy, wasm};

/// The command by which the README tells a reader to run the tests; `tidy` holds the README to it.
pub const TEST_COMMAND: &str = "cargo test --workspace";

/// One thing that must hold: what it is called, and how to find out.
struct Step {
    name: &'static str,
    run: fn() -> Result<bool>,
}

/// The library beside crates that choose and link another CUDA version of cudarc than the workspace does.
const BESIDE_OTHERS: &str =
    "check --locked --manifest-path .ci/beside/Cargo.toml --target-dir target/beside --features linked";

/// Quick checks first; the tests last, so that the output ends with their results.
const STEPS: [Step; 9] = [
    Step { name: "format", run: || shell::cargo("fmt --all --check") },
    Step { name: "clippy", run: || shell::cargo("clippy --locked --workspace --all-targets -- -D warnings") },
    Step { name: "beside", run: || shell::cargo(BESIDE_OTHERS) },
    Step { name: "tidy", run: tidy::passes },
    Step { name: "diffs", run: || diffs::passes(true) },
    Step { name: "book", run: book::is_built },
    Step { name: "wasm", run: wasm::passes },
    Step { name: "outputs", run: || outputs::passes(true, "") },
    Step { name: "test", run: test },
];

/// Chromium leaves most of a machine idle: it looks at the book beside the steps that come after this one.
const BESIDE: (&str, Step) = ("book", Step { name: "looks", run: book::looks_right });

/// The tests; what needs NVRTC, or Node and a library for WebAssembly, must not be skipped where these are at hand.
fn test() -> Result<bool> {
    let mut required = Vec::new();
    required.extend(env::var_os("VIRTUAL_ENV").map(|_| "no NVRTC"));
    required.extend(wasm::runs().then_some("no WebAssembly"));
    shell::cargo_with(TEST_COMMAND.trim_start_matches("cargo "), &[("REQUIRE", &required.join(","))])
}

/// Runs the steps in order and stops at the first that fails.
pub fn run() -> Result<ExitCode> {
    let (after, looks) = BESIDE;
    thread::scope(|scope| {
        let mut beside = None;
        for (index, step) in STEPS.iter().enumerate() {
            eprintln!("\nci {}/{}: {}", index + 1, STEPS.len(), step.name);
            let begin = Instant::now();
            if !(step.run)()? {
                return Ok(stopped(step));
            }
            eprintln!("ci: {} took {:.0} s", step.name, begin.elapsed().as_secs_f64());
            if step.name == after {
                eprintln!("\nci, beside the next steps: {}", looks.name);
                beside = Some(scope.spawn(looks.run));
            }
        }
        let Some(beside) = beside else { bail!("no step is called '{after}'") };
        let looked = beside.join().map_err(|_| anyhow!("the thread of '{}' panicked", looks.name))??;
        Ok(if looked { ExitCode::SUCCESS } else { stopped(&looks) })
    })
}

fn stopped(step: &Step) -> ExitCode {
    eprintln!("error: ci stopped: step '{}' failed", step.name);
    ExitCode::FAILURE
}
