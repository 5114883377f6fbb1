//! The steps from a kernel to its report: launch, check, count or time. The same for a level and for any other kernel.

use device::Device;
use gemm::candidate::{Candidate, Exam, Options};
use gemm::kernel::{FindCompiler, Kernel, Origin};
use gemm::matrix::Matrix;
use gemm::report::Report;
use gemm::{Error, Plan, fit};
use summit::predict::predicted;

use crate::output::note;
use crate::progress::{of_blocks, step};

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
        let (path, configuration) = (plan.build.source().path, &plan.build.configuration);
        note(&format!("note: compiled {path} by NVRTC {} ({configuration})", kernel.compiler));
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
    let mut report = run_kernel(&Candidate::of(plan, kernel), device, exam, options)?;
    if let Some(modelled) = &mut report.modelled {
        modelled.predicted = predicted(options.gpu, plan.build, &plan.shape);
    }
    Ok(report)
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
    let (task, problem) = (&candidate.task, exam.problem);
    fit::check(&device.card(options.gpu), candidate.name, task)?;
    // ANCHOR: run
    let ran = step(&format!("running {}", candidate.name), || {
        device.launch_watched(task, problem, options.extras, of_blocks, |what| note(&format!("note: {what}")))
    })?;
    let check = step("checking the product", || exam.check(&ran.c, task));
    // ANCHOR_END: run
    Ok(candidate.report(exam, options, &device.name(), ran, check))
}
