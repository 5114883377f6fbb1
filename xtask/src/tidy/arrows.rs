//! The crates depend on each other as ARCHITECTURE.md draws it, and no arrow leads up. What a level is reaches nothing outside.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::tree::{Finding, Level, Tree, numbered};

const DRAWING: &str = "ARCHITECTURE.md";
const ARROW: &str = "─►";
/// What stands for every level.
const LEVELS: &str = "level*";
/// The sources that reach nothing outside, and what they do not name.
const PURE: &str = "crates/gemm/src/";
const OUTSIDE: [&str; 5] = ["std::env", "std::fs", "std::net", "std::process", "std::time"];

/// A crate's name, and what it depends on of the workspace.
type Arrows = BTreeMap<String, BTreeSet<String>>;
/// The same as it is drawn, with the line.
type Drawn = BTreeMap<String, (usize, BTreeSet<String>)>;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let (drawn, mut findings) = drawn(tree.text(DRAWING).unwrap_or_default());
    let there = there(tree);
    for (name, dependencies) in &there {
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        match drawn.get(name) {
            None => findings.push(Finding::new(DRAWING, 1, format!("no line `{name} {ARROW}` draws that crate"))),
            Some((line, shown)) if shown != dependencies => {
                let what = format!("{name} is drawn to depend on [{}]: it is [{}]", list(shown), list(dependencies));
                findings.push(Finding::new(DRAWING, *line, what));
            }
            Some(_) => (),
        }
    }
    let unknown = drawn.iter().filter(|(name, _)| !there.contains_key(*name));
    findings.extend(unknown.map(|(name, (line, _))| Finding::new(DRAWING, *line, format!("there is no crate {name}"))));
    for (path, text) in tree.ending(&[".rs"]).filter(|(path, _)| path.starts_with(PURE)) {
        let outside = |line: &str| OUTSIDE.into_iter().find(|module| line.contains(module));
        let found = numbered(text).filter_map(|(number, line)| Some((number, outside(line)?)));
        findings.extend(found.map(|(line, module)| Finding::new(path, line, format!("{module} reaches outside"))));
    }
    findings
}

/// The arrows of the drawing with their lines, `name ─► a, b`, with two blanks before any more words; and those that lead up.
fn drawn(text: &str) -> (Drawn, Vec<Finding>) {
    let mut drawn = Drawn::new();
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        let Some((name, rest)) = line.split_once(ARROW) else { continue };
        let list = rest.trim_start_matches(' ').split("  ").next().unwrap_or_default();
        let list = if rest.starts_with("  ") { "" } else { list };
        let names: BTreeSet<String> =
            list.split(", ").map(str::trim).filter(|n| !n.is_empty()).map(String::from).collect();
        for up in names.iter().filter(|name| drawn.contains_key(*name)) {
            findings.push(Finding::new(DRAWING, number, format!("the arrow to {up} leads up")));
        }
        drawn.insert(name.trim().to_string(), (number, names));
    }
    (drawn, findings)
}

/// What the manifests say, tests left out.
fn there(tree: &Tree) -> Arrows {
    let manifest = |path: &str| tree.text(path).unwrap_or_default().parse::<Table>().unwrap_or_default();
    let root = manifest("Cargo.toml");
    let shared = root.get("workspace").and_then(|all| all.get("dependencies")?.as_table()).cloned().unwrap_or_default();
    let is_ours = |name: &str, value: &Value| {
        value.get("path").is_some()
            || value.get("workspace").is_some() && shared.get(name).is_some_and(|value| value.get("path").is_some())
    };
    // As the others call it: a package may have a longer name.
    let called = |package: &str| {
        let renamed = |(_, value): &(&String, &Value)| value.get("package").and_then(Value::as_str) == Some(package);
        drawn_name(shared.iter().find(renamed).map_or(package, |(name, _)| name))
    };
    let mut arrows = Arrows::new();
    for (path, _) in tree.files().filter(|(path, _)| path.rsplit('/').next() == Some("Cargo.toml")) {
        let whole = Value::Table(manifest(path));
        let Some(package) = whole.get("package").and_then(|package| package.get("name")?.as_str()) else { continue };
        let targets = whole.get("target").and_then(Value::as_table).into_iter().flat_map(|all| all.values());
        let tables = targets.chain([&whole]).filter_map(|table| table.get("dependencies")?.as_table());
        let dependencies = tables.flatten();
        let ours = dependencies.filter(|(name, value)| is_ours(name, value)).map(|(name, _)| drawn_name(name));
        arrows.entry(called(package)).or_default().extend(ours);
    }
    arrows
}

