//! Every wrong version of a level's kernel must be refused by the compiler, convicted by the emulator, or
//! give a wrong product; those that survive are explained. The record says which was caught how.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use emulator::{FaultKind, Launch, LaunchError, Module, Schedule};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::mutants::{Mutant, mutants, rules};
use super::{awkward_shapes, compiler, form_of, skipped, whole_vectors};
use rung::Build;
use rung::check::Check;
use rung::emulated::arguments;
use rung::form::Form;
use rung::kernel::{Compiler, Kernel};
use rung::problem::{Fill, Problem};
use rung::{Configuration, Decomposition, Dtype, Level, Parameter, Shape};

/// Warp instructions of one thread block, after which a mutant counts as stuck.
const INSTRUCTION_LIMIT: u64 = 10_000_000;

const SAME_CODE: &str = "same code";

/// Runs of mutants that a test makes each time. Of a level that has more, it takes some from all over the kernel, each of which must
/// be caught or explained, and all with `ALL_MUTATIONS=1`.
const USUAL: usize = 200;
/// How many it takes then.
const SAMPLE: usize = 60;

/// What became of a level's mutants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The command that makes this record.
    pub made_by: String,
    /// The compiler's version.
    pub compiler: String,
    /// Tile sizes, element types and variants in which each mutant ran. Where nothing caught it there, or its code was the
    /// kernel's own, it ran with all other tile sizes that are shipped, until one caught it. A kernel of tensor
    /// maps runs in one combination of types, and in the others last; one whose blocks go on to other tiles has two clusters.
    pub configurations: Vec<String>,
    /// Problems that each mutant ran on, until one caught it.
    pub shapes: Vec<String>,
    /// Mutants, each in every configuration.
    pub mutants: usize,
    /// How many were caught how, over all rules.
    pub caught: BTreeMap<String, usize>,
    /// The same by rule.
    pub rules: BTreeMap<String, BTreeMap<String, usize>>,
    /// Mutants of which the compiler makes the instructions of the kernel itself: written otherwise, and not wrong.
    pub same_code: usize,
    /// The other mutants that nothing caught.
    pub survivors: Vec<Survivor>,
}

/// A mutant that nothing caught.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survivor {
    /// The rule that made it.
    pub rule: String,
    /// The line of kernel.cu, from 1.
    pub number: usize,
    /// Its text.
    pub line: String,
    /// What was replaced.
    pub before: String,
    /// What by.
    pub after: String,
    /// The configurations in which it survived.
    pub configurations: Vec<String>,
    /// Why no run can catch it.
    pub reason: String,
}

/// The committed record is whole and, where NVRTC is at hand, what a run gives: of the many mutants of a large kernel, a
/// sample is caught or explained, unless `ALL_MUTATIONS=1` asks for all. With `UPDATE_MUTATIONS=1` it is written anew;
/// the reasons of known survivors are kept.
/// `without` are the rules that find nothing in this kernel: any other finds something.
pub fn record_holds(level: &'static Level, without: &[&str], committed: &str, file: &Path) -> Result<(), String> {
    let made = mutants(level.source);
    let idle: Vec<&str> = rules().filter(|rule| !made.iter().any(|mutant| mutant.rule == *rule)).collect();
    if idle != without {
        return Err(format!("the rules {idle:?} find nothing in {}, and {without:?} are said to", level.path));
    }
    let old: Option<Record> = serde_json::from_str(committed).ok();
    let update = std::env::var_os("UPDATE_MUTATIONS").is_some();
    if !update {
        is_whole(level, old.as_ref().ok_or(format!("{} is no record of mutants", file.display()))?)?;
    }
    let Some(compiler) = compiler() else { return Ok(()) };
    let all = update || std::env::var_os("ALL_MUTATIONS").is_some();
    if let (false, Some(old)) = (all, &old)
        && old.mutants > USUAL
    {
        return sample_holds(level, compiler, old);
    }
    let mut new = run(level, compiler)?;
    let reasons: Vec<Survivor> = old.iter().flat_map(|old| old.survivors.clone()).collect();
    for survivor in &mut new.survivors {
        let known = reasons.iter().find(|known| known.same_change(survivor));
        survivor.reason = known.map(|known| known.reason.clone()).unwrap_or_default();
    }
    if update {
        let text = serde_json::to_string_pretty(&new).map_err(|e| e.to_string())? + "\n";
        std::fs::write(file, text).map_err(|e| e.to_string())?;
        return is_whole(level, &new);
    }
    match old {
        Some(old) if old.compiler != new.compiler => {
            skipped(&format!("the record of mutants is by NVRTC {}, and this is {}", old.compiler, new.compiler));
            Ok(())
        }
        Some(old) if old == new => Ok(()),
        _ => Err(format!("the record of mutants is stale: run `{}`; now: {new:#?}", new.made_by)),
    }
}

