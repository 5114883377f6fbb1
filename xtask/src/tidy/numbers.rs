//! A number of a lesson is one that an output, a record or a table of the book shows, or stands in a calculation.
//!
//! Meant are numbers that a run gives: those with a comma between thousands, with a point, or with a percent sign, outside code. In a
//! paragraph with a sign of arithmetic every number is taken for calculated, there and on the rest of the page.

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
    let said = |paragraph: Vec<(usize, &str)>| -> Vec<(usize, String)> {
        paragraph.into_iter().map(|(at, line)| (at, aside.replace_all(line, " ").into_owned())).collect()
    };
    let calculates =
        |lines: &Vec<(usize, String)>| lines.iter().any(|(_, line)| line.contains(['=', '·', '×', '+', '−', '/', '÷']));
    let (calculations, rest): (Vec<_>, Vec<_>) = paragraphs(text).into_iter().map(said).partition(calculates);
    let calculated: BTreeSet<String> =
        calculations.iter().flatten().flat_map(|(_, line)| numbers(number, &line.replace(',', ""))).collect();
    let mut findings = Vec::new();
    for lines in rest {
        for (at, line) in lines {
            for found in told.find_iter(&line) {
                // A part of a longer word, as a version is.
                if line[..found.start()].ends_with(|c: char| c.is_alphanumeric() || ".,".contains(c)) {
                    continue;
                }
                let plain = found.as_str().replace([',', '%'], "");
                if !shown.contains(&plain) && !calculated.contains(&plain) {
                    let what =
                        format!("no output, record or table has {}: show the run, or calculate it", found.as_str());
                    findings.push(Finding::new(page, at, what));
                }
            }
        }
    }
    findings
}

/// The lines of each paragraph, outside code and includes; a row of a table is one. What is excused, as in `measured`, is left out.
fn paragraphs(text: &str) -> Vec<Vec<(usize, &str)>> {
    let (mut all, mut in_code, mut excused) = (vec![Vec::new()], false, false);
    for (at, line) in numbered(text) {
        let start = line.trim_start();
        match () {
            _ if start.starts_with("```") => in_code = !in_code,
            _ if in_code || start.starts_with("{{") => {}
            _ if start.starts_with("<!-- not measured: ") => excused = true,
            _ if start.is_empty() => {
                excused = false;
                all.push(Vec::new());
            }
            _ if excused => {}
            _ if start.starts_with('|') => all.push(vec![(at, line)]),
            _ => all.last_mut().into_iter().for_each(|paragraph| paragraph.push((at, line))),
        }
    }
    all
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
        assert_eq!(on("1 + 1\n\n5,000\n").len(), 1);
        assert!(printed(check, [("book/src/counters.md", "9,999\n")]).is_empty());
    }
}
