//! A parsed PTX module and its kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::PtxError;
use crate::isa::oldest;
use crate::program::{Program, decode};
use crate::ptx::{self, Source};

/// A parsed PTX module. Its variables are its own: a text that is parsed twice is two modules, a clone is the same one.
#[derive(Debug, Clone)]
pub struct Module {
    source: Arc<Source>,
    id: u64,
}

/// A parameter of a kernel, as the PTX declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its type, for instance `u64`; `b8` for a structure.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// What its address is a multiple of.
    pub alignment: u64,
}

impl Parameter {
    /// A parameter of this type and size, whose alignment is its size.
    pub fn new(kind: &str, bytes: u64) -> Parameter {
        Parameter { kind: kind.to_string(), bytes, alignment: bytes.max(1) }
    }
}

/// Where a module's variable lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In global memory: the how manieth there.
    Global(usize),
    /// In the module's constant memory.
    Constant {
        /// Bytes before it.
        start: usize,
        /// Its bytes.
        size: usize,
    },
}

/// A kernel, decoded and ready to launch.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) program: Arc<Program>,
    pub(crate) module: Module,
}

impl Module {
    /// Parses a module's text. What its instructions mean is looked at when a kernel is decoded.
    pub fn parse(text: &str) -> Result<Module, PtxError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let source = Arc::new(ptx::parse(text)?);
        Ok(Module { source, id: NEXT.fetch_add(1, Ordering::Relaxed) })
    }

    /// Names of the module's kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.source.functions.iter().filter(|f| f.entry).map(|f| f.name.as_str())
    }

    /// The parameters of the kernel of this name, in order; nothing if there is no such kernel.
    pub fn parameters(&self, name: &str) -> Option<Vec<Parameter>> {
        let function = self.source.functions.iter().find(|f| f.entry && f.name == name)?;
        let parameter = |v: &ptx::Variable| Parameter {
            kind: v.kind.clone(),
            bytes: v.bytes.unwrap_or_default(),
            alignment: v.align.max(1),
        };
        Some(function.params.iter().map(parameter).collect())
    }

    /// Names of the module's variables in global and in constant memory, in the order of the text.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let outside = |v: &&ptx::Variable| v.space == "global" || v.space == "const";
        self.source.variables.iter().filter(outside).map(|v| v.name.as_str())
    }

    /// The size of the variable of this name, in bytes; nothing if there is none.
    pub fn variable_bytes(&self, name: &str) -> Option<u64> {
        let variable =
            self.source.variables.iter().find(|v| v.name == name && (v.space == "global" || v.space == "const"));
        variable?.bytes
    }

    pub(crate) fn global_variables(&self) -> impl Iterator<Item = &str> {
        self.globals().map(|v| v.name.as_str())
    }

    /// The variables in global memory.
    pub(crate) fn globals(&self) -> impl Iterator<Item = &ptx::Variable> {
        self.source.variables.iter().filter(|v| v.space == "global")
    }

    /// Where the variable of this name lies.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        if let Some(index) = self.globals().position(|v| v.name == name) {
            return Some(Place::Global(index));
        }
        self.constant_layout().find(|(variable, _)| variable.name == name).map(|(variable, start)| Place::Constant {
            start: start as usize,
            size: variable.bytes.unwrap_or_default() as usize,
        })
    }

    /// The constant memory as the module fills it.
    pub(crate) fn constants(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for (variable, start) in self.constant_layout() {
            all.resize(start as usize, 0);
            all.extend(&variable.init);
            all.resize((start + variable.bytes.unwrap_or_default()) as usize, 0);
        }
        all
    }

    /// The constant variables and their offsets: one behind the other, as a kernel's decoder lays them.
    fn constant_layout(&self) -> impl Iterator<Item = (&ptx::Variable, u64)> {
        let constants = self.source.variables.iter().filter(|v| v.space == "const");
        constants.scan(0u64, |end, variable| {
            let start = end.next_multiple_of(variable.align.max(1));
            *end = start.saturating_add(variable.bytes.unwrap_or_default());
            Some((variable, start))
        })
    }

    /// Tells modules apart: kernels of one share their module-level variables.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The kernel (`.entry`) of this name, decoded. An instruction that the emulator does not know is
    /// an error with its line.
    pub fn kernel(&self, name: &str) -> Result<Kernel, PtxError> {
        let Some(function) = self.source.functions.iter().find(|f| f.entry && f.name == name) else {
            let known: Vec<&str> = self.kernels().collect();
            let message = format!("the module has no kernel `{name}`; it has: {}", known.join(", "));
            return Err(PtxError { line: 0, message, hint: None });
        };
        Ok(Kernel { program: Arc::new(decode(&self.source, function)?), module: self.clone() })
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

    /// The module that it comes from.
    pub fn module(&self) -> &Module {
        &self.module
    }
}
