//! A launch: arguments laid out, thread blocks shared out over the cores, counts added up.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clusters;
use crate::global::{BufferMemory, Snapshot};
use crate::library;
use crate::machine::{Context, Pause, Recorder, Shape, Tally, Worker, run_alone, run_block, run_together, trace_block};
use crate::marks::{Owner, Use, Watch};
use crate::program::Program;
use crate::stream::Stream;
use crate::tensor::Generation;
use crate::{
    Argument, Buffer, Circumstance, Class, Counters, Device, Dim3, Fault, FaultKind, Kernel, Launch, LaunchError,
    Refusal, Report, Trace,
};

/// Threads that a block may have on every GPU.
const MAX_THREADS: u64 = 1024;
/// Shared memory that a block may have on any GPU, in bytes.
const MAX_SHARED: u64 = 227 * 1024;
const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];
const MAX_BLOCK: [u64; 3] = [1024, 1024, 64];

/// A buffer among a launch's arguments and the module's variables, and what the program may do to it.
struct Written {
    buffer: usize,
    variable: bool,
    stored: bool,
    loaded: bool,
}

/// One way to run all thread blocks. Where a quick one finds what may be a fault, the launch runs once more.
#[derive(Debug, Clone, Copy)]
struct Pass {
    side_by_side: bool,
    /// The order model watches everything.
    thorough: bool,
}

impl Device {
    /// Runs a kernel over the whole grid, and returns when the last thread block is done.
    ///
    /// The result is the same whatever the number of cores: if thread blocks ran side by side and one met
    /// a fault, or a cell that another writes, memory goes back to what it was and the blocks run once more one
    /// by one, so that the fault is the first in the order of the grid, or in the opposite one if the launch asks for
    /// it.
    pub fn launch(&mut self, kernel: &Kernel, launch: Launch, arguments: &[Argument]) -> Result<Report, LaunchError> {
        let program = &*kernel.program;
        let (shape, parameters, written) = self.ready(kernel, &launch, arguments)?;
        let few = launch.grid.count() <= Owner::BLOCKS;
        let side_by_side = few && !program.synchronises_globally && self.workers.count() > 1;
        // Stamps may find a race that the order model knows to be none.
        let judged_twice = launch.sanitize && (program.needs.any || program.needs.of_warps);
        let mut passes = vec![Pass { side_by_side: false, thorough: false }];
        if side_by_side {
            passes.insert(0, Pass { side_by_side, thorough: false });
        }
        if judged_twice {
            passes.push(Pass { side_by_side: false, thorough: true });
        }
        let doubted = launch.sanitize && launch.grid.count() > 1;
        let again = passes.len() > 1 || doubted && written.iter().any(|part| self.has_unwritten(part));
        let snapshot = |part: &Written| self.memory.buffers[part.buffer].snapshot();
        let snapshots: Vec<_> = written.iter().filter(|_| again).map(snapshot).collect();
        for (n, pass) in passes.iter().enumerate() {
            if n > 0 {
                self.restore(&written, &snapshots);
            }
            self.prepare(program, &launch, &written, *pass);
            let (outcome, doubtful) = self.run(kernel, &launch, &shape, &parameters, *pass);
            if outcome.is_ok() || n + 1 == passes.len() || !pass.side_by_side && !doubtful {
                let outcome = outcome.map_err(|fault| {
                    if fault.kind != FaultKind::Uninitialised || !snapshots.iter().any(Snapshot::has_unwritten) {
                        return fault;
                    }
                    self.restore(&written, &snapshots);
                    written.iter().for_each(|part| self.memory.buffers[part.buffer].count_as_written());
                    let pass = Pass { side_by_side: false, thorough: true };
                    self.prepare(program, &launch, &written, pass);
                    let race = self.run(kernel, &launch, &shape, &parameters, pass).0.err();
                    race.filter(|race| explains(race, &fault)).unwrap_or(fault)
                });
                return self.finish(program, &launch, shape.cluster, outcome);
            }
        }
        unreachable!("the last pass returns")
    }

    fn has_unwritten(&self, part: &Written) -> bool {
        self.memory.buffers[part.buffer].written.get().is_some()
    }

