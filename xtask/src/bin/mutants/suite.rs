//! The emulator's tests, each of them on its own: what it takes, which errors it passes, whether it notices one.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::cargo::Program;

/// All tests that pass while every error sleeps.
pub struct Suite {
    tests: Vec<Test>,
    root: PathBuf,
    failing: Vec<String>,
}

/// What becomes of an error.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// This test fails.
    Noticed(String),
    /// This test does not end.
    Endless(String),
    /// All tests that get there pass.
    Survives,
    /// No test gets there.
    Unreached,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Noticed(test) => write!(f, "{test}"),
            Fate::Endless(test) => write!(f, "{test} (without an end)"),
            Fate::Survives | Fate::Unreached => write!(f, "SURVIVES"),
        }
    }
}

struct Test {
    program: PathBuf,
    /// The program's name and the test's, as they are printed.
    name: String,
    /// The test's name, as the program takes it.
    filter: String,
    takes: Duration,
    passes: HashSet<usize>,
    noticed: AtomicU32,
}

/// How much memory a test may ask for, in KiB: an error that makes a loop endless may also make a list endless.
const MEMORY: u64 = 8 << 20;

impl Suite {
    /// Runs each test once, to see what it takes and which errors it passes.
    pub fn new(programs: Vec<Program>, only: &[String], root: &Path) -> Result<Suite> {
        let mut suite = Suite { tests: Vec::new(), root: root.to_path_buf(), failing: Vec::new() };
        for program in programs.iter().filter(|program| only.is_empty() || only.contains(&program.name)) {
            let list = Command::new(&program.path).args(["--list", "--format", "terse"]).output()?;
            for test in String::from_utf8_lossy(&list.stdout).lines().filter_map(|line| line.strip_suffix(": test")) {
                suite.add(program, test)?;
            }
        }
        ensure!(!suite.tests.is_empty(), "no test passes");
        Ok(suite)
    }

    fn add(&mut self, program: &Program, filter: &str) -> Result<()> {
        let mut test = Test {
            program: program.path.clone(),
            name: format!("{}::{filter}", program.name),
            filter: filter.to_string(),
            takes: Duration::from_secs(120),
            passes: HashSet::new(),
            noticed: AtomicU32::new(0),
        };
        let notes = self.root.with_file_name("notes");
        fs::write(&notes, "")?;
        let start = Instant::now();
        let status = self.run(&test, "notes", &notes);
        test.takes = start.elapsed();
        if status.is_some_and(|status| status.success()) {
            test.passes = fs::read_to_string(&notes)?.lines().filter_map(|line| line.parse().ok()).collect();
            self.tests.push(test);
        } else {
            self.failing.push(test.name);
        }
        Ok(())
    }

    /// How many tests there are, what they take, and which ones fail by themselves.
    pub fn describe(&self) -> String {
        let takes: Duration = self.tests.iter().map(|test| test.takes).sum();
        let mut slow: Vec<&Test> = self.tests.iter().collect();
        slow.sort_by_key(|test| std::cmp::Reverse(test.takes));
        let slow: Vec<_> =
            slow[..slow.len().min(5)].iter().map(|t| format!("{} {:.1} s", t.name, t.takes.as_secs_f64())).collect();
        let mut text = format!(
            "{} tests, {:.1} s one by one (the slowest: {})",
            self.tests.len(),
            takes.as_secs_f64(),
            slow.join(", ")
        );
        if !self.failing.is_empty() {
            text += &format!("; fail by themselves, and are left out: {}", self.failing.join(", "));
        }
        text
    }

    /// Runs the tests that get to this error until one notices it: the quick ones first, and those that noticed others.
    pub fn fate(&self, number: usize) -> Fate {
        let mut tests: Vec<&Test> = self.tests.iter().filter(|test| test.passes.contains(&number)).collect();
        if tests.is_empty() {
            return Fate::Unreached;
        }
        tests.sort_by_cached_key(|test| test.takes / (1 + test.noticed.load(Ordering::Relaxed)));
        for test in tests {
            let status = self.run(test, &number.to_string(), Path::new(""));
            if !status.is_some_and(|status| status.success()) {
                test.noticed.fetch_add(1, Ordering::Relaxed);
                let name = test.name.clone();
                return if status.is_some() { Fate::Noticed(name) } else { Fate::Endless(name) };
            }
        }
        Fate::Survives
    }

    /// Runs a test with this error awake. None, if it takes much longer than it should: by the processor's time, as others may
    /// be at work beside it; by the clock only where it waits.
    fn run(&self, test: &Test, error: &str, notes: &Path) -> Option<ExitStatus> {
        let folder = self.root.join("emulator");
        let mut command = Command::new("sh");
        let most = test.takes * 10 + Duration::from_secs(5);
        let limits = format!("ulimit -v {MEMORY}; ulimit -S -t {}; exec \"$0\" \"$@\"", most.as_secs());
        command.args(["-c", &limits]).arg(&test.program);
        command.current_dir(&folder).args(["--quiet", "--exact", &test.filter]);
        command.env("MUTANT", error).env("MUTANT_NOTES", notes).env("CARGO_MANIFEST_DIR", &folder);
        command.env("INSTA_UPDATE", "no").env("PROPTEST_CASES", "64");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let end = Instant::now() + most * 10;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if ran_out(status) => return None,
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return None;
                }
            }
        }
    }
}

/// Whether a program was ended because its time was over.
#[cfg(unix)]
fn ran_out(status: ExitStatus) -> bool {
    const OUT_OF_TIME: i32 = 24;
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(OUT_OF_TIME)
}

#[cfg(not(unix))]
fn ran_out(_: ExitStatus) -> bool {
    false
}
