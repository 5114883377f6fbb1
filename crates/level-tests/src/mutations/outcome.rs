//! How one mutant is caught: by the compiler, by the emulator, or by its product, beside the kernel as it is.

use std::sync::OnceLock;

use emulator::{FaultKind, Launch, LaunchError, Module, Schedule};
use gemm::check::Check;
use gemm::emulated::{self, arguments};
use gemm::form::Form;
use gemm::kernel::{Compiler, Kernel};
use gemm::problem::Problem;
use gemm::{Build, Level, Shape, Text};

use super::builds::{builds, most_shapes, shapes, with_other_tiles};
use crate::awkward::{is_long, work};
use crate::mutants::Mutant;
use crate::{exact_fill, form_of, whole_vectors};

/// Warp instructions of one thread block, after which a mutant counts as stuck.
const INSTRUCTION_LIMIT: u64 = 10_000_000;

/// What becomes of a mutant that never runs.
pub const REFUSED: &str = "refused by the compiler";
/// What becomes of a mutant that is written otherwise, and not wrong.
pub const SAME_CODE: &str = "same code";

/// The kernel as it is, in every configuration and with all other tile sizes.
pub fn right(level: &'static Level, order: Order) -> Vec<Vec<Right>> {
    let others = |build: &Build| {
        let all = with_other_tiles(build).into_iter().enumerate();
        all.map(|(at, build)| Right::new(build, at > 0, order)).collect()
    };
    builds(level).iter().map(others).collect()
}

/// In which order a mutant runs its shapes, until one catches it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// Those first that catch most: the record says how each mutant is caught in this order.
    OfTheRecord,
    /// The small ones first.
    SmallFirst,
}

/// The kernel as it is, in a configuration.
pub struct Right {
    pub build: Build,
    /// What it runs.
    trials: Vec<Trial>,
    /// Compiled, once a mutant is compared with it.
    kernel: OnceLock<Result<Kernel, String>>,
}

/// A shape, the form in which it runs, and how many elements lie before A, B and C in their buffers.
struct Trial {
    shape: Shape,
    form: Form,
    before: [usize; 3],
    /// That it does not catch the kernel as it is, once it has caught a mutant.
    sound: OnceLock<Result<(), String>>,
}

impl Right {
    fn new(build: Build, other: bool, order: Order) -> Right {
        let shapes = shapes(&build);
        // Shapes whose rows are whole vectors take turns, and so do the others.
        let turn = |at: usize| shapes[..at].iter().filter(|shape| is_even(shape) == is_even(&shapes[at])).count();
        let trial = |(at, &shape): (usize, &Shape)| {
            let (form, before) = form(&build, &shape, turn(at));
            Trial { shape, form, before, sound: OnceLock::new() }
        };
        let mut trials: Vec<Trial> = shapes.iter().enumerate().take(most_shapes(&build, other)).map(trial).collect();
        if order == Order::SmallFirst {
            trials.sort_by_key(|trial| work(&build, &trial.shape));
        }
        Right { build, trials, kernel: OnceLock::new() }
    }

    pub fn kernel(&self, compiler: &dyn Compiler) -> Result<&Kernel, String> {
        let compiled = || Kernel::compile(&self.build, &[], compiler).map_err(|error| error.to_string());
        once(&self.kernel, compiled).as_ref().map_err(Clone::clone)
    }

    /// An error if the trial that caught a mutant catches the kernel as it is: then it says nothing.
    fn is_sound(&self, trial: &Trial, compiler: &dyn Compiler) -> Result<(), String> {
        let kernel = self.kernel(compiler)?;
        let sound = || match caught_on(&self.build, kernel, trial) {
            Some(how) => {
                Err(format!("the kernel itself is caught ({}, {}): {how}", self.build.configuration, trial.shape))
            }
            None => Ok(()),
        };
        once(&trial.sound, sound).clone()
    }

    /// How a kernel is caught, if it is, and by which trial.
    fn caught(&self, kernel: &Kernel, part: Part) -> Option<(&Trial, String)> {
        let is_in = |(at, trial): &(usize, &Trial)| match part {
            Part::All => true,
            Part::Short(turn) => !is_long(&trial.shape) || turn % EVERY == 0,
            Part::One(turn) => *at == turn % self.trials.len(),
        };
        let mut trials = self.trials.iter().enumerate().filter(is_in);
        trials.find_map(|(_, trial)| Some((trial, caught_on(&self.build, kernel, trial)?)))
    }
}

/// What is made once. Two threads may make it at once, and one is too late: neither waits for the other, who may wait for it.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(made) = cell.get() {
        return made;
    }
    let made = make();
    cell.get_or_init(|| made)
}

/// How many trials a mutant runs, until one catches it.
#[derive(Debug, Clone, Copy)]
pub enum Reach {
    /// All of each configuration.
    All,
    /// All short ones of the first configuration in which its code differs, and one of each other, another one from number to number:
    /// for what is known to survive all of them, and has its reason on record.
    Turns(usize),
}

/// Which trials of a configuration run: all, the short ones and for some turns the long ones, too, or one.
#[derive(Clone, Copy)]
enum Part {
    All,
    Short(usize),
    One(usize),
}

