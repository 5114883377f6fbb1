//! A table for a person or, as Markdown, for a page. For a person: columns as wide as their widest cell, the first to the left, the others to the right.

use std::ops::Range;

/// The table as text; the first row is the header.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &if c == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The same in at most `width` columns: what has no room goes into a table below, which has the first column again.
pub fn table_within(rows: &[Vec<String>], width: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let part = |range: Range<usize>| -> Vec<Vec<String>> {
        let cells = |row: &Vec<String>| {
            row.iter().take(1).chain(row.get(range.clone()).into_iter().flatten()).cloned().collect()
        };
        rows.iter().map(cells).collect()
    };
    if columns < 2 {
        return table(rows);
    }
    let (mut text, mut from) = (String::new(), 1);
    while from < columns {
        let fits = |to: &usize| table(&part(from..*to)).lines().all(|line| line.chars().count() <= width);
        let to = (from + 1..=columns).take_while(fits).last().unwrap_or(from + 1);
        if !text.is_empty() {
            text.push('\n');
        }
        text += &table(&part(from..to));
        from = to;
    }
    text
}

/// Columns that a note below a table takes at most.
const NOTE: usize = 100;

/// A note below a table, in lines of at most [`NOTE`] columns: the first two columns in, the others four.
pub fn wrapped(note: &str) -> String {
    let mut text = String::from(" ");
    let mut width = 1;
    for word in note.split(' ') {
        let letters = word.chars().count();
        if width > 1 && width + 1 + letters > NOTE {
            text += "\n   ";
            width = 3;
        }
        text.push(' ');
        text += word;
        width += 1 + letters;
    }
    text + "\n"
}

/// A number with four significant digits.
pub fn number(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    let digits = if magnitude.is_finite() { (3.0 - magnitude).clamp(0.0, 12.0) as usize } else { 0 };
    format!("{value:.digits$}")
}

/// The number, or a dash.
pub fn maybe(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(|| "-".to_string(), number)
}

/// A fraction as per cent, or a dash.
pub fn percent(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(|| "-".to_string(), |v| format!("{:.1}%", 100.0 * v))
}

/// The first line of what is made for the book.
pub const MADE: &str = "<!-- made by `cargo x figures` from book/measurements -->\n";

/// Lines of cells, the head first, as a table of Markdown: columns of words, then of numbers.
pub fn markdown(lines: &[Vec<String>], words: usize) -> String {
    let text = |line: &Vec<String>| format!("| {} |\n", line.join(" | "));
    let rule: Vec<&str> = (0..lines[0].len()).map(|column| if column < words { "---" } else { "---:" }).collect();
    let (head, body) = (text(&lines[0]), lines[1..].iter().map(text).collect::<String>());
    format!("{head}|{}|\n{body}", rule.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [["", "time"], ["level 0", "1.5"], ["µ", "12.25"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table(&rows), "          time\nlevel 0    1.5\nµ        12.25\n");
    }

    #[test]
    fn what_has_no_room_goes_into_a_table_below() {
        let rows =
            [["", "time", "rate", "share"], ["level 0", "1.5", "2", "30%"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table_within(&rows, 80), table(&rows));
        assert_eq!(
            table_within(&rows, 20),
            "         time  rate\nlevel 0   1.5     2\n\n         share\nlevel 0    30%\n"
        );
        assert_eq!(table_within(&rows, 1).matches("level 0").count(), 3);
        assert_eq!((table_within(&[], 9), table_within(&[vec!["a".to_string()]], 9)), (table(&[]), "a\n".to_string()));
    }

    #[test]
    fn a_note_has_lines_of_a_hundred_columns() {
        assert_eq!(wrapped("FMA: short"), "  FMA: short\n");
        let long = vec!["eight888"; 24].join(" ");
        let text = wrapped(&long);
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [100, 93, 30]);
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), long);
    }

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!(
            [12345.6, 123.45, 12.345, 1.2345, 0.012345].map(number),
            ["12346", "123.5", "12.35", "1.234", "0.01235"]
        );
        assert_eq!([maybe(None), maybe(Some(f64::INFINITY)), percent(Some(0.125))], ["-", "-", "12.5%"]);
    }
}
