//! Kernels that must be judged as is written of them: those from public bug reports, `data/cases.txt`, each command of their heads run
//! by bash as it stands; and the hazard benchmark, as the last result on record says, with its tables fresh.

mod lab;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use device::nvrtc;
use lab::root;

const CASES: &str = include_str!("data/cases.txt");

/// A command, and what its head asks of it.
#[derive(Default)]
struct Asked {
    command: String,
    code: i32,
    says: Vec<String>,
    without: Vec<String>,
}

/// The commands of a file's head.
fn asked(text: &str) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
        if let Some(command) = line.strip_prefix("$ ") {
            all.push(Asked { command: command.to_string(), code: -1, ..Asked::default() });
            continue;
        }
        let last = all.last_mut().expect("a command comes first");
        match line.split_once(' ') {
            Some(("", more)) => last.command += &format!("\n{more}"),
            Some(("exit", code)) => last.code = code.parse().unwrap(),
            Some(("says", words)) => last.says.push(words.to_string()),
            Some(("without", words)) => last.without.push(words.to_string()),
            _ => panic!("`{line}` asks for nothing"),
        }
    }
    all
}

/// What is wrong with what a command says.
fn judged(asked: &Asked, folder: &Path) -> Option<String> {
    let programs = Path::new(env!("CARGO_BIN_EXE_lab")).parent().unwrap().to_path_buf();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", &asked.command]).current_dir(folder).env("LC_ALL", "C").env("PATH", path);
    // The words are the same on a machine with a GPU.
    let output = bash.env("CUDA_VISIBLE_DEVICES", "-1").output().unwrap();
    let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut wrong = Vec::new();
    if output.status.code() != Some(asked.code) {
        wrong.push(format!("exit {:?}, and not {}", output.status.code(), asked.code));
    }
    let missing = asked.says.iter().filter(|words| !all.contains(words.as_str()));
    wrong.extend(missing.map(|words| format!("does not say {words:?}")));
    let said = asked.without.iter().filter(|words| all.contains(words.as_str()));
    wrong.extend(said.map(|words| format!("says {words:?}")));
    (!wrong.is_empty()).then(|| format!("$ {}\n{}\n{all}", asked.command, wrong.join("\n")))
}

/// Runs the commands of the case with this number.
fn is_told(number: &str) {
    let headers = nvrtc::header_folders();
    let there = |header: &str| headers.iter().any(|folder| folder.join(header).is_file());
    if nvrtc::find().is_err() || !there("mma.h") || !there("cooperative_groups.h") {
        return level_tests::skipped("no NVRTC, or not CUDA's headers: kernels are not compiled");
    }
    if Command::new("bash").arg("--version").output().is_err() {
        return level_tests::skipped("no bash");
    }
    let mut files = CASES.split("\n==== ").skip(1).map(|file| file.split_once('\n').unwrap());
    let (name, text) = files.find(|(name, _)| name.starts_with(number)).unwrap();
    let folder = lab::scratch(name);
    fs::write(folder.join(name), text).unwrap();
    let wrong: Vec<String> = asked(text).iter().filter_map(|asked| judged(asked, &folder)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A test for each case, by its name.
macro_rules! cases {
    ($($case:ident)*) => {
        $(#[test] fn $case() { is_told(&stringify!($case)[5..7]); })*

        #[test]
        fn each_has_a_test() {
            let names = CASES.split("\n==== ").skip(1).filter_map(|file| file.split_once(".cu"));
            let names: Vec<String> = names.map(|(name, _)| format!("case_{}", name.replace('-', "_"))).collect();
            assert_eq!(names, [$(stringify!($case)),*]);
        }
    };
}

cases! {
    case_01_cuda_headers_in_try
    case_02_host_code_in_the_file
    case_03_template_kernel
    case_05_line_of_the_caller_wmma
    case_07_copy_not_waited_for_race
    case_08_copied_garbage_has_no_line
    case_09_shuffle_of_missing_lanes
    case_10_static_shared_above_48k
    case_11_local_array_too_short
    case_13_column_major
    case_14_an_input_is_written
    case_15_wmma_from_local_memory
    case_16_wmma_stride
    case_17_map_changed_under_way
    case_18_redundant_work
    case_19_counters_of_any_kernel
    case_20_index_beyond_31_bits
    case_21_grid_sync
    case_22_warp_reuses_its_tile
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
