//! The forms of a product on an H100, as a table of a page: from what the example `forms` of `summit` said there.

use lab::table::markdown;

/// What the example said.
pub const RECORD: &str = "book/records/h100-forms.txt";

/// A line of the record: a form, by the summit's kernel.
struct Line<'a> {
    form: &'a str,
    median: &'a str,
    of_vendor: &'a str,
}

/// The section of the page: a row for each form, a column for each problem.
pub fn section(record: &str) -> String {
    let (head, rest) = record.split_once('\n').unwrap_or((record, ""));
    let problems: Vec<(&str, Vec<Line>)> = rest
        .split("\n\n")
        .filter_map(|part| {
            let (name, lines) = part.trim_start().split_once('\n')?;
            Some((name.trim_start_matches("1 times "), lines.lines().filter_map(line).collect()))
        })
        .collect();
    let mut forms: Vec<&str> = Vec::new();
    for line in problems.iter().flat_map(|(_, lines)| lines) {
        if !forms.contains(&line.form) {
            forms.push(line.form);
        }
    }
    let mut rows = vec![vec!["form".to_string()]];
    rows[0].extend(problems.iter().map(|(name, _)| name.to_string()));
    for form in forms {
        let at = |lines: &[Line]| {
            let line = lines.iter().find(|line| line.form == form);
            line.map_or_else(|| "-".to_string(), |line| format!("{} ({})", line.median, line.of_vendor))
        };
        rows.push([vec![form.to_string()], problems.iter().map(|(_, lines)| at(lines)).collect()].concat());
    }
    format!(
        "\n## Forms of a product, on an H100\n\n`{head}`\n\nMedian time in µs and, in brackets, how many times as fast as cuBLAS, which adds \
         what it has no form for by\nkernels of its own. Other lessons have what else an H100 said: [19](lesson19.md), [21](lesson21.md), \
         [22](lesson22.md) and\n[23](lesson23.md).\n\n{}",
        markdown(&rows, 1)
    )
}

fn line(text: &str) -> Option<Line<'_>> {
    let mut numbers = text.split_whitespace();
    let (_, median, _, of_vendor) = (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?);
    let form = &text[text.find("C = ")?..];
    let form = form.split_once(", in ")?.0;
    median.parse::<f64>().ok()?;
    of_vendor.parse::<f64>().ok()?;
    Some(Line { form, median, of_vendor })
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_row_has_a_forms_time_on_each_problem() {
        let record = "run forms: a GPU\n\n1 times 4×4×4\n    least     median  of plain   of cuBLAS\n   \
                      1.00     2.00     1.000       1.002  4×4×4, C = A·B, in bf16; BM=1\n   \
                      1.00     3.00     1.000       0.900  4×4×4, C = A·B + C, a bias for each column, in bf16; BM=1\n   \
                      1.00     2.00     1.000       1.000  cuBLAS, C = A·B\n\n8 times 2×2×2\n   \
                      1.00     5.00     1.000       1.100  8 times 2×2×2, C = A·B, in bf16; BM=2\n";
        let text = section(record);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(
            [rows[0], rows[2], rows[3]],
            [
                "| form | 4×4×4 | 8 times 2×2×2 |",
                "| C = A·B | 2.00 (1.002) | 5.00 (1.100) |",
                "| C = A·B + C, a bias for each column | 3.00 (0.900) | - |",
            ]
        );
        assert_eq!(rows.len(), 4);
    }
}
