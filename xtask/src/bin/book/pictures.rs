//! The words of the book's pictures: texts like those of its pages, put into the pictures of a translation.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use polib_i18n::catalog::Catalog;
use polib_i18n::message::Message;
use regex_lite::{Captures, Regex};

use super::catalog;

const FOLDER: &str = "src/figures";
const TEXT: &str = r"(<text[^>]*>)([^<]*)(</text>)";
/// What is no word of a language: a level's name with its variant, and a tile size.
const NAMES: &str = r"level\d+-[a-z0-9-]+( \w+)?|\w+=\S+|mma\.sync|As|Bs";
/// A number that stands alone in its text is left out, `{0}`: it may be one of many, or measured.
const NUMBER: &str = r"\b\d[\d.,]*\b";
const WORD: &str = r"\b[A-Z]?[a-z]{2,}\b";

/// Adds the pictures' words to the template, behind the pages' texts.
pub fn add(template: &mut Catalog, root: &Path) -> Result<()> {
    for (name, picture) in pictures(root)? {
        for text in texts(&picture) {
            if template.find_message(None, &text, None).is_none() {
                let source = format!("{FOLDER}/{name}");
                template.append_or_update(Message::build_singular().with_msgid(text).with_source(source).done());
            }
        }
    }
    Ok(())
}

/// Writes the pictures in the catalog's language into a built book. Their descriptions stay behind: the pages have them.
pub fn translate(root: &Path, folder: &Path, catalog: &Catalog) -> Result<()> {
    let description = Regex::new(r"<desc>[^<]*</desc>\n?").expect("the pattern is a constant");
    for (name, picture) in pictures(root)? {
        let text = in_language(&description.replace(&picture, ""), catalog);
        fs::write(folder.join("figures").join(&name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// The pictures by name, sorted.
fn pictures(root: &Path) -> Result<Vec<(String, String)>> {
    let mut pictures = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).context("cannot list book/src/figures")? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|end| end == "svg")) {
            pictures.push((name.to_string_lossy().into_owned(), fs::read_to_string(&path)?));
        }
    }
    pictures.sort();
    Ok(pictures)
}

/// The words of a picture that can be translated.
pub fn texts(picture: &str) -> Vec<String> {
    let text = Regex::new(TEXT).expect("the pattern is a constant");
    let all = text.captures_iter(picture).map(|found| without_number(&plain(found[2].trim())).0);
    all.filter(|text| has_words(text)).collect()
}

/// A text without its only number, and that.
fn without_number(text: &str) -> (String, String) {
    let number = Regex::new(NUMBER).expect("the pattern is a constant");
    let found: Vec<_> = number.find_iter(text).collect();
    match found.as_slice() {
        [one] => (format!("{}{{0}}{}", &text[..one.start()], &text[one.end()..]), one.as_str().to_string()),
        _ => (text.to_string(), String::new()),
    }
}

/// Whether a text has words beside names of code.
pub fn has_words(text: &str) -> bool {
    let names = Regex::new(NAMES).expect("the pattern is a constant");
    Regex::new(WORD).expect("the pattern is a constant").is_match(&names.replace_all(text, ""))
}

fn in_language(picture: &str, catalog: &Catalog) -> String {
    let text = Regex::new(TEXT).expect("the pattern is a constant");
    let title = Regex::new(r"(<title>)([^<]*)(</title>)").expect("the pattern is a constant");
    let translated = |found: &Captures| {
        let (words, number) = without_number(&plain(found[2].trim()));
        match catalog::translated(catalog, &words) {
            Some(words) => format!("{}{}{}", &found[1], safe(&words.replace("{0}", &number)), &found[3]),
            None => found[0].to_string(),
        }
    };
    title.replace(&text.replace_all(picture, translated), translated).into_owned()
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use polib_i18n::metadata::CatalogMetadata;

    use super::*;

    #[test]
    fn words_are_told_from_names() {
        for name in
            ["A", "w0", "level9-split-k", "level0-naive coalesced", "BM=32 TM=8", "cuBLAS 13.1.0", "8 × 16", "As[4]"]
        {
            assert!(!has_words(name), "{name}");
        }
        for text in ["bank 31", "of A", "L2 cache", "Two", "one wgmma"] {
            assert!(has_words(text), "{text}");
        }
    }

    #[test]
    fn a_picture_is_translated() {
        let picture =
            "<title>Who &amp; what</title><text x=\"1\">Who &amp; what</text><text>A</text><text>at 31</text>";
        assert_eq!(texts(picture), ["Who & what", "at {0}"]);
        let mut catalog = Catalog::new(CatalogMetadata::new());
        for (text, translation) in [("Who & what", "谁 < 何"), ("at {0}", "{0} 处")] {
            let (text, translation) = (text.to_string(), translation.to_string());
            catalog.append_or_update(Message::build_singular().with_msgid(text).with_msgstr(translation).done());
        }
        let expected = "<title>谁 &lt; 何</title><text x=\"1\">谁 &lt; 何</text><text>A</text><text>31 处</text>";
        assert_eq!(in_language(picture, &catalog), expected);
    }
}
