//! The road itself: parse, fill, compile, launch, check, time, report.

use std::env;
use std::process::ExitCode;

use device::{Device, nvrtc};
use gemm::candidate::Exam;
use gemm::facts::{Extras, Facts};
use gemm::judge::{Judged, Verdict, judge, smaller};
use gemm::kernel::{FindCompiler, Kernel, Origin};
use gemm::problem::Fill;
use gemm::report::Report;
use gemm::{Build, Error, Level, fit};

use crate::cli::{self, Arguments, Asked};
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
    let build = fitting(asked, device)?;
    let plan = build.plan_in(asked.shape, asked.form)?;
    let problem = step("filling A and B", || plan.problem(Fill::Reals, asked.seed))?;
    let exam = Exam { problem: &problem, seed: asked.seed, reference: None };
    let report = run_level(&plan, device, exam, &asked.options, find)?;
    // ANCHOR_END: road
    Ok((build, report))
}

/// What was asked for. Where no tile sizes were, and the GPU cannot run the default ones, others that it can.
fn fitting(asked: &Asked, device: &Device) -> Result<Build, Error> {
    if asked.fixed {
        return Ok(asked.build.clone());
    }
    let (build, said) = fit::fitting(asked.build.clone(), &device.card(asked.options.gpu))?;
    said.iter().for_each(|said| note(&format!("note: {said}")));
    Ok(build)
}
