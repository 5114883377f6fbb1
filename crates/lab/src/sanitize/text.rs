//! The outcome for a person.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;

use emulator::Schedule;

use super::expect::Held;
use super::outcome::{Difference, Outcome, Verdict};

/// Elements of a line.
const PER_LINE: usize = 8;

/// The outcome as text.
pub fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (index, launch) in outcome.launches.iter().enumerate() {
        let shared = match launch.dynamic_shared {
            0 => String::new(),
            bytes => format!(", {bytes} bytes of dynamic shared memory"),
        };
        let head = if index == 0 { "launches" } else { "" };
        let arguments = launch.arguments.join(" ");
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{head:<10}{}  grid {}, block {}{shared}  {arguments}",
            launch.entry, launch.grid, launch.block
        );
        launch.sums.iter().for_each(|summed| {
            let _ = writeln!(text, "{:<10}{summed}", "sums");
        });
    }
    let _ = writeln!(text, "{:<10}{}", "orders", names(&outcome.orders));
    let lines = Lines::default();
    for found in &outcome.faults {
        let rendered = found.fault.render(&|file, line| lines.get(file, line));
        let which = which(outcome, found.launch);
        let _ = writeln!(text, "\nfault     {which}{}\nerror: {}", names(&found.orders), rendered.trim_end());
    }
    for found in &outcome.warnings {
        let rendered = found.warning.render(&|file, line| lines.get(file, line));
        let which = which(outcome, found.launch);
        let _ = writeln!(text, "\ndoubtful  {which}{}\nwarning: {}", names(&found.orders), rendered.trim_end());
    }
    for unwritten in &outcome.unwritten {
        let _ = match &unwritten.store {
            None => writeln!(text, "\nerror: {}\nhint: {}", unwritten.line(), unwritten.hint()),
            Some(store) => {
                let rendered = store.render(&|file, line| lines.get(file, line));
                writeln!(text, "\nerror: {}: {}", unwritten.line(), rendered.trim_end())
            }
        };
    }
    if !outcome.printed.is_empty() {
        let _ = writeln!(text, "\nprinted");
    }
    for said in &outcome.printed {
        let site = &said.printed.site;
        let place = site.source.as_ref().map_or(String::new(), |(file, line)| format!(" {file}:{line}"));
        for line in said.printed.text.lines() {
            let _ = writeln!(text, "  block {}, thread {}{place}: {line}", site.block, site.thread);
        }
    }
    if !outcome.differences.is_empty() {
        let _ = writeln!(text, "\ndepends on the order of thread blocks and warps");
        outcome.differences.iter().for_each(|difference| text += &differing(difference));
    }
    if !outcome.buffers.is_empty() {
        let _ = writeln!(text, "\nbuffers after the last launch");
        outcome.buffers.iter().for_each(|held| text += &buffer(held));
    }
    if !outcome.expected.is_empty() {
        let _ = writeln!(text);
    }
    for expected in &outcome.expected {
        let _ = match &expected.first {
            None => writeln!(text, "expected  {}: so it is", expected.expected),
            Some((at, got, wanted)) => writeln!(
                text,
                "expected  {}: {} of {} are otherwise, the first at {at}: {got} instead of {wanted}",
                expected.expected, expected.wrong, expected.of
            ),
        };
        if let Some(bits) = expected.wraps {
            let _ = writeln!(text, "          each is off by a multiple of 2^{bits}: is a sum kept in {bits} bits?");
        }
        if let Some(alike) = &expected.alike {
            let _ = writeln!(text, "hint: {alike}");
        }
        if let Some(stored) = &expected.stored {
            let _ = writeln!(text, "          {}{}", which(outcome, stored.launch), stored.line());
        }
    }
    for hint in &outcome.hints {
        let _ = writeln!(text, "hint: {hint}");
    }
    for (index, launch) in outcome.launches.iter().enumerate() {
        let Some(counted) = &launch.counted else { continue };
        let _ = writeln!(
            text,
            "\ncounters  {}{}\n\n{}",
            which(outcome, index + 1),
            outcome.orders[0],
            counted.to_string().trim_end()
        );
    }
    let warned = match outcome.warnings.len() {
        0 => String::new(),
        1 => ", with one warning".to_string(),
        count => format!(", with {count} warnings"),
    };
    let verdict = match outcome.verdict {
        Verdict::Clean => format!("clean{warned}"),
        Verdict::OrderDependent => {
            let mut names: Vec<&str> = outcome.differences.iter().map(|differing| differing.buffer.as_str()).collect();
            names.dedup();
            let (names, verb) = (names.join(", "), if names.len() > 1 { "depend" } else { "depends" });
            format!("no fault, but {names} {verb} on the order of thread blocks and warps{warned}")
        }
        Verdict::Fault => "FAULT".to_string(),
    };
    let _ = writeln!(text, "\nverdict   {verdict}");
    text
}

/// The launch, where there are several.
fn which(outcome: &Outcome, launch: usize) -> String {
    let entry = outcome.launches.get(launch - 1).map_or("", |launch| launch.entry.as_str());
    if outcome.launches.len() > 1 { format!("launch {launch} ({entry}), ") } else { String::new() }
}

fn names(orders: &[Schedule]) -> String {
    orders.iter().map(|order| order.to_string()).collect::<Vec<_>>().join("; ")
}

fn differing(difference: &Difference) -> String {
    let Difference { buffer, orders, elements, of, first, values, relative } = difference;
    let [a, b] = values;
    format!(
        "  {buffer}: {elements} of {of} elements, by up to {relative:.1e} of their size; at {first}, {a} ({}) and {b} ({})\n",
        orders[0], orders[1]
    )
}

fn buffer(held: &Held) -> String {
    let state = match (&held.sha256, held.unwritten_bytes) {
        (Some(hash), _) => format!("sha256 {}", &hash[..16]),
        (None, 0) => "zeros where nobody accessed it".to_string(),
        (None, bytes) => format!("{bytes} of {} bytes were never written", held.count * width(held)),
    };
    let mut text = format!("  {} {}[{}]  {state}\n", held.name, held.element, held.count);
    for (row, values) in held.values.chunks(PER_LINE).enumerate() {
        let _ = writeln!(text, "    [{}] {}", held.from + row * PER_LINE, values.join(" "));
    }
    text
}

fn width(held: &Held) -> usize {
    super::element::Element::named(held.element).map_or(1, |element| element.bytes())
}

/// Lines of the files that faults name.
#[derive(Debug, Default)]
pub struct Lines(std::cell::RefCell<HashMap<String, Vec<String>>>);

impl Lines {
    /// A line, from 1, if the file is there.
    pub fn get(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.0.borrow_mut();
        let read = || fs::read_to_string(file).unwrap_or_default().lines().map(str::to_string).collect();
        let lines: &mut Vec<String> = files.entry(file.to_string()).or_insert_with(read);
        lines.get((line as usize).checked_sub(1)?).cloned()
    }
}
