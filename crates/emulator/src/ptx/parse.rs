//! Tokens to a syntax tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::operands::show;
use super::token::{Token, tokens};
use super::variables::{Listed, in_range, is_name, is_register_type, type_bytes};
use super::{Function, Instruction, Location, Operand, Prototype, Register, Source, Statement, Variable, error};
use crate::PtxError;

/// Registers that one declaration may make: far more than a kernel has instructions.
const MAX_RANGE: u32 = 1 << 24;

/// Registers that one declaration in a nested block may make.
const MAX_NESTED: u32 = 1 << 12;

/// Parses the text of a module.
pub(crate) fn parse(text: &str) -> Result<Source, PtxError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        scopes: Vec::new(),
        scope_count: 0,
        depth: 0,
        declared: vec![HashSet::new()],
        files: HashSet::new(),
        locations: vec![Location::default()],
        places: HashMap::new(),
        located: HashMap::new(),
        labels: HashMap::new(),
        named: Vec::new(),
        announced: HashMap::new(),
        prototypes: HashMap::new(),
        ranges: Vec::new(),
        in_call: false,
        version: (0, 0),
    };
    let mut source = Source::default();
    let (mut versioned, mut after_version, mut after_target, mut external) = (false, false, false, false);
    while parser.at < parser.tokens.len() {
        let line = parser.line();
        let word = parser.word()?;
        // The size of addresses stands right behind the target.
        let fresh = std::mem::replace(&mut after_target, word == ".target");
        let after_version = std::mem::replace(&mut after_version, word == ".version");
        match word.as_str() {
            ".version" if !versioned => {
                parser.version(line)?;
                versioned = true;
            }
            _ if !versioned => {
                return error(line, "no `.version` directive at the start: this is not PTX, or it is cut off");
            }
            // Right behind the version stands the target.
            _ if after_version && word != ".target" => return error(line, "no `.target` directive behind `.version`"),
            ".target" if source.architecture == 0 || fresh => (source.architecture, source.only) = parser.target()?,
            _ if source.architecture == 0 => return error(line, "no `.target` directive behind `.version`"),
            ".address_size" if fresh => parser.address_size()?,
            ".pragma" => parser.pragma(true)?,
            ".alias" => parser.skip_line(line),
            ".file" => parser.file(line, &mut source)?,
            ".section" => parser.section()?,
            ".visible" | ".extern" | ".weak" | ".common" => {
                parser.linked(line)?;
                external = word == ".extern";
                continue;
            }
            ".entry" | ".func" => source.functions.extend(parser.function(word == ".entry")?),
            ".global" | ".const" | ".shared" => {
                let variable = parser.variable(&word[1..], Listed::No)?;
                if variable.bytes.is_none() && !external {
                    return error(line, format!("`{}` has no size, and is not .extern", variable.name));
                }
                source.variables.push(variable);
            }
            _ => return error(line, format!("`{word}` is no directive of a module")),
        }
        external = false;
    }
    if !versioned {
        return error(0, "no `.version` directive: this is not PTX, or it is cut off");
    }
    if source.architecture == 0 {
        return error(parser.line(), "no `.target` directive behind `.version`");
    }
    source.inlined = parser.inlined_names()?;
    match parser.located.iter().filter(|(file, _)| !parser.files.contains(file)).min_by_key(|(_, line)| **line) {
        Some((file, line)) => error(*line, format!("`.loc` of file {file}, which no `.file` names")),
        None => {
            source.number_functions();
            source.locations = parser.locations;
            source.announced = parser.announced;
            source.prototypes = parser.prototypes;
            Ok(source)
        }
    }
}

pub(super) struct Parser {
    pub(super) tokens: Vec<(Token, u32)>,
    pub(super) at: usize,
    /// Names declared in nested `{ }` blocks, with the unique names that they stand for.
    pub(super) scopes: Vec<HashMap<String, String>>,
    pub(super) scope_count: u32,
    /// Names declared in the module, in the function, and in each block within.
    pub(super) declared: Vec<HashSet<String>>,
    /// Numbers of the `.file` directives.
    pub(super) files: HashSet<u32>,
    /// What the `.loc` directives say; and by file, line and column, the last that says this place.
    pub(super) locations: Vec<Location>,
    pub(super) places: HashMap<[i128; 3], u32>,
    /// Labels of sections, and the bytes behind them; those that `.loc` directives name, with their offsets and lines.
    pub(super) labels: HashMap<String, Vec<u8>>,
    pub(super) named: Vec<(String, usize, u32)>,
    /// Registers of the function at hand that one declaration makes, and how many.
    pub(super) ranges: Vec<(String, u32)>,
    pub(super) version: (u32, u32),
    /// Among the operands of a `call`, whose lists stand in ( ).
    pub(super) in_call: bool,
    /// Functions that are announced, as they are.
    pub(super) prototypes: HashMap<String, Prototype>,
    /// Functions, with the line where each is named first: announced, or defined.
    pub(super) announced: HashMap<String, u32>,
    /// Numbers of files that `.loc` directives name, with the line of the first.
    pub(super) located: HashMap<u32, u32>,
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
            Token::Integer(n) => Ok(if negative { -i128::from(n) } else { n.into() }),
            Token::Unsigned(n) => Ok(if negative { -i128::from(n) } else { n.into() }),
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

