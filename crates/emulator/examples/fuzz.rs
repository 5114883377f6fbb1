//! Breaks PTX, and looks at what the emulator makes of it: no panic, no long wait, little memory; and, where ptxas is
//! at hand, nothing that it rejects.
//!
//! ```sh
//! cargo run --release -p emulator-tests --example fuzz -- FIRST COUNT [--ptxas PATH] [--reverse N] [--keep FOLDER]
//! ```
//!
//! `--record FILE` writes what `tests/mutants.rs` holds the emulator to, of the first COUNT mutants of some texts.
//! `--only WORD` breaks those texts alone whose names have it. `--files FOLDER` takes the files there as they are, and `--originals` those that are broken otherwise. `--reverse N` asks ptxas about every Nth text that the emulator refuses, too.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[allow(dead_code)]
#[path = "../tests/mutants/mutants.rs"]
mod mutants;

use mutants::{Verdict, judge, numbered, originals};

/// What became of ptxas where it gave no verdict.
const FELL: &str = "a signal ended ptxas";

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.remove(at);
        (at < arguments.len()).then(|| arguments.remove(at))
    };
    let (ptxas, keep, files) = (option("--ptxas"), option("--keep"), option("--files"));
    let (record, only) = (option("--record"), option("--only"));
    let reverse: Option<u64> = option("--reverse").and_then(|n| n.parse().ok());
    let number = |n: usize, other: u64| arguments.get(n).and_then(|a| a.parse().ok()).unwrap_or(other);
    let (first, count) = (number(0, 0), number(1, 1000));
    let mut originals = originals();
    if let Some(word) = only {
        originals.retain(|(name, _)| name.contains(&word));
    }
    let whole = arguments.iter().any(|a| a == "--originals") || files.is_some();
    if record.is_some() {
        originals = mutants::chosen(originals);
    }
    if let Some(folder) = files {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
        let read =
            |path: std::path::PathBuf| Some((path.to_string_lossy().into_owned(), std::fs::read_to_string(path).ok()?));
        originals = entries.filter_map(read).collect();
        originals.sort();
    }
    let (first, count) = if whole { (0, originals.len() as u64) } else { (first, count) };
    let (mut ran, mut asked, mut slowest) = (0, 0, (0.0, 0));
    let (mut accepted, mut refused): (BTreeMap<String, u32>, BTreeMap<String, u32>) = Default::default();
    let mut recorded: Vec<String> =
        originals.iter().map(|(name, text)| format!("original {name} {:016x}\n", mutants::hash(text))).collect();
    std::panic::set_hook(Box::new(|_| {}));
    for n in first..first + count {
        let (name, text) = match originals.get(n as usize).filter(|_| whole) {
            Some((name, text)) => (name.as_str(), text.clone()),
            None => numbered(&originals, n),
        };
        let start = Instant::now();
        let verdict = match std::panic::catch_unwind(|| judge(&text)) {
            Ok(verdict) => verdict,
            Err(_) => {
                println!("PANIC {n} {name}");
                keep_text(keep.as_deref(), n, "panic", &text);
                continue;
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        slowest = if seconds > slowest.0 { (seconds, n) } else { slowest };
        if seconds > 10.0 {
            println!("SLOW {n} {name}: {seconds:.1} s");
        }
        ran += u64::from(verdict == Verdict::Ran);
        let ask = verdict == Verdict::Ran || reverse.is_some_and(|every| n % every == 0);
        let Some(ptxas) = ptxas.as_deref().filter(|_| ask) else { continue };
        let taken = takes(ptxas, &text);
        asked += 1;
        if verdict == Verdict::Ran {
            let word = match &taken {
                Ok(()) => "takes",
                Err(why) if why == FELL => "falls",
                Err(_) => "rejects",
            };
            recorded.push(format!("{n} {:016x} {word}\n", mutants::hash(&text)));
        }
        match (&verdict, taken) {
            (_, Err(why)) if why == FELL => println!("FELL {n} {name}: {why}"),
            (Verdict::Ran, Err(why)) => {
                println!("ACCEPTED {n} {name}: {why}");
                keep_text(keep.as_deref(), n, "accepted", &text);
                *accepted.entry(why).or_default() += 1;
            }
            (Verdict::Refused(why), Ok(())) => {
                println!("REFUSED {n} {name}: {why}");
                keep_text(keep.as_deref(), n, "refused", &text);
                *refused.entry(why.split(": ").skip(1).collect::<Vec<_>>().join(": ")).or_default() += 1;
            }
            _ => {}
        }
    }
    if let Some(file) = record {
        std::fs::write(file, recorded.concat()).expect("the record can be written");
    }
    let (wrongly, total) = (accepted.values().sum::<u32>(), refused.values().sum::<u32>());
    println!(
        "{count} texts: {ran} ran, {asked} put to ptxas; {wrongly} ran though ptxas rejects them, {total} refused though it takes them"
    );
    println!("the slowest took {:.2} s (text {}); {}", slowest.0, slowest.1, peak());
}

/// The most memory that this process had.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("no figure of memory").to_string()
}

fn keep_text(folder: Option<&str>, n: u64, kind: &str, text: &str) {
    let Some(folder) = folder else { return };
    let _ = std::fs::create_dir_all(folder);
    let _ = std::fs::File::create(Path::new(folder).join(format!("{kind}-{n}.ptx")))
        .and_then(|mut f| f.write_all(text.as_bytes()));
}

/// Whether ptxas takes a text; if not, its first complaint.
fn takes(ptxas: &str, text: &str) -> Result<(), String> {
    let file = std::env::temp_dir().join(format!("fuzz-{}.ptx", std::process::id()));
    std::fs::write(&file, text).map_err(|e| e.to_string())?;
    let architecture = if text.contains(".target sm_90a") { "-arch=sm_90a" } else { "-arch=sm_90" };
    let output = Command::new(ptxas).args([architecture, "-O0", "-o", "/dev/null"]).arg(&file).output();
    let output = output.map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    if output.status.code().is_none() {
        return Err(FELL.to_string());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.contains("error") || line.contains("fatal")).unwrap_or("no reason");
    Err(line.split_once("; ").map_or(line, |(_, why)| why).to_string())
}
