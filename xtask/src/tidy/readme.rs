//! The README names the two commands of the project, shows outputs and code as they are, and links to every level once.

use super::links::links;
use super::tree::{Finding, Tree, numbered, resolve};
use crate::ci::TEST_COMMAND;

const README: &str = "README.md";
const RUN_COMMAND: &str = "cargo run -p level2-register";
/// What its console blocks show, whole or a part.
const OUTPUTS: [&str; 2] = ["book/outputs/introduction/run.txt", "book/outputs/wrong/store-without-fence.txt"];
/// What its blocks of code are a part of, by their language.
const CODES: [(&str, &str); 2] =
    [("cpp", "kernels/store-without-fence.cu"), ("rust", "crates/summit/examples/multiply.rs")];
/// The line by which a block says that lines are left out before it or behind it.
const MORE: &str = "…";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(README).unwrap_or_default();
    let mut findings = commands(text);
    findings.extend(shown(tree, text));
    findings.extend(levels(tree, text));
    findings
}

/// Each of the two commands stands alone on a line.
fn commands(text: &str) -> Vec<Finding> {
    let missing = [RUN_COMMAND, TEST_COMMAND].into_iter().filter(|command| !text.lines().any(|line| line == *command));
    missing.map(|command| Finding::new(README, 1, format!("no line is the command `{command}`"))).collect()
}

/// The console blocks are the outputs, in their order, and the blocks of code are lines of their sources.
fn shown(tree: &Tree, text: &str) -> Vec<Finding> {
    let consoles = blocks(text, "console");
    let mut findings = Vec::new();
    let outputs: Vec<(&str, &str)> = OUTPUTS.iter().filter_map(|path| Some((*path, tree.text(path)?))).collect();
    for (index, (path, output)) in outputs.iter().enumerate() {
        match consoles.get(index) {
            None => findings.push(Finding::new(README, 1, format!("no block shows what {path} says"))),
            Some((line, block)) if !is_part(block, output) => {
                let what = format!("the block is no part of {path}, with a line `{MORE}` where something is left out");
                findings.push(Finding::new(README, *line, what));
            }
            Some(_) => (),
        }
    }
    for (line, _) in consoles.iter().skip(outputs.len()) {
        findings.push(Finding::new(README, *line, "the block is no output of the book that is listed in the check"));
    }
    for (language, path) in CODES {
        let source = tree.text(path).unwrap_or_default();
        for (line, code) in blocks(text, language) {
            if !format!("\n{source}").contains(&format!("\n{code}")) {
                findings.push(Finding::new(README, line, format!("the block is no part of {path}")));
            }
        }
    }
    findings
}

/// The blocks in a language, each with the line after its fence, and its text.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<(usize, &'a str)> {
    let fence = format!("```{language}\n");
    let starts = text.match_indices(&fence).map(|(at, _)| at + fence.len());
    let block = |start: usize| {
        let line = 1 + text[..start].matches('\n').count();
        (line, text[start..].split("```").next().unwrap_or_default())
    };
    starts.map(block).collect()
}

/// Whether a block is an output without the command of its first line, or whole lines of it with a line that says what is left out.
fn is_part(block: &str, output: &str) -> bool {
    let more = format!("{MORE}\n");
    let printed = output.split_once('\n').map_or("", |(_, rest)| rest);
    let lines = block.strip_prefix(&more).unwrap_or(block);
    let lines = lines.strip_suffix(&more).unwrap_or(lines);
    let (starts_later, ends_earlier) = (block.starts_with(&more), block.ends_with(&more));
    let text = format!("\n{printed}");
    text.match_indices(&format!("\n{lines}")).any(|(at, found)| {
        let end = at + found.len();
        !lines.is_empty() && (at > 0) == starts_later && (end < text.len()) == ends_earlier
    })
}

