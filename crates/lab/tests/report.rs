//! `lab report`: one file with everything, each number by what it is. And the notebook: its cells run from top to bottom, on the
//! emulator, with nothing but Python and what is built here.
//!
//! Its code is plain Python, without the magics of a notebook, so that `python3` runs it. It finds the program in a folder
//! `ladder`, as `cargo x bundle` makes it, and so needs no network.

mod lab;

use std::fs;
use std::process::{Command, Stdio};

use device::nvrtc;
use lab::{lab, root, scratch};
use level_tests::skipped;
use serde_json::Value;

#[test]
fn everything_is_in_it_and_called_what_it_is() {
    let folder = tempfolder("everything");
    let output = lab(&format!("report --backend emulator --dtype f64 --sizes 64,512 --levels 0,1 --out {folder}"));
    assert_eq!(output.code, 0, "{output:?}");
    let text = fs::read_to_string(format!("{folder}/report.md")).unwrap();
    for heading in ["thread block", "the matrices", "one core", "memory", "the work", "wrong kernel"] {
        assert!(text.lines().any(|line| line.starts_with("## ") && line.contains(heading)), "{heading}:\n{text}");
    }
    let pictures = text.lines().filter_map(|line| line.strip_prefix("![")?.split_once("](")?.1.strip_suffix(')'));
    assert_eq!(pictures.inspect(|name| assert!(fs::exists(format!("{folder}/{name}")).unwrap())).count(), 3);
    let times: Vec<&str> = text.lines().filter(|line| line.starts_with("| ") && line.contains(" ms")).collect();
    assert!(times.len() == 3 && times.iter().all(|head| head.contains("(predicted)")), "{times:?}");
    assert!(text.contains("race on As") && text.contains("missing-barrier.cu:17"), "{text}");
    // On the card, too, tiling is the faster one at this size, in f64.
    let line = text.lines().find(|line| line.starts_with("| 512 | ")).unwrap();
    let ms: Vec<f64> = line.split('|').skip(2).take(2).map(|cell| cell.trim().parse().unwrap()).collect();
    assert!(ms[0] > ms[1], "{line}");
    let rows = fs::read_to_string(format!("{folder}/rows.csv")).unwrap();
    let kinds: Vec<&str> = ["predicted", "cpu", "measured", "bound"].into_iter().filter(|k| rows.contains(k)).collect();
    assert_eq!(kinds, ["predicted", "cpu", "bound"], "the head names bounds: {rows}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_kernel_of_ones_own_is_in_it_with_its_verdict_and_its_accesses() {
    if device::nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC");
    }
    let folder = tempfolder("own");
    let program = "crates/lab/tests/data/report-program.cu";
    let words = format!("report {program} --backend emulator --dtype f64 --sizes 64 --levels 0,1 --out {folder}");
    let output = lab(&words);
    assert_eq!(output.code, 1, "{output:?}");
    let text = fs::read_to_string(format!("{folder}/report.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("The kernel of ")).unwrap();
    assert!(section.contains("| 256×256×256 | right, and no fault |"), "{section}");
    assert!(section.contains("| 101×67×43 | **read of 8 bytes past the end of "), "{section}");
    assert!(section.contains("report-program.cu:26") && section.contains("No time is predicted"), "{section}");
    let counted = text.lines().find(|line| line.starts_with("| matrixMulCUDA | ")).unwrap();
    // 2,048 warps ask for an element of A and one of B in each of 256 steps.
    assert!(counted.starts_with("| matrixMulCUDA | 1048576 | "), "{counted}");
    assert!(text.contains(&format!("by `lab report {program} --dtype f64")), "{text}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn where_nothing_is_predicted_no_time_is_claimed() {
    let folder = tempfolder("unknown");
    let output = lab(&format!("report --backend emulator --gpu t4 --sizes 32 --levels 0,1 --out {folder}"));
    assert_eq!(output.code, 0, "{output:?}");
    let text = fs::read_to_string(format!("{folder}/report.md")).unwrap();
    assert!(text.contains("(not known)") && !text.contains("predicted"), "{text}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let refused = lab("report --out Cargo.toml/report --sizes 32");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.starts_with("error: cannot write Cargo.toml/report: "), "{refused:?}");
}

fn tempfolder(name: &str) -> String {
    std::env::temp_dir().join(format!("lab-report-{name}-{}", std::process::id())).display().to_string()
}

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
