//! The notebook: its cells run from top to bottom, on the emulator, with nothing but Python and what is built here.
//!
//! Its code is plain Python, without the magics of a notebook, so that `python3` runs it. It finds the program in a folder
//! `ladder`, as `cargo x bundle` makes it, and so needs no network.

mod lab;

use std::fs;
use std::process::{Command, Stdio};

use device::nvrtc;
use lab::{root, scratch};
use level_tests::skipped;
use serde_json::Value;

const NOTEBOOK: &str = include_str!("../../../book/notebooks/t4.ipynb");

/// The code cells.
fn cells() -> Vec<Value> {
    let notebook: Value = serde_json::from_str(NOTEBOOK).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter();
    cells.filter(|cell| cell["cell_type"] == "code").cloned().collect()
}

/// A cell's text.
fn source(cell: &Value) -> String {
    cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
}

#[test]
fn no_output_is_committed() {
    for cell in cells() {
        assert_eq!((&cell["outputs"], &cell["execution_count"]), (&Value::Array(Vec::new()), &Value::Null));
        let magic = |line: &str| line.trim_start().starts_with(['!', '%']);
        assert!(!source(&cell).lines().any(magic), "plain Python, please:\n{}", source(&cell));
    }
}

#[test]
fn the_cells_run_from_top_to_bottom() {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped("needs python3");
    }
    if let Err(why) = nvrtc::find() {
        return skipped(&format!("an edited kernel needs NVRTC: {why}"));
    }
    let folder = scratch("notebook");
    fs::create_dir_all(folder.join("ladder/kernels/ptx")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_lab"), folder.join("ladder/lab")).unwrap();
    for part in ["kernels", "kernels/ptx"] {
        for file in fs::read_dir(root().join(part)).unwrap().map(|file| file.unwrap().path()) {
            if file.is_file() {
                fs::copy(&file, folder.join("ladder").join(part).join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    // Each cell says where it begins, so that what it writes can be told apart.
    let cell = |(number, cell): (usize, &Value)| format!("print('--- cell {number}', flush=True)\n{}\n", source(cell));
    let script: String = cells().iter().enumerate().map(cell).collect();
    fs::write(folder.join("cells.py"), script).unwrap();
    // A machine with a GPU runs them, too, as one without: no `nvidia-smi` is found.
    let hide = "import shutil; which = shutil.which\nshutil.which = lambda name: None if name == 'nvidia-smi' else which(name)\n";
    let run = format!("{hide}exec(compile(open('cells.py').read(), 'cells.py', 'exec'))");
    let output = Command::new("python3").args(["-c", &run]).current_dir(&folder).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let said = |cell: usize| stdout.split("--- cell ").find(|part| part.starts_with(&cell.to_string())).unwrap();
    assert!(said(1).contains("modelling T4") && said(1).contains("level5-warp-tiling"), "{stdout}");
    assert!(said(2).contains("cannot run: Feature 'cp.async' requires .target sm_80"), "{stdout}");
    assert!(said(3).contains("sweep.svg: "), "{stdout}");
    assert!(said(4).contains("right: "), "{stdout}");
    let changed = |sign: &str| said(5).lines().filter(|line| line.starts_with(sign)).count();
    assert_eq!((changed("< "), changed("> ")), (1, 0), "one line is gone: {stdout}");
    assert!(said(6).contains("race") && said(6).contains("broken.cu:"), "{stdout}");
}
