//! Numbers and matrices for a person's eye.

use std::fmt;

use crate::level::Shape;

/// The largest size that `--print-matrices` prints.
pub const LARGEST_PRINTED: u32 = 16;

/// A line of a report: a name, and what is to be said.
pub(crate) fn line(f: &mut fmt::Formatter<'_>, name: &str, text: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<12}{text}")
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `part / whole` with two decimals; `-` where there is no whole.
pub fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.2}", part as f64 / whole as f64) }
}

/// A matrix with its name and sizes, one row a line.
pub(crate) fn matrix(name: &str, rows: u32, columns: u32, elements: &[f64]) -> String {
    let mut text = format!("{name} ({rows} x {columns})\n");
    for row in elements.chunks(columns as usize) {
        let cells: Vec<String> = row.iter().map(|x| format!("{x:9.4}")).collect();
        text += &format!("{}\n", cells.join(" "));
    }
    text
}

/// A, B and C of a problem.
pub(crate) fn matrices(shape: &Shape, [a, b, c]: &[Vec<f64>; 3]) -> String {
    let Shape { m, n, k } = *shape;
    [matrix("A", m, k, a), matrix("B", k, n, b), matrix("C = A * B", m, n, c)].join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_stand_apart() {
        let counts: Vec<String> = [0, 12, 999, 1000, 1_234_567].map(super::count).to_vec();
        assert_eq!(counts, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
