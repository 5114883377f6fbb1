//! The steps from a kernel to its report: launch, check, count or time. The same for a level and for any other kernel.

use emulator::gpu::Gpu;

use crate::Error;
use crate::annotate::annotate;
use crate::check::{Check, Reference};
use crate::device::{Device, Extras, Facts, Task};
use crate::fit::{self, Card};
use crate::kernel::{FindCompiler, Kernel, Origin};
use crate::level::Configuration;
use crate::matrix::Matrix;
use crate::plan::{Build, Plan};
use crate::problem::{Fill, Problem};
use crate::progress::step;
use crate::report::{Modelled, Report};

/// A kernel that is to be judged.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The level's crate, or the kernel's file.
    pub name: &'a str,
    /// Its idea, in a few words.
    pub title: &'a str,
    /// Element type, variant and tile sizes, as far as there are any.
    pub configuration: Configuration,
    /// What is launched.
    pub task: Task<'a>,
}

/// The matrices that a kernel is judged on. They hold random reals.
#[derive(Debug, Clone, Copy)]
pub struct Exam<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The seed that it was made from.
    pub seed: u64,
    /// Its product, if it is known already; else it is computed.
    pub reference: Option<&'a Reference>,
}

/// What to do beside the product.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The GPU that the emulator models.
    pub gpu: &'static Gpu,
    /// What the device does beside the product.
    pub extras: Extras,
    /// Emulator: the kernel's text with counters in its margin.
    pub annotate: bool,
    /// A, B and C in the report.
    pub matrices: bool,
}

/// Runs what was planned for a level. `find` looks for NVRTC, should it be needed.
pub fn run_level(
    plan: &Plan,
    device: &Device,
    exam: Exam,
    options: &Options,
    find: FindCompiler,
) -> Result<Report, Error> {
    let kernel = Kernel::obtain(plan.build, options.gpu.sm(), find)?;
    if kernel.origin == Origin::Compiled {
        let Build { level, configuration } = plan.build;
        eprintln!("note: compiled {} by NVRTC {} ({configuration})", level.path, kernel.compiler);
    }
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
    let (Build { level, configuration }, task) = (plan.build, plan.task(kernel));
    let candidate = Candidate { name: level.name, title: level.title, configuration: configuration.clone(), task };
    run_kernel(&candidate, device, exam, options)
}

/// Runs any kernel.
pub fn run_kernel(candidate: &Candidate, device: &Device, exam: Exam, options: &Options) -> Result<Report, Error> {
    run_and_keep(candidate, device, exam, options).map(|(report, _)| report)
}

/// The same, with the product.
pub fn run_and_keep(
    candidate: &Candidate,
    device: &Device,
    exam: Exam,
    options: &Options,
) -> Result<(Report, Matrix), Error> {
    let Candidate { task, configuration, .. } = candidate;
    let (problem, shape) = (exam.problem, exam.problem.shape);
    fit::check(&Card::of(device, options.gpu), candidate.name, task)?;
    // ANCHOR: run
    let ran = step(&format!("running {}", candidate.name), || device.launch(task, problem, options.extras))?;
    let check = step("checking the product", || match exam.reference {
        Some(reference) => Check::against(reference, problem, Fill::Reals, &ran.c, task.method()),
        None => Check::of(problem, Fill::Reals, &ran.c, task.method()),
    });
    // ANCHOR_END: run
    let counts = match &ran.facts {
        Facts::Emulator(report) => Some(report),
        Facts::Cuda { .. } => None,
    };
    let modelled = counts.map(|report| Modelled::of(options.gpu, task.kernel, &shape, &task.launch, report));
    let annotated = counts.filter(|_| options.annotate).map(|report| annotate(&task.source, report));
    let report = Report {
        level: candidate.name.to_string(),
        title: candidate.title.to_string(),
        shape,
        seed: exam.seed,
        device: if counts.is_some() { Device::Emulator.name() } else { device.name() },
        modelled,
        configuration: configuration.clone(),
        kernel: task.kernel.clone(),
        launch: task.launch,
        check,
        facts: ran.facts,
        matrices: options.matrices.then(|| [&problem.a, &problem.b, &ran.c].map(Matrix::values)),
        annotated,
        judged: None,
    };
    Ok((report, ran.c))
}
