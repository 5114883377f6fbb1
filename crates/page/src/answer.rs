//! What a page gets: the report, or what is wrong.

use gemm::candidate::{Candidate, Exam, Options};
use gemm::emulated::unwatched;
use gemm::facts::Extras;
use gemm::fit::{self, Card};
use gemm::kernel::{Compiler, Kernel};
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::report::{Named, Report};
use gemm::{Error, Text, asked};
use serde::Serialize;

use crate::Request;
use crate::steps::steps;

/// A run that came to its end.
#[derive(Debug, Serialize)]
struct Answer {
    /// What it found out, as `--json` prints it.
    report: Named<Report>,
    /// The same for a person, as the command line prints it.
    text: String,
    /// What is to be said beside it: that other tile sizes run than the default ones, because these do not fit.
    note: Option<String>,
    /// The kernel's text with counters in the margin, if asked for.
    annotated: Option<String>,
    /// The kernel's text after the change, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The elements of C, row by row, each as its bits in hexadecimal, if asked for.
    bits: Option<Vec<String>>,
}

/// A run that did not.
#[derive(Debug, Serialize)]
struct Failure {
    error: Why,
    /// The kernel's text after the change, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Debug, Serialize)]
struct Why {
    /// `usage`, or `fault`: the kernel did what it must not do.
    kind: &'static str,
    /// What is wrong.
    message: String,
    /// What to do.
    hint: Option<String>,
}

/// Multiplies as the request says, and gives the answer as JSON: an object with `report`, `text`, `note`, `annotated` and `bits`, or
/// one with `error`, which has `kind`, `message` and `hint`; both with `source`, where the request has a change.
pub fn multiply(request: &str) -> String {
    let text = match Request::parse(request).and_then(Request::with_its_change) {
        Ok(request) => match request.step {
            Some(step) => told(run(&request, |trial| steps(trial, step)), &request),
            None => told(run(&request, |trial| judged(trial, &request)), &request),
        },
        Err(error) => serde_json::to_string(&Failure { error: why(error), source: None }),
    };
    // A report is numbers and texts, which JSON has.
    text.unwrap_or_default()
}

fn told<T: Serialize>(answer: Result<T, Error>, request: &Request) -> serde_json::Result<String> {
    match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(error) => serde_json::to_string(&Failure { error: why(error), source: request.changed_source() }),
    }
}

/// What a request comes to: a kernel, and the problem that it is to do.
pub struct Trial<'a> {
    pub candidate: Candidate<'a>,
    pub problem: &'a Problem,
    pub options: Options,
    note: Option<String>,
}

/// Prepares what was asked for, and hands it on.
fn run<T>(request: &Request, then: impl Fn(&Trial) -> Result<T, Error>) -> Result<T, Error> {
    let (shape, gpu) = (request.shape()?, asked::gpu(&request.gpu)?);
    let level = levels::levels(std::slice::from_ref(&request.level))?[0];
    let tiles: Vec<(&str, u32)> = request.tiles.iter().map(|(name, &size)| (name.as_str(), size)).collect();
    let wanted = asked::build(level, request.dtype, request.variant.as_deref(), &tiles, &level.plain(request.dtype))?;
    let (build, note) = match tiles.is_empty() && request.ptx.is_none() {
        true => fit::fitting(wanted, &Card::modelled(gpu))?,
        false => (wanted, None),
    };
    // What is shipped was made from the level's own text, whatever text the page shows beside it.
    let shown = match &request.source {
        Some(text) => build.clone().with_text(Text::new(level.path, text.clone())),
        None => build.clone(),
    };
    let plan = shown.plan(shape)?;
    let problem = plan.problem(Fill::Reals, request.seed)?;
    let kernel = match &request.ptx {
        Some(file) => Kernel::brought(&shown, file),
        None => Kernel::obtain(&build, gpu.sm(), nowhere)?,
    };
    let mut extras = Extras::new(false, request.sanitize);
    extras.instruction_limit = request.instruction_limit.unwrap_or(extras.instruction_limit);
    let options = Options { gpu, extras, annotate: request.annotate, matrices: false };
    let candidate = plan.candidate(&kernel);
    then(&Trial { candidate, problem: &problem, options, note })
}

fn judged(trial: &Trial, request: &Request) -> Result<Answer, Error> {
    let exam = Exam { problem: trial.problem, seed: request.seed, reference: None };
    let (mut report, c) = trial.candidate.run(exam, &trial.options, unwatched)?;
    let annotated = report.annotated.take();
    let bits = request.bits.then(|| bits(&c));
    let source = request.changed_source();
    let (text, numbers) = (report.to_string(), report.numbers());
    Ok(Answer { text, report: Named { report, numbers }, note: trial.note.clone(), annotated, source, bits })
}