    /// Memory goes back to what it was before the launch.
    fn restore(&mut self, written: &[Written], snapshots: &[Snapshot]) {
        for (part, snapshot) in written.iter().zip(snapshots) {
            self.memory.buffers[part.buffer].restore(snapshot);
        }
    }

    /// Runs a kernel as [`Device::launch`] does, and notes every access to global and shared memory by the thread
    /// blocks
    /// for which `wanted` holds.
    ///
    /// Thread blocks run one by one, and a note takes some kilobytes: it is for small problems, or few blocks.
    pub fn trace(
        &mut self,
        kernel: &Kernel,
        launch: Launch,
        arguments: &[Argument],
        wanted: impl Fn(Dim3) -> bool,
    ) -> Result<Trace, LaunchError> {
        self.traced(kernel, launch, arguments, wanted, None)
    }

    fn traced(
        &mut self,
        kernel: &Kernel,
        launch: Launch,
        arguments: &[Argument],
        wanted: impl Fn(Dim3) -> bool,
        stores_to: Option<(u64, u64)>,
    ) -> Result<Trace, LaunchError> {
        let program = &*kernel.program;
        let (shape, parameters, written) = self.ready(kernel, &launch, arguments)?;
        let pass = Pass { side_by_side: false, thorough: program.needs.any || program.needs.of_warps };
        self.prepare(program, &launch, &written, pass);
        let context = self.context(kernel, &launch, &shape, &parameters, pass);
        let mut worker = Worker::new(&context);
        worker.notes.stores_to = stores_to;
        let outcome = one_by_one(&mut worker, &mut |worker| {
            worker.notes.tracing = wanted(shape.block_at(worker.block()));
            if worker.notes.tracing { trace_block(worker) } else { run_block(worker) }
        });
        let Worker { tally, notes, .. } = worker;
        let report = self.finish(program, &launch, shape.cluster, outcome.map(|()| tally))?;
        Ok(Trace { report, accesses: notes.traced })
    }

    /// Runs a kernel as [`Device::launch`] does, and notes each store and atomic by threads that touches these bytes of a buffer. Bulk and
    /// tensor copies are not among them.
    ///
    /// Thread blocks run one by one.
    pub fn stores(
        &mut self,
        kernel: &Kernel,
        launch: Launch,
        arguments: &[Argument],
        (buffer, bytes): (Buffer, Range<u64>),
    ) -> Result<Trace, LaunchError> {
        let start = self.address(buffer).unwrap_or_default();
        self.traced(kernel, launch, arguments, |_| true, Some((start + bytes.start, start + bytes.end)))
    }

    /// Runs thread blocks of a kernel, and notes each warp instruction that those execute for which `wanted` holds.
    /// The others do
    /// not run, unless blocks may wait for each other; so memory does not hold the launch's results afterwards.
    ///
    /// A note takes 8 bytes, and more for accesses to memory: it is for few blocks.
    pub fn record(
        &mut self,
        kernel: &Kernel,
        launch: Launch,
        arguments: &[Argument],
        wanted: impl Fn(Dim3) -> bool,
    ) -> Result<Stream, LaunchError> {
        let program = &*kernel.program;
        let launch = Launch { sanitize: false, ..launch };
        let (shape, parameters, written) = self.ready(kernel, &launch, arguments)?;
        let pass = Pass { side_by_side: false, thorough: false };
        self.prepare(program, &launch, &written, pass);
        let context = self.context(kernel, &launch, &shape, &parameters, pass);
        let mut worker = Worker::new(&context);
        worker.notes.recorder = Some(Box::new(Recorder::new(program)));
        let mut step = |worker: &mut Worker| match wanted(shape.block_at(worker.block())) {
            true => {
                worker.record_block();
                trace_block(worker)
            }
            false => run_block(worker),
        };
        let outcome = match program.synchronises_globally || context.unit() > 1 {
            true => one_by_one(&mut worker, &mut step),
            false => {
                let mut some = (0..context.units()).filter(|&block| wanted(shape.block_at(block)));
                run_alone(&mut worker, &mut || some.next(), &mut step)
            }
        };
        let Worker { tally, notes, .. } = worker;
        let report = self.finish(program, &launch, shape.cluster, outcome.map(|()| tally))?;
        let stream = notes.recorder.map(|recorder| recorder.stream).unwrap_or_default();
        Ok(Stream { report: Some(Box::new(report)), ..stream })
    }

