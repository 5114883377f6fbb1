//! NVIDIA's run-time compiler: found in the usual places, asked for PTX, and for what ptxas makes of it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use gemm::kernel::{Compiler, Resources, machine_options};
pub use gemm::kernel::{nowhere, version_in};
use gemm::{Source, headers};

use crate::ffi;
use crate::libraries::{self, BUILTINS, NVRTC};

/// NVRTC, loaded and answering.
#[derive(Debug)]
struct Nvrtc {
    library: ffi::Nvrtc,
    version: (i32, i32),
    file: PathBuf,
}

/// Finds NVRTC once per process. `Err` says where it was looked for.
pub fn find() -> Result<&'static dyn Compiler, String> {
    found().map(|nvrtc| nvrtc as &dyn Compiler)
}

/// Its version, and its file: a name alone where the loader's path has it.
pub fn place() -> Result<(String, &'static Path), String> {
    found().map(|nvrtc| (nvrtc.version(), nvrtc.file.as_path()))
}

fn found() -> Result<&'static Nvrtc, String> {
    static FOUND: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
    FOUND.get_or_init(search).as_ref().map_err(String::clone)
}

/// The folders of CUDA's headers that fit the NVRTC in use: those beside it, then those of Python packages and toolkits.
pub fn header_folders() -> Vec<PathBuf> {
    found().map_or_else(|_| Vec::new(), |nvrtc| libraries::headers(&nvrtc.file, nvrtc.version.0))
}

/// NVRTC with headers that need no file, and with expressions, as `gemm<64, float>`, that it is to name.
#[derive(Debug)]
pub struct WithHeaders<'a> {
    nvrtc: &'static Nvrtc,
    headers: &'a [(String, String)],
    expressions: &'a [String],
    lowered: Mutex<Vec<String>>,
}

impl<'a> WithHeaders<'a> {
    /// The compiler. Headers are pairs of a name, as `#include` has it, and a text.
    pub fn new(headers: &'a [(String, String)], expressions: &'a [String]) -> Result<WithHeaders<'a>, String> {
        Ok(WithHeaders { nvrtc: found()?, headers, expressions, lowered: Mutex::default() })
    }

    /// What the expressions are called in the PTX that was made last.
    pub fn lowered(&self) -> Vec<String> {
        self.lowered.lock().map(|names| names.clone()).unwrap_or_default()
    }

    fn compile(&self, source: &Source, options: &[String], machine_code: bool) -> Result<ffi::Compiled, String> {
        self.nvrtc.compile(source, (self.headers, self.expressions), options, machine_code)
    }
}

impl Compiler for WithHeaders<'_> {
    fn version(&self) -> String {
        self.nvrtc.version()
    }

    fn ptx(&self, source: &Source, options: &[String]) -> Result<String, String> {
        let compiled = self.compile(source, options, false)?;
        if let Ok(mut lowered) = self.lowered.lock() {
            *lowered = compiled.lowered;
        }
        let ptx = String::from_utf8_lossy(&compiled.code);
        let paths = self.headers.iter().map(|(path, _)| path.as_str()).chain([source.path]);
        Ok(paths.fold(ptx.trim_end_matches('\0').to_string(), |ptx, path| relative_paths(&ptx, path, path)))
    }

    fn resources(
        &self,
        source: &Source,
        options: &[String],
        architecture: u32,
        entry: Option<&str>,
    ) -> Option<Resources> {
        let mut options = machine_options(options, architecture);
        options.push("--ptxas-options=-v".to_string());
        let log = self.compile(source, &options, true).ok()?.log;
        // An instance of a template goes by the name that its expression stands for.
        let lowered = self.lowered();
        resources_of(&log, lowered.first().map(String::as_str).or(entry))
    }

    fn machine_code(&self, source: &Source, options: &[String], architecture: u32) -> Result<Vec<u8>, String> {
        Ok(self.compile(source, &machine_options(options, architecture), true)?.code)
    }
}

fn search() -> Result<Nvrtc, String> {
    let opened = NVRTC.places().find_map(|file| {
        // It may ask for them, those of its version first.
        let builtins: Vec<PathBuf> =
            file.parent().map(|folder| BUILTINS.files_in(folder).collect()).unwrap_or_default();
        Nvrtc::open(&file, &builtins)
    });
    opened.ok_or_else(|| NVRTC.nowhere())
}

impl Nvrtc {
    /// Compiles a source with these headers and those that it may include by name, and names expressions.
    fn compile(
        &self,
        source: &Source,
        (headers, expressions): (&[(String, String)], &[String]),
        options: &[String],
        machine_code: bool,
    ) -> Result<ffi::Compiled, String> {
        let Source { path: name, text: source } = *source;
        let own = |name: &str| headers.iter().any(|(own, _)| own == name);
        let included = headers::included(source).filter(|(name, _)| !own(name));
        let included = included.map(|(name, header)| (name.to_string(), header.text.to_string()));
        let headers: Vec<(String, String)> = headers.iter().cloned().chain(included).collect();
        let input = ffi::Input { source, name, headers: &headers, expressions };
        self.library.compile_input(&input, options, machine_code)
    }

