//! Every lesson, `lessonN.md`, has the same parts in the same order, so that a reader always knows where to look.

use super::includes::pages;
use super::tree::{Finding, Tree, numbered};
use crate::diffs::declared_base;

/// The headings of a lesson. What the parts are for, CONTRIBUTING.md says.
const PARTS: [&str; 13] = [
    "Goal",
    "The picture",
    "Predict",
    "Configuration",
    "Mapping",
    "The trip of one float",
    "The launch",
    "What changed",
    "Run it",
    "Counters",
    "The bottleneck now",
    "Exercises",
    "What next",
];

/// What the text of a part holds, and how a finding calls it. `N` is the lesson's number, `P` the level that its
/// level starts from.
const HOLDS: [(&str, &str, &str); 6] = [
    ("The picture", "](figures/", "a picture"),
    ("Predict", "<summary>", "a folded answer"),
    ("Mapping", "kernel.cu:mapping}}", "the kernel's mapping"),
    ("The kernel", "kernel.cu:mainloop}}", "the kernel's loop"),
    ("What changed", "../diffs/levelP-N.diff}}", "the diff from the level that it starts from"),
    ("Run it", "../outputs/lessonN/", "an output"),
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let number = |page: &str| page.strip_prefix("book/src/lesson")?.strip_suffix(".md")?.parse::<usize>().ok();
    let mut findings = Vec::new();
    for (page, text) in pages(tree) {
        let Some(number) = number(page) else { continue };
        findings.extend(
            lesson(number, base(tree, number), text).into_iter().map(|(line, what)| Finding::new(page, line, what)),
        );
    }
    findings
}

/// The number of the level that a level says it starts from.
fn base(tree: &Tree, number: usize) -> Option<usize> {
    let level = tree.levels().into_iter().find(|level| level.number == number)?;
    let text = tree.text(&format!("{}/src/lib.rs", level.folder))?;
    declared_base(text)?.strip_prefix("level")?.split('-').next()?.parse().ok()
}

/// What is wrong with lesson `number`, whose level starts from level `base`, with the line.
fn lesson(number: usize, base: Option<usize>, text: &str) -> Vec<(usize, String)> {
    let expected = expected(number);
    let parts = parts(text);
    let found: Vec<&str> = parts.iter().map(|part| part.name).collect();
    if let Some(at) = (0..expected.len().max(found.len())).find(|at| expected.get(*at) != found.get(*at)) {
        let line = parts.get(at).map_or_else(|| text.lines().count().max(1), |part| part.line);
        let name = |names: &[&str]| names.get(at).map_or("nothing".to_string(), |name| format!("'## {name}'"));
        return vec![(line, format!("{} stands where a lesson has {}", name(&found), name(&expected)))];
    }
    let mut wrong = Vec::new();
    let opening = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("# "));
    if !opening.is_some_and(|line| line.starts_with("**tl;dr**")) {
        wrong.push((1, "does not begin with a paragraph `**tl;dr** …` below its title".to_string()));
    }
    for part in &parts {
        for (_, text, what) in HOLDS.iter().filter(|(name, ..)| *name == part.name) {
            let base = base.map_or("?".to_string(), |base| base.to_string());
            if !part.text.contains(&text.replace('P', &base).replace('N', &number.to_string())) {
                wrong.push((part.line, format!("'## {}' has not {what}", part.name)));
            }
        }
        if part.name == "Exercises" {
            let count = |what: &str| part.text.matches(&format!("<summary>{what}</summary>")).count();
            let (hints, answers) = (count("Hint"), count("Answer"));
            if hints != answers || !(3..=4).contains(&answers) {
                wrong.push((part.line, format!("has {hints} hints and {answers} answers: three or four of each")));
            }
        }
    }
    wrong
}

/// The headings of lesson `number`. The first one has no level before: it shows its kernel instead.
fn expected(number: usize) -> [&'static str; PARTS.len()] {
    PARTS.map(|part| if number == 0 && part == "What changed" { "The kernel" } else { part })
}

/// A heading of the second level, and the text up to the next one.
struct Part<'a> {
    line: usize,
    name: &'a str,
    text: String,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part> = Vec::new();
    let mut in_code = false;
    for (line, content) in numbered(text) {
        in_code ^= content.trim_start().starts_with("```");
        if let Some(name) = content.strip_prefix("## ").filter(|_| !in_code) {
            parts.push(Part { line, name: name.trim(), text: String::new() });
        } else if let Some(part) = parts.last_mut() {
            part.text.push_str(content);
            part.text.push('\n');
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::{check, expected};

    fn whole(number: usize) -> String {
        let mut text = "# Lesson\n\n**tl;dr** One number.\n\n".to_string();
        for part in expected(number) {
            let held = match part {
                "The picture" => "![x](figures/a.svg)".to_string(),
                "Predict" => "<details><summary>Answer</summary></details>".to_string(),
                "Mapping" => "{{#include ../../a/kernel.cu:mapping}}".to_string(),
                "The kernel" => "{{#include ../../a/kernel.cu:mainloop}}".to_string(),
                "What changed" => format!("{{{{#include ../diffs/level{}-{number}.diff}}}}", base(number)),
                "Run it" => format!("{{{{#include ../outputs/lesson{number}/run.txt}}}}"),
                "Exercises" => "<summary>Hint</summary> <summary>Answer</summary>\n".repeat(3),
                _ => String::new(),
            };
            text.push_str(&format!("## {part}\n\n{held}\n"));
        }
        text
    }

    fn base(number: usize) -> usize {
        if number == 8 { 6 } else { number.saturating_sub(1) }
    }

    fn on(number: usize, text: &str) -> Vec<String> {
        let level = format!("level{number}-x/src/lib.rs");
        let declared = format!("    from: Some(\"level{}-y\"),\n", base(number));
        printed(check, [(&*format!("book/src/lesson{number}.md"), text), (&*level, &*declared)])
    }

    #[test]
    fn whole_lessons_pass() {
        assert!(on(0, &whole(0)).is_empty());
        assert!(on(2, &whole(2)).is_empty());
        assert!(on(8, &whole(8)).is_empty());
        assert!(printed(check, [("book/src/lessons.md", "# x\n")]).is_empty());
    }

    #[test]
    fn a_part_missing_or_at_the_wrong_place() {
        let found = on(1, &whole(1).replace("## Mapping\n", ""));
        assert_eq!(
            found,
            ["book/src/lesson1.md:19: '## The trip of one float' stands where a lesson has '## Mapping'"]
        );
        let found = on(1, &whole(1).replace("## What next\n", ""));
        assert_eq!(found.len(), 1);
        assert!(found[0].ends_with("nothing stands where a lesson has '## What next'"), "{found:?}");
    }

    #[test]
    fn a_part_without_what_it_is_for() {
        for (from, to, what) in [
            ("**tl;dr**", "In short:", "does not begin with a paragraph `**tl;dr** …` below its title"),
            ("figures/", "x/", "'## The picture' has not a picture"),
            ("level0-1.diff", "level1-2.diff", "'## What changed' has not the diff from the level that it starts from"),
            ("outputs/lesson1", "outputs/lesson0", "'## Run it' has not an output"),
            ("<summary>Hint</summary>", "", "has 0 hints and 3 answers: three or four of each"),
        ] {
            let found = on(1, &whole(1).replace(from, to));
            assert_eq!(found.len(), 1, "{from}: {found:?}");
            assert!(found[0].ends_with(what), "{found:?}");
        }
    }
}
