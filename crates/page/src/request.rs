//! What a page asks for: a level, a problem, and how it is to run.

use std::collections::BTreeMap;

use gemm::change::changed;
use gemm::{Dtype, Error, Shape};
use serde::Deserialize;

/// A product by a level, on the emulator. What is left out is as on the command line, but for the sizes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The level: its crate, or its number as a text.
    pub level: String,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Element types.
    #[serde(default = "f32")]
    pub dtype: Dtype,
    /// A variant of the level.
    pub variant: Option<String>,
    /// Other tile sizes, by name. Together they must be among those that are shipped compiled.
    #[serde(default)]
    pub tiles: BTreeMap<String, u32>,
    /// The GPU that the emulator models.
    #[serde(default = "h200")]
    pub gpu: String,
    /// Seed of A and B.
    #[serde(default = "one")]
    pub seed: u64,
    /// Whether the emulator looks for races and uninitialised memory.
    #[serde(default = "yes")]
    pub sanitize: bool,
    /// Whether the kernel's text is wanted, with its counters in the margin.
    #[serde(default)]
    pub annotate: bool,
    /// Whether the elements of C are wanted, as bits.
    #[serde(default)]
    pub bits: bool,
    /// The text of a PTX file: a shipped one, which the module has not in it, or one's own with the level's parameters and launch.
    pub ptx: Option<String>,
    /// The kernel's text, where it is not the level's own: faults and counters name its lines.
    pub source: Option<String>,
    /// A change of the kernel's text, a unified diff: `ptx` is that of the changed kernel, and faults and counters name its lines.
    pub change: Option<String>,
    /// What one warp accesses is wanted, in place of a report.
    pub step: Option<Step>,
    /// Warp instructions after which a thread block counts as stuck, if not the emulator's own number.
    pub instruction_limit: Option<u64>,
}

/// Whose accesses are wanted, and where.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The thread block: x, y, z.
    #[serde(default)]
    pub block: [u32; 3],
    /// The warp in it.
    #[serde(default)]
    pub warp: u32,
    /// The line of the kernel's text; nothing for all.
    pub line: Option<u32>,
}

impl Request {
    /// A request in JSON.
    ///
    /// # Errors
    /// [`Error::Usage`], where it is none.
    pub fn parse(text: &str) -> Result<Request, Error> {
        serde_json::from_str(text).map_err(|error| {
            let least = "{\"level\": \"2\", \"m\": 100, \"n\": 70, \"k\": 50}";
            Error::usage(format!("this is no request: {error}"), format!("the least one is {least}"))
        })
    }

    /// The request with the kernel's text after its change, if it has one.
    ///
    /// # Errors
    /// [`Error::Usage`], where the change is none of the level's text, or there is no such level.
    pub fn with_its_change(mut self) -> Result<Request, Error> {
        if let Some(change) = &self.change {
            let level = levels::levels(std::slice::from_ref(&self.level))?[0];
            self.source = Some(changed(self.source.as_deref().unwrap_or(level.source), change)?);
        }
        Ok(self)
    }

    /// The kernel's text, if a change has made it.
    pub fn changed_source(&self) -> Option<String> {
        self.source.clone().filter(|_| self.change.is_some())
    }

    /// The problem's sizes.
    ///
    /// # Errors
    /// [`Error::Usage`], where one is 0.
    pub fn shape(&self) -> Result<Shape, Error> {
        let shape = Shape { m: self.m, n: self.n, k: self.k };
        match shape.m.min(shape.n).min(shape.k) {
            0 => Err(Error::usage(format!("a size of {shape} is 0"), "every size is at least 1")),
            _ => Ok(shape),
        }
    }
}

fn f32() -> Dtype {
    Dtype::F32
}

fn h200() -> String {
    "h200".to_string()
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}
