//! Operands, from tokens.

use super::constants::Constant;
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
        let (line, start) = (self.line(), self.at);
        if self.at_constant() {
            let value = self.constant()?;
            return Ok(match value {
                _ if self.at == start + 1 && self.tokens[start].0 == Token::Word("WARP_SZ".into()) => {
                    Operand::Name("WARP_SZ".into())
                }
                Constant::Signed(n) => Operand::Integer(n.into()),
                Constant::Unsigned(n) => Operand::Integer(n.into()),
                Constant::Float(x) => Operand::F64(x.to_bits()),
            });
        }
        match self.next()? {
            Token::F32(bits) => Ok(Operand::F32(bits)),
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
        let (mut list, in_call) = (Vec::new(), std::mem::take(&mut self.in_call));
        while !self.accept(end) {
            list.push(self.operand()?);
            self.comma_or(end)?;
        }
        self.in_call = in_call;
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
        if let Some(map) = &base
            && self.accept(',')
        {
            self.expect('{')?;
            let Operand::List(coordinates) = self.list('}')? else { return error(self.line(), "coordinates in { }") };
            self.expect(']')?;
            return Ok(Operand::Tensor(map.clone(), coordinates));
        }
        let offset = if base.is_none() { self.constant_integer()? } else { self.offset()? };
        self.expect(']')?;
        Ok(Operand::Address(base, offset))
    }

    fn offset(&mut self) -> Result<i64, PtxError> {
        if self.accept('+') { self.constant_integer() } else { Ok(0) }
    }
}

pub(super) fn show(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Integer(n) => format!("`{n}`"),
        Token::Unsigned(n) => format!("`{n}`"),
        Token::F32(_) | Token::F64(_) => "a floating-point constant".into(),
        Token::Text(text) => format!("\"{text}\""),
        Token::Sign(sign) => format!("`{sign}`"),
        Token::Operator(operator) => format!("`{operator}`"),
    }
}
