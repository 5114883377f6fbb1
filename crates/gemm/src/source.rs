//! A kernel's text, and the path that compilers and faults name it by.

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
