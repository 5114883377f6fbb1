//! Data goes to stdout, and is there as soon as it is said; notes go to stderr.

use std::io::{self, Write};

use gemm::Error;

/// Writes to stdout, and flushes.
///
/// # Errors
/// [`Error::Usage`], where it cannot be written, as on a full disk. A reader that closed the pipe has seen enough.
pub fn print(text: &str) -> Result<(), Error> {
    write(&mut io::stdout(), text.as_bytes())
}

/// The same to where `out` leads.
///
/// # Errors
/// As of [`print`].
pub fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), Error> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::usage(format!("cannot write: {error}"), "what was written before is still there"))
        }
        _ => Ok(()),
    }
}

/// A line to stderr, if anybody reads it.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
