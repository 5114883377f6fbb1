//! The road that every kernel takes: what is asked, build, plan, problem, kernel, launch, check, count or time, report. For a level from
//! its command line on; for any other kernel from its launch on.

use std::env;
use std::process::ExitCode;

use device::{Device, nvrtc};
use gemm::candidate::{Candidate, Exam, Options};
use gemm::facts::{Extras, Facts};
use gemm::judge::{Judged, Verdict, judge, smaller};
use gemm::kernel::{FindCompiler, Kernel, Origin};
use gemm::matrix::Matrix;
use gemm::problem::Fill;
use gemm::report::Report;
use gemm::{Build, Error, Level, Plan, emulated, fit};

use crate::cli::{self, Arguments, Asked};
use crate::output::{note, print, say};
use crate::progress::{begin, of_blocks};
use crate::ship::write_ptx;

/// Runs a level with the process's arguments: the whole `main` of a level.
pub fn run(level: &'static Level) -> ExitCode {
    let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let arguments = match Arguments::from_words(level, words) {
        Ok(arguments) => arguments,
        Err(error) => return cli::explain(&error),
    };
    match road(level, &arguments) {
        Ok(code) => code,
        Err(error) => {
            note(&format!("error: {error:#}"));
            error.downcast_ref::<Error>().map_or(ExitCode::from(2), |error| ExitCode::from(error.exit_code()))
        }
    }
}

fn road(level: &'static Level, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.write_ptx {
        let files = write_ptx(level)?;
        note(&format!("{}: {files} configurations written", level.name));
        return Ok(ExitCode::SUCCESS);
    }
    let asked = arguments.asked(level)?;
    if arguments.ptx {
        print(&Kernel::obtain(&asked.build, asked.options.gpu.sm(), nvrtc::find)?.ptx)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (device, said) = Device::pick(arguments.backend, arguments.annotate)?;
    let device = device.falling_back(arguments.backend);
    said.iter().for_each(|said| note(&format!("note: {said}")));
    let (build, mut report) = multiply(&asked, &device, nvrtc::find)?;
    if let (Facts::Cuda { .. }, Origin::Compiled, false) = (&report.facts, report.kernel.origin, arguments.no_verdict) {
        report.judged = Some(judged(&build, &asked, &report)?);
    }
    if arguments.json {
        print(&format!("{}\n", report.json()))?
    } else {
        say(&report.to_string())?
    }
    if let Some(Verdict::Wrong(why)) = report.judged.as_ref().map(|judged| &judged.verdict) {
        note(&format!("error: {why}"));
        return Ok(ExitCode::FAILURE);
    }
    if report.check.right {
        return Ok(ExitCode::SUCCESS);
    }
    note(&format!("error: the product is wrong in {} of {} elements", report.check.wrong, report.check.elements));
    Ok(ExitCode::FAILURE)
}

/// What the emulator says of a kernel that was compiled in this run, on a smaller problem: of those that are shipped it has
/// said so in the tests.
fn judged(build: &Build, asked: &Asked, report: &Report) -> Result<Judged, Error> {
    let smaller = build.plan_in(smaller(&asked.shape), asked.form)?;
    let problem = smaller.problem(Fill::Reals, asked.seed)?;
    let extras = Extras { time: false, sanitize: true, ..asked.options.extras };
    Ok(judge(&smaller.task(&report.kernel), &problem, extras, of_blocks))
}

/// Multiplies once on a device, and reports. `find` looks for NVRTC, should it be needed.
pub fn execute(
    level: &'static Level,
    arguments: &Arguments,
    device: &Device,
    find: FindCompiler,
) -> Result<Report, Error> {
    multiply(&arguments.asked(level)?, device, find).map(|(_, report)| report)
}

/// Multiplies as it was asked: what was built for the device, and the report.
fn multiply(asked: &Asked, device: &Device, find: FindCompiler) -> Result<(Build, Report), Error> {
    // ANCHOR: road
    let (build, kernel) = fitting(asked, device, find)?;
    let plan = build.plan_in(asked.shape, asked.form)?;
    let filling = begin("filling A and B");
    let problem = plan.problem(Fill::Reals, asked.seed)?;
    drop(filling);
    let exam = Exam { problem: &problem, seed: asked.seed, reference: None };
    let (mut report, _) = ran(&plan.candidate(&kernel), device, exam, &asked.options)?;
    // ANCHOR_END: road
    predict::add(&mut report.modelled, asked.options.gpu, &build, &asked.shape);
    Ok((build, report))
}

/// What was asked for, and its kernel. Where no tile sizes were, and the GPU cannot run the default ones, others that it can.
fn fitting(asked: &Asked, device: &Device, find: FindCompiler) -> Result<(Build, Kernel), Error> {
    let mut build = asked.build.clone();
    loop {
        let kernel = obtain(&build, &asked.options, find)?;
        // No other kernel than that of a file is what was asked for.
        let fixed = asked.fixed || kernel.origin != Origin::Shipped;
        let card = device.card(asked.options.gpu);
        let Some((other, why)) = fit::instead(&build, &kernel, &card, fixed)? else { return Ok((build, kernel)) };
        note(&format!("note: {why}"));
        build = other;
    }
}

/// A build's kernel; a note says if it was compiled.
fn obtain(build: &Build, options: &Options, find: FindCompiler) -> Result<Kernel, Error> {
    let kernel = Kernel::obtain(build, options.gpu.sm(), find)?;
    if kernel.origin == Origin::Compiled {
        let (path, configuration) = (build.source().path, &build.configuration);
        note(&format!("note: compiled {path} by NVRTC {} ({configuration})", kernel.compiler));
    }
    Ok(kernel)
}

/// Runs what was planned for a level. `find` looks for NVRTC, should it be needed.
pub fn run_level(
    plan: &Plan,
    device: &Device,
    exam: Exam,
    options: &Options,
    find: FindCompiler,
) -> Result<Report, Error> {
    let kernel = obtain(plan.build, options, find)?;
    run_obtained(plan, &kernel, device, exam, options)
}

/// Runs a level whose kernel is there already.
pub fn run_obtained(
    plan: &Plan,
    kernel: &Kernel,
    device: &Device,
    exam: Exam,
    options: &Options,
) -> Result<Report, Error> {
    let (mut report, _) = run_and_keep(&plan.candidate(kernel), device, exam, options)?;
    predict::add(&mut report.modelled, options.gpu, plan.build, &plan.shape);
    Ok(report)
}

/// Runs any kernel: what came of it, and the product.
pub fn run_and_keep(
    candidate: &Candidate,
    device: &Device,
    exam: Exam,
    options: &Options,
) -> Result<(Report, Matrix), Error> {
    fit::check(&device.card(options.gpu), candidate.name, &candidate.task)?;
    ran(candidate, device, exam, options)
}

/// The same for a kernel that the device can run.
fn ran(candidate: &Candidate, device: &Device, exam: Exam, options: &Options) -> Result<(Report, Matrix), Error> {
    let (task, problem) = (&candidate.task, exam.problem);
    // ANCHOR: run
    let running = begin(&format!("running {}", candidate.name));
    let ran = device.launch_watched(task, problem, options.extras, of_blocks, |what| note(&format!("note: {what}")))?;
    drop(running);
    let _checking = begin("checking the product");
    let (mut report, product) = candidate.report(exam, options, &device.name(), ran);
    // ANCHOR_END: run
    report.check.stored = emulated::who_stored(task, problem, options.extras, (&report.check, &report.facts));
    Ok((report, product))
}
