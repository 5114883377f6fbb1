//! A parsed PTX module and its kernels.

use std::sync::Arc;

use crate::isa::oldest;
use crate::program::{Program, decode};
use crate::ptx::{self, Source};

/// PTX that cannot be run: what is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct PtxError {
    /// Line in the PTX text, from 1; 0 when the text as a whole is meant.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// A parsed PTX module.
#[derive(Debug, Clone)]
pub struct Module {
    source: Arc<Source>,
}

/// A parameter of a kernel, as the PTX declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its type, for instance `u64`; `b8` for a structure.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
}

/// A kernel, decoded and ready to launch.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) program: Arc<Program>,
    source: Arc<Source>,
}

impl Module {
    /// Parses a module's text. What its instructions mean is looked at when a kernel is decoded.
    pub fn parse(text: &str) -> Result<Module, PtxError> {
        Ok(Module { source: Arc::new(ptx::parse(text)?) })
    }

    /// Names of the module's kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.source.functions.iter().filter(|f| f.entry).map(|f| f.name.as_str())
    }

    /// The parameters of the kernel of this name, in order; nothing if there is no such kernel.
    pub fn parameters(&self, name: &str) -> Option<Vec<Parameter>> {
        let function = self.source.functions.iter().find(|f| f.entry && f.name == name)?;
        let parameter = |v: &ptx::Variable| Parameter { kind: v.kind.clone(), bytes: v.bytes.unwrap_or_default() };
        Some(function.params.iter().map(parameter).collect())
    }

    /// The kernel (`.entry`) of this name, decoded. An instruction that the emulator does not know is
    /// an error with its line.
    pub fn kernel(&self, name: &str) -> Result<Kernel, PtxError> {
        let Some(function) = self.source.functions.iter().find(|f| f.entry && f.name == name) else {
            let known: Vec<&str> = self.kernels().collect();
            let message = format!("the module has no kernel `{name}`; it has: {}", known.join(", "));
            return Err(PtxError { line: 0, message });
        };
        Ok(Kernel { program: Arc::new(decode(&self.source, function)?), source: self.source.clone() })
    }
}

impl Kernel {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// The oldest architecture (80 is `sm_80`) that has all of its instructions, and the opcode that asks for it; nothing,
    /// if every GPU has them. What the file's `.target` says does not count.
    pub fn oldest_architecture(&self) -> Option<(u32, &str)> {
        let asked = self.program.info.iter().map(|info| (oldest(&info.opcode), &*info.opcode));
        // Of several that ask for the same, the first.
        let newer = asked.filter(|(architecture, _)| *architecture > 0);
        newer.reduce(|first, next| if next.0 > first.0 { next } else { first })
    }

    /// Bytes of shared memory that the kernel declares; the launch may add dynamic ones.
    pub fn static_shared(&self) -> u32 {
        self.program.static_shared
    }

    /// Tells modules apart: kernels of one share their module-level variables.
    pub(crate) fn module_id(&self) -> usize {
        Arc::as_ptr(&self.source) as usize
    }
}
