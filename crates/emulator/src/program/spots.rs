//! Where instructions come from: their lines, and through which calls the kernel comes there. What is inlined from a header
//! counts, and is told, at the line of the kernel's own file that calls it.

use std::collections::HashMap;
use std::sync::Arc;

use super::decode::Decoder;
use super::names::function_name;
use crate::fault::Step;
use crate::ptx::{Function, Location, Source, Statement};

/// Calls that are followed from an instruction on.
pub(crate) const DEEP: usize = 256;

/// A line of a function, and where that is called.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    /// Index into `Program::files`, if the line is known.
    pub file: Option<u32>,
    pub line: u32,
    pub function: Arc<str>,
    /// The spot of the call, among the program's; none of what is called from no place of its own.
    pub called_at: Option<u32>,
}

/// The spots of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    pub all: Vec<Spot>,
    /// The kernel's own file, if it is known.
    home: Option<u32>,
}

type Key = (u32, Option<u32>, u32);

/// Spots while a kernel is decoded.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub all: Spots,
    /// By location, call of the function, and the line of the function in the PTX.
    known: HashMap<Key, u32>,
    /// The one that was asked for last: instructions of a line stand side by side.
    last: Option<(Key, u32)>,
    names: HashMap<String, Arc<str>>,
}

impl Draft {
    fn name(&mut self, mangled: &str) -> Arc<str> {
        if !self.names.contains_key(mangled) {
            self.names.insert(mangled.to_string(), Arc::from(function_name(mangled)));
        }
        self.names[mangled].clone()
    }
}

impl Spots {
    /// A spot, and those of the calls that lead there, from the innermost.
    pub fn from(&self, spot: Option<u32>) -> impl Iterator<Item = &Spot> {
        let find = |at: u32| self.all.get(at as usize);
        std::iter::successors(spot.and_then(find), move |spot| spot.called_at.and_then(find)).take(DEEP)
    }

    /// Which of the spots, from the innermost, is the one to tell: the first in the kernel's own file, else the innermost.
    pub fn told<'s>(&self, mut from: impl Iterator<Item = &'s Spot>) -> usize {
        from.position(|spot| spot.file.is_some() && spot.file == self.home).unwrap_or_default()
    }

    /// The file, as an index, and the line at which an instruction counts; line 0 for none.
    pub fn counted(&self, spot: u32) -> (u32, u32) {
        let told = self.told(self.from(Some(spot)));
        let found = self.from(Some(spot)).nth(told).and_then(|spot| Some((spot.file?, spot.line)));
        found.unwrap_or_default()
    }
}

impl Spot {
    /// As a person is told of it, where its line is known.
    pub fn step(&self, files: &[Arc<str>]) -> Option<Step> {
        let file = files.get(self.file? as usize)?.clone();
        Some(Step { function: self.function.clone(), file, line: self.line })
    }
}

impl<'a> Decoder<'a> {
    /// The spot of a location in the function at hand.
    pub fn spot(&mut self, location: u32) -> u32 {
        let source = self.source;
        let at = |location: u32| source.locations.get(location as usize).copied().unwrap_or_default();
        let (function, line, called_at) = match self.frames.last() {
            Some(frame) => (frame.function.name.as_str(), frame.function.line, frame.called_at),
            None => ("", 0, None),
        };
        let key = (location, called_at, line);
        if let Some((_, known)) = self.spots.last.filter(|(last, _)| *last == key) {
            return known;
        }
        let (mut outer, mut next, mut new) = (called_at, Some(location), Vec::new());
        while let Some(location) = next {
            if let Some(&known) = self.spots.known.get(&(location, called_at, line)) {
                outer = Some(known);
                break;
            }
            new.push(location);
            next = at(location).inlined.map(|(_, call)| call);
        }
        for location in new.into_iter().rev() {
            let Location { file, line: source_line, inlined } = at(location);
            let inlined = inlined.and_then(|(name, _)| source.inlined.get(name as usize));
            let function = self.spots.name(inlined.map_or(function, String::as_str));
            let file = self.file_number(file).filter(|_| source_line > 0);
            let number = self.spots.all.all.len() as u32;
            self.spots.all.all.push(Spot { file, line: source_line, function, called_at: outer });
            self.spots.known.insert((location, called_at, line), number);
            outer = Some(number);
        }
        let spot = outer.unwrap_or_default();
        self.spots.last = Some((key, spot));
        spot
    }

    /// The spot of the statement at hand.
    pub fn spot_here(&mut self) -> Option<u32> {
        let frame = self.frames.last()?;
        match frame.function.body.get(frame.at) {
            Some(Statement::Instruction(words)) => Some(self.spot(words.loc)),
            _ => None,
        }
    }

    /// Notes in which file the kernel is written.
    pub fn note_home(&mut self, kernel: &Function) {
        let home = home(self.source, kernel);
        self.spots.all.home = home.and_then(|number| self.file_number(number));
    }
}

/// The number of the file in which a function is written: that of its first line.
fn home(source: &Source, function: &Function) -> Option<u32> {
    let instructions = function.body.iter().filter_map(|statement| match statement {
        Statement::Instruction(words) => Some(words.loc),
        Statement::Label(_) => None,
    });
    let outermost = |location: u32| {
        let outer = |at: &u32| source.locations.get(*at as usize)?.inlined.map(|(_, call)| call);
        let last = std::iter::successors(Some(location), outer).last()?;
        source.locations.get(last as usize)
    };
    instructions.filter_map(outermost).find(|location| location.line > 0).map(|location| location.file)
}