    pub(super) fn skip_line(&mut self, line: u32) {
        while self.at < self.tokens.len() && self.tokens[self.at].1 == line {
            self.at += 1;
        }
    }

    fn file(&mut self, line: u32, source: &mut Source) -> Result<(), PtxError> {
        let Ok(number) = u32::try_from(self.integer()?) else {
            return error(line, "the number of a file is out of range");
        };
        if !self.files.insert(number) {
            return error(line, format!("file {number} is named twice"));
        }
        match self.next()? {
            Token::Text(name) => source.files.insert(number, Arc::from(name)),
            other => return error(line, format!("a file name is expected, and here is {}", show(&other))),
        };
        // A time and a size may follow.
        while self.accept(',') {
            self.integer()?;
        }
        Ok(())
    }

    /// The parameters or results of a kernel or a function, or of a prototype, which may call them `_`.
    pub(super) fn parameters(&mut self, of: Listed) -> Result<Vec<Variable>, PtxError> {
        let mut list = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let line = self.line();
            match self.word()?.as_str() {
                ".param" => list.push(self.variable("param", of)?),
                ".reg" if of != Listed::OfKernel => list.push(self.register_parameter(of)?),
                other => return error(line, format!("`{other}` parameters are not supported")),
            }
            self.comma_or(')')?;
        }
        Ok(list)
    }

    pub(super) fn body(&mut self, function: &mut Function) -> Result<(), PtxError> {
        let mut loc = 0;
        self.expect('{')?;
        loop {
            let line = self.line();
            if self.accept('{') {
                self.scope_count += 1;
                self.scopes.push(self.labels_of_block());
                self.declared.push(HashSet::new());
                continue;
            }
            if self.accept('}') {
                self.declared.pop();
                if self.scopes.pop().is_none() {
                    return Ok(());
                }
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
                    let Some(kind) = kind.strip_prefix('.') else {
                        return error(line, format!("`{kind}` is no type of a register"));
                    };
                    self.registers(kind, function)?;
                }
                _ if word.starts_with(".reg.") => self.registers(&word[5..], function)?,
                ".shared" | ".local" | ".param" | ".const" | ".global" => {
                    let variable = self.variable(&word[1..], Listed::No)?;
                    if variable.bytes.is_none() {
                        return error(line, format!("`{}` has no size, and is not .extern", variable.name));
                    }
                    function.variables.push(variable);
                    function.declared_at.push(function.body.len());
                }
                ".loc" => {
                    loc = self.location(line)?;
                }
                ".branchtargets" => self.branch_targets(function)?,
                ".pragma" => self.pragma(false)?,
                ".callprototype" => self.prototype(function)?,
                ".calltargets" => self.call_targets(function)?,
                _ if self.is(':') && is_name(&word) && !word.starts_with('%') => {
                    self.accept(':');
                    let listed = [".branchtargets", ".callprototype", ".calltargets"];
                    if !listed.iter().any(|directive| self.is_word(directive)) {
                        self.declare_label(&word)?;
                    }
                    let name = self.resolve(word);
                    function.body.push(Statement::Label(name));
                }
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
        self.declare_label(&name)?;
        let mut targets = Vec::new();
        while !self.accept(';') {
            let target = self.word()?;
            targets.push(self.resolve(target));
            self.comma_or(';')?;
        }
        function.branch_targets.insert(name, targets);
        Ok(())
    }

    /// After `.reg` among parameters: `.u32 %a`.
    fn register_parameter(&mut self, of: Listed) -> Result<Variable, PtxError> {
        let line = self.line();
        let variable = self.variable("reg", of)?;
        let plain = type_bytes(&variable.kind) == variable.bytes && variable.align == variable.bytes.unwrap_or(0);
        match variable.bytes {
            Some(4 | 8) if plain => Ok(variable),
            _ => error(line, format!("`{}` is handed over in a register, and has not 32 or 64 bits", variable.name)),
        }
    }

    /// After `name: .callprototype`: `(.param .b32 _) _ (.param .b64 _);`
    fn prototype(&mut self, function: &mut Function) -> Result<(), PtxError> {
        let line = self.line();
        let Some(Statement::Label(name)) = function.body.pop() else {
            return error(line, "`.callprototype` without a label of its own");
        };
        let returns = if self.is('(') { self.parameters(Listed::Nameless)? } else { Vec::new() };
        let called = self.word()?;
        if called != "_" && !is_name(&called) {
            return error(line, format!("`{called}` is no name of a function"));
        }
        let params = if self.is('(') { self.parameters(Listed::Nameless)? } else { Vec::new() };
        while !self.accept(';') {
            match self.word()?.as_str() {
                ".noreturn" => {}
                ".abi_preserve" | ".abi_preserve_control" => drop(self.integer()?),
                other => return error(line, format!("`{other}` is no directive of a prototype")),
            }
        }
        let name = self.declare(name)?;
        function.prototypes.insert(name, Prototype { returns, params, declared_at: function.body.len() });
        Ok(())
    }

    /// After `name: .calltargets`: the functions.
    fn call_targets(&mut self, function: &mut Function) -> Result<(), PtxError> {
        let line = self.line();
        let Some(Statement::Label(name)) = function.body.pop() else {
            return error(line, "`.calltargets` without a label of its own");
        };
        let mut targets = Vec::new();
        while !self.accept(';') {
            targets.push(self.word()?);
            self.comma_or(';')?;
        }
        let name = self.declare(name)?;
        function.call_targets.insert(name, (targets, function.body.len()));
        Ok(())
    }

    /// After `.reg`: `.b32 %r<30>;` or `.pred p, q;`
    fn registers(&mut self, kind: &str, function: &mut Function) -> Result<(), PtxError> {
        if !is_register_type(kind) {
            return error(self.line(), format!("`.{kind}` is no type of a register"));
        }
        let kind = Register { kind: kind.to_string(), declared_at: function.body.len() };
        loop {
            let line = self.line();
            let name = self.word()?;
            if self.accept('<') {
                let count = self.integer()?;
                let Some(count) = u32::try_from(count).ok().filter(|count| (1..=MAX_RANGE).contains(count)) else {
                    return error(line, format!("{count} registers"));
                };
                self.expect('>')?;
                self.range(name, count, &kind, function)?;
            } else {
                if !is_name(&name) {
                    return error(line, format!("`{name}` is no name of a register"));
                }
                let name = self.declare(name)?;
                function.registers.insert(name, kind.clone());
            }
            if self.accept(';') {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    /// `%r<30>`. In a nested block, each of its registers is declared by itself.
    fn range(&mut self, name: String, count: u32, kind: &Register, function: &mut Function) -> Result<(), PtxError> {
        let line = self.line();
        if !is_name(&name) {
            return error(line, format!("`{name}` is no name of registers"));
        }
        if self.scopes.is_empty() {
            let overlaps = |(other, many, _): &(String, u32, Register)| {
                let number = |long: &str, short: &str| long.strip_prefix(short).and_then(|n| n.parse::<u64>().ok());
                // `%r1<3>` is `%r10` to `%r12`, of which `%r<11>` has the first.
                *other == name
                    || number(&name, other).is_some_and(|n| n * 10 < u64::from(*many))
                    || number(other, &name).is_some_and(|n| n * 10 < u64::from(count))
            };
            let mut known = self.declared.last().into_iter().flatten();
            let taken = known.any(|known| in_range(known, &name, count));
            if taken || function.register_ranges.iter().any(overlaps) {
                return error(line, format!("registers `{name}<{count}>` are declared twice"));
            }
            self.ranges.push((name.clone(), count));
            function.register_ranges.push((name, count, kind.clone()));
            return Ok(());
        }
        if count > MAX_NESTED {
            return error(line, format!("{count} registers in a nested block are more than {MAX_NESTED}"));
        }
        for n in 0..count {
            let name = self.declare(format!("{name}{n}"))?;
            function.registers.insert(name, kind.clone());
        }
        Ok(())
    }

    fn instruction(&mut self, loc: u32) -> Result<Instruction, PtxError> {
        let mut guard = None;
        if self.accept('@') {
            let negated = self.accept('!');
            let name = self.word()?;
            guard = Some((self.resolve(name), negated));
        }
        let line = self.line();
        let opcode = self.word()?;
        self.in_call = opcode == "call" || opcode.starts_with("call.");
        let mut operands = Vec::new();
        while !self.accept(';') {
            operands.push(self.operand()?);
            if self.accept('|') {
                let (first, second) = (operands.pop(), self.operand()?);
                operands.extend(first.map(|first| Operand::Pair(Box::new(first), Box::new(second))));
            }
            self.comma_or(';')?;
        }
        self.in_call = false;
        Ok(Instruction { line, loc, guard, opcode, operands })
    }
}
