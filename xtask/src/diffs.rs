//! What is new in each level's kernel, as a diff from the level that it starts from: `cargo x book` and `cargo x diffs` write them.
//!
//! It is for a reader: the new kernel's opening comment stands before it; the book's anchors and the diff's own heads are left out.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::{ptx, shell, text};

/// Where the diffs lie: `level0-1.diff` is from level 0 to level 1.
const FOLDER: &str = "book/diffs";

/// What is new in a kernel.
pub struct Diff {
    /// Where mdBook looks for it.
    pub file: String,
    /// The kernel that it starts from, and its own.
    pub kernels: [String; 2],
    pub text: String,
}

/// The level that a level says it starts from; nothing for the first.
fn base(level: &str) -> Result<Option<String>> {
    let path = ptx::folder(level).join("src/lib.rs");
    let text =
        fs::read_to_string(shell::root().join(&path)).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(declared_base(&text).map(str::to_string))
}

/// The name in `from: Some("…")`.
pub fn declared_base(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.trim().strip_prefix("from: Some(\"")?.split('"').next())
}

/// Writes the diffs, which git does not keep, for mdBook to include.
pub fn write() -> Result<ExitCode> {
    let folder = shell::root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {FOLDER}"))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {FOLDER}"))?;
    for Diff { file, text, .. } in all()? {
        fs::write(shell::root().join(&file), text).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Of every level that starts from another and has a lesson.
pub fn all() -> Result<Vec<Diff>> {
    let mut diffs = Vec::new();
    for level in ptx::levels()?.iter().filter(|level| has_lesson(level)) {
        diffs.extend(of(level)?);
    }
    Ok(diffs)
}

/// A level's diff from the one that it starts from.
fn of(level: &str) -> Result<Option<Diff>> {
    let kernel = |level: &str| -> Result<(String, String)> {
        let path = ptx::folder(level).join("kernel.cu").display().to_string();
        let text = fs::read_to_string(shell::root().join(&path)).with_context(|| format!("cannot read {path}"))?;
        Ok((path, text))
    };
    base(level)?.map(|base| Ok(between(kernel(&base)?, kernel(level)?))).transpose()
}

/// Whether the book has a lesson of the level.
fn has_lesson(level: &str) -> bool {
    let number = level.split('-').next().unwrap_or_default().trim_start_matches("level");
    shell::root().join(format!("book/src/lesson{number}.md")).is_file()
}

/// The diff from one kernel to the next, each a path and a text.
fn between((old_path, old): (String, String), (new_path, new): (String, String)) -> Diff {
    let number = |path: &str| {
        let level = path.rsplit('/').nth(1).unwrap_or_default();
        level.split('-').next().unwrap_or_default().trim_start_matches("level").to_string()
    };
    let file = format!("{FOLDER}/level{}-{}.diff", number(&old_path), number(&new_path));
    let opening: String = opening(&new).map(|line| format!(" {line}\n")).collect();
    let changes = shown(&text::diff(&code(&old), &code(&new), &old_path, &new_path));
    Diff { file, kernels: [old_path, new_path], text: format!("{opening} ...\n{changes}") }
}

/// What a kernel says of itself.
fn opening(kernel: &str) -> impl Iterator<Item = &str> {
    kernel.lines().take_while(|line| line.starts_with("//"))
}

/// A kernel without its opening comment and without anchors.
fn code(kernel: &str) -> String {
    let lines = kernel.lines().skip_while(|line| line.starts_with("//") || line.is_empty());
    let lines = lines.filter(|line| !line.trim_start().starts_with("// ANCHOR"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A diff without the files' names; where lines are left out, a line with three dots.
fn shown(diff: &str) -> String {
    let mut text = String::new();
    for line in diff.lines().skip(2) {
        match line.starts_with("@@ ") {
            true if text.is_empty() => {}
            true => text.push_str(" ...\n"),
            false => text += &format!("{line}\n"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_a_diff_from_its_base() {
        let names: Vec<String> = all().unwrap().into_iter().map(|diff| diff.file).collect();
        assert_eq!(names[..2], ["book/diffs/level0-1.diff", "book/diffs/level1-2.diff"]);
        assert_eq!(names[8..=10], [9, 10, 11].map(|n| format!("book/diffs/level8-{n}.diff")));
        let with_lesson = ptx::levels().unwrap().iter().filter(|level| has_lesson(level)).count();
        assert_eq!(names.len() + 1, with_lesson);
    }

    /// One idea is that many lines at most, added and removed.
    #[test]
    fn no_level_changes_more_than_150_lines() {
        for level in ptx::levels().unwrap() {
            let diff = of(&level).unwrap().map_or(String::new(), |diff| diff.text);
            let changed = diff.lines().filter(|line| line.starts_with(['+', '-'])).count();
            assert!(changed <= 150, "{level} changes {changed} lines of the level that it starts from");
        }
    }

    #[test]
    fn a_diff_is_named_by_its_levels() {
        let kernel = |path: &str, text: &str| (path.to_string(), text.to_string());
        let diff = between(kernel("level9-a/kernel.cu", "x\n"), kernel("level10-b/kernel.cu", "y\n"));
        assert_eq!(diff.file, "book/diffs/level9-10.diff");
        assert_eq!(diff.text, " ...\n-x\n+y\n");
    }

    #[test]
    fn a_diff_is_of_the_code_alone() {
        let middle = "same\n".repeat(10);
        let kernel = |level: u32, line: &str| {
            let text = format!("// Level {level}: a.\n\n{line}\n{middle}    // ANCHOR: m{level}\n{line}\n// why\n");
            (format!("level{level}-a/kernel.cu"), text)
        };
        let Diff { text, .. } = between(kernel(0, "x"), kernel(1, "y"));
        let same = " same\n".repeat(3);
        assert_eq!(text, format!(" // Level 1: a.\n ...\n-x\n+y\n{same} ...\n{same}-x\n+y\n // why\n"));
    }
}
