//! The steps from a kernel to its report: launch, check, count or time. The same for a level and for any other kernel.

use device::Device;
use gemm::candidate::{Candidate, Exam, Options};
use gemm::facts::Facts;
use gemm::kernel::{FindCompiler, Kernel, Origin};
use gemm::matrix::Matrix;
use gemm::report::Report;
use gemm::task::Task;
use gemm::{Error, Plan, emulated, fit};
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
    let (mut report, _) = run_and_keep(&plan.candidate(kernel), device, exam, options)?;
    if let Some(modelled) = &mut report.modelled {
        modelled.predicted = predicted(options.gpu, plan.build, &plan.shape);
    }
    Ok(report)
}

/// Thread instructions of a launch that is run once more, to find who stored what is wrong.
const MOST_AGAIN: u64 = 1 << 28;

/// Who stored the first element that is wrong, if the emulator can tell.
fn stored(report: &Report, task: &Task, exam: Exam, options: &Options) -> Option<String> {
    let first = report.check.first.first()?;
    let Facts::Emulator(counted) = &report.facts else { return None };
    if counted.total.thread_instructions() > MOST_AGAIN {
        return None;
    }
    let access = emulated::stored(task, exam.problem, options.extras, (first.row, first.col)).ok()??;
    let (file, line) = access.source.as_ref()?;
    let thread = access.lanes.last()?.thread;
    Some(format!("thread {thread} of block {} at {file}:{line}", access.block))
}

/// Runs any kernel: what came of it, and the product.
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
    let (mut report, product) = step("checking the product", || candidate.report(exam, options, &device.name(), ran));
    // ANCHOR_END: run
    report.check.stored = stored(&report, task, exam, options);
    Ok((report, product))
}
