//! The hazard benchmark: what `lab sanitize` says of each of its kernels is what the last result on record says, and its tables are fresh.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use device::nvrtc;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn run(words: &[&str]) -> Option<String> {
    let output = Command::new("python3").arg("kernels/hazards/run.py").args(words).current_dir(root()).output().ok()?;
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// By kernel: verdict and outcome.
fn outcomes(file: &Path) -> BTreeMap<String, [String; 2]> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let rows = reader.records().map(|row| row.unwrap());
    rows.map(|row| (row[0].to_string(), [row[1].to_string(), row[4].to_string()])).collect()
}

/// The newest of a folder's files with results of `lab` today.
fn newest(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.to_string_lossy().ends_with("-lab.csv")).max().unwrap()
}

#[test]
fn the_tables_are_what_the_results_say() {
    if run(&["--check"]).is_none() {
        level_tests::skipped("no Python");
    }
}

#[test]
fn every_kernel_is_judged_as_is_on_record() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hazards");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let checker = format!("lab={}", env!("CARGO_BIN_EXE_lab"));
    let Some(_) = run(&["--checker", &checker, "--out", &folder.display().to_string()]) else {
        return level_tests::skipped("no Python");
    };
    let (now, before) = (outcomes(&newest(&folder)), outcomes(&newest(&root().join("kernels/hazards/results"))));
    assert!(now.len() >= 122, "{}", now.len());
    let how = "`python3 kernels/hazards/run.py --checker lab=target/debug/lab --table` records it anew";
    assert_eq!(now, before, "{how}");
    let accused: Vec<_> =
        now.iter().filter(|(_, [verdict, said])| verdict == "right" && said == "false alarm").collect();
    assert!(accused.is_empty(), "{accused:?}");
}
