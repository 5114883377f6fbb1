//! One problem, its product known, on which kernels are run one after the other. A kernel that fails gives a row that
//! says so.

use common::progress::step;
use common::road::{run_level, run_obtained};
use common::serial::{self, Timed};
use device::cuda::Gpu;
use device::energy::Meter;
use device::turns::{Contender, Pace, in_turns};
use device::vendor::{Vendor, Which};
use device::{Device, nvrtc};
use emulator::TensorType;
use emulator::gpu::Gpu as Modelled;
use gemm::candidate::{Exam, Options};
use gemm::check::{Check, Method, Reference};
use gemm::dtype::Sum;
use gemm::form::Form;
use gemm::kernel::Kernel;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Limits, Problem};
use gemm::report::Report;
use gemm::{Build, Dim3, Dtype, Element, Error, LaunchShape, Plan, Shape, Tile, fit};
use rayon::prelude::*;

use crate::output::note;
use crate::row::{Kind, Row};

/// The largest size at which kernels that run on a GPU are counted on the emulator.
const COUNTED: u32 = 256;

/// The fastest kernels of a problem that are timed again, in turns with cuBLAS.
pub const RIVALS: usize = 4;

/// What `--levels` does for a level that is left out.
pub const TAKEN_IN: &str = "; `--levels` takes it in";

/// Those of the builds whose level is for such a shape. A note names the levels that are not, and what to do.
pub fn for_shape(builds: Vec<Build>, shape: &Shape, to_do: &str) -> Vec<Build> {
    let (takers, others): (Vec<Build>, Vec<Build>) = builds.into_iter().partition(|build| build.level.is_for(shape));
    let mut names: Vec<&str> = others.iter().map(|build| build.level.name).collect();
    names.dedup();
    for name in names {
        note(&format!("note: {name} is for thin products, and left out at {shape}{to_do}"));
    }
    takers
}

/// A problem with its product.
pub struct Bench<'a> {
    device: &'a Device,
    options: Options,
    seed: u64,
    problem: Problem,
    reference: Reference,
    which: Which,
}

