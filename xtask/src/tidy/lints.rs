//! Every crate inherits the workspace's lints, and the workspace denies `unsafe`.

use super::tree::{Finding, Tree};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.rsplit('/').next() == Some("Cargo.toml")) {
        let manifest = text.parse::<toml::Table>().unwrap_or_default();
        if manifest.contains_key("package") && !is_inherited(&manifest) {
            findings.push(Finding::new(path, 1, "does not inherit the lints: add `[lints]` with `workspace = true`"));
        }
        if path == "Cargo.toml" && !denies_unsafe(&manifest) {
            findings.push(Finding::new(path, 1, "the workspace's lints do not say `unsafe_code = \"deny\"`"));
        }
    }
    findings
}

fn is_inherited(manifest: &toml::Table) -> bool {
    let inherited = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
    inherited == Some(true)
}

fn denies_unsafe(manifest: &toml::Table) -> bool {
    let level = manifest.get("workspace").and_then(|all| all.get("lints")?.get("rust")?.get("unsafe_code")?.as_str());
    level == Some("deny")
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    #[test]
    fn inherited_lints_pass() {
        let root = ("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"deny\"\n");
        assert!(printed(check, [root, ("a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n")]).is_empty());
    }

    #[test]
    fn lints_left_out() {
        for lints in ["", "[lints]\nworkspace = false\n", "[lints.rust]\nunsafe_code = \"allow\"\n"] {
            assert_eq!(
                printed(check, [("a/Cargo.toml", &format!("[package]\n{lints}"))]),
                ["a/Cargo.toml:1: does not inherit the lints: add `[lints]` with `workspace = true`"]
            );
        }
    }

    #[test]
    fn a_workspace_that_allows_unsafe() {
        assert_eq!(
            printed(check, [("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"warn\"\n")]),
            ["Cargo.toml:1: the workspace's lints do not say `unsafe_code = \"deny\"`"]
        );
    }
}
