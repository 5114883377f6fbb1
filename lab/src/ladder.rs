//! The levels, and who of them takes part.

use common::level::Configuration;
use common::{Dtype, Error, Level};

/// Every level, in order.
pub const LEVELS: [&Level; 9] = [
    &level0_naive::LEVEL,
    &level1_tiling::LEVEL,
    &level2_register::LEVEL,
    &level3_double_buffer::LEVEL,
    &level4_vectorized::LEVEL,
    &level5_warp_tiling::LEVEL,
    &level6_async_copy::LEVEL,
    &level7_split_k::LEVEL,
    &level8_stream_k::LEVEL,
];

/// A level in one configuration.
#[derive(Debug, Clone)]
pub struct Entrant {
    /// The level.
    pub level: &'static Level,
    /// Element type, variant and tile sizes.
    pub configuration: Configuration,
}

impl Entrant {
    /// The level's name and, where it has variants, the variant's.
    pub fn name(&self) -> String {
        format!("{} {}", self.level.name, self.configuration.variant).trim_end().to_string()
    }
}

/// The levels that `--levels` names by number or name; all, if it names none.
pub fn levels(chosen: &[String]) -> Result<Vec<&'static Level>, Error> {
    if chosen.is_empty() {
        return Ok(LEVELS.to_vec());
    }
    chosen.iter().map(|word| find(word)).collect()
}

fn find(word: &str) -> Result<&'static Level, Error> {
    let is_meant = |level: &&&Level| level.name == word || level.number.to_string() == word;
    LEVELS.iter().find(is_meant).copied().ok_or_else(|| {
        let known: Vec<&str> = LEVELS.iter().map(|level| level.name).collect();
        let last = LEVELS.len() - 1;
        Error::usage(format!("there is no level `{word}`"), format!("known are 0 to {last}, or {}", known.join(", ")))
    })
}

/// Every combination of types that a level multiplies, in the order of their names.
pub fn dtypes() -> impl Iterator<Item = Dtype> {
    let is_multiplied = |dtype: &Dtype| LEVELS.iter().any(|level| level.dtypes().any(|own| own == *dtype));
    Dtype::ALL.into_iter().map(|(_, dtype)| dtype).filter(is_multiplied)
}

/// Every variant of the levels with its default tile sizes or, if `shipped`, with all tile sizes that are shipped.
pub fn entrants(levels: &[&'static Level], dtype: Dtype, shipped: bool) -> Vec<Entrant> {
    let mut entrants = Vec::new();
    for level in levels {
        let default = level.default_configuration(dtype);
        let fits = |c: &Configuration| c.dtype == dtype && (shipped || c.tiles == default.tiles);
        let configurations = level.shipped_configurations().into_iter().filter(fits);
        entrants.extend(configurations.map(|configuration| Entrant { level, configuration }));
    }
    entrants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_that_shares_its_last_round_has_rounds() {
        for entrant in entrants(&LEVELS, Dtype::F32, true) {
            let tiles = &entrant.configuration.tiles;
            let blocks = tiles.0.iter().find(|(name, _)| *name == "BLOCKS").map_or(1, |&(_, blocks)| blocks);
            assert_eq!(entrant.level.round(tiles), blocks, "{} {tiles}", entrant.name());
        }
    }
}
