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

/// The counters of a report by name, instructions of all classes together.
pub fn totals(total: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, value) in total.as_object().into_iter().flatten() {
        match (name.as_str(), value.as_array()) {
            ("classes", Some(classes)) => {
                for kind in ["warp", "thread"] {
                    let sum: u64 = classes.iter().filter_map(|class| class[kind].as_u64()).sum();
                    all.insert(format!("{kind}_instructions"), sum.to_string());
                }
            }
            _ => flatten(name, value, &mut all),
        }
    }
    all
}

/// Every number and text in a value, by its path.
fn flatten(path: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(inner) => inner.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, all)),
        Value::Array(inner) => {
            inner.iter().enumerate().for_each(|(index, value)| flatten(&format!("{path}.{index}"), value, all));
        }
        Value::String(text) => drop(all.insert(path.to_string(), text.clone())),
        _ => drop(all.insert(path.to_string(), value.to_string())),
    }
}
