//! What a call can end with.

use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::cudaError_enum as Status;

/// Why a product was not submitted. Printed, it is a line that says what is wrong, and a second one that says what to do.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call does not fit together: a size, a slice, a stream.
    #[error("{message}\nhint: {hint}")]
    Misuse {
        /// What is wrong, with the value and the limit.
        message: String,
        /// What to do.
        hint: String,
    },
    /// No kernel computes this here. What is asked for may be computed on another card, or by another library.
    #[error("{message}\nhint: {hint}")]
    Unsupported {
        /// What there is not.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The GPU has no room for what was to be loaded or allocated.
    #[error("{doing}: the GPU is out of memory\nhint: free some, and call again")]
    OutOfMemory {
        /// What was going on.
        doing: &'static str,
        /// The driver's answer.
        source: Answer,
    },
    /// The GPU does not answer any more.
    #[error("{doing}: the GPU is lost ({source})\nhint: this process cannot use it again; look into the system's log")]
    DeviceLost {
        /// What was going on.
        doing: &'static str,
        /// The driver's answer.
        source: Answer,
    },
    /// A kernel that was submitted before, by whomever, did what it must not do: the context is unusable from then on.
    #[error(
        "{doing}: a kernel before this call has failed ({source})\nhint: run that one with compute-sanitizer; this context is lost"
    )]
    EarlierFault {
        /// What was going on.
        doing: &'static str,
        /// The driver's answer.
        source: Answer,
    },
    /// The driver refuses for another reason.
    #[error("{doing}: the driver answers {source}\nhint: the CUDA driver's documentation explains its answers")]
    Driver {
        /// What was going on.
        doing: &'static str,
        /// The driver's answer.
        source: Answer,
    },
}

/// An answer of the CUDA driver, by its name: `CUDA_ERROR_ILLEGAL_ADDRESS`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Answer(pub DriverError);

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.0)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.0)
    }
}

impl std::error::Error for Answer {}

impl Error {
    pub(crate) fn misuse(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Misuse { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn unsupported(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Unsupported { message: message.into(), hint: hint.into() }
    }

    /// What the driver answers while something is done.
    pub(crate) fn driver(doing: &'static str, error: DriverError) -> Error {
        let source = Answer(error);
        match error.0 {
            Status::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { doing, source },
            Status::CUDA_ERROR_DEVICE_UNAVAILABLE
            | Status::CUDA_ERROR_NO_DEVICE
            | Status::CUDA_ERROR_ECC_UNCORRECTABLE
            | Status::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | Status::CUDA_ERROR_DEINITIALIZED
            | Status::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | Status::CUDA_ERROR_SYSTEM_NOT_READY => Error::DeviceLost { doing, source },
            Status::CUDA_ERROR_ILLEGAL_ADDRESS
            | Status::CUDA_ERROR_LAUNCH_TIMEOUT
            | Status::CUDA_ERROR_ASSERT
            | Status::CUDA_ERROR_HARDWARE_STACK_ERROR
            | Status::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | Status::CUDA_ERROR_MISALIGNED_ADDRESS
            | Status::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | Status::CUDA_ERROR_INVALID_PC
            | Status::CUDA_ERROR_LAUNCH_FAILED => Error::EarlierFault { doing, source },
            _ => Error::Driver { doing, source },
        }
    }

    /// A line and a hint of a call that does not fit together.
    pub(crate) fn misused(error: gemm::Error) -> Error {
        match error {
            gemm::Error::Usage { message, hint } => Error::Misuse { message, hint },
            gemm::Error::Fault(message) => Error::misuse(message, "report this"),
        }
    }

    /// A line and a hint of what a kernel cannot do.
    pub(crate) fn cannot(error: gemm::Error) -> Error {
        match error {
            gemm::Error::Usage { message, hint } => Error::Unsupported { message, hint },
            gemm::Error::Fault(message) => Error::unsupported(message, "report this"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn the_drivers_answers_are_told_apart_and_stand_behind_the_error() {
        let kind = |status| {
            let error = Error::driver("launching", DriverError(status));
            let text = error.to_string();
            assert!(
                text.starts_with("launching: ") && text.lines().count() == 2 && text.contains("\nhint: "),
                "{text}"
            );
            assert_eq!(error.source().unwrap().to_string(), format!("{status:?}"));
            error
        };
        assert!(matches!(kind(Status::CUDA_ERROR_OUT_OF_MEMORY), Error::OutOfMemory { .. }));
        assert!(matches!(kind(Status::CUDA_ERROR_ECC_UNCORRECTABLE), Error::DeviceLost { .. }));
        assert!(matches!(kind(Status::CUDA_ERROR_ILLEGAL_ADDRESS), Error::EarlierFault { .. }));
        assert!(matches!(kind(Status::CUDA_ERROR_INVALID_VALUE), Error::Driver { .. }));
    }
}
