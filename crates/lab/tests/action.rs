//! The script that `action.yml` runs, on kernels of this repository.

#![cfg(unix)]

mod lab;

use std::fs;
use std::process::Command;

use serde_json::Value;

/// The exit code, what was said, and the logs.
fn run(name: &str, files: &str, args: &str) -> (i32, String, Vec<Value>) {
    let folder = lab::scratch(name);
    let logs = folder.join("logs");
    let output = Command::new("bash")
        .arg(".ci/sanitize")
        .current_dir(lab::root())
        .envs([("FILES", files), ("ARGS", args), ("NVRTC", "no"), ("LAB", env!("CARGO_BIN_EXE_lab"))])
        .env("SARIF", &logs)
        .env("RUNNER_TEMP", &folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut paths: Vec<_> = fs::read_dir(&logs).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let logs = paths.iter().map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect();
    (output.status.code().unwrap(), text, logs)
}

#[test]
fn faults_are_noted_beside_the_code() {
    let files = "# two, the second by a pattern\nkernels/scan.cu\n\n  kernels/scan-in-pla?e.cu --print 'out[0..4]'\n";
    let (code, said, logs) = run("action-faults", files, "--seed 2");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("\n::error file=kernels/scan-in-place.cu,line=12,title=race::race on sums"), "{said}");
    assert!(said.contains("::group::lab sanitize kernels/scan-in-place.cu --print out[0..4] --seed 2\n"), "{said}");
    assert_eq!(said.matches("::error").count(), 1, "{said}");
    let results = |log: &Value| log["runs"][0]["results"].as_array().unwrap().len();
    assert_eq!(logs.iter().map(results).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn what_cannot_be_run_is_noted_too() {
    let (code, said, logs) = run("action-refused", "kernels/scan.cu\nkernels/nonesuch.cu --shared 'a b'", "");
    assert!(code == 2 && said.contains("::error file=kernels/nonesuch.cu,title=not run::cannot read"), "{said}");
    assert_eq!(logs.len(), 1);
    let (code, said, _) = run("action-none", " \n", "");
    assert!(code == 2 && said.contains("no file is named"), "{said}");
}
