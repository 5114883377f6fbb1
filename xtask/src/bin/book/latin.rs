//! Sentences of Latin letters in a translation's built pages and pictures: texts that nobody translated. A text that the
//! catalog lacks is none of them as long as it lacks it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use polib_i18n::catalog::Catalog;
use regex_lite::Regex;

use super::controls::pages;
use super::pictures;

/// What mdBook makes for itself, and all pages in one; and the list of works, whose titles are names.
const ASIDE: [&str; 4] = ["404.html", "toc.html", "print.html", "sources.html"];
/// Three words that follow each other. Two may be a name.
const SENTENCE: &str = r"\b[A-Za-z][a-z']+(?:[ ,;:]+[a-z][a-z'-]+){2,}";
/// What the reader of any language reads as it is: code, and a name in parentheses or in quotation marks beside its word.
const NAMES: &str = r#"`[^`]*`|（[^（）]*）|\([^()]*\)|“[^”]*”|"[^"]*""#;

/// Every sentence of Latin letters: `page: the sentence`.
pub fn found(folder: &Path, catalog: &Catalog) -> Result<Vec<String>> {
    // A page does not show where a link leads.
    let targets = pattern(r"\]\([^)]*\)");
    let lacking: Vec<String> = catalog
        .messages()
        .filter(|message| !message.is_translated() || message.is_fuzzy())
        .map(|message| words(&targets.replace_all(message.msgid(), "]")))
        .collect();
    let mut texts = Vec::new();
    for page in pages(folder)? {
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !ASIDE.contains(&name.as_str()) {
            let html = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
            texts.push((name, text_of(&html)));
        }
    }
    for entry in fs::read_dir(folder.join("figures"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".svg") {
            texts.push((name, pictures::texts(&fs::read_to_string(&path)?).join("\n")));
        }
    }
    texts.sort();
    let mut all = Vec::new();
    for (name, text) in texts {
        let is_lacking = |sentence: &String| lacking.iter().any(|text| text.contains(&words(sentence)));
        let left = sentences(&text).into_iter().filter(|sentence| !is_lacking(sentence));
        all.extend(left.map(|sentence| format!("{name}: not translated: {sentence}")));
    }
    Ok(all)
}

fn words(text: &str) -> String {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// What a page shows, without its code; blocks are lines.
fn text_of(html: &str) -> String {
    let mut text = html.split_once("<body").map_or(html, |(_, body)| body).to_string();
    for tag in ["script", "style", "pre", "code"] {
        text = pattern(&format!("(?s)<{tag}[ >].*?</{tag}>")).replace_all(&text, " ` ` ").into_owned();
    }
    let comment = pattern("(?s)<!--.*?-->").replace_all(&text, "").into_owned();
    let inline = pattern("</?(?:em|strong|a|b|i|span|kbd)(?: [^>]*)?>").replace_all(&comment, "").into_owned();
    let plain = pattern("<[^>]*>").replace_all(&inline, "\n").into_owned();
    plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn sentences(text: &str) -> Vec<String> {
    let (sentence, names) = (pattern(SENTENCE), pattern(NAMES));
    let lines = text.lines().map(|line| names.replace_all(line, "、").into_owned());
    let found = |line: String| sentence.find_iter(&line).map(|found| found.as_str().to_string()).collect::<Vec<_>>();
    lines.flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use polib_i18n::message::Message;
    use polib_i18n::metadata::CatalogMetadata;

    use super::*;

    #[test]
    fn sentences_are_found_outside_code() {
        let html = "<html><head><title>Not in the body</title></head><body class=\"a b c\"><p>这是 <em>one</em> that was \
            left。</p><pre>some code of ours</pre><td>Nsight Compute</td><p>加法（fused multiply-add of two）<code>a b c d</code></p>";
        assert_eq!(sentences(&text_of(html)), ["one that was left"]);
        assert_eq!(sentences("where 它 it is 在"), Vec::<String>::new());
    }

    #[test]
    fn what_the_catalog_lacks_is_excused() {
        let folder = std::env::temp_dir().join(format!("xtask-latin-{}", std::process::id()));
        fs::create_dir_all(folder.join("figures")).unwrap();
        fs::write(
            folder.join("a.html"),
            "<body><p>It is <b>not</b> <a href=\"there.html\">there</a> yet.</p><p>Nobody knows this one.</p>",
        )
        .unwrap();
        fs::write(folder.join("figures/b.svg"), "<text>a picture of words</text>").unwrap();
        let mut catalog = Catalog::new(CatalogMetadata::new());
        catalog.append_or_update(
            Message::build_singular().with_msgid("It is **not** [there](there.md) yet.".to_string()).done(),
        );
        let all = found(&folder, &catalog).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let expected = ["a.html: not translated: Nobody knows this one", "b.svg: not translated: picture of words"];
        assert_eq!(all[0], expected[0]);
        assert_eq!(all.len(), 2, "{all:?}");
    }
}
