//! Text to tokens. The tokens stand side by side: together they are the text.

use crate::token::{Kind, Piece, Token};

/// All tokens of a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line_is_blank: true };
    let (mut tokens, mut taken) = (Vec::new(), Vec::new());
    while let Some(token) = lexer.next() {
        tokens.push(token);
        if token.kind == Kind::Directive {
            let dead = conditional(&mut taken, &words_of(token.of(text)));
            if dead {
                tokens.extend(lexer.skipped());
            }
        }
    }
    tokens
}

/// The code of a text as pieces, without comments and preprocessor lines.
pub fn pieces(text: &str) -> Vec<Piece> {
    let code = tokens(text).into_iter().filter(|token| token.is_code());
    let mut end = usize::MAX;
    let piece = |token: Token| {
        let glued = token.start == end;
        end = token.end;
        Piece { kind: token.kind, text: token.of(text).to_string(), glued }
    };
    code.map(piece).collect()
}

/// A directive's name and its first word: `("if", "0")`.
pub fn words_of(directive: &str) -> (String, String) {
    let rest = directive.trim_start().trim_start_matches('#').replace("\\\n", " ").replace("\\\r\n", " ");
    let code = pieces(&rest);
    let word = |index: usize| code.get(index).map(|piece| piece.text.clone()).unwrap_or_default();
    // More than one word is an expression that nobody evaluates here.
    (word(0), if code.len() == 2 { word(1) } else { String::new() })
}

