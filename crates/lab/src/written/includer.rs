//! A file that holds kernels and launches none of them is read through the one that includes it and does: there stand the
//! launches, the templates' arguments, and often the headers that it needs.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_source::{Include, Program};

use super::headers::{Search, plain};

/// Files that are looked into.
const MOST_FILES: usize = 100;

/// A larger file is no program that somebody wrote.
const MOST_BYTES: u64 = 1 << 20;

/// Folders above the file's own.
const LEVELS: usize = 3;

/// The program of a file that includes this one and launches a kernel of it, by its kernels alone.
pub fn of(path: &str, defines: &[String], options: &[String]) -> Option<Program> {
    let own = fs::canonicalize(path).ok()?;
    for candidate in candidates(path) {
        let Ok(text) = fs::read_to_string(&candidate) else { continue };
        if !text.contains("<<<") || !text.contains("#include \"") || fs::canonicalize(&candidate).ok()? == own {
            continue;
        }
        let mut search = Search::new(options);
        let mut find = |include: &Include| {
            let mut found = search.find(include)?;
            // Messages name it as it was named.
            if fs::canonicalize(&found.path).is_ok_and(|same| same == own) {
                found.path = path.to_string();
            }
            Some(found)
        };
        let mut program = Program::read(&candidate.display().to_string(), &text, defines, &mut find);
        program.keep_kernels_of(path);
        let launched = |launch: &_| program.kernels().iter().any(|kernel| program.is_of(launch, kernel));
        if program.launches().iter().any(launched) {
            return Some(program);
        }
    }
    None
}

/// CUDA C++ files in the file's folder and those above it, up to where a repository ends.
fn candidates(path: &str) -> Vec<PathBuf> {
    let mut folder = Path::new(path).parent().unwrap_or(Path::new("")).to_path_buf();
    let mut found = Vec::new();
    for _ in 0..=LEVELS {
        let entries = fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder });
        let mut files: Vec<PathBuf> =
            entries.into_iter().flatten().flatten().map(|entry| folder.join(entry.file_name())).collect();
        files.sort();
        let is_small = |path: &Path| fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MOST_BYTES);
        let is_code = |path: &Path| path.extension().is_some_and(|end| ["cu", "cuh"].iter().any(|code| end == *code));
        found.extend(files.into_iter().filter(|path| is_code(path) && is_small(path)));
        if found.len() >= MOST_FILES || folder.join(".git").exists() {
            break;
        }
        folder = plain(&folder.join(".."));
    }
    found.truncate(MOST_FILES);
    found
}
