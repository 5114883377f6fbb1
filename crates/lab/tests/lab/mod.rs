//! Runs the program at the repository's root.

#![allow(dead_code, unused_imports)] // each test binary uses a part

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use device::nvrtc;
use level_tests::program::{self, Program};
pub use level_tests::program::{Output, root};

const PROGRAM: Program = Program(env!("CARGO_BIN_EXE_lab"));

pub fn command(words: &str) -> Command {
    PROGRAM.command(words)
}

pub fn lab(words: &str) -> Output {
    PROGRAM.run(words)
}

pub fn refused(words: &str, answer: &str) {
    PROGRAM.refuses(words, answer);
}

pub fn scratch(name: &str) -> PathBuf {
    program::scratch(env!("CARGO_TARGET_TMPDIR"), name)
}

/// A command on a file with this text.
pub fn on(name: &str, command: &str, text: &str, words: &str) -> Output {
    let file = scratch(name).join("k.cu");
    fs::write(&file, text).unwrap();
    lab(&format!("{command} {} {words}", file.display()))
}

/// Whether there is no compiler, or not the header that is wanted.
pub fn lacks(header: &str) -> bool {
    let folders = nvrtc::header_folders();
    let there = header.is_empty() || folders.iter().any(|folder| folder.join(header).is_file());
    let lacks = nvrtc::find().is_err() || !there;
    if lacks {
        level_tests::skipped("no NVRTC, or not CUDA's headers: kernels are not compiled");
    }
    lacks
}
