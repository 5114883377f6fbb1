//! What `lab check` and `lab start` say, in the reader's language.
//!
//! A message is its English text, with `{0}`, `{1}` for what is put in. The catalogs, `crates/lab/po/<language>.po`, hold its
//! translations, and those of the exercises' texts in `book/checks`.

use std::borrow::Cow;
use std::env;
use std::fmt::Display;
use std::sync::OnceLock;

use clap::ValueEnum;
use polib::catalog::Catalog;
use polib::po_file;

/// A language in which the exercises are spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// English
    #[value(name = "en")]
    English,
    /// Chinese
    #[value(name = "zh-CN")]
    Chinese,
}

const CHINESE: &str = include_str!("../po/zh-CN.po");

/// The catalog of the language that was chosen; nothing for English.
static CATALOG: OnceLock<Option<Catalog>> = OnceLock::new();

/// Chooses the language, once: the one that is named, else the environment's.
pub fn speak(named: Option<Language>) {
    let language = named.unwrap_or_else(|| of_environment(|name| env::var(name).ok()));
    CATALOG.get_or_init(|| (language == Language::Chinese).then(chinese).flatten());
}

fn chinese() -> Option<Catalog> {
    po_file::parse_from_reader(CHINESE.as_bytes()).ok()
}

/// The language that the environment asks for, as other programs read it.
fn of_environment(value: impl Fn(&str) -> Option<String>) -> Language {
    let set =
        ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| value(name).filter(|text| !text.is_empty()));
    if set.is_some_and(|text| text.starts_with("zh")) { Language::Chinese } else { Language::English }
}

/// The message in the chosen language, with these values in it.
pub fn say(message: &str, values: &[&dyn Display]) -> String {
    let found = CATALOG.get().and_then(|catalog| translated(catalog.as_ref()?, message));
    // cargo tells what it runs of itself.
    let by_cargo = env::var_os("CARGO").is_some();
    put_in(&as_called(found.as_deref().unwrap_or(message), by_cargo), values)
}

/// A message with commands as the program was called: by cargo, or, where it is installed, by its name.
fn as_called(message: &str, by_cargo: bool) -> Cow<'_, str> {
    if by_cargo { message.into() } else { message.replace("cargo run -p lab -- ", "lab ").into() }
}

fn translated(catalog: &Catalog, message: &str) -> Option<String> {
    let found = catalog.find_message(None, message, None).filter(|found| found.is_translated() && !found.is_fuzzy())?;
    found.msgstr().ok().map(str::to_string)
}

/// One pass, so that braces in a value stay what they are.
fn put_in(message: &str, values: &[&dyn Display]) -> String {
    let mut text = String::new();
    let mut rest = message;
    while let Some(start) = rest.find('{') {
        text += &rest[..start];
        rest = &rest[start..];
        let value = rest.as_bytes().get(1).filter(|_| rest[1..].chars().nth(1) == Some('}'));
        let value = value.and_then(|digit| values.get(usize::from(digit.wrapping_sub(b'0'))));
        let shown = value.map_or_else(|| "{".to_string(), |value| value.to_string());
        rest = &rest[if value.is_some() { 3 } else { 1 }..];
        text += &shown;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::super::check::texts;
    use super::*;

    /// Every message: of the tables, and of the sources that speak.
    fn messages() -> BTreeSet<String> {
        let mut all = texts();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut sources: Vec<_> =
            fs::read_dir(folder.join("check")).unwrap().map(|file| file.unwrap().path()).collect();
        sources.push(folder.join("lib.rs"));
        for source in sources {
            let text = fs::read_to_string(&source).unwrap();
            for rest in text.split("say(").skip(1) {
                let Some(rest) = rest.trim_start().strip_prefix('"') else { continue };
                let end = rest.match_indices('"').find(|(at, _)| !rest[..*at].ends_with('\\')).unwrap().0;
                all.insert(rest[..end].replace("\\n", "\n").replace("\\\"", "\""));
            }
        }
        all
    }

    fn parts(text: &str) -> BTreeSet<String> {
        let mut parts: BTreeSet<String> = text.split('`').skip(1).step_by(2).map(str::to_string).collect();
        parts.extend((0..9).map(|n| format!("{{{n}}}")).filter(|part| text.contains(part)));
        parts
    }

    #[test]
    fn every_message_is_translated_and_no_translation_is_stale() {
        let catalog = chinese().unwrap();
        let messages = messages();
        assert!(messages.len() > 300, "{}", messages.len());
        let lacking: Vec<&String> = messages.iter().filter(|text| translated(&catalog, text).is_none()).collect();
        assert!(lacking.is_empty(), "crates/lab/po/zh-CN.po lacks {}: {lacking:#?}", lacking.len());
        let stale: Vec<&str> = catalog.messages().map(|m| m.msgid()).filter(|id| !messages.contains(*id)).collect();
        assert!(stale.is_empty(), "crates/lab/po/zh-CN.po has what nothing says: {stale:#?}");
        for text in &messages {
            let translation = translated(&catalog, text).unwrap();
            assert_eq!(parts(text), parts(&translation), "{text}: {translation}");
            assert_eq!(text.ends_with('\n'), translation.ends_with('\n'), "{text}");
        }
    }

    /// Two words of Latin letters that follow each other, outside code, are a text that somebody forgot.
    #[test]
    fn no_translation_is_english() {
        let catalog = chinese().unwrap();
        for message in catalog.messages() {
            let translation = message.msgstr().unwrap_or_default();
            let text: String = translation.split('`').step_by(2).collect::<Vec<_>>().join("、");
            let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
            let words: Vec<&str> = text.split(' ').collect();
            let english = words.windows(2).any(|pair| pair.iter().all(is_word));
            assert!(!english, "{translation}");
        }
    }

    #[test]
    fn the_environment_names_a_language() {
        let of = |pairs: &[(&str, &str)]| {
            of_environment(|name| pairs.iter().find(|(one, _)| *one == name).map(|(_, value)| value.to_string()))
        };
        assert_eq!(of(&[]), Language::English);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Language::Chinese);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")]), Language::English);
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LC_MESSAGES", ""), ("LC_ALL", "zh_TW")]), Language::Chinese);
    }

    #[test]
    fn values_are_put_in_once() {
        assert_eq!(put_in("{1} of {0}{", &[&"{1}", &2]), "2 of {1}{");
        assert_eq!(put_in("{9} {a} 字{0}", &[&1]), "{9} {a} 字1");
    }

    #[test]
    fn commands_are_as_the_program_was_called() {
        let message = "next: cargo run -p lab -- check {0}";
        assert_eq!(as_called(message, true), message);
        assert_eq!(as_called(message, false), "next: lab check {0}");
    }
}
