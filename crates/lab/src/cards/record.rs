//! The record of what every shipped configuration needs on every architecture.

use gemm::{Dtype, Error};
use serde::{Deserialize, Serialize};

/// The architectures that the record is about.
pub const ARCHITECTURES: [u32; 9] = [60, 70, 75, 80, 86, 89, 90, 100, 120];

/// A shipped configuration on an architecture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The level's crate.
    pub level: String,
    /// The variant; empty where the level has none.
    pub variant: String,
    /// Element type.
    pub dtype: Dtype,
    /// Tile sizes by name.
    pub tiles: String,
    /// The start of the hash of source and options, as the file's header has it.
    pub source: String,
    /// 75 is `sm_75`.
    pub sm: u32,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes per thread, stores and loads.
    pub spilled_bytes: Option<u32>,
    /// Bytes per block, static and dynamic.
    pub shared_bytes: Option<u32>,
    /// Blocks on an SM; 0, if not one fits.
    pub blocks_per_sm: u32,
    /// Share of the warps that an SM can hold.
    pub occupancy: f64,
    /// What limits the blocks.
    pub limited_by: String,
    /// Why ptxas refuses it there.
    pub refused: String,
}

impl Row {
    /// Whether it can run.
    pub fn runs(&self) -> bool {
        self.blocks_per_sm > 0
    }

    /// Level and variant, as tables name them.
    pub fn name(&self) -> String {
        format!("{} {}", self.level, self.variant).trim_end().to_string()
    }
}

/// The rows of a record.
pub fn read(text: &str) -> Result<Vec<Row>, Error> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, csv::Error>>().map_err(|error| unlike(&error))
}

/// The versions of ptxas that made a record.
pub fn compilers(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("# ptxas ")?.split_once(": ")).collect()
}

/// What is said of a record that is none.
pub fn unlike(error: &dyn std::fmt::Display) -> Error {
    Error::usage(format!("the record of cards is not whole: {error}"), "`press cards` makes it again")
}
