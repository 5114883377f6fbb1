//! A program of the workspace, run at the repository's root as a reader runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program, by its file.
#[derive(Debug, Clone, Copy)]
pub struct Program(pub &'static str);

/// What a run gave.
#[derive(Debug)]
pub struct Output {
    /// The exit code; -1 where it was ended by a signal.
    pub code: i32,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

impl Program {
    /// The command with these words, in English whatever language the machine speaks.
    pub fn command(self, words: &str) -> Command {
        let mut command = Command::new(self.0);
        command.env("LC_ALL", "C").current_dir(root()).args(words.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Runs it.
    pub fn run(self, words: &str) -> Output {
        let output = self.command(words).output().expect("the program was built for this test");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
        let stderr = text(output.stderr);
        assert!(!stderr.contains("panicked"), "`{words}`: {stderr}");
        Output { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr }
    }

    /// It refuses with one line and a hint, exit code 2, and nothing on stdout.
    pub fn refuses(self, words: &str, answer: &str) {
        let output = self.run(words);
        let lines: Vec<&str> = output.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
        let clear =
            matches!(lines.as_slice(), [error, hint] if error.starts_with("error: ") && hint.starts_with("hint: "));
        assert!(
            clear && output.code == 2 && output.stdout.is_empty() && output.stderr.contains(answer),
            "`{words}`, expected {answer:?}: {output:?}"
        );
    }
}

/// An empty folder of a test's own, in the folder that cargo has for such.
pub fn scratch(folder: &str, name: &str) -> PathBuf {
    let folder = Path::new(folder).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cargo's folder for tests can be written");
    folder
}
