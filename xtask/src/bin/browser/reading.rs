//! What a page and a native run say, in a form in which they can be compared.

use std::collections::BTreeMap;

use serde_json::Value;

/// The cells of a table that the reader in the page has noted.
pub fn rows(table: &Value) -> Vec<Vec<String>> {
    serde_json::from_value(table.clone()).unwrap_or_default()
}

/// Line, share, sectors and wavefronts of each line of the kernel that has counters, as the page shows them.
pub fn page_lines(shown: &Value) -> Vec<[String; 4]> {
    let counted = rows(&shown["lines"]).into_iter().filter(|row| !row[1].is_empty());
    counted.map(|row| [0, 1, 2, 3].map(|column| row[column].clone())).collect()
}

/// The same in the text that the command line prints: columns of 6, 14 and 15 characters, and the line's number before a bar.
pub fn native_lines(annotated: &str) -> Vec<[String; 4]> {
    let line = |line: &str| {
        let (margin, number) = line.split_once('|')?.0.trim_end().rsplit_once(' ')?;
        let column = |from, to| margin.get(from..to).unwrap_or_default().trim().to_string();
        Some([number.to_string(), column(0, 6), column(6, 21), column(21, 37)])
    };
    annotated.lines().filter_map(line).collect()
}

/// The numbers of a report that were counted, by name, as the page shows them: with three decimals at most.
pub fn counted(numbers: &Value) -> BTreeMap<String, String> {
    let counted = numbers.as_array().into_iter().flatten().filter(|number| number["is"] == "counted");
    // A half goes up, as in the page.
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    let shown = |value: f64| format!("{:.3}", rounded(value)).trim_end_matches('0').trim_end_matches('.').to_string();
    let named = |number: &Value| Some((number["name"].as_str()?.to_string(), shown(number["value"].as_f64()?)));
    counted.filter_map(named).collect()
}
