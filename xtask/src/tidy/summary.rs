//! The book's table of contents names every page once, and every page that it names exists.

use super::links::links;
use super::tree::{Finding, Tree, resolve};

const SUMMARY: &str = "book/src/SUMMARY.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut named: Vec<String> = Vec::new();
    // A chapter without a link is mdBook's draft: it promises a page that does not exist.
    for (line, link) in links(tree.text(SUMMARY).unwrap_or_default()) {
        match resolve("book/src", &link) {
            _ if link.is_empty() => findings.push(Finding::new(SUMMARY, line, "a chapter without a page")),
            Some(page) if named.contains(&page) => {
                findings.push(Finding::new(SUMMARY, line, format!("{link} is named twice")))
            }
            Some(page) if tree.text(&page).is_some() => named.push(page),
            _ => findings.push(Finding::new(SUMMARY, line, format!("{link} does not exist"))),
        }
    }
    for (page, _) in tree.ending(&[".md"]).filter(|(path, _)| path.starts_with("book/src/") && *path != SUMMARY) {
        if !named.iter().any(|named| named == page) {
            findings.push(Finding::new(page, 1, "SUMMARY.md does not name this page"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::{SUMMARY, check};

    #[test]
    fn a_whole_summary_passes() {
        assert!(
            printed(
                check,
                [
                    (SUMMARY, "# Summary\n\n- [A](a.md)\n  - [B](b/c.md)\n"),
                    ("book/src/a.md", ""),
                    ("book/src/b/c.md", "")
                ]
            )
            .is_empty()
        );
    }

    #[test]
    fn pages_lost_named_twice_or_missing() {
        let summary = "- [A](a.md)\n- [A](a.md)\n- [B](b.md)\n- [Draft]()\n";
        assert_eq!(
            printed(check, [(SUMMARY, summary), ("book/src/a.md", ""), ("book/src/c.md", "")]),
            [
                "book/src/SUMMARY.md:2: a.md is named twice",
                "book/src/SUMMARY.md:3: b.md does not exist",
                "book/src/SUMMARY.md:4: a chapter without a page",
                "book/src/c.md:1: SUMMARY.md does not name this page"
            ]
        );
    }
}
