//! Data goes to stdout, and is there as soon as it is said; notes go to stderr.
//!
//! Text for a person is broken to fit a terminal, or the columns that the variable `COLUMNS` gives; what goes into a file or a pipe
//! stays as it is.

use std::env;
use std::io::{self, Write};

use console::Term;
use gemm::Error;

use crate::wrap::wrapped;

/// Writes to stdout, and flushes.
///
/// # Errors
/// [`Error::Usage`], where it cannot be written, as on a full disk. A reader that closed the pipe has seen enough.
pub fn print(text: &str) -> Result<(), Error> {
    write(&mut io::stdout(), text.as_bytes())
}

/// Writes a text for a person to stdout: its prose in lines that fit.
///
/// # Errors
/// As of [`print`].
pub fn say(text: &str) -> Result<(), Error> {
    print(&columns(&Term::stdout()).map_or_else(|| text.to_string(), |width| wrapped(text, width)))
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
    let text = columns(&Term::stderr()).map_or_else(|| text.to_string(), |width| wrapped(text, width));
    let _ = writeln!(io::stderr(), "{text}");
}

/// How many columns stdout has; none where nothing limits them.
#[must_use]
pub fn width() -> Option<usize> {
    columns(&Term::stdout())
}

fn columns(terminal: &Term) -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| terminal.size_checked().map(|(_, columns)| usize::from(columns))).filter(|&columns| columns > 0)
}
