//! No module imports in a circle: of two modules of a crate, at most one knows the other, by whatever way. A folder counts as one.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;

use super::tree::{Finding, Tree};

/// The crates that are held to it.
const CRATES: [&str; 3] = ["common/src/", "crates/lab/src/", "crates/gemm/src/"];

/// The modules that a module imports, each with the place that says so.
type Imports<'a> = BTreeMap<&'a str, (&'a str, usize)>;

pub fn check(tree: &Tree) -> Vec<Finding> {
    CRATES.iter().flat_map(|sources| circles(tree, sources)).collect()
}

/// A finding for each circle, where the import that closes it stands.
fn circles(tree: &Tree, sources: &str) -> Vec<Finding> {
    let files: Vec<(&str, &str, &str)> = tree
        .ending(&[".rs"])
        .filter_map(|(path, text)| Some((path, module(path.strip_prefix(sources)?)?, text)))
        .collect();
    let modules: BTreeSet<&str> = files.iter().map(|(_, module, _)| *module).collect();
    let mut imports: BTreeMap<&str, Imports> = BTreeMap::new();
    for (path, module, text) in &files {
        for (name, line) in names(text) {
            if let Some(&name) = modules.get(name).filter(|name| *name != module) {
                imports.entry(module).or_default().entry(name).or_insert((path, line));
            }
        }
    }
    let mut findings = Vec::new();
    let mut done = BTreeSet::new();
    for module in modules {
        let mut path = Vec::new();
        walk(module, &imports, &mut done, &mut path, &mut findings);
    }
    findings
}

/// Goes where imports lead from a module; one that leads back to the way is a finding.
fn walk<'a>(
    module: &'a str,
    imports: &BTreeMap<&'a str, Imports<'a>>,
    done: &mut BTreeSet<&'a str>,
    way: &mut Vec<&'a str>,
    findings: &mut Vec<Finding>,
) {
    if done.contains(module) {
        return;
    }
    way.push(module);
    for (&next, &(path, line)) in imports.get(module).into_iter().flatten() {
        match way.iter().position(|before| *before == next) {
            Some(at) => {
                let circle = [&way[at..], &[next]].concat().join(" -> ");
                findings.push(Finding::new(path, line, format!("modules import in a circle: {circle}")));
            }
            None => walk(next, imports, done, way, findings),
        }
    }
    way.pop();
    done.insert(module);
}

/// The module of a crate that a file is of: `check` for `check/random.rs`; none for the crate's root.
fn module(file: &str) -> Option<&str> {
    let name = file.split('/').next()?.trim_end_matches(".rs");
    (!matches!(name, "lib" | "main")).then_some(name)
}

/// The modules that a file names after `crate::`, with their lines, tests left out. What the crate's root hands on under a name of
/// its own is no module, and starts with a capital letter, or is a function.
fn names(text: &str) -> Vec<(&str, usize)> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let one = Regex::new(r"\bcrate::([a-z_0-9]+)").expect("the pattern is a constant");
    let many = Regex::new(r"\bcrate::\{([^;]*)\};").expect("the pattern is a constant");
    let part = Regex::new(r"(?:^|,)\s*([a-z_0-9]+)").expect("the pattern is a constant");
    let mut found: Vec<(&str, usize)> = Vec::new();
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    for found_one in one.captures_iter(text).filter_map(|captures| captures.get(1)) {
        // A link in a comment is no import.
        if !text[..found_one.start()].lines().next_back().unwrap_or_default().trim_start().starts_with("//") {
            found.push((found_one.as_str(), line(found_one.start())));
        }
    }
    for list in many.captures_iter(text).filter_map(|captures| captures.get(1)) {
        // What stands in inner braces is of a module that is named before them.
        for name in part.captures_iter(list.as_str()).filter_map(|captures| captures.get(1)) {
            let before = &list.as_str()[..name.start()];
            if before.matches('{').count() == before.matches('}').count() {
                found.push((name.as_str(), line(list.start() + name.start())));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    #[test]
    fn a_line_of_modules_passes() {
        let files = [
            ("crates/gemm/src/lib.rs", "use crate::a::A;\n"),
            (
                "crates/gemm/src/a.rs",
                "use crate::b::B;\nuse crate::{c, Error};\n#[cfg(test)]\nmod tests {\n    use crate::d::D;\n}\n",
            ),
            ("crates/gemm/src/b.rs", "use crate::c::{a, B};\nfn a() -> crate::Error {}\n"),
            ("crates/gemm/src/c.rs", "//! See [`crate::b`].\nuse rand::a;\n"),
            ("crates/gemm/src/d.rs", "use crate::a::A;\n"),
            ("xtask/src/a.rs", "use crate::b::B;\n"),
            ("xtask/src/b.rs", "use crate::a::A;\n"),
        ];
        assert!(printed(check, files).is_empty());
    }

    #[test]
    fn two_that_know_each_other() {
        let files = [
            ("crates/lab/src/a.rs", "//! A.\nuse crate::b::B;\n"),
            ("crates/lab/src/b.rs", "fn f(a: crate::a::A) {}\n"),
        ];
        assert_eq!(printed(check, files), ["crates/lab/src/b.rs:1: modules import in a circle: a -> b -> a"]);
    }

    #[test]
    fn a_longer_way_back_through_a_folder_and_a_list() {
        let files = [
            ("common/src/device/mod.rs", "use crate::cli::Backend;\nuse crate::kernel::nvrtc;\n"),
            ("common/src/cli.rs", "use crate::Error;\n"),
            ("common/src/kernel/nvrtc.rs", "use crate::{Error, ffi::{self, cli}};\n"),
            ("common/src/ffi.rs", "use std::ptr;\n\nuse crate::{\n    Error,\n    device::{Device, cuda::Gpu},\n};\n"),
        ];
        let found = printed(check, files);
        assert_eq!(found, ["common/src/ffi.rs:5: modules import in a circle: device -> kernel -> ffi -> device"]);
    }
}
