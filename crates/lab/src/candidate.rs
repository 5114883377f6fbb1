//! A kernel from a file: CUDA C++ that is compiled now, or PTX.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cuda_source::Program;
use device::nvrtc;
use emulator::{Module, Parameter, plain_name};
use gemm::kernel::{Header, INSTALL, Kernel, base_options};
use gemm::{Error, Source};

use crate::output::note;
use crate::written;
use crate::written::choose::{Choice, choose};

/// What stands before the flags that a kernel carries for `lab try`.
pub const TRY: &str = "// lab try: ";
/// The same for `lab sanitize`.
pub const SANITIZE: &str = "// lab sanitize: ";

/// A larger file is no kernel, or takes a compiler minutes.
const MOST_BYTES: u64 = 32 << 20;

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
    /// The kernel as the file's text has it, where it is CUDA C++.
    pub written: Option<(Rc<Program>, Choice)>,
    /// Functions of the host that were left out.
    pub host: Vec<String>,
}

/// A file's kernels, ready to be named.
#[derive(Debug)]
pub struct Kernels {
    /// Their PTX, its entry still to be named.
    pub kernel: Kernel,
    /// The module.
    pub module: Module,
    /// Names in the PTX, and what people call them.
    pub names: Vec<(String, String)>,
    /// Functions of the host that were left out.
    pub host: Vec<String>,
    /// The file as people write it, where it is CUDA C++.
    pub program: Option<Rc<Program>>,
}

impl Candidate {
    /// Refuses a kernel with what its architecture does not have; other errors come where it runs.
    pub fn is_for_its_architecture(&self) -> Result<(), Error> {
        let decoded = Module::parse(&self.kernel.ptx).and_then(|module| module.kernel(&self.kernel.entry));
        match decoded.map_err(|error| error.to_string()) {
            Err(why) if why.contains("needs .target") => {
                Err(Error::usage(format!("{}: {why}", self.path), "--arch names another architecture"))
            }
            _ => Ok(()),
        }
    }
}

impl Kernels {
    /// What people call a kernel of the PTX.
    pub fn shown(&self, name: &str) -> String {
        let known = self.names.iter().find(|(lowered, _)| lowered == name);
        known.map_or_else(|| plain_name(name).to_string(), |(_, shown)| shown.clone())
    }

    /// The kernel as the file's text has it, by what people call it.
    pub fn written(&self, shown: &str) -> Option<&cuda_source::Kernel> {
        let (name, _) = cuda_source::entry_words(shown);
        let is_meant = |kernel: &&cuda_source::Kernel| kernel.name == name || kernel.plain_name() == name;
        self.program.as_ref()?.kernels().iter().find(is_meant)
    }

    /// The kernel of the PTX that is meant.
    pub fn pick(&self, entry: Option<&str>) -> Result<String, Error> {
        let meant = |shown: &str| Some(shown.replace(' ', "")) == entry.map(|entry| entry.replace(' ', ""));
        if let Some((lowered, _)) = self.names.iter().find(|(_, shown)| meant(shown)) {
            return Ok(lowered.clone());
        }
        // Where nobody names one, it is the file's own, and not one of the file that launches it.
        if let (None, [(lowered, _)]) = (entry, self.names.as_slice()) {
            return Ok(lowered.clone());
        }
        let names: Vec<&str> = self.module.kernels().collect();
        pick(&names, entry)
    }
}

impl File {
    /// Reads a `.cu` or `.ptx` file.
    pub fn read(path: &Path) -> Result<File, Error> {
        let name = path.display().to_string();
        if !["cu", "cuh", "h", "hpp", "ptx"].contains(&extension(path)) {
            return Err(Error::usage(format!("{name} is neither a .cu nor a .ptx file"), "name it by what it is"));
        }
        let text = text(path).map_err(|why| {
            Error::usage(format!("cannot read {name}: {why}"), "the kernel's file is the first argument")
        })?;
        Ok(File { path: name, text })
    }

    /// The same for a product: matrices that its kernels take as structures are taken apart, so that each member has its meaning.
    pub fn of_products(path: &Path) -> Result<File, Error> {
        let mut file = File::read(path)?;
        let flat = if extension(path) == "ptx" { None } else { written::flat::flattened(&file.text) };
        file.text = flat.unwrap_or(file.text);
        Ok(file)
    }

