//! Constant expressions: what may stand for a number among operands, offsets and initial values. Array sizes and the numbers
//! of directives are plain ones.
//!
//! As ptxas has it: of 64 bits; unsigned if a part of it is (`1U`, or what is too large for `.s64`), but for comparisons,
//! `&&`, `||` and `!`, which are signed, `~` and `%`, which are not, and shifts, which are what their left side is. Integers and
//! floats do not mix.

use super::error;
use super::operands::show;
use super::parse::Parser;
use super::token::Token;
use crate::PtxError;

/// The value of a constant expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Constant {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// Operators of two sides, those that bind least first.
#[rustfmt::skip]
const LEVELS: [&[&str]; 10] = [
    &["||"], &["&&"], &["|"], &["^"], &["&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"],
    &["*", "/", "%"],
];

impl Constant {
    fn integer(self, line: u32) -> Result<(u64, bool), PtxError> {
        match self {
            Constant::Signed(n) => Ok((n as u64, false)),
            Constant::Unsigned(n) => Ok((n, true)),
            Constant::Float(_) => error(line, "a constant expression needs an integer here, and has a float"),
        }
    }

    fn of(bits: u64, unsigned: bool) -> Constant {
        if unsigned { Constant::Unsigned(bits) } else { Constant::Signed(bits as i64) }
    }

    fn truth(yes: bool) -> Constant {
        Constant::Signed(yes.into())
    }
}

impl Parser {
    /// Whether a constant expression begins here. (A name is none, but for the width of a warp.)
    pub(super) fn at_constant(&self) -> bool {
        let number = |token: Option<&Token>| match token {
            Some(Token::Integer(_) | Token::Unsigned(_) | Token::F64(_)) => true,
            Some(Token::Word(word)) => word == "WARP_SZ",
            _ => false,
        };
        match self.peek() {
            Some(Token::Sign('-' | '+' | '~')) => true,
            Some(Token::Sign('!')) => {
                let next = self.tokens.get(self.at + 1).map(|(token, _)| token);
                number(next) || matches!(next, Some(Token::Sign(_)))
            }
            Some(Token::Sign('(')) => !self.in_call,
            token => number(token),
        }
    }

    /// An integer of a constant expression, as 64 bits.
    pub(super) fn constant_integer(&mut self) -> Result<i64, PtxError> {
        let line = self.line();
        Ok(self.constant()?.integer(line)?.0 as i64)
    }

    /// A constant expression.
    pub(super) fn constant(&mut self) -> Result<Constant, PtxError> {
        self.deeper()?;
        let line = self.line();
        let mut value = self.binary(0)?;
        if self.accept('?') {
            let (chosen, _) = value.integer(line)?;
            let first = self.constant()?;
            self.expect(':')?;
            let second = self.constant()?;
            first.integer(line)?;
            second.integer(line)?;
            value = if chosen != 0 { first } else { second };
        }
        self.depth -= 1;
        Ok(value)
    }

