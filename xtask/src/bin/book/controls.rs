//! The words of mdBook's own controls, which mdBook has in English alone: they are put into the built pages of a translation.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use polib_i18n::catalog::Catalog;
use polib_i18n::message::Message;
use regex_lite::{Captures, Regex};

use super::catalog;

/// What stands on controls, is said of them, or explains their keys.
const WORDS: [&str; 24] = [
    "Auto",
    "Light",
    "Rust",
    "Coal",
    "Navy",
    "Ayu",
    "Keyboard shortcuts",
    "Press",
    "or",
    "to navigate between chapters",
    "to search in the book",
    "to show this help",
    "to hide this help",
    "Change theme",
    "Next chapter",
    "Previous chapter",
    "Page navigation",
    "Print this book",
    "Table of contents",
    "Themes",
    "Toggle Searchbar",
    "Toggle Table of Contents",
    "Search this book ...",
    "Search (`/`)",
];

/// Adds them to the template.
pub fn add(template: &mut Catalog) {
    for word in WORDS {
        if template.find_message(None, word, None).is_none() {
            let mut message = Message::build_singular();
            message.with_msgid(word.to_string()).with_source("mdBook".to_string());
            template.append_or_update(message.done());
        }
    }
}

/// Puts them into the pages below `folder`, around each page's own text.
pub fn translate(folder: &Path, catalog: &Catalog) -> Result<()> {
    for page in pages(folder)? {
        let html = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        fs::write(&page, in_language(&html, catalog)).with_context(|| format!("cannot write {}", page.display()))?;
    }
    Ok(())
}

/// The pages of a folder, sorted.
pub fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "html") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

fn in_language(html: &str, catalog: &Catalog) -> String {
    let (before, rest) = html.split_once("<main>").unwrap_or((html, ""));
    let (text, after) = rest.split_once("</main>").unwrap_or((rest, ""));
    let main = |tag: &str| if rest.is_empty() { String::new() } else { tag.to_string() };
    around(before, catalog) + &main("<main>") + text + &main("</main>") + &around(after, catalog)
}

fn around(html: &str, catalog: &Catalog) -> String {
    let word = Regex::new(r#"(>\s*)([^<>]*[^<>\s])(\s*<)|((?:title|aria-label|placeholder)=")([^"]*)(")"#);
    let word = word.expect("the pattern is a constant");
    let put = |found: &Captures| {
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        let (before, text, after) = match part(2) {
            "" => (part(4), part(5), part(6)),
            text => (part(1), text, part(3)),
        };
        let known = WORDS.contains(&text).then(|| catalog::translated(catalog, text)).flatten();
        format!("{before}{}{after}", known.as_deref().unwrap_or(text))
    };
    word.replace_all(html, put).into_owned()
}

#[cfg(test)]
mod tests {
    use polib_i18n::metadata::CatalogMetadata;

    use super::*;

    #[test]
    fn controls_are_translated_and_the_text_is_not() {
        let mut catalog = Catalog::new(CatalogMetadata::new());
        let message = Message::build_singular().with_msgid("Rust".to_string()).with_msgstr("铁锈".to_string()).done();
        catalog.append_or_update(message);
        let html = "<a title=\"Rust\" id=\"Rust\">\n Rust </a><main><b>Rust</b></main><i>Rust</i><i>Navy</i>";
        let expected = "<a title=\"铁锈\" id=\"Rust\">\n 铁锈 </a><main><b>Rust</b></main><i>铁锈</i><i>Navy</i>";
        assert_eq!(in_language(html, &catalog), expected);
        assert_eq!(in_language("<i>Rust</i>", &catalog), "<i>铁锈</i>");
    }
}
