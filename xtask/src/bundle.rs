//! `cargo x bundle`: a folder of programs to carry to a machine without Rust. `cargo x measure`: the same measurements here.
//! `cargo x figures`: what is shown of them.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{ptx, shell};

const FOLDER: &str = "target/ladder";

/// Builds the levels, the lab and what measures, stripped, and puts them and the lab's kernels into one folder.
pub fn run() -> Result<ExitCode> {
    let mut programs = ptx::levels()?;
    programs.extend(["lab", "press"].map(str::to_string));
    let packages: Vec<String> = programs.iter().map(|program| format!("--package {program}")).collect();
    let build = format!("build --locked --profile bundle {}", packages.join(" "));
    if !shell::cargo_with(&build, &[("LAB_COMMIT", &commit()?)])? {
        return Ok(ExitCode::FAILURE);
    }
    let folder = shell::root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {FOLDER}"))?;
    }
    fs::create_dir_all(folder.join("kernels/ptx")).with_context(|| format!("cannot make {FOLDER}"))?;
    for program in &programs {
        let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        copy(&Path::new("target/bundle").join(&name), &folder.join(&name))?;
    }
    for part in ["kernels", "kernels/ptx"] {
        let kernels = Path::new(part);
        for file in fs::read_dir(shell::root().join(kernels))? {
            let file = file?.path();
            if let (true, Some(name)) = (file.is_file(), file.file_name()) {
                copy(&kernels.join(name), &folder.join(part).join(name))?;
            }
        }
    }
    println!("{FOLDER}: {} programs; there, `./press measure --out .` measures", programs.len());
    Ok(ExitCode::SUCCESS)
}

/// Measures on this machine's GPU, into the book's record.
pub fn measure() -> Result<ExitCode> {
    let folder = "book/measurements";
    fs::create_dir_all(shell::root().join(folder)).with_context(|| format!("cannot make {folder}"))?;
    let command = format!("run --release --locked --package press -- measure --out {folder}");
    Ok(shell::exit_code(shell::cargo_with(&command, &[("LAB_COMMIT", &commit()?)])?))
}

/// Writes what the book shows of the measurements.
pub fn figures() -> Result<ExitCode> {
    Ok(shell::exit_code(shell::cargo("run --quiet --locked --package press -- figures")?))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let from = shell::root().join(from);
    fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// The commit of the working tree, marked where files have changed since; `unknown` without git.
fn commit() -> Result<String> {
    let git = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .current_dir(shell::root())
        .output();
    let text = git.ok().filter(|output| output.status.success()).map(|output| String::from_utf8(output.stdout));
    Ok(text.transpose()?.map_or_else(|| "unknown".to_string(), |text| text.trim().to_string()))
}
