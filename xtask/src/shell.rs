//! Runs cargo and git at the repository's root.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// The repository's root: the folder above this crate's.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Runs `cargo` with the words of `arguments` at the root, its output going where ours goes.
///
/// Returns whether it succeeded; an error means that cargo could not be started.
pub fn cargo(arguments: &str) -> Result<bool> {
    start(arguments, &[], &[])
}

/// The same, with a last argument that may have spaces in it.
pub fn cargo_and(arguments: &str, last: &str) -> Result<bool> {
    start(arguments, &[last], &[])
}

/// The same, with variables set in the environment.
pub fn cargo_with(arguments: &str, environment: &[(&str, &str)]) -> Result<bool> {
    start(arguments, &[], environment)
}

fn start(arguments: &str, more: &[&str], environment: &[(&str, &str)]) -> Result<bool> {
    eprintln!("$ cargo {}", [&[arguments], more].concat().join(" "));
    let status = Command::new("cargo")
        .envs(environment.iter().copied())
        .args(arguments.split_whitespace())
        .args(more)
        .current_dir(root())
        .status()
        .context("cannot start cargo\nhint: is it on PATH?")?;
    Ok(status.success())
}

/// git, in `folder`, whatever repository the environment names.
pub fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    // A clone that belongs to another user is fine.
    git.args(["-c", "safe.directory=*"]).current_dir(folder);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(name);
    }
    git
}

/// The files that git tracks, and new ones that it does not ignore, by their path from the root, sorted.
///
/// A link is left out, and so is a file that is deleted but still tracked.
pub fn files() -> Result<Vec<String>> {
    listed(&["--cached", "--others", "--exclude-standard"])
}

/// The new ones among them.
pub fn untracked() -> Result<Vec<String>> {
    listed(&["--others", "--exclude-standard"])
}

fn listed(which: &[&str]) -> Result<Vec<String>> {
    let list = git(root())
        .args(["ls-files", "-z"])
        .args(which)
        .output()
        .context("cannot start git, which lists the repository's files\nhint: is it on PATH?")?;
    if !list.status.success() {
        bail!("git ls-files failed: {}\nhint: it lists a clone", String::from_utf8_lossy(&list.stderr).trim());
    }
    let paths = String::from_utf8(list.stdout).context("a path is not UTF-8")?;
    let is_file = |path: &&str| root().join(path).symlink_metadata().is_ok_and(|found| found.is_file());
    let mut files: Vec<String> = paths.split_terminator('\0').filter(is_file).map(str::to_string).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The exit code of a command that passed or failed: 0 or 1.
pub fn exit_code(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