/// The record is one of this kernel, and explains every survivor.
fn is_whole(level: &'static Level, record: &Record) -> Result<(), String> {
    let mutants = mutants(level.source);
    let runs = mutants.len() * builds(level).len();
    let caught: usize = record.caught.values().sum();
    let survived: usize = record.survivors.iter().map(|survivor| survivor.configurations.len()).sum();
    if record.mutants != runs || caught + record.same_code + survived != runs {
        return Err(format!(
            "{runs} mutants of {}, and the record has {}: {caught} caught, {} of the same code, {survived} survived: run `{}`",
            level.path, record.mutants, record.same_code, record.made_by
        ));
    }
    for survivor in &record.survivors {
        let is_it = |mutant: &Mutant| Survivor::new(level, mutant).same_place(survivor);
        if !mutants.iter().any(is_it) {
            return Err(format!("a survivor is no mutant of {} any more: {survivor:#?}", level.path));
        }
        if survivor.reason.trim().is_empty() {
            return Err(format!("a mutant survives, and nothing explains it: {survivor:#?}"));
        }
    }
    Ok(())
}

impl Survivor {
    fn new(level: &'static Level, mutant: &Mutant) -> Survivor {
        Survivor {
            rule: mutant.rule.to_string(),
            number: mutant.line,
            line: level.source.lines().nth(mutant.line - 1).unwrap_or_default().trim().to_string(),
            before: mutant.before.clone(),
            after: mutant.after.clone(),
            configurations: Vec::new(),
            reason: String::new(),
        }
    }

    /// The same change of the same text, wherever it stands now.
    fn same_change(&self, other: &Survivor) -> bool {
        (&self.rule, &self.line, &self.before, &self.after) == (&other.rule, &other.line, &other.before, &other.after)
    }

    fn same_place(&self, other: &Survivor) -> bool {
        self.number == other.number && self.same_change(other)
    }
}

/// The smallest shipped tile of C, with which a mutant runs the fewest threads, in every element type and variant: of inputs of each
/// width its own, because kernels copy elements of another width by other instructions.
fn builds(level: &'static Level) -> Vec<Build> {
    let shipped = level.shipped_builds();
    let width = |build: &Build| build.configuration.dtype.input.bytes();
    let is_smallest = |build: &&Build| {
        let alike = shipped.iter().filter(|other| width(other) == width(build));
        let smallest = alike.min_by_key(|other| area(other)).map(|other| &other.configuration.tiles);
        Some(&build.configuration.tiles) == smallest
    };
    let mut builds: Vec<Build> = shipped.iter().filter(is_smallest).cloned().map(crowded).collect();
    let mut seen = Vec::new();
    builds.retain(|build| {
        let kind = kind(build);
        let is_new = !seen.contains(&kind);
        seen.push(kind);
        is_new
    });
    builds
}

/// What makes a build one of its own, in which each mutant runs: variant and types. Where tensor maps say where matrices lie, all
/// types are one: the same copies, barriers and products, but for the last conversion.
fn kind(build: &Build) -> (&'static str, Option<Dtype>) {
    let Configuration { dtype, variant, .. } = build.configuration;
    (variant, Some(dtype).filter(|_| !is_mapped(build.level)))
}

/// Whether tensor maps are among a level's parameters.
fn is_mapped(level: &Level) -> bool {
    level.needs.parameters.iter().any(|parameter| matches!(parameter, Parameter::Map(_)))
}

/// A build whose blocks go through many tiles, also those of small shapes: where a grid has so many at most, it has two clusters.
pub(crate) fn crowded(mut build: Build) -> Build {
    let cluster = build.cluster().count() as u32;
    if let Decomposition::Persistent(blocks, _) = build.level.needs.decomposition {
        for (_, size) in build.configuration.tiles.0.iter_mut().filter(|(name, _)| *name == blocks) {
            *size = 2 * cluster;
        }
    }
    build
}

/// Elements of C that a block computes.
fn area(build: &Build) -> u32 {
    let tile = build.tile();
    tile.m * tile.n
}

