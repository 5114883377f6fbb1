//! `cargo x matrix`: what is too long for every push. Every compiler and every ptxas that the ladder serves, from Python's
//! package index, each in an environment of its own below `target/matrix`.
//!
//! With each ptxas, `common`'s test `assembled` assembles every shipped file, and probes the table of what instructions need.
//! With each NVRTC, the tests of some crates run, and the lines that say `skipped` must be those of [`SKIPS`]. Each of these is a cell of
//! the table and a claim of its own: a run leaves out what the ledger has, and goes on where it was stopped.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::crates::Crates;
use crate::proofs::{self, Inputs, Proof};
use crate::reads::Reads;
use crate::shell;

/// What the tests may skip, and why: with a compiler, or always.
const SKIPS: &str = "xtask/src/matrix.skips";

/// The crates whose tests run with every compiler.
const CRATES: [&str; 6] = ["common", "lab", "press", "level2-register", "level3-double-buffer", "level6-async-copy"];

/// A version of CUDA's compilers, as the package index has it.
struct Release {
    name: &'static str,
    /// NVRTC, where the tests run with it.
    nvrtc: Option<&'static str>,
    /// The package that has ptxas.
    ptxas: &'static str,
    /// Whether `cargo x ptx` records what this ptxas makes of the shipped files.
    recorded: bool,
}

/// Every release: one row each. 13.0 made the shipped PTX.
const RELEASES: [Release; 6] = [
    Release { name: "11.8", nvrtc: None, ptxas: "nvidia-cuda-nvcc-cu11==11.8.89", recorded: false },
    Release {
        name: "12.0",
        nvrtc: Some("nvidia-cuda-nvrtc-cu12==12.0.140"),
        ptxas: "nvidia-cuda-nvcc-cu12==12.0.140",
        recorded: true,
    },
    Release {
        name: "12.4",
        nvrtc: Some("nvidia-cuda-nvrtc-cu12==12.4.127"),
        ptxas: "nvidia-cuda-nvcc-cu12==12.4.131",
        recorded: true,
    },
    Release {
        name: "12.9",
        nvrtc: Some("nvidia-cuda-nvrtc-cu12==12.9.86"),
        ptxas: "nvidia-cuda-nvcc-cu12==12.9.86",
        recorded: true,
    },
    Release {
        name: "13.0",
        nvrtc: Some("nvidia-cuda-nvrtc==13.0.88"),
        ptxas: "nvidia-cuda-nvcc==13.0.88",
        recorded: true,
    },
    Release {
        name: "13.5",
        nvrtc: Some("nvidia-cuda-nvrtc==13.5.37"),
        ptxas: "nvidia-cuda-nvcc==13.5.37",
        recorded: true,
    },
];

/// CUDA's headers, for kernels as people write them: beside the compiler that made the shipped PTX.
const HEADERS: [&str; 3] = ["nvidia-cuda-runtime==13.0.96", "nvidia-cuda-crt==13.0.88", "nvidia-cuda-cccl==13.0.85"];

/// One cell of the table: what a release's ptxas assembles, or, with its NVRTC, the tests of a crate.
#[derive(Clone, Copy)]
struct Cell {
    release: &'static Release,
    tested: Option<&'static str>,
}

impl Cell {
    /// The release's cells: its ptxas's first.
    fn of(release: &'static Release) -> impl Iterator<Item = Cell> {
        let tested = release.nvrtc.into_iter().flat_map(|_| CRATES.map(Some));
        [None].into_iter().chain(tested).map(move |tested| Cell { release, tested })
    }

