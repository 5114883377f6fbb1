//! Which of the repository's files a program or a test can read: those of the crates that it is built of, and of the folders below that
//! a crate declares to read. A crate's folder `tests` is its own tests' alone: a new test makes no proof stale but that of its crate. A
//! file that lies in no crate and in no folder named here is read by all: what is new is not missed.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::crates::Crates;

/// Files outside of crates, by how their path begins, and the crates that read them.
struct Shared {
    begin: &'static str,
    /// The crates whose programs read them, while they are built or while they run.
    programs: &'static [&'static str],
    /// The crates whose tests alone read them.
    tests: &'static [&'static str],
}

/// `what_crates_read_is_declared` holds sources to this table.
const SHARED: [Shared; 21] = [
    Shared { begin: "book/", programs: &[], tests: &["lab", "press"] },
    Shared { begin: "book/checks/", programs: &["lab"], tests: &["page"] },
    Shared { begin: "book/exercises/", programs: &["press"], tests: &["page"] },
    Shared { begin: "book/measurements/", programs: &["lab"], tests: &[] },
    // Of schemes, which two pictures draw.
    Shared { begin: "book/outputs/lesson2", programs: &["press"], tests: &["lab"] },
    Shared { begin: "book/records/h100-f", programs: &["press"], tests: &["lab"] },
    Shared { begin: "book/switches/", programs: &[], tests: &["page"] },
    Shared { begin: "book/variants/", programs: &["press"], tests: &["page"] },
    Shared { begin: "kernels/", programs: &["lab"], tests: &["common", "ptx-emulator", "emulator-tests"] },
    // Of a benchmark of kernels, which programs take as they take any kernel.
    Shared { begin: "kernels/hazards/", programs: &[], tests: &["lab"] },
    // What the hardware counted: every level's tests compare it with what the emulator counts.
    Shared { begin: "common/tests/data/ncu-", programs: &["level-tests"], tests: &["common"] },
    // Of the emulator, for tests that are a crate of their own, and for some of other crates.
    Shared {
        begin: "crates/emulator/tests/",
        programs: &[],
        tests: &["ptx-emulator", "emulator-tests", "common", "gemm", "press"],
    },
    // A crate of its own, which continuous integration checks whatever has changed.
    Shared { begin: ".ci/beside/", programs: &[], tests: &[] },
    // Another, which `cargo x deep` tests.
    Shared { begin: "crates/summit/examples/candle/", programs: &[], tests: &[] },
    // For people, for GitHub and for editors; `cargo x tidy` looks at them.
    Shared { begin: ".devcontainer/", programs: &[], tests: &[] },
    Shared { begin: ".github/", programs: &[], tests: &["lab"] },
    Shared { begin: "ARCHITECTURE.md", programs: &[], tests: &[] },
    Shared { begin: "CONTRIBUTING.md", programs: &[], tests: &[] },
    Shared { begin: "LICENSE-", programs: &[], tests: &[] },
    Shared { begin: "README.md", programs: &[], tests: &["lab"] },
    Shared { begin: "action.yml", programs: &[], tests: &["lab"] },
];

/// Crates that run other crates' programs: their tests read what those are made of.
const RUN: [(&str, &str); 1] = [("page", "xtask")];

/// Files, by how their paths begin: where several fit, the longest says whether a file is among them; where none does, it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reads(Vec<(String, bool)>);

impl Reads {
    /// Every file.
    pub fn everything() -> Reads {
        Reads::default()
    }

    /// What the programs of these crates read, or their tests as well.
    ///
    /// # Errors
    /// Where the workspace has no crate of such a name.
    pub fn of(crates: &Crates, names: &[&str], tests: bool) -> Result<Reads> {
        let run = RUN.iter().filter(|(name, _)| tests && names.contains(name)).map(|(_, run)| *run);
        let built = names.iter().map(|name| (*name, tests)).chain(run.map(|name| (name, false)));
        let built = built.map(|(name, tests)| crates.built_of(name, tests)).collect::<Result<Vec<_>>>()?;
        let built: BTreeSet<&str> = built.into_iter().flatten().collect();
        // What has the list of levels looks for their folders: one that is new is on no list yet.
        let is_level = |name: &str| name.starts_with("level") && built.contains("levels");
        let folders = |name: &str| {
            let (folder, is_built) = (crates.folder(name), built.contains(name) || is_level(name));
            [(folder.to_string(), is_built), (format!("{folder}tests/"), tests && names.contains(&name))]
        };
        let is_read = |shared: &Shared| {
            let by_tests = tests && shared.tests.iter().any(|name| names.contains(name));
            by_tests || shared.programs.iter().any(|name| built.contains(name))
        };
        let shared = SHARED.iter().map(|shared| (shared.begin.to_string(), is_read(shared)));
        Ok(Reads(crates.names().flat_map(folders).chain(shared).collect()))
    }

