//! `lab completions`: the commands and their flags, for a shell that completes words.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use gemm::Error;

use crate::output::print;

/// Print what a shell needs to complete the lab's commands and flags
///
/// bash: `lab completions bash > ~/.local/share/bash-completion/completions/lab`. zsh: into a file `_lab` in a folder of $fpath.
/// fish: into ~/.config/fish/completions/lab.fish.
#[derive(Debug, Clone, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Prints them.
pub fn run<Program: CommandFactory>(completions: &Completions) -> Result<ExitCode, Error> {
    let mut text = Vec::new();
    clap_complete::generate(completions.shell, &mut Program::command(), "lab", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
