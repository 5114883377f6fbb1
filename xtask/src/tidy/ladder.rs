//! Folder, crate, kernel and book page of a level carry the same name and number.

use super::tree::{Finding, Level, Tree, numbered};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let levels = tree.levels();
    let mut findings = folders(tree, &levels);
    findings.extend(members(tree, &levels));
    findings.extend(levels.iter().filter_map(|level| package(tree, level)));
    findings.extend(levels.iter().filter_map(|level| header(tree, level)));
    findings.extend(pages(tree, &levels));
    findings
}

/// Folders that begin with "level" are named `levelN-words`, and N counts from 0 without a gap.
fn folders(tree: &Tree, levels: &[Level]) -> Vec<Finding> {
    let strange = tree.folders().into_iter().filter(|name| is_level(name) && Level::named(name).is_none());
    let mut findings: Vec<Finding> =
        strange.map(|name| Finding::new(name, 1, "the folder is not named levelN-words")).collect();
    for (expected, level) in levels.iter().enumerate() {
        if level.number != expected {
            findings.push(Finding::new(&level.folder, 1, format!("level {expected} is expected here: count from 0")));
        }
    }
    findings
}

/// Whether a folder is there for a level.
fn is_level(folder: &str) -> bool {
    folder.rsplit('/').next().is_some_and(|name| name.starts_with("level"))
}

/// The manifest of which the list of levels is made.
const LADDER: &str = "crates/levels/Cargo.toml";

/// The dependencies of the ladder that are levels, and the folders that are, are the same.
fn members(tree: &Tree, levels: &[Level]) -> Vec<Finding> {
    let text = tree.text(LADDER).unwrap_or_default();
    let Ok(manifest) = text.parse::<toml::Table>() else {
        return vec![Finding::new(LADDER, 1, "is not TOML")];
    };
    let listed: Vec<&str> = manifest
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .map(|dependencies| dependencies.keys().map(String::as_str).filter(|name| name.starts_with("level")).collect())
        .unwrap_or_default();
    let mut findings = Vec::new();
    for level in levels.iter().filter(|level| !listed.contains(&level.name.as_str())) {
        findings.push(Finding::new(LADDER, 1, format!("{} has no line among the dependencies", level.name)));
    }
    for name in listed.iter().filter(|name| !levels.iter().any(|level| level.name == **name)) {
        let line = numbered(text).find(|(_, line)| line.starts_with(name)).map_or(1, |(number, _)| number);
        findings.push(Finding::new(LADDER, line, format!("{name} has no folder")));
    }
    findings
}

/// The crate is named as its folder.
fn package(tree: &Tree, level: &Level) -> Option<Finding> {
    let path = format!("{}/Cargo.toml", level.folder);
    let text = tree.text(&path).unwrap_or_default();
    let manifest = text.parse::<toml::Table>().unwrap_or_default();
    let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
    if name == Some(&level.name) {
        return None;
    }
    let line = numbered(text).find(|(_, line)| line.starts_with("name")).map_or(1, |(number, _)| number);
    Some(Finding::new(&path, line, format!("the crate is not named {}, as its folder is", level.name)))
}

/// The first line of `kernel.cu` is `// Level N: its idea.`
fn header(tree: &Tree, level: &Level) -> Option<Finding> {
    let path = format!("{}/kernel.cu", level.folder);
    let expected = format!("// Level {}: ", level.number);
    let first = tree.text(&path).and_then(|text| text.lines().next()).unwrap_or_default();
    let titled = first.strip_prefix(&expected).is_some_and(|title| title.len() > 1 && title.ends_with('.'));
    (!titled)
        .then(|| Finding::new(&path, 1, format!("the first line is not `{expected}` and a title with a full stop")))
}

/// Each level has a lesson, `lessonN.md`, and each lesson a level.
fn pages(tree: &Tree, levels: &[Level]) -> Vec<Finding> {
    let lesson = |path: &str| path.strip_prefix("book/src/lesson")?.strip_suffix(".md")?.parse::<usize>().ok();
    let lessons: Vec<(&str, usize)> = tree.files().filter_map(|(path, _)| Some((path, lesson(path)?))).collect();
    let lacking = levels.iter().filter(|level| !lessons.iter().any(|(_, number)| *number == level.number));
    let mut findings: Vec<Finding> = lacking
        .map(|level| Finding::new(&level.folder, 1, format!("there is no book/src/lesson{}.md", level.number)))
        .collect();
    let strange = lessons.iter().filter(|(_, number)| !levels.iter().any(|level| level.number == *number));
    findings.extend(strange.map(|(path, _)| Finding::new(path, 1, "the lesson is of no level")));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const LIST: (&str, &str) = (
        "crates/levels/Cargo.toml",
        "[dependencies]\ncommon = \"1\"\n\nlevel0-naive = { path = \"../level0-naive\" }\n",
    );
    const CRATE: (&str, &str) = ("level0-naive/Cargo.toml", "[package]\nname = \"level0-naive\"\n");
    const KERNEL: (&str, &str) = ("level0-naive/kernel.cu", "// Level 0: one thread, one element.\n");
    const LESSON: (&str, &str) = ("book/src/lesson0.md", "");

    #[test]
    fn names_that_agree_pass() {
        assert!(printed(check, [LIST, CRATE, KERNEL, LESSON]).is_empty());
    }

    #[test]
    fn a_folder_that_is_not_listed_and_a_line_without_folder() {
        let other =
            [("level0-flat/Cargo.toml", "[package]\nname = \"level0-flat\""), ("level0-flat/kernel.cu", KERNEL.1)];
        assert_eq!(
            printed(check, [LIST, LESSON, other[0], other[1]]),
            [
                "crates/levels/Cargo.toml:1: level0-flat has no line among the dependencies",
                "crates/levels/Cargo.toml:4: level0-naive has no folder"
            ]
        );
    }

    #[test]
    fn another_crate_name() {
        let renamed = (CRATE.0, "[package]\nname = \"naive\"\n");
        assert_eq!(
            printed(check, [LIST, LESSON, renamed, KERNEL]),
            ["level0-naive/Cargo.toml:2: the crate is not named level0-naive, as its folder is"]
        );
    }

    #[test]
    fn another_number_in_the_kernel() {
        for first in ["// Level 1: one thread, one element.", "// Level 0: no full stop", ""] {
            assert_eq!(
                printed(check, [LIST, LESSON, CRATE, (KERNEL.0, first)]),
                ["level0-naive/kernel.cu:1: the first line is not `// Level 0: ` and a title with a full stop"]
            );
        }
    }

    #[test]
    fn a_gap_a_strange_folder_and_a_lesson_of_no_level() {
        let found = printed(check, [("level1-x/src/lib.rs", ""), ("level_2/a", ""), ("book/src/lesson7.md", "")]);
        for expected in [
            "level1-x:1: level 0 is expected here: count from 0",
            "level_2:1: the folder is not named levelN-words",
            "level1-x:1: there is no book/src/lesson1.md",
            "book/src/lesson7.md:1: the lesson is of no level",
        ] {
            assert!(found.contains(&expected.to_string()), "{found:?}");
        }
    }
}
