//! Calls. A function's body stands in the place of its `call`, wherever it can: that costs nothing, and every kernel that
//! NVIDIA's compiler makes of a source without recursion and pointers to functions has no others. Recursive functions, and
//! those that a pointer may name, are decoded once each, behind the kernel, and called: see `machine/calls.rs`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::decode::{Decoder, MAX_INSTRUCTIONS};
use super::flow::{Item, Proto};
use super::names::plain_name;
use super::places::Place;
use super::*;
use crate::ptx::{self, Function, Instruction as Words, Operand, Source, Statement, error};
use crate::{Class, PtxError};

/// Bodies stand in each other's places this deep; what lies deeper is called.
const MAX_DEPTH: usize = 32;

/// From so many instructions on, bodies stand in nobody's place any more.
const MANY: usize = MAX_INSTRUCTIONS / 4;

/// Bytes of which every frame is a multiple.
pub(crate) const FRAME: u64 = 16;

/// A function that is called.
#[derive(Debug)]
pub(crate) struct Called {
    pub name: String,
    /// Its number among the module's functions, which its address says.
    pub number: u32,
    /// The block in which it begins.
    pub entry: u32,
    /// Bytes of its frame in local memory: parameters, results and variables.
    pub frame: u32,
    pub signature: Signature,
    /// Registers that some way through it reads before it sets them.
    pub unset: Vec<(File, Slot)>,
}

/// One `call` of such a function.
#[derive(Debug)]
pub(crate) struct CallSite {
    pub target: Target,
    /// Where it stands.
    pub spot: Option<u32>,
    /// The called function in which it stands; none in the kernel.
    pub caller: Option<u32>,
    pub signature: Signature,
    /// What the call hands over, and what it gets back.
    pub arguments: Vec<Piece>,
    pub results: Vec<Piece>,
    /// Registers that the caller reads after the call.
    pub saved: Vec<(File, Slot)>,
}

/// Whom a call is of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    /// One of `Program::called`.
    Function(u32),
    /// Whatever the pointer names, or one of these functions of the module.
    Pointer(Option<Vec<u32>>),
}

/// The sizes of what a function gives back and takes, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Signature {
    pub results: Vec<u64>,
    pub arguments: Vec<u64>,
}

/// Bytes that a call moves: from where in the caller's frame to where in the callee's, or back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Piece {
    pub outside: u64,
    pub inside: u64,
    pub bytes: u64,
}

/// A called function that may not be decoded yet.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    function: &'a Function,
    number: u32,
    /// The label at which it begins.
    pub entry: u32,
    frame: u64,
}

impl Draft<'_> {
    pub fn finish(self, entry: u32) -> Called {
        let signature = signature(&self.function.returns, &self.function.params);
        let (name, frame) = (plain_name(&self.function.name), self.frame as u32);
        Called { name, number: self.number, entry, frame, signature, unset: Vec::new() }
    }
}

fn signature(returns: &[ptx::Variable], params: &[ptx::Variable]) -> Signature {
    let sizes = |list: &[ptx::Variable]| list.iter().map(|v| v.bytes.unwrap_or_default()).collect();
    Signature { results: sizes(returns), arguments: sizes(params) }
}

/// Where parameters and results lie in a frame, and where it goes on behind them.
fn layout<'v>(variables: impl Iterator<Item = &'v ptx::Variable>) -> (Vec<u64>, u64) {
    let mut end = 0u64;
    let offsets = variables.map(|variable| {
        let at = end.next_multiple_of(variable.align);
        end = at + variable.bytes.unwrap_or_default();
        at
    });
    (offsets.collect(), end)
}

