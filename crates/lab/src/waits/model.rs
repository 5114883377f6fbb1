//! A launch on record, as the model sees it: on the GPU of the record, or on another one.

use device::nvrtc;
use emulator::gpu::{self, Gpu};
use emulator::occupancy::occupancy;
use emulator::stream::Stream;
use emulator::{Device, Dim3, Launch, Module};
use gemm::fit::{self, Card};
use gemm::kernel::Kernel;
use gemm::task::Task;
use gemm::{Build, Configuration, Dtype, Error, Shape, emulated};
use sm_model::figures::{Figures, H200};
use sm_model::gpus::{self, Published};
use sm_model::sm::{Block, How, Outcome};
use sm_model::waits::Tally;

use super::record::{GROUPS, Read, Shares, launch_of};
use crate::cards;

/// Lengths along K that are run; of longer ones, each step costs what it costs between these.
pub const LENGTHS: [u32; 2] = [128, 256];
/// Elements of a line of 128 bytes.
const LINE: u32 = 32;
/// The figures of the GPU of the record.
pub const FIGURES: &Figures = &H200;

/// A GPU that is modelled.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    pub gpu: &'static Gpu,
    pub figures: Figures,
}

impl Machine {
    /// The GPU of the record.
    pub fn of_the_record() -> Machine {
        Machine { gpu: &gpu::H200, figures: *FIGURES }
    }

    /// Another one, if enough is known of it.
    pub fn of(gpu: &'static Gpu) -> Result<Machine, Error> {
        let unknown = || {
            Error::usage(
                format!("no figures of a {}'s SM are known that fit the model, which is of SMs since Volta", gpu.name),
                format!("known are {}", Published::known()),
            )
        };
        Ok(Machine { gpu, figures: gpus::figures(gpu).ok_or_else(unknown)? })
    }

    /// It is the one of the record.
    pub fn is_measured(&self) -> bool {
        self.gpu.name == FIGURES.gpu
    }

    /// Registers of a thread: by the kernel's header or, of an architecture that has no line there, by the record of cards.
    fn registers(&self, build: &Build, kernel: &Kernel) -> Result<u32, Error> {
        let sm = self.gpu.sm();
        if let Some(resources) = kernel.resources.get(&sm) {
            return Ok(resources.registers);
        }
        let Configuration { dtype, variant, tiles, .. } = &build.configuration;
        let rows = cards::record::read(cards::RECORD)?;
        let is = |row: &&cards::record::Row| {
            (&*row.level, &*row.variant, &row.dtype, row.sm) == (build.level.name, *variant, dtype, sm)
                && row.tiles == tiles.to_string()
        };
        Ok(rows.iter().find(is).and_then(|row| row.registers).unwrap_or(255))
    }

    /// Blocks for which an SM has room, with so many bytes of dynamic shared memory each.
    fn fit(&self, build: &Build, kernel: &Kernel, dynamic: u32) -> Result<u64, Error> {
        let known = kernel.resources.get(&self.gpu.sm()).or_else(|| kernel.resources.values().next());
        let shared = dynamic.max(known.map_or(0, |resources| resources.shared_bytes));
        let registers = self.registers(build, kernel)?;
        Ok(occupancy(self.gpu, build.threads(), registers, shared).blocks_per_sm.max(1).into())
    }

    /// The kernel for it, if it can run it.
    fn obtained(&self, build: &Build) -> Result<Kernel, Error> {
        let kernel = Kernel::obtain(build, self.gpu.sm(), nvrtc::find)?;
        let tile = build.tile();
        let plan = build.plan(Shape { m: tile.m, n: tile.n, k: tile.k })?;
        fit::check(&Card::modelled(self.gpu), &build.to_string(), &plan.task(&kernel))?;
        Ok(kernel)
    }
}

/// What the thread blocks that live on one SM together execute.
pub struct Recorded {
    stream: Stream,
    registers: u32,
    machine: Machine,
    /// Nobody has read the matrices before.
    cold: bool,
}

impl Recorded {
    /// Of the fullest SM, as the most of the launch's blocks find L2.
    pub fn of(build: &Build, shape: Shape, machine: &Machine) -> Result<Recorded, Error> {
        let cold = cold(build, shape, machine)? > 0.5;
        Ok(Recorded { cold, ..Recorded::on(build, &machine.obtained(build)?, shape, machine, 0)? })
    }

