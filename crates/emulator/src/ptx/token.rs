//! Text to tokens.

use super::error;
use crate::PtxError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// An identifier, register, directive or opcode, dots included.
    Word(String),
    Integer(i64),
    /// With a `U` behind it, or too large to be signed.
    Unsigned(u64),
    F32(u32),
    F64(u64),
    Text(String),
    Sign(char),
    /// Of two signs: `<<`.
    Operator(&'static str),
}

/// Operators of two signs.
const OPERATORS: [&str; 8] = ["<<", ">>", "<=", ">=", "==", "!=", "&&", "||"];

/// The tokens of `text`, each with its line.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, u32)>, PtxError> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let c = bytes[at];
        match c {
            b'\n' => {
                line += 1;
                at += 1;
            }
            _ if c.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => at += until(&bytes[at..], b"\n"),
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let length = until(&bytes[at..], b"*/");
                line += bytes[at..at + length].iter().filter(|&&b| b == b'\n').count() as u32;
                at += (length + 2).min(bytes.len() - at);
            }
            b'"' => {
                let length = until(&bytes[at + 1..], b"\"");
                let end = at + 1 + length;
                if end >= bytes.len() {
                    return error(line, "a string without its closing quote");
                }
                out.push((Token::Text(String::from_utf8_lossy(&bytes[at + 1..end]).into_owned()), line));
                at = end + 1;
            }
            b'0'..=b'9' => {
                let length = number_length(&bytes[at..]);
                let word = &text[at..at + length];
                // A version is no number: 8.10 comes behind 8.9.
                let version = matches!(out.last(), Some((Token::Word(word), _)) if word == ".version");
                out.push((if version { Token::Text(word.to_string()) } else { number(word, line)? }, line));
                at += length;
            }
            _ if is_word(c) => {
                let length = word_length(&bytes[at..]);
                out.push((Token::Word(text[at..at + length].to_string()), line));
                at += length;
            }
            _ if c.is_ascii_punctuation() => {
                let operator = OPERATORS.iter().find(|operator| bytes[at..].starts_with(operator.as_bytes()));
                out.push((operator.map_or(Token::Sign(c as char), |operator| Token::Operator(operator)), line));
                at += operator.map_or(1, |operator| operator.len());
            }
            _ => return error(line, format!("byte 0x{c:02x} does not belong into PTX")),
        }
    }
    Ok(out)
}

/// Length of the text before `end`, or of all of it.
fn until(bytes: &[u8], end: &[u8]) -> usize {
    bytes.windows(end.len()).position(|w| w == end).unwrap_or(bytes.len())
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

/// A word may hold `::` (`.shared::cta`), but not the colon that ends a label.
fn word_length(bytes: &[u8]) -> usize {
    let mut n = 0;
    while n < bytes.len() {
        if is_word(bytes[n]) {
            n += 1;
        } else if bytes[n..].starts_with(b"::") {
            n += 2;
        } else {
            break;
        }
    }
    n
}

/// Length of a number: `42`, `0x1F`, `0f3F800000`, `1.5`, `2.5e-3`.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    let whole = digits(0);
    let point = bytes.get(whole) == Some(&b'.') && bytes.get(whole + 1).is_some_and(u8::is_ascii_digit);
    if !point || !bytes[..whole].iter().all(u8::is_ascii_digit) {
        return whole;
    }
    let length = whole + 1 + digits(whole + 1);
    match bytes.get(length) {
        Some(b'-' | b'+') if matches!(bytes[length - 1], b'e' | b'E') => length + 1 + digits(length + 1),
        _ => length,
    }
}

fn number(word: &str, line: u32) -> Result<Token, PtxError> {
    let bad = || PtxError { line, message: format!("`{word}` is not a number"), hint: None };
    let integer = |digits: &str, radix: u32| {
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(bad());
        }
        // As ptxas has it: a hexadecimal number that is too large is the largest.
        let value = match u64::from_str_radix(digits, radix) {
            Err(_) if radix == 16 => u64::MAX,
            value => value.map_err(|_| bad())?,
        };
        let signed = i64::try_from(value).ok().filter(|_| !word.ends_with('U'));
        Ok(signed.map_or(Token::Unsigned(value), Token::Integer))
    };
    let (head, tail) = word.split_at(word.len().min(2));
    let digits = word.strip_suffix('U').unwrap_or(word);
    match head {
        "0f" | "0F" if tail.len() == 8 => u32::from_str_radix(tail, 16).map(Token::F32).map_err(|_| bad()),
        "0d" | "0D" if tail.len() == 16 => u64::from_str_radix(tail, 16).map(Token::F64).map_err(|_| bad()),
        "0x" | "0X" => integer(&digits[2..], 16),
        "0b" | "0B" => integer(&digits[2..], 2),
        _ if word.contains('.') => word.parse().map(|value: f64| Token::F64(value.to_bits())).map_err(|_| bad()),
        _ if digits.len() > 1 && digits.starts_with('0') => integer(&digits[1..], 8),
        _ if digits.parse::<u64>().is_err() => Err(bad()),
        _ => integer(digits, 10),
    }
}
