//! The book's tables of the instructions of PTX: which of them the emulator runs. `crates/emulator/tests/isa.rs` holds what they are made of
//! to its decoder.

use gemm::Error;

use lab::table::markdown;

/// What the tables are made of, in the repository.
pub const TABLE: &str = "crates/emulator/tests/data/isa-9.0.txt";

/// All families, each under a line that says how many of its rows run.
pub fn page(text: &str) -> Result<String, Error> {
    let mut page = format!("<!-- made by `cargo x figures` from {TABLE} -->\n");
    for part in text.split("\n## ").skip(1) {
        let (family, rows) = part.split_once('\n').unwrap_or((part, ""));
        let rows: Vec<Vec<&str>> =
            rows.lines().filter(|line| !line.is_empty()).map(|line| line.split(" | ").collect()).collect();
        if rows.is_empty() || rows.iter().any(|row| !(4..=5).contains(&row.len())) {
            return Err(Error::usage(format!("{TABLE}: a row of `{family}` is none"), "its head says what a row is"));
        }
        page +=
            &format!("\n<details>\n<summary>{family}: {}</summary>\n\n{}\n</details>\n", counts(&rows), table(&rows));
    }
    Ok(page)
}

/// `12 run, 1 refused`, or `all run`.
fn counts(rows: &[Vec<&str>]) -> String {
    let kinds = [("runs", "run"), ("no effect", "without effect"), ("refused", "refused")];
    let counted: Vec<(usize, &str)> = kinds
        .iter()
        .map(|(status, word)| (rows.iter().filter(|row| row[0] == *status).map(|row| names(row).count()).sum(), *word))
        .filter(|(count, _)| *count > 0)
        .collect();
    match counted[..] {
        [(_, word)] => format!("all {word}"),
        _ => counted.iter().map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", "),
    }
}

fn table(rows: &[Vec<&str>]) -> String {
    let mut lines = vec![["instruction", "since", "here", ""].map(String::from).to_vec()];
    for row in rows {
        let code: Vec<String> = names(row).map(|name| format!("`{name}`")).collect();
        let since = if matches!(row[1], "sm_60" | "sm_75") { "" } else { row[1] };
        let word = row.get(4).copied().unwrap_or_default();
        lines.push([&code.join(", "), since, row[0], word].map(String::from).to_vec());
    }
    markdown(&lines, 4)
}

fn names<'a>(row: &[&'a str]) -> impl Iterator<Item = &'a str> {
    row[2].split(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_a_table_for_each_family() {
        let text = "# head\n\n## Sums\nruns | sm_75 | add, sub | add; sub; | all\nrefused | sm_90 | add.x | add.x; | wide: no\n";
        let table = "| instruction | since | here |  |\n|---|---|---|---|\n| `add`, `sub` |  | runs | all |\n\
                     | `add.x` | sm_90 | refused | wide: no |\n";
        let made = page(text).unwrap();
        assert!(made.contains("<summary>Sums: 2 run, 1 refused</summary>"), "{made}");
        assert!(made.contains(table), "{made}");
        assert!(page("\n## Sums\nruns | sm_75\n").is_err());
    }
}
