//! What a person asks for, where a kernel may run on more than one device.

use std::str::FromStr;

/// Where the kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A CUDA GPU if one answers, else the emulator.
    Auto,
    /// A CUDA GPU.
    Cuda,
    /// The emulator, on the CPU.
    Emulator,
}

impl Backend {
    /// What `from_str` takes.
    pub const NAMES: [&str; 3] = ["auto", "cuda", "emulator"];
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(word: &str) -> Result<Backend, String> {
        match word {
            "auto" => Ok(Backend::Auto),
            "cuda" => Ok(Backend::Cuda),
            "emulator" => Ok(Backend::Emulator),
            _ => Err(format!("`{word}` is no backend: there are {}", Backend::NAMES.join(", "))),
        }
    }
}