    /// Of an SM of each kind, with the share of SMs that are of this kind. Blocks are dealt to the SMs in turn: where all
    /// fit at once and the SMs do not divide their number, some SMs hold one block more than the others.
    pub fn of_each_kind(build: &Build, shape: Shape, machine: &Machine) -> Result<Vec<(f64, Recorded)>, Error> {
        let kernel = machine.obtained(build)?;
        let plan = build.plan(shape)?;
        let sms = u64::from(machine.gpu.sms);
        let fit = machine.fit(build, &kernel, plan.task(&kernel).dynamic_shared)?;
        let blocks = plan.launch.grid.count();
        let fuller = blocks % sms;
        if blocks < sms || blocks > sms * fit || fuller == 0 {
            return Ok(vec![(1.0, Recorded::on(build, &kernel, shape, machine, 0)?)]);
        }
        let share = fuller as f64 / sms as f64;
        Ok(vec![
            (share, Recorded::on(build, &kernel, shape, machine, 0)?),
            (1.0 - share, Recorded::on(build, &kernel, shape, machine, fuller)?),
        ])
    }

    /// Of the SM with this number.
    fn on(build: &Build, kernel: &Kernel, shape: Shape, machine: &Machine, sm: u64) -> Result<Recorded, Error> {
        let stream = recorded(build, kernel, shape, machine, sm)?;
        Ok(Recorded { stream, registers: machine.registers(build, kernel)?, machine: *machine, cold: false })
    }

    /// What their warps issue.
    pub fn assembled(&self, figures: &Figures) -> Vec<Block> {
        sm_model::assembled(&self.stream, self.registers, figures)
    }

    /// What comes of it.
    pub fn run(&self, blocks: &[Block], figures: &Figures, how: How) -> Outcome {
        sm_model::sm::run(blocks, &self.stream.touches, figures, How { cold: how.cold || self.cold, ..how })
    }

    /// What comes of it on its GPU, and what its warps issue.
    pub fn timeline(&self) -> (Vec<Block>, Outcome) {
        let blocks = self.assembled(&self.machine.figures);
        let outcome = self.run(&blocks, &self.machine.figures, How { timeline: true, ..How::default() });
        (blocks, outcome)
    }
}

/// A launch: the runs from which the model puts it together, each with how much it counts.
///
/// Along K it is recorded in one length or in two, and the difference of these comes on top of the first as often as K
/// asks. Where SMs hold two numbers of blocks, one SM of each kind runs, and counts as often as there are such.
pub struct Runs {
    parts: Vec<(f64, Recorded)>,
    /// The share of the blocks that find nothing in L2.
    cold: f64,
}

impl Runs {
    /// Records them on the GPU of the record.
    pub fn of(read: &Read) -> Result<Runs, Error> {
        Runs::on(read, &Machine::of_the_record())
    }

    /// Records them on this GPU.
    pub fn on(read: &Read, machine: &Machine) -> Result<Runs, Error> {
        let (build, shape) = launch_of(read)?;
        // Rows of A that lie as in the launch: as many elements beyond a whole number of lines.
        let [short, long] = LENGTHS.map(|length| length + shape.k % LINE);
        let lengths = if shape.k <= long {
            vec![(1.0, shape.k)]
        } else {
            let beyond = f64::from(shape.k - short) / f64::from(long - short);
            vec![(1.0 - beyond, short), (beyond, long)]
        };
        let mut runs = Vec::new();
        for (weight, k) in lengths {
            let each = Recorded::of_each_kind(&build, Shape { k, ..shape }, machine)?;
            runs.extend(each.into_iter().map(|(share, recorded)| (weight * share, recorded)));
        }
        Ok(Runs { parts: runs, cold: cold(&build, shape, machine)? })
    }

    /// What their warps issue.
    pub fn assembled(&self, figures: &Figures) -> Vec<Vec<Block>> {
        self.parts.iter().map(|(_, recorded)| recorded.assembled(figures)).collect()
    }

