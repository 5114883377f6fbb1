//! `lab sanitize my_kernel.cu`: any kernel under the emulator's checks, in more than one order of its thread blocks.
//!
//! - [`words`]: the command's words, by launch; [`argument`], [`element`], [`content`], [`map`]: what they mean
//! - [`launched`]: grid and block as the file launches its kernel
//! - [`plan`]: buffers and launches; [`pointed`]: whether a buffer's type is the pointer's; [`execute`]: they run, in one order
//! - [`traps`]: what the compiler made a `trap` of; [`counted`]: what was counted
//! - [`outcome`]: what all orders say; [`contents`], [`expect`]: what buffers hold
//! - [`why`]: why it is otherwise than expected; [`alike`]: by all that is; [`product`]: where it is a product
//! - [`again`]: what a second launch makes of the buffers; [`repeated`]: whether the file has one
//! - [`text`], [`sarif`], [`github`]: how it is written

mod again;
mod alike;
mod argument;
mod content;
mod contents;
mod counted;
mod element;
mod execute;
mod expect;
pub mod faults;
mod github;
mod launched;
mod map;
mod outcome;
mod plan;
mod pointed;
mod product;
mod repeated;
mod sarif;
mod text;
mod why;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use common::progress::step;
use emulator::{Cause, Printed, Schedule};
use gemm::Error;
use gemm::sums::sums;

use crate::candidate::{File, Kernels, SANITIZE, for_architecture, options};
use crate::flags::{Annotate, modelled};
use crate::output::{note, print, say};
use crate::shared_memory;
use crate::written::choose::choose;
use again::Again;
use execute::Ran;
use outcome::Said;
pub use outcome::{Launched, Outcome, Verdict};
use plan::Plan;
use repeated::is_in_a_loop;
use words::Words;

/// Any kernel under the emulator's checks: races, bad addresses, memory that nobody wrote, barriers, endless loops
///
/// Runs one or several launches on the CPU, in more than one order of their thread blocks, and says what is wrong, with the lines.
/// Exit code 0: clean, with warnings of what the books do not agree about or without; 1: a fault, or something not as expected; 2: bad usage.
///
/// An argument is a buffer (in:f32[4096]=random), a number (n:i32=4096, or 4096 as wide as the parameter), a buffer named
/// before (in, or in+64 from its element 64 on), null, or a structure by value ({i32=3,f32=0.5,in}). A buffer holds zeros, ones,
/// range (0, 1, 2, …), random, random(LOW,HIGH), a number, {1,2,3}, or @FILE; without that, nothing that anybody has written.
/// A tensor map by value is a:map(bf16[4096x4096],box=128x64,swizzle=128)=random: a buffer with a tensor of rows x columns, the last
/// innermost, and the box that one copy moves, in the same order. swizzle: none 32 64 128; fill: zeros nan; strides: bytes, of all
/// dimensions but the innermost; steps; l2: none 64 128 256. map(in[64x64],box=8x8) is one of a buffer that is named before.
/// Types: i8 u8 i16 u16 i32 u32 i64 u64 e4m3 e5m2 f16 bf16 tf32 f32 f64.
///
/// Several launches in a row work on the same buffers: `--launch NAME` begins one, and --grid, --block, --shared and --arg after it
/// are its own; those before the first --launch are common to all.
///
/// The kernel's file may carry flags, in lines that begin with `// lab sanitize: `; the command line comes after them.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct Sanitize {
    /// The kernels' file: .cu, compiled by NVRTC, or .ptx
    file: PathBuf,
    /// The kernel's name, if the file has several
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Begins a launch of this kernel (repeatable)
    #[arg(long, value_name = "NAME", action = clap::ArgAction::Append)]
    launch: Vec<String>,
    /// Thread blocks along x, y, z: expressions with + - * /, cdiv(a,b) and names from --set
    #[arg(long, value_name = "X,Y,Z", action = clap::ArgAction::Append)]
    grid: Vec<String>,
    /// Threads of a block along x, y, z
    #[arg(long, value_name = "X,Y,Z", action = clap::ArgAction::Append)]
    block: Vec<String>,
    /// Dynamic shared memory per block, in bytes
    #[arg(long, value_name = "BYTES", action = clap::ArgAction::Append)]
    shared: Vec<String>,
    /// The kernel's next argument (repeatable, in the kernel's order)
    #[arg(long, value_name = "ARGUMENT", action = clap::ArgAction::Append, allow_hyphen_values = true)]
    arg: Vec<String>,
    /// A name for a number, for expressions (repeatable)
    #[arg(long, value_name = "NAME=NUMBER", action = clap::ArgAction::Append)]
    set: Vec<String>,
    /// What a variable outside the kernels holds, as filter:f32={1,2,1}, or with its type alone, to be shown (repeatable)
    #[arg(long, value_name = "NAME:TYPE=CONTENT", action = clap::ArgAction::Append)]
    variable: Vec<String>,
    /// A folder with headers (repeatable)
    #[arg(long, value_name = "DIR", action = clap::ArgAction::Append)]
    include: Vec<PathBuf>,
    /// A macro for the kernel (repeatable)
    #[arg(long, value_name = "NAME=VALUE", action = clap::ArgAction::Append)]
    define: Vec<String>,
    /// The virtual architecture to compile for [default: compute_75; with memcpy_async, compute_80]
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,
    /// What a buffer, or a part of it as in out[0..8], is to hold after the last launch (repeatable)
    #[arg(long, value_name = "PART=CONTENT", action = clap::ArgAction::Append)]
    expect: Vec<String>,
    /// How far numbers may be from what is expected, in relation to their size
    #[arg(long, value_name = "RELATIVE", default_value_t = 0.0, value_parser = tolerance)]
    tolerance: f64,
    /// Show this part of a buffer, as out[0..8], instead of every buffer's first elements (repeatable)
    #[arg(long, value_name = "PART", action = clap::ArgAction::Append)]
    print: Vec<String>,
    /// Count as a fault what depends on the order of thread blocks and warps
    #[arg(long)]
    deterministic: bool,
    /// MiB that the buffers may take; beyond that, a buffer of zeros or without a content takes memory only where it is accessed
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,
    /// Seed of random contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Warp instructions after which a thread block counts as stuck
    #[arg(long, value_name = "N", default_value_t = emulator::Launch::INSTRUCTION_LIMIT)]
    instruction_limit: u64,
    /// Print what is counted, as `lab try` does: sectors, wavefronts, instructions, and the least time on a modelled GPU
    #[arg(long)]
    counters: bool,
    /// Print what warps wait for as well, by a MODEL of an SM
    #[arg(long)]
    waits: bool,
    #[command(flatten)]
    annotate: Annotate,
    /// The GPU that is modelled
    #[arg(long, value_name = "NAME", default_value = "h200")]
    gpu: String,
    /// Print the outcome as one JSON object
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print the outcome as SARIF 2.1.0, for code hosts and editors
    #[arg(long)]
    sarif: bool,
    /// Add lines that GitHub's runners turn into notes beside the code
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    github: bool,
    /// Compile the kernel and write ptx/, beside it
    #[arg(long, hide = true)]
    write_ptx: bool,
}