/// How many turns there are until one runs long trials.
const EVERY: usize = 4;

/// How a mutant is caught, if it is, and in which of the configurations; if not, in the first in which its code differs.
pub fn outcome<'a>(
    level: &'static Level,
    mutant: &Mutant,
    (right, reach): (&'a [Right], Reach),
    compiler: &dyn Compiler,
) -> Result<(Option<String>, &'a Build), String> {
    found(level, mutant, (right, reach), compiler).map(|found| (found.how, found.build))
}

/// What became of a mutant.
pub struct Found<'a> {
    /// How it is caught; nothing, where it survives.
    pub how: Option<String>,
    /// The configuration in which it is, or in which its code differs first.
    pub build: &'a Build,
    /// The problem that catches it.
    pub shape: Option<Shape>,
    /// Its PTX there; nothing, where the compiler refuses it or makes the kernel's own code of it.
    pub ptx: Option<String>,
}

/// The same with the problem, and with what ran.
pub fn found<'a>(
    level: &'static Level,
    mutant: &Mutant,
    (right, reach): (&'a [Right], Reach),
    compiler: &dyn Compiler,
) -> Result<Found<'a>, String> {
    let wrong = Text::new(level.path, mutant.source.clone());
    let idle = |how: &str, build| Found { how: Some(how.to_string()), build, shape: None, ptx: None };
    let mut survived = None;
    for (at, right) in right.iter().enumerate() {
        let build = &right.build;
        let Ok(kernel) = Kernel::compile(&build.clone().with_text(wrong.clone()), &[], compiler) else {
            return Ok(idle(REFUSED, build));
        };
        if instructions(&kernel.ptx).eq(instructions(&right.kernel(compiler)?.ptx)) {
            continue;
        }
        let part = match reach {
            Reach::All => Part::All,
            Reach::Turns(number) if survived.is_none() => Part::Short(number),
            Reach::Turns(number) => Part::One(number + at),
        };
        let Some((trial, how)) = right.caught(&kernel, part) else {
            survived = survived.or(Some(Found { how: None, build, shape: None, ptx: Some(kernel.ptx) }));
            continue;
        };
        right.is_sound(trial, compiler)?;
        return Ok(Found { how: Some(how), build, shape: Some(trial.shape), ptx: Some(kernel.ptx) });
    }
    Ok(survived.unwrap_or_else(|| idle(SAME_CODE, &right[0].build)))
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
        return (build.level.plain(build.configuration.dtype), [0; 3]);
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
fn caught_on(build: &Build, kernel: &Kernel, trial: &Trial) -> Option<String> {
    let Trial { shape, form, before, .. } = *trial;
    let plan = build.plan_in(shape, form).ok()?;
    let task = plan.task(kernel);
    let program = match Module::parse(&kernel.ptx).and_then(|module| module.kernel(&kernel.entry)) {
        Ok(program) => program,
        Err(error) => return Some(format!("not run by the emulator: {error}")),
    };
    let fill = exact_fill(build);
    let problem = |seed| Problem::in_form(shape, build.configuration.dtype, form, fill, seed).ok();
    let first = problem(1)?;
    let mut device = emulator::Device::new();
    device.set_threads(Some(1));
    let matrices = [("A", &first.a), ("B", &first.b), ("C", &first.c)];
    let buffers = [0, 1, 2].map(|at| {
        let (name, matrix) = matrices[at];
        let before = before[at] * matrix.element().bytes();
        (device.alloc(name, before + matrix.bytes().len()), before as u64)
    });
    let how = Launch::new(task.launch.grid, task.launch.block)
        .instruction_limit(INSTRUCTION_LIMIT)
        .dynamic_shared(task.dynamic_shared);
    for (seed, schedule) in [(1, Schedule::FirstFirst), (2, Schedule::LastFirst)] {
        let problem = problem(seed)?;
        for ((buffer, before), matrix) in buffers.into_iter().zip([&problem.a, &problem.b, &problem.c]) {
            device.write_at(buffer, before as usize, matrix.bytes()).ok()?;
        }
        let arguments = arguments(&task.operands, &mut device, buffers).ok()?;
        let how = how.schedule(schedule);
        let mut launch = |program: &emulator::Kernel, how| device.launch(program, how, &arguments.values).map(|_| ());
        let prepared = match emulated::before(&task, how).ok()? {
            Some((program, how)) => launch(&program, how),
            None => Ok(()),
        };
        match prepared.and_then(|()| launch(&program, how)) {
            Ok(_) => arguments.finish(&mut device, buffers[2]).ok()?,
            Err(LaunchError::Fault(fault)) => return Some(format!("fault: {}", fault.kind)),
            Err(other) => return Some(format!("refused launch: {other}")),
        }
        let mut product = problem.c.bytes().to_vec();
        if device.read_at(buffers[2].0, buffers[2].1 as usize, &mut product).is_err() {
            return Some(format!("fault: {}", FaultKind::Uninitialised));
        }
        if !Check::of(&problem, fill, &problem.c.with_bytes(product), task.method()).right {
            return Some("wrong product".to_string());
        }
    }
    None
}
