//! One file, in tokens.

use crate::branches;
use crate::item::{self, Item};
use crate::lexer;
use crate::macros::Macros;
use crate::token::{Kind, Piece, Token};

/// A file that was read.
#[derive(Debug)]
pub struct Unit {
    /// Its path, as messages name it.
    pub path: String,
    /// Its text.
    pub text: String,
    /// All tokens.
    pub tokens: Vec<Token>,
    /// Those of code that declarations are made of.
    pub code: Vec<Token>,
    /// The declarations.
    pub items: Vec<Item>,
}

impl Unit {
    /// A text in tokens, its declarations not yet found.
    pub fn new(path: &str, text: &str) -> Unit {
        let tokens = lexer::tokens(text);
        let code = branches::code(text, &tokens);
        Unit { path: path.to_string(), text: text.to_string(), tokens, code, items: Vec::new() }
    }

    /// Finds the declarations. The macros are those of all files.
    pub fn find_items(&mut self, macros: &Macros) {
        self.items = item::items(self, macros);
    }

    /// The preprocessor lines.
    pub fn directives(&self) -> impl Iterator<Item = (Token, &str)> {
        let all = self.tokens.iter().filter(|token| token.kind == Kind::Directive);
        all.map(|token| (*token, token.of(&self.text)))
    }

    /// The text of a token of code; empty behind the last one.
    pub fn word(&self, at: usize) -> &str {
        self.code.get(at).map_or("", |token| token.of(&self.text))
    }

    /// Whether a token of code is a name.
    pub fn is_name(&self, at: usize) -> bool {
        self.code.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// Whether a token of code is this sign, and not a string or a character that looks like it.
    pub fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.code.get(at).is_some_and(|token| token.kind == Kind::Sign) && self.word(at) == sign
    }

    /// Whether nothing stands between a token of code and the one before it.
    pub fn is_glued(&self, at: usize) -> bool {
        at > 0 && at < self.code.len() && self.code[at].start == self.code[at - 1].end
    }

    /// Tokens of code from `from` up to `to`, as pieces.
    pub fn pieces(&self, from: usize, to: usize) -> Vec<Piece> {
        let piece = |at: usize| {
            let kind = self.code[at].kind;
            Piece { kind, text: self.word(at).to_string(), glued: at > from && self.is_glued(at) }
        };
        (from..to.min(self.code.len())).map(piece).collect()
    }

    /// The line of a token of code, from 1.
    pub fn line(&self, at: usize) -> u32 {
        let end = self.code.get(at).map_or(self.text.len(), |token| token.start);
        1 + self.text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() as u32
    }

    /// The token behind the group that opens at `at`, which no other kind of bracket inside can end; `end` if it is never closed.
    pub fn behind_group(&self, at: usize, end: usize) -> usize {
        let mut depth = 0usize;
        for here in at..end {
            if self.code[here].kind != Kind::Sign {
                continue;
            }
            match self.word(here) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return here + 1;
                    }
                }
                _ => (),
            }
        }
        end
    }

    /// The token behind `<…>`, which opens at `at`; `None` if it is a comparison.
    pub fn behind_angles(&self, at: usize, end: usize) -> Option<usize> {
        let (mut here, mut depth) = (at, 0);
        while here < end {
            match self.word(here) {
                "<" if self.is_sign(here, "<") => depth += 1,
                ">" if self.is_sign(here, ">") && self.word(here.wrapping_sub(1)) != "-" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(here + 1);
                    }
                }
                "(" | "[" | "{" if self.code[here].kind == Kind::Sign => {
                    here = self.behind_group(here, end);
                    continue;
                }
                ";" | ")" | "}" | "]" if self.code[here].kind == Kind::Sign => return None,
                _ => (),
            }
            here += 1;
        }
        None
    }

    /// The parts of a list between `from` and `to`, at the commas outside brackets.
    pub fn list(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut start, mut here) = (Vec::new(), from, from);
        while here < to {
            if self.is_sign(here, ",") {
                parts.push((start, here));
                start = here + 1;
            } else if ["(", "[", "{"].iter().any(|open| self.is_sign(here, open)) {
                here = self.behind_group(here, to);
                continue;
            } else if self.is_sign(here, "<")
                && here > from
                && self.is_name(here - 1)
                && let Some(behind) = self.behind_angles(here, to)
            {
                here = behind;
                continue;
            }
            here += 1;
        }
        if start < to {
            parts.push((start, to));
        }
        parts
    }
}
