//! The repository as the checks see it: paths and text, nothing else.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result};
use archive::Texts;

use crate::{diffs, shell};

/// How the name of an archive ends.
const ARCHIVE: &str = ".zst";

/// The folder with the further levels.
const FURTHER: &str = "further/";

/// What is wrong, and where: printed as `path:line: what is wrong`.
#[derive(Debug, PartialEq)]
pub struct Finding {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// A rung of the ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its folder, by its path from the root.
    pub folder: String,
    /// The folder's name: `level2-register`.
    pub name: String,
    pub number: usize,
}

impl Level {
    /// The level that a folder's name stands for: `levelN-words`, at the root or in the folder with the further levels.
    pub fn named(folder: &str) -> Option<Self> {
        let name = folder.strip_prefix(FURTHER).unwrap_or(folder);
        let (number, words) = name.strip_prefix("level")?.split_once('-')?;
        let canonical = number.parse().ok().filter(|n: &usize| n.to_string() == number)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (!words.is_empty() && words.chars().all(plain)).then(|| Self {
            folder: folder.to_string(),
            name: name.to_string(),
            number: canonical,
        })
    }
}

/// Files by their path from the root, with `/` between folders. The texts of an archive are files of a folder with its name; a file
/// that is no UTF-8 text otherwise has the empty text.
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// The repository's files, as git lists them, and the kernels' diffs.
    pub fn of_repository() -> Result<Self> {
        let mut files = BTreeMap::new();
        for path in shell::files()? {
            let bytes = std::fs::read(shell::root().join(&path)).with_context(|| format!("cannot read {path}"))?;
            if path.ends_with(ARCHIVE) {
                let texts = Texts::unpack(&bytes).with_context(|| format!("cannot unpack {path}"))?;
                files.extend(texts.iter().map(|(name, text)| (format!("{path}/{name}"), text.to_string())));
            }
            files.insert(path, String::from_utf8(bytes).unwrap_or_default());
        }
        // Made when the book is built.
        files.extend(diffs::all()?.into_iter().map(|diff| (diff.file, diff.text)));
        Ok(Self { files })
    }

    /// A made-up tree, for tests.
    #[cfg(test)]
    pub fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self { files: files.map(|(path, text)| (path.to_string(), text.to_string())).into() }
    }

    /// Every file: path and text, in order of the paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files whose path ends with one of `endings`.
    pub fn ending(&self, endings: &[&str]) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| endings.iter().any(|ending| path.ends_with(ending)))
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether `path` is a file or a folder here; the root is the empty path.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.keys().any(|file| file == path || file.starts_with(&folder))
    }

    /// The folders at the root, and those of the further levels, by their paths.
    pub fn folders(&self) -> Vec<&str> {
        let folder = |path: &'_ str| {
            let above = if path.starts_with(FURTHER) { FURTHER.len() } else { 0 };
            Some(above + path[above..].find('/')?)
        };
        let mut folders: Vec<&str> = self.files.keys().filter_map(|path| Some(&path[..folder(path)?])).collect();
        folders.dedup();
        folders
    }

    /// The ladder's rungs, in order: the folders named `levelN-words`.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = self.folders().into_iter().filter_map(Level::named).collect();
        levels.sort_by_key(|level| level.number);
        levels
    }
}

/// The lines of a text with their numbers, from 1.
pub fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The path that `link` means in a file of folder `folder`, or `None` if it leads out of the repository.
pub fn resolve(folder: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The folder of a file: its path without the name.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The findings of a check on a made-up tree, as printed, for tests.
#[cfg(test)]
pub fn printed<const N: usize>(check: fn(&Tree) -> Vec<Finding>, files: [(&str, &str); N]) -> Vec<String> {
    check(&Tree::of(files)).iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_number_and_words() {
        assert_eq!(Level::named("level12-warp-tiling").map(|level| level.number), Some(12));
        for wrong in ["level-x", "level1", "level01-x", "level1-", "level1-Naive", "levels"] {
            assert_eq!(Level::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn levels_are_sorted_by_number() {
        let tree = Tree::of([("level10-b/x", ""), ("level9-a/x", ""), ("level9-a/y", ""), ("common/x", "")]);
        let folders: Vec<String> = tree.levels().into_iter().map(|level| level.folder).collect();
        assert_eq!(folders, ["level9-a", "level10-b"]);
    }

    #[test]
    fn links_resolve_from_their_folder() {
        assert_eq!(resolve("book/src", "../../level0-naive/kernel.cu").as_deref(), Some("level0-naive/kernel.cu"));
        assert_eq!(resolve("", "./a/b").as_deref(), Some("a/b"));
        assert_eq!(resolve("a", "../../b"), None);
    }
}
