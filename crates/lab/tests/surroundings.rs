//! Where it runs: full disks, names that are no text, files that are none; and the script that `action.yml` runs.

#![cfg(target_os = "linux")]

mod lab;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use serde_json::Value;

#[test]
fn what_cannot_be_written_is_an_error() {
    for words in ["--help", "gpus", "sanitize kernels/scan.cu"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = lab::command(words).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.starts_with("error: cannot write: "), "{words}: {said}");
    }
    // Nor does a note that cannot be written end in a panic.
    for words in ["--nonesuch", "sanitize kernels/nonesuch.cu"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert_eq!(lab::command(words).stderr(full).output().unwrap().status.code(), Some(2), "{words}");
    }
}

#[test]
fn a_file_is_read_whatever_its_name_and_nothing_else_is() {
    let folder = lab::scratch("names");
    let file = folder.join(OsStr::from_bytes(b"n\xffme.ptx"));
    fs::write(&file, "\u{feff}// nothing\n").unwrap();
    let output = lab::command("sanitize").arg(&file).args(["--grid", "1"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("no `.version` directive"), "{said}");

    let pipe = folder.join("pipe.cu");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(folder.join("bytes.cu"), [0, 159, 146, 150]).unwrap();
    for (name, why) in [("pipe.cu", "it is a pipe"), ("bytes.cu", "it is no text"), (".cu/../x.cu", "No such file")] {
        lab::refused(&format!("try {}/{name}", folder.display()), why);
    }
}

/// Nothing installed; a library that is none; and the words of an environment without folders.
#[test]
fn the_doctor_says_what_is_where_and_what_is_missing() {
    let toolkit = lab::scratch("doctor");
    fs::create_dir_all(toolkit.join("lib64")).unwrap();
    for name in ["libnvrtc.so.13", "libcublas.so.13", "libnccl.so.2"] {
        fs::write(toolkit.join("lib64").join(name), "no library").unwrap();
    }
    let nowhere = toolkit.join("nowhere");
    for (home, found) in [(&toolkit, true), (&nowhere, false)] {
        let mut doctor = lab::command("doctor");
        let output = doctor.env_clear().env("CUDA_HOME", home).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{text}");
        for part in ["GPU ", "NVRTC ", "CUDA's headers ", "cuBLAS ", "NCCL "] {
            assert!(text.lines().any(|line| line.starts_with(part)), "{part}: {text}");
        }
        // A machine with a toolkit of its own may have the others.
        let named = |name: &str| text.contains(home.join("lib64").join(name).to_str().unwrap());
        assert_eq!((named("libcublas.so.13"), named("libnccl.so.2")), (found, found), "{text}");
        // One that does not load is no compiler.
        assert!(!named("libnvrtc.so.13"), "{text}");
    }
}

#[test]
fn a_version_has_its_commit_and_a_shell_its_words() {
    let version = String::from_utf8(lab::command("--version").output().unwrap().stdout).unwrap();
    assert!(version.starts_with(&format!("lab {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    for shell in ["bash", "zsh", "fish"] {
        let output = lab::command(&format!("completions {shell}")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("sanitize") && text.contains("backend"), "{shell}: {text}");
    }
}

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