    /// These files, and what begins so.
    pub fn and<'a>(mut self, begins: impl IntoIterator<Item = &'a str>) -> Reads {
        self.0.extend(begins.into_iter().map(|begin| (begin.to_string(), true)));
        self
    }

    /// These files, apart from what begins so.
    pub fn without<'a>(mut self, begins: impl IntoIterator<Item = &'a str>) -> Reads {
        let begins: BTreeSet<&str> = begins.into_iter().collect();
        self.0.retain(|(begin, _)| !begins.contains(begin.as_str()));
        self.0.extend(begins.into_iter().map(|begin| (begin.to_string(), false)));
        self
    }

    /// Whether a file is among them, by its path from the root.
    pub fn has(&self, path: &str) -> bool {
        let fits = self.0.iter().filter(|(begin, _)| path.starts_with(begin.as_str()));
        fits.max_by_key(|(begin, has)| (begin.len(), *has)).is_none_or(|(_, has)| *has)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::shell;

    fn of(name: &str, tests: bool) -> Reads {
        Reads::of(&Crates::of_repository().unwrap(), &[name], tests).unwrap()
    }

    #[test]
    fn the_longest_beginning_decides() {
        let reads = Reads(vec![("a/".to_string(), true), ("a/b/".to_string(), false)]).and(["a/b/c.txt"]);
        let has = ["x", "a/1", "a/b/1", "a/b/c.txt"].map(|path| reads.has(path));
        assert_eq!(has, [true, true, false, true]);
        let only = Reads::everything().without([""]).and(["y"]);
        assert!(Reads::everything().has("x") && !only.has("x") && only.has("y/1"));
    }

    #[test]
    fn a_level_reads_its_own_kernel_and_what_runs_it() {
        let level = of("level6-async-copy", true);
        for path in
            ["further/level6-async-copy/kernel.cu", "crates/emulator/src/lib.rs", "crates/level-tests/src/lib.rs"]
        {
            assert!(level.has(path), "{path}");
        }
        for path in ["Cargo.lock", "Cargo.toml", ".ci/versions", ".cargo/config.toml", "folder-that-is-new/file"] {
            assert!(level.has(path), "{path}");
        }
        for path in
            ["further/level5-warp-tiling/kernel.cu", "crates/lab/src/main.rs", "book/src/lesson6.md", "README.md"]
        {
            assert!(!level.has(path), "{path}");
        }
        assert!(of("levels", true).has("further/level6-async-copy/kernel.cu"));
        assert!(["archive", "cuda-source"].iter().all(|name| !of(name, true).has("crates/emulator/src/lib.rs")));
    }

    #[test]
    fn a_crates_tests_are_inputs_of_its_own_tests_alone() {
        for (tests, own) in [
            ("crates/gemm/tests/check.rs", "gemm"),
            ("crates/device/tests/a_new_test.rs", "device"),
            ("further/level6-async-copy/tests/mutations.json", "level6-async-copy"),
        ] {
            let (crates, source) = (Crates::of_repository().unwrap(), tests.replace("tests/", "src/"));
            let readers = |path: &str, tests| -> Vec<&str> {
                crates.names().filter(|name| Reads::of(&crates, &[name], tests).unwrap().has(path)).collect()
            };
            // What is built of the crate does read its source.
            assert!(readers(&source, true).len() > 3, "{source}");
            assert_eq!(readers(tests, true), [own]);
            assert_eq!(readers(tests, false), [""; 0]);
        }
        assert!(of("level6-async-copy", true).has("common/tests/data/ncu-h200.csv"));
        assert!(!of("level6-async-copy", true).has("common/tests/assembled.rs"));
    }

    #[test]
    fn what_crates_read_is_declared() {
        let crates = Crates::of_repository().unwrap();
        // A level's path stands in messages as well; `levels` has them all.
        let named = r#"(?:"|\.\./)((?:book|common|crates|kernels|xtask|\.github|\.devcontainer)/[\w./-]*)"#;
        let named = regex_lite::Regex::new(named).unwrap();
        let is_source = |path: &str| [".rs", ".mjs", ".py"].iter().any(|end| path.ends_with(end));
        let files: Vec<String> = shell::files().unwrap().into_iter().filter(|path| is_source(path)).collect();
        let mut undeclared = Vec::new();
        let mut found = 0;
        // This crate's tests read everything.
        for name in crates.names().filter(|name| *name != "xtask") {
            let reads = of(name, true);
            for file in files.iter().filter(|file| file.starts_with(crates.folder(name))) {
                let text = fs::read_to_string(shell::root().join(file)).unwrap();
                let paths: Vec<String> = named.captures_iter(&text).map(|found| found[1].to_string()).collect();
                found += paths.len();
                // `../../kernels` may be a folder of the crate's own.
                let own = |path: &str| shell::root().join(crates.folder(name)).join(path).is_file();
                let missed = paths.iter().filter(|path| !reads.has(path) && !own(path));
                undeclared.extend(missed.map(|path| format!("{file} names {path}, which {name} does not read")));
            }
        }
        assert!(found > 50 && undeclared.is_empty(), "{found} found, undeclared: {undeclared:#?}");
    }
}