impl<'a> Decoder<'a> {
    /// `call (result), function, (arguments);`, or of a pointer: `call (result), %rd1, (arguments), prototype;`
    pub fn call(&mut self, words: &Words, guard: Option<Guard>) -> Result<(), PtxError> {
        let (result, rest) = match words.operands.as_slice() {
            [Operand::List(result), rest @ ..] => (&result[..], rest),
            rest => (&[][..], rest),
        };
        let (name, rest) = match rest {
            [Operand::Name(name), rest @ ..] => (name, rest),
            _ => return error(words.line, "`call` names no function"),
        };
        let (arguments, last) = match rest {
            [Operand::List(arguments), last @ ..] => (&arguments[..], last),
            last => (&[][..], last),
        };
        let last = match last {
            [] => None,
            [Operand::Name(last)] => Some(last),
            _ => {
                return error(
                    words.line,
                    "`call` with more behind its arguments than a list of targets or a prototype",
                );
            }
        };
        if self.register(name).is_some() {
            return self.call_pointer(words, guard, (name, last), (arguments, result));
        }
        let Some((number, callee)) = self.defined(name, words.line) else {
            if let Some(prototype) = self.source.prototypes.get(name) {
                let formals = (&prototype.params[..], &prototype.returns[..]);
                self.check_arguments(words, name, formals, (arguments, result))?;
            }
            return self.system_call(words, guard, name, arguments, result);
        };
        self.check_arguments(words, name, (&callee.params, &callee.returns), (arguments, result))?;
        let deep = self.frames.len() >= MAX_DEPTH || self.code.len().max(self.items.len()) > MANY;
        if deep || self.is_recursive(name) {
            let target = Target::Function(self.draft(number, callee));
            let formals = (&callee.params[..], &callee.returns[..]);
            return self.call_site(words, guard, (target, None), formals, (arguments, result));
        }
        let mut places = HashMap::new();
        let mut kept = Vec::new();
        for (formal, actual) in callee.params.iter().zip(arguments) {
            let place = self.handed_over(words, guard, formal, actual)?;
            places.insert(formal.name.clone(), place);
        }
        for (formal, actual) in callee.returns.iter().zip(result) {
            let place = self.brought_back(formal, actual, &mut kept)?;
            places.insert(formal.name.clone(), place);
        }
        let after = self.new_label();
        match guard {
            None => self.push_end(Proto::Fall, words, Some(Class::Branch)),
            Some(guard) => self.push_end(
                Proto::Branch(Guard { negated: !guard.negated, ..guard }, after),
                words,
                Some(Class::Branch),
            ),
        }
        self.function(callee, places, after)?;
        self.items.push(Item::Label(after));
        self.keep(words, guard, &kept);
        Ok(())
    }

    /// A call of what a register points to. `last` says what it takes: a list of functions, or a prototype.
    fn call_pointer(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        (name, last): (&str, Option<&String>),
        (arguments, result): (&[Operand], &[Operand]),
    ) -> Result<(), PtxError> {
        let pointer = self.source(&Operand::Name(name.to_string()), File::D, words.line)?;
        let Some(last) = last else {
            return error(
                words.line,
                format!("`call` of the pointer `{name}` without a prototype or a list of targets"),
            );
        };
        let (function, at) = (self.frame().function, self.frame().at);
        let prototype = function.prototypes.get(last).filter(|prototype| prototype.declared_at <= at);
        let targets = function.call_targets.get(last).filter(|(_, declared_at)| *declared_at <= at);
        let (formals, targets): ((&'a [ptx::Variable], &'a [ptx::Variable]), _) = match (prototype, targets) {
            (Some(prototype), _) => ((&prototype.params, &prototype.returns), None),
            (None, Some((targets, _))) => {
                let mut numbers = Vec::new();
                let mut first = None;
                for target in targets {
                    let Some((number, callee)) = self.defined(target, words.line) else {
                        let message = format!("`{last}` names `{target}`, which the module does not define");
                        return error(words.line, message);
                    };
                    self.check_arguments(words, target, (&callee.params, &callee.returns), (arguments, result))?;
                    numbers.push(number);
                    first.get_or_insert(callee);
                }
                let Some(first) = first else { return error(words.line, format!("`{last}` names no function")) };
                ((&first.params, &first.returns), Some(numbers))
            }
            (None, None) => {
                let message = format!("`{last}` is neither a prototype nor a list of call targets");
                return error(words.line, message);
            }
        };
        self.check_arguments(words, name, formals, (arguments, result))?;
        self.call_site(words, guard, (Target::Pointer(targets), Some(pointer)), formals, (arguments, result))
    }

