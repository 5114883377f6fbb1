//! What is no fault, and may be why a result is wrong.

use std::fmt;

use crate::Site;

/// Something that a right kernel may do, too: it is to be said only where a result is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Circumstance {
    /// What it is, and what to look at.
    pub text: String,
    /// Where.
    pub site: Site,
}

impl Circumstance {
    /// How many of a launch are kept at most.
    pub const MOST: usize = 4;
}

impl fmt::Display for Circumstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.site.source {
            Some((file, line)) => write!(f, "at {file}:{line} {}", self.text),
            None => write!(f, "at PTX line {} {}", self.site.ptx_line, self.text),
        }
    }
}
