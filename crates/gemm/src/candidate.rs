//! A kernel that is to be judged, the matrices that it is judged on, and what is reported of it.

use emulator::gpu::Gpu;

use crate::annotate::annotate;
use crate::check::{Check, Reference};
use crate::copies::copied;
use crate::emulated::{self, Watch};
use crate::error::Error;
use crate::facts::{Extras, Facts, Ran};
use crate::fit::{self, Card};
use crate::level::{Configuration, Finding};
use crate::matrix::Matrix;
use crate::modelled::Modelled;
use crate::problem::{Fill, Problem};
use crate::report::Report;
use crate::task::Task;

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
    /// What its preparation finds out about the matrices.
    pub finding: Option<Finding>,
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

impl Exam<'_> {
    /// Whether this is the product, as far as it is known how the task sums.
    pub fn check(&self, c: &Matrix, task: &Task) -> Check {
        match self.reference {
            Some(reference) => Check::against(reference, self.problem, Fill::Reals, c, task.method()),
            None => Check::of(self.problem, Fill::Reals, c, task.method()),
        }
    }
}

impl Candidate<'_> {
    /// Runs it on the emulator, for the GPU that this models, and checks the product: what came of it, and the product.
    ///
    /// # Errors
    /// [`Error::Usage`], where that GPU cannot run it, or the emulator refuses; [`Error::Fault`], where it does what it must not do.
    pub fn run(&self, exam: Exam, options: &Options, watch: Watch) -> Result<(Report, Matrix), Error> {
        fit::check(&Card::modelled(options.gpu), self.name, &self.task)?;
        let extras = Extras { architecture: options.gpu.sm(), ..options.extras };
        let ran = emulated::launch(&self.task, exam.problem, extras, watch)?;
        Ok(self.report(exam, options, emulated::NAME, ran))
    }

    /// What came of it on the device of this name, and the product: whether it is right, and what the modelled GPU would make of what
    /// was counted.
    pub fn report(&self, exam: Exam, options: &Options, device: &str, ran: Ran) -> (Report, Matrix) {
        let Candidate { task, configuration, .. } = self;
        let (problem, shape) = (exam.problem, exam.problem.shape);
        let mut check = exam.check(&ran.c, task);
        check.note_overwritten(&ran.overwritten, &problem.c, &ran.c);
        let counts = match &ran.facts {
            Facts::Emulator(report) => Some(report),
            Facts::Cuda { .. } => None,
        };
        let modelled = counts.map(|report| Modelled::of(options.gpu, task.kernel, &shape, &task.launch, report));
        let annotated = counts.filter(|_| options.annotate).map(|report| annotate(&task.source, report));
        let report = Report {
            level: self.name.to_string(),
            title: self.title.to_string(),
            shape,
            form: problem.form,
            seed: exam.seed,
            device: if counts.is_some() { emulated::NAME.to_string() } else { device.to_string() },
            modelled,
            configuration: configuration.clone(),
            kernel: task.kernel.clone(),
            launch: task.launch,
            // Memory of a device begins at multiples of more than 16 bytes.
            copies: copied(&task.operands, [0; 3]),
            check,
            overwritten: ran.overwritten,
            found: self.finding.and_then(|finding| (finding.words)(&shape, &configuration.tiles, &ran.found)),
            of_product: None,
            sums: Vec::new(),
            facts: ran.facts,
            matrices: options.matrices.then(|| [&problem.a, &problem.b, &ran.c].map(Matrix::values)),
            annotated,
            judged: None,
        };
        (report, ran.c)
    }
}
