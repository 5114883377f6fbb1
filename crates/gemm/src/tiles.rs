//! Tile sizes by name.

use std::fmt;
use std::ops::Index;

use serde::{Serialize, Serializer};

/// Tile sizes by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiles(pub Vec<(&'static str, u32)>);

impl Tiles {
    /// The sizes alone, in the level's order.
    pub fn sizes(&self) -> Vec<u32> {
        self.0.iter().map(|&(_, size)| size).collect()
    }
}

impl Index<&str> for Tiles {
    type Output = u32;

    /// The size of this name, which the level must have.
    fn index(&self, name: &str) -> &u32 {
        match self.0.iter().find(|(n, _)| *n == name) {
            Some((_, size)) => size,
            None => panic!("the level's launch asks for {name}, which is not among its tile sizes"),
        }
    }
}

impl fmt::Display for Tiles {
    /// `BM=32 BN=32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|(name, size)| format!("{name}={size}")).collect();
        f.write_str(&words.join(" "))
    }
}

impl Serialize for Tiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
