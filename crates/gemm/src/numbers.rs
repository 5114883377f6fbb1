//! Named numbers: what a report has found out, as a list. Its lines, its JSON, the conditions of an exercise and what a page says has
//! changed are made of that.

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde::{Serialize, Serializer};

use crate::text::count;

/// How a number came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Read on a GPU, or said by its driver.
    Measured,
    /// Counted, on the emulator or in the product.
    Counted,
    /// A limit that no launch passes.
    Bound,
    /// By launches that were measured at other shapes.
    Predicted,
    /// By the compiler, or by what the launch is.
    Stated,
}

/// A number of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Number {
    /// The words that a report has for it: `barriers (sum over warps)`; of a table, row and column: `global loads: sectors`.
    pub name: Cow<'static, str>,
    /// Its value.
    #[serde(serialize_with = "whole_where_it_is")]
    pub value: f64,
    /// In what it is measured, where its name does not say so.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// How it came to be.
    #[serde(rename = "is")]
    pub label: Label,
    /// Digits behind its point, as a report shows it.
    #[serde(skip)]
    pub digits: usize,
}

fn whole_where_it_is<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    match value.fract() == 0.0 && (0.0..1e15).contains(value) {
        true => to.serialize_u64(*value as u64),
        false => to.serialize_f64(*value),
    }
}

impl Number {
    /// A number that is shown with so many digits behind its point.
    pub fn new(name: impl Into<Cow<'static, str>>, value: f64, digits: usize, label: Label) -> Number {
        Number { name: name.into(), value, unit: "", label, digits }
    }

    /// A whole number that was counted.
    pub fn counted(name: impl Into<Cow<'static, str>>, value: u64) -> Number {
        Number::new(name, value as f64, 0, Label::Counted)
    }

    /// A whole number that compiler or launch have.
    pub fn stated(name: impl Into<Cow<'static, str>>, value: impl Into<u64>) -> Number {
        Number::new(name, value.into() as f64, 0, Label::Stated)
    }

    /// The same in a unit.
    pub fn of(self, unit: &'static str) -> Number {
        Number { unit, ..self }
    }

    /// The same with another label.
    pub fn being(self, label: Label) -> Number {
        Number { label, ..self }
    }
}

impl fmt::Display for Number {
    /// As a report shows it: `1,024` where it was counted, `168` of registers, `16.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.label, self.digits) {
            (Label::Counted, 0) => f.write_str(&count(self.value as u64)),
            (_, digits) => write!(f, "{:.digits$}", self.value),
        }
    }
}

/// The numbers of a report, in its order.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Numbers(pub Vec<Number>);

impl Numbers {
    /// The number of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&Number> {
        self.0.iter().find(|number| number.name == name)
    }

    /// The number of this name as a report shows it; `-` where there is none.
    pub fn shown(&self, name: &str) -> String {
        self.get(name).map_or("-".to_string(), Number::to_string)
    }

    /// A text with numbers in the place of their names: `{branches} branches`.
    pub fn fill(&self, text: &str) -> String {
        let mut parts = text.split('{');
        let mut filled = parts.next().unwrap_or_default().to_string();
        for (name, rest) in parts.filter_map(|part| part.split_once('}')) {
            // Writing to a String cannot fail.
            let _ = write!(filled, "{}{rest}", self.shown(name));
        }
        filled
    }
}

impl Extend<Number> for Numbers {
    fn extend<I: IntoIterator<Item = Number>>(&mut self, numbers: I) {
        self.0.extend(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_numbers_in_the_place_of_their_names() {
        let numbers = Numbers(vec![
            Number::counted("barriers (sum over warps)", 12_345),
            Number::new("bound", 2.0 / 3.0, 2, Label::Bound).of("µs"),
            Number::stated("bytes of shared memory per block", 8192u32),
        ]);
        let text =
            "{barriers (sum over warps)} barriers, {bound} µs, {bytes of shared memory per block} bytes, {no name}";
        assert_eq!(numbers.fill(text), "12,345 barriers, 0.67 µs, 8192 bytes, -");
        assert_eq!(numbers.fill("no number"), "no number");
        let json = serde_json::to_string(&numbers.0[..2]).unwrap();
        let expected = "[{\"name\":\"barriers (sum over warps)\",\"value\":12345,\"is\":\"counted\"},\
                        {\"name\":\"bound\",\"value\":0.6666666666666666,\"unit\":\"µs\",\"is\":\"bound\"}]";
        assert_eq!(json, expected);
    }
}