    /// All that a launch needs before its first thread block: what the blocks have in common, the parameters' bytes,
    /// and
    /// the buffers that it may write.
    fn ready(
        &mut self,
        kernel: &Kernel,
        launch: &Launch,
        arguments: &[Argument],
    ) -> Result<(Shape, Vec<u8>, Vec<Written>), LaunchError> {
        let program = &*kernel.program;
        check_shape(program, launch)?;
        let (cluster, explicit) = clusters::shape(program, launch)?;
        clusters::check_cooperative(program, launch, cluster)?;
        let parameters = self.parameters(program, arguments)?;
        let variables = self.kernel_variables(kernel);
        for variable in &variables {
            let error = self.found(*variable).err();
            if let Some(error) = error {
                return Err(Refusal::Variable { kernel: program.name.clone(), error }.into());
            }
        }
        let globals = variables.iter().map(|variable| self.memory.address(variable.index)).collect();
        let written = self.written(program, arguments, &variables);
        let shape = Shape {
            grid: launch.grid,
            block: launch.block,
            cluster,
            explicit,
            dynamic_shared: launch.dynamic_shared,
            shared_bytes: shared_bytes(program, launch),
            cooperative: launch.cooperative,
            globals,
        };
        Ok((shape, parameters, written))
    }

    fn finish(
        &mut self,
        program: &Program,
        launch: &Launch,
        cluster: Dim3,
        outcome: Result<Tally, Box<Fault>>,
    ) -> Result<Report, LaunchError> {
        self.memory.buffers.iter_mut().for_each(|buffer| buffer.watch = None);
        let tally = outcome.map_err(|fault| LaunchError::Fault(library::told(fault)))?;
        Ok(self.report(program, launch, cluster, &tally))
    }

