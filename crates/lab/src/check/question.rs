//! Answers, against what the book prints.

use std::fs;
use std::path::Path;

use gemm::{Error, Shape};

use super::reading::{self, Number};
use super::tables::{Ending, Question};
use crate::expression::evaluate;
use crate::words::say;

/// What the answer must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// A number.
    Number(Number),
    /// One of some words.
    Word(&'static str, &'static [&'static str]),
}

const ENDINGS: &[&str] = &["right", "wrong", "fault", "refused"];
const CHANGES: &[&str] = &["rise", "fall", "stay"];
const WHETHER: &[&str] = &["yes", "no"];

impl Question {
    /// What the answer must be, as the book's outputs say, in the repository at `root`.
    pub fn truth(&self, root: &Path) -> Result<Truth, Error> {
        if let Some(calculation) = &self.compute {
            let value = |text: &str| evaluate(text, &Shape { m: 1, n: 1, k: 1 }).map(|value| value as f64);
            let per = self.per.as_deref().map_or(Ok(1.0), value)?;
            return Ok(Truth::Number(Number::shortest(value(calculation)? / per)));
        }
        if let Some(yes) = self.yes {
            return Ok(Truth::Word(WHETHER[usize::from(!yes)], WHETHER));
        }
        let output = printed(root, self.output.as_deref().unwrap_or_default())?;
        if self.ending {
            return Ok(Truth::Word(Ending::of(&output).word(), ENDINGS));
        }
        let number = self.number(&output)?;
        let others = [&self.beyond, &self.over, &self.versus];
        let Some(other) = others.into_iter().find_map(Option::as_ref) else { return Ok(Truth::Number(number)) };
        let before = self.number(&printed(root, other)?)?.value;
        if self.beyond.is_some() {
            return Ok(Truth::Number(Number { value: number.value - before, ..number }));
        }
        if self.over.is_some() {
            return Ok(Truth::Number(Number::shortest(number.value / before)));
        }
        let word = match number.value.total_cmp(&before) {
            std::cmp::Ordering::Greater => "rise",
            std::cmp::Ordering::Less => "fall",
            std::cmp::Ordering::Equal => "stay",
        };
        Ok(Truth::Word(word, CHANGES))
    }

    fn number(&self, output: &str) -> Result<Number, Error> {
        let name = self.read.as_deref().unwrap_or_default();
        reading::read(output, name).ok_or_else(|| {
            let message = say("no `{0}` in {1}", &[&name, &self.output.as_deref().unwrap_or_default()]);
            Error::usage(message, say("`cargo x outputs` makes it", &[]))
        })
    }
}

impl Truth {
    /// What may be answered.
    pub fn form(&self) -> String {
        match self {
            Truth::Number(number) if number.digits > 0 => say("a number with {0} decimals", &[&number.digits]),
            Truth::Number(_) => say("a whole number", &[]),
            Truth::Word(_, words) => words.join(", "),
        }
    }

    /// Whether an answer is right; an error for what is none.
    pub fn judge(&self, answer: &str) -> Result<bool, Error> {
        let refused = || Error::usage(say("`{0}` is no answer", &[&answer]), say("an answer is {0}", &[&self.form()]));
        match self {
            Truth::Number(number) => Number::parse(answer).map(|given| number.is(given.value)).ok_or_else(refused),
            Truth::Word(word, words) if words.contains(&answer) => Ok(answer == *word),
            Truth::Word(..) => Err(refused()),
        }
    }
}

/// An output that the book shows.
fn printed(root: &Path, name: &str) -> Result<String, Error> {
    let path = root.join("book/outputs").join(name);
    fs::read_to_string(&path).map_err(|error| {
        let hint = say("run this at the root of the repository", &[]);
        Error::usage(say("cannot read {0}: {1}", &[&path.display(), &error]), hint)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::reading::Number;
    use super::super::tables::{Exercise, Lesson, lessons};
    use super::*;

    pub fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
    }

    /// Each with the name of its page.
    fn all() -> Vec<(String, Exercise)> {
        let lessons = lessons().unwrap().into_iter();
        let page = |lesson: &Lesson| lesson.page.clone().unwrap_or_else(|| format!("lesson{}", lesson.lesson.unwrap()));
        lessons
            .flat_map(|lesson| {
                let page = page(&lesson);
                lesson.exercises.into_iter().map(move |one| (page.clone(), one))
            })
            .collect()
    }

    /// The right answer, and those that are nearly right.
    pub fn near(truth: &Truth) -> (String, Vec<String>) {
        match truth {
            Truth::Number(Number { value, digits }) => {
                let off = 10f64.powi(-(*digits as i32));
                let texts = [value + off, value + 10.0 * off].map(|other| format!("{other:.digits$}"));
                (format!("{value:.digits$}"), texts.to_vec())
            }
            Truth::Word(word, words) => {
                let others = words.iter().filter(|other| *other != word).map(|other| other.to_string());
                (word.to_string(), others.collect())
            }
        }
    }

    /// The unsolved one has no answer; the nearly solved one has one that is off in its last digit, or another word.
    #[test]
    fn every_answer_is_told_from_those_that_are_nearly_right() {
        let mut seen = 0;
        for (_, exercise) in all() {
            for question in &exercise.questions {
                let truth = question.truth(root()).unwrap_or_else(|error| panic!("{}: {error}", exercise.id));
                let (right, wrong) = near(&truth);
                assert_eq!(truth.judge(&right), Ok(true), "{}: {}", exercise.id, question.ask);
                for wrong in wrong {
                    assert_eq!(truth.judge(&wrong), Ok(false), "{}: {}: {wrong}", exercise.id, question.ask);
                }
                assert!(truth.judge("perhaps").is_err() && !question.hint.is_empty());
                seen += 1;
            }
        }
        assert!(seen > 80, "{seen}");
    }

    #[test]
    fn what_is_calculated_stands_in_the_text() {
        for (page, exercise) in all() {
            let page = fs::read_to_string(root().join(format!("book/src/{page}.md"))).unwrap();
            for question in exercise.questions.iter().filter(|question| question.compute.is_some()) {
                let Truth::Number(number) = question.truth(root()).unwrap() else { panic!("{}", exercise.id) };
                assert!(page.contains(&number.to_string()), "{}: {number}", exercise.id);
            }
        }
    }

    #[test]
    fn a_number_may_have_commas() {
        let truth = Truth::Number(Number::rounded(131_072.0, 0));
        assert_eq!(
            [truth.judge("131,072"), truth.judge("131072"), truth.judge("131073")],
            [Ok(true), Ok(true), Ok(false)]
        );
    }
}
