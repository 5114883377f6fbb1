//! The tables that pages include from `generated/`: their words are texts of the book, too. mdBook puts them into the English
//! pages; into a translation they are put here, cell by cell, before it would.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mdbook_driver::book::{Book, BookItem};
use polib_i18n::catalog::Catalog;
use polib_i18n::message::Message;
use regex_lite::{Captures, Regex};

use super::catalog;

const INCLUDE: &str = r"\{\{#include \.\./(generated/[^}:]+)\}\}";
/// What may be another one tomorrow: a number, or a commit. It is left out of the text, `{0}`, `{1}`.
const NUMBER: &str = r"\b(?:[0-9a-f]{12}|\d[\d.,]*)\b";
/// What is no word of a language: code, a level's name with its variant, a tile size, an element type, an architecture.
const NAMES: &str =
    r"`[^`]*`|<[^>]*>|level\d+-[a-z0-9-]+( \w+)?|\w+=\S+|\b(b?f|tf|[su])\d+(x\d+)?\b|\be\dm\dx?\d?\b|sm_\w+";

/// Adds the words of all that the pages include to the template.
pub fn add(template: &mut Catalog, book: &Book, root: &Path) -> Result<()> {
    let include = pattern(INCLUDE);
    for item in book.iter() {
        let BookItem::Chapter(chapter) = item else { continue };
        for found in include.captures_iter(&chapter.content) {
            let mut texts = Vec::new();
            replaced(&read(root, &found[1])?, |text| {
                texts.push(text.to_string());
                None
            });
            for text in texts {
                let is_new = template.find_message(None, &text, None).is_none();
                if is_new {
                    let mut message = Message::build_singular();
                    message.with_msgid(text).with_source(found[1].to_string());
                    template.append_or_update(message.done());
                }
            }
        }
    }
    Ok(())
}

/// Puts what pages include into them, in the catalog's language.
pub fn translate(book: &mut Book, root: &Path, catalog: &Catalog) -> Result<()> {
    let include = pattern(INCLUDE);
    let mut failed = None;
    book.for_each_mut(|item| {
        let BookItem::Chapter(chapter) = item else { return };
        let content = include.replace_all(&chapter.content, |found: &Captures| match read(root, &found[1]) {
            Ok(text) => replaced(&text, |text| catalog::translated(catalog, text)).trim_end().to_string(),
            Err(error) => {
                failed = Some(error);
                String::new()
            }
        });
        chapter.content = content.into_owned();
    });
    failed.map_or(Ok(()), Err)
}

fn read(root: &Path, file: &str) -> Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| format!("cannot read book/{file}"))
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// A table's file with its cells, its paragraphs and the heads of folded parts as `to` has them; `to` sees a text without
/// its numbers.
fn replaced(file: &str, mut to: impl FnMut(&str) -> Option<String>) -> String {
    let (head, names, number) = (pattern("<summary>([^<]+)</summary>"), pattern(NAMES), pattern(NUMBER));
    let mut put = |text: &str| {
        let numbers: Vec<&str> = number.find_iter(text).map(|found| found.as_str()).collect();
        let mut place = 0..;
        let plain = number.replace_all(text, |_: &Captures| format!("{{{}}}", place.next().unwrap_or(0)));
        if !names.replace_all(text, "").chars().any(char::is_alphabetic) {
            return text.to_string();
        }
        to(&plain).map_or_else(
            || text.to_string(),
            |words| {
                pattern(r"\{(\d+)\}")
                    .replace_all(&words, |found: &Captures| {
                        found[1]
                            .parse()
                            .ok()
                            .and_then(|at: usize| numbers.get(at))
                            .map_or("", |number| number)
                            .to_string()
                    })
                    .into_owned()
            },
        )
    };
    let mut lines: Vec<String> = Vec::new();
    let mut code = false;
    for line in file.lines() {
        code ^= line.starts_with("```");
        lines.push(match line {
            _ if code || line.starts_with("```") || line.is_empty() => line.to_string(),
            _ if line.starts_with('|') => cells(line)
                .map(|cell| match cell.trim() {
                    "" => cell.to_string(),
                    text => cell.replace(text, &put(text)),
                })
                .collect::<Vec<_>>()
                .join("|"),
            _ if head.is_match(line) => {
                head.replace_all(line, |found: &Captures| format!("<summary>{}</summary>", put(&found[1]))).into_owned()
            }
            _ if line.starts_with('<') => line.to_string(),
            _ => put(line),
        });
    }
    lines.join("\n") + "\n"
}

/// The cells of a table's row, with what stands before the first and behind the last.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![0];
    let bytes = row.as_bytes();
    starts.extend(
        (0..bytes.len()).filter(|&at| bytes[at] == b'|' && (at == 0 || bytes[at - 1] != b'\\')).map(|at| at + 1),
    );
    let ends: Vec<usize> = starts.iter().skip(1).map(|start| start - 1).chain([row.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &row[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "<!-- made -->\n\nOn 2026-11-23, commit 31c9c7ec3a71:\n\n| f32, n = 4096 | time |\n|---|---:|\n\
        | level1-tiling | 1,024 |\n| `a \\| b` | 16 bits |\n\n<details>\n<summary>Stack: all refused</summary>\n";

    #[test]
    fn words_are_seen_without_their_numbers() {
        let mut seen = Vec::new();
        let same = replaced(TABLE, |text| {
            seen.push(text.to_string());
            None
        });
        assert_eq!(same, TABLE);
        let expected = ["On {0}-{1}-{2}, commit {3}:", "f32, n = {0}", "time", "{0} bits", "Stack: all refused"];
        assert_eq!(seen, expected);
    }

    #[test]
    fn numbers_come_back_in_another_order() {
        let to = |text: &str| (text == "On {0}-{1}-{2}, commit {3}:").then(|| "提交 {3}，{0} 年：".to_string());
        assert!(replaced(TABLE, to).contains("\n提交 31c9c7ec3a71，2026 年：\n"));
    }
}