    /// Clocks of warps, by what they did.
    pub fn tally(&self, assembled: &[Vec<Block>], figures: &Figures) -> Tally {
        let mut tallies = Vec::new();
        for (share, cold) in [(self.cold, true), (1.0 - self.cold, false)] {
            if share > 0.0 {
                let how = How { cold, ..How::default() };
                let run = |((weight, recorded), blocks): (&(f64, Recorded), &Vec<Block>)| {
                    (share * weight, recorded.run(blocks, figures, how).tally)
                };
                tallies.extend(self.parts.iter().zip(assembled).map(run));
            }
        }
        Tally::weighed(tallies)
    }

    /// The model's shares.
    pub fn shares(&self, assembled: &[Vec<Block>], figures: &Figures) -> Shares {
        let tally = self.tally(assembled, figures);
        GROUPS.map(|(_, whys)| whys.iter().map(|&why| tally.share(why)).sum())
    }
}

/// The model's shares of a launch.
pub fn modelled(read: &Read) -> Result<Shares, Error> {
    let runs = Runs::of(read)?;
    Ok(runs.shares(&runs.assembled(FIGURES), FIGURES))
}

/// The share of the blocks that find nothing in L2: those that begin first, and, where B does not fit into L2, of the
/// others that share columns of B the first.
fn cold(build: &Build, shape: Shape, machine: &Machine) -> Result<f64, Error> {
    let kernel = machine.obtained(build)?;
    let plan = build.plan(shape)?;
    let together = u64::from(machine.gpu.sms) * machine.fit(build, &kernel, plan.task(&kernel).dynamic_shared)?;
    let grid = plan.launch.grid;
    let first = (together as f64 / grid.count() as f64).min(1.0);
    let bytes = u64::from(shape.k) * u64::from(shape.n) * 4;
    let others = if bytes > machine.gpu.l2_bytes { (f64::from(grid.x) / together as f64).min(1.0) } else { 0.0 };
    Ok(first + (1.0 - first) * others)
}

/// Runs the blocks that live on one SM together.
fn recorded(build: &Build, kernel: &Kernel, shape: Shape, machine: &Machine, sm: u64) -> Result<Stream, Error> {
    let plan = build.plan(shape)?;
    let task = plan.task(kernel);
    let (sms, fit) = (u64::from(machine.gpu.sms), machine.fit(build, kernel, task.dynamic_shared)?);
    let grid = plan.launch.grid;
    let here = |block: Dim3| place(grid, block) % sms == sm && place(grid, block) / sms < fit;
    let fault = |what| Error::Fault(format!("{}, for a model of time: {what}", build.level.entry));
    record(&task, build.configuration.dtype, shape, &here).map_err(fault)
}

/// A block's place in the order in which blocks are dealt to SMs.
pub fn place(grid: Dim3, block: Dim3) -> u64 {
    (u64::from(block.z) * u64::from(grid.y) + u64::from(block.y)) * u64::from(grid.x) + u64::from(block.x)
}

/// Notes what the blocks of a product for which `wanted` holds execute. A, B and C hold zeros.
pub fn record(task: &Task, dtype: Dtype, shape: Shape, wanted: &dyn Fn(Dim3) -> bool) -> Result<Stream, String> {
    let kernel = task.kernel;
    let program = Module::parse(&kernel.ptx).and_then(|m| m.kernel(&kernel.entry)).map_err(|e| e.to_string())?;
    let Dtype { input, output, .. } = dtype;
    let mut device = Device::new();
    let mut zeros = |name: &str, rows: u32, columns: u32, bytes: usize| {
        let zeros = vec![0; rows as usize * columns as usize * bytes];
        let buffer = device.alloc(name, zeros.len());
        device.write(buffer, &zeros).map(|()| (buffer, 0)).map_err(|e| e.to_string())
    };
    let Shape { m, n, k } = shape;
    let places =
        [zeros("A", m, k, input.bytes())?, zeros("B", k, n, input.bytes())?, zeros("C", m, n, output.bytes())?];
    let arguments = emulated::arguments(&task.operands, &mut device, places).map_err(|e| e.to_string())?;
    let launch = Launch::new(task.launch.grid, task.launch.block).dynamic_shared(task.dynamic_shared);
    if let Some((program, how)) = emulated::before(task, launch).map_err(|e| e.to_string())? {
        device.launch(&program, how, &arguments.values).map_err(|e| e.to_string())?;
    }
    device.record(&program, launch, &arguments.values, wanted).map_err(|e| e.to_string())
}
