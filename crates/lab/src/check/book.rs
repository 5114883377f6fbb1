//! The questions with what their answers must be, as the built book asks and judges them: the truths of `lab check`.

use std::path::Path;

use gemm::Error;
use serde_json::{Value, json};

use super::question::Truth;
use super::tables::lessons;
use crate::words::say;

/// The file that `cargo x book` reads.
pub const FILE: &str = "book/generated/questions.json";

/// The text of that file, which a test of `figures` holds to this: from the tables and the book's outputs in the repository at `root`.
pub fn questions(root: &Path) -> Result<String, Error> {
    let unlike = |error: serde_json::Error| {
        Error::usage(say("a table of checks: {0}", &[&error]), say("see `book/checks`", &[]))
    };
    let mut exercises = Vec::new();
    // Fields are put into the lessons' pages alone.
    for lesson in lessons().map_err(unlike)?.into_iter().filter(|lesson| lesson.lesson.is_some()) {
        for exercise in lesson.exercises.iter().filter(|exercise| !exercise.questions.is_empty()) {
            let mut questions = Vec::new();
            for question in &exercise.questions {
                let mut entry = truth(&question.truth(root)?);
                entry["ask"] = question.ask.clone().into();
                entry["hint"] = question.hint.clone().into();
                questions.push(entry);
            }
            exercises.push(json!({ "lesson": lesson.lesson, "id": exercise.id, "questions": questions }));
        }
    }
    serde_json::to_string_pretty(&exercises).map(|text| text + "\n").map_err(unlike)
}

fn truth(truth: &Truth) -> Value {
    match truth {
        Truth::Number(number) => json!({ "value": number.value, "digits": number.digits }),
        Truth::Word(word, words) => json!({ "word": word, "words": words }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::super::question::tests::{near, root};
    use super::super::reading::Number;
    use super::super::tables::lessons;
    use super::*;

    /// What a script that has the page's script as `page` prints, which is JSON; nothing without Node.
    fn in_node(script: &str, input: &str) -> Option<Value> {
        let script = format!("const page = require('./book/theme/predict.js'); {script}");
        let mut node = Command::new("node");
        node.current_dir(root()).args(["-e", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = node.spawn().ok()?;
        running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Of every question, the right answer and those that are nearly right; and numbers as people write them.
    #[test]
    fn the_page_judges_as_the_lab_does() {
        let mut truths: Vec<Truth> = lessons()
            .unwrap()
            .iter()
            .flat_map(|lesson| &lesson.exercises)
            .flat_map(|exercise| &exercise.questions)
            .map(|question| question.truth(root()).unwrap())
            .collect();
        truths.push(Truth::Number(Number { value: 8.0 / 3.0, digits: 2 }));
        let written = [
            "131,072", "8", "8.0", "8.4", "2.67", "2.666", "2.7", "75%", "1e3", "1E3", "3.", ".5", "-8", "", "nan",
            "8 ", "eight", "rise", "no", "0x8", "1_000", "infinity", "1,2,3",
        ];
        let mut cases = Vec::new();
        let mut here = Vec::new();
        for one in &truths {
            let (right, wrong) = near(one);
            for answer in written.iter().map(|text| text.to_string()).chain(wrong).chain([right]) {
                here.push(one.judge(&answer).map_or(Value::Null, Value::Bool));
                cases.push(json!([truth(one), answer]));
            }
        }
        let script = "const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
            console.log(JSON.stringify(cases.map(([truth, answer]) => page.judge(truth, answer))));";
        let Some(there) = in_node(script, &json!(cases).to_string()) else {
            return level_tests::skipped("Node is not installed");
        };
        let there = there.as_array().unwrap();
        assert_eq!(there.len(), here.len());
        for ((case, here), there) in cases.iter().zip(&here).zip(there) {
            assert_eq!(here, there, "{case}");
        }
        let count = |what: &Value| here.iter().filter(|said| *said == what).count();
        assert!(count(&true.into()) >= truths.len() && count(&false.into()) > truths.len() && count(&Value::Null) > 0);
    }

    #[test]
    fn the_pages_words_are_there_in_every_language() {
        let script = "console.log(JSON.stringify(page.words))";
        let Some(words) = in_node(script, "") else { return level_tests::skipped("Node is not installed") };
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&words), ["en", "zh-CN"]);
        for (one, other) in [("en", "zh-CN"), ("zh-CN", "en")] {
            assert_eq!(names(&words[one]), names(&words[other]));
            assert_eq!(names(&words[one]["choices"]), names(&words[other]["choices"]));
        }
        let asked = lessons().unwrap().into_iter().flat_map(|lesson| lesson.exercises).flat_map(|one| one.questions);
        for truth in asked.map(|question| question.truth(root()).unwrap()) {
            let Truth::Word(_, choices) = truth else { continue };
            assert!(choices.iter().all(|word| words["en"]["choices"][word].is_string()), "{choices:?}");
        }
    }
}
