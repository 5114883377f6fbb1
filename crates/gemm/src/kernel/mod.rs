//! The kernel's PTX: shipped with the level, or compiled now. Never a stale one.

mod compiler;
mod generation;
mod header;
pub mod lower;

use std::collections::BTreeMap;

use serde::Serialize;

pub use compiler::{Compiler, FindCompiler, nowhere, version_in};
pub use generation::{Generation, numbers};
pub use header::{Header, Judge, Unfit, shipped_file};

use archive::Archive;

use crate::Target;
use crate::build::Build;
use crate::error::Error;
use crate::level::Needs;
use crate::source::Source;

/// What the one command to get NVRTC is.
pub const INSTALL: &str = "`pip install nvidia-cuda-nvrtc==13.0.88`, in a virtual environment that is active, installs the compiler (no GPU needed)";

/// The option that names the architecture.
const ARCHITECTURE: &str = "--gpu-architecture=";

/// PTX that is ready to run.
#[derive(Debug, Clone, Serialize)]
pub struct Kernel {
    /// The kernel's name.
    pub entry: String,
    /// Where the PTX comes from: `shipped`, `compiled` or `given`.
    pub origin: Origin,
    /// The compiler's version.
    pub compiler: String,
    /// How hard ptxas optimises, if not as it does by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimization: Option<u32>,
    /// What a real GPU gives to a thread and a block, by architecture (90 is `sm_90`), as far as known.
    pub resources: BTreeMap<u32, Resources>,
    /// What other versions of ptxas make of it, as far as that is recorded; the oldest first.
    #[serde(skip)]
    pub generations: Vec<Generation>,
    /// The compiler's options; none where the PTX was handed in.
    #[serde(skip)]
    pub options: Vec<String>,
    /// The PTX.
    #[serde(skip)]
    pub ptx: String,
}

/// Where PTX comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Shipped with the level.
    Shipped,
    /// Compiled in this run.
    Compiled,
    /// Handed in as PTX.
    Given,
}

/// What ptxas says that a kernel needs on one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes per thread that are spilled to local memory: stores and loads.
    pub spilled_bytes: u32,
    /// Bytes of static shared memory per block.
    pub shared_bytes: u32,
}

impl Kernel {
    /// The build's kernel: shipped if it is there and fresh, else compiled.
    /// `architecture` is the one that resources are wanted for.
    pub fn obtain(build: &Build, architecture: u32, find: FindCompiler) -> Result<Kernel, Error> {
        Kernel::obtain_from(build.level.ptx, build, architecture, find)
    }

    /// The same, where another archive is shipped with the level.
    pub fn obtain_from(texts: &Archive, build: &Build, architecture: u32, find: FindCompiler) -> Result<Kernel, Error> {
        let Build { level, configuration, .. } = build;
        // ANCHOR: obtain
        let reason = match shipped_in(texts, build) {
            Ok((header, ptx)) => {
                let (entry, optimization) = (level.entry.to_string(), level.needs.optimization);
                return Ok(Kernel { entry, optimization, ..Kernel::shipped(header, ptx) });
            }
            Err(Unfit::Absent) => format!("{configuration} is not shipped compiled"),
            Err(Unfit::Damaged) => format!("the shipped PTX of {} ({configuration}) is damaged", level.name),
            Err(Unfit::Stale) => format!("{} is not what its shipped PTX was made from", build.source().path),
        };
        match find() {
            Ok(compiler) => Kernel::compile(build, &[architecture], compiler),
            Err(why) => Err(Error::usage(format!("{reason}, and there is no compiler: {why}"), INSTALL)),
        }
        // ANCHOR_END: obtain
    }

    /// The build's kernel from the text of a file: as shipped, if it is whole and made from this source; else as PTX of somebody's own.
    pub fn brought(build: &Build, file: &str) -> Kernel {
        let level = build.level;
        match Header::verify(file, build.source().text, &options(build)) {
            Ok((header, ptx)) => {
                let (entry, optimization) = (level.entry.to_string(), level.needs.optimization);
                Kernel { entry, optimization, ..Kernel::shipped(header, ptx) }
            }
            Err(_) => Kernel::given(file.to_string(), level.entry),
        }
    }

    /// PTX from a file with a header; its entry is still to be named.
    pub fn shipped(header: Header, ptx: &str) -> Kernel {
        let Header { compiler, resources, generations, options, .. } = header;
        let (entry, ptx) = (String::new(), ptx.to_string());
        Kernel { entry, origin: Origin::Shipped, compiler, optimization: None, resources, generations, options, ptx }
    }

    /// Compiles the kernel, and asks for its resources on `architectures`, as far as the compiler knows them.
    pub fn compile(build: &Build, architectures: &[u32], compiler: &dyn Compiler) -> Result<Kernel, Error> {
        let Build { level, configuration, .. } = build;
        let hint = format!("this configuration does not compile: {configuration}");
        let options = options(build);
        let kernel = Kernel::from_source(&build.source(), level.entry, &options, architectures, compiler, hint)?;
        match kernel.ptx.contains(&format!(".entry {}(", level.entry)) {
            true => Ok(Kernel { optimization: level.needs.optimization, ..kernel }),
            false => Err(Error::usage(
                format!("{} has no kernel `{}`", build.source().path, level.entry),
                format!("it begins with `extern \"C\" __global__ void {}(`", level.entry),
            )),
        }
    }

