//! Answers, against what the book prints.

use std::fs;
use std::path::Path;

use common::{Error, Shape};

use super::reading::{self, Number};
use super::tables::{Ending, Question};
use crate::expression::evaluate;

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

impl Question {
    /// What the answer must be, as the book's outputs say, in the repository at `root`.
    pub fn truth(&self, root: &Path) -> Result<Truth, Error> {
        if let Some(calculation) = &self.compute {
            return evaluate(calculation, &Shape { m: 1, n: 1, k: 1 }).map(|value| Truth::Number(Number::whole(value)));
        }
        let output = printed(root, self.output.as_deref().unwrap_or_default())?;
        if self.ending {
            return Ok(Truth::Word(Ending::of(&output).word(), ENDINGS));
        }
        let number = self.number(&output)?;
        let Some(other) = self.beyond.as_ref().or(self.versus.as_ref()) else { return Ok(Truth::Number(number)) };
        let before = self.number(&printed(root, other)?)?.value;
        if self.beyond.is_some() {
            return Ok(Truth::Number(Number { value: number.value - before, ..number }));
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
            Error::usage(format!("no `{name}` in {}", self.output.as_deref().unwrap_or_default()), "`cargo x outputs`")
        })
    }
}

impl Truth {
    /// What may be answered.
    pub fn form(&self) -> String {
        match self {
            Truth::Number(number) if number.digits > 0 => format!("a number with {} decimals", number.digits),
            Truth::Number(_) => "a whole number".to_string(),
            Truth::Word(_, words) => words.join(", "),
        }
    }

    /// Whether an answer is right; an error for what is none.
    pub fn judge(&self, answer: &str) -> Result<bool, Error> {
        let refused = || Error::usage(format!("`{answer}` is no answer"), format!("an answer is {}", self.form()));
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
        Error::usage(format!("cannot read {}: {error}", path.display()), "run this at the root of the repository")
    })
}

#[cfg(test)]
mod tests {
    use super::super::reading::Number;
    use super::super::tables::{Exercise, lessons};
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    fn all() -> Vec<(usize, Exercise)> {
        let lessons = lessons().unwrap().into_iter();
        lessons.flat_map(|lesson| lesson.exercises.into_iter().map(move |one| (lesson.lesson, one))).collect()
    }

    /// The unsolved one has no answer; the nearly solved one has one that is off in its last digit, or another word.
    #[test]
    fn every_answer_is_told_from_those_that_are_nearly_right() {
        let mut seen = 0;
        for (_, exercise) in all() {
            for question in &exercise.questions {
                let truth = question.truth(root()).unwrap_or_else(|error| panic!("{}: {error}", exercise.id));
                let (right, wrong) = match truth {
                    Truth::Number(Number { value, digits }) => {
                        let off = 10f64.powi(-(digits as i32));
                        let texts = [value + off, value + 10.0 * off].map(|other| format!("{other:.digits$}"));
                        (format!("{value:.digits$}"), texts.to_vec())
                    }
                    Truth::Word(word, words) => {
                        let others = words.iter().filter(|other| **other != word).map(|other| other.to_string());
                        (word.to_string(), others.collect())
                    }
                };
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
        for (lesson, exercise) in all() {
            let page = fs::read_to_string(root().join(format!("book/src/lesson{lesson}.md"))).unwrap();
            for question in exercise.questions.iter().filter(|question| question.compute.is_some()) {
                let Truth::Number(number) = question.truth(root()).unwrap() else { panic!("{}", exercise.id) };
                assert!(page.contains(&number.to_string()), "{}: {number}", exercise.id);
            }
        }
    }

    #[test]
    fn a_number_may_have_commas() {
        let truth = Truth::Number(Number::whole(131_072));
        assert_eq!(
            [truth.judge("131,072"), truth.judge("131072"), truth.judge("131073")],
            [Ok(true), Ok(true), Ok(false)]
        );
    }
}
