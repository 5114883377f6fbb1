//! PTX as text: tokens, and the syntax tree of a module. Nothing here knows what an instruction means.

mod constants;
mod directives;
mod operands;
mod parse;
mod sections;
mod token;
mod variables;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use parse::parse;
pub(crate) use variables::type_bytes;

use crate::PtxError;

pub(crate) fn error<T>(line: u32, message: impl Into<String>) -> Result<T, PtxError> {
    Err(PtxError { line, message: message.into(), hint: None })
}

/// A module: functions, module-level variables and the table of source files.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The GPU of `.target`: `sm_` this.
    pub architecture: u32,
    /// And no other: `sm_90a`.
    pub only: bool,
    pub functions: Vec<Function>,
    pub variables: Vec<Variable>,
    pub files: HashMap<u32, Arc<str>>,
    /// The places that `.loc` directives name; the first stands for none.
    pub locations: Vec<Location>,
    /// Names of functions that compilers have inlined, as `.loc` directives refer to them.
    pub inlined: Vec<String>,
    /// Where each function that is no kernel stands among them.
    pub numbers: HashMap<String, u32>,
    /// The line from which on a function's name is known.
    pub announced: HashMap<String, u32>,
    /// What the functions are that the module announces.
    pub prototypes: HashMap<String, Prototype>,
}

/// The first function has this address: above all memory.
const FUNCTIONS: u64 = 0x7f80_0000_0000_0000;
/// Between the addresses of two functions.
const FUNCTION_GAP: u64 = 1 << 7;

/// The address of a function, by its number.
pub(crate) fn function_address(number: u32) -> u64 {
    FUNCTIONS + u64::from(number) * FUNCTION_GAP
}

/// The number of the function that would have this address.
pub(crate) fn function_at(address: u64) -> Option<u32> {
    let from = address.checked_sub(FUNCTIONS).filter(|from| from % FUNCTION_GAP == 0)?;
    u32::try_from(from / FUNCTION_GAP).ok()
}

impl Source {
    /// Numbers the functions, and puts their addresses where variables begin with them.
    fn number_functions(&mut self) {
        let numbered = self.functions.iter().enumerate().filter(|(_, function)| !function.entry);
        self.numbers = numbered.map(|(number, function)| (function.name.clone(), number as u32)).collect();
        let inner = self.functions.iter_mut().flat_map(|function| &mut function.variables);
        for variable in self.variables.iter_mut().chain(inner) {
            let Variable { addresses, init, .. } = variable;
            addresses.retain(|(offset, name, plus)| match self.numbers.get(name) {
                Some(number) if *plus == 0 => {
                    let place = *offset as usize..*offset as usize + 8;
                    init[place].copy_from_slice(&function_address(*number).to_le_bytes());
                    false
                }
                _ => true,
            });
        }
    }
}

/// A place of the source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Location {
    /// The file's number, and the line.
    pub file: u32,
    pub line: u32,
    /// Of an inlined function: its name, among the module's, and the location of its call.
    pub inlined: Option<(u32, u32)>,
}

/// An `.entry` or a `.func` with its body.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: String,
    pub entry: bool,
    pub line: u32,
    /// What the function is bound to: the numbers of `maxntid`, `reqntid` and the like.
    pub bounds: HashMap<String, Vec<u32>>,
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    /// Registers by name; a declaration `%r<30>` stands for `%r0` to `%r29`.
    pub registers: HashMap<String, Register>,
    pub register_ranges: Vec<(String, u32, Register)>,
    /// Shared, local and param variables that the body declares.
    pub variables: Vec<Variable>,
    /// For each of the variables, how many statements stand before its declaration.
    pub declared_at: Vec<usize>,
    /// Labels of `brx.idx`, by the name of their list.
    pub branch_targets: HashMap<String, Vec<String>>,
    /// What functions look like that are called by their address, by the name of the `.callprototype`.
    pub prototypes: HashMap<String, Prototype>,
    /// Functions of which a call takes one, and how many statements stand before the list, by the name of the `.calltargets`.
    pub call_targets: HashMap<String, (Vec<String>, usize)>,
    pub body: Vec<Statement>,
}

/// What a function takes and gives back.
#[derive(Debug, Default)]
pub(crate) struct Prototype {
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    /// How many statements of the body stand before it.
    pub declared_at: usize,
}

/// The type of registers, and how many statements of the body stand before their declaration.
#[derive(Debug, Clone)]
pub(crate) struct Register {
    pub kind: String,
    pub declared_at: usize,
}

/// A variable outside the registers.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub name: String,
    /// `shared`, `local`, `param`, `global` or `const`.
    pub space: String,
    pub align: u64,
    /// The element's type, for instance `u64`.
    pub kind: String,
    /// Size in bytes; `None` for an unsized `extern` array (dynamic shared memory).
    pub bytes: Option<u64>,
    /// Initial bytes, where the variable has an initialiser.
    pub init: Vec<u8>,
    /// Addresses among them: their offset, whose they are, and what is added.
    pub addresses: Vec<(u64, String, i64)>,
}

/// A step of a body.
#[derive(Debug)]
pub(crate) enum Statement {
    Label(String),
    Instruction(Instruction),
}

/// One instruction, still in words.
#[derive(Debug, Clone)]
pub(crate) struct Instruction {
    /// Line in the PTX text.
    pub line: u32,
    /// The `.loc` in force, among the module's locations.
    pub loc: u32,
    /// Guard predicate, and whether it is negated.
    pub guard: Option<(String, bool)>,
    pub opcode: String,
    pub operands: Vec<Operand>,
}

/// An operand, still in words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// A register, special register, variable, label or function; `!` before a predicate.
    Name(String),
    Not(String),
    Integer(i128),
    /// The bits of `0f…`.
    F32(u32),
    /// The bits of `0d…`.
    F64(u64),
    /// `[base + offset]`; no base for an absolute address.
    Address(Option<String>, i64),
    /// `[base, {c0, c1, …}]`: a place in a tensor, by its map and its coordinates.
    Tensor(String, Vec<Operand>),
    /// `name + offset` outside brackets.
    Offset(String, i64),
    /// `{a, b, …}`, and the parenthesised lists of `call`.
    List(Vec<Operand>),
    /// `a|b`: two destinations.
    Pair(Box<Operand>, Box<Operand>),
}
