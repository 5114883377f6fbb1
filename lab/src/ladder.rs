//! The levels, and who of them takes part.

use common::{Build, Configuration, Dtype, Error, Level};

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

/// Every combination of types that one of the levels multiplies.
pub fn dtypes(levels: &[&'static Level]) -> impl Iterator<Item = Dtype> {
    let is_multiplied = |dtype: &Dtype| levels.iter().any(|level| level.dtypes().any(|own| own == *dtype));
    Dtype::ALL.into_iter().map(|(_, dtype)| dtype).filter(is_multiplied)
}

/// Every variant of the levels with its default tile sizes or, if `shipped`, with all tile sizes that are shipped.
///
/// # Errors
/// [`Error::Usage`], where none of them multiplies these types.
pub fn builds(levels: &[&'static Level], dtype: Dtype, shipped: bool) -> Result<Vec<Build>, Error> {
    let mut builds = Vec::new();
    for level in levels {
        let default = level.default_build(dtype).configuration.tiles;
        let fits = |c: &Configuration| c.dtype == dtype && (shipped || c.tiles == default);
        builds.extend(level.shipped_builds().into_iter().filter(|build| fits(&build.configuration)));
    }
    if builds.is_empty() {
        let known: Vec<&str> = dtypes(levels).map(Dtype::name).collect();
        let who = if levels.len() == LEVELS.len() { "no level" } else { "none of these levels" };
        return Err(Error::usage(format!("{who} multiplies {dtype}"), format!("there are {}", known.join(", "))));
    }
    Ok(builds)
}
