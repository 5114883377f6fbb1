//! Code and outputs are included in the book's pages, never pasted: a block says by its language what it may include.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::includes::pages;
use super::tree::{Finding, Tree, numbered};

/// Languages whose blocks are one include each, and where what they include lies, seen from a page.
const INCLUDED: [(&str, &[&str]); 5] = [
    ("console", &["../outputs/"]),
    ("diff", &["../diffs/", "../exercises/"]),
    ("cpp", &["../../"]),
    ("rust", &["../../"]),
    ("ptx", &["../../"]),
];
/// Languages whose blocks are written in the page: a drawing or a formula, and commands without their output.
const WRITTEN: [&str; 2] = ["text", "sh"];

/// A block of code: its first line, counted from 1, its language, and its text.
struct Block {
    line: usize,
    language: String,
    text: String,
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in pages(tree) {
        for block in blocks(text) {
            findings.extend(wrong(&block).map(|what| Finding::new(page, block.line, what)));
        }
        for (number, _) in numbered(text).filter(|(_, line)| line.starts_with(": ") || line.starts_with("> [!")) {
            findings.push(Finding::new(page, number, "definition lists and `[!NOTE]` boxes cannot be translated"));
        }
    }
    findings
}

fn wrong(block: &Block) -> Option<String> {
    let text = block.text.trim();
    let language = block.language.as_str();
    if let Some((_, folders)) = INCLUDED.iter().find(|(name, _)| *name == language) {
        let is_one = text.starts_with("{{#include ") && text.ends_with("}}") && text.lines().count() == 1;
        let target = text.trim_start_matches("{{#include ");
        let fits = is_one && folders.iter().any(|folder| target.starts_with(folder));
        return (!fits).then(|| format!("a `{language}` block is one include from {}", folders.join(" or ")));
    }
    if !WRITTEN.contains(&language) {
        let names: Vec<&str> = INCLUDED.iter().map(|(name, _)| *name).chain(WRITTEN).collect();
        return Some(format!("a block says its language: one of {}", names.join(", ")));
    }
    let pasted = text.lines().any(|line| line.trim_start().starts_with("$ "));
    pasted.then(|| "a command with `$` shows an output: include it in a `console` block".to_string())
}

/// Every block of code of a page; the language of an indented one is empty.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new_ext(page, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([',', ' ']).next().unwrap_or_default().to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let line = 1 + page[..range.start].matches('\n').count();
                blocks.push(Block { line, language, text: String::new() });
                open = true;
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            Event::Text(part) if open => {
                if let Some(block) = blocks.last_mut() {
                    block.text.push_str(&part);
                }
            }
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    fn on(block: &str) -> Vec<String> {
        printed(check, [("book/src/a.md", &format!("# A\n\n{block}\n"))])
    }

    #[test]
    fn included_blocks_and_drawings_pass() {
        for block in [
            "```console\n{{#include ../outputs/a/1.txt}}\n```",
            "- x\n\n  ```diff\n  {{#include ../exercises/a-1.diff}}\n  ```",
            "```cpp\n{{#include ../../level0-a/kernel.cu:mapping}}\n```",
            "```text\n A -> B\n```",
            "```sh\ncargo run -p a\n```",
        ] {
            assert!(on(block).is_empty(), "{block}");
        }
    }

    #[test]
    fn what_cannot_be_translated_is_found() {
        let what = "definition lists and `[!NOTE]` boxes cannot be translated";
        assert_eq!(on("term\n: meaning"), [format!("book/src/a.md:4: {what}")]);
        assert_eq!(on("> [!NOTE]\n> x"), [format!("book/src/a.md:3: {what}")]);
    }

    #[test]
    fn pasted_blocks_are_found() {
        let console = "book/src/a.md:3: a `console` block is one include from ../outputs/";
        for (block, what) in [
            ("```console\n$ cargo run\nright\n```", console),
            ("```console\n{{#include ../outputs/a/1.txt}}\nmore\n```", console),
            ("```console\n{{#include ../../level0-a/kernel.cu}}\n```", console),
            ("```cpp\nint row;\n```", "book/src/a.md:3: a `cpp` block is one include from ../../"),
            (
                "```text\n$ cargo run\n```",
                "book/src/a.md:3: a command with `$` shows an output: include it in a `console` block",
            ),
            (
                "```\nx\n```",
                "book/src/a.md:3: a block says its language: one of console, diff, cpp, rust, ptx, text, sh",
            ),
        ] {
            assert_eq!(on(block), [what]);
        }
    }
}
