//! Data of debuggers: names of functions are taken from them, and the rest is read over.

use super::error;
use super::operands::show;
use super::parse::Parser;
use super::token::Token;
use super::variables::is_name;
use crate::PtxError;

/// `.debug_str` and its like: compilers write no others, and most other words are taken, for opcodes have them.
fn is_section(name: &str) -> bool {
    let name = name.strip_prefix('.').filter(|name| is_name(name));
    name.is_some_and(|name| name.starts_with("debug_") || name.starts_with("nv"))
}

impl Parser {
    /// The number of the name that begins so many bytes behind a label.
    pub(super) fn name_of(&mut self, label: String, offset: usize, line: u32) -> u32 {
        let known = self.named.iter().position(|(name, at, _)| (name, *at) == (&label, offset));
        known.unwrap_or_else(|| {
            self.named.push((label, offset, line));
            self.named.len() - 1
        }) as u32
    }

    /// The names that `.loc` directives refer to: each ends in a zero.
    pub(super) fn inlined_names(&self) -> Result<Vec<String>, PtxError> {
        let name = |(label, offset, line): &(String, usize, u32)| match self.labels.get(label) {
            None => error(*line, format!("`function_name {label}`, which is no label of a section")),
            Some(bytes) => {
                let text = bytes.get(*offset..).and_then(|rest| rest.split(|byte| *byte == 0).next());
                Ok(String::from_utf8_lossy(text.unwrap_or_default()).into_owned())
            }
        };
        self.named.iter().map(name).collect()
    }

    /// After `.section`: its name, and data of debuggers.
    pub(super) fn section(&mut self) -> Result<(), PtxError> {
        let line = self.line();
        let name = self.word()?;
        if !is_section(&name) {
            return error(line, format!("`{name}` is no name of a section"));
        }
        self.expect('{')?;
        let mut label = None;
        loop {
            let line = self.line();
            if self.accept('}') {
                return Ok(());
            }
            let word = self.word()?;
            if is_name(&word) && self.accept(':') {
                if self.labels.insert(word.clone(), Vec::new()).is_some() {
                    return error(line, format!("the label `{word}` stands in two places"));
                }
                label = Some(word);
                continue;
            }
            let most = match word.as_str() {
                ".b8" => u8::MAX.into(),
                ".b16" => u16::MAX.into(),
                ".b32" => u32::MAX.into(),
                ".b64" => i128::from(u64::MAX),
                _ => return error(line, format!("`{word}` belongs into no section")),
            };
            // An address has the width of one, and stands alone.
            let is_text = most == u8::MAX.into();
            let mut bytes = Vec::new();
            let address = matches!(self.peek(), Some(Token::Word(_)));
            if address && most < u32::MAX.into() {
                return error(line, format!("`{word}` is too narrow for an address"));
            }
            loop {
                let line = self.line();
                match self.next()? {
                    Token::Integer(n) if i128::from(n) <= most => bytes.push(n as u8),
                    Token::Unsigned(n) if i128::from(n) <= most => {}
                    Token::Sign('-') => drop(self.integer()?),
                    Token::Word(word) if address && (is_name(&word) || is_section(&word)) && !word.contains('%') => {
                        while self.accept('+') || self.accept('-') {
                            self.next()?;
                        }
                    }
                    other => return error(line, format!("{} is no data of a section", show(&other))),
                }
                if address || !self.accept(',') {
                    break;
                }
            }
            if let Some(text) = label.as_ref().filter(|_| is_text).and_then(|label| self.labels.get_mut(label)) {
                text.append(&mut bytes);
            }
        }
    }
}
