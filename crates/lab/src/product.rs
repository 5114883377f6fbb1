//! `lab summit`: one product by a kernel of the summit, in any form that it takes.

use std::process::ExitCode;

use clap::Args;
use common::progress::step;
use common::road::run_level;
use common::ship::write_ptx;
use device::{Device, nvrtc};
use gemm::candidate::Exam;
use gemm::form::{Form, Layout};
use gemm::kernel::Kernel;
use gemm::problem::{Fill, Problem};
use gemm::{Build, Error, Shape, asked, fit};
use summit::kernels::{KERNELS, named, short};

use crate::flags::{How, Sizes};
use crate::output::{note, print, say};
use crate::takers::chosen;

/// One product by the summit: with factors, with B stored the other way, with rows that lie apart
#[derive(Debug, Clone, Args)]
pub struct Summit {
    /// The kernel, by its name [default: the one that is chosen for these sizes, type and form]
    #[arg(value_name = "KERNEL")]
    kernel: Option<String>,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    form: Forms,
    /// A named variant of the kernel
    #[arg(long, value_name = "NAME", requires = "kernel")]
    variant: Option<String>,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Print the kernel's PTX, and run nothing
    #[arg(long, conflicts_with = "json")]
    ptx: bool,
    /// Compile every shipped configuration of the kernel, or of every one, and write them below crates/summit/kernels, where `cargo x ptx` packs them
    #[arg(long, hide = true)]
    write_ptx: bool,
}

/// What a product is beside its sizes and types.
#[derive(Debug, Clone, Args)]
struct Forms {
    /// The factor of A·B
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true, value_parser = factor)]
    alpha: f64,
    /// The factor of C, which is added; 0 leaves it out
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true, value_parser = factor)]
    beta: f64,
    /// B is stored as N × K
    #[arg(long)]
    transposed: bool,
    /// Elements from one row of A to the next [default: K]
    #[arg(long, value_name = "N")]
    lda: Option<usize>,
    /// Elements from one row of B, as it is stored, to the next [default: N, or K where it is stored as N × K]
    #[arg(long, value_name = "N")]
    ldb: Option<usize>,
    /// Elements from one row of C to the next [default: N]
    #[arg(long, value_name = "N")]
    ldc: Option<usize>,
}

/// Reads a factor, which is a finite number; `Err` says what else it is.
fn factor(word: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("`{word}` is no finite number"))
}

impl Forms {
    fn form(&self, shape: &Shape) -> Result<Form, Error> {
        let layout = if self.transposed { Layout::Columns } else { Layout::Rows };
        let tight = Form { alpha: self.alpha, beta: self.beta, layout, padding: [0; 3], ..Form::PLAIN };
        let [a, b, c] = tight.leading(shape).map(|least| least as usize);
        tight.with_leading(shape, [self.lda.unwrap_or(a), self.ldb.unwrap_or(b), self.ldc.unwrap_or(c)])
    }
}

/// Runs the command. A wrong product ends in exit code 1.
pub fn run(summit: &Summit) -> Result<ExitCode, Error> {
    if summit.write_ptx {
        let is_wanted = |name: &str| {
            summit.kernel.as_ref().is_none_or(|word| named(word).is_some_and(|kernel| kernel.name == name))
        };
        for kernel in KERNELS.into_iter().filter(|kernel| is_wanted(kernel.name)) {
            let files = write_ptx(kernel).map_err(|error| Error::usage(format!("{error:#}"), "run it at the root"))?;
            note(&format!("{}: {files} configurations written", kernel.name));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let options = summit.how.options()?;
    let shape = summit.sizes.shape(512);
    let form = summit.form.form(&shape)?;
    let device = if summit.ptx { Device::Emulator } else { summit.how.device(false)? };
    let build = build(summit, &device, &shape, &form)?;
    if summit.ptx {
        print(&Kernel::obtain(&build, options.gpu.sm(), nvrtc::find)?.ptx)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = build.plan_in(shape, form)?;
    let problem =
        step("filling A and B", || Problem::in_form(shape, summit.how.dtype, form, Fill::Reals, summit.how.seed))?;
    let exam = Exam { problem: &problem, seed: summit.how.seed, reference: None };
    let report = run_level(&plan, &device, exam, &options, nvrtc::find)?;
    if summit.json {
        print(&format!("{}\n", report.json()))?
    } else {
        say(&report.to_string())?
    }
    Ok(if report.check.right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The kernel that was asked for, with tile sizes that the GPU can run; or the one that the summit chooses.
fn build(summit: &Summit, device: &Device, shape: &Shape, form: &Form) -> Result<Build, Error> {
    let gpu = summit.how.options()?.gpu;
    let Some(name) = &summit.kernel else {
        let card = match device {
            Device::Cuda(gpu) => (gpu.architecture(), gpu.multiprocessors()),
            Device::Emulator => (gpu.sm(), gpu.sms),
        };
        return chosen(summit.how.dtype, shape, card, form);
    };
    let kernel = named(name).ok_or_else(|| {
        let names: Vec<&str> = KERNELS.into_iter().map(short).collect();
        Error::usage(format!("the summit has no kernel `{name}`"), format!("it has {}", names.join(", ")))
    })?;
    let wanted = asked::build(kernel, summit.how.dtype, summit.variant.as_deref(), &[], form)?;
    let (build, said) = fit::fitting(wanted, &device.card(gpu))?;
    said.iter().for_each(|said| note(&format!("note: {said}")));
    Ok(build)
}
