//! What a page of the book includes is there: mdBook itself passes over a missing file or anchor in silence.

use regex_lite::Regex;

use super::anchors;
use super::tree::{Finding, Tree, folder_of, numbered, resolve};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let include = Regex::new(r"\{\{#(\w+)\s+([^}\s]+)[^}]*\}\}").expect("the pattern is a constant");
    let mut findings = Vec::new();
    for (page, text) in tree.ending(&[".md"]).filter(|(path, _)| path.starts_with("book/src/")) {
        for (number, line) in numbered(text) {
            for found in include.captures_iter(line) {
                let escaped = found.get(0).is_some_and(|all| line[..all.start()].ends_with('\\'));
                if !escaped && found[1].ends_with("include") {
                    findings.extend(missing(tree, page, &found[2]).map(|what| Finding::new(page, number, what)));
                }
            }
        }
    }
    findings
}

/// What is missing of `target`: a path from the page, then perhaps `:anchor`, `:line` or `:first:last`.
fn missing(tree: &Tree, page: &str, target: &str) -> Option<String> {
    let mut parts = target.split(':');
    let path = parts.next()?;
    let Some(text) = resolve(folder_of(page), path).and_then(|file| tree.text(&file)) else {
        return Some(format!("includes {path}, which is no file"));
    };
    match parts.next() {
        None | Some("") => None,
        Some(first) => match first.parse::<usize>() {
            Ok(first) => {
                let (lines, last) =
                    (text.lines().count(), parts.next().and_then(|last| last.parse().ok()).unwrap_or(first));
                (first.max(last) > lines)
                    .then(|| format!("includes line {} of {path}, which has {lines}", first.max(last)))
            }
            Err(_) => {
                (!anchors::whole(text, first)).then(|| format!("includes anchor '{first}', which {path} has not"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const KERNEL: (&str, &str) = ("level0-a/kernel.cu", "// ANCHOR: mapping\nint row;\n// ANCHOR_END: mapping\n");

    fn on(page: &str) -> Vec<String> {
        printed(check, [("book/src/level0-a.md", page), KERNEL])
    }

    #[test]
    fn what_is_there_passes() {
        assert!(on("{{#include ../../level0-a/kernel.cu}}\n").is_empty());
        assert!(
            on("{{#include ../../level0-a/kernel.cu:mapping}} {{#include ../../level0-a/kernel.cu:1:3}}").is_empty()
        );
        assert!(on(r"\{{#include as/an/example.cu}} {{#title of the page}}").is_empty());
    }

    #[test]
    fn what_is_missing_is_found() {
        for (page, what) in [
            ("{{#include ../kernel.cu}}", "includes ../kernel.cu, which is no file"),
            (
                "{{#include ../../level0-a/kernel.cu:main}}",
                "includes anchor 'main', which ../../level0-a/kernel.cu has not",
            ),
            ("{{#include ../../level0-a/kernel.cu:2:4}}", "includes line 4 of ../../level0-a/kernel.cu, which has 3"),
            ("{{#rustdoc_include ../lib.rs:2}}", "includes ../lib.rs, which is no file"),
        ] {
            assert_eq!(on(&format!("text\n{page}")), [format!("book/src/level0-a.md:2: {what}")]);
        }
    }
}
