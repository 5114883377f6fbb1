//! The kernel's PTX: shipped with the level, or compiled now. Never a stale one.

mod header;
pub mod nvrtc;
mod write;

use std::collections::BTreeMap;

use serde::Serialize;

pub use header::{Header, Unfit};
pub use write::write_ptx;

use crate::Error;
use crate::level::{Configuration, Level};
use nvrtc::Compiler;

/// The virtual architecture that PTX is made for: every GPU since 2018 runs it.
const VIRTUAL_ARCHITECTURE: &str = "compute_75";

/// What the one command to get NVRTC is.
const INSTALL: &str = "`pip install nvidia-cuda-nvrtc` installs the compiler (no GPU needed)";

/// PTX that is ready to run.
#[derive(Debug, Clone, Serialize)]
pub struct Kernel {
    /// The kernel's name.
    pub entry: &'static str,
    /// Where the PTX comes from: `shipped`, or `compiled`.
    pub origin: Origin,
    /// The compiler's version.
    pub compiler: String,
    /// What a real GPU gives to a thread and a block, by architecture (90 is `sm_90`), as far as known.
    pub resources: BTreeMap<u32, Resources>,
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

/// Where to look for NVRTC, when it is needed: [`nvrtc::find`], or, in tests, [`nvrtc::nowhere`].
pub type FindCompiler = fn() -> Result<&'static Compiler, String>;

impl Kernel {
    /// The level's kernel in a configuration: shipped if it is there and fresh, else compiled.
    /// `architecture` is the one that resources are wanted for.
    pub fn obtain(
        level: &Level,
        configuration: &Configuration,
        architecture: u32,
        find: FindCompiler,
    ) -> Result<Kernel, Error> {
        let reason = match shipped(level, configuration) {
            Ok((header, ptx)) => return Ok(Kernel::shipped(level, header, ptx)),
            Err(Unfit::Absent) => format!("{configuration} is not shipped compiled"),
            Err(Unfit::Damaged) => format!("the shipped PTX of {} ({configuration}) is damaged", level.name),
            Err(Unfit::Stale) => format!("{} is not what its shipped PTX was made from", level.path),
        };
        match find() {
            Ok(compiler) => Kernel::compile(level, configuration, &[architecture], compiler),
            Err(why) => Err(Error::usage(format!("{reason}, and there is no compiler: {why}"), INSTALL)),
        }
    }

    fn shipped(level: &Level, header: Header, ptx: &str) -> Kernel {
        let Header { compiler, resources, .. } = header;
        Kernel { entry: level.entry, origin: Origin::Shipped, compiler, resources, ptx: ptx.to_string() }
    }

    /// Compiles the kernel, and asks for its resources on `architectures`, as far as the compiler knows them.
    pub fn compile(
        level: &Level,
        configuration: &Configuration,
        architectures: &[u32],
        compiler: &Compiler,
    ) -> Result<Kernel, Error> {
        let options = options(level, configuration);
        let refuse = |log: String| nvrtc::explain(&log, configuration);
        let ptx = compiler.ptx(level.source, level.path, &options).map_err(refuse)?;
        let mut resources = BTreeMap::new();
        for &architecture in architectures {
            if let Some(found) = compiler.resources(level, &options, architecture) {
                resources.insert(architecture, found);
            }
        }
        let compiler = nvrtc::version_in(&ptx).unwrap_or_else(|| compiler.version());
        Ok(Kernel { entry: level.entry, origin: Origin::Compiled, compiler, resources, ptx })
    }
}

/// The file that the level ships for a configuration, if it is whole and made from this source.
pub fn shipped(level: &Level, configuration: &Configuration) -> Result<(Header, &'static str), Unfit> {
    let options = options(level, configuration);
    match level.ptx.iter().find(|file| Header::options_of(file) == Some(options.join(" "))) {
        Some(file) => Header::verify(file, level.source, &options),
        None if level.shipped_configurations().contains(configuration) => Err(Unfit::Damaged),
        None => Err(Unfit::Absent),
    }
}

/// The compiler's options for a configuration.
pub fn options(level: &Level, configuration: &Configuration) -> Vec<String> {
    let mut options = vec![
        format!("--gpu-architecture={VIRTUAL_ARCHITECTURE}"),
        "-lineinfo".to_string(),
        "--std=c++17".to_string(),
        format!("-DELEMENT={}", configuration.dtype.cuda_name()),
    ];
    options.extend(level.defines(configuration).iter().map(|(name, value)| format!("-D{name}={value}")));
    options
}