impl<'a> Bench<'a> {
    /// Fills the matrices and computes the product that all others are compared with.
    pub fn new(
        device: &'a Device,
        shape: Shape,
        dtype: Dtype,
        seed: u64,
        options: Options,
    ) -> Result<Bench<'a>, Error> {
        let form = Form::usual(dtype);
        Limits::of_launch(&whole(&shape), dtype, &shape, &form).check()?;
        let problem = step("filling A and B", || Problem::in_form(shape, dtype, form, Fill::Reals, seed))?;
        let reference = step("computing what the product must be", || Reference::of(&problem));
        Ok(Bench { device, options, seed, problem, reference, which: Which::Usual })
    }

    /// The same beside this product of the vendor's.
    pub fn beside(self, which: Which) -> Bench<'a> {
        Bench { which, ..self }
    }

    /// The matrices, for a kernel of another kind.
    pub fn exam(&self) -> Exam<'_> {
        Exam { problem: &self.problem, seed: self.seed, reference: Some(&self.reference) }
    }

    /// What a time is on this device.
    pub fn kind(&self) -> Kind {
        match self.device {
            Device::Cuda(_) => Kind::Measured,
            Device::Emulator => Kind::Bound,
        }
    }

    /// A row each for cuBLAS, the levels' builds and the CPU, given to `put` as soon as they are known.
    pub fn rows(
        &self,
        builds: &[Build],
        vendor: bool,
        cpu: bool,
        put: &mut dyn FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let vendor = if vendor { self.vendor() } else { None };
        let cpu = cpu.then(|| self.cpu());
        let loop_ms = cpu.as_ref().and_then(|row| row.ms);
        let rate = vendor.as_ref().filter(|row| row.is_right()).and_then(|row| row.gflops);
        let mut put = |mut row: Row| {
            row.of_vendor = rate.and_then(|rate| Some(row.gflops? / rate));
            row.speedup = loop_ms.and_then(|ms| Some(ms / row.ms?));
            put(row)
        };
        vendor.map_or(Ok(()), &mut put)?;
        for build in builds {
            put(self.level(build))?;
        }
        let Some(row) = cpu else { return Ok(()) };
        if let Some(rows) = row.timed_rows {
            note(&format!("the loop on one core is timed on {rows} of {} rows, and its time extended to all", row.m));
        }
        put(row)
    }

    /// The levels' rows. The emulator runs two kernels at a time: one whose blocks wait for each other keeps a single core busy.
    pub fn levels(&self, builds: &[Build]) -> Vec<Row> {
        match self.device {
            Device::Cuda(_) => builds.iter().map(|build| self.level(build)).collect(),
            Device::Emulator => {
                let both = |pair: &[Build]| pair.par_iter().map(|build| self.level(build)).collect::<Vec<_>>();
                builds.chunks(2).flat_map(both).collect()
            }
        }
    }

    /// A level's row; where the GPU cannot run the default tile sizes, that of others.
    pub fn level(&self, build: &Build) -> Row {
        let build = &self.fitting(build);
        let run = |plan: &Plan| run_level(plan, self.device, self.exam(), &self.options, nvrtc::find);
        let mut row = self.judged(build, run);
        if matches!(self.device, Device::Cuda(_)) && row.ms.is_some() {
            self.count_small(build, &mut row);
        }
        row
    }

    /// The build; in the place of a default that the GPU cannot run, what it can run, after a note.
    fn fitting(&self, build: &Build) -> Build {
        let default = build.level.default_build(self.problem.dtype);
        if build.configuration.tiles != default.configuration.tiles {
            return build.clone();
        }
        let card = self.device.card(self.options.gpu);
        match fit::fitting(build.clone(), &card) {
            Ok((other, Some(why))) => {
                note(&format!("note: {why}"));
                other
            }
            // What runs nowhere here has a row that says so.
            Ok((_, None)) | Err(_) => build.clone(),
        }
    }

    /// The row of a level whose kernel is there already; a GPU's has no counters.
    pub fn obtained(&self, build: &Build, kernel: &Kernel) -> Row {
        self.judged(build, |plan| run_obtained(plan, kernel, self.device, self.exam(), &self.options))
    }

    /// The row of a run, if the level can do this problem.
    fn judged(&self, build: &Build, run: impl FnOnce(&Plan) -> Result<Report, Error>) -> Row {
        let (shape, tiles) = (self.problem.shape, build.configuration.tiles.to_string());
        let mut row = Row::new(build.name(), tiles, self.problem.dtype, shape, self.kind());
        let build = build.clone().in_form(&self.problem.form);
        let ran = build.and_then(|build| build.plan_in(shape, self.problem.form).and_then(|plan| run(&plan)));
        match ran {
            Ok(report) => {
                row.fill(&report);
                self.share_of_peak(&mut row);
            }
            Err(error) => row.verdict = failed(&error),
        }
        row
    }

    /// The share of the modelled GPU's peak.
    pub fn share_of_peak(&self, row: &mut Row) {
        if let Device::Emulator = self.device {
            let peak = peak(self.options.gpu, self.problem.dtype);
            row.of_peak = row.gflops.zip(peak).map(|(gflops, peak)| gflops / peak);
            row.most_of_peak = row.most_gflops().zip(peak).map(|(most, peak)| most / peak);
        }
    }

    /// A GPU does not count: the emulator does, on a part of the problem. Not of a kernel that shares the tiles of its last
    /// round: a small problem is nothing but that round, and says little of a large one.
    fn count_small(&self, build: &Build, row: &mut Row) {
        let Shape { m, n, k } = self.problem.shape;
        let small = Shape { m: m.min(COUNTED), n: n.min(COUNTED), k: k.min(COUNTED) };
        if small != self.problem.shape && build.round() > 1 {
            return;
        }
        let Problem { dtype, form, .. } = self.problem;
        let counted = Problem::in_form(small, dtype, form, Fill::Reals, self.seed).and_then(|problem| {
            let exam = Exam { problem: &problem, seed: self.seed, reference: None };
            let build = build.clone().in_form(&form)?;
            run_level(&build.plan_in(small, form)?, &Device::Emulator, exam, &self.options, nvrtc::find)
        });
        if let Ok(report) = counted {
            row.count(&report);
            row.counted_at = (small != self.problem.shape).then(|| small.to_string());
        }
    }

    /// cuBLAS's row; on the emulator there is none.
    pub fn vendor(&self) -> Option<Row> {
        let Device::Cuda(gpu) = self.device else { return None };
        let mut row = Row::new("cuBLAS".into(), String::new(), self.problem.dtype, self.problem.shape, Kind::Measured);
        match Vendor::find(gpu) {
            Err(why) => row.verdict = format!("failed: {why}"),
            Ok(vendor) => {
                let vendor = vendor.by(self.which);
                row.kernel = vendor.name();
                match vendor.multiply(&self.problem, self.options.extras.time) {
                    Err(error) => row.verdict = failed(&error),
                    Ok((c, timing)) => {
                        row.judge(&self.check(&c, self.problem.dtype.vendor_sum()));
                        timing.iter().for_each(|timing| row.timing(timing));
                    }
                }
            }
        }
        Some(row)
    }

    /// Times cuBLAS and the fastest of these builds again, in turns, and puts what comes of it into their rows: of what is close, a
    /// comparison of times that were taken one after the other says more of the card's warmth than of the kernels.
    pub fn in_turns(&self, rows: &mut [Row], builds: &[Build]) -> Result<(), Error> {
        let Device::Cuda(gpu) = self.device else { return Ok(()) };
        let Ok(vendor) = Vendor::find(gpu).map(|vendor| vendor.by(self.which)) else { return Ok(()) };
        let Some(first) = rows.iter().position(|row| row.is_vendor() && row.is_right()) else { return Ok(()) };
        let build = |row: &Row| {
            builds.iter().find(|b| row.kernel == b.name() && row.tiles == b.configuration.tiles.to_string())
        };
        let mut rivals: Vec<(usize, &Build)> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.is_right())
            .filter_map(|(n, r)| Some((n, build(r)?)))
            .collect();
        rivals.sort_by(|(a, _), (b, _)| rows[*a].ms.unwrap_or(f64::MAX).total_cmp(&rows[*b].ms.unwrap_or(f64::MAX)));
        rivals.truncate(RIVALS);
        let mut places = vec![first];
        let mut contenders = vec![Contender::vendor(gpu, &vendor, &self.problem)?];
        for (place, build) in rivals {
            contenders.push(self.contender(gpu, build)?);
            places.push(place);
        }
        let of = (self.problem.shape, self.problem.dtype);
        let times = in_turns(gpu, &contenders.iter().collect::<Vec<_>>(), of, Pace::THOROUGH)?;
        for (place, timing) in places.into_iter().zip(times) {
            rows[place].timing(&timing);
        }
        let vendors = rows[first].ms;
        for row in rows {
            row.of_vendor = vendors.and_then(|vendors| Some(vendors / row.ms?)).filter(|_| row.is_right());
        }
        Ok(())
    }

    /// A build's kernel, to be launched again and again.
    fn contender(&self, gpu: &'a Gpu, build: &Build) -> Result<Contender<'a>, Error> {
        let build = build.clone().in_form(&self.problem.form)?;
        let kernel = Kernel::obtain(&build, self.options.gpu.sm(), nvrtc::find)?;
        let plan = build.plan_in(self.problem.shape, self.problem.form)?;
        Contender::kernel(gpu, &plan.task(&kernel), &self.problem)
    }

    /// What a product costs in joules, into each row that is right: of the builds, in their order, and of the vendor. Where nothing counts
    /// them, a note says what is missing.
    pub fn energy(&self, rows: &mut [Row], builds: &[Build]) -> Result<(), Error> {
        let Device::Cuda(gpu) = self.device else {
            note("note: energy is left out: only a GPU counts it");
            return Ok(());
        };
        let meter = match Meter::find(gpu) {
            Ok(meter) => meter,
            Err(why) => {
                note(&format!("note: energy is left out: {why}"));
                return Ok(());
            }
        };
        let vendor = Vendor::find(gpu).map(|vendor| vendor.by(self.which));
        for (place, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.is_right()) {
            let contender = match (builds.get(place), &vendor) {
                (Some(build), _) => self.contender(gpu, &self.fitting(build))?,
                (None, Ok(vendor)) if row.is_vendor() => Contender::vendor(gpu, vendor, &self.problem)?,
                _ => continue,
            };
            row.energy = Some(step("measuring energy", || meter.measure(&contender))?);
        }
        Ok(())
    }

    /// The row of the plain triple loop on this machine's CPU, timed on the first rows of a large problem.
    pub fn cpu(&self) -> Row {
        let mut row =
            Row::new("CPU, one core".into(), String::new(), self.problem.dtype, self.problem.shape, Kind::Cpu);
        let Timed { part, c, milliseconds } = step("the loop on one core", || serial::timed(&self.problem));
        let method = Method { tile: whole(&part.shape).tile, sum: Sum::Rounded };
        row.judge(&step("checking the product", || Check::of(&part, Fill::Reals, &c, method)));
        row.time(milliseconds[milliseconds.len() / 2]);
        row.launches = Some(milliseconds.len());
        row.timed_rows = Some(part.shape.m).filter(|&rows| rows < self.problem.shape.m);
        row
    }

    /// Whether a product that is no kernel's is right.
    fn check(&self, c: &Matrix, sum: Sum) -> Check {
        let method = Method { tile: whole(&self.problem.shape).tile, sum };
        step("checking the product", || Check::against(&self.reference, &self.problem, Fill::Reals, c, method))
    }
}