    /// Operators that bind as `level` does, or more.
    fn binary(&mut self, level: usize) -> Result<Constant, PtxError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.is_operator(operator)) {
            let line = self.line();
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right, line)?;
        }
        Ok(left)
    }

    fn is_operator(&self, operator: &str) -> bool {
        match self.peek() {
            Some(Token::Operator(here)) => *here == operator,
            Some(Token::Sign(sign)) => operator.chars().eq([*sign]),
            Some(Token::Word(word)) => word == "%" && operator == "%",
            _ => false,
        }
    }

    fn unary(&mut self) -> Result<Constant, PtxError> {
        self.deeper()?;
        let value = self.nested_unary();
        self.depth -= 1;
        value
    }

    fn nested_unary(&mut self) -> Result<Constant, PtxError> {
        let line = self.line();
        match self.next()? {
            Token::Integer(n) => Ok(Constant::Signed(n)),
            Token::Unsigned(n) => Ok(Constant::Unsigned(n)),
            Token::F64(bits) => Ok(Constant::Float(f64::from_bits(bits))),
            Token::Word(word) if word == "WARP_SZ" => Ok(Constant::Signed(32)),
            Token::Sign('+') => self.unary(),
            Token::Sign('-') => Ok(match self.unary()? {
                Constant::Signed(n) => Constant::Signed(n.wrapping_neg()),
                Constant::Unsigned(n) => Constant::Unsigned(n.wrapping_neg()),
                Constant::Float(x) => Constant::Float(-x),
            }),
            Token::Sign('~') => Ok(Constant::Unsigned(!self.unary()?.integer(line)?.0)),
            Token::Sign('!') => Ok(Constant::truth(self.unary()?.integer(line)?.0 == 0)),
            Token::Sign('(') => {
                if let Some(Token::Word(word)) = self.peek()
                    && let Some(unsigned) = cast(word)
                {
                    self.at += 1;
                    self.expect(')')?;
                    return Ok(Constant::of(self.unary()?.integer(line)?.0, unsigned));
                }
                let value = self.constant()?;
                self.expect(')')?;
                Ok(value)
            }
            other => error(line, format!("{} belongs to no constant expression", show(&other))),
        }
    }
}

/// Whether the cast of this name makes unsigned numbers, if it is one.
fn cast(word: &str) -> Option<bool> {
    match word {
        ".s64" => Some(false),
        ".u64" => Some(true),
        _ => None,
    }
}

fn apply(operator: &str, left: Constant, right: Constant, line: u32) -> Result<Constant, PtxError> {
    let by_zero = || error(line, "a constant expression divides by zero");
    if let (Constant::Float(a), Constant::Float(b)) = (left, right) {
        return Ok(match operator {
            "+" => Constant::Float(a + b),
            "-" => Constant::Float(a - b),
            "*" => Constant::Float(a * b),
            "/" if b == 0.0 => return by_zero(),
            "/" => Constant::Float(a / b),
            "==" => Constant::truth(a == b),
            "!=" => Constant::truth(a != b),
            "<" => Constant::truth(a < b),
            "<=" => Constant::truth(a <= b),
            ">" => Constant::truth(a > b),
            ">=" => Constant::truth(a >= b),
            _ => return error(line, format!("`{operator}` of floats in a constant expression")),
        });
    }
    let ((a, left_unsigned), (b, right_unsigned)) = (left.integer(line)?, right.integer(line)?);
    let unsigned = left_unsigned || right_unsigned;
    let order = if unsigned { a.cmp(&b) } else { (a as i64).cmp(&(b as i64)) };
    Ok(match operator {
        "+" => Constant::of(a.wrapping_add(b), unsigned),
        "-" => Constant::of(a.wrapping_sub(b), unsigned),
        "*" => Constant::of(a.wrapping_mul(b), unsigned),
        "/" | "%" if b == 0 => return by_zero(),
        "/" if unsigned => Constant::Unsigned(a / b),
        "/" => Constant::Signed((a as i64).wrapping_div(b as i64)),
        "%" => Constant::Unsigned(a % b),
        "<<" => Constant::of(a.wrapping_shl(b as u32), left_unsigned),
        ">>" if left_unsigned => Constant::Unsigned(a.wrapping_shr(b as u32)),
        ">>" => Constant::Signed((a as i64).wrapping_shr(b as u32)),
        "&" => Constant::of(a & b, unsigned),
        "|" => Constant::of(a | b, unsigned),
        "^" => Constant::of(a ^ b, unsigned),
        "&&" => Constant::truth(a != 0 && b != 0),
        "||" => Constant::truth(a != 0 || b != 0),
        "==" => Constant::truth(order.is_eq()),
        "!=" => Constant::truth(order.is_ne()),
        "<" => Constant::truth(order.is_lt()),
        "<=" => Constant::truth(order.is_le()),
        ">" => Constant::truth(order.is_gt()),
        _ => Constant::truth(order.is_ge()),
    })
}
