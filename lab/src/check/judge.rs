//! A kernel against what an exercise asks of it.

use std::collections::BTreeMap;

use common::cli::Arguments;
use common::device::{Device, Extras};
use common::kernel::{INSTALL, Kernel as Compiled, nvrtc};
use common::problem::{Fill, Problem};
use common::report::Report;
use common::road::{Exam, Options, run_obtained};
use common::{Build, Error, Level};

use super::reading::{Number, read, shown};
use super::tables::{Condition, Ending, Kernel};

/// A line of the answer: a condition, and what became of it.
#[derive(Debug)]
pub struct Line {
    /// Whether it holds.
    pub met: bool,
    /// The condition, with the value and the limit.
    pub text: String,
}

/// What became of a run.
struct Ran {
    ending: Ending,
    /// The report, or what was said in its place.
    text: String,
    /// The kernel's PTX; empty where it does not compile.
    ptx: String,
}

/// Judges a level's kernel, whose text may be the reader's. An error where it cannot be known: no compiler.
pub fn judge(level: &'static Level, kernel: &Kernel) -> Result<Vec<Line>, Error> {
    let needs = |condition: &Condition| {
        condition.read.as_ref().is_some_and(|name| name.contains("registers") || name.contains("memory"))
    };
    let mut runs = Runs { level, resources: kernel.conditions.iter().any(needs), compiled: BTreeMap::new() };
    let mut lines = Vec::new();
    for words in &kernel.right {
        let ran = runs.run(words)?;
        let text = match ran.ending {
            Ending::Right => format!("right product: {words}"),
            _ => format!("right product: {words}: {}", ran.why()),
        };
        lines.push(Line { met: ran.ending == Ending::Right, text });
    }
    let ran = runs.run(&kernel.run)?;
    lines.extend(kernel.conditions.iter().map(|condition| condition.line(&ran)));
    Ok(lines)
}

struct Runs {
    level: &'static Level,
    /// Whether it matters how many registers it needs, which takes the compiler long.
    resources: bool,
    /// By configuration: what it was compiled to.
    compiled: BTreeMap<String, Compiled>,
}

impl Runs {
    fn run(&mut self, words: &str) -> Result<Ran, Error> {
        match self.report(words) {
            Ok(report) => {
                let text = format!("{report}{}", beside(&report));
                Ok(Ran { ending: Ending::of(&text), text, ptx: report.kernel.ptx })
            }
            Err(Error::Fault(text)) => Ok(Ran { ending: Ending::Fault, text, ptx: String::new() }),
            // Nothing that the kernel could be blamed for.
            Err(error) if error.to_string().contains("there is no compiler") => Err(error),
            Err(Error::Usage { message, .. }) => Ok(Ran { ending: Ending::Refused, text: message, ptx: String::new() }),
        }
    }

    /// From what is shipped, if that is the reader's; else by NVRTC.
    fn compile(&self, build: &Build, architecture: u32) -> Result<Compiled, Error> {
        if let Ok(shipped) = Compiled::obtain(build, architecture, nvrtc::nowhere) {
            return Ok(shipped);
        }
        let compiler = nvrtc::find().map_err(|_| {
            let what = "this kernel is not the shipped one, and there is no compiler, NVRTC, to make PTX of it";
            Error::usage(what, format!("{INSTALL}; answers, `--answer`, need none"))
        })?;
        let architectures = if self.resources { vec![architecture] } else { Vec::new() };
        Compiled::compile(build, &architectures, compiler)
    }

    fn report(&mut self, words: &str) -> Result<Report, Error> {
        let split = words.split_whitespace().map(str::to_string);
        let arguments = Arguments::from_words(self.level, split)
            .map_err(|error| Error::usage(error.to_string(), "the table of the lesson's checks is wrong"))?;
        let build = arguments.build(self.level)?;
        let plan = build.plan(arguments.shape())?;
        let gpu = arguments.modelled_gpu()?;
        let configuration = build.configuration.to_string();
        if !self.compiled.contains_key(&configuration) {
            let compiled = self.compile(&build, gpu.sm())?;
            self.compiled.insert(configuration.clone(), compiled);
        }
        let problem = Problem::new(arguments.shape(), build.configuration.dtype, Fill::Reals, arguments.seed)?;
        let exam = Exam { problem: &problem, seed: arguments.seed, reference: None };
        let options = Options { gpu, extras: Extras::new(false, true), annotate: false, matrices: false };
        run_obtained(&plan, &self.compiled[&configuration], &Device::Emulator, exam, &options)
    }
}

/// What follows from a report's numbers.
fn beside(report: &Report) -> String {
    let text = report.to_string();
    let Some(barriers) = read(&text, "# barriers (per warp)") else { return String::new() };
    let launch = &report.launch;
    let warps = launch.grid.count() * launch.block.count().div_ceil(32);
    let steps = u64::from(report.shape.k.div_ceil(launch.tile.k));
    format!("\n            {:.2} barriers a step\n", barriers.value / (warps * steps) as f64)
}

impl Ran {
    /// In one line, why the product is not right.
    fn why(&self) -> &str {
        let wrong = self.text.lines().find(|line| line.starts_with("check"));
        let first = || self.text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        wrong.map_or_else(first, |line| line.trim_start_matches("check").trim())
    }
}

impl Condition {
    fn line(&self, ran: &Ran) -> Line {
        if let Some(ending) = self.ending {
            let how = if ran.ending == ending { String::new() } else { format!(": {}", ran.why()) };
            let text = format!("the run ends {}, must end {}{how}", ran.ending.word(), ending.word());
            return Line { met: ran.ending == ending, text };
        }
        if let Some(words) = &self.says {
            let met = ran.text.contains(words.as_str());
            let text = match met {
                true => format!("says `{words}`"),
                false => format!("must say `{words}`, and says: {}", ran.why()),
            };
            return Line { met, text };
        }
        if let Some(instruction) = &self.instruction {
            let met = ran.ptx.contains(instruction.as_str());
            let text = format!("{} `{instruction}`", if met { "executes" } else { "must execute" });
            return Line { met, text };
        }
        let name = self.read.as_deref().unwrap_or_default();
        let limit = match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if least == most => format!("must be {}", limit(least)),
            (Some(least), Some(most)) => format!("from {} to {}", limit(least), limit(most)),
            (Some(least), None) => format!("at least {}", limit(least)),
            (_, most) => format!("at most {}", limit(most.unwrap_or(0.0))),
        };
        let name_shown = shown(name);
        match read(&ran.text, name) {
            Some(number) => {
                let low = self.at_least.is_none_or(|least| number.value >= least);
                let high = self.at_most.is_none_or(|most| number.value <= most);
                Line { met: low && high, text: format!("{name_shown} is {number}, {limit}") }
            }
            None if ran.ending == Ending::Right => {
                Line { met: false, text: format!("{name_shown}: there are none, {limit}") }
            }
            None => Line { met: false, text: format!("{name_shown} {limit}; not counted: {}", ran.why()) },
        }
    }
}

/// A limit as reports write numbers: with two decimals, if it is no whole number.
fn limit(value: f64) -> Number {
    Number { value, digits: if value.fract() == 0.0 { 0 } else { 2 } }
}