/// Elements of C that a mutant is given at most: the largest shapes are for the kernel's own tests.
const LARGEST: u32 = 1 << 20;
/// And products: more take seconds.
const MOST: u64 = 1 << 27;

/// The shapes of a build, those first that catch most.
fn shapes(build: &Build) -> Vec<Shape> {
    let mut shapes = awkward_shapes(build);
    shapes.swap(0, 3);
    if is_mapped(build.level) {
        // Those that are the level's own go round its rings, by maps.
        let own = (build.level.needs.awkward)(&build.configuration.tiles, &build.tile()).len();
        shapes.rotate_right(own);
    }
    let largest = if is_mapped(build.level) { LARGEST / 4 } else { LARGEST };
    let products = |shape: &Shape| u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
    shapes.retain(|shape| shape.m * shape.n <= largest && products(shape) <= MOST);
    shapes
}

/// How many of these shapes a build runs: all; but where tensor maps say where matrices lie, and the build is another than the first
/// in which a mutant runs, the level's own and a few: its tiles are large, and its threads many.
fn most_shapes(build: &Build, other: bool) -> usize {
    if other && is_mapped(build.level) { 6 } else { usize::MAX }
}

/// Each mutant of a sample is caught, or among the survivors of the record.
fn sample_holds(level: &'static Level, compiler: &dyn Compiler, record: &Record) -> Result<(), String> {
    let stride = record.mutants.div_ceil(SAMPLE);
    let mutants = mutants(level.source);
    let right = right(level, compiler)?;
    if version(&right, compiler)? != record.compiler {
        skipped(&format!("the record of mutants is by NVRTC {}", record.compiler));
        return Ok(());
    }
    let runs: Vec<(&Mutant, &[Right])> = pairs(&mutants, &right).into_iter().step_by(stride).collect();
    let survives = |(mutant, right): &(&Mutant, &[Right])| match outcome(level, mutant, right, compiler) {
        Ok((Some(_), _)) => None,
        Ok((None, build)) => Some(Ok((Survivor::new(level, mutant), build.configuration.to_string()))),
        Err(error) => Some(Err(error)),
    };
    for (survivor, configuration) in runs.par_iter().filter_map(survives).collect::<Result<Vec<_>, String>>()? {
        let is_it = |known: &&Survivor| known.same_place(&survivor) && known.configurations.contains(&configuration);
        if !record.survivors.iter().any(|known| is_it(&known)) {
            return Err(format!(
                "a mutant survives in {configuration}, and the record does not know it: {survivor:#?}; run `{}`",
                record.made_by
            ));
        }
    }
    Ok(())
}

/// Every mutant with every configuration.
fn pairs<'a>(mutants: &'a [Mutant], right: &'a [Vec<Right>]) -> Vec<(&'a Mutant, &'a [Right])> {
    mutants.iter().flat_map(|mutant| right.iter().map(move |right| (mutant, right.as_slice()))).collect()
}

/// The kernel as it is, in every configuration and with all other tile sizes; it must not be caught.
fn right(level: &'static Level, compiler: &dyn Compiler) -> Result<Vec<Vec<Right>>, String> {
    let right: Vec<Vec<Right>> = builds(level)
        .iter()
        .map(|build| {
            let all = with_other_tiles(build).into_iter().enumerate();
            all.map(|(at, build)| Right { shapes: most_shapes(&build, at > 0), build, kernel: OnceLock::new() })
                .collect()
        })
        .collect();
    right.par_iter().try_for_each(|right| match right.first() {
        Some(right) => right.kernel(compiler).map(|_| ()),
        None => Ok(()),
    })?;
    Ok(right)
}

/// The compiler's version.
fn version(right: &[Vec<Right>], compiler: &dyn Compiler) -> Result<String, String> {
    let first = right.iter().flatten().next().ok_or("no build of the level is shipped")?;
    Ok(first.kernel(compiler)?.compiler.clone())
}

