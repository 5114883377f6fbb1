//! A kernel against what an exercise asks of it.

use std::collections::{BTreeMap, BTreeSet};

use common::cli::Arguments;
use common::road::run_obtained;
use device::{Device, nvrtc};
use emulator::{AccessKind, Memory};
use gemm::candidate::{Exam, Options};
use gemm::emulated::{recorded, traced};
use gemm::facts::Extras;
use gemm::kernel::{INSTALL, Kernel as Compiled};
use gemm::numbers::{self, Numbers};
use gemm::problem::{Fill, Problem};
use gemm::report::{Report, WRONG};
use gemm::{Build, Dim3, Error, Level, Plan, Text};

use super::distance::{DISTANCE, distance};
use super::reading::{Number, read, shown};
use super::tables::{Condition, Ending, Kernel};
use crate::words::say;

/// Where a kernel cannot be compiled.
fn no_compiler() -> String {
    say("this kernel is not the shipped one, and there is no compiler, NVRTC, to make PTX of it", &[])
}

/// A line of the answer: a condition, and what became of it.
#[derive(Debug)]
pub struct Line {
    /// Whether it holds.
    pub met: bool,
    /// The condition, with the value and the limit.
    pub text: String,
    /// The number that the condition is on: its name, and the value.
    pub number: Option<(String, Number)>,
}

impl Line {
    fn of(met: bool, text: String) -> Line {
        Line { met, text, number: None }
    }
}

/// What became of a run.
struct Ran {
    ending: Ending,
    /// The report, or what was said in its place.
    text: String,
    /// In a line, why the product is not right.
    why: String,
    /// The numbers of the report, if there is one.
    numbers: Numbers,
    /// The kernel's PTX; empty where it does not compile.
    ptx: String,
}

/// Judges a level's kernel, whose text may be the reader's. An error where it cannot be known: no compiler.
pub fn judge(level: &'static Level, text: Text, kernel: &Kernel) -> Result<Vec<Line>, Error> {
    let needs = |condition: &Condition| {
        condition.read.as_ref().is_some_and(|name| name.contains("registers") || name.contains("memory"))
    };
    let asks = |words: &str| kernel.conditions.iter().any(|c| c.read.as_ref().is_some_and(|name| name.contains(words)));
    let (resources, order, distance) = (kernel.conditions.iter().any(needs), asks(FIRST), asks(DISTANCE));
    let mut runs = Runs { level, text, resources, order, distance, compiled: BTreeMap::new() };
    let (mut lines, mut told) = (Vec::new(), Told::default());
    for words in &kernel.right {
        let ran = runs.run(words)?;
        let text = match ran.ending {
            Ending::Right => say("right product: {0}", &[words]),
            _ => say("right product: {0}: {1}", &[words, &told.once(&ran.why)]),
        };
        lines.push(Line::of(ran.ending == Ending::Right, text));
    }
    let ran = runs.run(&kernel.run)?;
    lines.extend(kernel.conditions.iter().map(|condition| condition.line(&ran, &mut told)));
    Ok(lines)
}

struct Runs {
    level: &'static Level,
    /// The reader's kernel, or the level's own.
    text: Text,
    /// Whether it matters how many registers it needs, which takes the compiler long.
    resources: bool,
    /// Whether it matters in what order blocks take their tiles.
    order: bool,
    /// Whether it matters how far loads stand from what uses them.
    distance: bool,
    /// By configuration: what it was compiled to.
    compiled: BTreeMap<String, Compiled>,
}

impl Runs {
    fn run(&mut self, words: &str) -> Result<Ran, Error> {
        match self.report(words) {
            Ok((report, numbers)) => {
                let ending = if report.check.right { Ending::Right } else { Ending::Wrong };
                let why = numbers.fill(WRONG);
                Ok(Ran { ending, text: report.to_string(), why, numbers, ptx: report.kernel.ptx })
            }
            Err(Error::Fault(text)) => Ok(Ran::without_report(Ending::Fault, text)),
            // Nothing that the kernel could be blamed for.
            Err(error) if error.to_string().contains(&no_compiler()) => Err(error),
            Err(Error::Usage { message, .. }) => Ok(Ran::without_report(Ending::Refused, message)),
        }
    }

    /// From what is shipped, if that is the reader's; else by NVRTC.
    fn compile(&self, build: &Build, architecture: u32) -> Result<Compiled, Error> {
        if let Ok(shipped) = Compiled::obtain(build, architecture, nvrtc::nowhere) {
            return Ok(shipped);
        }
        let compiler = nvrtc::find()
            .map_err(|_| Error::usage(no_compiler(), say("{0}; answers, `--answer`, need none", &[&INSTALL])))?;
        let architectures = if self.resources { vec![architecture] } else { Vec::new() };
        Compiled::compile(build, &architectures, compiler)
    }

    /// The report, and its numbers, with those that follow from a trace or a record of the launch.
    fn report(&mut self, words: &str) -> Result<(Report, Numbers), Error> {
        let split = words.split_whitespace().map(str::to_string);
        let arguments = Arguments::from_words(self.level, split)
            .map_err(|error| Error::usage(error.to_string(), say("the table of the lesson's checks is wrong", &[])))?;
        let asked = arguments.asked(self.level)?;
        let build = asked.build.with_text(self.text.clone());
        let (plan, gpu) = (build.plan_in(asked.shape, asked.form)?, asked.options.gpu);
        let configuration = build.configuration.to_string();
        if !self.compiled.contains_key(&configuration) {
            let compiled = self.compile(&build, gpu.sm())?;
            self.compiled.insert(configuration.clone(), compiled);
        }
        let problem = plan.problem(Fill::Reals, asked.seed)?;
        let exam = Exam { problem: &problem, seed: asked.seed, reference: None };
        let options = Options { gpu, extras: Extras::new(false, true), annotate: false, matrices: false };
        let compiled = &self.compiled[&configuration];
        let report = run_obtained(&plan, compiled, &Device::Emulator, exam, &options)?;
        let mut numbers = report.numbers();
        if self.order {
            numbers.extend([in_order(&plan, compiled, &problem)?]);
        }
        if self.distance {
            numbers.extend(apart(&plan, compiled, &problem)?);
        }
        Ok((report, numbers))
    }
}