/// One block for the whole product: what is known of a launch that is nobody's kernel.
fn whole(shape: &Shape) -> LaunchShape {
    let Shape { m, n, k } = *shape;
    LaunchShape { grid: Dim3::xy(1, 1), block: Dim3::xy(1, 1), tile: Tile { m, n, k } }
}

/// The modelled GPU's peak in 10⁹ operations per second: in f32 and f64 outside the tensor cores, in other types that of the tensor
/// cores, if they take the type.
pub fn peak(gpu: &Modelled, dtype: Dtype) -> Option<f64> {
    let flops = match dtype.input {
        Element::F64 => Some(gpu.peak_flops_f64()),
        Element::F32 => Some(gpu.peak_flops_f32()),
        other => gpu.peak_flops_tensor(tensor_type(other)?),
    };
    flops.map(|flops| flops / 1e9)
}

/// The modelled GPU's peak of the tensor cores in 10⁹ operations per second, if they take the type.
pub fn tensor_peak(gpu: &Modelled, dtype: Dtype) -> Option<f64> {
    gpu.peak_flops_tensor(tensor_type(dtype.input)?).map(|flops| flops / 1e9)
}

/// What tensor cores multiply elements as, if they do.
fn tensor_type(element: Element) -> Option<TensorType> {
    match element {
        Element::F32 | Element::S32 => None,
        Element::F64 => Some(TensorType::F64),
        Element::Tf32 => Some(TensorType::Tf32),
        Element::Bf16 => Some(TensorType::Bf16),
        Element::F16 => Some(TensorType::F16),
        Element::E4m3 | Element::E5m2 => Some(TensorType::Fp8),
        Element::S8 => Some(TensorType::Int8),
    }
}

/// An error as the verdict of a row: its first line.
fn failed(error: &Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    match error {
        Error::Fault(_) => format!("fault: {first}"),
        Error::Usage { .. } => format!("failed: {first}"),
    }
}

/// Where a run happened, for headings.
pub fn place(device: &Device, options: &Options) -> String {
    match device {
        Device::Cuda(gpu) => format!("on {}", gpu.name()),
        Device::Emulator => format!("on the emulator, modelling {}", options.gpu.name),
    }
}
