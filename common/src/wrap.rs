//! Lines for a person, broken where they would be wider than a terminal.

/// Prose is harder to read in wider lines, however wide the terminal is.
const PROSE: usize = 100;
/// With more gaps between its words, a line is a row of a table.
const MOST_GAPS: usize = 2;

/// The text with each line of prose broken at a blank, so that it takes at most `width` columns, and at most a hundred. What goes
/// on stands below the words that it continues. Rows of tables stay whole.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> String {
    let width = width.min(PROSE);
    let ends = if text.ends_with('\n') { "\n" } else { "" };
    text.lines().map(|line| folded(line, width)).collect::<Vec<_>>().join("\n") + ends
}

fn folded(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_string();
    }
    let (margin, indent) = margin(line);
    let (mut text, mut line_width) = (line[..margin].to_string(), line[..margin].chars().count());
    // The lines of a place have wide gaps, and are no rows of a table.
    let is_place = ["--> ", "|  "].iter().any(|start| line.trim_start().starts_with(start));
    if gaps(&line[margin..]) > MOST_GAPS && !is_place {
        return line.to_string();
    }
    let room = width.saturating_sub(indent.chars().count());
    let mut is_first = true;
    for word in line[margin..].split(' ').flat_map(|word| parts(word, room)) {
        let letters = word.chars().count();
        let is_fresh = text.ends_with(&format!("\n{indent}"));
        if is_fresh && word.is_empty() {
            continue;
        }
        let behind = if is_first || is_fresh { 0 } else { 1 };
        if line_width + behind + letters > width && (!is_first || is_place) {
            text.truncate(text.trim_end().len());
            text = text + "\n" + &indent;
            line_width = indent.chars().count();
        } else if behind > 0 {
            text.push(' ');
            line_width += 1;
        }
        text += word;
        line_width += letters;
        is_first = false;
    }
    text
}

/// Stretches of two blanks or more.
fn gaps(text: &str) -> usize {
    text.split("  ").filter(|part| !part.trim().is_empty()).count().saturating_sub(1)
}

/// A word, or where it has no room, its parts up to a point: an instruction's name.
fn parts(word: &str, room: usize) -> Vec<&str> {
    let fitting = word.char_indices().map(|(at, c)| at + c.len_utf8()).take(room).last().unwrap_or(0);
    let point = word.get(..fitting).and_then(|start| start.rfind('.')).filter(|&at| at > 0 && word.len() > fitting);
    match point {
        Some(at) => [vec![&word[..at]], parts(&word[at..], room)].concat(),
        None => vec![word],
    }
}

/// How many bytes of a line stand before its words, and what stands before those that go on below.
fn margin(line: &str) -> (usize, String) {
    let blanks = line.len() - line.trim_start().len();
    let text = &line[blanks..];
    if text.starts_with("|  ") {
        return (blanks + 3, format!("{}|    ", &line[..blanks]));
    }
    if let Some(place) = text.strip_prefix("--> ") {
        let end = place.find("   ").map_or(4, |end| 4 + end + 3);
        return (blanks + end, " ".repeat(blanks + 6));
    }
    // A label and what it labels; the text below a label; `error: ` and its like; any other text.
    let gap = text.find("  ").filter(|_| blanks == 0);
    let labelled = gap.map(|at| at + text[at..].len() - text[at..].trim_start().len()).filter(|&at| at <= 14);
    let named = text.find(": ").filter(|&at| !text[..at].contains(' ')).map(|at| at + 2);
    match (labelled, named) {
        (Some(at), _) => (at, " ".repeat(at + 2)),
        (None, Some(at)) => (blanks, " ".repeat(blanks + at)),
        _ => (blanks, " ".repeat(blanks + 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn what_goes_on_stands_below_the_words_that_it_continues() {
        for (line, expected) in [
            ("error: a race on As at offset 64", "error: a race on As\n       at offset 64"),
            ("hint: 1234567890 1234567890", "hint: 1234567890\n      1234567890"),
            (
                "kernel      gemm, f32, BM=64 BN=64",
                "kernel      gemm,\n              f32,\n              BM=64\n              BN=64",
            ),
            (
                "            by ptxas 13, 128 registers",
                "            by ptxas\n              13,\n              128\n              registers",
            ),
            ("  --> a/kernel.cu:12   sum += As[i];", "  --> a/kernel.cu:12\n        sum +=\n        As[i];"),
            ("   |  block (0,0), thread (1,0)", "   |  block (0,0),\n   |    thread (1,0)"),
            ("   |  block (0,0)   ld.shared.u32", "   |  block (0,0)\n   |    ld.shared\n   |    .u32"),
            (
                "   |  block (0,0)   cp.async.bulk.shared::cluster",
                "   |  block (0,0)\n   |    cp.async\n   |    .bulk\n   |    .shared::cluster",
            ),
            ("launches  sum  grid (1,1)  in:i32[64]", "launches  sum  grid\n            (1,1)\n            in:i32[64]"),
            ("aaaa bbbb cccc dddd eeee", "aaaa bbbb cccc dddd\n  eeee"),
        ] {
            assert_eq!(wrapped(line, 20), expected);
            assert_eq!(wrapped(&format!("{line}\n"), 20), format!("{expected}\n"));
            assert_eq!(wrapped(line, 80), line);
        }
    }

    #[test]
    fn a_table_stays_whole_and_so_does_a_long_word() {
        for line in ["naive   0.12   0.49   1   2", "shared loads    512   2,048   4.0", "https://example/a/b/c/d"] {
            assert_eq!(wrapped(line, 20), line);
        }
    }

    #[test]
    fn prose_has_a_hundred_columns_in_a_wider_terminal() {
        let long = vec!["eight888"; 40].join(" ");
        assert!(wrapped(&long, 300).lines().all(|line| line.len() <= 100));
        assert_eq!(wrapped(&long, 300), wrapped(&long, 100));
    }
}