    /// The number and the body of a function that the module defines, and has named by this line.
    pub fn defined(&self, name: &str, line: u32) -> Option<(u32, &'a Function)> {
        let number = *self.source.numbers.get(name)?;
        self.source.announced.get(name).filter(|announced| **announced <= line)?;
        Some((number, &self.source.functions[number as usize]))
    }

    /// Appends a call of a function that keeps its own place.
    fn call_site(
        &mut self,
        words: &Words,
        guard: Option<Guard>,
        (target, pointer): (Target, Option<Slot>),
        (params, returns): (&[ptx::Variable], &[ptx::Variable]),
        (arguments, result): (&[Operand], &[Operand]),
    ) -> Result<(), PtxError> {
        self.preset(File::D, Preset::Frame);
        let (offsets, _) = layout(params.iter().chain(returns));
        let (mut pieces, mut kept) = (Vec::new(), Vec::new());
        let actuals = arguments.iter().map(|actual| (actual, false)).chain(result.iter().map(|actual| (actual, true)));
        for ((formal, (actual, result)), inside) in params.iter().chain(returns).zip(actuals).zip(offsets) {
            let place = match result {
                false => self.handed_over(words, guard, formal, actual)?,
                true => self.brought_back(formal, actual, &mut kept)?,
            };
            if let Place::Local(outside) | Place::Frame(outside) = place {
                pieces.push(Piece { outside, inside, bytes: formal.bytes.unwrap_or_default() });
            }
        }
        let results = pieces.split_off(params.len());
        let site = self.calls.len() as u32;
        let (spot, caller, signature) = (self.spot_here(), self.inside, signature(returns, params));
        self.calls.push(CallSite { target, spot, caller, signature, arguments: pieces, results, saved: Vec::new() });
        let end = |decoder: &mut Self| decoder.push_end(Proto::Call(site, pointer), words, Some(Class::Branch));
        self.guarded(words, guard, end);
        self.keep(words, guard, &kept);
        Ok(())
    }

    /// Notes that a function is called; says the how manieth it is.
    fn draft(&mut self, number: u32, function: &'a Function) -> u32 {
        let known = self.called.iter().position(|draft| draft.number == number);
        let index = known.unwrap_or(self.called.len());
        if known.is_none() {
            let entry = self.new_label();
            self.called.push(Draft { function, number, entry, frame: 0 });
        }
        index as u32
    }

    /// Decodes the functions that are called, behind the kernel.
    pub fn called_functions(&mut self) -> Result<(), PtxError> {
        let (kernel_bytes, mut next) = (self.local_bytes, 0);
        let pointers = |call: &CallSite| matches!(call.target, Target::Pointer(_));
        loop {
            if next == self.called.len() {
                if !self.calls.iter().any(pointers) {
                    break;
                }
                for number in addressed(self.source) {
                    self.draft(number, &self.source.functions[number as usize]);
                }
                if next == self.called.len() {
                    break;
                }
            }
            let Draft { function, entry, .. } = self.called[next];
            self.inside = Some(next as u32);
            self.items.push(Item::Label(entry));
            let (offsets, end) = layout(function.params.iter().chain(&function.returns));
            self.local_bytes = end;
            let formals = function.params.iter().chain(&function.returns).zip(offsets);
            let places = formals.map(|(formal, at)| (formal.name.clone(), Place::Frame(at))).collect();
            let leave = self.new_label();
            self.function(function, places, leave)?;
            self.items.push(Item::Label(leave));
            self.items.push(Item::End(Proto::Leave, None));
            self.called[next].frame = self.local_bytes.next_multiple_of(FRAME).max(FRAME);
            next += 1;
        }
        (self.local_bytes, self.inside) = (kernel_bytes, None);
        Ok(())
    }

