//! The ladder: all levels, found in this crate's manifest, and who of them takes part.

use gemm::{Build, Configuration, Dtype, Error, Level};

include!(concat!(env!("OUT_DIR"), "/levels.rs"));

/// The levels that `--levels` names by number or name; all, if it names none.
pub fn levels(chosen: &[String]) -> Result<Vec<&'static Level>, Error> {
    if chosen.is_empty() {
        return Ok(LEVELS.to_vec());
    }
    chosen.iter().map(|word| find(word)).collect()
}

fn find(word: &str) -> Result<&'static Level, Error> {
    let is_meant = |level: &&&Level| level.name == word || level.number().is_some_and(|n| n.to_string() == word);
    LEVELS.iter().find(is_meant).copied().ok_or_else(|| {
        let known: Vec<&str> = LEVELS.iter().map(|level| level.name).collect();
        let last = LEVELS.len() - 1;
        let all = format!("known are 0 to {last}, or {}", known.join(", "));
        let hint = suggested(word).map_or(all.clone(), |level| format!("you may mean {}; {all}", level.name));
        Error::usage(format!("there is no level `{word}`"), hint)
    })
}

/// The level that a word may mean: its folder's name as far as it goes, or the words of its name.
fn suggested(word: &str) -> Option<&'static Level> {
    let word = word.to_lowercase().replace(['_', ' '], "-");
    let of = |level: &&&Level| {
        let number = level.number().unwrap_or_default();
        let idea = level.name.split_once('-').map_or("", |(_, idea)| idea);
        [format!("level{number}"), format!("level-{number}"), idea.to_string()].contains(&word)
    };
    let begins = |level: &&&Level| !word.is_empty() && level.name.starts_with(&word);
    LEVELS.iter().find(of).or_else(|| LEVELS.iter().find(begins)).copied()
}

/// What the programs of this workspace are, and how each is run: what `cargo run` alone prints.
pub fn programs() -> String {
    let width = LEVELS.iter().map(|level| level.name.len()).max().unwrap_or(0);
    let row = |name: &str, what: &str| format!("  cargo run -p {name:<width$}  {what}\n");
    let levels: String = LEVELS.iter().map(|level| row(level.name, level.title)).collect();
    format!(
        "Each level is a program: it multiplies two matrices, checks the product, and says what its kernel did.\n\n{levels}\n\
         All levels side by side, and a kernel of your own:\n\n{}\n\
         `-- --help` behind a command lists its flags. The book is in book/src, and begins with introduction.md.\n",
        row("lab", "`-- compare`, `-- try`, `-- sanitize`, and more")
    )
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_folder_of_a_level_is_on_the_list_and_numbered_without_gaps() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let folders =
            [root.to_path_buf(), root.join("further")].into_iter().flat_map(|above| fs::read_dir(above).unwrap());
        let folders = folders.map(|entry| entry.unwrap().path());
        let mut found: Vec<String> = folders
            .filter(|folder| folder.join("kernel.cu").is_file())
            .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort_by_key(|name| (name.find('-'), name.clone()));
        let listed: Vec<&str> = LEVELS.iter().map(|level| level.name).collect();
        assert_eq!(found, listed, "crates/levels/Cargo.toml has a line for each folder");
        for (number, level) in (0..).zip(LEVELS) {
            assert_eq!(level.number(), Some(number), "{}", level.name);
            assert!(level.name.starts_with(&format!("level{number}-")), "{}", level.name);
            assert!(
                root.join(level.path).is_file() && level.path.ends_with(&format!("{}/kernel.cu", level.name)),
                "{}",
                level.path
            );
        }
    }

    #[test]
    fn every_level_starts_from_another_and_the_first_is_where_all_begin() {
        for level in LEVELS {
            let mut way = vec![level.name];
            let mut at: &Level = level;
            while let Some(from) = at.from {
                at = LEVELS
                    .iter()
                    .copied()
                    .find(|other| other.name == from)
                    .unwrap_or_else(|| panic!("{way:?}: no {from}"));
                assert!(!way.contains(&at.name), "{way:?} leads to {} again", at.name);
                way.push(at.name);
            }
            assert_eq!(at.number(), Some(0), "{way:?}: {} starts from nothing", at.name);
        }
    }

    #[test]
    fn the_list_of_programs_has_every_level_with_its_idea() {
        let text = programs();
        for level in LEVELS {
            assert!(text.contains(&format!("cargo run -p {}", level.name)) && text.contains(level.title), "{text}");
        }
        assert!(text.contains("cargo run -p lab "), "{text}");
    }

    #[test]
    fn a_level_is_found_by_number_or_name_and_types_that_nobody_multiplies_are_refused() {
        let found = levels(&["2".to_string(), "level0-naive".to_string()]).unwrap();
        assert_eq!(found.iter().filter_map(|level| level.number()).collect::<Vec<_>>(), [2, 0]);
        let unknown = levels(&["99".to_string()]).unwrap_err().to_string();
        assert!(unknown.starts_with("there is no level `99`\nhint: known are 0 to "), "{unknown}");
        for word in ["level2", "Level 2", "register", "level2-reg"] {
            let unknown = levels(&[word.to_string()]).unwrap_err().to_string();
            assert!(unknown.contains("\nhint: you may mean level2-register; known are 0 to "), "{unknown}");
        }
        assert_eq!(suggested("level1").and_then(|level| level.number()), Some(1), "and not level 10");
        assert!(suggested("").is_none());
        let e5m2 = "e5m2".parse().unwrap();
        let refused = builds(&[LEVELS[0]], e5m2, false).unwrap_err().to_string();
        assert_eq!(refused, "none of these levels multiplies e5m2\nhint: there are f64, f32");
    }
}
