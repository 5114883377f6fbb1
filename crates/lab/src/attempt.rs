//! `lab try my_kernel.cu`: any kernel on the road that the levels take, and beside them.

mod adapt;
mod explain;
mod formula;
mod launch;
mod layout;
mod made;
mod no_product;
mod orders;
mod other;
mod ragged;
mod reading;
mod ready;
mod said;
mod varied;
mod waits;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

use clap::{Args, Parser};
use common::road;
use device::Device;
use gemm::candidate::Exam;
use gemm::dtype::Sum;
use gemm::facts::Facts;
use gemm::form::{Form, Specialization};
use gemm::judge::{Judged, Verdict};
use gemm::level::{Configuration, Tiles};
use gemm::matrix::Matrix;
use gemm::problem::Limits;
use gemm::report::Report;
use gemm::task::Task;
use gemm::{Element, Error, Shape, Source};

use crate::bench::{Bench, for_shape};
use crate::candidate::{Candidate, File};
use crate::compare::{against_vendor, head_and_rows};
use crate::flags::{Annotate, How, Sizes};
use crate::operands::{Operands, fit};
use crate::output::{note, print, say};
use crate::predicted;
use crate::probe::launches::Budget;
use crate::row::Row;
use crate::shared_memory;
use adapt::Planned;
use cuda_source::types::Scalar;
use formula::{Formula, problem};
use gemm::sums::sums;
use launch::launch;
use layout::Layout;
use levels::{LEVELS, builds};
use orders::{beside_the_card, depends, in_every_order};
pub use ready::{Flags, Ready};

/// The sizes where nothing is said: off the tiles of most kernels, in every direction.
const DEFAULT: Shape = Shape { m: 250, n: 170, k: 130 };

/// Your own kernel: run, checked, counted, and put beside the levels
///
/// The kernel's file may carry flags, in lines that begin with `// lab try: `; the command line comes after them.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct Try {
    /// The kernel's file: .cu, compiled by NVRTC, or .ptx
    file: PathBuf,
    /// The kernel's name, if the file has several; of a template with its arguments, as in 'gemm<64, float>'
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Thread blocks along x, y, z: expressions in M, N and K, with + - * / and cdiv(a,b)
    #[arg(long, value_name = "X,Y", default_value = "cdiv(N,32),cdiv(M,32)")]
    grid: String,
    /// Threads of a block along x, y, z
    #[arg(long, value_name = "X,Y", default_value = "32,32")]
    block: String,
    /// The arguments in the kernel's order: A, B, C, sizes, alpha=…, beta=…, other numbers
    #[arg(long, value_name = "LIST", default_value = "A,B,C,M,N,K")]
    args: String,
    /// Dynamic shared memory per block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// How A, B and C lie in memory: row by row; column by column, as BLAS has them; row by row, and B as N x K (nt), A as K x M (tn), or both (tt); or each by
    /// rows (r) or columns (c), in this order: rcc, rrc, crc
    #[arg(long, value_enum, hide_possible_values = true, value_name = "row|column|nt|…", default_value = "row")]
    layout: Layout,
    /// What is computed, as 'C += A * B', 'C = 0.5 * A * B', 'C = relu(A * B)', 'C = lower(A) * B' or 'upper(C) = A * B'
    #[arg(long, value_name = "FORMULA", default_value_t)]
    product: Formula,
    /// A folder with headers (repeatable)
    #[arg(long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// A macro for the kernel (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    define: Vec<String>,
    /// The virtual architecture to compile for [default: compute_75; with memcpy_async, compute_80]
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    annotate: Annotate,
    /// Print A, B and C (M, N and K up to 16)
    #[arg(long)]
    print_matrices: bool,
    /// Print what warps wait for, by a MODEL of an SM (emulator)
    #[arg(long, conflicts_with = "json")]
    waits: bool,
    /// Leave the comparison with the levels out
    #[arg(long)]
    alone: bool,
    /// On a GPU: do not ask the emulator, too
    #[arg(long)]
    no_verdict: bool,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Compile the kernel and write ptx/, beside it
    #[arg(long, hide = true)]
    write_ptx: bool,
    /// The launch that the file has.
    #[arg(skip)]
    planned: Option<Planned>,
    /// The arguments are known by their names alone.
    #[arg(skip)]
    by_name: bool,
    /// What is not clear of the arguments, which are taken by their places alone.
    #[arg(skip)]
    guess: Option<String>,
    /// What is left to try, to see what a kernel that is not right stands for, or how it would be.
    #[arg(skip)]
    budget: Rc<Budget>,
    /// Host code fills C with zeros before its launch.
    #[arg(skip)]
    zeroed: bool,
}