/// A page has no compiler.
fn nowhere() -> Result<&'static dyn Compiler, String> {
    Err("a page runs what is shipped".to_string())
}

fn bits(c: &Matrix) -> Vec<String> {
    // The bytes of an element, the most significant one first. There is nothing between the rows of this C.
    let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    c.bytes().chunks(c.element().bytes()).map(hex).collect()
}

fn why(error: Error) -> Why {
    match error {
        Error::Usage { message, hint } => Why { kind: "usage", message, hint: Some(hint) },
        // A page has no flags.
        Error::Fault(message) => {
            Why { kind: "fault", message: message.replace(": `--instruction-limit`", ""), hint: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::multiply;

    fn answer(request: Value) -> Value {
        serde_json::from_str(&multiply(&request.to_string())).unwrap()
    }

    #[test]
    fn what_cannot_run_is_an_error_with_a_hint() {
        for (request, message) in [
            (json!("2"), "this is no request"),
            (json!({"level": "2"}), "missing field `m`"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "tile": 3}), "unknown field `tile`"),
            (json!({"level": "2", "m": -1, "n": 1, "k": 1}), "invalid value"),
            (json!({"level": "2", "m": 0, "n": 1, "k": 1}), "a size of 0×1×1 is 0"),
            (json!({"level": "2", "m": 50_000, "n": 50_000, "k": 1}), "C has 2"),
            (json!({"level": "99", "m": 1, "n": 1, "k": 1}), "there is no level `99`"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "dtype": "f31"}), "no element type"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "dtype": "e5m2"}), "does not multiply e5m2"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "variant": "x"}), "no variant `x`"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "gpu": "voodoo"}), "no GPU named `voodoo`"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "tiles": {"X": 3}}), "no tile size `X`"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "tiles": {"BM": 0}}), "0 is out of range"),
            (json!({"level": "2", "m": 1, "n": 1, "k": 1, "tiles": {"BM": 16}}), "is not shipped compiled"),
        ] {
            let answer = answer(request.clone());
            let error = &answer["error"];
            assert!(error["message"].as_str().is_some_and(|text| text.contains(message)), "{request}: {answer}");
            assert!(error["kind"] == "usage" && error["hint"].is_string(), "{request}: {answer}");
        }
    }

    #[test]
    fn a_change_of_the_kernel_is_the_text_whose_lines_are_named() {
        let first = levels::LEVELS[0].source.lines().next().unwrap();
        let diff = format!("@@ -1,1 +1,3 @@\n+//\n+//\n {first}\n");
        let request = json!({"level": "0", "m": 2, "n": 3, "k": 4, "annotate": true, "change": diff});
        let changed = answer(request.clone());
        assert_eq!(changed["source"].as_str().unwrap(), format!("//\n//\n{}", levels::LEVELS[0].source));
        let plain = answer(json!({"level": "0", "m": 2, "n": 3, "k": 4, "annotate": true}));
        assert!(plain["source"].is_null() && plain["annotated"] != changed["annotated"]);
        let mut stuck = request.clone();
        stuck["instruction_limit"] = 5.into();
        let stuck = answer(stuck);
        assert_eq!((&stuck["error"]["kind"], &stuck["source"]), (&json!("fault"), &changed["source"]));
        let mut unfit = request;
        unfit["change"] = "@@ -1,1 +1,0 @@\n-// Level 99\n".into();
        assert!(answer(unfit)["error"]["message"].as_str().unwrap().contains("does not stand there"));
    }

    #[test]
    fn a_kernel_that_takes_too_long_is_at_fault() {
        let answer = answer(json!({"level": "2", "m": 8, "n": 8, "k": 8, "instruction_limit": 5}));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(answer["error"]["kind"] == "fault" && message.ends_with("the limit can be raised"), "{answer}");
    }

    #[test]
    fn elements_and_annotations_come_when_they_are_asked_for() {
        let plain = answer(json!({"level": "level0-naive", "m": 2, "n": 3, "k": 4}));
        assert!(plain["bits"].is_null() && plain["annotated"].is_null() && plain["note"].is_null());
        assert_eq!(plain["report"]["check"]["right"], true);
        let text = plain["text"].as_str().unwrap();
        assert!(text.starts_with("level0-naive: ") && text.contains("check       right: 6 elements"), "{text}");
        let full = answer(json!({"level": "0", "m": 2, "n": 3, "k": 4, "bits": true, "annotate": true}));
        assert_eq!(full["bits"].as_array().map(Vec::len), Some(6));
        assert!(full["bits"][0].as_str().is_some_and(|bits| bits.len() == 8), "{full}");
        assert!(full["annotated"].as_str().is_some_and(|text| text.contains("__global__")), "{full}");
    }
}
