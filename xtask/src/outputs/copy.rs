//! A copy of the repository's files in which exercises change a kernel: below `target/`, with a target folder of its own.
//!
//! The copy is a repository, so that git does there what it does in a reader's clone; and cargo builds there what it
//! builds in a reader's clone. Both stay between runs: only the level that an exercise changes is built again.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::session::Place;
use crate::{proofs, shell};

const FOLDER: &str = "target/exercises";

/// The copy, equal to the working tree as it is now. Continuous integration has a clone that is thrown away: there, it is the clone
/// itself, in which all but one level is built already.
pub fn of_repository() -> Result<Place> {
    if !is_apart() {
        return Ok(Place { folder: shell::root().to_path_buf(), cargo: Vec::new(), is_copy: true, _alone: None });
    }
    let alone = alone(&shell::root().join(FOLDER)).with_context(|| format!("cannot lock {FOLDER}"))?;
    let folder = shell::root().join(FOLDER).join("tree");
    fill(&folder, shell::root(), &shell::files()?).with_context(|| format!("cannot copy to {FOLDER}"))?;
    let target = shell::root().join(FOLDER).join("target").to_string_lossy().into_owned();
    // Line tables serve debuggers alone, and take long to write.
    let cargo = vec![("CARGO_TARGET_DIR", target), ("CARGO_PROFILE_DEV_DEBUG", "none".to_string())];
    Ok(Place { folder, cargo, is_copy: true, _alone: Some(alone) })
}

/// Waits until no other run has the folder. It is this one's while the file is open.
fn alone(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder)?;
    let file = File::create(folder.join("lock"))?;
    if file.try_lock().is_err() {
        eprintln!("waiting for another run, which changes kernels in {}", folder.display());
        file.lock()?;
    }
    Ok(file)
}

/// Whether the copy is one, and not the repository itself.
pub fn is_apart() -> bool {
    env::var_os("CI").is_none()
}

/// An error if the last exercise left a file changed. The ledger may: another step writes it meanwhile.
pub fn ensure_restored(place: &Place) -> Result<()> {
    let but_the_ledger = format!(":!{}", proofs::LEDGER);
    let changed = stdout(shell::git(&place.folder).args(["status", "--porcelain", "--", ".", &but_the_ledger]))?;
    ensure!(
        changed.is_empty(),
        "it leaves files changed:\n{changed}hint: end with `$ git checkout levelN-name/kernel.cu`"
    );
    Ok(())
}

/// Makes `folder` a repository of just `files`. A file that is the same stays, so that cargo sees no change.
fn fill(folder: &Path, root: &Path, files: &[String]) -> Result<()> {
    fs::create_dir_all(folder)?;
    if !folder.join(".git").exists() {
        stdout(shell::git(folder).args(["init", "--quiet"]))?;
    }
    let wanted: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    for stale in stdout(shell::git(folder).args(["ls-files", "-z"]))?.split_terminator('\0') {
        if !wanted.contains(stale) && folder.join(stale).exists() {
            fs::remove_file(folder.join(stale))?;
        }
    }
    for file in wanted {
        let (from, to) = (root.join(file), folder.join(file));
        let bytes = fs::read(&from)?;
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().unwrap_or(folder))?;
            fs::write(&to, bytes)?;
        }
    }
    stdout(shell::git(folder).args(["add", "--all", "--force"]))?;
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"];
    stdout(shell::git(folder).args(identity).args([
        "commit",
        "--quiet",
        "--allow-empty",
        "--no-verify",
        "-m",
        "as is",
    ]))?;
    Ok(())
}

fn stdout(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start git\nhint: is it on PATH?")?;
    if !output.status.success() {
        bail!("git failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::super::session::play;
    use super::*;

    const KERNEL: &str = "a\nb\nc\n";
    const DIFF: &str = "--- a/kernel.cu\n+++ b/kernel.cu\n@@ -1,3 +1,2 @@\n a\n-b\n c\n";

    #[test]
    fn a_folder_is_of_one_run_at_a_time() {
        let folder = std::env::temp_dir().join(format!("xtask-alone-{}", std::process::id()));
        let first = alone(&folder).unwrap();
        let second = File::create(folder.join("lock")).unwrap();
        assert!(second.try_lock().is_err());
        drop(first);
        second.try_lock().unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_exercise_changes_the_copy_alone_and_is_undone() {
        let base = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        let (root, folder) = (base.join("root"), base.join("copy"));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("kernel.cu"), KERNEL).unwrap();
        fs::write(root.join("x.diff"), DIFF).unwrap();
        let files = ["kernel.cu".to_string(), "x.diff".to_string()];
        fill(&folder, &root, &files).unwrap();
        let place = Place { folder: folder.clone(), cargo: Vec::new(), is_copy: true, _alone: None };

        play(&["git apply x.diff".to_string()], &place).unwrap();
        assert_eq!(fs::read_to_string(folder.join("kernel.cu")).unwrap(), "a\nc\n");
        assert_eq!(fs::read_to_string(root.join("kernel.cu")).unwrap(), KERNEL);
        assert!(ensure_restored(&place).is_err());
        assert!(play(&["git apply x.diff".to_string()], &place).is_err(), "a diff applies once");

        play(&["git checkout kernel.cu".to_string()], &place).unwrap();
        ensure_restored(&place).unwrap();
        fill(&folder, &root, &files[..1]).unwrap();
        assert!(!folder.join("x.diff").exists());
        fs::remove_dir_all(base).unwrap();
    }
}
