//! The template of the translations, and the translations brought up to it: what gettext's `xgettext` and `msgmerge` do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use mdbook_i18n_helpers::xgettext;
use mdbook_renderer::RenderContext;
use polib_i18n::catalog::Catalog;
use polib_i18n::message::{Message, MessageFlags, MessageView};
use polib_i18n::metadata::CatalogMetadata;
use polib_i18n::po_file;
use regex_lite::Regex;
use similar::TextDiff;

use crate::po;

/// A lost translation is offered for a new text that is at least so like the old one, of 1; below, it helps nobody.
const ALIKE: f32 = 0.6;

/// What the head of a translation names.
const HEAD: [&str; 9] = [
    "Project-Id-Version",
    "POT-Creation-Date",
    "PO-Revision-Date",
    "Language-Team",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "Language",
    "Plural-Forms",
];

/// Every text of the book that can be translated, in the order of its pages.
///
/// It is taken before mdBook puts in what pages include: code, outputs and measurements are no texts of the book.
pub fn template(book: &MDBook) -> Result<Catalog> {
    let mut config = book.config.clone();
    // Sources without line numbers, no date: the template changes when a text does.
    config.set("output.xgettext.granularity", 0)?;
    let context = RenderContext::new(&book.root, book.book.clone(), config, "");
    let catalogs = xgettext::create_catalogs(&context, fs::read_to_string)?;
    let mut all = Catalog::new(Default::default());
    all.metadata.project_id_version = book.config.book.title.clone().unwrap_or_default();
    all.metadata.mime_version = "1.0".to_string();
    all.metadata.content_type = "text/plain; charset=UTF-8".to_string();
    all.metadata.content_transfer_encoding = "8bit".to_string();
    for catalog in catalogs.into_values() {
        for message in catalog.messages().filter(|message| has_words(message.msgid())) {
            all.append_or_update(with(message, "", MessageFlags::default()));
        }
    }
    for (page, summary) in summaries(book) {
        if all.find_message(None, &summary, None).is_none() {
            let message = Message::build_singular().with_msgid(summary).with_source(format!("src/{page}")).done();
            all.append_or_update(message);
        }
    }
    Ok(all)
}

/// Whether a text has words beside code and includes: only words are translated.
fn has_words(text: &str) -> bool {
    let aside = Regex::new(r"\{\{#[^}]*\}\}|`[^`]*`|<[^>]*>").expect("the pattern is a constant");
    aside.replace_all(text, "").chars().any(char::is_alphabetic)
}

/// The lines by which folded parts are opened, with their pages: HTML, which the extraction passes over.
fn summaries(book: &MDBook) -> Vec<(String, String)> {
    let pattern = Regex::new(r"<summary>([^<]+)</summary>").expect("the pattern is a constant");
    let mut found = Vec::new();
    for item in book.iter() {
        if let BookItem::Chapter(chapter) = item {
            let page = chapter.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            found.extend(pattern.captures_iter(&chapter.content).map(|one| (page.clone(), one[1].to_string())));
        }
    }
    found
}

/// A translation for the texts of `template`: those of `old` whose text is the same; for the others, the most similar of
/// the lost ones, marked fuzzy, which means that it is not shown; else none.
pub fn merge(old: &Catalog, template: &Catalog) -> Result<Catalog> {
    let current: BTreeSet<&str> = template.messages().map(|message| message.msgid()).collect();
    let is_lost = |message: &&dyn MessageView| message.is_translated() && !current.contains(message.msgid());
    let lost: Vec<(String, String)> = old
        .messages()
        .filter(|message| is_lost(message))
        .filter_map(|message| Some((message.msgid().to_string(), message.msgstr().ok()?.to_string())))
        .collect();
    let metadata = CatalogMetadata::parse(&old.metadata.export_for_po()).map_err(|error| anyhow!("{error}"))?;
    let mut merged = Catalog::new(metadata);
    for message in template.messages() {
        let known = old.find_message(None, message.msgid(), None).filter(|known| known.is_translated());
        merged.append_or_update(match known {
            Some(known) => with(message, known.msgstr().unwrap_or_default(), known.flags().clone()),
            None => match nearest(&lost, message.msgid()) {
                Some(translation) => with(message, translation, "fuzzy".parse().unwrap_or_default()),
                None => with(message, "", MessageFlags::default()),
            },
        });
    }
    Ok(merged)
}

