//! Kernels from public bug reports, `data/cases.txt`: each command of their heads, run by bash as it stands, says what a user must be told.

mod lab;

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use device::nvrtc;

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
