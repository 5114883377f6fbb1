//! Every instruction of the PTX manual does on the emulator what the table of `data/isa-9.0.txt` says, which the book shows. What
//! ptxas makes of the samples, `common/tests/assembled.rs` asks.

#[path = "isa/table.rs"]
mod table;

use std::collections::BTreeSet;

use emulator::isa::{KNOWN, Needed, needs};
use emulator::{Module, PtxError};
use table::{Row, module, rows};

fn decoded(row: &Row, statements: &str) -> Result<(), PtxError> {
    Module::parse(&module(row.target, statements)).and_then(|module| module.kernel("sample").map(drop))
}

/// The opcode of a statement, without its guard.
fn opcode(statement: &str) -> &str {
    statement.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default()
}

fn words(opcode: &str) -> Vec<&str> {
    opcode.split('.').collect()
}

/// What is wrong with an error of this statement, that should say that it is not run.
fn unclear(statement: &str, why: &str, error: &PtxError) -> bool {
    let PtxError { message, .. } = error;
    let says_why = message.ends_with(&format!(" is not run: {why}"));
    let says_operands = message.contains("` takes ") && message.contains(" operands, here are ");
    !message.contains(&format!("`{}`", opcode(statement))) || message.contains('\n') || !(says_why || says_operands)
}

#[test]
fn the_decoder_does_what_each_row_says() {
    let mut wrong = Vec::new();
    for row in rows() {
        if row.status != "refused" {
            wrong.extend(decoded(&row, row.samples).err().map(|error| format!("`{}`: {error}", row.samples)));
            continue;
        }
        for statement in row.statements() {
            match decoded(&row, &format!("{statement};")) {
                Ok(()) => wrong.push(format!("`{statement}` is taken")),
                Err(error) if unclear(statement, row.why, &error) => wrong.push(format!("`{statement}`: {error}")),
                Err(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} samples:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_name_has_a_sample_and_every_sample_a_name() {
    /// Whether an opcode has all words of a name, in their order, from the first on.
    fn is(opcode: &str, name: &str) -> bool {
        let mut words = words(opcode).into_iter();
        name.split('.').next() == opcode.split('.').next() && name.split('.').all(|part| words.any(|word| word == part))
    }
    for row in rows() {
        let opcodes: Vec<&str> = row.statements().into_iter().map(opcode).collect();
        for name in row.names.iter().filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())) {
            assert!(opcodes.iter().any(|opcode| is(opcode, name)), "`{name}` has no sample in {}", row.samples);
        }
        let of_control =
            |opcode: &str| ["mov", ".reg", ".branchtargets", ".callprototype"].iter().any(|o| opcode.starts_with(o));
        for opcode in opcodes.into_iter().filter(|opcode| !of_control(opcode)) {
            assert!(row.names.iter().any(|name| is(opcode, name)), "`{opcode}` is of no name of {:?}", row.names);
        }
    }
}

#[test]
fn no_instruction_is_forgotten() {
    let rows = rows();
    let shown: BTreeSet<&str> =
        rows.iter().flat_map(Row::statements).filter_map(|statement| opcode(statement).split('.').next()).collect();
    let forgotten: Vec<&&str> = KNOWN.iter().filter(|mnemonic| !shown.contains(**mnemonic)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

#[test]
fn targets_are_those_that_the_instructions_need() {
    let mut wrong = Vec::new();
    // That `min` and `max` take three values, no word of theirs says.
    for row in rows().iter().filter(|row| !row.samples.starts_with("min.f32 f0, f1, f2, f3;")) {
        let needed = row
            .statements()
            .into_iter()
            .map(opcode)
            .filter(|opcode| !opcode.starts_with('.'))
            .map(|opcode| needs(&words(opcode)).unwrap_or_else(|| panic!("nobody knows what `{opcode}` needs")));
        let Needed { sm, suffix, .. } = needed.reduce(Needed::and).expect("a row has a sample");
        if (sm.max(75), suffix) != (row.target.sm.max(75), row.target.suffix) {
            wrong.push(format!("{}: sm_{sm}{suffix}, and the row says {}", row.samples, row.target));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
