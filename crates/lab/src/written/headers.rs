//! Headers of the user's own: beside the file that includes them, in the folders of `--include`, then where projects keep them.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use cuda_source::{Found, Include};

/// A header that is larger is no code that somebody wrote.
const MOST_BYTES: u64 = 8 << 20;

/// Where projects keep headers, below a folder above the file: a makefile's `-I` says so to the compiler, and nobody to us.
const USUAL: [&str; 8] = ["", "include", "inc", "common", "Common", "src", "utils", "util"];

/// Folders above the file's own in which these are looked for.
const LEVELS: usize = 4;

/// A search for headers, which knows what it found.
#[derive(Debug)]
pub struct Search {
    folders: Vec<PathBuf>,
    read: HashMap<PathBuf, Option<String>>,
}

impl Search {
    /// The options are the compiler's, with `--include-path=…`.
    pub fn new(options: &[String]) -> Search {
        let folders = options.iter().filter_map(|option| option.strip_prefix("--include-path=")).map(PathBuf::from);
        // CUDA's own headers are the compiler's business.
        let folders = folders.filter(|folder| !folder.join("cuda_fp16.h").is_file());
        Search { folders: folders.collect(), read: HashMap::new() }
    }

    /// The header of an `#include` line, if it is there.
    pub fn find(&mut self, include: &Include) -> Option<Found> {
        let beside = Path::new(include.from).parent().map(Path::to_path_buf).filter(|_| include.quoted);
        let places = beside.into_iter().chain(self.folders.clone()).chain(usual(include.from));
        let places: Vec<PathBuf> = places.collect();
        places.iter().find_map(|folder| {
            let path = plain(&folder.join(include.name));
            let text = self.read.entry(path.clone()).or_insert_with(|| text(&path)).clone()?;
            Some(Found { path: path.display().to_string(), text })
        })
    }
}

/// The usual folders above a file, up to where a repository ends.
fn usual(from: &str) -> Vec<PathBuf> {
    let mut folder = Path::new(from).parent().unwrap_or(Path::new("")).to_path_buf();
    let mut places = Vec::new();
    for _ in 0..=LEVELS {
        places.extend(USUAL.map(|name| folder.join(name)));
        if folder.join(".git").exists() {
            break;
        }
        folder = plain(&folder.join(".."));
    }
    places
}

fn text(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok().filter(|about| about.is_file() && about.len() <= MOST_BYTES)?;
    let bytes = fs::read(path).ok().filter(|bytes| bytes.len() as u64 <= about.len().max(1))?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// `a/b/../c` is `a/c`: one file has one path.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => (),
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            // Nothing lies above the root.
            Component::ParentDir if plain.has_root() => (),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_path() {
        for (path, expected) in
            [("a/b/../c.h", "a/c.h"), ("./a.h", "a.h"), ("../x/../a.h", "../a.h"), ("/a/../b.h", "/b.h")]
        {
            assert_eq!(plain(Path::new(path)), Path::new(expected));
        }
    }
}
