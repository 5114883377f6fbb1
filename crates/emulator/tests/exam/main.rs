//! An exam: kernels written from the manuals of PTX and CUDA alone. The right ones, which look wrong, must pass with the
//! results that `gives.txt` records, in every order; the wrong ones, which look right, must be convicted in one of them.
//!
//! `cargo test -p emulator-tests --test exam -- --nocapture` prints what became of each. A file's head describes its launch; `card.py`
//! runs the same files on a GPU.

mod header;
#[path = "../corpus/texts.rs"]
mod texts;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use emulator::{Argument, Device, Dim3, Launch, LaunchError, Module, Schedule};
use header::{Arg, Exam, exams};

/// Enough for every right kernel here, and soon over for one that never ends.
const INSTRUCTION_LIMIT: u64 = 4_000_000;

/// Right kernels that the emulator refuses, and why.
const REFUSED: &[(&str, &str)] = &[];

/// Wrong kernels that no run convicts, and why.
const BEYOND: &[(&str, &str)] = &[];

/// What became of a kernel.
enum Outcome {
    /// It ended well; a hash of each buffer that is all written, by its argument's name.
    Passed(Vec<(String, Option<u64>)>),
    /// A fault or a refusal: its kind, and its first line.
    Convicted(String, String),
}

#[test]
fn right_kernels_pass_with_the_right_results() {
    let gives = gives();
    let judge = |exam: &Exam| {
        let refused = REFUSED.iter().find(|(name, _)| *name == exam.name);
        for schedule in Schedule::ALL {
            match run(exam, schedule) {
                Outcome::Convicted(kind, _) if kind == "Parse" && refused.is_some() => {
                    return Ok(format!("refused: {}", refused.expect("it is there").1));
                }
                Outcome::Convicted(kind, why) => return Err(format!("{kind}: {why}")),
                Outcome::Passed(hashes) => {
                    for (argument, hash) in hashes {
                        let Some(expected) = gives.get(&(exam.name.clone(), argument.clone())) else { continue };
                        if hash != Some(*expected) {
                            return Err(format!("{argument} is wrong with {schedule}"));
                        }
                    }
                }
            }
        }
        match refused {
            Some(_) => Err("passed: it is refused no more".to_string()),
            None => Ok("passed".to_string()),
        }
    };
    let failed = table("right", &exams("right"), &judge);
    assert!(failed.is_empty(), "right kernels that do not pass:\n{}", failed.join("\n"));
}

#[test]
fn wrong_kernels_are_convicted() {
    let judge = |exam: &Exam| {
        let mut found = Vec::new();
        for schedule in Schedule::ALL {
            match run(exam, schedule) {
                Outcome::Convicted(kind, why) if exam.kinds.contains(&kind) => return Ok(format!("{kind}: {why}")),
                Outcome::Convicted(kind, why) => {
                    return Err(format!("not {}, but {kind}: {why}", exam.kinds.join("|")));
                }
                Outcome::Passed(hashes) => found.push(hashes),
            }
        }
        let beyond = BEYOND.iter().find(|(name, _)| *name == exam.name);
        match (beyond, found.iter().all(|hashes| *hashes == found[0])) {
            (Some((_, why)), _) => Ok(format!("beyond: {why}")),
            (None, true) => Err("passed".to_string()),
            (None, false) => Ok("the results depend on the order of blocks or warps".to_string()),
        }
    };
    let failed = table("wrong", &exams("wrong"), &judge);
    assert!(failed.is_empty(), "wrong kernels that are not convicted as they should:\n{}", failed.join("\n"));
}

/// Judges all kernels on two threads, prints a table, and returns the lines of those that failed.
fn table(folder: &str, exams: &[Exam], judge: &(dyn Fn(&Exam) -> Result<String, String> + Sync)) -> Vec<String> {
    assert!(exams.len() >= 45, "only {} {folder} kernels", exams.len());
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(exam) = exams.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(exam)))
                        .unwrap_or_else(|_| Err("panic".to_string()));
                    let seconds = start.elapsed().as_secs_f64();
                    results.lock().expect("nobody panics here").push((exam.name.clone(), verdict, seconds));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("nobody panics here");
    results.sort_by(|a, b| a.0.cmp(&b.0));
    let mut text = String::new();
    for (name, verdict, seconds) in &results {
        let (mark, why) = match verdict {
            Ok(why) => ("ok", why),
            Err(why) => ("FAILED", why),
        };
        writeln!(text, "{folder} {name:40} {mark:6} {seconds:6.2} s  {why}").expect("text can be written");
    }
    let failed: Vec<String> = text.lines().filter(|line| line.contains(" FAILED ")).map(String::from).collect();
    println!("{text}{folder}: {} of {} as they should be", results.len() - failed.len(), results.len());
    failed
}

fn run(exam: &Exam, schedule: Schedule) -> Outcome {
    let module = match Module::parse(&exam.ptx) {
        Ok(module) => module,
        Err(error) => return Outcome::Convicted("Parse".to_string(), one_line(&error.to_string())),
    };
    let kernel = match module.kernel("k") {
        Ok(kernel) => kernel,
        Err(error) => return Outcome::Convicted("Parse".to_string(), one_line(&error.to_string())),
    };
    let mut device = Device::new();
    let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
    for (name, arg) in &exam.arguments {
        match arg {
            Arg::Int(value) => arguments.push(Argument::U32(*value as u32)),
            Arg::Same(other) => {
                let at = exam.arguments.iter().position(|(name, _)| name == other).expect("the other is there");
                arguments.push(arguments[at].clone());
            }
            Arg::Buffer(bytes, content) => {
                let buffer = device.alloc(name, *bytes);
                if let Some(content) = content {
                    device.write(buffer, content).expect("it fits");
                }
                buffers.push((name, buffer, *bytes));
                arguments.push(Argument::Buffer(buffer));
            }
        }
    }
    let size = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    let mut launch = Launch::new(size(exam.grid), size(exam.block));
    launch.dynamic_shared = exam.dynamic_shared;
    launch.instruction_limit = INSTRUCTION_LIMIT;
    launch.schedule = schedule;
    for _ in 0..exam.launches {
        match device.launch(&kernel, launch, &arguments) {
            Ok(_) => {}
            Err(LaunchError::Refused(why)) => {
                return Outcome::Convicted("Refused".to_string(), one_line(&why.to_string()));
            }
            Err(LaunchError::Fault(fault)) => {
                let line = fault.site.source.as_ref().map_or(0, |(_, line)| *line);
                let why = format!("line {line}: {}", one_line(&fault.message));
                return Outcome::Convicted(format!("{:?}", fault.kind), why);
            }
            Err(other) => return Outcome::Convicted("Refused".to_string(), one_line(&other.to_string())),
        }
    }
    let mut hashes = Vec::new();
    for (name, buffer, bytes) in buffers {
        let mut content = vec![0; bytes];
        match device.read(buffer, &mut content) {
            Ok(()) => hashes.push((name.clone(), Some(hash(&content)))),
            // The host reads the output; of other buffers some bytes may stay unwritten.
            Err(error) if name == "out" => {
                return Outcome::Convicted("Uninitialised".to_string(), one_line(&error.to_string()));
            }
            Err(_) => hashes.push((name.clone(), None)),
        }
    }
    Outcome::Passed(hashes)
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

/// The hash of what each right kernel must give, by its name and the argument's.
fn gives() -> HashMap<(String, String), u64> {
    let lines = include_str!("gives.txt").lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let hash = u64::from_str_radix(words[2], 16).expect("a hash");
        ((words[0].to_string(), words[1].to_string()), hash)
    };
    lines.map(entry).collect()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
