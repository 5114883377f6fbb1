//! From PTX to a function on a GPU. What a driver refuses is tried in other forms, each with a line that says why.

use std::sync::Arc;

use cudarc::driver::sys::cudaError_enum as Status;
use cudarc::driver::{CudaModule, DriverError};
use cudarc::nvrtc::Ptx;
use emulator::isa::{Isa, of_cuda};
use gemm::Error;
use gemm::kernel::lower::lowered_for;
use gemm::kernel::{FindCompiler, Origin};
use gemm::task::Task;

use super::{Gpu, failed};
use crate::ffi;
use crate::functions::Functions;
use crate::notes;

/// A kernel that has just been loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub functions: Functions,
    /// Whose ptxas made its machine code.
    pub ptxas: String,
}

/// Why a kernel is not on the GPU.
#[derive(Debug)]
pub enum Unloaded {
    /// The driver takes it in no form; why, in a few words.
    Refused(String),
    /// The driver answers something else.
    Failed(DriverError),
}

impl Gpu {
    /// The kernel as PTX that driver and card know; else as what the compiler at hand makes of the source: PTX, then machine
    /// code. `find` looks for that compiler.
    pub(crate) fn load(&self, task: &Task, find: FindCompiler) -> Result<Loaded, Unloaded> {
        let kernel = task.kernel;
        let driver = format!("the CUDA driver ({})", self.cuda_version().unwrap_or_else(|| "version unknown".into()));
        let (ptx, changes) = self.lowered(&kernel.ptx);
        if !changes.is_empty() {
            self.note(&format!("note: {driver} and {} get the PTX lowered: {}", self.name(), changes.join(", ")));
        }
        let ptxas = format!("the driver's, CUDA {}", self.cuda_version().unwrap_or_else(|| "unknown".into()));
        let mut refusal = match self.ptx(&ptx, task) {
            Ok(functions) => return Ok(Loaded { functions, ptxas }),
            Err(error) => refused(error)?,
        };
        let cannot =
            |refusal, why| Err(Unloaded::Refused(format!("{driver} answers {refusal:?} to the PTX, and {why}")));
        if kernel.options.is_empty() || task.source.text.is_empty() {
            return cannot(refusal, "there is no CUDA C++ to compile anew".to_string());
        }
        let compiler = match find() {
            Ok(compiler) => compiler,
            Err(why) => return cannot(refusal, format!("there is no compiler: {why}")),
        };
        let version = compiler.version();
        if kernel.origin == Origin::Shipped {
            self.note(&format!("note: {driver} answers {refusal:?} to the shipped PTX: compiling by NVRTC {version}"));
            let compiled = compiler.ptx(&task.source, &kernel.options);
            match compiled.map(|ptx| self.ptx(&self.lowered(&ptx).0, task)) {
                Ok(Ok(functions)) => return Ok(Loaded { functions, ptxas }),
                Ok(Err(error)) => refusal = refused(error)?,
                Err(log) => self.note(&format!("note: NVRTC {version} does not compile it: {}", first_line(&log))),
            }
        }
        let sm = self.architecture();
        self.note(&format!(
            "note: {driver} answers {refusal:?} to PTX: making machine code for sm_{sm} by NVRTC {version}"
        ));
        let code = match compiler.machine_code(&task.source, &kernel.options, sm) {
            Ok(code) => code,
            Err(log) => return cannot(refusal, format!("NVRTC {version} makes no machine code: {}", first_line(&log))),
        };
        match self.functions(Ptx::from_binary(code), task) {
            Ok(functions) => Ok(Loaded { functions, ptxas: format!("NVRTC {version}'s") }),
            Err(error) => {
                let again = refused(error)?;
                cannot(refusal, format!("{again:?} to the machine code of NVRTC {version}"))
            }
        }
    }

    /// A line on stderr, unless this GPU is a library's.
    fn note(&self, text: &str) {
        if !self.is_quiet {
            notes::note(text);
        }
    }

    /// PTX as this driver and this card can take it, and what was lowered.
    pub(crate) fn lowered(&self, ptx: &str) -> (String, Vec<String>) {
        let lowered = lowered_for(ptx, self.isa(), self.architecture());
        // NUL is no part of PTX, and would end it.
        (lowered.ptx.replace('\0', ""), lowered.changes)
    }

    /// The PTX version that the driver is known to take.
    fn isa(&self) -> Option<Isa> {
        of_cuda(u32::try_from(ffi::cuda_version()?).ok()?)
    }

    fn ptx(&self, ptx: &str, task: &Task) -> Result<Functions, DriverError> {
        let image = match task.kernel.optimization {
            None => Ptx::from_src(ptx),
            Some(level) => Ptx::from_binary(ffi::assemble(&self.context, ptx, level)?),
        };
        self.functions(image, task)
    }

    fn functions(&self, image: Ptx, task: &Task) -> Result<Functions, DriverError> {
        let module: Arc<CudaModule> = self.context.load_module(image)?;
        let before = task.before.map(|before| module.load_function(before.entry)).transpose()?;
        let plain = task.kernel.plain().map(|name| module.load_function(&name)).transpose()?;
        Ok(Functions { kernel: module.load_function(&task.kernel.entry)?, plain, before })
    }
}

impl Unloaded {
    /// The error of a run that may go nowhere else.
    pub fn error(self) -> Error {
        match self {
            Unloaded::Refused(why) => {
                Error::usage(why, "update the driver, or run on the CPU with `--backend emulator`")
            }
            Unloaded::Failed(error) => failed("loading the kernel", error),
        }
    }
}

/// The answer of a driver that does not take this form, but may take another.
fn refused(error: DriverError) -> Result<Status, Unloaded> {
    match error.0 {
        Status::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | Status::CUDA_ERROR_INVALID_PTX
        | Status::CUDA_ERROR_INVALID_IMAGE
        | Status::CUDA_ERROR_INVALID_SOURCE
        | Status::CUDA_ERROR_NO_BINARY_FOR_GPU
        | Status::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | Status::CUDA_ERROR_JIT_COMPILATION_DISABLED => Ok(error.0),
        _ => Err(Unloaded::Failed(error)),
    }
}

fn first_line(log: &str) -> &str {
    log.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing")
}
