//! What README, ARCHITECTURE and CONTRIBUTING name as code is there: paths from the root, tests, packages.
//!
//! Meant are whole code spans: `crates/gemm/src/check`, a path that begins with a folder of the root; `counts_are_the_hardwares`, three words
//! or more, a function; and `-p NAME` of a command. The rooms' pages are held to their paths.

use std::collections::BTreeSet;

use regex_lite::Regex;

use super::tree::{Finding, Tree, numbered};

/// The texts with which a reader begins, and those of the rooms.
const MAPS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
const SPAN: &str = r"`([^`]+)`";
const PATH: &str = r"^\.?[a-z][\w.-]*(?:/[\w.-]+)+/?$";
const FUNCTION: &str = r"^[a-z]+(?:_[a-z]+){2,}$";
const PACKAGE: &str = r"\bcargo (?:run|test) .*?-p ([a-z][\w-]*)";
/// Stands for a name that a reader fills in.
const BLANK: &str = r"[a-z]N\b|[A-Z]{3,}";
/// Made by programs, and not tracked.
const MADE: [&str; 1] = ["book/book"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [SPAN, PATH, FUNCTION, PACKAGE, BLANK].map(|rule| Regex::new(rule).expect("the pattern is a constant"));
    let roots: BTreeSet<&str> = tree.files().filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect();
    let is_map = |path: &str| MAPS.iter().any(|map| path == *map || path.ends_with(&format!("/{map}")));
    let maps = tree.ending(&[".md"]).filter(|(path, _)| is_map(path));
    maps.flat_map(|(page, text)| on_page(tree, &roots, page, text, &rules)).collect()
}

fn on_page(tree: &Tree, roots: &BTreeSet<&str>, page: &str, text: &str, rules: &[Regex; 5]) -> Vec<Finding> {
    let [span, path, function, package, blank] = rules;
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        let spans = span.captures_iter(line).filter_map(|found| found.get(1)).map(|found| found.as_str());
        for name in spans.filter(|name| !blank.is_match(name)) {
            let (root, to) = (name.split('/').next().unwrap_or_default(), name.trim_end_matches('/'));
            let lost = match () {
                _ if path.is_match(name) && roots.contains(root) => !tree.has(to) && !MADE.contains(&to),
                _ if function.is_match(name) && MAPS.contains(&page) => !has_function(tree, name),
                _ => false,
            };
            if lost {
                findings.push(Finding::new(page, number, format!("`{name}` is not there")));
            }
        }
        let packages = package.captures_iter(line).filter_map(|found| found.get(1)).map(|found| found.as_str());
        for name in packages.filter(|name| !has_package(tree, name)) {
            findings.push(Finding::new(page, number, format!("there is no package {name}")));
        }
    }
    findings
}

fn has_function(tree: &Tree, name: &str) -> bool {
    let defined = format!("fn {name}(");
    tree.ending(&[".rs"]).any(|(_, text)| text.contains(&defined))
}

fn has_package(tree: &Tree, name: &str) -> bool {
    let line = format!("name = \"{name}\"");
    tree.ending(&["Cargo.toml"]).any(|(_, text)| text.lines().any(|other| other == line))
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    fn on(page: &str, text: &str) -> Vec<String> {
        let source = ("crates/a/src/lib.rs", "fn it_is_so() {\n");
        printed(check, [source, ("crates/a/Cargo.toml", "[package]\nname = \"a-b\"\n"), (page, text)])
    }

    #[test]
    fn what_is_there_passes() {
        for text in [
            "`crates/a/src`, `crates/a/` and `crates/a/src/lib.rs`",
            "(`it_is_so`), `cargo run -p a-b -- --x`, `cargo test -p a-b it_is`",
            "`crates/levelN-words`, `crates/NAME`, `elsewhere/x`, `book/book`, `two_words`, crates/b",
            "`DEEP=1 cargo test -p a-b`, `cargo x ptx -p c`",
        ] {
            assert_eq!(on("README.md", text), [] as [&str; 0], "{text}");
        }
        assert_eq!(on("crates/a/README.md", "`it_was_not_so`"), [] as [&str; 0]);
    }

    #[test]
    fn what_is_not_there_is_found() {
        for (text, what) in [
            ("`crates/a/src/main.rs`", "`crates/a/src/main.rs` is not there"),
            ("| `it_was_not_so` |", "`it_was_not_so` is not there"),
            ("`cargo run -p a`", "there is no package a"),
            ("DEEP=1 cargo test -q -p c", "there is no package c"),
        ] {
            assert_eq!(on("ARCHITECTURE.md", &format!("x\n{text}\n")), [format!("ARCHITECTURE.md:2: {what}")]);
        }
        assert_eq!(on("crates/a/README.md", "`crates/b/x`"), ["crates/a/README.md:1: `crates/b/x` is not there"]);
    }
}