    /// What of the list of skips is about it, with the release's name put in.
    fn skips(self, list: &str) -> BTreeSet<String> {
        let named = |word: &str, name: &str| word == "*" || word.split(',').any(|one| one == name);
        let rows = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let mut words = line.splitn(3, ' ');
            let here = named(words.next()?, self.release.name) && named(words.next()?, self.tested?);
            here.then_some(words.next()?.replace("RELEASE", self.release.name))
        });
        rows.collect()
    }

    fn proof(self, crates: &Crates, list: &str) -> Result<Proof> {
        let name = format!("matrix {} {}", self.release.name, self.tested.unwrap_or("ptxas"));
        let with = [packages(self.release)].into_iter().chain(self.skips(list)).collect::<Vec<_>>().join("\n");
        Ok(Proof { name, reads: Reads::of(crates, &[self.tested.unwrap_or("common")], true)?, with })
    }

    /// Why it does not hold; nothing if it does.
    fn failure(self, list: &str) -> Result<Option<String>> {
        let folder = environment(self.release)?;
        let Some(package) = self.tested else {
            return Ok(tests("common --test assembled", &[("PTXAS", ptxas_in(&folder)?)])?.failure);
        };
        let path = path_to(&folder)?;
        let ran = tests(package, &[("VIRTUAL_ENV", folder), ("PATH", path.into())])?;
        Ok(ran.failure.or_else(|| unlisted(&self.skips(list), &ran.skipped)))
    }

    /// Its row of the table.
    fn row(self, verdict: &str) -> String {
        let what = self.tested.map_or("ptxas, every shipped file".to_string(), |package| format!("NVRTC, {package}"));
        format!("{:<8}{what:<36}{verdict}\n", self.release.name)
    }
}

/// Runs what of the matrix the ledger does not have, or, of that, the releases whose name is in `only`, and the tests of `crates`.
pub fn run(only: &[String], crates: &[String]) -> Result<ExitCode> {
    if let Some(unknown) = crates.iter().find(|name| !CRATES.contains(&name.as_str())) {
        bail!("there is no crate {unknown} in the matrix\nhint: it has {}", CRATES.join(", "));
    }
    if let Some(unknown) = only.iter().find(|name| !RELEASES.iter().any(|release| release.name == **name)) {
        let known: Vec<&str> = RELEASES.iter().map(|release| release.name).collect();
        bail!("there is no release {unknown} in the matrix\nhint: it has {}", known.join(", "));
    }
    let is_asked = |cell: &Cell| {
        let of_crate = |package| crates.iter().any(|name| name == package);
        let of_release = only.is_empty() || only.iter().any(|name| name == cell.release.name);
        of_release && (crates.is_empty() || cell.tested.is_some_and(of_crate))
    };
    let (list, workspace) = (skips()?, Crates::of_repository()?);
    let mut all_hold = true;
    for cell in RELEASES.iter().flat_map(Cell::of).filter(is_asked) {
        let (proof, inputs, begin) = (cell.proof(&workspace, &list)?, Inputs::of_repository()?, Instant::now());
        if proofs::open(std::slice::from_ref(&proof), &inputs)?.is_empty() {
            print!("{}", cell.row("on record"));
            continue;
        }
        let failure = cell.failure(&list)?;
        print!("{}", cell.row(&verdict(failure.as_deref())));
        if failure.is_none() {
            proofs::record(&proof, &inputs, begin.elapsed())?;
        }
        all_hold &= failure.is_none();
    }
    Ok(shell::exit_code(all_hold))
}

fn verdict(failure: Option<&str>) -> String {
    failure.map_or("passed".to_string(), |why| format!("FAILED: {why}"))
}

/// What the matrix proves: each cell of its table.
pub fn proofs() -> Result<Vec<Proof>> {
    let (list, crates) = (skips()?, Crates::of_repository()?);
    RELEASES.iter().flat_map(Cell::of).map(|cell| cell.proof(&crates, &list)).collect()
}

fn skips() -> Result<String> {
    fs::read_to_string(shell::root().join(SKIPS)).with_context(|| format!("cannot read {SKIPS}"))
}

/// The environment with the compiler that made the shipped PTX.
pub fn compiler() -> Result<PathBuf> {
    let release = RELEASES.iter().find(|release| release.name == MADE_BY).context("the release is in the table")?;
    environment(release)
}

