//! Anchors, by which the book includes a part of a kernel: each opened once, closed after, and named alike everywhere.

use super::tree::{Finding, Tree, numbered};

/// What every level's kernel has, so that the book can show the same part of each.
const REQUIRED: [&str; 3] = ["mapping", "mainloop", "epilogue"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.ending(&[".cu"]).flat_map(|(path, text)| pairs(path, text)).collect();
    for level in tree.levels() {
        let path = format!("{}/kernel.cu", level.folder);
        let text = tree.text(&path).unwrap_or_default();
        for name in REQUIRED.iter().filter(|name| !opens(text, name)) {
            findings.push(Finding::new(&path, 1, format!("has no anchor '{name}'")));
        }
    }
    findings
}

/// Every anchor of a file is opened once and closed once, in this order.
fn pairs(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut seen, mut open) = (Vec::new(), Vec::new());
    for (number, line) in numbered(text) {
        if let Some(name) = name_after(line, "ANCHOR:") {
            if seen.contains(&name) {
                findings.push(Finding::new(path, number, format!("anchor '{name}' is opened twice")));
            }
            seen.push(name);
            open.push((number, name));
        } else if let Some(name) = name_after(line, "ANCHOR_END:") {
            match open.iter().position(|(_, opened)| *opened == name) {
                Some(index) => drop(open.remove(index)),
                None => findings.push(Finding::new(path, number, format!("anchor '{name}' is closed but not open"))),
            }
        }
    }
    findings
        .extend(open.iter().map(|(line, name)| Finding::new(path, *line, format!("anchor '{name}' is not closed"))));
    findings
}

/// Whether a text opens and closes the anchor `name`.
pub fn whole(text: &str, name: &str) -> bool {
    opens(text, name) && text.lines().any(|line| name_after(line, "ANCHOR_END:") == Some(name))
}

fn opens(text: &str, name: &str) -> bool {
    text.lines().any(|line| name_after(line, "ANCHOR:") == Some(name))
}

/// The anchor's name that follows `mark` on a line.
fn name_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.split_once(mark)?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::{check, whole};

    #[test]
    fn paired_anchors_pass() {
        let text = "// ANCHOR: a\n// ANCHOR: b\n// ANCHOR_END: a\n// ANCHOR_END: b\n";
        assert!(printed(check, [("faults/race.cu", text)]).is_empty());
        assert!(whole(text, "a") && !whole(text, "c"));
    }

    #[test]
    fn unpaired_anchors() {
        let text = "// ANCHOR: a\n// ANCHOR_END: b\n// ANCHOR: a\n// ANCHOR_END: a\n";
        assert_eq!(
            printed(check, [("x.cu", text)]),
            [
                "x.cu:2: anchor 'b' is closed but not open",
                "x.cu:3: anchor 'a' is opened twice",
                "x.cu:3: anchor 'a' is not closed"
            ]
        );
    }

    #[test]
    fn a_level_has_the_three() {
        let text = "// ANCHOR: mapping\n// ANCHOR_END: mapping\n// ANCHOR: epilogue\n// ANCHOR_END: epilogue\n";
        assert_eq!(printed(check, [("level0-a/kernel.cu", text)]), ["level0-a/kernel.cu:1: has no anchor 'mainloop'"]);
    }
}
