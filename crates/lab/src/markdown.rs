//! What is made for the book, as Markdown.

/// The first line of what is made.
pub const MADE: &str = "<!-- made by `cargo x figures` from book/measurements -->\n";

/// Lines of cells, the head first, as a table: columns of words, then of numbers.
pub fn markdown(lines: &[Vec<String>], words: usize) -> String {
    let text = |line: &Vec<String>| format!("| {} |\n", line.join(" | "));
    let rule: Vec<&str> = (0..lines[0].len()).map(|column| if column < words { "---" } else { "---:" }).collect();
    let (head, body) = (text(&lines[0]), lines[1..].iter().map(text).collect::<String>());
    format!("{head}|{}|\n{body}", rule.join("|"))
}