    /// Loads a library. Of several builtins it takes the one that it asks for by name; the others do no harm.
    fn open(library: &Path, builtins: &[PathBuf]) -> Option<Nvrtc> {
        let file = library.to_path_buf();
        let library = ffi::Nvrtc::open(library, builtins).ok()?;
        let version = library.version().ok()?;
        // A library without its builtins loads, and then compiles nothing.
        library.compile("", "probe.cu", &[], false).ok()?;
        (version.0 >= 12).then_some(Nvrtc { library, version, file })
    }
}

impl Compiler for Nvrtc {
    fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    fn ptx(&self, source: &Source, options: &[String]) -> Result<String, String> {
        let compiled = self.compile(source, (&[], &[]), options, false)?;
        let ptx = String::from_utf8_lossy(&compiled.code);
        let ptx = relative_paths(ptx.trim_end_matches('\0'), source.path, source.path);
        let headers = headers::included(source.text);
        Ok(headers.fold(ptx, |ptx, (name, header)| relative_paths(&ptx, &format!("/{name}"), header.path)))
    }

    fn resources(
        &self,
        source: &Source,
        options: &[String],
        architecture: u32,
        entry: Option<&str>,
    ) -> Option<Resources> {
        let mut options = machine_options(options, architecture);
        options.push("--ptxas-options=-v".to_string());
        let log = self.compile(source, (&[], &[]), &options, true).ok()?.log;
        resources_of(&log, entry)
    }

    fn machine_code(&self, source: &Source, options: &[String], architecture: u32) -> Result<Vec<u8>, String> {
        let options = machine_options(options, architecture);
        Ok(self.compile(source, (&[], &[]), &options, true)?.code)
    }
}

/// What ptxas says of the kernel of this name, which C++ may have made longer.
fn of_kernel<'a>(log: &'a str, entry: Option<&str>) -> Option<&'a str> {
    let Some(entry) = entry else { return Some(log) };
    let named = format!("{}{entry}", entry.len());
    let is_meant = |name: &str| name == entry || name.starts_with("_Z") && name.contains(&named);
    let mut kernels = log.split("Compiling entry function '").skip(1);
    kernels.find(|part| is_meant(part.split('\'').next().unwrap_or_default()))
}

/// What ptxas says in `log` that a kernel needs: the one named `entry` where the file has several.
pub fn resources_of(log: &str, entry: Option<&str>) -> Option<Resources> {
    let log = of_kernel(log, entry)?;
    let before = |what: &str| log.split_once(what).and_then(|(front, _)| front.split_whitespace().last()?.parse().ok());
    Some(Resources {
        registers: before(" registers")?,
        spilled_bytes: before(" bytes spill stores").unwrap_or(0) + before(" bytes spill loads").unwrap_or(0),
        shared_bytes: before(" bytes smem").unwrap_or(0),
    })
}

/// NVRTC writes the working directory before the name of the source, or of a header: it says nothing about the kernel.
fn relative_paths(ptx: &str, name: &str, path: &str) -> String {
    let relative = |line: &str| match line.split('"').nth(1) {
        Some(file) if line.trim_start().starts_with(".file") && file.ends_with(name) => line.replace(file, path),
        _ => line.to_string(),
    };
    ptx.split('\n').map(relative).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_its_own_needs() {
        let of = |name: &str, registers: u32| {
            format!(
                "ptxas info    : Compiling entry function '{name}' for 'sm_90'\nptxas info    : Used {registers} registers, 0 bytes smem\n"
            )
        };
        let log = of("_Z5largePf", 90) + &of("small", 16);
        let needs = |entry| resources_of(&log, entry).map(|resources| resources.registers);
        assert_eq!(
            [None, Some("large"), Some("small"), Some("_Z5largePf"), Some("mall")].map(needs),
            [Some(90), Some(90), Some(16), Some(90), None]
        );
        let with_tile = "ptxas info    : Compiling entry function 'split' for 'sm_90'\nptxas info    : Used 32 registers, 64 bytes smem\n";
        let both = "ptxas info    : Compiling entry function 'own' for 'sm_90'\nptxas info    : Used 168 registers\n"
            .to_string()
            + with_tile;
        let needs = |entry| resources_of(&both, Some(entry)).map(|needs| (needs.registers, needs.shared_bytes));
        assert_eq!(["own", "split"].map(needs), [Some((168, 0)), Some((32, 64))]);
    }

    #[test]
    fn only_the_source_loses_its_folder() {
        let ptx = "\t.file\t1 \"/there/l/kernel.cu\"\n\t.file\t2 \"/usr/include/x.h\"\n";
        let relative = "\t.file\t1 \"l/kernel.cu\"\n\t.file\t2 \"/usr/include/x.h\"\n";
        assert_eq!(relative_paths(ptx, "l/kernel.cu", "l/kernel.cu"), relative);
        let header = "\t.file\t2 \"/some/where/h.cuh\"\n";
        assert_eq!(relative_paths(header, "/h.cuh", "include/h.cuh"), "\t.file\t2 \"include/h.cuh\"\n");
    }
}
