//! kernel.cu with its counters in the margin: where the work is, and where accesses cost more than they must.

use std::collections::HashMap;

use emulator::Counters;

use crate::source::Source;
use crate::text::ratio;

/// The kernel's text; beside each line its share of the warp instructions, its sectors per global request
/// and its wavefronts per shared request, each with the ideal in parentheses.
pub fn annotate(source: &Source, report: &emulator::Report) -> String {
    let mut by_line: HashMap<u32, Counters> = HashMap::new();
    for line in report.lines.iter().filter(|line| line.file.ends_with(source.path)) {
        *by_line.entry(line.line).or_default() += &line.counters;
    }
    let all = report.total.warp_instructions();
    let mut text = format!("{:>6}  {:>15}  {:>15}\n", "instr.", "sectors/req.", "wavefronts/req.");
    for (number, code) in (1..).zip(source.text.lines()) {
        let margin = by_line.get(&number).map_or(String::new(), |counters| margin(counters, all));
        text += format!("{margin:<40} {number:>3} | {code}").trim_end();
        text.push('\n');
    }
    text
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
    format!("{share:>5.1}%  {sectors:>15}  {wavefronts:>15}")
}
