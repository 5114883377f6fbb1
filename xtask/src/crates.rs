//! The workspace's crates: where each lies, and what it is built of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell;

/// A crate, as its manifest says.
#[derive(Debug, Default)]
struct Crate {
    /// Its folder from the root, with a `/` at the end.
    folder: String,
    /// The crates of the workspace that it is built of.
    needs: BTreeSet<String>,
    /// Those that its own tests need beside them.
    tests_need: BTreeSet<String>,
}

/// All crates, by name.
#[derive(Debug)]
pub struct Crates(BTreeMap<String, Crate>);

impl Crates {
    /// What cargo says of the repository: every dependency counts, whichever features or targets ask for it.
    pub fn of_repository() -> Result<Crates> {
        let words = ["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"];
        let output = Command::new("cargo").args(words).current_dir(shell::root()).output();
        let output = output.context("cannot start cargo\nhint: is it on PATH?")?;
        ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        Self::read(&String::from_utf8(output.stdout)?, shell::root())
    }

    fn read(metadata: &str, root: &Path) -> Result<Crates> {
        let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is no JSON")?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let mut crates = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let manifest = text(&package["manifest_path"]);
            let folder = Path::new(&manifest).parent().and_then(|folder| folder.strip_prefix(root).ok());
            let folder = folder.with_context(|| format!("{manifest} is not below the repository's root"))?;
            let mut this = Crate { folder: format!("{}/", folder.display()), ..Crate::default() };
            for dependency in list(&package["dependencies"]).iter().filter(|one| one["path"].is_string()) {
                let names = if dependency["kind"] == "dev" { &mut this.tests_need } else { &mut this.needs };
                names.insert(text(&dependency["name"]));
            }
            crates.insert(text(&package["name"]), this);
        }
        Ok(Crates(crates))
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// A crate's folder from the root, with a `/` at the end.
    pub fn folder(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |this| this.folder.as_str())
    }

    /// A crate and all that it is built of; and, for its tests, what these need.
    ///
    /// # Errors
    /// Where the workspace has no crate of that name.
    pub fn built_of(&self, name: &str, tests: bool) -> Result<BTreeSet<&str>> {
        let (name, first) = self.0.get_key_value(name).with_context(|| format!("there is no crate {name}"))?;
        let mut found = BTreeSet::from([name.as_str()]);
        let tests_need = first.tests_need.iter().filter(|_| tests);
        let mut open: Vec<&String> = first.needs.iter().chain(tests_need).collect();
        while let Some(name) = open.pop() {
            if let Some((name, this)) = self.0.get_key_value(name).filter(|(name, _)| !found.contains(name.as_str())) {
                found.insert(name);
                open.extend(&this.needs);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages": [
        {"name": "a", "manifest_path": "/r/x/a/Cargo.toml", "dependencies": [
            {"name": "b", "path": "/r/b", "kind": null}, {"name": "c", "path": "/r/c", "kind": "dev"}, {"name": "serde", "kind": null}]},
        {"name": "b", "manifest_path": "/r/b/Cargo.toml", "dependencies": [
            {"name": "d", "path": "/r/d", "kind": "build"}, {"name": "e", "path": "/r/e", "kind": "dev"}]},
        {"name": "c", "manifest_path": "/r/c/Cargo.toml", "dependencies": [{"name": "e", "path": "/r/e", "kind": null}]},
        {"name": "d", "manifest_path": "/r/d/Cargo.toml", "dependencies": []},
        {"name": "e", "manifest_path": "/r/e/Cargo.toml", "dependencies": []}]}"#;

    #[test]
    fn a_crate_is_built_of_what_its_dependencies_need_and_its_tests_of_more() {
        let crates = Crates::read(METADATA, Path::new("/r")).unwrap();
        let of = |name: &str, tests: bool| crates.built_of(name, tests).unwrap().into_iter().collect::<String>();
        assert_eq!((of("a", false), of("a", true)), ("abd".to_string(), "abcde".to_string()));
        // The tests of a dependency are not run.
        assert_eq!((of("b", false), of("b", true)), ("bd".to_string(), "bde".to_string()));
        assert_eq!(crates.folder("a"), "x/a/");
        assert!(crates.built_of("f", false).is_err());
    }

    #[test]
    fn the_repositorys_crates_are_found() {
        let crates = Crates::of_repository().unwrap();
        assert_eq!(crates.folder("level6-async-copy"), "further/level6-async-copy/");
        let built_of = crates.built_of("level6-async-copy", true).unwrap();
        assert!(["gemm", "ptx-emulator", "predict", "level-tests"].iter().all(|name| built_of.contains(name)));
        assert!(["level5-warp-tiling", "summit", "lab"].iter().all(|name| !built_of.contains(name)));
    }
}
