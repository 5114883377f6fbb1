//! The README names the two commands of the project, shows what the first one prints, and its table shows every level once, in order.

use super::tree::{Finding, Tree, numbered};
use crate::ci::TEST_COMMAND;

const README: &str = "README.md";
const OUTPUT: &str = "book/outputs/introduction/run.txt";
const RUN_COMMAND: &str = "cargo run -p level2-register";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(README).unwrap_or_default();
    let mut findings = commands(text);
    findings.extend(printed(tree, text));
    findings.extend(table(tree, text));
    findings
}

/// What the first command prints is what the book shows of it.
fn printed(tree: &Tree, text: &str) -> Option<Finding> {
    let (_, output) = tree.text(OUTPUT)?.split_once('\n')?;
    let is_shown = text.contains(&format!("```console\n{}\n```", output.trim_end()));
    (!is_shown).then(|| Finding::new(README, 1, format!("no block shows what {OUTPUT} says")))
}

/// Each of the two commands stands alone on a line.
fn commands(text: &str) -> Vec<Finding> {
    let missing = [RUN_COMMAND, TEST_COMMAND].into_iter().filter(|command| !text.lines().any(|line| line == *command));
    missing.map(|command| Finding::new(README, 1, format!("no line is the command `{command}`"))).collect()
}

/// The rows that link to a level are the levels, in order, each with the command that runs it.
fn table(tree: &Tree, text: &str) -> Vec<Finding> {
    let rows: Vec<(usize, &str, &str)> =
        numbered(text).filter_map(|(number, line)| Some((number, line, linked(line)?))).collect();
    let mut findings = Vec::new();
    for (number, line, folder) in &rows {
        if !line.contains(&format!("`cargo run -p {folder}`")) {
            findings.push(Finding::new(README, *number, format!("the row does not show `cargo run -p {folder}`")));
        }
    }
    let shown: Vec<&str> = rows.iter().map(|(_, _, folder)| *folder).collect();
    let levels: Vec<String> = tree.levels().into_iter().map(|level| level.name).collect();
    if shown != levels {
        let line = rows.first().map_or(1, |(number, _, _)| *number);
        let what = format!("the table shows [{}], the levels are [{}]", shown.join(", "), levels.join(", "));
        findings.push(Finding::new(README, line, what));
    }
    findings
}

/// The level's folder that a row of the table links to.
fn linked(line: &str) -> Option<&str> {
    let target = line.strip_prefix('|')?.split_once("](level")?.1;
    let rest = line.rfind(target).map(|start| &line[start - "level".len()..])?;
    rest.split([')', '/']).next()
}

#[cfg(test)]
mod tests {
    use super::super::tree::printed;
    use super::check;

    const COMMANDS: &str = "cargo run -p level2-register\ncargo test --workspace\n";
    const ROW_0: &str = "| [0](level0-a/kernel.cu) | idea | `cargo run -p level0-a` |\n";
    const ROW_1: &str = "| [1](level1-b) | idea | `cargo run -p level1-b` |\n";
    const LEVELS: [(&str, &str); 2] = [("level0-a/kernel.cu", ""), ("level1-b/kernel.cu", "")];

    fn on(readme: &str) -> Vec<String> {
        printed(check, [("README.md", readme), LEVELS[0], LEVELS[1]])
    }

    #[test]
    fn a_whole_readme_passes() {
        assert!(on(&format!("{COMMANDS}{ROW_0}{ROW_1}")).is_empty());
    }

    #[test]
    fn what_the_first_command_prints() {
        let output = (super::OUTPUT, "$ cargo run -p level2-register\na report\n\nits words\n");
        let on = |shown: &str| {
            let readme = format!("{COMMANDS}{shown}{ROW_0}{ROW_1}");
            printed(check, [("README.md", &*readme), output, LEVELS[0], LEVELS[1]])
        };
        assert!(on("```console\na report\n\nits words\n```\n").is_empty());
        let expected = "README.md:1: no block shows what book/outputs/introduction/run.txt says";
        assert_eq!(on("```console\na report\n```\n"), [expected]);
    }

    #[test]
    fn a_missing_command() {
        assert_eq!(
            on(&format!("cargo run -p level2-register\n{ROW_0}{ROW_1}")),
            ["README.md:1: no line is the command `cargo test --workspace`"]
        );
    }

    #[test]
    fn rows_missing_or_out_of_order() {
        for (rows, shown) in [(ROW_0.to_string(), "level0-a"), (format!("{ROW_1}{ROW_0}"), "level1-b, level0-a")] {
            let expected = format!("README.md:3: the table shows [{shown}], the levels are [level0-a, level1-b]");
            assert_eq!(on(&format!("{COMMANDS}{rows}")), [expected]);
        }
    }

    #[test]
    fn a_row_without_its_command() {
        let row = ROW_1.replace("-p level1-b", "-p level0-a");
        assert_eq!(
            on(&format!("{COMMANDS}{ROW_0}{row}")),
            ["README.md:4: the row does not show `cargo run -p level1-b`"]
        );
    }
}
