//! The road itself: parse, fill, compile, launch, check, time, report.

use std::env;
use std::process::ExitCode;

use crate::Error;
use crate::annotate::annotate;
use crate::check::Check;
use crate::cli::Arguments;
use crate::device::{Device, Extras, Facts};
use crate::kernel::{FindCompiler, Kernel, Origin, nvrtc, write_ptx};
use crate::level::{Dtype, Level};
use crate::problem::{Element, Fill, Problem};
use crate::report::{Modelled, Report};

/// Runs a level with the process's arguments: the whole `main` of a level.
pub fn run(level: &Level) -> ExitCode {
    let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let arguments = match Arguments::from_words(level, words) {
        Ok(arguments) => arguments,
        Err(error) => return explain_usage(&error),
    };
    match road(level, &arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            error.downcast_ref::<Error>().map_or(ExitCode::from(2), Error::exit_code)
        }
    }
}

fn road(level: &Level, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.write_ptx {
        let files = write_ptx(level)?;
        eprintln!("{}: {files} files written", level.name);
        return Ok(ExitCode::SUCCESS);
    }
    arguments.check(level)?;
    let (device, note) = Device::pick(arguments.backend, arguments.annotate)?;
    if let Some(note) = note {
        eprintln!("note: {note}");
    }
    let report = execute(level, arguments, &device, nvrtc::find)?;
    print(&report, arguments.json);
    if report.check.right {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("error: the product is wrong in {} of {} elements", report.check.wrong, report.check.elements);
    Ok(ExitCode::FAILURE)
}

/// Multiplies once on a device, and reports. `find` looks for NVRTC, should it be needed.
pub fn execute(level: &Level, arguments: &Arguments, device: &Device, find: FindCompiler) -> Result<Report, Error> {
    match arguments.dtype {
        Dtype::F32 => execute_as::<f32>(level, arguments, device, find),
        Dtype::F64 => execute_as::<f64>(level, arguments, device, find),
    }
}

fn execute_as<T: Element>(
    level: &Level,
    arguments: &Arguments,
    device: &Device,
    find: FindCompiler,
) -> Result<Report, Error> {
    arguments.check(level)?;
    let configuration = arguments.configuration(level)?;
    let (shape, modelled_gpu) = (arguments.shape(), arguments.modelled_gpu()?);
    let launch = (level.launch)(&shape, &configuration.tiles);
    let extras = Extras { time: true, sanitize: !arguments.no_sanitize };

    let problem = Problem::<T>::new(shape, Fill::Reals, arguments.seed)?;
    let kernel = Kernel::obtain(level, &configuration, modelled_gpu.sm(), find)?;
    if kernel.origin == Origin::Compiled {
        eprintln!("note: compiled {} by NVRTC {} ({configuration})", level.path, kernel.compiler);
    }
    let ran = device.launch(level, &kernel, &launch, &problem, extras)?;
    let check = Check::of(&problem, Fill::Reals, &ran.c, &launch);

    let counts = match &ran.facts {
        Facts::Emulator(report) => Some(report),
        Facts::Cuda { .. } => None,
    };
    let modelled = counts.map(|report| Modelled::of(modelled_gpu, &kernel, &shape, &launch, report));
    let annotated = counts.filter(|_| arguments.annotate).map(|report| annotate(level, report));
    let wide = |matrix: &[T]| matrix.iter().map(|x| x.to_f64()).collect();
    Ok(Report {
        level: level.name,
        title: level.title,
        shape,
        seed: arguments.seed,
        device: device.name(),
        modelled,
        configuration,
        kernel,
        launch,
        check,
        facts: ran.facts,
        matrices: arguments.print_matrices.then(|| [wide(&problem.a), wide(&problem.b), wide(&ran.c)]),
        annotated,
    })
}

fn print(report: &Report, json: bool) {
    use std::io::Write;
    let text = if json { format!("{}\n", report.json()) } else { report.to_string() };
    // A reader that closed the pipe has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// What clap has to say: help to stdout, an error as one line with a hint.
fn explain_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let paragraph: Vec<&str> = text.lines().take_while(|l| !l.trim().is_empty()).map(str::trim).collect();
    eprintln!("{}\nhint: `--help` lists the flags and their values", paragraph.join(" "));
    ExitCode::from(2)
}
