//! Directives: version, target, what functions are bound to, and where lines come from.

use std::collections::{HashMap, HashSet};

use super::operands::show;
use super::parse::Parser;
use super::token::Token;
use super::variables::{Listed, is_name};
use super::{Function, Location, Prototype, Register, Variable, error};
use crate::PtxError;

/// The last minor version of each major one from 1; of the newest, more than there are yet.
const MINORS: [u32; 9] = [5, 3, 2, 3, 0, 5, 8, 8, 99];

/// The GPUs that targets may name, and whatever comes behind the last of them.
const GPUS: [u32; 28] = [
    20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 82, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120,
    121,
];

/// The number behind `sm_`: `90a` is the GPU 90 with what no other has, `100f` its family.
fn gpu(word: &str) -> Option<u32> {
    let number: u32 = word.trim_end_matches(['a', 'f']).parse().ok().filter(|number| *number < 200)?;
    let fits = match word.trim_start_matches(|c: char| c.is_ascii_digit()) {
        "" => true,
        "a" => number >= 90,
        "f" => number >= 100,
        _ => false,
    };
    (fits && (GPUS.contains(&number) || number > 121)).then_some(number)
}

/// Whether two functions take or give the same there.
fn alike(a: &Variable, b: &Variable) -> bool {
    (&a.kind, a.bytes, a.align, &a.space) == (&b.kind, b.bytes, b.align, &b.space)
}

fn is_version(version: &str) -> bool {
    let Some((major, minor)) = version.split_once('.') else { return false };
    let last = major.parse::<usize>().ok().and_then(|major| MINORS.get(major.checked_sub(1)?));
    let plain = |number: &str| number.len() == 1 || !number.starts_with('0');
    let minor = minor.parse::<u32>().ok().filter(|_| plain(major) && plain(minor));
    minor.zip(last).is_some_and(|(minor, last)| minor <= *last)
}

impl Parser {
    /// After `.version`: `8.7`.
    pub(super) fn version(&mut self, line: u32) -> Result<(), PtxError> {
        match self.next()? {
            Token::Text(version) if is_version(&version) => {
                let numbers = version.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                self.version = numbers.unwrap_or_default();
                Ok(())
            }
            _ => error(line, "`.version` names no version of PTX"),
        }
    }

    /// After `.target`: `sm_90`, and what else it names. Whether it is `sm_90a`, too.
    pub(super) fn target(&mut self) -> Result<(u32, bool), PtxError> {
        let (mut architecture, mut only) = (0, false);
        loop {
            let line = self.line();
            let word = self.word()?;
            match word.strip_prefix("sm_").and_then(gpu) {
                Some(number) => (architecture, only) = (number, word.ends_with('a')),
                _ if matches!(
                    word.as_str(),
                    "debug" | "texmode_unified" | "texmode_independent" | "map_f64_to_f32"
                ) => {}
                _ => return error(line, format!("`.target {word}` is no GPU")),
            }
            if !self.accept(',') {
                break;
            }
        }
        match architecture {
            0 => error(self.line(), "`.target` names no GPU"),
            known => Ok((known, only)),
        }
    }

    pub(super) fn address_size(&mut self) -> Result<(), PtxError> {
        let line = self.line();
        match self.integer()? {
            64 if self.version < (2, 3) => error(line, "`.address_size` needs `.version` 2.3 or later"),
            64 => Ok(()),
            bits => error(line, format!("addresses of {bits} bits are not supported")),
        }
    }