    fn context<'a>(
        &'a self,
        kernel: &'a Kernel,
        launch: &Launch,
        shape: &Shape,
        parameters: &[u8],
        pass: Pass,
    ) -> Context<'a> {
        Context {
            program: &kernel.program,
            shape: shape.clone(),
            parameters: parameters.to_vec(),
            constants: self.written_constants(&kernel.module).unwrap_or(&kernel.program.constants),
            memory: &self.memory,
            sanitize: launch.sanitize,
            instruction_limit: launch.instruction_limit,
            schedule: launch.schedule,
            generation: Generation::of(launch.architecture),
            residency: clusters::residency(&kernel.program, launch, shape.cluster),
            thorough: pass.thorough,
            doubtful: AtomicBool::new(false),
            progress: &self.progress,
            ended: AtomicU64::new(0),
        }
    }

    fn run(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        shape: &Shape,
        parameters: &[u8],
        pass: Pass,
    ) -> (Result<Tally, Box<Fault>>, bool) {
        let context = self.context(kernel, launch, shape, parameters, pass);
        let units = context.units();
        if !pass.side_by_side {
            let mut worker = Worker::new(&context);
            let outcome = one_by_one(&mut worker, &mut run_block).map(|()| worker.tally);
            return (outcome, context.doubtful.load(Ordering::Relaxed));
        }
        let next = AtomicU64::new(0);
        let work = || {
            let mut worker = Worker::new(&context);
            let mut take = || {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                (turn < units).then(|| context.turn(turn))
            };
            let outcome = run_alone(&mut worker, &mut take, &mut run_block);
            if outcome.is_err() {
                next.store(units, Ordering::Relaxed);
            }
            outcome.map(|()| worker.tally)
        };
        let add = |mut a: Tally, b: Tally| {
            a.add(&b);
            a
        };
        let times = (self.workers.count() as u64).min(units);
        let outcome = self.workers.run(times, work, add);
        (outcome.unwrap_or_else(|| Ok(Tally::new(&kernel.program))), context.doubtful.load(Ordering::Relaxed))
    }

    /// The arguments' bytes, as the kernel's parameters lie.
    fn parameters(&self, program: &Program, arguments: &[Argument]) -> Result<Vec<u8>, Refusal> {
        let kernel = || program.name.clone();
        if arguments.len() != program.parameters.len() {
            let (wanted, given) = (program.parameters.len(), arguments.len());
            return Err(Refusal::Arguments { kernel: kernel(), wanted, given });
        }
        let mut bytes = vec![0; program.parameter_bytes as usize];
        for (index, (parameter, argument)) in program.parameters.iter().zip(arguments).enumerate() {
            let address = |buffer: Buffer, offset: u64| match self.found(buffer) {
                Ok(_) => Ok(self.memory.address(buffer.index).wrapping_add(offset)),
                Err(error) => Err(Refusal::Buffer { kernel: kernel(), index, error }),
            };
            let value = match argument {
                Argument::Buffer(buffer) => address(*buffer, 0)?.to_le_bytes().to_vec(),
                Argument::Within(buffer, offset) => address(*buffer, *offset)?.to_le_bytes().to_vec(),
                Argument::U32(value) => value.to_le_bytes().to_vec(),
                Argument::U64(value) => value.to_le_bytes().to_vec(),
                Argument::F32(value) => value.to_le_bytes().to_vec(),
                Argument::F64(value) => value.to_le_bytes().to_vec(),
                Argument::Bytes(bytes) => bytes.clone(),
            };
            if value.len() != parameter.bytes as usize {
                let (wanted, given) = (parameter.bytes as usize, value.len());
                return Err(Refusal::ArgumentSize { kernel: kernel(), index, wanted, given });
            }
            bytes[parameter.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        Ok(bytes)
    }

    /// The buffers that the program may write.
    fn written(&self, program: &Program, arguments: &[Argument], variables: &[Buffer]) -> Vec<Written> {
        let mut all: Vec<Written> = Vec::new();
        for (parameter, argument) in program.parameters.iter().zip(arguments) {
            let (Argument::Buffer(buffer) | Argument::Within(buffer, _)) = argument else { continue };
            let (buffer, stored, loaded) = (buffer.index as usize, parameter.stored_through, parameter.loaded_through);
            match all.iter_mut().find(|known| known.buffer == buffer) {
                Some(known) => {
                    known.stored |= stored;
                    known.loaded |= loaded;
                }
                None => all.push(Written { buffer, variable: false, stored, loaded }),
            }
        }
        let stored = program.globals_stored || program.parameters.iter().any(|p| p.stored_through);
        let loaded = program.globals_loaded || program.parameters.iter().any(|p| p.loaded_through);
        for (buffer, _) in self.memory.buffers.iter().enumerate().filter(|(_, memory)| memory.exposed) {
            match all.iter_mut().find(|known| known.buffer == buffer) {
                Some(known) => (known.stored, known.loaded) = (stored, loaded),
                None => all.push(Written { buffer, variable: false, stored, loaded }),
            }
        }
        let (stored, loaded) = (program.globals_stored, program.globals_loaded);
        let of = |variable: &Buffer| Written { buffer: variable.index as usize, variable: true, stored, loaded };
        all.extend(variables.iter().map(of));
        all.retain(|part| part.stored && !self.memory.buffers[part.buffer].freed);
        all
    }

    /// Forgets what earlier launches left behind, and watches the buffers that this one may write.
    fn prepare(&mut self, program: &Program, launch: &Launch, written: &[Written], pass: Pass) {
        self.memory.buffers.iter_mut().for_each(BufferMemory::forget_touched);
        self.memory.buffers.iter_mut().for_each(|buffer| buffer.copies.begin());
        for part in written.iter().filter(|_| launch.sanitize) {
            let buffer = &mut self.memory.buffers[part.buffer];
            // Where the order model watches, nothing is marked here.
            let in_part = part.variable || program.needs.global || pass.thorough || buffer.is_sparse();
            let expected = Use { read: part.loaded, side_by_side: pass.side_by_side, in_part };
            buffer.watch = Some(Watch::new(buffer.bytes, program.global_grain, expected));
        }
    }

    fn report(&self, program: &Program, launch: &Launch, cluster: Dim3, tally: &Tally) -> Report {
        let lines = tally.lines(program);
        let mut total = Counters::default();
        for line in &lines {
            total += &line.counters;
        }
        let sectors: u64 = self.memory.buffers.iter().map(|buffer| buffer.touched_sectors()).sum();
        let shared_bytes = shared_bytes(program, launch);
        let (printed, footprint_bytes) = (tally.printed(), 32 * sectors);
        let tensor_cores =
            total.class(Class::Tensor).warp > 0 && Generation::of(launch.architecture) != Generation::Hopper;
        let unverified = tensor_cores.then(|| {
            let architecture = launch.architecture;
            format!("sums of sm_{architecture}'s tensor cores: from published models, not compared with a card")
        });
        Report {
            grid: launch.grid,
            block: launch.block,
            cluster,
            shared_bytes,
            footprint_bytes,
            total,
            lines,
            printed,
            unverified,
            warnings: tally.warned.all(),
            circumstances: tally.circumstances.values().take(Circumstance::MOST).map(|noted| noted.1.clone()).collect(),
        }
    }
}

/// Whether a thread read what nobody wrote because another thread block had not written it yet: the race is about that load.
fn explains(race: &Fault, unwritten: &Fault) -> bool {
    let sites = |fault: &Fault| [Some(fault.site.clone()), fault.other.as_ref().map(|(_, site)| site.clone())];
    let between_blocks = race.other.as_ref().is_some_and(|(_, other)| other.block != race.site.block);
    let lines = |fault: &Fault| sites(fault).into_iter().flatten().map(|site| site.ptx_line).collect::<Vec<_>>();
    race.kind == FaultKind::Race && between_blocks && lines(race).iter().any(|line| lines(unwritten).contains(line))
}

/// Bytes of shared memory that a thread block has.
fn shared_bytes(program: &Program, launch: &Launch) -> u32 {
    match launch.dynamic_shared {
        0 => program.static_shared,
        dynamic => program.dynamic_shared + dynamic,
    }
}

/// Runs all thread blocks of a launch on one core.
fn one_by_one(
    worker: &mut Worker,
    step: &mut dyn FnMut(&mut Worker) -> Result<Pause, Box<Fault>>,
) -> Result<(), Box<Fault>> {
    let context = worker.context;
    // There are fewer than `u32` counts: `check_shape`.
    let mut order = (0..context.units() as u32).map(|turn| context.turn(turn.into()));
    match context.program.synchronises_globally {
        true => run_together(worker, &mut order, step),
        false => run_alone(worker, &mut || order.next(), step),
    }
}

/// The first axis along which there are more than the limit.
fn beyond(extents: Dim3, limits: [u64; 3]) -> Option<(char, u32, u64)> {
    let axes = [('x', extents.x), ('y', extents.y), ('z', extents.z)].into_iter().zip(limits);
    axes.map(|((axis, extent), limit)| (axis, extent, limit)).find(|(_, extent, limit)| u64::from(*extent) > *limit)
}

fn check_shape(program: &Program, launch: &Launch) -> Result<(), Refusal> {
    let (grid, block) = (launch.grid, launch.block);
    if grid.count() == 0 || block.count() == 0 {
        return Err(Refusal::Empty { grid, block });
    }
    if block.count() > MAX_THREADS {
        return Err(Refusal::Threads { threads: block.count(), limit: MAX_THREADS });
    }
    if let Some((axis, extent, limit)) = beyond(block, MAX_BLOCK) {
        return Err(Refusal::Block { axis, extent, limit });
    }
    let bound = |name: &str| {
        let numbers = program.bounds.get(name)?;
        Some([0, 1, 2].map(|n| numbers.get(n).copied().unwrap_or(1)))
    };
    let kernel = || program.name.clone();
    if let Some(limit) = bound("maxntid").map(|numbers| numbers.iter().map(|&n| u64::from(n)).product())
        && block.count() > limit
    {
        return Err(Refusal::MaxThreads { kernel: kernel(), threads: block.count(), limit });
    }
    if let Some([x, y, z]) = bound("reqntid")
        && [x, y, z] != [block.x, block.y, block.z]
    {
        return Err(Refusal::RequiredBlock { kernel: kernel(), block, required: Dim3 { x, y, z } });
    }
    if let Some((axis, extent, limit)) = beyond(grid, MAX_GRID) {
        return Err(Refusal::Grid { axis, extent, limit });
    }
    if grid.count() >= u64::from(u32::MAX) {
        return Err(Refusal::Blocks { blocks: grid.count(), limit: u64::from(u32::MAX) - 1 });
    }
    let bytes = u64::from(program.static_shared) + u64::from(launch.dynamic_shared);
    if bytes > MAX_SHARED {
        return Err(Refusal::Shared { bytes, limit: MAX_SHARED });
    }
    Ok(())
}