/// A crate's name in the drawing, where one name stands for all levels.
fn drawn_name(name: &str) -> String {
    if Level::named(name).is_some() { LEVELS.to_string() } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const ROOT: (&str, &str) = (
        "Cargo.toml",
        "[workspace.dependencies]\ncommon = { path = \"common\" }\nemulator = { package = \"ptx-emulator\", path = \"e\" }\nserde = \"1\"\n",
    );
    const LEVEL: (&str, &str) = (
        "level0-a/Cargo.toml",
        "[package]\nname = \"level0-a\"\n[target.'cfg(unix)'.dependencies]\ncommon.workspace = true\n[dev-dependencies]\nlevel1-b = { path = \"\" }\n",
    );
    const COMMON: (&str, &str) = (
        "common/Cargo.toml",
        "[package]\nname = \"common\"\n[dependencies]\nemulator.workspace = true\nserde.workspace = true\n",
    );
    const EMULATOR: (&str, &str) = ("e/Cargo.toml", "[package]\nname = \"ptx-emulator\"\n");
    const DRAWN: &str = "level* ─► common  a level\ncommon ─► emulator\nemulator ─►  runs PTX, counts\n";

    fn on(drawing: &str) -> Vec<String> {
        printed(check, [ROOT, LEVEL, COMMON, EMULATOR, ("ARCHITECTURE.md", drawing)])
    }

    #[test]
    fn a_true_drawing_passes() {
        assert_eq!(on(DRAWN), [] as [&str; 0]);
    }

    #[test]
    fn an_arrow_too_few_and_one_too_many() {
        let found = on(&DRAWN.replace("common ─► emulator", "common ─►"));
        assert_eq!(found, ["ARCHITECTURE.md:2: common is drawn to depend on []: it is [emulator]"]);
        let found = on(&DRAWN.replace("─► common ", "─► common, emulator "));
        assert_eq!(found, ["ARCHITECTURE.md:1: level* is drawn to depend on [common, emulator]: it is [common]"]);
    }

    #[test]
    fn a_level_that_depends_on_a_level() {
        let level =
            ("level1-b/Cargo.toml", "[package]\nname = \"level1-b\"\n[dependencies]\nlevel0-a = { path = \"\" }\n");
        let found = printed(check, [ROOT, LEVEL, COMMON, EMULATOR, level, ("ARCHITECTURE.md", DRAWN)]);
        assert_eq!(found, ["ARCHITECTURE.md:1: level* is drawn to depend on [common]: it is [common, level*]"]);
    }

    #[test]
    fn a_crate_that_is_not_drawn_one_that_is_not_there_and_an_arrow_up() {
        let found = on(&DRAWN.replace("emulator ─►  runs PTX, counts\n", "gone ─► common\n"));
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:3: the arrow to common leads up",
                "ARCHITECTURE.md:1: no line `emulator ─►` draws that crate",
                "ARCHITECTURE.md:3: there is no crate gone",
            ]
        );
    }

    #[test]
    fn what_reaches_outside() {
        let file = ("crates/gemm/src/a.rs", "use std::fmt;\nlet text = std::fs::read(file);\n");
        let found = printed(check, [ROOT, LEVEL, COMMON, EMULATOR, file, ("ARCHITECTURE.md", DRAWN)]);
        assert_eq!(found, ["crates/gemm/src/a.rs:2: std::fs reaches outside"]);
    }
}
