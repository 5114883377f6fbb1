//! The outcome as SARIF 2.1.0, which code hosts and editors read.

use emulator::{FaultKind, Site, Step, WarningKind};
use serde_json::{Value, json};

use super::outcome::{Doubtful, Found, Outcome};

/// What no fault is, by its rule and what that says.
const OTHERS: [(&str, &str); 3] = [
    ("never-written", "A buffer keeps bytes that nobody wrote"),
    ("unexpected", "A buffer does not hold what is expected of it"),
    ("order-dependent", "A result that depends on the order of thread blocks and warps"),
];

/// Every rule, by its name and what it says.
fn rules() -> Vec<(String, &'static str)> {
    let faults = FaultKind::ALL.map(|kind| (rule(kind), kind.meaning()));
    let warnings = WarningKind::ALL.map(|kind| (rule(kind), kind.meaning()));
    faults.into_iter().chain(warnings).chain(OTHERS.map(|(id, text)| (id.to_string(), text))).collect()
}

/// The log.
pub fn sarif(outcome: &Outcome) -> Value {
    let mut results: Vec<Value> = outcome.faults.iter().map(|found| fault(outcome, found)).collect();
    results.extend(outcome.warnings.iter().map(|found| warning(outcome, found)));
    results.extend(outcome.unwritten.iter().map(|unwritten| {
        let Some(store) = &unwritten.store else {
            let message = format!("{}\n{}", unwritten.line(), unwritten.hint());
            return whole_file(outcome, "never-written", "error", &message);
        };
        let message = format!("{}: {}\n{}", unwritten.line(), store.message, store.hint.as_deref().unwrap_or_default());
        at_site(outcome, ("never-written", "error"), &message, (&store.site, store.other.as_ref()))
    }));
    results.extend(outcome.expected.iter().filter(|expected| !expected.holds).map(|expected| {
        let message = format!("{}: {} of {} elements are otherwise", expected.expected, expected.wrong, expected.of);
        let Some(stored) = &expected.stored else { return whole_file(outcome, "unexpected", "error", &message) };
        let mut value =
            whole_file(outcome, "unexpected", "error", &format!("{message}; the first was {}", stored.line()));
        if let Some((file, line)) = &stored.source {
            let place = json!({ "artifactLocation": { "uri": uri(file) }, "region": { "startLine": line } });
            value["locations"] = json!([{ "physicalLocation": place }]);
        }
        value
    }));
    results.extend(
        outcome.differences.iter().map(|difference| whole_file(outcome, "order-dependent", "note", &difference.line())),
    );
    let rules: Vec<Value> =
        rules().iter().map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } })).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "lab sanitize", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn fault(outcome: &Outcome, found: &Found) -> Value {
    let fault = &found.fault;
    let mut text = fault.message.clone();
    if let Some(hint) = &fault.hint {
        text += &format!("\n{hint}");
    }
    let mut value = at_site(outcome, (&rule(fault.kind), "error"), &text, (&fault.site, fault.other.as_ref()));
    value["properties"] = json!({ "launch": found.launch, "orders": found.orders });
    value
}

fn warning(outcome: &Outcome, found: &Doubtful) -> Value {
    let warning = &found.warning;
    let text = format!("{}\n{}", warning.line(), warning.hint);
    let mut value = at_site(outcome, (&rule(warning.kind), "warning"), &text, (&warning.site, Some(&warning.other)));
    value["properties"] = json!({ "launch": found.launch, "orders": found.orders, "count": warning.count });
    value
}

/// A result at a place, and at another one beside it.
fn at_site(
    outcome: &Outcome,
    (rule, level): (&str, &str),
    text: &str,
    (site, other): (&Site, Option<&(String, Site)>),
) -> Value {
    let related: Vec<Value> = other
        .iter()
        .map(|(what, site)| {
            let mut place = location(outcome, site);
            place["message"] = json!({ "text": what });
            place
        })
        .collect();
    let mut value = json!({
        "ruleId": rule,
        "ruleIndex": index(rule),
        "level": level,
        "message": { "text": text },
        "locations": [location(outcome, site)],
        "relatedLocations": related,
    });
    if !site.calls.is_empty() {
        value["stacks"] = json!([stack(site)]);
    }
    value
}

/// Where a thread stood: in the source that the PTX names, else in the file itself.
fn location(outcome: &Outcome, site: &Site) -> Value {
    let (file, line) = match &site.source {
        Some((file, line)) => (file.as_ref(), *line),
        None => (outcome.file.as_str(), site.ptx_line),
    };
    let who = format!("block {}, thread {}, {}", site.block, site.thread, site.opcode);
    json!({
        "physicalLocation": { "artifactLocation": { "uri": uri(file) }, "region": { "startLine": line.max(1) } },
        "message": { "text": who },
    })
}

/// The calls that lead to a place, from the innermost.
fn stack(site: &Site) -> Value {
    let frame = |step: &Step| {
        json!({ "location": {
            "physicalLocation": { "artifactLocation": { "uri": uri(&step.file) }, "region": { "startLine": step.line } },
            "message": { "text": step.function },
        } })
    };
    json!({ "frames": site.calls.iter().map(frame).collect::<Vec<_>>() })
}

fn whole_file(outcome: &Outcome, rule: &str, level: &str, message: &str) -> Value {
    json!({
        "ruleId": rule,
        "ruleIndex": index(rule),
        "level": level,
        "message": { "text": message },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&outcome.file) } } }],
    })
}

fn rule(kind: impl ToString) -> String {
    kind.to_string().replace(' ', "-")
}

fn index(rule: &str) -> usize {
    rules().iter().position(|(id, _)| id == rule).unwrap_or_default()
}

/// A path as a URI reference: what is not allowed there is written in percent.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = if path.starts_with('/') { "file://".to_string() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(byte.into()),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