impl Try {
    /// The kernel's file.
    pub fn file(&self) -> &PathBuf {
        &self.file
    }
}

/// The flags alone, as a kernel's file carries them.
#[derive(Debug, Parser)]
#[command(name = "lab try", args_override_self = true)]
struct Carried {
    #[command(flatten)]
    flags: Try,
}

/// Runs the command, whose own words are `words`.
pub fn run(attempt: &Try, words: &[OsString]) -> Result<ExitCode, Error> {
    let file = File::of_products(&attempt.file)?;
    let flags = match Flags::read(&file, words) {
        Ok(flags) => flags,
        Err(error) => return Ok(common::cli::explain(&error)),
    };
    if flags.attempt.write_ptx {
        note(&format!("{} written", file.write_ptx(&flags.options(&file))?.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let ready = flags.ready(&file)?;
    let Ready { attempt, candidate, .. } = &ready;
    let device = attempt.how.device(attempt.annotate.is_asked())?.falling_back(attempt.how.backend);
    tried(attempt, candidate, &device, &|flag| ready.is_given(flag), READINGS)
}

/// Readings of one kernel after another: a layout, then its types.
const READINGS: u32 = 3;

/// What came of a trial.
enum Done {
    Code(ExitCode),
    /// It is right as something else, and the file says so.
    Other(Box<Try>),
}

/// Tries a kernel; and in another reading, `left` times at most, where it is right in that by the file's own word.
fn tried(
    attempt: &Try,
    candidate: &Candidate,
    device: &Device,
    given: &dyn Fn(&str) -> bool,
    left: u32,
) -> Result<ExitCode, Error> {
    let done = judged(attempt, candidate, device, given, left > 0);
    let (other, error) = match done {
        Ok(Done::Code(code)) => return Ok(code),
        Ok(Done::Other(other)) => (Some(other), None),
        Err(error) => {
            let open = other::is_of_places(&error) || is_open(attempt, &error, given);
            let readings = open.then(|| reading::all(attempt, candidate, shape(&attempt.sizes), given));
            let readings = readings.unwrap_or_default();
            let other = if left > 0 { reading::meant(attempt, candidate, &readings)? } else { None };
            if other.is_none() {
                if matches!(error, Error::Fault(_)) {
                    reading::is_no_guess(attempt, candidate)?;
                }
                let reading = readings.first().map(|reading| reading.hint.as_str());
                other::propose_after_fault(attempt, given, candidate, &error, reading);
            }
            (other, Some(error))
        }
    };
    match (other, error) {
        (Some(other), _) => tried(&other, candidate, device, given, left.saturating_sub(1)),
        (None, Some(error)) => Err(other::in_words(attempt.layout.renamed(error), candidate)),
        (None, None) => Ok(ExitCode::SUCCESS),
    }
}

/// Whether a fault may come of arguments or of a launch that nobody named.
fn is_open(attempt: &Try, error: &Error, given: &dyn Fn(&str) -> bool) -> bool {
    let races = matches!(error, Error::Fault(text) if text.starts_with("race on C"));
    matches!(error, Error::Fault(_)) && attempt.guess.is_some() || races && attempt.planned.is_none() && !given("grid")
}

fn judged(
    attempt: &Try,
    candidate: &Candidate,
    device: &Device,
    given: &dyn Fn(&str) -> bool,
    reads: bool,
) -> Result<Done, Error> {
    let sizes_given = ["m", "n", "k", "size"].iter().any(|flag| given(flag));
    let shape = shape(&attempt.sizes);
    let operands = operands(attempt, candidate, &shape)?;
    other::static_shared(candidate)?;
    other::cooperative(candidate)?;
    shared_memory::dynamic(candidate, attempt.shared);
    let (mut report, product) = report(attempt, candidate, device, shape, &operands)?;
    report.kernel.entry = other::named(candidate);
    let readings = if report.check.right { Vec::new() } else { reading::all(attempt, candidate, shape, given) };
    if reads && !report.check.right {
        let other = reading::in_tf32(attempt, candidate, &report, given)
            .map_or_else(|| reading::meant(attempt, candidate, &readings), |other| Ok(Some(other)))?;
        if let Some(other) = other {
            return Ok(Done::Other(other));
        }
        reading::is_no_guess(attempt, candidate)?;
        ragged::is_enough(attempt, candidate, &report)?;
        if readings.is_empty() {
            made::is_plain(attempt, candidate, shape)?;
        }
        if readings.is_empty() && report.check.first.iter().all(|element| !element.got.is_nan()) && !given("product") {
            reading::is_no_other(attempt, candidate)?;
        }
    }
    match &mut report.facts {
        Facts::Emulator(counted) if report.check.right => {
            let first = (&product, std::mem::take(&mut counted.warnings));
            counted.warnings = in_every_order(attempt, candidate, shape, &operands, first)?;
        }
        Facts::Emulator(_) => (),
        Facts::Cuda { .. } if attempt.no_verdict => {
            note(
                "note: a right product on a GPU does not prove that there is no race; without `--no-verdict` the emulator looks",
            );
        }
        Facts::Cuda { .. } => {
            let judged = beside_the_card(attempt, candidate, shape)?;
            report.judged = Some(Judged { shape: attempt.layout.shape(judged.shape), ..judged });
        }
    }
    let annotated = report.annotated.take();
    report.annotated = attempt.annotate.kept(annotated)?;
    let mut text = if attempt.json { format!("{}\n", report.json()) } else { report.to_string() };
    if attempt.waits
        && let Some(waits) = waits::of(attempt, candidate, shape, &operands, &report)?
    {
        text += &format!("\n{waits}");
    }
    if !attempt.json && !attempt.alone {
        text += &beside_the_levels(attempt, device, &report)?;
    }
    if attempt.json {
        print(&text)?
    } else {
        say(&text)?
    }
    let code = conclude(&report)?;
    if code == ExitCode::SUCCESS && !sizes_given {
        return Ok(Done::Code(ragged::tried(attempt, candidate)));
    }
    if !report.check.right {
        let said = explain::nan(attempt, candidate, &report);
        let reading = readings.first().map(|reading| reading.hint.as_str());
        let proposed = other::propose(attempt, candidate, &report, reading);
        let launched = if proposed || said { None } else { varied::launch(attempt, candidate, shape, false) };
        match launched {
            Some(text) => note(&format!("hint: {text}")),
            None if proposed => (),
            None => {
                let exchanged = varied::exchange(attempt, candidate, shape);
                let mended = varied::mended(attempt, candidate, shape);
                let both = exchanged.into_iter().chain(mended);
                both.for_each(|text| note(&format!("hint: {text}")));
                made::explain(attempt, candidate, &report);
            }
        }
        if let Facts::Emulator(counted) = &report.facts {
            counted.circumstances.iter().for_each(|circumstance| note(&format!("hint: {circumstance}")));
        }
    }
    Ok(Done::Code(code))
}

/// The arguments for a shape, in the terms of the product that is computed row by row.
fn operands(attempt: &Try, candidate: &Candidate, shape: &Shape) -> Result<Operands, Error> {
    let half = |place| half_type(attempt, candidate, place);
    let declared = candidate.written.as_ref().map(|(_, choice)| choice.kernel.declared()).unwrap_or_default();
    let mut operands = fit(&attempt.args, (&candidate.parameters, &declared), shape, &half)?;
    attempt.layout.operands(&mut operands.list);
    operands.alpha *= attempt.product.times;
    if attempt.product.added {
        operands.beta = 1.0;
    }
    Ok(operands)
}

/// What a parameter of 16 bits is: by its type, else as the matrices are.
fn half_type(attempt: &Try, candidate: &Candidate, place: usize) -> Element {
    let written = candidate.written.as_ref();
    let scalar = written.and_then(|(program, choice)| {
        program.scalar(&choice.kernel, &choice.instance, choice.kernel.parameters.get(place)?)
    });
    match (scalar, attempt.how.dtype.input) {
        (Some(Scalar::F16), _) => Element::F16,
        (Some(Scalar::Bf16), _) | (_, Element::Bf16) => Element::Bf16,
        _ => Element::F16,
    }
}

/// The exit code, after what is to be said of a kernel that is not right.
fn conclude(report: &Report) -> Result<ExitCode, Error> {
    match report.judged.as_ref().map(|judged| (&judged.verdict, &judged.differs)) {
        Some((Verdict::Wrong(why), _)) => {
            note(&format!("error: {why}"));
            return Ok(ExitCode::FAILURE);
        }
        Some((Verdict::Unknown(why), _)) => note(&format!("note: the emulator has no verdict: {why}")),
        Some((Verdict::Clean, Some(differs))) => depends(differs),
        Some((Verdict::Clean, None)) | None => (),
    }
    if report.check.right {
        return Ok(ExitCode::SUCCESS);
    }
    note(&format!("error: the product is wrong in {} of {} elements", report.check.wrong, report.check.elements));
    Ok(ExitCode::FAILURE)
}

fn task<'a>(attempt: &Try, candidate: &'a Candidate, shape: Shape, operands: &Operands) -> Result<Task<'a>, Error> {
    let launch = launch(attempt, &shape)?;
    Limits::of_launch(&launch, attempt.how.dtype, &attempt.layout.shape(shape), &Form::PLAIN).check()?;
    let source = Source { path: &candidate.path, text: &candidate.text };
    let (kernel, operands) = (&candidate.kernel, operands.list.clone());
    Ok(Task { kernel, source, launch, dynamic_shared: attempt.shared, operands, before: None, sum: Sum::Rounded })
}

fn shape(sizes: &Sizes) -> Shape {
    let Shape { m, n, k } = DEFAULT;
    Shape { m: sizes.shape(m).m, n: sizes.shape(n).n, k: sizes.shape(k).k }
}

fn report(
    attempt: &Try,
    candidate: &Candidate,
    device: &Device,
    shape: Shape,
    operands: &Operands,
) -> Result<(Report, Matrix), Error> {
    // Its limits are checked before the matrices are made.
    let task = task(attempt, candidate, shape, operands)?;
    let problem = problem(attempt, shape, operands)?;
    let configuration = Configuration {
        dtype: attempt.how.dtype,
        variant: "",
        tiles: Tiles(Vec::new()),
        specialization: Specialization::default(),
    };
    let by = if attempt.layout == Layout::Column { ", by columns" } else { "" };
    let title = match (attempt.product.parts, attempt.product.relu) {
        ([None, None, None], false) => format!("C = {}{by}", formula(operands)),
        _ => format!("{}{by}", attempt.product),
    };
    let name = attempt.file.display().to_string();
    let candidate = gemm::candidate::Candidate { name: &name, title: &title, configuration, task, finding: None };
    let exam = Exam { problem: &problem, seed: attempt.how.seed, reference: None };
    let options = gemm::candidate::Options {
        annotate: attempt.annotate.is_asked(),
        matrices: attempt.print_matrices,
        ..attempt.how.options()?
    };
    let method = candidate.task.method();
    let (mut report, product) = road::run_and_keep(&candidate, device, exam, &options)?;
    let product = attempt.product.rechecked((attempt.layout, method), &problem, &product, &mut report)?;
    if report.check.right && attempt.product.takes_parts() {
        // The parts that do not count held what the product has there. Now they hold anything.
        let full = formula::whole(attempt, shape, operands)?;
        let ran = device.launch(&candidate.task, &full, options.extras)?;
        attempt.product.reread((attempt.layout, method), &problem, &ran.c, &mut report)?;
    }
    report.sums = sums(&report.kernel.ptx, &report.kernel.entry);
    if let Facts::Emulator(counted) = &report.facts {
        report.of_product = launch::of_product(&counted.total, &report.shape, &report.launch.tile, report.check.right);
    }
    attempt.layout.in_its_terms(&mut report, &problem, &product);
    explain::narrow_sums(&mut report);
    Ok((report, product))
}

fn formula(operands: &Operands) -> String {
    let factor = |value: f64| if value == 1.0 { String::new() } else { format!("{value} * ") };
    let product = format!("{}A * B", factor(operands.alpha));
    if operands.beta == 0.0 { product } else { format!("{product} + {}C", factor(operands.beta)) }
}

/// The kernel's row above those of the levels, on the same sizes.
fn beside_the_levels(attempt: &Try, device: &Device, report: &Report) -> Result<String, Error> {
    let options = attempt.how.options()?;
    let Ok(builds) = builds(&LEVELS, attempt.how.dtype, false) else { return Ok(String::new()) };
    let bench = Bench::new(device, report.shape, attempt.how.dtype, attempt.how.seed, options)?;
    let name = attempt.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut row = Row::new(name, String::new(), attempt.how.dtype, report.shape, bench.kind());
    row.fill(report);
    bench.share_of_peak(&mut row);
    let mut rows = vec![row];
    let takers = for_shape(builds, &report.shape, "");
    rows.extend(takers.iter().map(|build| bench.level(build)));
    rows.extend(bench.vendor());
    against_vendor(&mut rows);
    let notes: String = predicted::explained(&rows).iter().map(|note| format!("\n  {note}")).collect();
    let notes = if notes.is_empty() { notes } else { notes + "\n" };
    Ok(format!("\nbeside the levels, on the same sizes\n{}{notes}", head_and_rows(&rows)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::candidate::{TRY, options};

    /// A report as a card gives one, of a kernel of the lab. The card is the emulator without its checks.
    fn on_a_card(words: &str) -> Report {
        let (path, rest) = words.split_once(' ').unwrap_or((words, ""));
        let file = File::read(Path::new(path)).unwrap();
        let own = [path, "--no-sanitize"].into_iter().chain(rest.split_whitespace()).map(str::to_string);
        let all = std::iter::once("lab try".to_string()).chain(file.flags(TRY)).chain(own);
        let attempt = Carried::try_parse_from(all).unwrap().flags;
        let candidate = file.kernel(None, &options(&file.text, None, &[]), 90).unwrap();
        let shape = shape(&attempt.sizes);
        let operands = operands(&attempt, &candidate, &shape).unwrap();
        let (mut report, _) = report(&attempt, &candidate, &Device::Emulator, shape, &operands).unwrap();
        report.judged = Some(beside_the_card(&attempt, &candidate, shape).unwrap());
        report
    }

    #[test]
    fn a_card_that_gives_the_right_product_does_not_acquit_a_kernel() {
        let mut report = on_a_card("../../kernels/missing-barrier.cu");
        let judged = report.judged.clone().unwrap();
        let Verdict::Wrong(why) = &judged.verdict else { panic!("{judged:?}") };
        assert!(why.starts_with("race on As"), "{why}");
        // On a card the product is right as often as not.
        report.check.right = true;
        assert_eq!(conclude(&report).unwrap(), ExitCode::FAILURE);
    }

    #[test]
    fn a_right_kernel_is_acquitted_on_a_smaller_problem() {
        let report = on_a_card("../../kernels/ladder-baseline.cu --m 300 --n 40 --k 33");
        let judged = report.judged.clone().unwrap();
        assert_eq!((&judged.verdict, judged.shape), (&Verdict::Clean, Shape { m: 172, n: 40, k: 33 }));
        assert!(judged.line().starts_with("clean by the emulator, on 172×40×33"), "{}", judged.line());
        assert_eq!(conclude(&report).unwrap(), ExitCode::SUCCESS);
    }

    #[test]
    fn a_large_problem_with_a_grid_of_its_own_is_not_judged() {
        let report = on_a_card("../../kernels/ladder-baseline.cu --m 300 --n 40 --k 33 --grid 2,10");
        let judged = report.judged.unwrap();
        assert!(matches!(judged.verdict, Verdict::Unknown(_)), "{judged:?}");
    }
}
