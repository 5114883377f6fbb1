//! The lines of kernel.cu that have counters, with these in the margin: where the work is, and where accesses cost more than
//! they must.

use std::collections::HashMap;

use emulator::Counters;

use crate::source::Source;
use crate::text::ratio;

/// The widest line, in characters: the kernels' own limit.
const WIDTH: usize = 100;
/// After so many lines the heads of the columns stand there again.
const LINES: usize = 30;

/// The lines of the kernel's text that have counters; beside each its share of the warp instructions, its sectors per global
/// request and its wavefronts per shared request, each with the ideal in parentheses. So that most of the code has room beside them,
/// comments at a line's end are left out, and the code is indented half as far; what is still too long is cut off.
pub fn annotate(source: &Source, report: &emulator::Report) -> String {
    let mut by_line: HashMap<u32, Counters> = HashMap::new();
    for line in report.lines.iter().filter(|line| line.file.ends_with(source.path)) {
        *by_line.entry(line.line).or_default() += &line.counters;
    }
    let all = report.total.warp_instructions();
    let counted: Vec<(u32, &str, &Counters)> = (1..)
        .zip(source.text.lines())
        .filter_map(|(number, code)| Some((number, code, by_line.get(&number)?)))
        .collect();
    let indent = |code: &str| code.len() - code.trim_start().len();
    let common = counted.iter().map(|(_, code, _)| indent(code)).min().unwrap_or(0);
    let mut text = String::new();
    for lines in counted.chunks(LINES) {
        text += &format!("{:>6} {:>14} {:>15} {:>4}\n", "instr.", "sectors/req.", "wavefronts/req.", "line");
        for (number, code, counters) in lines {
            let indent = " ".repeat((indent(code) - common) / 2);
            let code = code.split("  //").next().unwrap_or_default().trim();
            text += &shortened(format!("{} {number:>4} | {indent}{code}", margin(counters, all)).trim_end());
            text.push('\n');
        }
    }
    text
}

/// A line of at most [`WIDTH`] characters; a longer one ends in `…`.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        None => line.to_string(),
        Some(_) => line.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

fn margin(counters: &Counters, all: u64) -> String {
    let share = 100.0 * counters.warp_instructions() as f64 / all as f64;
    let per_request = |done: u64, ideal: u64, requests: u64| match requests {
        0 => String::new(),
        _ => format!("{} ({})", ratio(done, requests), ratio(ideal, requests)),
    };
    let (load, store) = (&counters.global_load, &counters.global_store);
    let ideal = load.ideal_sectors + store.ideal_sectors;
    let sectors = per_request(load.sectors + store.sectors, ideal, load.requests + store.requests);
    let (load, store) = (&counters.shared_load, &counters.shared_store);
    let ideal = load.ideal_wavefronts + store.ideal_wavefronts;
    let wavefronts = per_request(load.wavefronts + store.wavefronts, ideal, load.requests + store.requests);
    format!("{share:>5.1}% {sectors:>14} {wavefronts:>15}")
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_line_is_cut_at_100_characters() {
        let line = "·".repeat(100);
        assert_eq!(shortened(&line), line);
        let cut = shortened(&format!("{line}x"));
        assert_eq!((cut.chars().count(), cut.chars().last()), (100, Some('…')));
    }
}
