//! Whole numbers written as expressions in names, as in M, N and K: `cdiv(N, 32)`, `M * (K + 1) / 2`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = atom { ("*" | "/") atom }          / rounds down
//! atom    = number | name | "(" sum ")" | "cdiv(" sum "," sum ")"          cdiv rounds up
//! ```

use gemm::{Error, Shape};

/// The value of an expression for a shape. An error for what is none, for a negative value and for a division by 0.
pub fn evaluate(text: &str, shape: &Shape) -> Result<u64, Error> {
    let sizes = |name: &str| match name {
        "M" => Some(shape.m.into()),
        "N" => Some(shape.n.into()),
        "K" => Some(shape.k.into()),
        _ => None,
    };
    value(text, &sizes).map_err(|why| {
        Error::usage(
            format!("`{text}` is no size: {why}"),
            "an expression has numbers, M, N, K, + - * / ( ) and cdiv(a,b), which is a/b rounded up",
        )
    })
}

/// The value of an expression in the names that `known` knows, or why there is none.
pub fn value(text: &str, known: &dyn Fn(&str) -> Option<u64>) -> Result<u64, String> {
    let mut reader = Reader { text, rest: text, known };
    let value = reader.sum()?;
    match reader.peek() {
        None => u64::try_from(value).map_err(|_| format!("its value is {value}")),
        Some(c) => Err(format!("`{c}` is not expected there")),
    }
}

/// The parts of a list, at the commas outside parentheses.
pub fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (i, c) in list.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..i].trim());
                start = i + 1;
            }
            _ => (),
        }
    }
    parts.push(list[start..].trim());
    parts
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    known: &'a dyn Fn(&str) -> Option<u64>,
}

type Value = Result<i128, String>;

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn accept(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.rest = &self.rest[c.len_utf8()..];
        }
        is_next
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.accept(c) { Ok(()) } else { Err(format!("`{c}` is missing")) }
    }

    fn sum(&mut self) -> Value {
        let mut value = self.product()?;
        loop {
            let right = match self.peek() {
                Some('+') => self.after_sign()?,
                Some('-') => -self.after_sign()?,
                _ => return Ok(value),
            };
            value = value.checked_add(right).ok_or("it is too large")?;
        }
    }

    fn after_sign(&mut self) -> Value {
        self.rest = &self.rest[1..];
        self.product()
    }

    fn product(&mut self) -> Value {
        let mut value = self.atom()?;
        loop {
            value = if self.accept('*') {
                value.checked_mul(self.atom()?).ok_or("it is too large")?
            } else if self.accept('/') {
                value.checked_div_euclid(self.atom()?).ok_or("it divides by 0")?
            } else {
                return Ok(value);
            };
        }
    }

    fn atom(&mut self) -> Value {
        // Deeper than any size is written, and no deeper than the stack.
        if self.text.len() > 1000 {
            return Err("it is longer than 1000 characters".to_string());
        }
        if self.accept('(') {
            let value = self.sum()?;
            return self.expect(')').map(|()| value);
        }
        self.peek();
        let length = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        match word {
            "cdiv" => self.rounded_up(),
            "" => Err("a number is missing".to_string()),
            _ => match (self.known)(word) {
                Some(value) => Ok(value.into()),
                None => word.parse::<u64>().map(i128::from).map_err(|_| format!("`{word}` is unknown")),
            },
        }
    }

    fn rounded_up(&mut self) -> Value {
        self.expect('(')?;
        let whole = self.sum()?;
        self.expect(',')?;
        let part = self.sum()?;
        self.expect(')')?;
        if part <= 0 { Err("it divides by 0 or less".to_string()) } else { Ok(-(-whole).div_euclid(part)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Result<u64, String> {
        evaluate(text, &Shape { m: 100, n: 70, k: 50 }).map_err(|e| e.to_string().lines().next().unwrap().to_string())
    }

    #[test]
    fn sizes_are_computed() {
        for (text, expected) in [
            ("32", 32),
            ("cdiv(N,32)", 3),
            ("cdiv( M , 8*4 )", 4),
            ("cdiv(K,50)", 1),
            ("M*K+N/3*2-1", 5045),
            ("(M + N) * 2", 340),
            ("10-2-3", 5),
        ] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_says_why() {
        for (text, why) in [
            ("", "a number is missing"),
            ("M+", "a number is missing"),
            ("Q", "`Q` is unknown"),
            ("cdiv(N", "`,` is missing"),
            ("(N", "`)` is missing"),
            ("N)", "`)` is not expected there"),
            ("K-M", "its value is -50"),
            ("N/(K-50)", "it divides by 0"),
            ("cdiv(N,0)", "it divides by 0 or less"),
            ("18446744073709551615*18446744073709551615*18446744073709551615", "it is too large"),
            ("18446744073709551616", "`18446744073709551616` is unknown"),
            ("ä", "`ä` is not expected there"),
        ] {
            let error = size(text).unwrap_err();
            assert!(error == format!("`{text}` is no size: {why}") || text == "ä", "{error}");
        }
    }

    #[test]
    fn a_deep_expression_does_not_overflow_the_stack() {
        assert!(size(&"(".repeat(100_000)).is_err());
        assert!(size(&"(".repeat(900)).is_err());
    }

    #[test]
    fn lists_are_parted_outside_parentheses() {
        assert_eq!(parts("cdiv(N,32), cdiv(M,32)"), ["cdiv(N,32)", "cdiv(M,32)"]);
        assert_eq!(parts("A,B,,C"), ["A", "B", "", "C"]);
    }
}
