//! PTX with the names that another text has for the same, so that the two differ in little.
//!
//! A compiler numbers registers and labels as they come: one instruction less, and all behind it have other names.

use std::collections::{BTreeMap, BTreeSet};

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A name in a line: where it stands, what it begins with, and its number.
struct Name<'a> {
    start: usize,
    end: usize,
    prefix: &'a str,
    number: u64,
}

/// `%r12` and `$L__BB0_3`, in order.
fn names(line: &str) -> Vec<Name<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(['%', '$']).map(|offset| at + offset) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = line[start + 1..].find(|c| !is_part(c)).map_or(line.len(), |length| start + 1 + length);
        let word = &line[start..end];
        let prefix = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Ok(number) = word[prefix.len()..].parse() {
            found.push(Name { start, end, prefix, number });
        }
        at = end;
    }
    found
}

/// The line with each name replaced.
fn replaced(line: &str, new: impl Fn(&str, u64) -> String) -> String {
    let (mut text, mut at) = (String::new(), 0);
    for name in names(line) {
        text += &line[at..name.start];
        text += &new(name.prefix, name.number);
        at = name.end;
    }
    text + &line[at..]
}

/// `text` with its registers and labels under the names of `like`, wherever lines of both are alike but for these.
pub fn renamed(text: &str, like: &str) -> String {
    let (text, like): (Vec<&str>, Vec<&str>) = (text.lines().collect(), like.lines().collect());
    let masked = |lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| replaced(line, |prefix, _| prefix.to_string())).collect()
    };
    let mut votes: BTreeMap<(&str, u64, u64), usize> = BTreeMap::new();
    for op in capture_diff_slices(Algorithm::Myers, &masked(&like), &masked(&text)) {
        let DiffOp::Equal { old_index, new_index, len } = op else { continue };
        for (old, new) in like[old_index..][..len].iter().zip(&text[new_index..][..len]) {
            for (theirs, own) in names(old).into_iter().zip(names(new)) {
                *votes.entry((own.prefix, own.number, theirs.number)).or_default() += 1;
            }
        }
    }
    let mut votes: Vec<_> = votes.into_iter().collect();
    votes.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut to: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    let mut taken: BTreeSet<(&str, u64)> = BTreeSet::new();
    for ((prefix, own, theirs), _) in votes {
        if !to.contains_key(&(prefix, own)) && taken.insert((prefix, theirs)) {
            to.insert((prefix, own), theirs);
        }
    }
    // What stands in no line that is alike gets a number that nobody has.
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    for name in text.iter().chain(&like).flat_map(|line| names(line)) {
        let most = most.entry(name.prefix).or_default();
        *most = name.number.max(*most);
    }
    for name in text.iter().flat_map(|line| names(line)) {
        to.entry((name.prefix, name.number)).or_insert_with(|| {
            let most = most.entry(name.prefix).or_default();
            *most += 1;
            *most
        });
    }
    let line = |line: &&str| match declared(line) {
        Some((head, prefix, count)) => {
            format!("{head}<{}>;", most.get(prefix).map_or(count, |most| count.max(most + 1)))
        }
        None => replaced(line, |prefix, number| format!("{prefix}{}", to[&(prefix, number)])),
    };
    text.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// A declaration of registers, `.reg .b32 %r<12>;`: what stands before `<`, the register, and how many there are.
fn declared(line: &str) -> Option<(&str, &str, u64)> {
    let (head, count) = line.strip_suffix(">;")?.split_once('<')?;
    let prefix = &head[head.find('%').filter(|_| head.trim_start().starts_with(".reg "))?..];
    Some((head, prefix, count.parse().ok()?))
}

#[test]
fn the_same_instructions_get_the_same_names() {
    let like =
        ".reg .b32 %r<5>;\nmov.u32 %r1, %tid.x;\nbar.sync 0;\nadd.s32 %r2, %r1, 1;\n$L__BB0_2:\nst.u32 [%rd1], %r2;\n";
    let text = ".reg .b32 %r<6>;\nmov.u32 %r1, %tid.x;\nadd.s32 %r4, %r1, 1;\nneg.s32 %r2, %r4;\n$L__BB0_1:\nst.u32 [%rd3], %r4;\n";
    let expected = ".reg .b32 %r<6>;\nmov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nneg.s32 %r5, %r2;\n$L__BB0_2:\nst.u32 [%rd1], %r2;\n";
    assert_eq!(renamed(text, like), expected);
    assert_eq!(renamed(like, like), like);
}
