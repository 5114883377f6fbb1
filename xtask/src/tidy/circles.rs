//! No module imports in a circle: of two modules of a crate, at most one knows the other, by whatever way. A folder counts as one; in the
//! crates that a run passes through, those in a folder are held to it as well. The folders of the emulator's machine are held to it as well, and there a call of a worker's method counts as an import.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;

use super::tree::{Finding, Tree};

/// Where modules lie side by side that are held to it, and how paths to them begin.
const PLACES: [(&str, &str); 11] = [
    ("crates/predict/src/", "crate"),
    ("crates/ranks/src/", "crate"),
    ("crates/sm-model/src/", "crate"),
    ("common/src/", "crate"),
    ("crates/device/src/", "crate"),
    ("crates/summit/src/", "crate"),
    ("crates/emulator/src/", "crate"),
    ("crates/emulator/src/machine/", "crate::machine"),
    ("crates/lab/src/", "crate"),
    ("crates/press/src/", "crate"),
    ("crates/gemm/src/", "crate"),
];

/// Of these the ones in which no two files of a folder know each other either.
const BY_FILE: [&str; 4] = ["common/src/", "crates/lab/src/", "crates/press/src/", "crates/summit/src/"];

/// The type whose methods are spread over modules: who calls one of them knows the module that it stands in.
const SPREAD: &str = "Worker";

/// The modules that a module imports, each with the place that says so.
type Imports<'a> = BTreeMap<&'a str, (&'a str, usize)>;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let places = PLACES.iter().map(|(sources, root)| (sources.to_string(), root.to_string()));
    places.chain(folders(tree)).flat_map(|(sources, root)| circles(tree, &sources, &root)).collect()
}

/// The folders of the crates that are held to it file by file, and how paths to what is in them begin.
fn folders(tree: &Tree) -> BTreeSet<(String, String)> {
    let mut folders = BTreeSet::new();
    for (path, _) in tree.ending(&[".rs"]) {
        let Some(sources) = BY_FILE.into_iter().find(|sources| path.starts_with(sources)) else { continue };
        let inner: Vec<&str> = path[sources.len()..].split('/').collect();
        for depth in 1..inner.len() {
            let (folder, root) = (inner[..depth].join("/"), inner[..depth].join("::"));
            folders.insert((format!("{sources}{folder}/"), format!("crate::{root}")));
        }
    }
    folders
}

