//! What each page of the book depends on, as Chromium shows it: its text, what that includes, and what all pages have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use regex_lite::Regex;

use crate::crates::Crates;
use crate::reads::Reads;
use crate::{book, diffs, shell};

const FOLDER: &str = "book/src/";
/// Files of which a page shows those that it names.
const NAMED: [&str; 5] = [FOLDER, "book/generated/", "book/measurements/", "book/outputs/", "book/records/"];
/// Of these as well, where the page's bench is not worked through; and of all crates.
const WITHOUT_BENCH: [&str; 4] = ["book/checks/", "book/exercises/", "book/variants/", "kernels/"];
/// What stands on every page: the list of pages, the questions, the lab's words in other languages, what builds pages and looks at them.
const COMMON: [&str; 4] = ["book/src/SUMMARY.md", "book/generated/questions.json", "crates/lab/po/", "xtask/"];
/// The lessons whose benches a push works through, as `bin/browser/bench.rs` says.
const BENCHES: [&str; 4] = ["lesson1", "lesson2", "lesson6", "lesson13"];

/// Every page by its name, with what it depends on.
pub fn of_repository(crates: &Crates) -> Result<BTreeMap<String, Reads>> {
    let whole = book::reads(crates)?;
    let diffs = diffs::all()?;
    let mut pages = BTreeMap::new();
    for file in shell::files()? {
        let Some(name) = file.strip_prefix(FOLDER).and_then(|file| file.strip_suffix(".md")) else { continue };
        if name == "SUMMARY" {
            continue;
        }
        let others = crates.names().map(|name| crates.folder(name)).chain(WITHOUT_BENCH);
        let others = others.filter(|_| !BENCHES.contains(&name));
        let shown = shown(&file, &|file| fs::read_to_string(shell::root().join(file)).ok())
            .with_context(|| format!("cannot read {file}"))?;
        // A diff is made of two kernels.
        let compared = diffs.iter().filter(|diff| shown.contains(&diff.file)).flat_map(|diff| &diff.kernels);
        let shown = shown.iter().chain(compared).map(String::as_str);
        let reads = whole.clone().without(NAMED.into_iter().chain(others));
        pages.insert(name.to_string(), reads.and(COMMON).and(shown));
    }
    Ok(pages)
}

/// A file, and what it includes or names as a picture, to the end; nothing if the file cannot be read.
fn shown(file: &str, text: &impl Fn(&str) -> Option<String>) -> Option<BTreeSet<String>> {
    let include = Regex::new(r"\{\{#include ([^:}\s]+)|(figures/[\w./-]+)").expect("the pattern is a constant");
    let mut found = BTreeSet::from([file.to_string()]);
    let content = text(file)?;
    for path in include.captures_iter(&content).filter_map(|path| path.get(1).or(path.get(2))) {
        let path = joined(Path::new(file).parent()?, path.as_str());
        let more = if path.ends_with(".md") { shown(&path, text) } else { None };
        found.extend(more.unwrap_or_else(|| BTreeSet::from([path])));
    }
    Some(found)
}

/// A path that is seen from a folder, seen from the root.
fn joined(folder: &Path, path: &str) -> String {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_what_it_includes_and_what_that_includes() {
        let text = |file: &str| match file {
            "book/src/a.md" => {
                Some("{{#include ../generated/b.md}}\n{{#include ../../k.cu:x}} ![](figures/c.svg)".to_string())
            }
            "book/generated/b.md" => Some("{{#include ../outputs/d.txt}}".to_string()),
            _ => None,
        };
        let found: Vec<String> = shown("book/src/a.md", &text).unwrap().into_iter().collect();
        assert_eq!(
            found,
            ["book/generated/b.md", "book/outputs/d.txt", "book/src/a.md", "book/src/figures/c.svg", "k.cu"]
        );
        assert_eq!(shown("book/src/e.md", &text), None);
    }

    #[test]
    fn the_benches_are_those_that_the_browser_works_through() {
        let source = include_str!("../bin/browser/bench.rs");
        let numbers = BENCHES.map(|name| name.trim_start_matches("lesson")).join(", ");
        assert!(source.contains(&format!("const PUSHED: [usize; {}] = [{numbers}];", BENCHES.len())));
    }

    #[test]
    fn every_page_depends_on_its_text_and_on_the_theme_and_on_no_other_page() {
        let pages = of_repository(&Crates::of_repository().unwrap()).unwrap();
        for (name, reads) in &pages {
            let own = format!("{FOLDER}{name}.md");
            for path in
                [&own, "book/theme/bench.js", "book/book.toml", "book/po/zh-CN.po", "xtask/src/bin/browser/main.rs"]
            {
                assert!(reads.has(path), "{name} does not depend on {path}");
            }
            assert!(!reads.has(&format!("{FOLDER}another-page.md")), "{name}");
            let levels = reads.has("crates/emulator/src/lib.rs") && reads.has("further/level5-warp-tiling/src/lib.rs");
            assert_eq!(levels, BENCHES.contains(&name.as_str()), "{name}");
        }
        assert!(pages["lesson5"].has("further/level5-warp-tiling/kernel.cu"));
        assert!(pages["lesson5"].has("further/level4-vectorized/kernel.cu"), "it shows the difference from that");
        assert!(!pages["lesson5"].has("further/level18-thin/kernel.cu"));
    }
}
