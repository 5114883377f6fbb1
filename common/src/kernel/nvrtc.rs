//! NVIDIA's run-time compiler: found in the usual places, asked for PTX, and for what ptxas makes of it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Resources;
use crate::ffi::Nvrtc;
use crate::libraries::{files_starting_with, folders};
use crate::{Error, Source};

/// NVRTC, loaded and answering.
#[derive(Debug)]
pub struct Compiler {
    nvrtc: Nvrtc,
    version: (i32, i32),
}

/// Finds NVRTC once per process. `Err` says where it was looked for.
pub fn find() -> Result<&'static Compiler, String> {
    static FOUND: OnceLock<Result<Compiler, String>> = OnceLock::new();
    FOUND.get_or_init(search).as_ref().map_err(String::clone)
}

/// Finds nothing: a machine without NVRTC.
pub fn nowhere() -> Result<&'static Compiler, String> {
    Err("not looked for".into())
}

fn search() -> Result<Compiler, String> {
    let by_name = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
    let by_name = by_name.iter().map(|name| (Path::new(name).to_path_buf(), Vec::new()));
    let in_folders = folders("cuda_nvrtc").into_iter().flat_map(|folder| libraries_in(&folder));
    let opened = by_name.chain(in_folders).find_map(|(file, builtins)| Compiler::open(&file, &builtins));
    opened.ok_or_else(|| {
        "NVRTC is neither on the loader's path nor under CUDA_HOME, CUDA_PATH or Python's site-packages".into()
    })
}

/// The libraries of a folder, the newest first, each with the builtins that it may ask for, those of its version first.
fn libraries_in(folder: &Path) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let named = |start| files_starting_with(folder, start).into_iter().filter(|file| is_library(file));
    // `nvrtc64_120_0.alt.dll` is a second form of the same.
    let files = named("libnvrtc.so").chain(named("nvrtc64_")).filter(|file| !file.to_string_lossy().contains(".alt."));
    let builtins: Vec<PathBuf> = named("libnvrtc-builtins.so").chain(named("nvrtc-builtins64_")).collect();
    files.map(|file| (file, builtins.clone())).collect()
}

/// `libnvrtc.so.12` or `nvrtc64_120_0.dll`, and not what only begins so.
fn is_library(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    match name.split_once(".so") {
        Some((_, version)) => version.chars().all(|c| c == '.' || c.is_ascii_digit()),
        None => name.ends_with(".dll"),
    }
}

impl Compiler {
    /// Loads a library. Of several builtins it takes the one that it asks for by name; the others do no harm.
    fn open(library: &Path, builtins: &[PathBuf]) -> Option<Compiler> {
        let nvrtc = Nvrtc::open(library, builtins).ok()?;
        let version = nvrtc.version().ok()?;
        // A library without its builtins loads, and then compiles nothing.
        nvrtc.compile("", "probe.cu", &[], false).ok()?;
        (version.0 >= 12).then_some(Compiler { nvrtc, version })
    }

    /// Its version, for instance `13.0`.
    pub fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// The kernel as PTX, with the source's path relative. `Err` holds the compiler's log.
    pub fn ptx(&self, source: &Source, options: &[String]) -> Result<String, String> {
        let compiled = self.nvrtc.compile(source.text, source.path, options, false)?;
        let ptx = String::from_utf8_lossy(&compiled.code);
        Ok(relative_paths(ptx.trim_end_matches('\0'), source.path))
    }

    /// What ptxas needs for a real architecture; nothing if this compiler does not know it.
    pub fn resources(&self, source: &Source, options: &[String], architecture: u32) -> Option<Resources> {
        let mut options = options.to_vec();
        options[0] = format!("--gpu-architecture=sm_{architecture}");
        options.push("--ptxas-options=-v".to_string());
        let log = self.nvrtc.compile(source.text, source.path, &options, true).ok()?.log;
        read_resources(&log)
    }

    /// The kernel as machine code for an architecture, by the ptxas inside. `Err` holds the compiler's log.
    pub fn machine_code(&self, source: &Source, options: &[String], architecture: u32) -> Result<Vec<u8>, String> {
        let mut options = options.to_vec();
        if let Some(first) = options.first_mut() {
            *first = format!("--gpu-architecture=sm_{architecture}");
        }
        Ok(self.nvrtc.compile(source.text, source.path, &options, true)?.code)
    }
}

/// What ptxas says that a kernel needs.
pub(super) fn read_resources(log: &str) -> Option<Resources> {
    let before = |what: &str| log.split_once(what).and_then(|(front, _)| front.split_whitespace().last()?.parse().ok());
    Some(Resources {
        registers: before(" registers")?,
        spilled_bytes: before(" bytes spill stores").unwrap_or(0) + before(" bytes spill loads").unwrap_or(0),
        shared_bytes: before(" bytes smem").unwrap_or(0),
    })
}