/// Compiles and runs every mutant in every configuration.
fn run(level: &'static Level, compiler: &dyn Compiler) -> Result<Record, String> {
    let (mutants, builds) = (mutants(level.source), builds(level));
    let right = right(level, compiler)?;
    let runs = pairs(&mutants, &right);
    let outcomes: Vec<(Option<String>, &Build)> =
        runs.par_iter().map(|(mutant, right)| outcome(level, mutant, right, compiler)).collect::<Result<_, _>>()?;
    let mut record = Record {
        made_by: format!("UPDATE_MUTATIONS=1 cargo test -p {} --test level every_mutant", level.name),
        compiler: version(&right, compiler)?,
        configurations: builds.iter().map(|build| build.configuration.to_string()).collect(),
        shapes: shapes(&builds[0]).iter().map(Shape::to_string).collect(),
        mutants: runs.len(),
        caught: BTreeMap::new(),
        rules: rules().map(|rule| (rule.to_string(), BTreeMap::new())).collect(),
        same_code: 0,
        survivors: Vec::new(),
    };
    for ((mutant, _), (outcome, build)) in runs.iter().zip(outcomes) {
        let how = outcome.clone().unwrap_or("survived".to_string());
        *record.rules.entry(mutant.rule.to_string()).or_default().entry(how).or_default() += 1;
        match outcome {
            Some(how) if how == SAME_CODE => record.same_code += 1,
            Some(how) => *record.caught.entry(how).or_default() += 1,
            None => record.add_survivor(Survivor::new(level, mutant), &build.configuration),
        }
    }
    Ok(record)
}

impl Record {
    fn add_survivor(&mut self, survivor: Survivor, configuration: &Configuration) {
        if !self.survivors.last().is_some_and(|last| last.same_place(&survivor)) {
            self.survivors.push(survivor);
        }
        if let Some(last) = self.survivors.last_mut() {
            last.configurations.push(configuration.to_string());
        }
    }
}

/// The kernel as it is, in a configuration, once a mutant asks for it.
struct Right {
    build: Build,
    /// How many shapes it runs.
    shapes: usize,
    kernel: OnceLock<Result<Kernel, String>>,
}

impl Right {
    /// Compiled, and caught by nothing.
    fn kernel(&self, compiler: &dyn Compiler) -> Result<&Kernel, String> {
        if self.kernel.get().is_none() {
            // Two threads may do it at once, and one is too late: neither waits for the other, who may wait for it.
            let compiled = Kernel::compile(&self.build, &[], compiler).map_err(|error| error.to_string());
            let right = compiled.and_then(|kernel| match self.caught(&kernel) {
                Some(how) => Err(format!("the kernel itself is caught ({}): {how}", self.build.configuration)),
                None => Ok(kernel),
            });
            let _ = self.kernel.set(right);
        }
        match self.kernel.get() {
            Some(kernel) => kernel.as_ref().map_err(Clone::clone),
            None => Err("a kernel is not there though it has been made".to_string()),
        }
    }

    /// How a run catches a kernel, if one does.
    fn caught(&self, kernel: &Kernel) -> Option<String> {
        let shapes = shapes(&self.build);
        // Shapes whose rows are whole vectors take turns, and so do the others.
        let turn = |at: usize| shapes[..at].iter().filter(|shape| is_even(shape) == is_even(&shapes[at])).count();
        shapes.iter().enumerate().take(self.shapes).find_map(|(at, shape)| {
            let (form, before) = form(&self.build, shape, turn(at));
            caught_on(&self.build, kernel, *shape, form, before)
        })
    }
}

/// A build, and the same with all other tile sizes that are shipped, from the smallest tile of C on, then for other forms.
fn with_other_tiles(build: &Build) -> Vec<Build> {
    let types = build.configuration.dtype;
    let mut all: Vec<Build> = build.level.all_shipped_builds().into_iter().map(crowded).collect();
    all.retain(|other| kind(other) == kind(build));
    if is_mapped(build.level) {
        // The smallest tile is enough for a form, and for other types.
        let tiles = &build.configuration.tiles;
        all.retain(|other| {
            let Configuration { dtype, specialization, .. } = &other.configuration;
            *dtype == types || specialization.is_plain() && other.configuration.tiles == *tiles
        });
        let forms = all.iter_mut().filter(|other| !other.configuration.specialization.is_plain());
        forms.for_each(|other| other.configuration.tiles = tiles.clone());
    }
    all.sort_by_key(|other| {
        let Configuration { dtype, specialization, .. } = &other.configuration;
        (other.configuration != build.configuration, *dtype != types, !specialization.is_plain(), area(other))
    });
    all
}