    /// The flags that the file carries: `// lab try: --args A,B,C,M,N,K`.
    pub fn flags(&self, mark: &str) -> Vec<String> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix(mark));
        lines.flat_map(str::split_whitespace).map(str::to_string).collect()
    }

    /// The kernel of this name, or the only one. CUDA C++ is compiled, unless fresh PTX lies in `ptx/` beside it.
    /// `architecture` is the one that resources are wanted for.
    pub fn kernel(&self, entry: Option<&str>, options: &[String], architecture: u32) -> Result<Candidate, Error> {
        let program = self.program(options).map(Rc::new);
        let choice = match &program {
            // What fresh PTX says comes before what a text seems to say.
            Some(program) if self.shipped(options).is_some() => choose(program, entry).unwrap_or_default(),
            Some(program) => choose(program, entry)?,
            None => None,
        };
        let wanted = choice.iter().map(|choice| choice.expression.clone()).collect::<Vec<_>>();
        let is_ptx = program.is_none();
        let kernels = self.kernels(program, options, &[architecture], &wanted)?;
        let (path, text) = if is_ptx { self.named_source() } else { (self.path.clone(), self.text.clone()) };
        let entry = kernels.pick(wanted.first().map(String::as_str).or(entry))?;
        let parameters = kernels.module.parameters(&entry).unwrap_or_default();
        let kernel = Kernel { entry, ..kernels.kernel };
        let written = kernels.program.zip(choice);
        Ok(Candidate { kernel, path, text, parameters, written, host: kernels.host })
    }

    /// All kernels of the file. `wanted` are those that a text names, instances of templates above all.
    /// `architectures` are those that resources are wanted for.
    pub fn module(&self, options: &[String], architectures: &[u32], wanted: &[String]) -> Result<Kernels, Error> {
        self.kernels(self.program(options).map(Rc::new), options, architectures, wanted)
    }

    fn kernels(
        &self,
        program: Option<Rc<Program>>,
        options: &[String],
        architectures: &[u32],
        wanted: &[String],
    ) -> Result<Kernels, Error> {
        let (names, host) = (Vec::new(), Vec::new());
        let (kernel, names, host) = match (&program, self.shipped(options)) {
            (None, _) => {
                self.refuse_other(options)?;
                (Kernel::given(self.text.clone(), ""), names, host)
            }
            (_, Some(kernel)) => (kernel, names, host),
            (Some(program), None) => {
                let compiled = compile(program, options, architectures, wanted)?;
                (compiled.kernel, compiled.names, compiled.host)
            }
        };
        let hint = "a CUDA compiler makes PTX that can be read: nvcc --ptx";
        let module =
            Module::parse(&kernel.ptx).map_err(|error| Error::usage(format!("{}: {error}", self.path), hint))?;
        Ok(Kernels { kernel, module, names, host, program })
    }

    /// Refuses macros with which PTX that says what it was made with was not made.
    fn refuse_other(&self, options: &[String]) -> Result<(), Error> {
        let Some(own) = Header::options_of(&self.text) else { return Ok(()) };
        let macros = || own.split(' ').filter_map(|option| option.strip_prefix("-D"));
        let name = |define: &str| define.split('=').next().map(str::to_string);
        for asked in options.iter().filter_map(|option| option.strip_prefix("-D")) {
            let made = macros().find(|made| name(made) == name(asked));
            if let Some(made) = made.filter(|made| *made != asked) {
                let message = format!("`--define {asked}`: {} was compiled with {made}", self.path);
                return Err(Error::usage(message, "PTX stays what it is: leave the macro out, or name the .cu file"));
            }
        }
        Ok(())
    }

    /// Fresh PTX in `ptx/` beside the file.
    fn shipped(&self, options: &[String]) -> Option<Kernel> {
        let file = fs::read_to_string(beside(&self.path)).ok()?;
        Header::verify(&file, &self.text, options).ok().map(|(header, ptx)| Kernel::shipped(header, ptx))
    }

    /// Whether it is PTX, which is for the architecture that it names.
    pub fn is_ptx(&self) -> bool {
        extension(Path::new(&self.path)) == "ptx"
    }

    /// The file as people write it, if it is CUDA C++.
    pub fn program(&self, options: &[String]) -> Option<Program> {
        (extension(Path::new(&self.path)) != "ptx").then(|| written::read(&self.path, &self.text, options))
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
            common::ship::ptx_file(&source, options, compiler, &before)?
        };
        fs::write(&file, text)
            .map_err(|error| Error::usage(format!("cannot write {}: {error}", file.display()), "make the folder"))?;
        Ok(file)
    }
}

