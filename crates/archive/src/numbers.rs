//! Numbers, written as distances. Most of what PTX of an unrolled loop has to say anew in each step is numbers, of registers, addresses,
//! labels and lines: by distance the steps are alike, and an archive has less than half of its size.
//!
//! A number's distance is that from the number in the same place of the last line that is equal but for its numbers: `%f7` is `%f+2`
//! where the last such line had `%f5` there. A number is a word of digits, or the digits that end a word with `%` or `$` in front.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

/// With distances in place of numbers. [`numbered`] makes the text again, unless it has a distance of its own.
#[cfg(any(test, feature = "pack"))]
pub fn distances(text: &str) -> String {
    rewritten(text, numbers, |number, last| {
        let number: i64 = number.parse().ok()?;
        Some((number, format!("{:+}", number - last)))
    })
}

/// With numbers in place of distances.
pub fn numbered(text: &str) -> String {
    rewritten(text, signed, |distance, last| {
        let number = last.checked_add(distance.parse().ok()?).filter(|number| *number >= 0)?;
        Some((number, number.to_string()))
    })
}

/// Replaces what `places` finds in each line. `replace` gets it and the last number in its place; it gives the number and what stands for
/// it; nothing, where it leaves it as it is.
fn rewritten(
    text: &str,
    places: impl Fn(&str, &mut Vec<Range<usize>>),
    replace: impl Fn(&str, i64) -> Option<(i64, String)>,
) -> String {
    let mut all = String::with_capacity(text.len());
    let mut last: HashMap<String, Vec<i64>> = HashMap::new();
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        found.clear();
        places(line, &mut found);
        let mut rest = String::with_capacity(line.len());
        let mut at = 0;
        for place in &found {
            rest.push_str(&line[at..place.start]);
            at = place.end;
        }
        rest.push_str(&line[at..]);
        let numbers = last.entry(rest).or_default();
        if numbers.len() < found.len() {
            numbers.resize(found.len(), 0);
        }
        let mut at = 0;
        for (place, last) in found.iter().zip(numbers) {
            if let Some((number, written)) = replace(&line[place.clone()], *last) {
                all.push_str(&line[at..place.start]);
                // Writing to a String cannot fail.
                let _ = write!(all, "{written}");
                *last = number;
                at = place.end;
            }
        }
        all.push_str(&line[at..]);
    }
    all
}

/// Digits of a number at most: those of any distance fit into 64 bits.
const DIGITS: usize = 18;

/// Where a line has numbers that [`signed`] finds again as distances.
#[cfg(any(test, feature = "pack"))]
fn numbers(line: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(begin) = line[at..].find(is_of_word) {
        let begin = at + begin;
        at = word_end(line, begin);
        let word = &line[begin..at];
        let digits = word.bytes().rev().take_while(u8::is_ascii_digit).count();
        // No number begins with a zero.
        let zeros =
            word[word.len() - digits..].bytes().take_while(|byte| *byte == b'0').count().min(digits.saturating_sub(1));
        let number = at - digits + zeros..at;
        if !number.is_empty() && number.len() <= DIGITS && (number.start == begin || is_named(line, begin)) {
            found.push(number);
        }
    }
}

/// Where a line has distances: a sign and digits, alone or behind a word of which `%` or `$` is in front.
fn signed(line: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(next) = line[at..].chars().next() {
        let end = word_end(line, at);
        let behind = &line[end..];
        let digits = behind.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        let whole = behind.starts_with(['+', '-'])
            && (1..=DIGITS).contains(&digits)
            && !behind[1 + digits..].starts_with(is_of_word);
        if whole && (end == at || is_named(line, at)) {
            found.push(end..end + 1 + digits);
            at = end + 1 + digits;
        } else {
            at = end.max(at + next.len_utf8());
        }
    }
}

fn word_end(line: &str, begin: usize) -> usize {
    line[begin..].find(|c| !is_of_word(c)).map_or(line.len(), |end| begin + end)
}

/// Whether a word is a register's or a label's name, which ends with its number.
fn is_named(line: &str, begin: usize) -> bool {
    line[..begin].ends_with(['%', '$'])
}

/// Whether a character is part of a name, a type or a number.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "	.reg .b32 	%r<9>;\n	add.f32 	%f5, %f4, %f1;\n@%p1	bra 	$L__BB0_2;\n	add.f32 	%f7, %f6, %f1;\n\
        	mov.u32 	%r1, %tid.x;\n	ld.f32 	%f99999999999, [%rd07+4]; // 100 % of µs\n	ld.f32 	%f99999999998, [%rd07+-4]; // 99 % of µs\n\
        	.loc	1 117 9, function_name $L__info_string3, inlined_at 1 200 3\n$L__BB0_2: 0f3F800000, 0x10, 1e9, x86, -3\n";

    #[test]
    fn steps_that_differ_in_their_numbers_become_alike() {
        let text = distances(TEXT);
        assert!(text.contains("%f+5, %f+4, %f+1;\n@%p+1	bra 	$L__BB0_+2;\n"), "{text}");
        assert!(text.contains("add.f32 	%f+2, %f+2, %f+0;"), "{text}");
        assert!(text.contains("%r+1, %tid.x;\n	ld.f32 	%f+99999999999, [%rd0+7++4]; // +100 % of µs\n"), "{text}");
        assert!(text.contains(".loc	+1 +117 +9, function_name $L__info_string+3, inlined_at +1 +200 +3\n"), "{text}");
        assert!(text.ends_with("$L__BB0_+2: 0f3F800000, 0x10, 1e9, x86, -+3\n"), "{text}");
    }

    #[test]
    fn numbers_come_back() {
        for text in [
            TEXT,
            "",
            "%",
            "%r",
            "%r4294967295 %r0\n%r0 %r4294967295\n",
            "no line break %f3",
            "007 a-5 %-5 $+5 %r1+5",
            "µ3 3µ",
        ] {
            assert_eq!(numbered(&distances(text)), text);
        }
        // No text that is not of `distances` makes it fail.
        assert_eq!(numbered("%r-1 %r+99999999999999999999 %r+"), "%r-1 %r+99999999999999999999 %r+");
        assert_ne!(numbered(&distances("%r+007\n")), "%r+007\n");
    }
}