/// How a mutant is caught, if it is, and in which of the configurations; if not, in the first in which its code differs.
fn outcome<'a>(
    level: &'static Level,
    mutant: &Mutant,
    right: &'a [Right],
    compiler: &dyn Compiler,
) -> Result<(Option<String>, &'a Build), String> {
    let wrong: &Level =
        Box::leak(Box::new(Level { source: Box::leak(mutant.source.clone().into_boxed_str()), ..*level }));
    let mut survived = None;
    for right in right {
        let build = &right.build;
        let Ok(kernel) = Kernel::compile(&Build { level: wrong, ..build.clone() }, &[], compiler) else {
            return Ok((Some("refused by the compiler".to_string()), build));
        };
        if instructions(&kernel.ptx).eq(instructions(&right.kernel(compiler)?.ptx)) {
            continue;
        }
        match right.caught(&kernel) {
            Some(how) => return Ok((Some(how), build)),
            None => survived = survived.or(Some(build)),
        }
    }
    Ok(match survived {
        Some(build) => (None, build),
        None => (Some(SAME_CODE.to_string()), &right[0].build),
    })
}

/// The lines of PTX that are no line information.
fn instructions(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().map(str::trim).filter(|line| !line.starts_with(".loc") && !line.starts_with("//") && !line.is_empty())
}

/// Whether rows of C are whole vectors.
fn is_even(shape: &Shape) -> bool {
    shape.n.is_multiple_of(4)
}

/// The form in which a build runs a shape when it is its turn, and how many elements lie before A, B and C in their buffers: each
/// condition that a kernel may set for whole vectors is the one that fails at some time.
fn form(build: &Build, shape: &Shape, turn: usize) -> (Form, [usize; 3]) {
    if !build.level.takes_any_form() {
        return (Form::PLAIN, [0; 3]);
    }
    let form = |padding| form_of(build.configuration.specialization, padding);
    let whole = whole_vectors(&form([0; 3]), shape);
    let turns = match is_even(shape) {
        true => [(form([0; 3]), [0; 3]), (form(whole), [0, 1, 0]), (form(whole), [0, 0, 1]), (form([1, 3, 4]), [0; 3])],
        false => [(form(whole), [0; 3]), (form([1, 3, 5]), [1; 3]), (form([0; 3]), [0; 3]), (form([0, 4, 5]), [0; 3])],
    };
    turns[turn % turns.len()]
}

/// How one run catches it, if it does. It is launched twice, in the order of the grid and then, with other numbers, in the
/// opposite one: neither that order nor what the first launch leaves behind may spoil the second.
fn caught_on(build: &Build, kernel: &Kernel, shape: Shape, form: Form, before: [usize; 3]) -> Option<String> {
    let plan = build.plan_in(shape, form).ok()?;
    let task = plan.task(kernel);
    let program = match Module::parse(&kernel.ptx).and_then(|module| module.kernel(&kernel.entry)) {
        Ok(program) => program,
        Err(error) => return Some(format!("not run by the emulator: {error}")),
    };
    let problem = |seed| Problem::in_form(shape, build.configuration.dtype, form, Fill::Integers, seed).ok();
    let first = problem(1)?;
    let mut device = emulator::Device::new();
    device.set_threads(Some(1));
    let matrices = [("A", &first.a), ("B", &first.b), ("C", &first.c)];
    let buffers = [0, 1, 2].map(|at| {
        let (name, matrix) = matrices[at];
        let before = before[at] * matrix.element().bytes();
        (device.alloc(name, before + matrix.bytes().len()), before as u64)
    });
    let arguments = arguments(&task.operands, &mut device, buffers).ok()?;
    let how = Launch::new(task.launch.grid, task.launch.block)
        .instruction_limit(INSTRUCTION_LIMIT)
        .dynamic_shared(task.dynamic_shared);
    for (seed, schedule) in [(1, Schedule::FirstFirst), (2, Schedule::LastFirst)] {
        let problem = problem(seed)?;
        for ((buffer, before), matrix) in buffers.into_iter().zip([&problem.a, &problem.b, &problem.c]) {
            device.write_at(buffer, before as usize, matrix.bytes()).ok()?;
        }
        match device.launch(&program, how.schedule(schedule), &arguments) {
            Ok(_) => {}
            Err(LaunchError::Fault(fault)) => return Some(format!("fault: {}", fault.kind)),
            Err(other) => return Some(format!("refused launch: {other}")),
        }
        let mut product = problem.c.bytes().to_vec();
        if device.read_at(buffers[2].0, buffers[2].1 as usize, &mut product).is_err() {
            return Some(format!("fault: {}", FaultKind::Uninitialised));
        }
        if !Check::of(&problem, Fill::Integers, &problem.c.with_bytes(product), task.method()).right {
            return Some("wrong product".to_string());
        }
    }
    None
}
