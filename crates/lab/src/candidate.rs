//! A kernel from a file: CUDA C++ that is compiled now, or PTX.

use std::fs;
use std::path::{Path, PathBuf};

use common::kernel::{Header, INSTALL, Kernel, base_options, nvrtc};
use common::{Error, Source};
use emulator::{Module, Parameter};

/// What stands before the flags that a kernel carries for `lab try`.
pub const TRY: &str = "// lab try: ";
/// The same for `lab sanitize`.
pub const SANITIZE: &str = "// lab sanitize: ";

/// A kernel's file, read.
#[derive(Debug)]
pub struct File {
    /// The path as it was given.
    pub path: String,
    /// The text.
    pub text: String,
}

/// A kernel from a file, ready to run.
#[derive(Debug)]
pub struct Candidate {
    /// The kernel.
    pub kernel: Kernel,
    /// The path of the CUDA C++ text, as far as it is known.
    pub path: String,
    /// The CUDA C++ text; empty where only PTX is there.
    pub text: String,
    /// What the kernel takes.
    pub parameters: Vec<Parameter>,
}

impl File {
    /// Reads a `.cu` or `.ptx` file.
    pub fn read(path: &Path) -> Result<File, Error> {
        let name = path.display().to_string();
        if !["cu", "ptx"].contains(&extension(path)) {
            return Err(Error::usage(format!("{name} is neither a .cu nor a .ptx file"), "name it by what it is"));
        }
        let text = fs::read_to_string(path).map_err(|error| {
            Error::usage(format!("cannot read {name}: {error}"), "the kernel's file is the first argument")
        })?;
        Ok(File { path: name, text })
    }

    /// The flags that the file carries: `// lab try: --args A,B,C,M,N,K`.
    pub fn flags(&self, mark: &str) -> Vec<String> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix(mark));
        lines.flat_map(str::split_whitespace).map(str::to_string).collect()
    }

    /// The kernel of this name, or the only one. CUDA C++ is compiled, unless fresh PTX lies in `ptx/` beside it.
    /// `architecture` is the one that resources are wanted for.
    pub fn kernel(&self, entry: Option<&str>, options: &[String], architecture: u32) -> Result<Candidate, Error> {
        let (mut kernel, module) = self.module(options, &[architecture])?;
        let (path, text) = match extension(Path::new(&self.path)) {
            "ptx" => self.named_source(),
            _ => (self.path.clone(), self.text.clone()),
        };
        let names: Vec<&str> = module.kernels().collect();
        kernel.entry = pick(&names, entry)?;
        let parameters = module.parameters(&kernel.entry).unwrap_or_default();
        Ok(Candidate { kernel, path, text, parameters })
    }

    /// All kernels of the file: their PTX, with an entry that is still to be named, and the module.
    pub fn module(&self, options: &[String], architectures: &[u32]) -> Result<(Kernel, Module), Error> {
        let kernel = match extension(Path::new(&self.path)) {
            "ptx" => Kernel::given(self.text.clone(), ""),
            _ => self.compile(options, architectures)?,
        };
        let hint = "a CUDA compiler makes PTX that can be read: nvcc --ptx";
        let module =
            Module::parse(&kernel.ptx).map_err(|error| Error::usage(format!("{}: {error}", self.path), hint))?;
        Ok((kernel, module))
    }

    fn compile(&self, options: &[String], architectures: &[u32]) -> Result<Kernel, Error> {
        let source = Source { path: &self.path, text: &self.text };
        if let Ok(file) = fs::read_to_string(beside(&self.path))
            && let Ok((header, ptx)) = Header::verify(&file, &self.text, options)
        {
            return Ok(Kernel::shipped(header, ptx));
        }
        let compiler = nvrtc::find().map_err(|why| {
            Error::usage(format!("{} is CUDA C++, and there is no compiler: {why}", self.path), INSTALL)
        })?;
        let hint = "fix the kernel; `--define NAME=VALUE` gives it macros, `--arch` another architecture".to_string();
        Kernel::from_source(&source, "", options, architectures, compiler, hint)
    }

    /// The file that the PTX's line information names, if it is there.
    fn named_source(&self) -> (String, String) {
        let named = self.text.lines().filter(|line| line.trim_start().starts_with(".file"));
        let path = named.filter_map(|line| line.split('"').nth(1)).find(|path| Path::new(path).is_file());
        let path = path.unwrap_or_default().to_string();
        let text = fs::read_to_string(&path).unwrap_or_default();
        (path, text)
    }

    /// Compiles for every architecture of interest, and writes the PTX with its header to `ptx/` beside the file.
    pub fn write_ptx(&self, options: &[String]) -> Result<PathBuf, Error> {
        let source = Source { path: &self.path, text: &self.text };
        let compiler = nvrtc::find().map_err(|why| Error::usage(why, INSTALL))?;
        let file = beside(&self.path);
        let text = {
            let before = fs::read_to_string(&file).unwrap_or_default();
            common::kernel::ptx_file(&source, options, compiler, &before)?
        };
        fs::write(&file, text)
            .map_err(|error| Error::usage(format!("cannot write {}: {error}", file.display()), "make the folder"))?;
        Ok(file)
    }
}

