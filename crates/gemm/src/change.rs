//! What a change, a unified diff, makes of a text: a kernel of the book's exercises is a level's kernel and such a change.

use crate::error::Error;

/// Lines that a change puts in the place of others.
#[derive(Debug, Default)]
struct Hunk<'a> {
    /// Where the old ones stand, from 0, if nothing before them has moved.
    at: usize,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

/// The text after the change. Of the diff, which is of one file, the names of the file are not looked at; a hunk whose lines have
/// moved is found where they stand now, the nearest first.
///
/// # Errors
/// [`Error::Usage`], if there is no hunk, or one whose lines do not stand in the text.
pub fn changed(text: &str, diff: &str) -> Result<String, Error> {
    let wrong = |message: String| Error::usage(message, "a change is made by `git diff`, from this text");
    let hunks = hunks(diff).ok_or_else(|| wrong("this is no diff".to_string()))?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for Hunk { at, old, new } in hunks {
        let stands = |place: &usize| {
            let here = lines.get(*place..place + old.len());
            here.is_some_and(|here| here.iter().zip(&old).all(|(line, old)| line.trim_end_matches('\n') == *old))
        };
        let places = (done..=lines.len().saturating_sub(old.len())).filter(stands);
        let place = places.min_by_key(|place| place.abs_diff(at)).ok_or_else(|| {
            wrong(format!("what the change takes out does not stand there: {}", old.join("\n").trim()))
        })?;
        result.extend(lines[done..place].iter().copied());
        new.iter().for_each(|line| result.extend([line, "\n"]));
        done = place + old.len();
    }
    result.extend(lines[done..].iter().copied());
    Ok(result)
}

fn hunks(diff: &str) -> Option<Vec<Hunk<'_>>> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in diff.lines() {
        if let Some(range) = line.strip_prefix("@@ -") {
            let first: usize = range.split([',', ' ']).next()?.parse().ok()?;
            hunks.push(Hunk { at: first.saturating_sub(1), ..Hunk::default() });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        // An empty line may have lost the space before it.
        match (line.get(..1).unwrap_or(" "), line.get(1..).unwrap_or_default()) {
            (" ", line) => {
                hunk.old.push(line);
                hunk.new.push(line);
            }
            ("-", line) => hunk.old.push(line),
            ("+", line) => hunk.new.push(line),
            // `\ No newline at end of file`.
            _ => (),
        }
    }
    (!hunks.is_empty()).then_some(hunks)
}

#[cfg(test)]
mod tests {
    use super::changed;

    const TEXT: &str = "a\nb\nc\nd\ne\nf\n";

    #[test]
    fn lines_are_taken_out_and_put_in() {
        let diff =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@ f\n a\n-b\n+B\n+BB\n c\n@@ -5,2 +6,1 @@\n e\n-f\n";
        assert_eq!(changed(TEXT, diff).unwrap(), "a\nB\nBB\nc\nd\ne\n");
    }

    #[test]
    fn lines_that_have_moved_are_found_the_nearest_first() {
        let text = "x\ny\nx\ny\nx\ny\n";
        assert_eq!(changed(text, "@@ -4,2 +4,1 @@\n x\n-y\n").unwrap(), "x\ny\nx\nx\ny\n");
        assert_eq!(changed(&format!("0\n{TEXT}"), "@@ -2,1 +2,1 @@\n-b\n+B\n").unwrap(), "0\na\nB\nc\nd\ne\nf\n");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for (text, diff, message) in [
            (TEXT, "@@ -2,1 +2,1 @@\n-z\n", "does not stand there: z"),
            // Hunks stand in order.
            (TEXT, "@@ -4,1 +4,0 @@\n-d\n@@ -1,1 +1,0 @@\n-a\n", "does not stand there: a"),
            (TEXT, "", "this is no diff"),
            (TEXT, "-a\n+b\n", "this is no diff"),
            (TEXT, "@@ -x @@\n-a\n", "this is no diff"),
            ("", "@@ -1,1 +1,0 @@\n-a\n", "does not stand there: a"),
        ] {
            let error = changed(text, diff).unwrap_err().to_string();
            assert!(error.contains(message), "{diff}: {error}");
        }
    }
}
