//! A kernel's text, and the path that compilers and faults name it by.

use std::borrow::Cow;

/// A kernel's text of its own: a level's, or what somebody made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    path: Cow<'static, str>,
    text: Cow<'static, str>,
}

impl Text {
    /// A text, and the path that it is named by.
    pub fn new(path: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Text {
        Text { path: path.into(), text: text.into() }
    }

    /// Path and text.
    pub fn source(&self) -> Source<'_> {
        Source { path: &self.path, text: &self.text }
    }
}

/// The text of a kernel in CUDA C++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source<'a> {
    /// Where it lies: the name that line information and messages carry.
    pub path: &'a str,
    /// What stands there.
    pub text: &'a str,
}

impl Source<'_> {
    /// A line of the text, from 1, if `file` is this file.
    pub fn line(&self, file: &str, line: u32) -> Option<String> {
        let index = (line as usize).checked_sub(1)?;
        if file.ends_with(self.path) { self.text.lines().nth(index).map(str::to_string) } else { None }
    }
}