/// NVRTC writes the working directory before the source's path: it says nothing about the kernel.
fn relative_paths(ptx: &str, path: &str) -> String {
    let relative = |line: &str| match line.split('"').nth(1) {
        Some(file) if line.trim_start().starts_with(".file") && file.ends_with(path) => line.replace(file, path),
        _ => line.to_string(),
    };
    ptx.split('\n').map(relative).collect::<Vec<_>>().join("\n")
}

/// The compiler's full version, as it writes it into PTX: `… release 13.0, V13.0.88`.
pub fn version_in(ptx: &str) -> Option<String> {
    let line = ptx.lines().find(|l| l.starts_with("// Cuda compilation tools"))?;
    Some(line.rsplit_once(", V")?.1.trim().to_string())
}

/// The first error of a compiler's log, as one line with file and line.
pub(super) fn explain(log: &str, hint: String) -> Error {
    let first = log.lines().find(|l| l.contains("error")).or_else(|| log.lines().find(|l| !l.trim().is_empty()));
    let line = first.unwrap_or("the compiler failed and says nothing").trim();
    let message = match line.split_once("): error: ") {
        Some((place, what)) => format!("{}: {}", place.replace('(', ":"), static_assertion(what)),
        None => line.to_string(),
    };
    Error::usage(message, hint)
}

/// The message of a failed `static_assert` alone.
fn static_assertion(what: &str) -> &str {
    what.strip_prefix("static assertion failed with \"").map_or(what, |message| message.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(log: &str) -> String {
        explain(log, "what to do".to_string()).to_string()
    }

    #[test]
    fn a_failed_static_assert_is_its_message_with_file_and_line() {
        let log = "\nl/kernel.cu(7): warning #39-D: division by zero\n\nl/kernel.cu(15): error: static assertion failed with \
                   \"at most 1024\"\n  static_assert(…);\n  ^\n\n1 error detected in the compilation of \"l/kernel.cu\".\n";
        assert_eq!(explained(log), "l/kernel.cu:15: at most 1024\nhint: what to do");
    }

    #[test]
    fn any_log_gives_one_line() {
        let first = |log: &str| explained(log).lines().next().map(str::to_string);
        let syntax = "l/kernel.cu(3): error: expected a \";\"\n\nl/kernel.cu(9): error: more\n";
        assert_eq!(first(syntax).as_deref(), Some("l/kernel.cu:3: expected a \";\""));
        assert_eq!(first("nvrtc: error: no builtins\n").as_deref(), Some("nvrtc: error: no builtins"));
        assert_eq!(first("\n \n").as_deref(), Some("the compiler failed and says nothing"));
    }

    #[test]
    fn libraries_have_the_names_of_linux_and_of_windows() {
        let folder = std::env::temp_dir().join(format!("ladder-nvrtc-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in [
            "libnvrtc.so.12",
            "libnvrtc.so.13",
            "libnvrtc.so.13.0.88",
            "libnvrtc.so.bak",
            "libnvrtc_static.a",
            "libnvrtc-builtins.so.13.0",
            "nvrtc64_120_0.dll",
            "nvrtc64_120_0.alt.dll",
            "nvrtc64_120_0.lib",
            "nvrtc-builtins64_129.dll",
        ] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let found = libraries_in(&folder);
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let files: Vec<String> = found.iter().map(|(file, _)| name(file)).collect();
        assert_eq!(files, ["libnvrtc.so.13.0.88", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc64_120_0.dll"]);
        let builtins: Vec<String> = found[0].1.iter().map(name).collect();
        assert_eq!(builtins, ["libnvrtc-builtins.so.13.0", "nvrtc-builtins64_129.dll"]);
        // They are empty files, and no libraries: an answer, and no panic.
        assert!(found.iter().all(|(file, builtins)| Compiler::open(file, builtins).is_none()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_the_source_loses_its_folder() {
        let ptx = "\t.file\t1 \"/there/l/kernel.cu\"\n\t.file\t2 \"/usr/include/x.h\"\n";
        let relative = "\t.file\t1 \"l/kernel.cu\"\n\t.file\t2 \"/usr/include/x.h\"\n";
        assert_eq!(relative_paths(ptx, "l/kernel.cu"), relative);
    }

    #[test]
    fn the_version_stands_in_the_ptx() {
        let ptx = "//\n// Cuda compilation tools, release 13.0, V13.0.88\n// Based on NVVM 7.0.1\n";
        assert_eq!(version_in(ptx).as_deref(), Some("13.0.88"));
        assert_eq!(version_in("// nothing\n"), None);
    }
}
