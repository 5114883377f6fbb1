//! Translations of the book, `book/po/<language>.po`, and of what the lab says, `crates/lab/po/<language>.po`: each keeps code, links,
//! places for what is put in, and numbers as they are, and has no other numbers. What of the book is not translated, or stale, is English
//! in the built book, and is counted. That each has the texts of the pages, `cargo x book --check` says.

use std::collections::BTreeSet;

use polib::catalog::Catalog;
use polib::message::MessageView;
use polib::po_file;
use regex_lite::Regex;

use super::tree::{Finding, Tree};
use crate::po;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in [BOOK, LAB].into_iter().flat_map(|folder| translations(tree, folder)) {
        match read(text) {
            Err((line, error)) => findings.push(Finding::new(path, line, error)),
            Ok(catalog) => findings.extend(unlike(path, text, &catalog)),
        }
    }
    findings
}

/// How far each translation is: `zh-CN: 12 of 40 texts, 3 stale`.
pub fn counts(tree: &Tree) -> Vec<String> {
    let count = |(path, text)| {
        let catalog = read(text).ok()?;
        let language = language(path);
        let shown = catalog.messages().filter(|message| is_shown(*message)).count();
        let stale = catalog.messages().filter(|message| message.is_fuzzy()).count();
        Some(format!("{language}: {shown} of {} texts, {stale} stale", catalog.count()))
    };
    translations(tree, BOOK).filter_map(count).collect()
}

const BOOK: &str = "book/po/";
const LAB: &str = "crates/lab/po/";

fn translations<'a>(tree: &'a Tree, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    tree.ending(&[".po"]).filter(move |(path, _)| path.starts_with(folder))
}

fn language(path: &str) -> &str {
    path.trim_start_matches(BOOK).trim_end_matches(".po")
}

/// The catalog, or what is wrong with its text, and on which line.
fn read(text: &str) -> Result<Catalog, (usize, String)> {
    if let Some((line, what)) = po::malformed(text) {
        return Err((line, format!("{what}; this is no catalog of translations")));
    }
    po_file::parse_from_reader(text.as_bytes()).map_err(|error| (1, format!("is no catalog of translations: {error}")))
}

fn is_shown(message: &dyn MessageView) -> bool {
    message.is_translated() && !message.is_fuzzy()
}

/// Code, link targets, places and numbers that a translation has lost, and those that it alone has, at the line of its text.
fn unlike(path: &str, text: &str, catalog: &Catalog) -> Vec<Finding> {
    let mut findings = Vec::new();
    for message in catalog.messages().filter(|message| is_shown(*message)) {
        let translation = message.msgstr().unwrap_or_default();
        let (original, own) = (kept(message.msgid()), kept(translation));
        // A small number may be a word in the original.
        let added =
            own.difference(&original).filter(|what| what.len() > 1 || !what.starts_with(|c: char| c.is_ascii_digit()));
        let what = original
            .difference(&own)
            .map(|lost| format!("loses {lost}"))
            .chain(added.map(|added| format!("adds {added}")));
        findings.extend(what.map(|what| Finding::new(path, line_of(text, translation), what)));
    }
    findings
}

/// What a text and its translation have in common. Large numbers with a unit of their own, millions or 万, are left out: these units
/// differ.
fn kept(text: &str) -> BTreeSet<&str> {
    let kept = r"`[^`]+`|\]\([^)]+\)|\{\{[^}]*\}\}|\{\w*\}|(?:\d[\d.,]*\d|\d)(?: [mb]illion| ?[万亿])?";
    let kept = Regex::new(kept).expect("the pattern is a constant");
    kept.find_iter(text).map(|found| found.as_str()).filter(|what| !what.ends_with(['n', '万', '亿'])).collect()
}

/// The line on which a translation begins, as far as its first words tell.
fn line_of(text: &str, translation: &str) -> usize {
    let start: String = translation.chars().take(12).take_while(|c| !"\"\\\n".contains(*c)).collect();
    text.lines().position(|line| line.contains(&start)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Tree, printed};
    use super::{check, counts};

    fn po(messages: &str) -> String {
        format!("msgid \"\"\nmsgstr \"Language: zh\"\n\n{messages}")
    }

    #[test]
    fn a_translation_of_every_text_passes() {
        let text = po("msgid \"See `a` of 32\"\nmsgstr \"见 32 的 `a`\"\n");
        assert!(printed(check, [("book/po/zh.po", &text)]).is_empty());
        assert_eq!(counts(&Tree::of([("book/po/zh.po", &text)])), ["zh: 1 of 1 texts, 0 stale"]);
    }

    #[test]
    fn what_is_stale_is_counted_and_not_held_to_its_text() {
        let text = po("#, fuzzy\nmsgid \"See `a` of 32\"\nmsgstr \"见 16\"\n");
        assert!(printed(check, [("book/po/zh.po", &text)]).is_empty());
        assert_eq!(counts(&Tree::of([("book/po/zh.po", &text)])), ["zh: 0 of 1 texts, 1 stale"]);
    }

    #[test]
    fn what_a_translation_loses_is_found() {
        let text = po("msgid \"See `a` of 32\"\nmsgstr \"见 b 的 16\"\n");
        let expected = ["loses 32", "loses `a`", "adds 16"].map(|what| format!("book/po/zh.po:5: {what}"));
        assert_eq!(printed(check, [("book/po/zh.po", &text)]), expected);
        // A part of a number is not the number.
        let text = po("msgid \"{0} has 5 of 32\"\nmsgstr \"132 中的 5\"\n");
        let expected = ["loses 32", "loses {0}", "adds 132"].map(|what| format!("crates/lab/po/zh.po:5: {what}"));
        assert_eq!(printed(check, [("crates/lab/po/zh.po", &text)]), expected);
    }

    #[test]
    fn words_for_numbers_and_other_units_are_no_difference() {
        let text = po("msgid \"one of 67 million, four times fewer\"\nmsgstr \"6700 万个中的 1 个，减少到 1/4\"\n");
        assert!(printed(check, [("book/po/zh.po", &text)]).is_empty());
    }

    #[test]
    fn what_is_no_catalog_is_one_finding() {
        for text in ["#\n", "\"\n", "msgid\nmsgstr\n", "msgid \"a\nmsgstr \"\"\n", "msgid \"a\"\nmsgstr \"b\"\n"] {
            let found = printed(check, [("book/po/zh.po", text)]);
            assert!(found.len() == 1 && found[0].contains("is no catalog of translations"), "{text}: {found:?}");
            assert!(counts(&Tree::of([("book/po/zh.po", text)])).is_empty());
        }
    }
}
