//! Bad surroundings: full disks, names that are no text, files that are none.

#![cfg(target_os = "linux")]

mod lab;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

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