/// The translation of the lost text that is most like `text`.
fn nearest<'a>(lost: &'a [(String, String)], text: &str) -> Option<&'a str> {
    let alike = lost.iter().map(|(old, translation)| (TextDiff::from_words(old.as_str(), text).ratio(), translation));
    let best = alike.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(ratio, _)| *ratio >= ALIKE)?;
    Some(best.1)
}

/// The translation of `text`, if there is one that may be shown.
pub fn translated(catalog: &Catalog, text: &str) -> Option<String> {
    let message = catalog.find_message(None, text, None).filter(|m| m.is_translated() && !m.is_fuzzy())?;
    message.msgstr().ok().map(str::to_string)
}

/// The same message with this translation.
fn with(message: &dyn MessageView, translation: &str, flags: MessageFlags) -> Message {
    Message::build_singular()
        .with_source(message.source().to_string())
        .with_comments(message.comments().to_string())
        .with_msgid(message.msgid().to_string())
        .with_msgstr(translation.to_string())
        .with_flags(flags)
        .done()
}

/// Reads a translation.
pub fn read(file: &Path) -> Result<Catalog> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    if let Some((line, what)) = po::malformed(&text) {
        bail!("{}:{line}: {what}", file.display());
    }
    // The reader takes these lines for granted.
    for name in HEAD {
        let what = || format!("{} has no line `{name}` in its head", file.display());
        ensure!(text.contains(&format!("\"{name}:")), "{}\nhint: copy the head of zh-CN.po", what());
    }
    po_file::parse(file).map_err(|error| anyhow!("cannot read {}: {error}", file.display()))
}

/// Each text on one line, apart from the head: wrapped ones take more room when packed, and a changed word moves all borders behind it.
fn unwrapped(text: &str) -> String {
    let (head, texts) = text.split_once("\n\n").unwrap_or((text, ""));
    let texts = texts.split("\"\n\"").collect::<Vec<_>>().join("");
    format!("{head}\n\n{texts}")
}

/// Writes a catalog, unless this is a check; returns whether the file was another one.
pub fn put(file: &Path, catalog: &Catalog, check: bool) -> Result<bool> {
    let new = file.with_extension("new");
    po_file::write(catalog, &new).with_context(|| format!("cannot write {}", new.display()))?;
    fs::write(&new, unwrapped(&fs::read_to_string(&new)?))?;
    let is_other = fs::read(&new)? != fs::read(file).unwrap_or_default();
    if is_other && check {
        println!("book/po/{} is not up to date", file.file_name().unwrap_or_default().display());
    }
    if is_other && !check {
        fs::rename(&new, file)?;
    } else {
        fs::remove_file(&new)?;
    }
    Ok(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(messages: &[(&str, &str)]) -> Catalog {
        let mut catalog = Catalog::new(CatalogMetadata::new());
        for (text, translation) in messages {
            let message =
                Message::build_singular().with_msgid(text.to_string()).with_msgstr(translation.to_string()).done();
            catalog.append_or_update(message);
        }
        catalog
    }

    #[test]
    fn the_same_text_keeps_its_translation_and_a_changed_one_is_fuzzy() {
        let old = catalog(&[("one two three four", "A"), ("gone", "B"), ("same", "C")]);
        let template = catalog(&[("same", ""), ("one two three five", ""), ("new", "")]);
        let merged = merge(&old, &template).unwrap();
        let all: Vec<_> = merged.messages().map(|m| (m.msgid(), m.msgstr().unwrap(), m.is_fuzzy())).collect();
        assert_eq!(all, [("same", "C", false), ("one two three five", "A", true), ("new", "", false)]);
        assert_eq!(translated(&merged, "same").as_deref(), Some("C"));
        assert_eq!(translated(&merged, "one two three five"), None);
    }

    #[test]
    fn a_text_is_on_one_line_and_the_head_as_it_was() {
        let wrapped = "msgid \"\"\nmsgstr \"\"\n\"Language: zh\\n\"\n\nmsgid \"\"\n\"a \\\"b\\\"\"\n\"\\nc\"\nmsgstr \"\"\n\"字\"\n";
        let expected = "msgid \"\"\nmsgstr \"\"\n\"Language: zh\\n\"\n\nmsgid \"a \\\"b\\\"\\nc\"\nmsgstr \"字\"\n";
        assert_eq!(unwrapped(wrapped), expected);
    }

    #[test]
    fn only_words_are_translated() {
        for text in ["{{#include ../a.txt}}", "`f32`", "1,024", "`a` -> 3"] {
            assert!(!has_words(text), "{text}");
        }
        assert!(has_words("a `b` {{#include c}}"));
    }
}
