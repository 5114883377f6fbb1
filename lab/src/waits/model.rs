//! A launch on record, as the model sees it.

use clocks::figures::{Figures, H200};
use clocks::sm::{Block, How, Outcome};
use clocks::waits::Tally;
use common::kernel::{Kernel, nvrtc};
use common::{Build, Dtype, Error, Shape};
use emulator::gpu::Gpu;
use emulator::occupancy::occupancy;
use emulator::stream::Stream;
use emulator::{Device, Dim3, Launch, Module};
use rung::emulated;

use super::record::{GROUPS, Read, Shares, launch_of};

/// Lengths along K that are run; of longer ones, each step costs what it costs between these.
pub const LENGTHS: [u32; 2] = [128, 256];
/// The GPU that is modelled.
pub const FIGURES: &Figures = &H200;

/// What the thread blocks that live on one SM together execute.
pub struct Recorded {
    stream: Stream,
    registers: u32,
}

impl Recorded {
    /// Of all SMs, each as full as it gets.
    pub fn of(build: &Build, shape: Shape) -> Result<Recorded, Error> {
        let kernel = Kernel::obtain(build, 90, nvrtc::find)?;
        let registers = kernel.resources.get(&90).map_or(255, |resources| resources.registers);
        Ok(Recorded { stream: recorded(build, &kernel, shape, registers)?, registers })
    }

    /// What their warps issue.
    pub fn assembled(&self, figures: &Figures) -> Vec<Block> {
        clocks::assembled(&self.stream, self.registers, figures)
    }

    /// What comes of it.
    pub fn run(&self, blocks: &[Block], figures: &Figures, how: How) -> Outcome {
        clocks::sm::run(blocks, &self.stream.touches, figures, how)
    }
}

/// A launch, recorded in one length along K, or in two.
pub struct Lengths {
    /// One for each.
    pub recorded: Vec<Recorded>,
    /// How many times the difference comes on top of the first.
    beyond: f64,
}

impl Lengths {
    /// Runs them.
    pub fn of(read: &Read) -> Result<Lengths, Error> {
        let (build, shape) = launch_of(read)?;
        let of = |k: u32| Recorded::of(&build, Shape { k, ..shape });
        if shape.k <= LENGTHS[1] {
            return Ok(Lengths { recorded: vec![of(shape.k)?], beyond: 0.0 });
        }
        let beyond = f64::from(shape.k - LENGTHS[0]) / f64::from(LENGTHS[1] - LENGTHS[0]);
        Ok(Lengths { recorded: LENGTHS.into_iter().map(of).collect::<Result<_, _>>()?, beyond })
    }

    /// What their warps issue.
    pub fn assembled(&self, figures: &Figures) -> Vec<Vec<Block>> {
        self.recorded.iter().map(|recorded| recorded.assembled(figures)).collect()
    }

    /// The model's shares.
    pub fn shares(&self, assembled: &[Vec<Block>], figures: &Figures) -> Shares {
        let each = self.recorded.iter().zip(assembled);
        let tallies: Vec<Tally> =
            each.map(|(recorded, blocks)| recorded.run(blocks, figures, How::default()).tally).collect();
        let tally = match tallies.as_slice() {
            [short, long] => Tally::extended(short, long, self.beyond),
            one => one.first().copied().unwrap_or_default(),
        };
        GROUPS.map(|(_, whys)| whys.iter().map(|&why| tally.share(why)).sum())
    }
}

/// The model's shares of a launch.
pub fn modelled(read: &Read) -> Result<Shares, Error> {
    let lengths = Lengths::of(read)?;
    Ok(lengths.shares(&lengths.assembled(FIGURES), FIGURES))
}

/// Runs the blocks that live on one SM together. A and B hold zeros.
fn recorded(build: &Build, kernel: &Kernel, shape: Shape, registers: u32) -> Result<Stream, Error> {
    let plan = build.plan(shape)?;
    let task = plan.task(kernel);
    let fault = |what: String| Error::Fault(format!("{}, for a model of time: {what}", build.level.entry));
    let program = Module::parse(&kernel.ptx).and_then(|m| m.kernel(&kernel.entry)).map_err(|e| fault(e.to_string()))?;
    let Dtype { input, output, .. } = build.configuration.dtype;
    let mut device = Device::new();
    let mut zeros = |name: &str, rows: u32, columns: u32, bytes: usize| {
        let zeros = vec![0; rows as usize * columns as usize * bytes];
        let buffer = device.alloc(name, zeros.len());
        device.write(buffer, &zeros).map(|()| (buffer, 0)).map_err(|e| fault(e.to_string()))
    };
    let Shape { m, n, k } = shape;
    let places =
        [zeros("A", m, k, input.bytes())?, zeros("B", k, n, input.bytes())?, zeros("C", m, n, output.bytes())?];
    let arguments = emulated::arguments(&task.operands, &mut device, places)?;
    let gpu = Gpu::named(FIGURES.gpu).map_err(|error| Error::usage(error.to_string(), "`lab gpus` lists them"))?;
    let grid = plan.launch.grid;
    let shared = task.dynamic_shared.max(kernel.resources.get(&90).map_or(0, |resources| resources.shared_bytes));
    let fit = u64::from(occupancy(gpu, build.threads(), registers, shared).blocks_per_sm.max(1));
    let resident = fit.min(grid.count().div_ceil(gpu.sms.into()));
    let place = |block: Dim3| {
        (u64::from(block.z) * u64::from(grid.y) + u64::from(block.y)) * u64::from(grid.x) + u64::from(block.x)
    };
    let here = |block: Dim3| place(block) % u64::from(gpu.sms) == 0 && place(block) / u64::from(gpu.sms) < resident;
    let launch = Launch::new(grid, plan.launch.block).dynamic_shared(task.dynamic_shared);
    device.record(&program, launch, &arguments, here).map_err(|e| fault(e.to_string()))
}