/// Blocks that start together, as far as a check looks: so many as [`FIRST`] says.
const TOGETHER: u64 = 32;
/// What a condition on the order of blocks reads.
const FIRST: &str = "rows and columns for the first 32 blocks";

/// How much of A and B the first blocks ask L2 for: rows of A and columns of B, told by the elements of C that they store.
fn in_order(plan: &Plan, compiled: &Compiled, problem: &Problem) -> Result<numbers::Number, Error> {
    let task = plan.task(compiled);
    let grid = task.launch.grid;
    let first = |block: Dim3| {
        let [x, y, z] = [block.x, block.y, block.z].map(u64::from);
        x + u64::from(grid.x) * (y + u64::from(grid.y) * z) < TOGETHER
    };
    let accesses = traced(&task, problem, Extras::new(false, true), first)?;
    let bytes = problem.dtype.output.bytes() as u64;
    let columns = u64::from(problem.shape.n);
    let stores = accesses.iter().filter(|access| access.kind == AccessKind::Store && access.memory == Memory::Global);
    let (mut down, mut across) = (BTreeSet::new(), BTreeSet::new());
    for (access, lane) in stores.flat_map(|access| access.lanes.iter().map(move |lane| (access, lane))) {
        let element = lane.offset / bytes;
        down.insert(element / columns);
        across.extend((0..u64::from(access.bytes) / bytes).map(|more| element % columns + more));
    }
    Ok(numbers::Number::counted(FIRST, (down.len() + across.len()) as u64))
}

/// How far the first block's loads from shared memory stand from what uses them.
fn apart(plan: &Plan, compiled: &Compiled, problem: &Problem) -> Result<Option<numbers::Number>, Error> {
    let first = |block: Dim3| (block.x, block.y, block.z) == (0, 0, 0);
    let stream = recorded(&plan.task(compiled), problem, Extras::new(false, false), first)?;
    Ok(distance(&stream).map(|apart| numbers::Number::counted(DISTANCE, apart)))
}

/// Reasons that stand in a line already.
#[derive(Default)]
struct Told(BTreeSet<String>);

impl Told {
    /// The reason, or that it stands above.
    fn once(&mut self, why: &str) -> String {
        match self.0.insert(why.to_string()) {
            true => why.to_string(),
            false => say("as above", &[]),
        }
    }
}

impl Ran {
    /// Of a run that came to no report.
    fn without_report(ending: Ending, text: String) -> Ran {
        let why = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string();
        Ran { ending, text, why, numbers: Numbers::default(), ptx: String::new() }
    }

    /// The number of this name: of the report; of a fault, between these words of its message.
    fn number(&self, name: &str) -> Option<Number> {
        match self.ending {
            Ending::Fault => read(&self.text, name),
            _ => self.numbers.get(name).map(|number| Number::rounded(number.value, number.digits)),
        }
    }
}

impl Condition {
    fn line(&self, ran: &Ran, told: &mut Told) -> Line {
        if let Some(ending) = self.ending {
            let met = ran.ending == ending;
            let ends = [ran.ending.word(), ending.word()];
            let text = match met {
                true => say("the run ends `{0}`, as it must", &[&ends[0]]),
                false => say("the run ends `{0}`, must end `{1}`: {2}", &[&ends[0], &ends[1], &told.once(&ran.why)]),
            };
            return Line::of(met, text);
        }
        if let Some(words) = &self.says {
            let met = ran.text.contains(words.as_str());
            let text = match met {
                true => say("says `{0}`", &[words]),
                false => say("must say `{0}`, and says: {1}", &[words, &told.once(&ran.why)]),
            };
            return Line::of(met, text);
        }
        if let Some(instruction) = &self.instruction {
            let met = ran.ptx.contains(instruction.as_str());
            let text = match met {
                true => say("executes `{0}`", &[instruction]),
                false => say("must execute `{0}`", &[instruction]),
            };
            return Line::of(met, text);
        }
        let name = self.read.as_deref().unwrap_or_default();
        let limit = match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if least == most => say("must be {0}", &[&limit(least)]),
            (Some(least), Some(most)) => say("from {0} to {1}", &[&limit(least), &limit(most)]),
            (Some(least), None) => say("at least {0}", &[&limit(least)]),
            (_, most) => say("at most {0}", &[&limit(most.unwrap_or(0.0))]),
        };
        let name_shown = shown(name);
        match ran.number(name) {
            Some(number) => {
                let low = self.at_least.is_none_or(|least| number.value >= least);
                let high = self.at_most.is_none_or(|most| number.value <= most);
                let text = say("{0} is {1}, {2}", &[&name_shown, &number, &limit]);
                Line { met: low && high, text, number: Some((name_shown, number)) }
            }
            None if ran.ending == Ending::Right => {
                Line::of(false, say("the report does not have `{0}`, {1}", &[&name_shown, &limit]))
            }
            None => {
                let text = say("{0} {1}; not counted: {2}", &[&name_shown, &limit, &told.once(&ran.why)]);
                Line::of(false, text)
            }
        }
    }
}

/// A limit as reports write numbers: with two decimals, if it is no whole number.
fn limit(value: f64) -> Number {
    Number { value, digits: if value.fract() == 0.0 { 0 } else { 2 } }
}
