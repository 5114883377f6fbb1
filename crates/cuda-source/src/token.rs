//! The tokens of C++, as far as it takes to find declarations in a file.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Spaces, ends of lines, line continuations.
    Space,
    /// A comment of either form.
    Comment,
    /// A name or a keyword.
    Word,
    /// A number as the preprocessor sees one: `0x1'000`, `1e-5f`.
    Number,
    /// A string of any form, raw ones too.
    Text,
    /// A character in quotes.
    Char,
    /// One sign; `::` alone has two.
    Sign,
    /// A preprocessor line, with the lines that continue it.
    Directive,
    /// What no compiler reads: the text between `#if 0` and its end.
    Skipped,
}

/// A piece of a text: bytes from `start` up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

impl Token {
    /// Its text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether it belongs to the language, and not to the preprocessor or to a reader.
    pub fn is_code(self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Number | Kind::Text | Kind::Char | Kind::Sign)
    }
}

/// A token of code that owns its text: what macros are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: String,
    /// Whether nothing stands between it and the token before it.
    pub glued: bool,
}

impl Piece {
    /// Whether it is this sign or word.
    pub fn is(&self, text: &str) -> bool {
        self.text == text && !matches!(self.kind, Kind::Text | Kind::Char)
    }

    /// Whether it is a name.
    pub fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }
}

/// The pieces written out again, a space where there was room.
pub fn written(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let words = index > 0 && piece.is_word() && pieces[index - 1].is_word();
        if index > 0 && (!piece.glued || words) {
            text.push(' ');
        }
        text += &piece.text;
    }
    text
}
