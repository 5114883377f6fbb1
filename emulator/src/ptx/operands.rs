//! Operands, from tokens.

use super::parse::Parser;
use super::token::Token;
use super::{Operand, error};
use crate::PtxError;

/// Deeper nesting of operands and initialisers is not sensible.
const MAX_DEPTH: u32 = 50;

impl Parser {
    pub(super) fn operand(&mut self) -> Result<Operand, PtxError> {
        self.deeper()?;
        let operand = self.nested_operand();
        self.depth -= 1;
        operand
    }

    pub(super) fn deeper(&mut self) -> Result<(), PtxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return error(self.line(), format!("operands nest deeper than {MAX_DEPTH}"));
        }
        Ok(())
    }

    fn nested_operand(&mut self) -> Result<Operand, PtxError> {
        let line = self.line();
        match self.next()? {
            Token::Integer(n) => Ok(Operand::Integer(n)),
            Token::F32(bits) => Ok(Operand::F32(bits)),
            Token::F64(bits) => Ok(Operand::F64(bits)),
            Token::Sign('-') => match self.operand()? {
                Operand::Integer(n) => Ok(Operand::Integer(-n)),
                Operand::F64(bits) => Ok(Operand::F64((-f64::from_bits(bits)).to_bits())),
                other => error(line, format!("`-` before {other:?}")),
            },
            Token::Sign('!') => {
                let name = self.word()?;
                Ok(Operand::Not(self.resolve(name)))
            }
            Token::Sign('[') => self.address(),
            Token::Sign('{') => self.list('}'),
            Token::Sign('(') => self.list(')'),
            Token::Word(name) => {
                let name = self.resolve(name);
                if self.is('+') { Ok(Operand::Offset(name, self.offset()?)) } else { Ok(Operand::Name(name)) }
            }
            other => error(line, format!("{} is no operand", show(&other))),
        }
    }

    fn list(&mut self, end: char) -> Result<Operand, PtxError> {
        let mut list = Vec::new();
        while !self.accept(end) {
            list.push(self.operand()?);
            self.comma_or(end)?;
        }
        Ok(Operand::List(list))
    }

    fn address(&mut self) -> Result<Operand, PtxError> {
        let base = match self.peek() {
            Some(Token::Word(_)) => {
                let name = self.word()?;
                Some(self.resolve(name))
            }
            _ => None,
        };
        let offset = if base.is_none() { self.integer()? as i64 } else { self.offset()? };
        self.expect(']')?;
        Ok(Operand::Address(base, offset))
    }

    fn offset(&mut self) -> Result<i64, PtxError> {
        if self.accept('+') { Ok(self.integer()? as i64) } else { Ok(0) }
    }
}

pub(super) fn show(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Integer(n) => format!("`{n}`"),
        Token::F32(_) | Token::F64(_) => "a floating-point constant".into(),
        Token::Text(text) => format!("\"{text}\""),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}
