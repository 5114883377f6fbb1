//! A word on stderr about what a driver does not take.

use std::io::Write;

/// A line, if anybody reads it.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
