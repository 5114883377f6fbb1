//! The outcome as lines that GitHub turns into notes beside the code: `::error file=scan.cu,line=12,title=race::…`.

use emulator::{Site, Warning};

use super::outcome::{Doubtful, Found, Outcome};

/// The lines; none where nothing is wrong or doubtful.
pub fn github(outcome: &Outcome) -> String {
    let whole = (outcome.file.as_str(), None);
    let mut lines: Vec<String> = Vec::new();
    for Found { fault, .. } in &outcome.faults {
        let text = with_hint(&fault.message, fault.hint.as_deref());
        lines.push(line("error", place(outcome, &fault.site), &fault.kind.to_string(), &text));
        lines.extend(fault.other.iter().filter(|(_, site)| site.source != fault.site.source).map(|(what, site)| {
            line("notice", place(outcome, site), &fault.kind.to_string(), what.trim_end_matches(':'))
        }));
    }
    for Doubtful { warning, .. } in &outcome.warnings {
        let Warning { kind, site, hint, .. } = warning;
        lines.push(line("warning", place(outcome, site), &kind.to_string(), &with_hint(&warning.line(), Some(hint))));
    }
    for unwritten in &outcome.unwritten {
        lines.push(line("error", whole, "never written", &with_hint(&unwritten.line(), Some(&unwritten.hint()))));
    }
    for expected in outcome.expected.iter().filter(|expected| !expected.holds) {
        let text = format!("{}: {} of {} elements are otherwise", expected.expected, expected.wrong, expected.of);
        let source = expected.stored.as_ref().and_then(|stored| stored.source.as_ref());
        let place = source.map_or(whole, |(file, line)| (file.as_str(), Some(*line)));
        lines.push(line("error", place, "unexpected", &text));
    }
    for difference in &outcome.differences {
        lines.push(line("warning", whole, "depends on the order", &difference.line()));
    }
    lines.concat()
}

/// An error that came before any launch, in the file as a whole.
pub fn refusal(file: &str, text: &str) -> String {
    line("error", (file, None), "not run", text)
}

fn with_hint(text: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| text.to_string(), |hint| format!("{text}\nhint: {hint}"))
}

/// The file and the line in which a thread stood.
fn place<'a>(outcome: &'a Outcome, site: &'a Site) -> (&'a str, Option<u32>) {
    match &site.source {
        Some((file, line)) => (file, Some(*line)),
        None => (&outcome.file, None),
    }
}

fn line(level: &str, (file, line): (&str, Option<u32>), title: &str, text: &str) -> String {
    let line = line.map_or_else(String::new, |line| format!(",line={}", line.max(1)));
    format!("::{level} file={}{line},title={}::{}\n", property(file), property(title), data(text))
}

/// What would end a command's line is written in percent.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// What would end a property, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_line_is_written_in_percent() {
        let said = line("error", ("a,b:c.cu", Some(0)), "100 %", "one\r\ntwo: 3, 4");
        assert_eq!(said, "::error file=a%2Cb%3Ac.cu,line=1,title=100 %25::one%0D%0Atwo: 3, 4\n");
    }
}