    /// Compiles any source. `options` begin with the virtual architecture; `hint` says what to do if it does not compile.
    pub fn from_source(
        source: &Source,
        entry: &str,
        options: &[String],
        architectures: &[u32],
        compiler: &dyn Compiler,
        hint: String,
    ) -> Result<Kernel, Error> {
        let ptx = compiler.ptx(source, options).map_err(|log| compiler::explain(&log, hint))?;
        let mut resources = BTreeMap::new();
        for &architecture in architectures {
            if let Some(found) =
                compiler.resources(source, options, architecture, Some(entry).filter(|entry| !entry.is_empty()))
            {
                resources.insert(architecture, found);
            }
        }
        let compiler = version_in(&ptx).unwrap_or_else(|| compiler.version());
        let (entry, options, generations) = (entry.to_string(), options.to_vec(), Vec::new());
        Ok(Kernel {
            entry,
            origin: Origin::Compiled,
            compiler,
            optimization: None,
            resources,
            generations,
            options,
            ptx,
        })
    }

    /// Its kernel for a product that is [`Operand::Mapped`]'s `bare`, with the same parameters: `NAME_plain`, if there is one.
    ///
    /// [`Operand::Mapped`]: crate::task::Operand::Mapped
    pub fn plain(&self) -> Option<String> {
        let name = format!("{}_plain", self.entry);
        self.ptx.contains(&format!(".entry {name}(")).then_some(name)
    }

    /// PTX as it is, by a compiler that may have left its version there.
    pub fn given(ptx: String, entry: &str) -> Kernel {
        let compiler = version_in(&ptx).unwrap_or_else(|| "unknown".to_string());
        let (entry, resources, generations, options) = (entry.to_string(), BTreeMap::new(), Vec::new(), Vec::new());
        Kernel { entry, origin: Origin::Given, compiler, optimization: None, resources, generations, options, ptx }
    }
}

/// The PTX that is shipped for a build, if it is whole and made from this source.
pub fn shipped(build: &Build) -> Result<(Header, &'static str), Unfit> {
    shipped_in(build.level.ptx, build)
}

/// What is shipped for a build, as it describes itself: whoever runs it asks [`shipped`], which compares it with the source.
pub fn described(build: &Build) -> Option<(Header, &'static str)> {
    let options = options(build).join(" ");
    let texts = build.level.ptx.texts().ok()?;
    let file = texts.iter().map(|(_, file)| file).find(|file| Header::options_of(file).as_ref() == Some(&options))?;
    Header::split(file)
}

/// The same in an archive.
fn shipped_in<'a>(archive: &'a Archive, build: &Build) -> Result<(Header, &'a str), Unfit> {
    let options = options(build);
    let texts = archive.texts().map_err(|_| Unfit::Damaged)?;
    match texts.iter().map(|(_, file)| file).find(|file| Header::options_of(file) == Some(options.join(" "))) {
        Some(file) => Header::verify(file, build.source().text, &options),
        None if build.is_shipped() => Err(Unfit::Damaged),
        None => Err(Unfit::Absent),
    }
}

/// The compiler's options for a build.
pub fn options(build: &Build) -> Vec<String> {
    let Build { level, configuration, .. } = build;
    let mut options = options_for(level.needs.architecture);
    // NVRTC makes PTX before ptxas sees it: this is for the resources, and for whoever reads the header.
    options.extend(level.needs.optimization.map(|n| format!("--ptxas-options=-O{n}")));
    options.extend(configuration.dtype.macros().into_iter().map(|definition| format!("-D{definition}")));
    options.extend(level.defines(configuration).iter().map(|(name, value)| format!("-D{name}={value}")));
    options
}

/// The options that every kernel is compiled with: the usual architecture, line information, the language.
pub fn base_options() -> Vec<String> {
    options_for(Needs::USUAL.architecture)
}

fn options_for(Target { sm, suffix }: Target) -> Vec<String> {
    let architecture = format!("{ARCHITECTURE}compute_{sm}{suffix}");
    [architecture.as_str(), "-lineinfo", "--std=c++17"].map(str::to_string).to_vec()
}

/// Options that ask for machine code for a GPU of an architecture, in place of those for a virtual one.
pub fn machine_options(options: &[String], sm: u32) -> Vec<String> {
    let machine = |option: &String| {
        let name = option.strip_prefix(ARCHITECTURE)?.strip_prefix("compute_")?;
        let target = format!("sm_{name}").parse().unwrap_or(Target::since(sm));
        Some(format!("{ARCHITECTURE}{}", target.machine(sm)))
    };
    options.iter().map(|option| machine(option).unwrap_or_else(|| option.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_is_for_the_gpu_and_of_what_is_its_alone() {
        let asked = |target: Target, sm| machine_options(&options_for(target), sm).join(" ");
        assert_eq!(asked(Target::since(75), 90), "--gpu-architecture=sm_90 -lineinfo --std=c++17");
        assert_eq!(asked(Target::only(90), 90), "--gpu-architecture=sm_90a -lineinfo --std=c++17");
        assert!(asked(Target::only(90), 100).starts_with("--gpu-architecture=sm_100 "));
        assert_eq!(machine_options(&["-DBM=1".to_string()], 90), ["-DBM=1"]);
    }
}
