//! No measured number is typed into a page of the book, or into a map of the repository.
//!
//! A number with a unit of speed or time is a claim about a run, and so is a table that says so. Such numbers stand between
//! `<!-- made by … -->` and `<!-- end -->` (or the page's end), where a program writes them, or come by an include. What is
//! no measurement, as a peak from a data sheet, says so in the paragraph before: `<!-- not measured: from where -->`.

use regex_lite::Regex;

use super::includes::pages;
use super::tree::{Finding, Tree, numbered};

/// A number with such a unit: `5.4 TFLOP/s`, `1.62 µs`; as a part of cuBLAS's; or how much faster something is.
const CLAIM: &str = concat!(
    r"\d[\d.,]*\s*(?:[kMGT]?(?:FLOP|B)/s|[kMGT]FLOPS|(?:giga|tera)flops|[mµn]s|(?:milli|micro|nano)seconds?)\b",
    r"|\d[\d.,]*\s*(?:%|per ?cent) (?:of (?:the (?:speed|time) of )?cuBLAS|faster|slower)\b",
    r"|\d\.\d+ times (?:as fast|as slow|faster|slower)\b"
);
/// In the head of a table: its numbers are measured.
const TABLE: &str = r"(?i)\bmeasured\b|[kMGT]?FLOP/s|\b[mµn]s\b";

/// The texts with which a reader begins, and those of the rooms, which are held to it as the book's pages are.
const MAPS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [CLAIM, TABLE].map(|pattern| Regex::new(pattern).expect("the pattern is a constant"));
    let maps = tree
        .ending(&[".md"])
        .filter(|(path, _)| MAPS.iter().any(|map| path == map || path.ends_with(&format!("/{map}"))));
    pages(tree).chain(maps).flat_map(|(page, text)| on_page(page, text, &rules)).collect()
}

/// Where the reading stands, line by line.
#[derive(Default)]
struct State {
    generated: bool,
    in_code: bool,
    excused: bool,
    /// The last line that is neither empty nor of a table.
    said: String,
    /// The first line of the table, if this is one.
    head: Option<String>,
}

fn on_page(page: &str, text: &str, [claim, table]: &[Regex; 2]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut state = State::default();
    for (number, line) in numbered(text) {
        state.read(line);
        if state.generated || state.in_code || state.excused {
            continue;
        }
        if let Some(found) = claim.find(line) {
            let what = format!("`{}` is typed: include it from what a run wrote", found.as_str());
            findings.push(Finding::new(page, number, what));
        } else if let Some(head) = state.head.as_ref().filter(|head| *head != line) {
            let claims = table.is_match(head) || table.is_match(&state.said);
            if claims && line.chars().any(|c| c.is_ascii_digit()) {
                findings.push(Finding::new(page, number, "a row of a measured table is typed"));
            }
        }
    }
    findings
}

impl State {
    fn read(&mut self, line: &str) {
        let text = line.trim();
        if text.starts_with("```") {
            self.in_code = !self.in_code;
        }
        if text.starts_with("<!-- made by ") {
            self.generated = true;
        } else if text.starts_with("<!-- end") {
            self.generated = false;
        } else if text.starts_with("<!-- not measured: ") {
            self.excused = true;
        } else if text.is_empty() {
            self.excused = false;
            self.head = None;
        } else if text.starts_with('|') {
            self.head.get_or_insert_with(|| line.to_string());
        } else {
            self.said = text.to_string();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    fn on(text: &str) -> Vec<String> {
        printed(check, [("book/src/a.md", text)])
    }

    #[test]
    fn generated_and_excused_numbers_pass() {
        for text in [
            "<!-- made by `x` -->\n\nMeasured:\n\n| a | ms |\n|---|---|\n| b | 5 |\n",
            "{{#include ../measurements/a.md}}\n\nTILE = 32, 10 minutes, 4,096 sectors\n",
            "| name | value |\n|---|---|\n| TILE | 32 |\n",
            "<!-- not measured: the data sheet -->\nThe peak is 66.9 TFLOP/s.\n",
            "```console\ntook 1.62 µs\n```\n",
        ] {
            assert!(on(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn typed_numbers_are_found() {
        let row = "a row of a measured table is typed";
        for (text, line, what) in [
            ("x\nIt runs at 5.4 TFLOP/s.\n", 2, "`5.4 TFLOP/s` is typed: include it from what a run wrote"),
            ("702 TFLOPS\n", 1, "`702 TFLOPS` is typed: include it from what a run wrote"),
            ("moves 3.1 TB/s\n", 1, "`3.1 TB/s` is typed: include it from what a run wrote"),
            ("takes 1.4 microseconds\n", 1, "`1.4 microseconds` is typed: include it from what a run wrote"),
            ("92 per cent of cuBLAS\n", 1, "`92 per cent of cuBLAS` is typed: include it from what a run wrote"),
            (
                "78% of the speed of cuBLAS\n",
                1,
                "`78% of the speed of cuBLAS` is typed: include it from what a run wrote",
            ),
            ("is 17 per cent faster\n", 1, "`17 per cent faster` is typed: include it from what a run wrote"),
            ("1.4 times as fast\n", 1, "`1.4 times as fast` is typed: include it from what a run wrote"),
            ("in 1.62 µs\n", 1, "`1.62 µs` is typed: include it from what a run wrote"),
            ("| n | GFLOP/s |\n|---|---|\n| a | 512 |\n", 3, row),
            ("Measured on an H200:\n\n| n | speed |\n|---|---|\n| a | 512 |\n", 5, row),
            ("<!-- made by `x` -->\n<!-- end -->\n| n | ms |\n|---|---|\n| a | 5 |\n", 5, row),
            ("<!-- not measured: x -->\na\n\n5 ms\n", 4, "`5 ms` is typed: include it from what a run wrote"),
        ] {
            assert_eq!(on(text), [format!("book/src/a.md:{line}: {what}")]);
        }
    }

    #[test]
    fn a_map_is_held_to_it() {
        let found = printed(check, [("README.md", "It takes 7.24 µs.\n"), ("crates/a/README.md", "5 ms\n")]);
        let what = |number: &str| format!("`{number}` is typed: include it from what a run wrote");
        assert_eq!(
            found,
            [format!("README.md:1: {}", what("7.24 µs")), format!("crates/a/README.md:1: {}", what("5 ms"))]
        );
    }
}