    fn is_recursive(&mut self, name: &str) -> bool {
        let source = self.source;
        self.recursive.get_or_insert_with(|| recursive(source)).contains(name)
    }
}

/// The functions that an instruction calls by name, or of which it takes the address.
fn mentioned<'a>(source: &'a Source, function: &'a Function) -> impl Iterator<Item = (bool, u32)> {
    let instructions = function.body.iter().filter_map(|statement| match statement {
        Statement::Instruction(words) => Some(words),
        Statement::Label(_) => None,
    });
    instructions.flat_map(move |words| {
        let called = words.opcode == "call" || words.opcode.starts_with("call.");
        let number = |operand: &Operand| match operand {
            Operand::Name(name) => source.numbers.get(name).copied(),
            _ => None,
        };
        words.operands.iter().filter_map(number).map(move |number| (called, number))
    })
}

/// The functions of which the module takes the address anywhere.
fn addressed(source: &Source) -> Vec<u32> {
    let within = source.functions.iter().flat_map(|function| mentioned(source, function));
    let taken = within.filter(|(called, _)| !called).map(|(_, number)| number);
    let inner = source.functions.iter().flat_map(|function| &function.variables);
    let words = source.variables.iter().chain(inner).flat_map(|variable| variable.init.chunks_exact(8));
    let begun = words.filter_map(|word| ptx::function_at(u64::from_le_bytes(word.try_into().unwrap_or_default())));
    let is_function = |number: &u32| source.functions.get(*number as usize).is_some_and(|function| !function.entry);
    let numbers: BTreeSet<u32> = taken.chain(begun).filter(is_function).collect();
    numbers.into_iter().collect()
}

/// The functions that call themselves, and those on ways between such: what is left once all are gone, time and again,
/// that call none or that none calls.
fn recursive(source: &Source) -> HashSet<&str> {
    let calls = |function| mentioned(source, function).filter(|(called, _)| *called).map(|(_, number)| number);
    let mut left: HashMap<u32, HashSet<u32>> =
        source.numbers.values().map(|n| (*n, calls(&source.functions[*n as usize]).collect())).collect();
    loop {
        let before = left.len();
        let called: HashSet<u32> = left.values().flatten().copied().collect();
        let stays = |number: &u32, calls: &HashSet<u32>, left: &HashMap<u32, HashSet<u32>>| {
            called.contains(number) && calls.iter().any(|called| left.contains_key(called))
        };
        let gone: Vec<u32> = left.iter().filter(|(n, calls)| !stays(n, calls, &left)).map(|(n, _)| *n).collect();
        gone.iter().for_each(|number| drop(left.remove(number)));
        if left.len() == before {
            return left.keys().map(|number| source.functions[*number as usize].name.as_str()).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_call_themselves_by_any_way_are_recursive() {
        let function = |name: &str, calls: &[&str]| {
            let calls: String = calls.iter().map(|called| format!("call {called};\n")).collect();
            format!(".func {name}()\n{{\n{calls}ret;\n}}\n")
        };
        let known = ["self", "a", "b", "c", "leaf", "from", "to", "x", "y"];
        let announced: String = known.iter().map(|name| format!(".func {name}();\n")).collect();
        let bodies = [
            function("self", &["self", "leaf"]),
            function("a", &["b"]),
            function("b", &["c", "leaf"]),
            function("c", &["a"]),
            function("leaf", &[]),
            function("from", &["a", "x", "leaf"]),
            function("to", &["leaf"]),
            function("x", &["y"]),
            function("y", &["to"]),
        ]
        .concat();
        let text = format!(".version 8.6\n.target sm_90\n.address_size 64\n{announced}{bodies}");
        let source = ptx::parse(&text).expect("it is right");
        let mut found: Vec<&str> = recursive(&source).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, ["a", "b", "c", "self"]);
    }
}
