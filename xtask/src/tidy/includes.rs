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
    let (first, last) = (parts.next().unwrap_or_default(), parts.next());
    match first.parse::<usize>() {
        Ok(first) => lines(text, first, last).map(|what| format!("includes {target}: {what}")),
        Err(_) if first.is_empty() || anchors::whole(text, first) => None,
        Err(_) => Some(format!("includes anchor '{first}', which {path} has not")),
    }
}

/// What is wrong with including the lines from `first` to `last`, where an empty `last` is the end.
///
/// Numbers go wrong in silence when a line is added above or within; at the edges of a paragraph they are likely right.
fn lines(text: &str, first: usize, last: Option<&str>) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let last = match last {
        None => first,
        Some(last) => last.parse().unwrap_or(lines.len()),
    };
    if first < 1 || first > last || last > lines.len() {
        return Some(format!("the file has lines 1 to {}", lines.len()));
    }
    let blank = |line: Option<&&str>| line.is_none_or(|line| line.trim().is_empty());
    let whole = (first == 1 || blank(lines.get(first - 2))) && blank(lines.get(last));
    (!whole).then(|| "the lines are not a whole paragraph: use an anchor".to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const KERNEL: (&str, &str) =
        ("level0-a/kernel.cu", "// 1\n\n// ANCHOR: mapping\nint row;\n// ANCHOR_END: mapping\n");

    fn on(page: &str) -> Vec<String> {
        printed(check, [("book/src/level0-a.md", page), KERNEL])
    }

    #[test]
    fn what_is_there_passes() {
        assert!(on("{{#include ../../level0-a/kernel.cu}}\n").is_empty());
        assert!(
            on("{{#include ../../level0-a/kernel.cu:mapping}} {{#include ../../level0-a/kernel.cu:3:}}").is_empty()
        );
        assert!(on(r"\{{#include as/an/example.cu}} {{#title of the page}}").is_empty());
    }

    #[test]
    fn what_is_missing_is_found() {
        const FILE: &str = "../../level0-a/kernel.cu";
        for (include, what) in [
            ("#include ../kernel.cu", "../kernel.cu, which is no file".to_string()),
            ("#rustdoc_include ../lib.rs:2", "../lib.rs, which is no file".to_string()),
            (&format!("#include {FILE}:main"), format!("anchor 'main', which {FILE} has not")),
            (&format!("#include {FILE}:3:6"), format!("{FILE}:3:6: the file has lines 1 to 5")),
            (
                &format!("#include {FILE}:1:3"),
                format!("{FILE}:1:3: the lines are not a whole paragraph: use an anchor"),
            ),
            (&format!("#include {FILE}:4:"), format!("{FILE}:4:: the lines are not a whole paragraph: use an anchor")),
        ] {
            let found = on(&format!("text\n{{{{{include}}}}}"));
            assert_eq!(found, [format!("book/src/level0-a.md:2: includes {what}")]);
        }
    }
}
