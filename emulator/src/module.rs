//! A parsed PTX module and its kernels.

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
pub struct Module {}

/// A kernel, decoded and ready to launch.
#[derive(Debug, Clone)]
pub struct Kernel {}

impl Module {
    /// Parses a module's text. Every instruction must be one that the emulator can run.
    pub fn parse(text: &str) -> Result<Module, PtxError> {
        let _ = text;
        Ok(Module {})
    }

    /// The kernel (`.entry`) of this name, decoded.
    pub fn kernel(&self, name: &str) -> Result<Kernel, PtxError> {
        let _ = name;
        Ok(Kernel {})
    }
}
