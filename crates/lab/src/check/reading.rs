//! Numbers of what is printed: of the outputs that the book shows, and of faults. A report has a list of its numbers.
//!
//! A name is `global loads: per request`, the row and the column of a table; or `# barriers (sum over warps)`, the words around
//! a number.

/// A number as it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// Its value.
    pub value: f64,
    /// The digits behind its point.
    pub digits: usize,
}

impl Number {
    /// A number as it is printed with so many digits.
    pub fn rounded(value: f64, digits: usize) -> Number {
        let scale = 10f64.powi(digits as i32);
        Number { value: (value * scale).round() / scale, digits }
    }

    /// A number with as few digits as it has, and four at most.
    pub fn shortest(value: f64) -> Number {
        let is_exact = |digits: &usize| {
            let scaled = value * 10f64.powi(*digits as i32);
            (scaled - scaled.round()).abs() < 1e-6
        };
        Number { value, digits: (0..4).find(is_exact).unwrap_or(4) }
    }

    /// A number as a person or a report writes it: `1,024`, `16.50`, `75.4%`.
    pub fn parse(word: &str) -> Option<Number> {
        let plain = word.trim_end_matches('%').replace(',', "");
        let is_number = plain.starts_with(|c: char| c.is_ascii_digit());
        let value = plain.parse().ok().filter(|_| is_number)?;
        Some(Number { value, digits: plain.split_once('.').map_or(0, |(_, digits)| digits.len()) })
    }

    /// Whether another is the same, to the digits that this one has.
    pub fn is(&self, other: f64) -> bool {
        (self.value - other).abs() < 0.5001 * 10f64.powi(-(self.digits as i32))
            && (self.digits > 0 || other.fract() == 0.0)
    }
}

impl std::fmt::Display for Number {
    /// With its digits and with commas: `1,024`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.*}", self.digits, self.value);
        let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
        let mut grouped = String::new();
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        write!(f, "{grouped}{fraction}")
    }
}

/// The number of this name, if the text has it.
pub fn read(text: &str, name: &str) -> Option<Number> {
    match name.split_once('#') {
        Some((before, after)) => among_words(text, before.trim(), after.trim()),
        None => name.split_once(": ").and_then(|(row, column)| in_table(text, row, column)),
    }
}

/// The name as a person reads it.
pub fn shown(name: &str) -> String {
    match name.trim_start_matches('#').trim() {
        words if words.contains('#') => words.replace('#', "…"),
        words => words.to_string(),
    }
}

/// The number between these words, on one line; or on several, where a line of prose is broken.
fn among_words(text: &str, before: &str, after: &str) -> Option<Number> {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().chain([joined.as_str()]).find_map(|line| {
        numbers(line).into_iter().find_map(|(start, end)| {
            let fits = line[..start].trim_end().ends_with(before) && line[end..].trim_start().starts_with(after);
            if fits { Number::parse(&line[start..end]) } else { None }
        })
    })
}

/// Where the numbers of a line begin and end. A comma is part of one before three digits: `1,024` is, `(2,0)` are two.
fn numbers(line: &str) -> Vec<(usize, usize)> {
    let digits = |from: usize| line[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(|c: char| c.is_ascii_digit()).map(|offset| at + offset) {
        let mut end = start + digits(start);
        while line[end..].starts_with(',') && digits(end + 1) == 3 {
            end += 4;
        }
        if line[end..].starts_with('.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        found.push((start, end));
        at = end;
    }
    found
}

/// The number in a row and a column. Columns are two blanks or more apart.
fn in_table(text: &str, row: &str, column: &str) -> Option<Number> {
    let mut head: Vec<&str> = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if line.starts_with(' ') {
            head = cells;
        } else if cells.first().is_some_and(|first| first.starts_with(row))
            && let Some(place) = head.iter().position(|name| *name == column)
        {
            return cells.get(place + 1).and_then(|cell| Number::parse(cell));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "            1,024 barriers (sum over warps)\n\
        needs       32 registers per thread, 8192 bytes of shared memory per block\n\
        \n                    requests         sectors  per request   ideal             bytes\n\
        global loads             512           2,048         4.00    4.00            65,536\n\
        \n                    requests      wavefronts  per request   ideal             bytes\n\
        shared loads           4,096          69,632        17.00    3.00         2,097,152\n";

    #[test]
    fn numbers_have_the_names_of_the_report() {
        let value = |name: &str| read(REPORT, name).map(|number| number.value);
        assert_eq!(value("global loads: sectors"), Some(2048.0));
        assert_eq!(value("shared loads: per request"), Some(17.0));
        assert_eq!(value("# barriers (sum over warps)"), Some(1024.0));
        assert_eq!(value("# bytes of shared memory per block"), Some(8192.0));
        assert_eq!(value("needs # registers"), Some(32.0));
        assert_eq!(value("shared loads: sectors"), None);
        assert_eq!(value("bulk loads: bytes"), None);
        assert_eq!(value("no name"), None);
    }

    #[test]
    fn a_name_is_shown_as_words_with_a_gap_where_its_number_stands() {
        let names = ["# warp instructions", "at offset #:", "needs # registers", "global loads: sectors"];
        assert_eq!(
            names.map(shown),
            ["warp instructions", "at offset …:", "needs … registers", "global loads: sectors"]
        );
    }

    #[test]
    fn a_pair_is_two_numbers() {
        let line = "   |  block (3,0), thread (2,0), warp 0, lane 2   ld.global.f32\nless than 0.45 µs: end 7.";
        let value = |name: &str| read(line, name).map(|number| number.value);
        assert_eq!(value("thread (#,0), warp"), Some(2.0));
        assert_eq!(value("block (#,0)"), Some(3.0));
        assert_eq!(value("less than # µs"), Some(0.45));
        assert_eq!(value("end #"), Some(7.0));
        let broken = "error: race on As: load by\n       thread (6,0) at kernel.cu:33";
        assert_eq!(read(broken, "load by thread (#,0)").map(|number| number.value), Some(6.0));
    }

    #[test]
    fn an_answer_has_the_digits_that_are_printed() {
        let whole = |value| Number::rounded(value, 0);
        let third = Number { value: 2.67, digits: 2 };
        assert!(third.is(2.67) && third.is(8.0 / 3.0) && !third.is(2.66) && !third.is(2.7));
        assert!(whole(8.0).is(8.0) && !whole(8.0).is(8.4) && !whole(8.0).is(9.0));
        assert_eq!(Number::parse("131,072"), Some(whole(131_072.0)));
        assert_eq!(whole(4_194_240.0).to_string(), "4,194,240");
        assert_eq!(Number { value: 1234.5, digits: 2 }.to_string(), "1,234.50");
        assert_eq!([6.0, 0.375, 0.1875, 4.25].map(|value| Number::shortest(value).digits), [0, 3, 4, 2]);
        assert_eq!([Number::parse("nan"), Number::parse("-"), Number::parse("")], [None; 3]);
    }
}