/// `PATH` with an environment's programs first, and without those of one that is active: its headers would be found, too.
pub fn path_to(folder: &Path) -> Result<OsString> {
    let active = env::var_os("VIRTUAL_ENV").map(|active| Path::new(&active).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let others = env::split_paths(&path).filter(|folder| active.as_ref() != Some(folder));
    Ok(env::join_paths([folder.join("bin")].into_iter().chain(others))?)
}

/// The release whose compiler made the shipped PTX.
const MADE_BY: &str = "13.0";

/// The programs that `cargo x ptx` records, where `cargo x matrix` has fetched them: a value for the variable `PTXAS`.
pub fn recorded() -> Option<String> {
    let programs: Vec<PathBuf> = RELEASES
        .iter()
        .filter(|release| release.recorded)
        .map(|release| ptxas_in(&folder_of(release)).ok())
        .collect::<Option<_>>()?;
    env::join_paths(programs).ok()?.into_string().ok()
}

fn folder_of(release: &Release) -> PathBuf {
    shell::root().join("target/matrix").join(release.name)
}

/// A release's Python packages, with a space between them.
fn packages(release: &Release) -> String {
    let headers = if release.name == MADE_BY { &HEADERS[..] } else { &[] };
    release.nvrtc.into_iter().chain([release.ptxas]).chain(headers.iter().copied()).collect::<Vec<_>>().join(" ")
}

/// The release's environment, made unless it is there and complete.
fn environment(release: &Release) -> Result<PathBuf> {
    let folder = folder_of(release);
    let packages = packages(release);
    let stamp = folder.join("packages");
    if fs::read_to_string(&stamp).is_ok_and(|there| there == packages) {
        return Ok(folder);
    }
    eprintln!("$ python3 -m venv {} and pip install {packages}", folder.display());
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder).status();
    if !made.context("cannot start python3")?.success() {
        bail!("python3 makes no virtual environment\nhint: on Debian: apt install python3-venv");
    }
    let mut pip = Command::new(folder.join("bin/python"));
    // ptxas and NVRTC alone: what the packages depend on is for nvcc.
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]).args(packages.split(' '));
    if !pip.status().context("cannot start pip")?.success() {
        bail!("pip cannot install {packages}");
    }
    fs::write(&stamp, packages).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(folder)
}

/// ptxas in an environment.
fn ptxas_in(folder: &Path) -> Result<PathBuf> {
    for python in fs::read_dir(folder.join("lib")).with_context(|| format!("cannot list {}", folder.display()))? {
        for package in ["cuda_nvcc", "cu13"] {
            let program =
                python.as_ref().map(|p| p.path().join("site-packages/nvidia").join(package).join("bin/ptxas"));
            if let Some(program) = program.ok().filter(|program| program.is_file()) {
                return Ok(program);
            }
        }
    }
    bail!("there is no ptxas in {}", folder.display())
}

/// What a run of tests said.
struct Ran {
    failure: Option<String>,
    skipped: BTreeSet<String>,
}

/// Runs `cargo test -p WORDS`, and reads which tests it skipped.
fn tests(words: &str, environment: &[(&str, PathBuf)]) -> Result<Ran> {
    eprintln!("$ cargo test -p {words}");
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--no-fail-fast", "-p"]).args(words.split(' ')).current_dir(shell::root());
    for name in ["CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "PTXAS"] {
        cargo.env_remove(name);
    }
    cargo.envs(environment.iter().map(|(name, value)| (name, value)));
    let output = cargo.stdin(Stdio::null()).output().context("cannot start cargo\nhint: is it on PATH?")?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let skipped =
        text.lines().filter_map(|line| line.split_once("skipped: ")).map(|(_, why)| why.to_string()).collect();
    let failure = (!output.status.success()).then(|| {
        eprintln!("{text}");
        let failed = text.lines().find(|line| line.contains("panicked") || line.contains("error"));
        failed.unwrap_or("cargo failed").to_string()
    });
    Ok(Ran { failure, skipped })
}

/// A skip that is not among those expected, or one of these that did not come.
fn unlisted(expected: &BTreeSet<String>, skipped: &BTreeSet<String>) -> Option<String> {
    let fits = |row: &String, why: &String| why.starts_with(row.trim_end_matches('…'));
    if let Some(why) = skipped.iter().find(|why| !expected.iter().any(|row| fits(row, why))) {
        return Some(format!("skipped, and {SKIPS} does not list it: {why}"));
    }
    let missing = expected.iter().find(|row| !skipped.iter().any(|why| fits(row, why)));
    missing.map(|row| format!("{SKIPS} lists a skip that did not come: {row}"))
}

