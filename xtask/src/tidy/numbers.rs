//! A number of a lesson is one that an output, a record or a table of the book shows, or stands in a calculation.
//!
//! Meant are numbers that a run gives: those with a comma between thousands, with a point, or with a percent sign, outside code. One that
//! stands beside a sign of arithmetic is taken for calculated, there and on the rest of the page.

use std::collections::BTreeSet;

use regex_lite::Regex;

use super::includes::pages;
use super::tree::{Finding, Tree, numbered};

/// What runs wrote.
const SHOWN: [&str; 3] = ["book/outputs/", "book/records/", "book/generated/"];
const NUMBER: &str = r"\d+(?:\.\d+)?";
const TOLD: &str = r"\d{1,3}(?:,\d{3})+|\d+\.\d+%?|\d+%";
/// Not of a sentence: code, an element's place or a link, an address, a tag, a comment.
const ASIDE: &str = r"`[^`]*`|\[[^\]]*\]|\([^) ]*\.[^) ]*\)|https?:\S+|<[^>]*>";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [NUMBER, TOLD, ASIDE].map(|pattern| Regex::new(pattern).expect("the pattern is a constant"));
    let shown: BTreeSet<String> = tree
        .ending(&[".txt", ".md"])
        .filter(|(path, _)| SHOWN.iter().any(|folder| path.starts_with(folder)))
        .flat_map(|(_, text)| numbers(&rules[0], &text.replace(',', "")))
        .collect();
    let lessons = pages(tree).filter(|(path, _)| path.starts_with("book/src/lesson"));
    lessons.flat_map(|(page, text)| on_page(page, text, &shown, &rules)).collect()
}

fn numbers(number: &Regex, text: &str) -> Vec<String> {
    number.find_iter(text).map(|found| found.as_str().to_string()).collect()
}

fn on_page(page: &str, text: &str, shown: &BTreeSet<String>, [number, told, aside]: &[Regex; 3]) -> Vec<Finding> {
    let lines: Vec<(usize, String)> =
        lines(text).into_iter().map(|(at, line)| (at, aside.replace_all(line, " ").into_owned())).collect();
    let calculated: BTreeSet<String> =
        lines.iter().flat_map(|(_, line)| calculated(number, &line.replace(',', ""))).collect();
    let mut findings = Vec::new();
    for (at, line) in &lines {
        for found in told.find_iter(line) {
            // A part of a longer word, as a version is.
            if line[..found.start()].ends_with(|c: char| c.is_alphanumeric() || ".,".contains(c)) {
                continue;
            }
            let plain = found.as_str().replace([',', '%'], "");
            if !shown.contains(&plain) && !calculated.contains(&plain) {
                let what = format!("no output, record or table has {}: show the run, or calculate it", found.as_str());
                findings.push(Finding::new(page, *at, what));
            }
        }
    }
    findings
}

/// The numbers of a line that stand beside a sign of arithmetic.
fn calculated(number: &Regex, line: &str) -> Vec<String> {
    let is_sign = |c: char| "=·×+−÷/".contains(c);
    let is_calculated = |found: &regex_lite::Match| {
        let before = line[..found.start()].trim_end_matches(['(', ' ', '*']).ends_with(is_sign);
        let after = line[found.end()..].trim_start_matches([')', ' ', '*']).starts_with(is_sign);
        before || after
    };
    number.find_iter(line).filter(is_calculated).map(|found| found.as_str().to_string()).collect()
}

/// The lines outside code and includes. What is excused, as in `measured`, is left out.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let (mut in_code, mut excused) = (false, false);
    let is_told = |(_, line): &(usize, &str)| {
        let start = line.trim_start();
        match () {
            _ if start.starts_with("```") => in_code = !in_code,
            _ if start.starts_with("<!-- not measured: ") => excused = true,
            _ if start.is_empty() => excused = false,
            _ => return !in_code && !excused && !start.starts_with("{{"),
        }
        false
    };
    numbered(text).filter(is_told).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    fn on(text: &str) -> Vec<String> {
        let output = ("book/outputs/lesson1/run.txt", "work  4,096 FLOPs, 97.3% of 12 warps\n");
        printed(check, [output, ("book/src/lesson1.md", text)])
    }

    #[test]
    fn what_an_output_shows_or_a_line_calculates_passes() {
        for text in [
            "It has 4,096 FLOPs, and 97.3% of them are in 17 lines.\n",
            "| FLOPs | 4,096 | all |\n",
            "That is 2 · 4,000 = 8,000.\n\nSo 8,000 it is.\n",
            "`1,234` and A[1,234], [lesson 9.5](a.md) and level1.5\n",
            "```text\n1,234\n```\n",
            "<!-- not measured: the data sheet -->\nIt has 1,979 of them.\n",
        ] {
            assert!(on(text).is_empty(), "{text}: {:?}", on(text));
        }
    }

    #[test]
    fn what_nothing_shows_is_found() {
        let what = |number: &str| format!("no output, record or table has {number}: show the run, or calculate it");
        assert_eq!(on("x\nIt has 4,906 FLOPs.\n"), [format!("book/src/lesson1.md:2: {}", what("4,906"))]);
        assert_eq!(on("| a | 2 + 2 |\n| b | 73.9% |\n"), [format!("book/src/lesson1.md:2: {}", what("73.9%"))]);
        // A sign counts for the numbers beside it alone.
        assert_eq!(on("2 + 2, L1/L2 and (3 · 1,500) are not 5,000\n").len(), 1);
        assert!(printed(check, [("book/src/counters.md", "9,999\n")]).is_empty());
    }
}
