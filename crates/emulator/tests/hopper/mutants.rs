//! Wrong versions of the products: each fence, wait, arrival, count of bytes, parity and barrier dropped or shifted by one.
//! The text that is changed is the PTX: every place that one line of the source became is changed at once.

use std::collections::BTreeMap;

/// One wrong version.
pub struct Mutant {
    /// What was done, to which instruction, at which line of the source.
    pub name: String,
    /// The PTX.
    pub ptx: String,
}

/// What is done to an instruction that begins with these words: a name and the lines that stand there instead.
type Rule = (&'static str, &'static str, fn(&str) -> Option<String>);

const RULES: [Rule; 21] = [
    ("fence.mbarrier_init", "dropped", dropped),
    ("fence.proxy.async", "dropped", dropped),
    ("wgmma.fence", "dropped", dropped),
    ("wgmma.commit_group", "dropped", dropped),
    ("wgmma.wait_group", "dropped", dropped),
    ("wgmma.wait_group", "one more group left", one_more),
    ("cp.async.bulk.commit_group", "dropped", dropped),
    ("cp.async.bulk.wait_group", "dropped", dropped),
    ("cp.async.bulk.wait_group", "one more group left", one_more),
    ("bar.sync", "dropped", dropped),
    ("barrier.sync", "dropped", dropped),
    ("barrier.cluster.wait", "dropped with its arrival", dropped),
    ("mbarrier.init", "dropped", dropped),
    ("mbarrier.init", "one more arrival", |line| changed(line, "add.s32 other, {}, 1;")),
    ("mbarrier.init", "one arrival less", |line| changed(line, "sub.s32 other, {}, 1;")),
    ("mbarrier.arrive", "dropped", dropped),
    ("mbarrier.arrive", "twice", |line| Some(format!("{line}\n{line}"))),
    ("mbarrier.arrive.expect_tx", "16 bytes more", |line| changed(line, "add.s32 other, {}, 16;")),
    ("mbarrier.arrive.expect_tx", "16 bytes less", |line| changed(line, "sub.s32 other, {}, 16;")),
    ("mbarrier.try_wait", "dropped", |_| Some("setp.eq.u32 done, 0, 0;".into())),
    ("mbarrier.try_wait", "of the other parity", |line| changed(line, "xor.b32 other, {}, 1;")),
];

fn dropped(_: &str) -> Option<String> {
    Some(String::new())
}

/// The number at the end is one more.
fn one_more(line: &str) -> Option<String> {
    let (words, number) = line.trim_end_matches(';').rsplit_once(' ')?;
    Some(format!("{words} {};", number.parse::<u32>().ok()? + 1))
}

/// The last operand is computed from what it was.
fn changed(line: &str, how: &str) -> Option<String> {
    let (words, operand) = line.trim_end_matches(';').rsplit_once(", ")?;
    Some(format!("{{\n.reg .b32 other;\n{}\n{words}, other;\n}}", how.replace("{}", operand)))
}

/// All wrong versions of a PTX text.
pub fn mutants(ptx: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = ptx.lines().collect();
    // The places of an instruction by the line of the source, where it was inlined last.
    let mut places: BTreeMap<(String, u32), Vec<usize>> = BTreeMap::new();
    let mut source = 0;
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&".loc") {
            let inlined = words.iter().rposition(|word| *word == "inlined_at").map_or(2, |place| place + 2);
            source = words.get(inlined).and_then(|word| word.parse().ok()).unwrap_or(source);
        }
        if let Some(first) = words.first().filter(|word| RULES.iter().any(|rule| word.starts_with(rule.0))) {
            places.entry((first.trim_end_matches(';').to_string(), source)).or_default().push(at);
        }
    }
    let mut all = Vec::new();
    for ((instruction, source), at) in &places {
        for (_, name, rule) in RULES.iter().filter(|rule| instruction.starts_with(rule.0)) {
            let mut text: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
            let done = at.iter().filter_map(|&at| Some((at, rule(lines[at].trim())?))).collect::<Vec<_>>();
            for (at, new) in &done {
                text[*at] = new.clone();
                if instruction.starts_with("barrier.cluster.wait") {
                    text[at - 1] = String::new();
                }
            }
            if !done.is_empty() {
                all.push(Mutant { name: format!("{source}: {instruction} {name}"), ptx: text.join("\n") });
            }
        }
    }
    all
}
