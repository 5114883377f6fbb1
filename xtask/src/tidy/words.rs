//! The words of the pages' scripts, `const words = { en: { name: "text", … }, … };`: each language of the book has all of them.

use std::collections::BTreeMap;

use regex_lite::Regex;

use super::tree::{Finding, Tree};

/// Where the book's languages and their names stand.
const LANGUAGES: &str = "book/theme/languages.js";
/// Where the tables of a script begin and end.
const TABLES: (&str, &str) = ("const words = {", "};");

/// Texts by their names.
type Words<'a> = BTreeMap<&'a str, &'a str>;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let languages = tree.text(LANGUAGES).map(languages).unwrap_or_default();
    let mut findings = Vec::new();
    for (path, text) in tree.ending(&[".js"]).filter(|(path, _)| path.starts_with("book/theme/")) {
        let Some(at) = text.find(TABLES.0) else { continue };
        let line = text[..at].lines().count();
        let tables = tables(&text[at + TABLES.0.len()..]);
        let english = tables.get("en").cloned().unwrap_or_default();
        if english.is_empty() {
            findings.push(Finding::new(path, line, "has no English words"));
        }
        for language in &languages {
            let words = tables.get(language).cloned().unwrap_or_default();
            for what in differences(language, &english, &words) {
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// The names of the languages, as pages have them: `"zh-CN": "中文"`.
fn languages(text: &str) -> Vec<&str> {
    let line = text.lines().find(|line| line.contains("const languages = {")).unwrap_or_default();
    let pattern = Regex::new(r#""([^"]+)": "#).expect("the pattern is a constant");
    pattern.captures_iter(line).filter_map(|found| found.get(1)).map(|name| name.as_str()).collect()
}

/// The words of each language.
fn tables(text: &str) -> BTreeMap<&str, Words<'_>> {
    let beginning = Regex::new(r#"^ *"?([A-Za-z-]+)"?: \{"#).expect("the pattern is a constant");
    let word = Regex::new(r#"(\w+): "((?:[^"\\]|\\.)*)""#).expect("the pattern is a constant");
    let mut tables: BTreeMap<&str, Words> = BTreeMap::new();
    let mut language = "";
    for line in text.lines().take_while(|line| line.trim() != TABLES.1) {
        language = beginning.captures(line).and_then(|found| found.get(1)).map_or(language, |name| name.as_str());
        let words = tables.entry(language).or_default();
        for found in word.captures_iter(line) {
            if let (Some(name), Some(text)) = (found.get(1), found.get(2)) {
                words.insert(name.as_str(), text.as_str());
            }
        }
    }
    tables
}

/// Words that a language lacks or has too many, and places for values that it loses.
fn differences(language: &str, english: &Words, words: &Words) -> Vec<String> {
    let value = Regex::new(r"\{\d\}").expect("the pattern is a constant");
    let mut wrong = Vec::new();
    for (name, text) in english {
        match words.get(name) {
            None => wrong.push(format!("has no word `{name}` in {language}")),
            Some(word) => {
                let lost = value.find_iter(text).filter(|found| !word.contains(found.as_str()));
                wrong.extend(lost.map(|found| format!("`{name}` in {language} loses {}", found.as_str())));
            }
        }
    }
    let known = |name: &&&str| !english.contains_key(**name);
    wrong.extend(words.keys().filter(known).map(|name| format!("has a word `{name}` in {language} alone")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::*;

    fn found(words: &str) -> Vec<String> {
        let script = format!(
            "(() => {{\n    const words = {{\n{words}\n    }};\n    const other = {{ more: \"x\" }};\n}})();\n"
        );
        let languages = "    const languages = { \"en\": \"English\", \"zh-CN\": \"中文\" };\n";
        printed(check, [(LANGUAGES, languages), ("book/theme/a.js", script.as_str())])
    }

    #[test]
    fn every_language_has_every_word_with_its_values() {
        let english = "        en: {\n            a: \"{0}: \\\"b: c\\\"\", b: \"x\",\n        },";
        let all = format!(
            "{english}\n        \"zh-CN\": {{\n            a: \"{{0}}字\",\n            b: \"字\",\n        }},"
        );
        assert!(found(&all).is_empty(), "{:?}", found(&all));
        for (from, to, what) in [
            (" a: \"{0}字\",", "", "has no word `a` in zh-CN"),
            ("{0}字", "字", "`a` in zh-CN loses {0}"),
            ("            b: \"字\"", "            c: \"\", b: \"字\"", "has a word `c` in zh-CN alone"),
            ("zh-CN", "fr", "has no word `a` in zh-CN"),
            ("en: {", "de: {", "has no English words"),
        ] {
            let findings = found(&all.replace(from, to));
            assert!(findings.iter().any(|finding| finding.contains(what)), "{what}: {findings:?}");
        }
    }

    #[test]
    fn a_line_may_have_all_words_of_a_language() {
        let all = "        en: { copied: \"Copied!\" },\n        \"zh-CN\": { copied: \"已复制！\" },";
        assert!(found(all).is_empty(), "{:?}", found(all));
        assert_eq!(found(&all.replace("copied: \"已", "copy: \"已")).len(), 2);
    }
}
