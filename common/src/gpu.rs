//! The GPUs that the emulator can model, by name.

use crate::Error;

/// A modelled GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpu {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its architecture: 90 is `sm_90`.
    pub architecture: u32,
}

const KNOWN: [(&str, u32); 9] = [
    ("k80", 37),
    ("t4", 75),
    ("a100", 80),
    ("rtx3090", 86),
    ("rtx4090", 89),
    ("l20", 89),
    ("h100", 90),
    ("h200", 90),
    ("rtx5090", 120),
];

/// The GPU of this name.
pub fn find(name: &str) -> Result<Gpu, Error> {
    match KNOWN.into_iter().find(|(known, _)| *known == name) {
        Some((name, architecture)) => Ok(Gpu { name, architecture }),
        None => {
            let names = KNOWN.map(|(name, _)| name).join(", ");
            Err(Error::usage(format!("no GPU is known as `{name}`"), format!("known are {names}")))
        }
    }
}