    /// After `.pragma`: texts, and `;`. Functions may hold any text; what is said of the whole module must be known.
    pub(super) fn pragma(&mut self, of_module: bool) -> Result<(), PtxError> {
        loop {
            let line = self.line();
            match self.next()? {
                Token::Text(text) if of_module && text != "nounroll" => {
                    return error(line, format!("a module has no pragma \"{text}\""));
                }
                Token::Text(_) => {}
                other => {
                    return error(line, format!("a text is expected behind `.pragma`, and here is {}", show(&other)));
                }
            }
            if self.accept(';') {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    /// Behind `.visible` and its kin: something that can be linked.
    pub(super) fn linked(&self, line: u32) -> Result<(), PtxError> {
        let known = [".entry", ".func", ".global", ".const", ".shared"];
        match self.peek() {
            Some(Token::Word(word)) if known.contains(&word.as_str()) => Ok(()),
            _ => error(line, "a function or a variable is expected behind this directive"),
        }
    }

    /// After `.loc`: `1 30 7`, and where it was inlined. Its place among the locations.
    pub(super) fn location(&mut self, line: u32) -> Result<u32, PtxError> {
        let mut numbers = [0; 3];
        for number in &mut numbers {
            *number = match u32::try_from(self.integer()?) {
                Ok(number) => number,
                Err(_) => return error(line, "a number of `.loc` is out of range"),
            };
        }
        let [file, source_line, _] = numbers;
        let (mut function, mut call) = (None, None);
        while self.accept(',') {
            let word = self.word()?;
            match word.as_str() {
                "function_name" => {
                    let name = self.word()?;
                    if !is_name(&name) {
                        return error(line, format!("`{name}` is no name of a function"));
                    }
                    let offset = if self.accept('+') { self.integer()? } else { 0 };
                    function = Some(self.name_of(name, usize::try_from(offset).unwrap_or(usize::MAX), line));
                }
                "inlined_at" => {
                    let place = [self.integer()?, self.integer()?, self.integer()?];
                    call = self.places.get(&place).copied();
                    if call.is_none() {
                        return error(line, "`inlined_at` names a place that no `.loc` before it has");
                    }
                }
                _ => return error(line, format!("`{word}` belongs to no `.loc`")),
            }
        }
        // The files may be named behind the functions.
        self.located.entry(file).or_insert(line);
        let number = self.locations.len() as u32;
        self.locations.push(Location { file, line: source_line, inlined: function.zip(call) });
        self.places.insert(numbers.map(i128::from), number);
        Ok(number)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(here)) if here == word)
    }

    /// After `.entry` or `.func`. A prototype without a body gives `None`.
    pub(super) fn function(&mut self, entry: bool) -> Result<Option<Function>, PtxError> {
        let line = self.line();
        self.declared.push(HashSet::new());
        self.ranges.clear();
        let listed = if entry { Listed::OfKernel } else { Listed::OfFunction };
        let returns = if self.is('(') { self.parameters(listed)? } else { Vec::new() };
        let name = self.word()?;
        if !is_name(&name) {
            return error(line, format!("`{name}` is no name of a function"));
        }
        let params = if self.is('(') { self.parameters(listed)? } else { Vec::new() };
        if !entry {
            self.announced.entry(name.clone()).or_insert(line);
        }
        if let Some(known) = self.prototypes.get(&name) {
            let same = |a: &[Variable], b: &[Variable]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b));
            if entry || !same(&known.params, &params) || !same(&known.returns, &returns) {
                return error(line, format!("`{name}` was announced as another function"));
            }
        }
        let bounds = self.bounds(entry)?;
        if self.accept(';') {
            self.declared.pop();
            self.prototypes.insert(name, Prototype { returns, params, declared_at: 0 });
            return Ok(None);
        }
        // A function may be announced before it is defined.
        let fresh = self.declared.first_mut().is_none_or(|names| names.insert(name.clone()));
        if !fresh {
            return error(line, format!("`{name}` is defined twice"));
        }
        let mut function = Function {
            name,
            entry,
            line,
            bounds,
            returns,
            params,
            registers: HashMap::new(),
            register_ranges: Vec::new(),
            variables: Vec::new(),
            declared_at: Vec::new(),
            branch_targets: HashMap::new(),
            prototypes: HashMap::new(),
            call_targets: HashMap::new(),
            body: Vec::new(),
        };
        for variable in function.params.iter().chain(&function.returns).filter(|v| v.space == "reg") {
            let register = Register { kind: variable.kind.clone(), declared_at: 0 };
            function.registers.insert(variable.name.clone(), register);
        }
        self.body(&mut function)?;
        Ok(Some(function))
    }

    /// What stands between a function's parameters and its body.
    fn bounds(&mut self, entry: bool) -> Result<HashMap<String, Vec<u32>>, PtxError> {
        let mut bounds: HashMap<String, Vec<u32>> = HashMap::new();
        while !self.is('{') && !self.is(';') {
            let line = self.line();
            let word = self.word()?;
            let many = match word.as_str() {
                ".maxntid" | ".reqntid" | ".reqnctapercluster" if entry => 3,
                ".minnctapersm" | ".maxnctapersm" | ".maxnreg" | ".maxclusterrank" if entry => 1,
                ".explicitcluster" | ".blocksareclusters" if entry => 0,
                ".noreturn" if !entry => 0,
                ".pragma" => {
                    self.pragma(false)?;
                    continue;
                }
                _ => return error(line, format!("`{word}` is no directive of a function")),
            };
            let mut numbers = Vec::new();
            while numbers.len() < many {
                match u32::try_from(self.integer()?) {
                    Ok(number) if number > 0 => numbers.push(number),
                    _ => return error(line, format!("a number of `{word}` is out of range")),
                }
                if !self.accept(',') {
                    break;
                }
            }
            if bounds.insert(word[1..].to_string(), numbers).is_some() {
                return error(line, format!("`{word}` stands twice"));
            }
        }
        Ok(bounds)
    }
}
