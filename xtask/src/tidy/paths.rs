//! No file knows the machine on which it was written: neither its folders nor its package registries.

use regex_lite::Regex;

use super::tree::{Finding, Tree, numbered};

/// An absolute path into somebody's folders: at the start of a word, so that `target/tmp/x` is none.
const MACHINE: &str = r"(?:^|[^\w.~/}-])((?:/(?:home|root|work|tmp|mnt|Users)/|[A-Z]:\\Users\\)[^\s,;)`'\x22]*)";
/// A setting that points a package manager elsewhere, or an address with a port or a password in it.
const REGISTRY: &str = r"(?i)(--(?:extra-)?index[-]url|PIP_INDEX_[U]RL|--find[-]links|replace[-]with|^\[registries\b|artifact[o]ry|https?://[^/\s]*(?:@|:\d)[^/\s]*)";
/// Where cargo's packages come from.
const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let machine = Regex::new(MACHINE).expect("the pattern is a constant");
    let registry = Regex::new(REGISTRY).expect("the pattern is a constant");
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        // Most lines, those of PTX above all, have nothing that either pattern needs.
        let may_name = |line: &str| {
            ["/", "\\", "--", "-with", "index", "INDEX", "registries", "rtifact", "ARTIFACT"]
                .iter()
                .any(|part| line.contains(part))
        };
        for (number, line) in numbered(text).filter(|(_, line)| may_name(line)) {
            if let Some(found) = machine.captures(line) {
                findings.push(Finding::new(path, number, format!("{} is a path of one machine", &found[1])));
            }
            if let Some(found) = registry.captures(line) {
                findings.push(Finding::new(path, number, format!("{} names a registry of one machine", &found[1])));
            }
            if path == "Cargo.lock" && line.starts_with("source = ") && line != CRATES_IO {
                findings.push(Finding::new(path, number, "the package does not come from crates.io"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::{CRATES_IO, check};

    #[test]
    fn ordinary_text_passes() {
        for line in ["a:/b", CRATES_IO] {
            assert!(printed(check, [("Cargo.lock", line)]).is_empty(), "{line}");
        }
        // In parts, so that no such path stands here: relative ones, a folder that every machine has, a page of a site.
        for parts in
            [["target", "tmp", "x"], ["$HOME", "work", "x"], ["", "usr", "local"], ["//example.org", "home", "x"]]
        {
            let line = parts.join("/");
            assert!(printed(check, [("a.txt", &line)]).is_empty(), "{line}");
        }
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in ["home", "root", "work", "tmp", "Users"] {
            for before in ["", "open(\"", "path: ", "=", "file://"] {
                let found = printed(check, [("a.txt", &format!("\n{before}/{folder}/me/x"))]);
                // `file://` is a URL: its path is not the start of a word.
                let expected = [format!("a.txt:2: /{folder}/me/x is a path of one machine")];
                assert_eq!(found, if before == "file://" { &[] } else { &expected[..] }, "{before}/{folder}");
            }
        }
    }

    #[test]
    fn registries_of_a_machine_are_found() {
        for word in [
            concat!("--index", "-url"),
            concat!("replace", "-with"),
            concat!("https:", "//me:pw@host"),
            concat!("http:", "//host:3141"),
        ] {
            let found = printed(check, [(".ci/run", &format!("pip install {word} x"))]);
            assert_eq!(found, [format!(".ci/run:1: {word} names a registry of one machine")]);
        }
    }

    #[test]
    fn another_source_in_the_lock_file() {
        let lock = "source = \"registry+https://example.org/index\"\n";
        assert_eq!(printed(check, [("Cargo.lock", lock)]), ["Cargo.lock:1: the package does not come from crates.io"]);
        assert!(printed(check, [("other.toml", lock)]).is_empty());
    }
}