/// Blocks of a grid that takes minutes. Faults of indices that grow too large are in its last ones.
const HUGE: u64 = 1 << 20;
const LAST_FIRST: [Schedule; 3] = [Schedule::LastFirst, Schedule::FirstFirst, Schedule::ShortTurns];

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| "a tolerance is 0 or a number above, as 1e-5 is".to_string())
}

impl Sanitize {
    /// The compiler's options.
    fn options(&self, file: &File) -> Vec<String> {
        let mut options = options(&file.text, self.arch.as_deref(), &self.define);
        options.extend(self.include.iter().map(|folder| format!("--include-path={}", folder.display())));
        options
    }
}

/// Runs the command, whose own words are `words`.
pub fn run(sanitize: &Sanitize, words: &[OsString]) -> Result<ExitCode, Error> {
    let file = File::read(&sanitize.file).inspect_err(|error| {
        if sanitize.github {
            let _ = print(&github::refusal(&sanitize.file.display().to_string(), &error.to_string()));
        }
    })?;
    let words = match words::read(&file.flags(SANITIZE), words) {
        Ok(words) => words,
        Err(error) => return Ok(common::cli::explain(&error)),
    };
    let flags = &words.flags;
    let options = flags.options(&file);
    if flags.write_ptx {
        note(&format!("{} written", file.write_ptx(&options)?.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut outcome = match judge(&file, &options, &words) {
        Err(error) if flags.github => {
            print(&github::refusal(&file.path, &error.to_string()))?;
            return Err(error);
        }
        outcome => outcome?,
    };
    let annotated = flags.annotate.kept(flags.annotate.is_asked().then(|| annotated(&outcome)))?;
    if !flags.counters && !flags.waits {
        outcome.launches.iter_mut().for_each(|launch| launch.counted = None);
    }
    let text = || annotated.clone().map_or_else(String::new, |text| format!("{text}\n")) + &text::text(&outcome);
    match (flags.json, flags.sarif) {
        (true, _) => print(&format!("{}\n", serde_json::to_string_pretty(&outcome).unwrap_or_default()))?,
        (_, true) => print(&format!("{:#}\n", sarif::sarif(&outcome)))?,
        _ if flags.github => print(&(text() + &github::github(&outcome)))?,
        _ => say(&text())?,
    }
    Ok(match outcome.verdict {
        Verdict::Clean | Verdict::OrderDependent => ExitCode::SUCCESS,
        Verdict::Fault => ExitCode::FAILURE,
    })
}

/// What came of the launches that `words` say, counted, and whether JSON is asked for.
pub fn measured(file: &File, words: &[OsString]) -> Result<Result<(Outcome, bool), clap::Error>, Error> {
    let mut words = match words::read(&file.flags(SANITIZE), words) {
        Ok(words) => words,
        Err(error) => return Ok(Err(error)),
    };
    words.flags.counters = true;
    let json = words.flags.json;
    judge(file, &words.flags.options(file), &words).map(|outcome| Ok((outcome, json)))
}

/// The kernels' lines with their counters, launch by launch.
fn annotated(outcome: &Outcome) -> String {
    let several = outcome.launches.len() > 1;
    let one = |(index, launch): (usize, &Launched)| {
        let text = &launch.counted.as_ref()?.annotated;
        Some(if several { format!("launch {} ({})\n{text}", index + 1, launch.entry) } else { text.clone() })
    };
    outcome.launches.iter().enumerate().filter_map(one).collect::<Vec<_>>().join("\n")
}

fn judge(file: &File, options: &[String], words: &Words) -> Result<Outcome, Error> {
    let flags = &words.flags;
    let mut wanted: Vec<String> = words.launches.iter().filter_map(|launch| launch.entry.clone()).collect();
    wanted.dedup();
    let gpu = modelled(&flags.gpu)?;
    let counts = flags.counters || flags.waits || flags.annotate.is_asked();
    // What ptxas says is for one kernel.
    let architectures: &[u32] = if counts && wanted.len() < 2 { &[gpu.sm()] } else { &[] };
    let planned = |options: &[String]| {
        let kernels = file.module(options, architectures, &wanted)?;
        let launches = launched::filled(&kernels, &words.launches, &flags.set);
        let plan = plan::plan(&kernels, &launches, flags)?;
        Ok((kernels, plan))
    };
    let mut options = options.to_vec();
    let (kernels, plan) = for_architecture(flags.arch.is_some() || file.is_ptx(), &mut options, planned)?;
    let options = options.as_slice();
    shared_memory(file, options, &kernels, &plan)?;
    for planned in plan.buffers.iter().filter(|planned| planned.sparse) {
        let name = &planned.name;
        note(&format!(
            "note: {name} takes memory only where it is accessed, and holds zeros: reads of what nobody wrote are not found in it"
        ));
    }
    let names: Vec<&str> = plan.launches.iter().map(|launch| launch.entry.as_str()).collect();
    let mut runs = Vec::new();
    let run = |order: Schedule| {
        let what = format!(
            "running {}, {order}; Ctrl+C ends it, and --instruction-limit has it give up sooner",
            names.join(", ")
        );
        step(&what, || execute::run(&plan, order, flags.instruction_limit))
    };
    let huge = plan.launches.iter().any(|launch| launch.grid.count() > HUGE);
    for order in if huge { LAST_FIRST } else { Schedule::ALL } {
        runs.push(run(order)?);
        // The other orders would take as long, and the fault is known.
        if huge && runs.iter().any(|ran| ran.fault.is_some()) {
            break;
        }
    }
    let overlap = |ran: &Ran| ran.fault.as_ref().is_some_and(|(_, fault)| fault.cause == Some(Cause::Overlap));
    if runs.iter().any(overlap) {
        // The data tells more than the barrier does.
        runs.push(run(Schedule::EvenFirst)?);
    }
    faults::explain(&mut runs, flags.instruction_limit, || {
        let options: Vec<String> = options.iter().cloned().chain([faults::AS_WRITTEN.to_string()]).collect();
        planned(&options).map(|(_, plan)| plan)
    });
    let (mut faults, warnings) = (outcome::faults(&runs), outcome::warnings(&runs));
    faults.iter_mut().for_each(|found| {
        faults::sharpen(&mut found.fault, &kernels.kernel.ptx);
        outcome::tell_shared(&plan, found);
    });
    let differences = outcome::differences(&plan, &runs);
    let whole = runs.iter().find(|ran| ran.fault.is_none());
    let (mut buffers, mut expected, mut printed) = (Vec::new(), Vec::new(), Vec::new());
    let mut unwritten = whole.map_or_else(Vec::new, |ran| outcome::unwritten(&plan, ran));
    // Where it is said what comes out, the other buffers are the kernels' own.
    let is_expected = |name: &str| flags.expect.iter().any(|word| word.split(['=', '[']).next() == Some(name));
    unwritten.retain(|found| found.store.is_some() || flags.expect.is_empty() || is_expected(&found.buffer));
    if let Some(ran) = whole {
        let said = |(launch, printed): &(usize, Printed)| Said { launch: launch + 1, printed: printed.clone() };
        printed = ran.printed.iter().map(said).collect();
        buffers = expect::held(&plan, &ran.buffers, &flags.print)?;
        for word in &flags.expect {
            let mut one = expect::expect(&plan, &ran.buffers, word, flags.tolerance, flags.seed)?;
            let bytes = expect::first_bytes(&plan, word, &one);
            one.stored = bytes.and_then(|bytes| execute::stored(&plan, ran.order, flags.instruction_limit, bytes));
            one.tell_of_planes();
            expected.push(one);
        }
    }
    let mut bad = !faults.is_empty()
        || !unwritten.is_empty()
        || expected.iter().any(|expected| !expected.holds)
        || flags.deterministic && !differences.is_empty();
    let place = launched::at(&kernels, &words.launches, &file.text);
    let hints = why::hints((&kernels, &plan), flags, (whole, place.as_deref()), (&expected, &faults));
    let ran = whole.filter(|_| !bad && !huge && !flags.expect.is_empty());
    let again = |launch: &plan::PlannedLaunch, buffer: usize| {
        let is_it = |value: &plan::Value| value.pointers.iter().any(|(_, index, _)| *index == buffer);
        let place = launch.arguments.iter().position(is_it);
        place.is_some_and(|place| is_in_a_loop(&file.text, &launch.entry, place))
    };
    match ran.and_then(|ran| again::tried(&plan, &ran.buffers, flags.instruction_limit, &is_expected)) {
        // That is what the file does.
        Some(Again::Otherwise(_, otherwise, buffer)) if plan.launches.iter().any(|launch| again(launch, buffer)) => {
            expected.push(*otherwise);
            bad = true;
        }
        Some(Again::Otherwise(said, ..) | Again::Fault(said)) => note(&format!("note: {said}")),
        None => (),
    }
    let verdict = match bad {
        true => Verdict::Fault,
        false if differences.is_empty() || outcome::has_rounding_atomics(&kernels.kernel.ptx) => Verdict::Clean,
        false => Verdict::OrderDependent,
    };
    let (mut launches, orders) = (launched(&kernels, &plan), runs.iter().map(|ran| ran.order).collect());
    if let Some(ran) = whole.filter(|_| counts) {
        let mut all = counted::counted(file, &kernels, ran, gpu);
        if flags.waits {
            counted::wait(&mut all, &plan, &kernels, (ran, flags.instruction_limit), gpu);
        }
        launches.iter_mut().zip(all).for_each(|(launch, counted)| launch.counted = Some(counted));
    }
    Ok(Outcome {
        file: file.path.clone(),
        verdict,
        launches,
        orders,
        faults,
        warnings,
        unwritten,
        differences,
        buffers,
        printed,
        expected,
        hints,
    })
}

/// What no compiler takes, and what a launch needs of the host.
fn shared_memory(file: &File, options: &[String], kernels: &Kernels, plan: &Plan) -> Result<(), Error> {
    let program = file.program(options);
    for launch in &plan.launches {
        let name = kernels.shown(launch.kernel.name());
        shared_memory::fits(&name, launch.kernel.static_shared())?;
        let choice = program.as_ref().and_then(|program| choose(program, Some(&name)).ok().flatten());
        let written = program.as_ref().zip(choice.as_ref().map(|choice| &choice.kernel));
        shared_memory::said(&name, written, launch.shared).into_iter().for_each(|said| note(&said));
    }
    Ok(())
}

fn launched(kernels: &Kernels, plan: &Plan) -> Vec<Launched> {
    let launch = |launch: &plan::PlannedLaunch| Launched {
        entry: kernels.shown(launch.kernel.name()),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: launch.shared,
        arguments: launch.words.clone(),
        sums: sums(&kernels.kernel.ptx, launch.kernel.name()),
        counted: None,
    };
    plan.launches.iter().map(launch).collect()
}
