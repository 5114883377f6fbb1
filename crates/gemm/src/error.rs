//! What can go wrong, and the exit code that it means.

/// Why a run did not come to a report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Bad usage or environment: one line, and what to do about it.
    #[error("{message}\nhint: {hint}")]
    Usage {
        /// What is wrong, with the value and the limit.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The kernel did what it must not do; the fault as a person reads it.
    #[error("{0}")]
    Fault(String),
}

impl Error {
    /// Bad usage or environment.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Usage { message: message.into(), hint: hint.into() }
    }

    /// 2 for bad usage or environment, 1 for a fault.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage { .. } => 2,
            Error::Fault(_) => 1,
        }
    }
}
