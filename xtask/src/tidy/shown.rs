//! What is made to be shown is shown: each output, kernel diff and exercise is included by a page, and each exercise has
//! an output that runs it.

use super::includes::included;
use super::tree::{Finding, Tree, numbered};
use crate::outputs::COLUMNS;

const OUTPUTS: &str = "book/outputs/";
const EXERCISES: &str = "book/exercises/";
const DIFFS: &str = "book/diffs/";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let shown: Vec<String> = included(tree).into_iter().filter_map(|include| include.file).collect();
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| [OUTPUTS, EXERCISES, DIFFS].iter().any(|f| path.starts_with(f)))
    {
        if !shown.iter().any(|file| file == path) {
            findings.push(Finding::new(path, 1, "no page includes it"));
        }
        if path.starts_with(OUTPUTS) {
            findings.extend(output(tree, path, text));
        }
        if path.starts_with(EXERCISES) && !is_run(tree, path) {
            findings.push(Finding::new(path, 1, "no output runs it: none has a line `$ git apply` with this path"));
        }
    }
    findings
}

/// What is wrong with one output: its place, and whether it was ever run.
fn output(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let page = match path.trim_start_matches(OUTPUTS).split('/').collect::<Vec<_>>().as_slice() {
        [page, name] if name.ends_with(".txt") => tree.text(&format!("book/src/{page}.md")),
        _ => None,
    };
    if page.is_none() {
        findings.push(Finding::new(path, 1, format!("is not at {OUTPUTS}<page>/<name>.txt, of a page that exists")));
    }
    if !text.lines().any(|line| !line.starts_with("$ ")) {
        findings.push(Finding::new(path, 1, "has no output yet: `cargo x outputs` runs its commands"));
    }
    for (number, line) in numbered(text) {
        let columns = line.chars().count();
        if columns > COLUMNS {
            findings.push(Finding::new(path, number, format!("has {columns} columns, the limit is {COLUMNS}")));
        }
        let missing = line.strip_prefix("$ git apply ").filter(|diff| tree.text(diff).is_none());
        findings.extend(missing.map(|diff| Finding::new(path, number, format!("{diff} does not exist"))));
    }
    findings
}

/// Whether an output applies the exercise.
fn is_run(tree: &Tree, exercise: &str) -> bool {
    let command = format!("$ git apply {exercise}");
    tree.files().any(|(path, text)| path.starts_with(OUTPUTS) && text.lines().any(|line| line == command))
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const OUTPUT: &str = "$ git apply book/exercises/a-1.diff\n$ cargo run -p a\nright\n";
    const PAGE: &str = "{{#include ../outputs/a/1.txt}}\n{{#include ../exercises/a-1.diff}}\n";

    #[test]
    fn what_is_shown_and_run_passes() {
        let files = [("book/outputs/a/1.txt", OUTPUT), ("book/exercises/a-1.diff", "-"), ("book/src/a.md", PAGE)];
        assert!(printed(check, files).is_empty());
    }

    #[test]
    fn what_no_page_includes() {
        let files = [("book/outputs/a/1.txt", "$ x\ny\n"), ("book/diffs/level0-1.diff", "-"), ("book/src/a.md", "")];
        let expected =
            ["book/diffs/level0-1.diff:1: no page includes it", "book/outputs/a/1.txt:1: no page includes it"];
        assert_eq!(printed(check, files), expected);
    }

    #[test]
    fn an_exercise_that_nothing_runs() {
        let files = [("book/exercises/a-1.diff", "-"), ("book/src/a.md", "{{#include ../exercises/a-1.diff}}")];
        assert_eq!(
            printed(check, files),
            ["book/exercises/a-1.diff:1: no output runs it: none has a line `$ git apply` with this path"]
        );
    }

    #[test]
    fn an_output_at_the_wrong_place_or_never_run() {
        let page = ("book/src/a.md", "{{#include ../outputs/b/1.txt}} {{#include ../outputs/a/1.txt}}");
        let files = [page, ("book/outputs/b/1.txt", "$ x\ny\n"), ("book/outputs/a/1.txt", "$ git apply x.diff\n")];
        assert_eq!(
            printed(check, files),
            [
                "book/outputs/a/1.txt:1: has no output yet: `cargo x outputs` runs its commands",
                "book/outputs/a/1.txt:1: x.diff does not exist",
                "book/outputs/b/1.txt:1: is not at book/outputs/<page>/<name>.txt, of a page that exists",
            ]
        );
    }
}