/// A finding for each circle, where the import that closes it stands.
fn circles(tree: &Tree, sources: &str, root: &str) -> Vec<Finding> {
    let within = |path: &str| path.strip_prefix(sources).map(str::len);
    let all: Vec<(&str, &str, &str)> = tree
        .ending(&[".rs"])
        .filter_map(|(path, text)| Some((path, &path[path.len() - within(path)?..], without_tests(text))))
        .collect();
    let files: Vec<(&str, &str, &str, &str)> = all
        .iter()
        .filter(|(_, file, _)| !file.ends_with("tests.rs"))
        .filter_map(|&(path, file, text)| Some((path, file, module(file)?, text)))
        .collect();
    let modules: BTreeSet<&str> = files.iter().map(|(_, _, module, _)| *module).collect();
    let handed_on = all.iter().filter(|(_, file, _)| module(file).is_none()).flat_map(|(_, _, text)| handed_on(text));
    let handed_on: BTreeMap<&str, &str> = handed_on.collect();
    let mut methods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (_, _, module, text) in &files {
        spread_methods(text).for_each(|name| _ = methods.entry(name).or_default().insert(module));
    }
    let mut imports: BTreeMap<&str, Imports> = BTreeMap::new();
    for (path, file, module, text) in &files {
        let named = names(text, root, depth(file))
            .into_iter()
            .map(|(name, line)| (handed_on.get(name).copied().unwrap_or(name), line));
        // Of a name that several modules have, nobody knows which one is called.
        let called = spread_calls(text).into_iter().filter_map(|(name, line)| match methods.get(name) {
            Some(of) if of.len() == 1 => of.first().map(|of| (*of, line)),
            _ => None,
        });
        for (name, line) in named.chain(called) {
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

/// The module that a file is of: `check` for `check/random.rs`; none for the root.
fn module(file: &str) -> Option<&str> {
    let name = file.split('/').next()?.trim_end_matches(".rs");
    (!matches!(name, "lib" | "main" | "mod")).then_some(name)
}

/// How many times `super` leads from a file to the root.
fn depth(file: &str) -> usize {
    file.split('/').filter(|part| *part != "mod.rs").count()
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

/// What a root hands on of its modules: names, with the modules.
fn handed_on(root: &str) -> Vec<(&str, &str)> {
    let hands = Regex::new(r"\bpub(?:\(crate\))? use ([a-z_0-9]+)(?:::[a-z_0-9]+)*::(\{[^}]*\}|\w+);")
        .expect("the pattern is a constant");
    let name = Regex::new(r"\w+").expect("the pattern is a constant");
    let mut found = Vec::new();
    for captures in hands.captures_iter(root) {
        if let (Some(module), Some(list)) = (captures.get(1), captures.get(2)) {
            found.extend(name.find_iter(list.as_str()).map(|name| (name.as_str(), module.as_str())));
        }
    }
    found
}

/// The names that a file has behind a root, `crate::` or `super::`, with their lines.
fn names<'a>(text: &'a str, root: &str, depth: usize) -> Vec<(&'a str, usize)> {
    let root = format!(r"\b(?:{root}|{})", vec!["super"; depth].join("::"));
    let one = Regex::new(&format!(r"{root}::(\w+)")).expect("the pattern has only words put in");
    let many = Regex::new(&format!(r"{root}::\{{([^;]*)\}};")).expect("the pattern has only words put in");
    let part = Regex::new(r"(?:^|,)\s*(\w+)").expect("the pattern is a constant");
    let mut found: Vec<(&str, usize)> = Vec::new();
    for found_one in one.captures_iter(text).filter_map(|captures| captures.get(1)) {
        // A link in a comment is no import.
        if !text[..found_one.start()].lines().next_back().unwrap_or_default().trim_start().starts_with("//") {
            found.push((found_one.as_str(), line_of(text, found_one.start())));
        }
    }
    for list in many.captures_iter(text).filter_map(|captures| captures.get(1)) {
        // What stands in inner braces is of a module that is named before them.
        for name in part.captures_iter(list.as_str()).filter_map(|captures| captures.get(1)) {
            let before = &list.as_str()[..name.start()];
            if before.matches('{').count() == before.matches('}').count() {
                found.push((name.as_str(), line_of(text, list.start() + name.start())));
            }
        }
    }
    found
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The lines of a file, from 1, each with whether it stands in an `impl` of the type whose methods are spread.
fn spread_lines(text: &str) -> impl Iterator<Item = (bool, usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().map(move |(n, line)| {
        if line.starts_with("impl") {
            inside =
                line.split_once(SPREAD).is_some_and(|(before, _)| !before.contains(" for ") && before.ends_with(' '));
        } else if line.starts_with('}') {
            inside = false;
        }
        (inside, n + 1, line)
    })
}

/// The methods of that type that a file has.
fn spread_methods(text: &str) -> impl Iterator<Item = &str> {
    spread_lines(text).filter(|(inside, ..)| *inside).filter_map(|(_, _, line)| {
        let (before, name) = line.strip_prefix("    ")?.split_once("fn ")?;
        let name = name.split(['(', '<']).next()?;
        matches!(before, "" | "pub " | "pub(crate) " | "pub(super) ").then_some(name)
    })
}

/// The methods of that type that a file calls.
fn spread_calls(text: &str) -> Vec<(&str, usize)> {
    let call = Regex::new(r"\b(self|worker)\.(\w+)(?:::<\w+>)?\(").expect("the pattern is a constant");
    let mut found = Vec::new();
    for (inside, number, line) in spread_lines(text) {
        for captures in call.captures_iter(line) {
            if let (Some(who), Some(name)) = (captures.get(1), captures.get(2))
                && (inside || who.as_str() == "worker")
            {
                found.push((name.as_str(), number));
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

    #[test]
    fn names_that_the_root_hands_on_are_of_their_modules() {
        let files = [
            ("crates/emulator/src/lib.rs", "mod a;\nmod b;\npub use a::{A, Else};\npub use b::B;\n"),
            ("crates/emulator/src/a.rs", "use crate::B;\n"),
            ("crates/emulator/src/b.rs", "use crate::{\n    C, Else,\n};\n"),
        ];
        assert_eq!(printed(check, files), ["crates/emulator/src/b.rs:2: modules import in a circle: a -> b -> a"]);
    }

    #[test]
    fn two_files_of_a_folder() {
        let files = [
            ("crates/lab/src/check/mod.rs", "mod judge;\nmod tables;\n"),
            ("crates/lab/src/check/judge.rs", "use super::tables::Kernel;\nuse super::Check;\n"),
            ("crates/lab/src/check/tables.rs", "use crate::check::judge::Line;\n"),
            ("crates/gemm/src/check/pattern.rs", "use super::random::Side;\n"),
            ("crates/gemm/src/check/random.rs", "use super::pattern::Wrong;\n"),
        ];
        let circle = "crates/lab/src/check/tables.rs:1: modules import in a circle: judge -> tables -> judge";
        assert_eq!(printed(check, files), [circle]);
    }

    #[test]
    fn folders_of_the_machine_and_ways_through_super() {
        let files = [
            ("crates/emulator/src/machine/mod.rs", "mod low;\nmod high;\npub(crate) use high::run::run;\n"),
            ("crates/emulator/src/machine/low/part.rs", "use super::other::run;\nuse super::super::high::run;\n"),
            ("crates/emulator/src/machine/low/other.rs", "use crate::order::run;\n"),
            ("crates/emulator/src/machine/low/tests.rs", "use crate::machine::top::top;\n"),
            ("crates/emulator/src/machine/high/run.rs", "use crate::machine::{low::part};\n"),
            ("crates/emulator/src/machine/top.rs", "use crate::machine::low::part;\n"),
        ];
        let found = printed(check, files);
        assert_eq!(
            found,
            ["crates/emulator/src/machine/low/part.rs:2: modules import in a circle: high -> low -> high"]
        );
    }

    #[test]
    fn a_call_of_a_method_is_an_import_too() {
        let high = "use crate::machine::low::Worker;\n\nimpl Worker<'_> {\n    pub(crate) fn run<const CPU: u8>(&mut self) {\n        self.look();\n    }\n}\n";
        let low = |call: &str| {
            format!(
                "pub struct Worker;\n\nimpl Other {{\n    fn a(&self) {{\n        self.run();\n    }}\n}}\n\nimpl<'a> Worker<'a> {{\n    fn look(&self) {{\n        {call}\n    }}\n}}\n"
            )
        };
        let found = |call: &str| {
            let low = low(call);
            printed(
                check,
                [("crates/emulator/src/machine/high.rs", high), ("crates/emulator/src/machine/low.rs", &low)],
            )
        };
        assert!(found("self.look();").is_empty());
        let circle = ["crates/emulator/src/machine/low.rs:11: modules import in a circle: high -> low -> high"];
        assert_eq!(found("self.run::<PLAIN>();"), circle);
        assert_eq!(found("worker.run();"), circle);
    }
}