/// The compiler's options: those of every kernel, for another architecture if asked for, and macros.
pub fn options(arch: Option<&str>, defines: &[String]) -> Vec<String> {
    let mut options = base_options();
    if let Some(arch) = arch {
        options[0] = format!("--gpu-architecture={arch}");
    }
    options.extend(defines.iter().map(|define| format!("-D{define}")));
    options
}

/// Where a kernel's shipped PTX lies.
fn beside(path: &str) -> PathBuf {
    let path = Path::new(path);
    let name = Path::new(path.file_name().unwrap_or_default()).with_extension("ptx");
    path.parent().unwrap_or(Path::new("")).join("ptx").join(name)
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default()
}

/// The kernel that is meant: by its name, or by what C++ makes of it (`_Z4gemmPKfS0_Pfiii`).
pub fn pick(names: &[&str], entry: Option<&str>) -> Result<String, Error> {
    let is_meant = |name: &&&str| match entry {
        None => true,
        Some(entry) => **name == entry || (name.starts_with("_Z") && name.contains(&format!("{}{entry}", entry.len()))),
    };
    let found: Vec<&str> = names.iter().filter(is_meant).copied().collect();
    let known = names.join(", ");
    match (found.as_slice(), entry) {
        ([one], _) => Ok(one.to_string()),
        (several, Some(entry)) if several.contains(&entry) => Ok(entry.to_string()),
        ([], _) if names.is_empty() => Err(Error::usage(
            "there is no kernel in the file",
            "a kernel is a `__global__` function; give it `extern \"C\"`",
        )),
        ([], _) => Err(Error::usage(
            format!("there is no kernel `{}`", entry.unwrap_or_default()),
            format!("the file has {known}"),
        )),
        _ => Err(Error::usage(
            format!("the file has {} kernels that may be meant", found.len()),
            format!("choose by --entry: {known}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_name_in_cpp() {
        let names = ["_Z9transposePfi", "_Z4gemmIfLi32EEvPKT_S2_PS0_iii", "plain"];
        assert_eq!(pick(&names, Some("gemm")).unwrap(), names[1]);
        assert_eq!(pick(&names, Some("plain")).unwrap(), "plain");
        assert_eq!(pick(&names[..1], None).unwrap(), names[0]);
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let refused = |names: &[&str], entry| pick(names, entry).unwrap_err().to_string();
        assert!(refused(&["a", "b"], None).contains("2 kernels that may be meant\nhint: choose by --entry: a, b"));
        assert!(refused(&["a"], Some("c")).contains("no kernel `c`\nhint: the file has a"));
        assert!(refused(&[], None).contains("no kernel in the file"));
    }

    #[test]
    fn ptx_lies_beside() {
        assert_eq!(beside("kernels/x.cu"), Path::new("kernels/ptx/x.ptx"));
        assert_eq!(beside("x.cu"), Path::new("ptx/x.ptx"));
    }
}
