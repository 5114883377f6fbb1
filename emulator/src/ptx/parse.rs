//! Tokens to a syntax tree.

use std::collections::HashMap;
use std::sync::Arc;

use super::operands::show;
use super::token::{Token, tokens};
use super::{Function, Instruction, Operand, Source, Statement, Variable, error};
use crate::PtxError;

/// Parses the text of a module.
pub(crate) fn parse(text: &str) -> Result<Source, PtxError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, scopes: Vec::new(), scope_count: 0, depth: 0 };
    let mut source = Source::default();
    let mut versioned = false;
    while parser.at < parser.tokens.len() {
        let line = parser.line();
        let word = parser.word()?;
        match word.as_str() {
            ".version" | ".target" => {
                versioned |= word == ".version";
                parser.skip_line(line);
            }
            ".address_size" | ".pragma" | ".alias" => parser.skip_line(line),
            ".file" => parser.file(line, &mut source)?,
            ".section" => parser.skip_braces()?,
            ".visible" | ".extern" | ".weak" | ".common" => {}
            ".entry" | ".func" => source.functions.extend(parser.function(word == ".entry")?),
            ".global" | ".const" | ".shared" => source.variables.push(parser.variable(&word[1..])?),
            _ => return error(line, format!("`{word}` is no directive of a module")),
        }
    }
    if !versioned {
        return error(0, "no `.version` directive: this is not PTX, or it is cut off");
    }
    Ok(source)
}

