//! The comparison for a person.

use std::fmt::Write;

use gemm::text::count;

use super::lines::Line;
use super::rows::Row;
use super::{Comparison, Kernel};
use crate::table::number;

/// Characters of a line of code that are shown.
const CODE: usize = 60;

/// The comparison as text.
pub fn text(comparison: &Comparison) -> String {
    let Comparison { shape, gpu, kernels, differs } = comparison;
    let on = shape.map_or_else(String::new, |shape| format!("on {shape}, "));
    let mut text = format!("{} and {}, {on}modelled on {gpu}\n\n", kernels[0].name, kernels[1].name);
    for Kernel { name, right, launch, sums, .. } in kernels {
        let verdict = match (right, shape) {
            (true, Some(_)) => "right",
            (true, None) => "no fault",
            (false, Some(_)) => "WRONG, as `lab try` explains",
            (false, None) => "FAULT, as `lab sanitize` explains",
        };
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{name}: {verdict}; {launch}");
        sums.iter().for_each(|summed| {
            let _ = writeln!(text, "  sums {summed}");
        });
    }
    let _ = writeln!(text, "\n{}", headline(kernels));
    let wide = kernels.iter().map(|kernel| kernel.name.chars().count()).max().unwrap_or(0).max(14);
    if !differs.is_empty() {
        let _ = writeln!(text, "\n{:<34}{:>wide$}  {:>wide$}", "", kernels[0].name, kernels[1].name);
    }
    for row in differs {
        let [a, b] = row.values.map(shown);
        let _ = writeln!(text, "{}", format!("{:<34}{a:>wide$}  {b:>wide$}  {}", row.what, change(row)).trim_end());
        let both =
            row.lines.iter().zip(kernels).flat_map(|(lines, kernel)| lines.iter().map(move |line| (line, kernel)));
        for (line, kernel) in both {
            let _ = writeln!(text, "  {}", located(line, kernel));
        }
    }
    text
}

/// What the second kernel comes to.
fn headline([first, second]: &[Kernel; 2]) -> String {
    let (a, b) = (first.bound_us, second.bound_us);
    let takes = |kernel: &Kernel| format!("{} µs ({})", number(kernel.bound_us), kernel.bottleneck);
    let bounds = format!("{} takes at least {}, {} at least {}", first.name, takes(first), second.name, takes(second));
    match ratio([a, b]) {
        Some((times, word)) => format!("{bounds}: {times} times {word}"),
        None => format!("{bounds}: the same"),
    }
}

/// How many times less or more the second is, where that shows in two decimals.
fn ratio([a, b]: [f64; 2]) -> Option<(String, &'static str)> {
    let (times, word) = if b < a { (a / b, "less") } else { (b / a, "more") };
    (times.is_finite() && times >= 1.005).then(|| (format!("{times:.2}"), word))
}

fn change(row: &Row) -> String {
    let times = ratio(row.values).map(|(times, word)| format!("{times} times {word}"));
    let per_request = match row.per_request {
        [Some(a), Some(b)] => Some(format!("{a:.2} → {b:.2} a request")),
        [Some(one), None] | [None, Some(one)] => Some(format!("{one:.2} a request")),
        [None, None] => None,
    };
    [times, per_request].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn shown(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { number(value) }
}

fn located(line: &Line, kernel: &Kernel) -> String {
    let file = line.file.rsplit('/').next().unwrap_or_default();
    let who = if file == kernel.name { String::new() } else { format!(" of {}", kernel.name) };
    let per = line.per_request.map_or_else(String::new, |per| format!(" ({per:.2} a request)"));
    let place = if line.line == 0 { format!("no line{who}") } else { format!("{file}:{}{who}", line.line) };
    let code: String = match line.text.chars().count() > CODE {
        true => line.text.chars().take(CODE - 1).chain(['…']).collect(),
        false => line.text.clone(),
    };
    format!("{place:<28} {}{per}  {code}", count(line.count)).trim_end().to_string()
}
