//! Data goes to stdout, and is there as soon as it is said.

use std::io::{self, Write};

use common::Error;

/// Writes and flushes. A reader that closed the pipe has seen enough; a full disk is an error.
pub fn print(text: &str) -> Result<(), Error> {
    write(&mut io::stdout(), text)
}

/// The same to any place.
pub fn write(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::usage(format!("cannot write: {error}"), "what was written before is still there"))
        }
        _ => Ok(()),
    }
}
