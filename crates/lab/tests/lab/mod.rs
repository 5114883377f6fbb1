//! Runs the program at the repository's root.

#![allow(dead_code)] // each test binary uses a part

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run gave.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

pub fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    // Whatever language the machine speaks.
    command.env("LC_ALL", "C").current_dir(root()).args(words.split_whitespace()).stdin(Stdio::null());
    command
}

pub fn lab(words: &str) -> Output {
    let output = command(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let stderr = text(output.stderr);
    assert!(!stderr.contains("panicked"), "`{words}`: {stderr}");
    Output { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr }
}

/// Refused with one line and a hint, exit code 2, and nothing on stdout.
pub fn refused(words: &str, answer: &str) {
    let output = lab(words);
    let lines: Vec<&str> = output.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    let clear = matches!(lines.as_slice(), [error, hint] if error.starts_with("error: ") && hint.starts_with("hint: "));
    assert!(
        clear && output.code == 2 && output.stdout.is_empty() && output.stderr.contains(answer),
        "`{words}`, expected {answer:?}: {output:?}"
    );
}

/// An empty folder of a test's own.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
