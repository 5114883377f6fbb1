//! `unsafe` is allowed in four modules at most: one of `device`, the calls to CUDA, a folder; one of `page`, the names that a page calls;
//! one of the emulator; and a test of the summit, in which a caller has addresses.
//!
//! The workspace's lints deny it, so the compiler finds every use; here, who lifts the lint is looked up.

use regex_lite::Regex;

use super::tree::{Finding, Tree, numbered};

/// The crates that may lift the lint, in one file each.
const ALLOWED: [&str; 4] = ["crates/device/src/", "crates/emulator/src/", "crates/page/src/", "crates/summit/tests/"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let lifts =
        Regex::new(r"^\s*#!?\[.*\b(?:allow|expect|warn)\([^)]*\bunsafe_code\b").expect("the pattern is a constant");
    let mut lifting = Vec::new();
    for (path, text) in tree.ending(&[".rs"]) {
        lifting.extend(numbered(text).find(|(_, line)| lifts.is_match(line)).map(|(number, _)| (path, number)));
    }
    let alone = |path: &str| {
        let sources = ALLOWED.iter().find(|sources| path.starts_with(*sources));
        sources.is_some_and(|sources| lifting.iter().filter(|(other, _)| other.starts_with(sources)).count() == 1)
    };
    let what =
        "allows unsafe code: only one file each of device's, emulator's and page's src and of summit's tests may";
    lifting.iter().filter(|(path, _)| !alone(path)).map(|(path, line)| Finding::new(path, *line, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const ALLOW: &str = "//! Text.\n#![allow(unsafe_code)]\n";

    #[test]
    fn the_four_files_pass() {
        let text = "// allow(unsafe_code) is a comment here\n#![forbid(unsafe_code)]\n";
        let four = [
            ("crates/device/src/ffi.rs", ALLOW),
            ("crates/emulator/src/simd.rs", ALLOW),
            ("crates/page/src/exports.rs", ALLOW),
            ("crates/summit/tests/graph.rs", ALLOW),
        ];
        assert!(printed(check, [four[0], four[1], four[2], four[3], ("xtask/src/main.rs", text)]).is_empty());
    }

    #[test]
    fn any_other_file() {
        let what =
            "allows unsafe code: only one file each of device's, emulator's and page's src and of summit's tests may";
        let inner = "fn f() {\n    #[cfg_attr(unix, expect(dead_code, unsafe_code))]\n    {}\n}\n";
        assert_eq!(printed(check, [("level0-a/src/lib.rs", inner)]), [format!("level0-a/src/lib.rs:2: {what}")]);
        assert_eq!(
            printed(
                check,
                [
                    ("crates/device/src/a.rs", ALLOW),
                    ("crates/emulator/src/a.rs", ALLOW),
                    ("crates/emulator/src/b.rs", ALLOW)
                ]
            ),
            [format!("crates/emulator/src/a.rs:2: {what}"), format!("crates/emulator/src/b.rs:2: {what}")]
        );
    }
}
