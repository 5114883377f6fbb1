//! A kernel's lines with their counters, as a table of a lesson: made of an output of `--annotate` and of the kernel, whose lines
//! a terminal shows shortened.

use std::fs;

use anyhow::{Context, Result};

use super::{FOLDER, session};
use crate::{ptx, shell};

/// Where the tables lie: `lesson6-annotate.md` is that of `lesson6/annotate.txt`.
const TABLES: &str = "book/generated/annotated";
/// Other pages show what the terminal shows.
const LESSONS: &str = "book/outputs/lesson";

/// Writes the table of a level's annotated output, or, to check, says whether it is what the output says.
pub fn passes(output: &str, check: bool) -> Result<bool> {
    let text = fs::read_to_string(shell::root().join(output)).with_context(|| format!("cannot read {output}"))?;
    let Some(level) = level(&text).filter(|_| output.starts_with(LESSONS)) else { return Ok(true) };
    let kernel = fs::read_to_string(shell::root().join(ptx::folder(&level)).join("kernel.cu"))
        .with_context(|| format!("cannot read the kernel of {level}"))?;
    let table = table(&text, &kernel);
    let name = output.trim_start_matches(FOLDER).trim_end_matches(".txt").replace('/', "-");
    let file = format!("{TABLES}/{name}.md");
    let path = shell::root().join(&file);
    if fs::read_to_string(&path).ok().as_ref() == Some(&table) {
        return Ok(true);
    }
    if check {
        println!("{file}: is not what {output} says");
        return Ok(false);
    }
    fs::create_dir_all(shell::root().join(TABLES)).and_then(|()| fs::write(path, table))?;
    println!("{file}");
    Ok(true)
}

/// The level that the output's command annotates, as it stands in the repository.
fn level(output: &str) -> Option<String> {
    let commands = session::commands(output).ok()?;
    let mut words = commands.first()?.strip_prefix("cargo run -p ")?.split(' ');
    let name = words.next().filter(|name| name.starts_with("level"))?;
    words.any(|word| word == "--annotate").then(|| name.to_string())
}

/// The table: a row for each line that has counts, with the whole line of the kernel; what is above its ideal, in bold.
fn table(output: &str, kernel: &str) -> String {
    let lines: Vec<&str> = kernel.lines().collect();
    let mut table = "<div class=\"annotated\">\n\n".to_string();
    table += "| instr. | sectors per request | wavefronts per request | line | |\n|---:|---:|---:|---:|---|\n";
    let rows: Vec<(usize, [&str; 3])> = output.lines().filter_map(row).collect();
    let code = |number: usize| lines.get(number.wrapping_sub(1)).copied().unwrap_or_default();
    let indent = |code: &str| code.len() - code.trim_start().len();
    let common = rows.iter().map(|(number, _)| indent(code(*number))).min().unwrap_or(0);
    for (number, [share, sectors, wavefronts]) in &rows {
        let code = code(*number).get(common..).unwrap_or_default().replace('|', "\\|");
        let [sectors, wavefronts] = [sectors, wavefronts].map(|cell| above(cell));
        table += &format!("| {share} | {sectors} | {wavefronts} | {number} | `{code}` |\n");
    }
    table + "\n</div>\n"
}

/// A line of the margin: the kernel's line, and the three cells before it.
fn row(line: &str) -> Option<(usize, [&str; 3])> {
    let (margin, _) = line.split_once(" | ").or_else(|| line.split_once(" |"))?;
    let cells = [margin.get(..6)?, margin.get(6..21)?, margin.get(21..37)?].map(str::trim);
    let number = margin.get(37..)?.trim().parse().ok()?;
    cells[0].ends_with('%').then_some((number, cells))
}

/// `4.00 (2.00)` in bold: more than its ideal.
fn above(cell: &str) -> String {
    match cell.split_once(" (") {
        Some((done, ideal)) if ideal.trim_end_matches(')') != done => format!("**{cell}**"),
        _ => cell.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
$ cargo run -p level9-a -- --size 8 --annotate
PTX         shipped

instr.   sectors/req. wavefronts/req. line
  2.7%                                   2 | int x = a |…
 10.0%  4.00 (4.00)     2.00 (1.00)      3 |     y[x] = 1;

words       explained
";

    #[test]
    fn the_table_has_the_whole_lines_and_marks_what_is_above_its_ideal() {
        let output = OUTPUT.replace("  4.00 (4.00)     2.00 (1.00)      3", "    4.00 (4.00)     2.00 (1.00)    3");
        let table = table(&output, "f() {\n    int x = a | b;\n        y[x] = 1;\n}\n");
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(
            rows[1..],
            [
                "| 2.7% |  |  | 2 | `int x = a \\| b;` |",
                "| 10.0% | 4.00 (4.00) | **2.00 (1.00)** | 3 | `    y[x] = 1;` |",
            ]
        );
    }

    #[test]
    fn only_an_annotated_level_has_a_table() {
        assert_eq!(level(OUTPUT), Some("level9-a".to_string()));
        assert_eq!(level("$ cargo run -p level9-a -- --size 8\n"), None);
        assert_eq!(level("$ cargo run -p lab -- try a.cu --annotate\n"), None);
        assert_eq!(level("$ git apply a.diff\n$ cargo run -p level9-a -- --annotate\n"), None);
    }
}