pub(super) struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    /// Names declared in nested `{ }` blocks, with the unique names that they stand for.
    scopes: Vec<HashMap<String, String>>,
    scope_count: u32,
    /// How deep operands and initialisers nest here.
    pub(super) depth: u32,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(t, _)| t)
    }

    pub(super) fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.at.min(last)).map_or(0, |(_, line)| *line)
    }

    pub(super) fn next(&mut self) -> Result<Token, PtxError> {
        let Some((token, _)) = self.tokens.get(self.at) else {
            return error(self.line(), "the text ends in the middle of a statement");
        };
        self.at += 1;
        Ok(token.clone())
    }

    pub(super) fn word(&mut self) -> Result<String, PtxError> {
        let line = self.line();
        match self.next()? {
            Token::Word(word) => Ok(word),
            other => error(line, format!("a name is expected, and here is {}", show(&other))),
        }
    }

    pub(super) fn integer(&mut self) -> Result<i128, PtxError> {
        let line = self.line();
        let negative = self.accept('-');
        match self.next()? {
            Token::Integer(n) => Ok(if negative { -n } else { n }),
            other => error(line, format!("an integer is expected, and here is {}", show(&other))),
        }
    }

    pub(super) fn is(&self, sign: char) -> bool {
        self.peek() == Some(&Token::Sign(sign))
    }

    pub(super) fn accept(&mut self, sign: char) -> bool {
        let found = self.is(sign);
        self.at += found as usize;
        found
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), PtxError> {
        let line = self.line();
        match self.next()? {
            Token::Sign(c) if c == sign => Ok(()),
            other => error(line, format!("`{sign}` is expected, and here is {}", show(&other))),
        }
    }

    fn skip_line(&mut self, line: u32) {
        while self.at < self.tokens.len() && self.tokens[self.at].1 == line {
            self.at += 1;
        }
    }

    fn skip_braces(&mut self) -> Result<(), PtxError> {
        let mut depth = 0;
        loop {
            match self.next()? {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') if depth == 1 => return Ok(()),
                Token::Sign('}') => depth -= 1,
                _ => {}
            }
        }
    }

    fn file(&mut self, line: u32, source: &mut Source) -> Result<(), PtxError> {
        let number = self.integer()? as u32;
        match self.next()? {
            Token::Text(name) => source.files.insert(number, Arc::from(name)),
            other => return error(line, format!("a file name is expected, and here is {}", show(&other))),
        };
        self.skip_line(line);
        Ok(())
    }

    /// After `.shared`, `.param` …: `.align 16 .b8 name[1024] = {…};`
    fn variable(&mut self, space: &str) -> Result<Variable, PtxError> {
        let line = self.line();
        let (mut align, mut element, mut kind, mut pointer) = (None, None, String::new(), false);
        let name = loop {
            let word = self.word()?;
            match word.as_str() {
                // Behind `.ptr` stands how the memory that it points to is aligned.
                ".align" if pointer => drop(self.integer()?),
                ".align" => align = Some(self.integer()? as u64),
                ".ptr" => pointer = true,
                ".global" | ".shared" | ".const" | ".local" => {}
                _ if word.starts_with('.') => {
                    let (lanes, scalar) = match word.as_str() {
                        ".v2" => (2, self.word()?),
                        ".v4" => (4, self.word()?),
                        _ => (1, word),
                    };
                    let Some(bytes) = type_bytes(&scalar[1..]) else {
                        return error(line, format!("`{scalar}` is no type of a variable"));
                    };
                    kind = scalar[1..].to_string();
                    element = Some(lanes * bytes);
                }
                _ => break word,
            }
        };
        let Some(element) = element else { return error(line, format!("variable `{name}` has no type")) };
        let mut bytes = Some(element);
        while self.accept('[') {
            let extent = if self.is(']') { None } else { Some(self.integer()?) };
            bytes = match bytes.zip(extent) {
                None => None,
                Some((element, extent)) => match u64::try_from(extent).ok().and_then(|n| element.checked_mul(n)) {
                    None => return error(line, format!("an array of {extent} elements")),
                    total => total,
                },
            };
            self.expect(']')?;
        }
        let mut init = Vec::new();
        if self.accept('=') {
            self.initialiser(&kind, &mut init)?;
        }
        if let Some(bytes) = bytes.filter(|bytes| init.len() as u64 > *bytes) {
            return error(line, format!("{} bytes initialise `{name}`, which has {bytes}", init.len()));
        }
        if !self.is(',') && !self.is(')') {
            self.expect(';')?;
        }
        let name = self.declare(name);
        Ok(Variable { name, space: space.to_string(), align: align.unwrap_or(element), kind, bytes, init })
    }

    fn initialiser(&mut self, kind: &str, out: &mut Vec<u8>) -> Result<(), PtxError> {
        if self.accept('{') {
            self.deeper()?;
            while !self.accept('}') {
                self.initialiser(kind, out)?;
                self.accept(',');
            }
            self.depth -= 1;
            return Ok(());
        }
        let line = self.line();
        let bytes = match self.operand()? {
            Operand::Integer(n) => n.to_le_bytes(),
            Operand::F32(bits) => u128::from(bits).to_le_bytes(),
            Operand::F64(bits) => u128::from(bits).to_le_bytes(),
            other => return error(line, format!("{other:?} cannot initialise a variable")),
        };
        out.extend(&bytes[..type_bytes(kind).unwrap_or(1) as usize]);
        Ok(())
    }

    /// In a nested block, a declared name gets a unique one, so that blocks cannot collide.
    fn declare(&mut self, name: String) -> String {
        let Some(scope) = self.scopes.last_mut() else { return name };
        let unique = format!("{name}@{}", self.scope_count);
        scope.insert(name, unique.clone());
        unique
    }

    pub(super) fn resolve(&self, name: String) -> String {
        self.scopes.iter().rev().find_map(|scope| scope.get(&name).cloned()).unwrap_or(name)
    }

    /// After `.entry` or `.func`. A prototype without a body gives `None`.
    fn function(&mut self, entry: bool) -> Result<Option<Function>, PtxError> {
        let line = self.line();
        let returns = if self.is('(') { self.parameters()? } else { Vec::new() };
        let name = self.word()?;
        let params = if self.is('(') { self.parameters()? } else { Vec::new() };
        while !self.is('{') {
            if self.accept(';') {
                return Ok(None);
            }
            self.next()?;
        }
        let mut function = Function {
            name,
            entry,
            line,
            returns,
            params,
            registers: HashMap::new(),
            register_ranges: Vec::new(),
            variables: Vec::new(),
            branch_targets: HashMap::new(),
            body: Vec::new(),
        };
        self.body(&mut function)?;
        Ok(Some(function))
    }

    fn parameters(&mut self) -> Result<Vec<Variable>, PtxError> {
        let mut list = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let line = self.line();
            match self.word()?.as_str() {
                ".param" => list.push(self.variable("param")?),
                other => return error(line, format!("`{other}` parameters are not supported")),
            }
            self.accept(',');
        }
        Ok(list)
    }

    fn body(&mut self, function: &mut Function) -> Result<(), PtxError> {
        let mut loc = (0, 0);
        self.expect('{')?;
        loop {
            let line = self.line();
            if self.accept('{') {
                self.scope_count += 1;
                self.scopes.push(HashMap::new());
                continue;
            }
            if self.accept('}') {
                if self.scopes.pop().is_none() {
                    return Ok(());
                }
                continue;
            }
            if self.accept(';') {
                continue;
            }
            if self.is('@') {
                function.body.push(Statement::Instruction(self.instruction(loc)?));
                continue;
            }
            let word = self.word()?;
            match word.as_str() {
                ".reg" => {
                    let kind = self.word()?;
                    self.registers(kind.trim_start_matches('.'), function)?;
                }
                _ if word.starts_with(".reg.") => self.registers(&word[5..], function)?,
                ".shared" | ".local" | ".param" | ".const" | ".global" => {
                    let variable = self.variable(&word[1..])?;
                    function.variables.push(variable);
                }
                ".loc" => {
                    loc = (self.integer()? as u32, self.integer()? as u32);
                    self.skip_line(line);
                }
                ".branchtargets" => self.branch_targets(function)?,
                ".pragma" | ".callprototype" => {
                    while !self.accept(';') {
                        self.next()?;
                    }
                }
                _ if self.accept(':') => function.body.push(Statement::Label(word)),
                _ if word.starts_with('.') => return error(line, format!("`{word}` is no directive of a body")),
                _ => {
                    self.at -= 1;
                    function.body.push(Statement::Instruction(self.instruction(loc)?));
                }
            }
        }
    }

    /// After `list: .branchtargets`: the labels.
    fn branch_targets(&mut self, function: &mut Function) -> Result<(), PtxError> {
        let line = self.line();
        let Some(Statement::Label(name)) = function.body.pop() else {
            return error(line, "`.branchtargets` without a label of its own");
        };
        let mut targets = Vec::new();
        while !self.accept(';') {
            targets.push(self.word()?);
            self.accept(',');
        }
        function.branch_targets.insert(name, targets);
        Ok(())
    }

    /// After `.reg`: `.b32 %r<30>;` or `.pred p, q;`
    fn registers(&mut self, kind: &str, function: &mut Function) -> Result<(), PtxError> {
        let kind = kind.to_string();
        loop {
            let name = self.word()?;
            if self.accept('<') {
                let line = self.line();
                let count = self.integer()?;
                let Ok(count) = u32::try_from(count) else { return error(line, format!("{count} registers")) };
                self.expect('>')?;
                function.register_ranges.push((name, count, kind.clone()));
            } else {
                let name = self.declare(name);
                function.registers.insert(name, kind.clone());
            }
            if self.accept(';') {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    fn instruction(&mut self, loc: (u32, u32)) -> Result<Instruction, PtxError> {
        let mut guard = None;
        if self.accept('@') {
            let negated = self.accept('!');
            let name = self.word()?;
            guard = Some((self.resolve(name), negated));
        }
        let line = self.line();
        let opcode = self.word()?;
        let mut operands = Vec::new();
        while !self.accept(';') {
            operands.push(self.operand()?);
            if self.accept('|') {
                let (first, second) = (operands.pop(), self.operand()?);
                operands.extend(first.map(|first| Operand::Pair(Box::new(first), Box::new(second))));
            }
            if !self.is(';') {
                self.expect(',')?;
            }
        }
        Ok(Instruction { line, loc, guard, opcode, operands })
    }
}

/// Bytes of a fundamental type: `f32` → 4.
pub(super) fn type_bytes(kind: &str) -> Option<u64> {
    let digits = kind.trim_start_matches(|c: char| !c.is_ascii_digit());
    match digits {
        "8" | "16" | "32" | "64" | "128" => digits.parse::<u64>().ok().map(|bits| bits / 8),
        _ => None,
    }
}