/// A kernel's text. Comments may be in any code for characters.
fn text(path: &Path) -> Result<String, String> {
    let bytes = regular(path, MOST_BYTES)?;
    if bytes.contains(&0) {
        return Err("it is no text".to_string());
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

/// The bytes of a file that is one: whoever opens a pipe waits for its other end, and a device has no end.
pub fn regular(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    match about.len() {
        _ if about.is_dir() => Err("it is a folder".to_string()),
        _ if !about.is_file() => Err("it is a pipe or a device, and no file".to_string()),
        bytes if bytes > most => Err(format!("it has {bytes} bytes, and {most} is the most")),
        _ => fs::read(path).map_err(|error| error.to_string()),
    }
}

/// Compiles the wanted kernels of a file, or its only one.
fn compile(
    program: &Program,
    options: &[String],
    architectures: &[u32],
    wanted: &[String],
) -> Result<written::compile::Compiled, Error> {
    let entries = wanted.iter().map(|entry| Some(entry.as_str())).chain(wanted.is_empty().then_some(None));
    let (mut expressions, mut aliases): (Vec<String>, Vec<(String, String)>) = Default::default();
    for wanted in entries {
        let choice = choose(program, wanted)?.filter(|choice| choice.is_named(program));
        let Some(Choice { expression, .. }) = choice else { continue };
        aliases.extend(wanted.map(|wanted| (expression.clone(), wanted.to_string())));
        if !expressions.contains(&expression) {
            expressions.push(expression);
        }
    }
    let entry = match wanted {
        [only] => only.as_str(),
        _ => "",
    };
    let mut compiled = written::compile::compile(entry, program, &expressions, options, architectures)?;
    // `--entry` may leave out what has a default.
    for (expression, entry) in aliases {
        let lowered = compiled.names.iter().find(|(_, shown)| *shown == expression).map(|(lowered, _)| lowered.clone());
        compiled.names.extend(lowered.map(|lowered| (lowered, entry)));
    }
    Ok(compiled)
}

/// The compiler's options for a text: those of every kernel, for another architecture if asked for, and macros. Before sm_80 the calls
/// that begin a copy are made to wait for it, and mistakes with them would not show; and what a text has for later architectures alone is
/// left out for others.
pub fn options(text: &str, arch: Option<&str>, defines: &[String]) -> Vec<String> {
    let mut options = base_options();
    if let Some(arch) = arch.or(conditional(text)).or(text.contains("memcpy_async").then_some("compute_80")) {
        options[0] = format!("--gpu-architecture={arch}");
    }
    options.extend(defines.iter().map(|define| format!("-D{define}")));
    options
}

/// The architecture that conditions of a text ask for: `#if __CUDA_ARCH__ >= 900`.
fn conditional(text: &str) -> Option<&'static str> {
    if text.contains("__CUDA_ARCH_FEAT_SM90_ALL") {
        return Some("compute_90a");
    }
    let conditions = text.lines().filter(|line| line.trim_start().starts_with('#'));
    let bounds = conditions.flat_map(|line| line.split("__CUDA_ARCH__").skip(1)).filter_map(|rest| {
        let number = rest.trim_start().strip_prefix(">=")?.trim_start();
        number.get(..3)?.parse::<u32>().ok()
    });
    match bounds.filter(|bound| (800..=900).contains(bound)).max()? {
        900 => Some("compute_90a"),
        _ => Some("compute_80"),
    }
}

/// Architectures that are tried where nobody names one, and what the kernel needs is not there.
const LATER: [&str; 2] = ["compute_80", "compute_90a"];

/// What `made` makes for the architecture in the options, or where that does not do, and it is not `given`, for a later one, which is told
/// and stays in the options.
///
/// # Errors
/// Where none does, the last one's, which lacks nothing that an architecture has.
pub fn for_architecture<T>(
    given: bool,
    options: &mut Vec<String>,
    made: impl Fn(&[String]) -> Result<T, Error>,
) -> Result<T, Error> {
    let first = made(options);
    let message = match &first {
        Err(Error::Usage { message, .. }) if !given => message.clone(),
        _ => return first,
    };
    if !message.contains(".target") && !names_a_line(&message) {
        return first;
    }
    let number = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0u32);
    let own = options.first().map_or(0, |option| number(option));
    let mut last = None;
    for arch in LATER.into_iter().filter(|arch| number(arch) > own) {
        let mut other = options.clone();
        other[0] = format!("--gpu-architecture={arch}");
        match made(&other) {
            Ok(done) => {
                let why = message.lines().next().unwrap_or_default();
                note(&format!("note: compiled for {arch}, since {why}: --arch {arch}"));
                *options = other;
                return Ok(done);
            }
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(Error::Usage { message, hint }) if message.contains(".target") => Err(Error::usage(
            message,
            format!("--arch names another architecture, such as compute_90a or compute_100a; {hint}"),
        )),
        Some(error) => Err(error),
        None => first,
    }
}

/// Whether a message has the line of a text, as a compiler's have.
fn names_a_line(message: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    message.split_once(": ").is_some_and(|(place, _)| place.rsplit(':').next().is_some_and(is_number))
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
    let known = names.iter().map(|name| plain_name(name)).collect::<Vec<_>>().join(", ");
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
