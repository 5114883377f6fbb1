//! Data of debuggers, which are read over.

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
    /// After `.section`: its name, and data of debuggers, which are read over.
    pub(super) fn section(&mut self) -> Result<(), PtxError> {
        let line = self.line();
        let name = self.word()?;
        if !is_section(&name) {
            return error(line, format!("`{name}` is no name of a section"));
        }
        self.expect('{')?;
        loop {
            let line = self.line();
            if self.accept('}') {
                return Ok(());
            }
            let word = self.word()?;
            if is_name(&word) && self.accept(':') {
                if !self.labels.insert(word.clone()) {
                    return error(line, format!("the label `{word}` stands in two places"));
                }
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
            let address = matches!(self.peek(), Some(Token::Word(_)));
            if address && most < u32::MAX.into() {
                return error(line, format!("`{word}` is too narrow for an address"));
            }
            loop {
                let line = self.line();
                match self.next()? {
                    Token::Integer(n) if i128::from(n) <= most => {}
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
        }
    }
}
