//! Registers' numbers, written as distances. Most of what PTX of an unrolled loop has to say anew in each step is numbers: by distance
//! the steps are alike, and an archive has less than half of its size.
//!
//! A number's distance is that from the number in the same place of the line with the same first word before it: `%f7` is `%f+2` where
//! the last `add.f32` had `%f5` there.

use std::collections::HashMap;
use std::fmt::Write;

/// The last numbers of each place in a line, by the line's first word.
type Last<'a> = HashMap<&'a str, Vec<u32>>;

/// With distances in place of numbers. [`numbered`] makes the text again, unless it has a distance of its own.
#[cfg(any(test, feature = "pack"))]
pub fn distances(text: &str) -> String {
    rewritten(text, |after, last| {
        let digits = &after[..after.bytes().take_while(u8::is_ascii_digit).count()];
        let number: u32 = digits.parse().ok().filter(|number: &u32| number.to_string() == digits)?;
        Some((digits.len(), number, format!("{:+}", i64::from(number) - i64::from(last))))
    })
}

/// With numbers in place of distances.
pub fn numbered(text: &str) -> String {
    rewritten(text, |after, last| {
        let digits = after.strip_prefix(['+', '-'])?.bytes().take_while(u8::is_ascii_digit).count();
        let distance: i64 = after[..=digits].parse().ok()?;
        let number = u32::try_from(i64::from(last).checked_add(distance)?).ok()?;
        Some((digits + 1, number, number.to_string()))
    })
}

/// Replaces what follows `%` and a register's letters. `replace` gets that and the last number in this place; it gives how many bytes it
/// reads, the number, and what stands for it; nothing, where it leaves them as they are.
fn rewritten(text: &str, replace: impl Fn(&str, u32) -> Option<(usize, u32, String)>) -> String {
    let mut all = String::with_capacity(text.len());
    let mut last = Last::new();
    for line in text.split_inclusive('\n') {
        let Some(first) = line.find('%') else {
            all.push_str(line);
            continue;
        };
        // A guard, as in `@%p1 bra`, is not what a line does.
        let words = line[..first].split_ascii_whitespace().next().filter(|word| !word.contains('@'));
        let places = last.entry(words.unwrap_or_default()).or_default();
        let (mut rest, mut place) = (line, 0);
        while let Some(at) = rest.find('%') {
            let letters = rest[at + 1..].bytes().take_while(u8::is_ascii_lowercase).count();
            let (before, after) = rest.split_at(at + 1 + letters);
            all.push_str(before);
            rest = after;
            if places.len() == place {
                places.push(0);
            }
            if let Some((read, number, written)) = replace(after, places[place]).filter(|_| letters > 0) {
                // Writing to a String cannot fail.
                let _ = write!(all, "{written}");
                places[place] = number;
                rest = &after[read..];
            }
            place += 1;
        }
        all.push_str(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "	.reg .b32 	%r<9>;\n	add.f32 	%f5, %f4, %f1;\n@%p1	bra 	$L__BB0_2;\n	add.f32 	%f7, %f6, %f1;\n\
        	mov.u32 	%r1, %tid.x;\n	ld.f32 	%f99999999999, [%rd07+4]; // 100 % of µs\n";

    #[test]
    fn steps_that_differ_in_their_registers_become_alike() {
        let text = distances(TEXT);
        assert!(text.contains("%f+5, %f+4, %f+1;\n@%p+1	bra"), "{text}");
        assert!(text.contains("add.f32 	%f+2, %f+2, %f+0;"), "{text}");
        assert!(text.contains("%r+1, %tid.x;\n	ld.f32 	%f99999999999, [%rd07+4]; // 100 % of µs\n"), "{text}");
    }

    #[test]
    fn numbers_come_back() {
        for text in [TEXT, "", "%", "%r", "%r4294967295 %r0\n%r0 %r4294967295\n", "no line break %f3"] {
            assert_eq!(numbered(&distances(text)), text);
        }
        // No text that is not of `distances` makes it fail.
        assert_eq!(numbered("%r-1 %r+99999999999999999999 %r+"), "%r-1 %r+99999999999999999999 %r+");
        assert_ne!(numbered(&distances("%r+3\n")), "%r+3\n");
    }
}
