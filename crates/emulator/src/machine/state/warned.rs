//! What is doubtful, by the pairs of lines that it is said of.

use std::collections::BTreeMap;

use crate::{Warning, WarningKind};

/// By the lines of the second and of the first of the two.
#[derive(Debug, Default)]
pub(crate) struct Warned(pub BTreeMap<(Line, Line, WarningKind), Noted>);

/// A file and a line; of PTX that names none, its own.
pub(crate) type Line = (u32, u32);

#[derive(Debug, Clone)]
pub(crate) struct Noted {
    /// The thread block that it is said of, by number.
    pub block: u64,
    /// The last that was counted.
    pub last: Moment,
    pub warning: Warning,
}

/// An instruction of a thread at one time: its block, how many warp instructions that had executed, the thread and the
/// instruction.
pub(crate) type Moment = (u64, u64, u32, u32);

impl Warned {
    pub fn add(&mut self, other: &Warned) {
        for (key, noted) in &other.0 {
            let Some(known) = self.0.get_mut(key) else {
                self.0.insert(*key, noted.clone());
                continue;
            };
            let count = known.warning.count + noted.warning.count;
            if noted.block < known.block {
                *known = noted.clone();
            }
            known.warning.count = count;
        }
    }

    /// The warnings, by lines.
    pub fn all(&self) -> Vec<Warning> {
        self.0.values().take(Warning::MOST).map(|noted| noted.warning.clone()).collect()
    }
}
