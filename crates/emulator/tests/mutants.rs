//! A thousand mutated texts of PTX: nothing panics, and what runs is what ptxas takes. The verdicts of ptxas are a record,
//! made by
//!
//! ```sh
//! cargo run -p emulator-tests --example fuzz -- 0 1000 --ptxas PATH --record crates/emulator/tests/data/mutants.txt
//! ```
//!
//! `falls` says that ptxas crashed, and so said nothing about the text.

use std::collections::BTreeMap;

#[allow(dead_code)]
#[path = "mutants/mutants.rs"]
mod mutants;

use mutants::{Verdict, chosen, hash, judge, numbered, originals};

const COUNT: u64 = 1000;
const RECORD: &str = include_str!("data/mutants.txt");
const RENEW: &str = "renew the record by the command at the top of tests/mutants.rs";

#[test]
fn of_a_thousand_mutants_those_run_that_ptxas_takes() {
    let originals = chosen(originals());
    let recorded: Vec<&str> = RECORD.lines().filter_map(|line| line.strip_prefix("original ")).collect();
    let here: Vec<String> = originals.iter().map(|(name, text)| format!("{name} {:016x}", hash(text))).collect();
    assert!(recorded == here, "the texts that are broken have changed: {RENEW}");
    let mut verdicts: BTreeMap<u64, (String, &str)> = BTreeMap::new();
    for line in RECORD.lines().filter(|line| !line.starts_with("original ")) {
        let [number, hash, verdict] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        verdicts.insert(number.parse().expect("a number"), (hash.to_string(), verdict));
    }
    let mut wrong = Vec::new();
    for n in 0..COUNT {
        let (name, text) = numbered(&originals, n);
        let (verdict, known) = (judge(&text), verdicts.get(&n));
        match (verdict, known) {
            (Verdict::Ran, Some((known, "takes" | "falls"))) if *known == format!("{:016x}", hash(&text)) => {}
            (Verdict::Ran, Some((_, "rejects"))) => wrong.push(format!("{n} of {name} runs, and ptxas rejects it")),
            (Verdict::Ran, _) => wrong.push(format!("{n} of {name} runs, and ptxas was not asked: {RENEW}")),
            (Verdict::Refused(why), Some(_)) => wrong.push(format!("{n} of {name} ran once, and is refused: {why}")),
            (Verdict::Refused(_), None) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
