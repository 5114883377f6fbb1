//! A book in another language: every text that the catalog translates; what it does not stays English.

use anyhow::Result;
use mdbook_driver::book::{Book, BookItem};
use mdbook_i18n_helpers::gettext;
use polib_i18n::catalog::Catalog;
use polib_i18n::message::{MessageMutView, MessageView};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex_lite::{Captures, Regex};

use super::catalog;

/// Translates a book that was loaded, before mdBook puts in what its pages include.
pub fn book(book: &mut Book, catalog: &mut Catalog) -> Result<()> {
    let summary = Regex::new(r"<summary>([^<]+)</summary>").expect("the pattern is a constant");
    book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item {
            let content = keep_ids(&chapter.content);
            let translated = |found: &Captures| match catalog::translated(catalog, &found[1]) {
                Some(text) => format!("<summary>{text}</summary>"),
                None => found[0].to_string(),
            };
            chapter.content = summary.replace_all(&content, translated).into_owned();
        }
    });
    for mut message in catalog.messages_mut() {
        let text = emphasised(message.msgstr().unwrap_or_default());
        message.set_msgstr(text)?;
    }
    gettext::add_stripped_summary_translations(catalog);
    gettext::translate_book(catalog, book)
}

/// A text with its emphasis as HTML. A translated page is written anew, with `_` around what is emphasised; between letters,
/// and Chinese has no spaces, that is no emphasis.
fn emphasised(text: &str) -> String {
    let mut marks = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        if event == Event::Start(Tag::Emphasis) {
            marks.extend([(range.start, "<em>"), (range.end - 1, "</em>")]);
        }
    }
    marks.sort_unstable();
    let mut text = text.to_string();
    for (at, mark) in marks.into_iter().rev() {
        text.replace_range(at..=at, mark);
    }
    text
}

/// Writes each heading's name in links beside it, `## Goal {#goal}`, so that links lead there in every language.
fn keep_ids(page: &str) -> String {
    let options = Options::ENABLE_HEADING_ATTRIBUTES | Options::ENABLE_TABLES;
    let (mut used, mut ends, mut title) = (Vec::new(), Vec::new(), None);
    for (event, range) in Parser::new_ext(page, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { id: Some(id), .. }) => used.push(id.to_string()),
            Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(title) = &mut title {
                    title.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(title) = title.take() {
                    let id = unused(&name(&title), &used);
                    ends.push((range.start + page[range.clone()].trim_end().len(), id.clone()));
                    used.push(id);
                }
            }
            _ => {}
        }
    }
    let mut text = page.to_string();
    for (end, id) in ends.into_iter().rev() {
        text.insert_str(end, &format!(" {{#{id}}}"));
    }
    text
}

/// A heading's name as mdBook makes it.
fn name(title: &str) -> String {
    let kept = title.trim().to_lowercase();
    let kept = kept.chars().map(|c| if c.is_whitespace() { '-' } else { c });
    kept.filter(|c| c.is_alphanumeric() || "_-".contains(*c)).collect()
}

/// The second heading of a name is `name-1`.
fn unused(name: &str, used: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    let mut all = std::iter::once(name.to_string()).chain(numbered);
    all.find(|name| !used.contains(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use polib_i18n::message::Message;
    use polib_i18n::metadata::CatalogMetadata;

    use super::*;

    fn message(text: &str, translation: &str, flags: &str) -> Message {
        let mut message = Message::build_singular();
        message.with_msgid(text.to_string()).with_msgstr(translation.to_string());
        message.with_flags(flags.parse().unwrap()).done()
    }

    #[test]
    fn a_page_is_translated_and_its_links_still_lead_there() {
        let page = "## The `x` picture\n\nOne.\n\nTwo.\n\nA *fine* word.\n\n```console\n{{#include ../outputs/a.txt}}\n```\n\n<details>\n<summary>Hint</summary>\n\nOne.\n\n</details>\n";
        let mut catalog = Catalog::new(CatalogMetadata::new());
        for (text, translation, flags) in [
            ("The `x` picture", "图 `x`", ""),
            ("One.", "一。", ""),
            ("Two.", "二。", "fuzzy"),
            ("A _fine_ word.", "一个*好*词。", ""),
            ("Hint", "提示", ""),
        ] {
            catalog.append_or_update(message(text, translation, flags));
        }
        let mut all = Book::new();
        all.push_item(mdbook_driver::book::Chapter::new("One.", page.to_string(), "a.md", Vec::new()));
        book(&mut all, &mut catalog).unwrap();
        let BookItem::Chapter(chapter) = &all.items[0] else { panic!() };
        let lines: Vec<&str> = chapter.content.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            [
                "## 图 `x` { #the-x-picture }",
                "一。",
                "Two.",
                "一个<em>好</em>词。",
                "```console",
                "{{#include ../outputs/a.txt}}",
                "```",
                "<details>",
                "<summary>提示</summary>",
                "一。",
                "</details>"
            ]
        );
        assert_eq!(chapter.name, "一。");
    }

    #[test]
    fn headings_of_one_name_keep_theirs() {
        assert_eq!(keep_ids("# A b\n\n# A b\n\nC\n=\n"), "# A b {#a-b}\n\n# A b {#a-b-1}\n\nC\n= {#c}\n");
    }
}
