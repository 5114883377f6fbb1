//! The lines of a `.po` file, looked at before the crate that reads them: it panics at a line that is none.

use regex_lite::Regex;

/// What a line may be: nothing, a comment, or a text behind a keyword or going on from the line before.
const LINE: &str = r#"^(?:|#.*|(?:(?:msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d\]) )?"(?:[^"\\]|\\.)*")$"#;
/// What a file begins with, or a text.
const BEGINNINGS: [&str; 5] = ["# ", "#. ", "#: ", "#, ", "msg"];
/// The longest line that is read whole, in bytes.
const LONGEST: usize = 60_000;

/// The first line that is none of a `.po` file, counted from 1, and what is wrong with it.
pub fn malformed(text: &str) -> Option<(usize, &'static str)> {
    let shape = Regex::new(LINE).expect("the pattern is a constant");
    let mut begun = false;
    for (index, line) in text.lines().enumerate() {
        begun |= BEGINNINGS.iter().any(|beginning| line.starts_with(beginning));
        let wrong = match line {
            _ if !shape.is_match(line) => Some("is neither a comment nor a text in quotes behind its keyword"),
            _ if line.len() > LONGEST => Some("is too long to be read"),
            _ if !begun && !line.is_empty() => Some("stands before the first text: begin with `# ` or `msgid`"),
            _ => None,
        };
        if let Some(what) = wrong {
            return Some((index + 1, what));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::malformed;

    #[test]
    fn ordinary_files_are_well_formed() {
        let all = "# title\n#\n#, fuzzy\nmsgid \"\"\nmsgstr \"\"\n\"Language: zh\\n\"\n\nmsgid \"a \\\"b\\\"\"\nmsgstr \"字\"\n";
        for text in ["", "\n", all, &all.replace('\n', "\r\n")] {
            assert_eq!(malformed(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_bad_line_is_named() {
        let start = "msgid \"\"\nmsgstr \"\"\n";
        for bad in
            ["msgid", "msgid ", "msgid \"", "msgid \"a", "msgid 字", "\"", "\"a", "\"a\\\"", "text", "<<<<<<< HEAD"]
        {
            let (line, what) = malformed(&format!("{start}{bad}\n")).unwrap();
            assert_eq!((line, what), (3, "is neither a comment nor a text in quotes behind its keyword"), "{bad}");
        }
        for bad in ["#", "\"a\"", "\n#"] {
            let (line, what) = malformed(&format!("{bad}\n{start}")).unwrap();
            assert_eq!((line, what.split(':').next().unwrap()), (bad.lines().count(), "stands before the first text"));
        }
        assert_eq!(malformed(&format!("msgid \"{}\"\n", "a".repeat(70_000))), Some((1, "is too long to be read")));
    }
}