/// Follows conditionals; whether what comes now is read by nobody. `taken` says of each open one that a branch was certain.
fn conditional(taken: &mut Vec<bool>, (name, word): &(String, String)) -> bool {
    match name.as_str() {
        "if" => {
            taken.push(matches!(word.as_str(), "1" | "true"));
            matches!(word.as_str(), "0" | "false")
        }
        "ifdef" | "ifndef" => {
            taken.push(false);
            false
        }
        "elif" | "else" | "elifdef" | "elifndef" => taken.last().copied().unwrap_or(false),
        "endif" => {
            taken.pop();
            false
        }
        _ => false,
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line_is_blank: bool,
}

impl Lexer<'_> {
    fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    fn starts(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    fn next(&mut self) -> Option<Token> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        let kind = self.kind();
        let seen = &self.bytes[start..self.at];
        match kind {
            Kind::Space => self.line_is_blank |= seen.contains(&b'\n'),
            Kind::Comment => (),
            _ => self.line_is_blank = false,
        }
        Some(Token { kind, start, end: self.at })
    }

    /// Moves behind the next token.
    fn kind(&mut self) -> Kind {
        match self.byte(0) {
            byte if byte.is_ascii_whitespace() => self.space(),
            b'\\' if self.continuation() > 0 => self.space(),
            b'/' if matches!(self.byte(1), b'/' | b'*') => self.comment(),
            b'#' if self.line_is_blank => self.directive(),
            b'"' => self.quoted(b'"', Kind::Text),
            b'\'' => self.quoted(b'\'', Kind::Char),
            byte if byte.is_ascii_digit() || byte == b'.' && self.byte(1).is_ascii_digit() => self.number(),
            byte if begins_word(byte) => self.word(),
            b':' if self.byte(1) == b':' => self.take(2, Kind::Sign),
            _ => self.take(1, Kind::Sign),
        }
    }

    fn take(&mut self, bytes: usize, kind: Kind) -> Kind {
        self.at = (self.at + bytes).min(self.bytes.len());
        kind
    }

    /// Bytes of a `\` with the end of a line behind it.
    fn continuation(&self) -> usize {
        match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'\\', b'\n', _) => 2,
            (b'\\', b'\r', b'\n') => 3,
            _ => 0,
        }
    }

    fn space(&mut self) -> Kind {
        loop {
            match self.continuation() {
                0 if self.byte(0).is_ascii_whitespace() => self.at += 1,
                0 => return Kind::Space,
                bytes => self.at += bytes,
            }
        }
    }

    fn comment(&mut self) -> Kind {
        if self.byte(1) == b'/' {
            self.finish_line();
        } else {
            let end = self.text[self.at + 2..].find("*/");
            self.at = end.map_or(self.bytes.len(), |end| self.at + 2 + end + 2);
        }
        Kind::Comment
    }

    /// Moves to the end of the line, or of the last line that continues it.
    fn finish_line(&mut self) {
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            self.at += self.continuation().max(1);
        }
        self.at = self.at.min(self.bytes.len());
    }

    fn directive(&mut self) -> Kind {
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            match self.byte(0) {
                b'/' if self.starts("/*") || self.starts("//") => {
                    self.comment();
                }
                // An apostrophe in `#error` has no partner, and ends with the line.
                b'"' => {
                    self.quoted(b'"', Kind::Text);
                }
                _ => self.at += self.continuation().max(1),
            }
        }
        Kind::Directive
    }

    /// A string or a character; one that is not closed ends with its line.
    fn quoted(&mut self, quote: u8, kind: Kind) -> Kind {
        self.at += 1;
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            match self.byte(0) {
                byte if byte == quote => return self.take(1, kind),
                b'\\' => self.at += self.continuation().max(2),
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        // A backslash may have jumped into the middle of a character.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        kind
    }

    fn number(&mut self) -> Kind {
        loop {
            let (byte, next) = (self.byte(0), self.byte(1));
            let sign = matches!(byte, b'e' | b'E' | b'p' | b'P') && matches!(next, b'+' | b'-');
            let hexadecimal = matches!(byte, b'e' | b'E') && self.text[..self.at].ends_with("0x");
            match byte {
                _ if sign && !hexadecimal => self.at += 2,
                b'\'' if next.is_ascii_alphanumeric() => self.at += 2,
                b'.' => self.at += 1,
                byte if continues_word(byte) => self.at += 1,
                _ => return Kind::Number,
            }
        }
    }

    fn word(&mut self) -> Kind {
        let start = self.at;
        while continues_word(self.byte(0)) {
            self.at += 1;
        }
        let prefix = &self.text[start..self.at];
        match self.byte(0) {
            b'"' if matches!(prefix, "R" | "LR" | "uR" | "UR" | "u8R") => self.raw(),
            b'"' if matches!(prefix, "L" | "u" | "U" | "u8") => self.quoted(b'"', Kind::Text),
            b'\'' if matches!(prefix, "L" | "u" | "U" | "u8") => self.quoted(b'\'', Kind::Char),
            _ => Kind::Word,
        }
    }

    /// `R"name( … )name"`, from its quote on.
    fn raw(&mut self) -> Kind {
        let rest = &self.text[self.at + 1..];
        let open = rest.find('(').filter(|&open| open <= 16 && !rest[..open].contains(['"', ')', '\\', ' ', '\n']));
        let Some(open) = open else { return self.quoted(b'"', Kind::Text) };
        let close = format!("){}\"", &rest[..open]);
        let end = rest[open..].find(&close).map(|end| self.at + 1 + open + end + close.len());
        self.at = end.unwrap_or(self.bytes.len());
        Kind::Text
    }

    /// What stands before the directive that ends a dead branch.
    fn skipped(&mut self) -> Option<Token> {
        let (start, mut depth) = (self.at, 0);
        loop {
            let before = self.at;
            let Some(token) = self.next() else { break };
            if token.kind != Kind::Directive {
                continue;
            }
            let (name, _) = words_of(token.of(self.text));
            match name.as_str() {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "endif" | "else" | "elif" | "elifdef" | "elifndef" if depth == 0 => {
                    self.at = before;
                    self.line_is_blank = true;
                    break;
                }
                _ => (),
            }
        }
        (self.at > start).then_some(Token { kind: Kind::Skipped, start, end: self.at })
    }
}

/// Letters of other alphabets may stand in names.
fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn continues_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit()
}
