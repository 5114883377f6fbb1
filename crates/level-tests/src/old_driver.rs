//! A program beside a driver that is older than its PTX: a small library that answers like one, compiled by `cc`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::skipped;

const SOURCE: &str = include_str!("fake_driver.c");

/// A driver that answers as asked, in a folder that goes with it.
#[derive(Debug)]
pub struct OldDriver {
    folder: PathBuf,
}

/// What a program said beside an old driver.
#[derive(Debug)]
pub struct Said {
    /// The exit code.
    pub code: Option<i32>,
    /// What went to stdout.
    pub out: String,
    /// The lines of stderr.
    pub notes: Vec<String>,
}

impl OldDriver {
    /// Compiles the driver. Nothing, and a line that says so, where there is no C compiler.
    pub fn build(name: &str) -> Option<OldDriver> {
        let folder = std::env::temp_dir().join(format!("ladder-driver-{}-{name}", std::process::id()));
        let source = folder.join("driver.c");
        if fs::create_dir_all(&folder).and_then(|()| fs::write(&source, SOURCE)).is_err() {
            skipped("the folder for temporary files is not writable");
            return None;
        }
        let driver = OldDriver { folder };
        // Both names, the first that is looked for among them: a real driver must not come before.
        for library in ["libcuda.so", "libcuda.so.1"] {
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(driver.folder.join(library)).arg(&source);
            if !cc.output().is_ok_and(|output| output.status.success()) {
                skipped("no C compiler (`cc`) for a faked driver");
                return None;
            }
        }
        Some(driver)
    }

    /// Runs a program beside it. `answers` are what the driver is to answer, `FAKE_SM=75 FAKE_ISA=8.4`; without `nvrtc` none is found.
    pub fn run(&self, program: &Path, words: &str, answers: &str, nvrtc: bool) -> Said {
        let mut command = Command::new(program);
        command.args(words.split_whitespace()).env("LD_LIBRARY_PATH", &self.folder);
        command.envs(answers.split_whitespace().filter_map(|pair| pair.split_once('=')));
        if !nvrtc {
            for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "PATH", "HOME"] {
                command.env_remove(name);
            }
        }
        let Output { status, stdout, stderr } = command.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let notes = text(&stderr).lines().map(str::to_string).collect();
        let said = Said { code: status.code(), out: text(&stdout), notes };
        assert!(!said.notes.iter().any(|line| line.contains("panicked")), "{said:?}");
        said
    }
}

impl Said {
    /// Whether the lines of stderr that begin with `note:` have these parts, in this order, and are no more.
    pub fn notes_are(&self, parts: &[&str]) {
        let notes: Vec<&String> = self.notes.iter().filter(|line| line.starts_with("note: ")).collect();
        let fits = notes.len() == parts.len() && notes.iter().zip(parts).all(|(note, part)| note.contains(part));
        assert!(fits, "{notes:#?} are not {parts:#?}\n{}", self.out);
    }
}

impl Drop for OldDriver {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
