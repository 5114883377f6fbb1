//! Relative links in Markdown lead to a file or folder of the repository, and `#section` to a heading.

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};
use regex_lite::Regex;

use super::tree::{Finding, Tree, folder_of, resolve};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(&[".md"]).filter(|(path, _)| *path != "book/src/SUMMARY.md") {
        for (line, link) in links(text) {
            findings.extend(broken(tree, path, &link).map(|what| Finding::new(path, line, format!("{link} {what}"))));
        }
    }
    findings
}

/// What is wrong with a link of the file `page`.
fn broken(tree: &Tree, page: &str, link: &str) -> Option<&'static str> {
    if is_url(link) {
        return None;
    }
    let (file, section) = link.split_once('#').unwrap_or((link, ""));
    if file.starts_with('/') {
        return Some("is absolute: link from this file's folder");
    }
    let target = if file.is_empty() { Some(page.to_string()) } else { resolve(folder_of(page), file) };
    match target {
        None => Some("leads out of the repository"),
        Some(target) if !tree.has(&target) => Some("does not exist"),
        Some(target) if page.starts_with("book/src/") && !target.starts_with("book/src/") => {
            Some("leads out of the book: the built page cannot reach it")
        }
        Some(target) if !section.is_empty() && target.ends_with(".md") => {
            let sections = sections(tree.text(&target).unwrap_or_default());
            (!sections.iter().any(|name| name == section)).then_some("names no heading of that page")
        }
        Some(_) => None,
    }
}

/// Whether a link has a scheme, as `https:` and `mailto:`.
fn is_url(link: &str) -> bool {
    let scheme = link.split_once(':').map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Every link and picture of a Markdown text with its line, those of its HTML included, those of its code not.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let attribute = Regex::new(r#"(?:href|src)="([^"]*)""#).expect("the pattern is a constant");
    let mut links = Vec::new();
    // `[words][name]`, where no line defines the name, would be printed as it stands; `A[1][2]` is an element.
    let undefined = |link: BrokenLink| {
        let is_element = text[..link.span.start].ends_with(|c: char| c.is_alphanumeric() || c == ']');
        let is_named = link.link_type == LinkType::Reference && !is_element;
        is_named.then(|| (CowStr::from(format!("[{}]", link.reference)), CowStr::from("")))
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let parser = Parser::new_with_broken_link_callback(text, options, Some(undefined));
    for (event, range) in parser.into_offset_iter() {
        let line = 1 + text[..range.start].matches('\n').count();
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push((line, dest_url.to_string()))
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                links.extend(attribute.captures_iter(&html).map(|found| (line, found[1].to_string())));
            }
            _ => {}
        }
    }
    links
}

/// The names by which a Markdown text's headings are linked to; in the book, those of its definitions too.
fn sections(text: &str) -> Vec<String> {
    let (mut sections, mut heading) = (Vec::new(), None);
    let options = Options::ENABLE_HEADING_ATTRIBUTES | Options::ENABLE_DEFINITION_LIST;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Heading { id: Some(id), .. }) => sections.push(id.to_string()),
            Event::Start(Tag::Heading { .. } | Tag::DefinitionListTitle) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_) | TagEnd::DefinitionListTitle) => {
                if let Some(title) = heading.take() {
                    let name = slug(&title);
                    // The second of a name is `name-1`, the third `name-2`.
                    let numbered = (1..).map(|again| format!("{name}-{again}"));
                    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !sections.contains(name));
                    sections.extend(free);
                }
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(title) = &mut heading {
                    title.push_str(&part);
                }
            }
            _ => {}
        }
    }
    sections
}

/// A heading as GitHub and mdBook write it in a link: small letters, a dash for a space, no punctuation.
fn slug(title: &str) -> String {
    let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const OTHERS: [(&str, &str); 2] = [
        ("docs/a.md", "# What `x` is\n# Again {#id}\n## Again\n## Again\n## Again\n\nterm\n: meaning\n"),
        ("book/src/b.md", ""),
    ];

    fn on(page: &str, text: &str) -> Vec<String> {
        printed(check, [(page, text), OTHERS[0], OTHERS[1]])
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Top\n[a](docs/a.md) [f](docs) [s](docs/a.md#what-x-is) [t](#top) [u](https://example.org/x) `[no](link)`\n";
        assert!(on("README.md", text).is_empty());
        for name in ["id", "again", "again-2", "term"] {
            assert!(on("README.md", &format!("[x](docs/a.md#{name})\n")).is_empty(), "{name}");
        }
    }

    #[test]
    fn links_that_lead_nowhere() {
        for (link, what) in [
            ("docs/c.md", "does not exist"),
            ("../x", "leads out of the repository"),
            ("/docs/a.md", "is absolute: link from this file's folder"),
            ("docs/a.md#why", "names no heading of that page"),
            ("#top", "names no heading of that page"),
        ] {
            assert_eq!(on("README.md", &format!("one\n[x]({link})\n")), [format!("README.md:2: {link} {what}")]);
            assert_eq!(
                on("README.md", &format!("\n| a |\n|---|\n| [x]({link}) |\n")),
                [format!("README.md:4: {link} {what}")]
            );
        }
        assert_eq!(on("README.md", "the [barrier][of-it]\n"), ["README.md:1: [of-it] does not exist"]);
        assert!(on("README.md", "A[16][5] and [x][d]\n\n[d]: docs/a.md\n").is_empty());
        assert_eq!(on("README.md", "<img src=\"no.svg\">\n"), ["README.md:1: no.svg does not exist"]);
    }

    #[test]
    fn a_page_of_the_book_stays_in_the_book() {
        let what = "leads out of the book: the built page cannot reach it";
        assert_eq!(
            on("book/src/c.md", "[a](../../docs/a.md) [b](b.md)"),
            [format!("book/src/c.md:1: ../../docs/a.md {what}")]
        );
    }
}