/// Every level is linked to once, in whatever order and grouping.
fn levels(tree: &Tree, text: &str) -> Vec<Finding> {
    let links: Vec<(usize, String)> =
        links(text).into_iter().filter_map(|(line, link)| Some((line, resolve("", &link)?))).collect();
    let mut findings = Vec::new();
    for level in tree.levels() {
        let is_in = |path: &str| path == level.folder || path.starts_with(&format!("{}/", level.folder));
        let to_it: Vec<usize> = links.iter().filter(|(_, path)| is_in(path)).map(|(line, _)| *line).collect();
        match to_it[..] {
            [_] => (),
            [] => {
                let line = numbered(text).find(|(_, line)| line.contains(&level.name)).map_or(1, |(number, _)| number);
                findings.push(Finding::new(README, line, format!("no link leads to {}", level.folder)));
            }
            [_, again, ..] => {
                findings.push(Finding::new(README, again, format!("this link to {} is not the first", level.folder)))
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const COMMANDS: &str = "cargo run -p level2-register\ncargo test --workspace\n";
    const LINKS: &str = "[a](level0-a/kernel.cu), then\n[b](further/level1-b)\n";
    const LEVELS: [(&str, &str); 2] = [("level0-a/kernel.cu", ""), ("further/level1-b/kernel.cu", "")];

    fn on(readme: &str) -> Vec<String> {
        printed(check, [("README.md", readme), LEVELS[0], LEVELS[1]])
    }

    #[test]
    fn a_whole_readme_passes() {
        assert!(on(&format!("{COMMANDS}{LINKS}")).is_empty());
        assert!(on(&format!("[b](./further/level1-b/kernel.cu) before [a](level0-a)\n{COMMANDS}")).is_empty());
    }

    #[test]
    fn a_missing_command() {
        assert_eq!(
            on(&format!("cargo run -p level2-register\n{LINKS}")),
            ["README.md:1: no line is the command `cargo test --workspace`"]
        );
    }

    #[test]
    fn what_the_commands_print() {
        let outputs = [
            (super::OUTPUTS[0], "$ cargo run -p level2-register\na report\n\nits words\n"),
            (super::OUTPUTS[1], "$ cargo run -p lab\na fault\n"),
        ];
        let on = |first: &str, second: &str| {
            let readme = format!("{COMMANDS}```console\n{first}```\n```console\n{second}```\n{LINKS}");
            printed(check, [("README.md", &*readme), outputs[0], outputs[1], LEVELS[0], LEVELS[1]])
        };
        assert!(on("a report\n\nits words\n", "a fault\n").is_empty());
        for part in ["a report\n…\n", "…\nits words\n", "…\n\n…\n"] {
            assert!(on(part, "a fault\n").is_empty(), "{part}");
        }
        let expected = "README.md:4: the block is no part of book/outputs/introduction/run.txt, with a line `…` where something is left out";
        for wrong in [
            "a report\n",
            "a rep\n…\n",
            "another report\n…\n",
            "its words\n",
            "…\na report\n…\n",
            "a report\n\nits words\n…\n",
            "…\n",
            "",
        ] {
            assert_eq!(on(wrong, "a fault\n"), [expected], "{wrong}");
        }
        let swapped = on("a fault\n", "a report\n…\n");
        assert_eq!(swapped.len(), 2, "{swapped:?}");
    }

    #[test]
    fn an_output_that_is_not_shown_and_one_that_is_not_listed() {
        let output = (super::OUTPUTS[0], "$ x\na report\n");
        let found = printed(check, [("README.md", &format!("{COMMANDS}{LINKS}")), output, LEVELS[0], LEVELS[1]]);
        assert_eq!(found, ["README.md:1: no block shows what book/outputs/introduction/run.txt says"]);
        let found = on(&format!("{COMMANDS}{LINKS}```console\nhello\n```\n"));
        assert_eq!(found, ["README.md:6: the block is no output of the book that is listed in the check"]);
    }

    #[test]
    fn code_that_is_another_one() {
        for (language, path) in super::CODES {
            let source = (path, "// A head.\nvoid f() {\n    g();\n}\n");
            let on = |code: &str| {
                let readme = format!("{COMMANDS}{LINKS}```{language}\n{code}```\n");
                printed(check, [("README.md", &*readme), source, LEVELS[0], LEVELS[1]])
            };
            assert!(on("void f() {\n    g();\n}\n").is_empty());
            for wrong in ["void f() {\n    h();\n}\n", "g();\n}\n", "void f() {\n}\n"] {
                assert_eq!(on(wrong), [format!("README.md:6: the block is no part of {path}")], "{wrong}");
            }
        }
    }

    #[test]
    fn a_level_without_a_link_and_one_with_two() {
        let found = on(&format!("{COMMANDS}[a](level0-a)\n"));
        assert_eq!(found, ["README.md:1: no link leads to further/level1-b"]);
        let found = on(&format!("{COMMANDS}{LINKS}[again](further/level1-b/src/lib.rs)\n"));
        assert_eq!(found, ["README.md:5: this link to further/level1-b is not the first"]);
    }
}
