//! What a page of the book includes is there: mdBook itself passes over a missing file or anchor in silence.

use regex_lite::Regex;

use super::anchors;
use super::tree::{Finding, Tree, folder_of, numbered, resolve};

/// One include of a page.
pub struct Include<'a> {
    pub page: &'a str,
    pub line: usize,
    /// As written: a path from the page, then perhaps `:anchor`, `:line` or `:first:last`.
    pub target: String,
    /// The path from the root, unless it leads out of the repository.
    pub file: Option<String>,
}

/// The book's pages: path and text.
pub fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(&[".md"]).filter(|(path, _)| path.starts_with("book/src/"))
}

/// Every include of every page, but for those that a backslash escapes.
pub fn included(tree: &Tree) -> Vec<Include<'_>> {
    let include = Regex::new(r"\{\{#(\w+)\s+([^}\s]+)[^}]*\}\}").expect("the pattern is a constant");
    let mut all = Vec::new();
    for (page, text) in pages(tree) {
        for (number, line) in numbered(text) {
            for found in include.captures_iter(line) {
                let escaped = found.get(0).is_some_and(|all| line[..all.start()].ends_with('\\'));
                if !escaped && found[1].ends_with("include") {
                    let path = found[2].split(':').next().unwrap_or_default();
                    let file = resolve(folder_of(page), path);
                    all.push(Include { page, line: number, target: found[2].to_string(), file });
                }
            }
        }
    }
    all
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let found = |include: &Include| Some(Finding::new(include.page, include.line, missing(tree, include)?));
    included(tree).iter().filter_map(found).collect()
}

/// What is missing of what is included.
fn missing(tree: &Tree, Include { target, file, .. }: &Include) -> Option<String> {
    let mut parts = target.split(':');
    let path = parts.next()?;
    let Some(text) = file.as_ref().and_then(|file| tree.text(file)) else {
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
