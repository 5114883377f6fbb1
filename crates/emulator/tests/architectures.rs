//! What each instruction form asks of a GPU, against ptxas. `data/oldest-architectures.py` says how the record was made.

#[allow(dead_code)]
#[path = "ptx/table.rs"]
mod table;

use std::collections::BTreeMap;

use emulator::Module;

const RECORD: &str = include_str!("data/oldest-architectures.csv");

/// The oldest architecture that the record asks about.
const OLDEST: u32 = 37;

#[test]
fn every_form_asks_for_the_gpu_that_ptxas_asks_for() {
    let rows = RECORD.lines().filter(|line| !line.starts_with('#')).skip(1);
    let recorded: BTreeMap<&str, u32> =
        rows.map(|row| row.split_once(',').unwrap()).map(|(form, sm)| (form, sm.parse().unwrap())).collect();
    let (mut forms, mut wrong) = (0, Vec::new());
    for (name, text) in table::texts().iter() {
        let name = name.trim_end_matches(".ptx");
        let kernel = Module::parse(text).unwrap().kernel("form").unwrap();
        let ours = kernel.oldest_architecture().map_or(OLDEST, |(architecture, _)| architecture);
        forms += 1;
        if recorded.get(name) != Some(&ours) {
            wrong.push(format!("{name}: sm_{ours} here, on record {:?}", recorded.get(name)));
        }
    }
    assert!(wrong.is_empty(), "{} of {forms} forms:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(forms, recorded.len(), "the record has forms that are gone");
}
