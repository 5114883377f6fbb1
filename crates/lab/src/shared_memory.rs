//! Shared memory beyond what every launch gets: static, which ptxas refuses, and dynamic, which the host has to ask for.

use cuda_source::{Kernel, Program};
use gemm::Error;

use crate::candidate::Candidate;
use crate::output::note;

/// Bytes of a block that need no word of the host: all that may be static, on every architecture.
const USUAL: u32 = 48 << 10;
const ATTRIBUTE: &str = "cudaFuncAttributeMaxDynamicSharedMemorySize";

/// Refuses static shared memory that no ptxas takes.
pub fn fits(kernel: &str, bytes: u32) -> Result<(), Error> {
    if bytes <= USUAL {
        return Ok(());
    }
    Err(Error::usage(
        format!("{kernel} has {bytes} bytes of static shared memory, and ptxas takes {USUAL}, on every GPU"),
        format!(
            "make it `extern __shared__`, give {bytes} by --shared and in the launch, and raise {ATTRIBUTE} to that"
        ),
    ))
}

/// Says of a launch with dynamic shared memory beyond the usual what it needs of the host, and that the file's own lacks it.
pub fn dynamic(candidate: &Candidate, bytes: u32) {
    let written = candidate.written.as_ref().map(|(program, choice)| (&**program, &choice.kernel));
    said(&candidate.kernel.entry, written, bytes).into_iter().for_each(|said| note(&said));
}

/// The same of a kernel by its name, and as its file has it.
pub fn said(name: &str, written: Option<(&Program, &Kernel)>, bytes: u32) -> Option<String> {
    if bytes <= USUAL {
        return None;
    }
    let name = written.map_or(name, |(_, kernel)| &kernel.name);
    let call = format!("cudaFuncSetAttribute({name}, {ATTRIBUTE}, {bytes})");
    let launched = written.and_then(|(program, kernel)| {
        let launch = program.launches().iter().find(|launch| program.is_of(launch, kernel))?;
        Some((launch, program.raises_shared_memory(kernel)))
    });
    Some(match launched {
        Some((_, true)) => return None,
        Some((launch, false)) => format!(
            "warning: {}:{}: this launch fails on a GPU: {bytes} bytes of dynamic shared memory are more than {USUAL}, and nothing \
             raises the limit of {name}\nhint: {call} before it",
            launch.path, launch.line
        ),
        None => format!(
            "note: {bytes} bytes of dynamic shared memory are more than {USUAL}: a launch needs {call} before it"
        ),
    })
}
