//! The road itself: parse, fill, compile, launch, check, time, report.

use std::env;
use std::process::ExitCode;

use device::{Device, nvrtc};
use gemm::candidate::{Exam, Options};
use gemm::facts::{Extras, Facts};
use gemm::judge::{Judged, Verdict, judge, smaller};
use gemm::kernel::{FindCompiler, Kernel, Origin};
use gemm::problem::{Fill, Problem};
use gemm::report::Report;
use gemm::{Build, Error, Level, Plan, fit};

use crate::cli::{self, Arguments};
use crate::output::{note, print};
use crate::progress::{of_blocks, step};
use crate::road::run_level;
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
    let wanted = arguments.build(level)?;
    if arguments.ptx {
        print(&Kernel::obtain(&wanted, arguments.modelled_gpu()?.sm(), nvrtc::find)?.ptx)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (device, said) = Device::pick(arguments.backend, arguments.annotate)?;
    let device = device.falling_back(arguments.backend);
    let build = fitting(wanted, arguments, &device)?;
    let plan = arguments.plan(&build)?;
    if let Some(said) = said {
        note(&format!("note: {said}"));
    }
    let mut report = planned(&plan, arguments, &device, nvrtc::find)?;
    if let (Facts::Cuda { .. }, Origin::Compiled, false) = (&report.facts, report.kernel.origin, arguments.no_verdict) {
        report.judged = Some(judged(&plan, arguments, &report)?);
    }
    print(&if arguments.json { format!("{}\n", report.json()) } else { report.to_string() })?;
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
fn judged(plan: &Plan, arguments: &Arguments, report: &Report) -> Result<Judged, Error> {
    let shape = smaller(&plan.shape);
    let problem = Problem::in_form(shape, plan.build.configuration.dtype, plan.form, Fill::Reals, arguments.seed)?;
    let smaller = plan.build.plan_in(shape, plan.form)?;
    let task = smaller.task(&report.kernel);
    let extras = Extras { instruction_limit: arguments.instruction_limit, ..Extras::new(false, true) };
    Ok(judge(&task, &problem, extras, of_blocks))
}

/// Multiplies once on a device, and reports. `find` looks for NVRTC, should it be needed.
pub fn execute(
    level: &'static Level,
    arguments: &Arguments,
    device: &Device,
    find: FindCompiler,
) -> Result<Report, Error> {
    let build = fitting(arguments.build(level)?, arguments, device)?;
    planned(&arguments.plan(&build)?, arguments, device, find)
}

/// Multiplies as it was planned.
fn planned(plan: &Plan, arguments: &Arguments, device: &Device, find: FindCompiler) -> Result<Report, Error> {
    // ANCHOR: road
    let dtype = plan.build.configuration.dtype;
    let problem =
        step("filling A and B", || Problem::in_form(plan.shape, dtype, plan.form, Fill::Reals, arguments.seed))?;
    let exam = Exam { problem: &problem, seed: arguments.seed, reference: None };
    let options = Options {
        gpu: arguments.modelled_gpu()?,
        extras: Extras { instruction_limit: arguments.instruction_limit, ..Extras::new(true, !arguments.no_sanitize) },
        annotate: arguments.annotate,
        matrices: arguments.print_matrices,
    };
    run_level(plan, device, exam, &options, find)
    // ANCHOR_END: road
}

/// What was asked for. Where no tile sizes were, and the GPU cannot run the default ones, others that it can.
fn fitting(wanted: Build, arguments: &Arguments, device: &Device) -> Result<Build, Error> {
    if !arguments.define.is_empty() {
        return Ok(wanted);
    }
    let (build, said) = fit::fitting(wanted, &device.card(arguments.modelled_gpu()?))?;
    if let Some(said) = said {
        note(&format!("note: {said}"));
    }
    Ok(build)
}