#[cfg(test)]
mod tests_of_the_matrix {
    use super::*;

    const LIST: &str = "# release, crate, line\n* * no CUDA device\n12.0,12.4 common NVRTC is RELEASE…\n";

    fn judged(release: &str, package: &str, skipped: &[&str]) -> Option<String> {
        let mut cells = RELEASES.iter().flat_map(Cell::of);
        let cell = cells.find(|cell| cell.release.name == release && cell.tested == Some(package)).unwrap();
        unlisted(&cell.skips(LIST), &skipped.iter().map(|line| line.to_string()).collect())
    }

    #[test]
    fn exactly_the_listed_skips_pass() {
        assert_eq!(judged("13.0", "lab", &["no CUDA device"]), None);
        assert_eq!(judged("12.0", "common", &["no CUDA device", "NVRTC is 12.0.140, and"]), None);
        assert!(judged("13.0", "common", &["no CUDA device", "NVRTC is 13.0"]).unwrap().contains("does not list it"));
        assert!(judged("12.4", "common", &["no CUDA device"]).unwrap().contains("did not come: NVRTC is 12.4"));
        assert!(judged("12.0", "common", &["no CUDA device", "NVRTC is 12.4.1"]).is_some());
    }

    #[test]
    fn every_listed_skip_is_in_the_words_of_a_test() {
        let list = fs::read_to_string(shell::root().join(SKIPS)).unwrap();
        let files =
            shell::files().unwrap().into_iter().filter(|file| file.ends_with(".rs") && !file.starts_with("xtask"));
        let sources: String = files.map(|file| fs::read_to_string(shell::root().join(file)).unwrap()).collect();
        let rows: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
        let whys = rows.iter().map(|row| row.splitn(3, ' ').nth(2).unwrap());
        // Versions are put in while a test runs.
        let said = |why: &str| {
            let pieces =
                why.split(|c: char| c.is_ascii_digit() || "…`".contains(c)).flat_map(|piece| piece.split("RELEASE"));
            let longest = pieces.map(str::trim).max_by_key(|piece| piece.len()).unwrap_or_default().to_string();
            longest.len() > 5 && sources.contains(&longest)
        };
        let unsaid: Vec<&str> = whys.filter(|why| !said(why)).collect();
        assert!(rows.len() > 5 && unsaid.is_empty(), "{unsaid:?}");
    }

    #[test]
    fn a_failure_is_seen_in_the_table() {
        let cell = RELEASES.iter().flat_map(Cell::of).next().unwrap();
        assert!(cell.row(&verdict(None)).ends_with("passed\n"));
        assert!(cell.row(&verdict(Some("it broke"))).contains("FAILED: it broke"));
    }

    #[test]
    fn a_cell_is_of_its_crate_and_ptxas_of_every_shipped_file() {
        let proofs = proofs().unwrap();
        let reads = |name: &str, path: &str| {
            assert!(shell::root().join(path).exists(), "{path}");
            proofs.iter().find(|proof| proof.name == format!("matrix 12.0 {name}")).unwrap().reads.has(path)
        };
        assert!(reads("lab", "crates/lab/tests/data/cases.txt") && !reads("press", "crates/lab/tests/data/cases.txt"));
        assert!(
            reads("level2-register", "level2-register/kernel.cu") && !reads("level2-register", "crates/lab/src/lib.rs")
        );
        let kernels = ["crates/summit/kernels", "further/level19-ping-pong", "level0-naive"];
        for folder in kernels {
            let archives = fs::read_dir(shell::root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
            let archives = archives.map(|name| format!("{folder}/{}", name.to_str().unwrap()));
            let archives: Vec<String> = archives.filter(|path| path.ends_with(".ptx.zst")).collect();
            assert!(!archives.is_empty() && archives.iter().all(|path| reads("ptxas", path)), "{folder}");
        }
    }
}
