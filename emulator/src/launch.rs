//! A launch: arguments laid out, thread blocks shared out over the cores, counts added up.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::global::BufferMemory;
use crate::machine::{Context, Shape, Tally, Worker, run_block, trace_block};
use crate::marks::{Owner, Use, Watch};
use crate::program::Program;
use crate::{Argument, Buffer, Counters, Device, Dim3, Fault, Kernel, Launch, LaunchError, Report, Trace};

/// Threads that a block may have on every GPU.
const MAX_THREADS: u64 = 1024;
/// Shared memory that a block may have on any GPU, in bytes.
const MAX_SHARED: u64 = 227 * 1024;
const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

/// A buffer among a launch's arguments and the module's variables, and what the program may do to it.
struct Written {
    buffer: usize,
    variable: bool,
    stored: bool,
    loaded: bool,
}

impl Device {
    /// Runs a kernel over the whole grid, and returns when the last thread block is done.
    ///
    /// The result is the same whatever the number of cores: if thread blocks ran side by side and one met
    /// a fault, or a cell that another writes, memory goes back to what it was and the blocks run once more one
    /// by one, so that the fault is the first in the order of the grid, or in the opposite one if the launch asks for it.
    pub fn launch(&mut self, kernel: &Kernel, launch: Launch, arguments: &[Argument]) -> Result<Report, LaunchError> {
        let program = &*kernel.program;
        let (shape, parameters, written) = self.ready(kernel, &launch, arguments)?;
        let few = launch.grid.count() <= Owner::BLOCKS;
        if few && !program.synchronises_globally && rayon::current_num_threads() > 1 {
            let snapshot = |part: &Written| self.memory.buffers[part.buffer].snapshot();
            let snapshots: Vec<_> = written.iter().map(snapshot).collect();
            self.prepare(program, &launch, &written, true);
            let outcome = self.run(program, &launch, &shape, &parameters, true);
            if outcome.is_ok() {
                return self.finish(program, &launch, outcome);
            }
            for (part, snapshot) in written.iter().zip(&snapshots) {
                self.memory.buffers[part.buffer].restore(snapshot);
            }
        }
        self.prepare(program, &launch, &written, false);
        let outcome = self.run(program, &launch, &shape, &parameters, false);
        self.finish(program, &launch, outcome)
    }

    /// Runs a kernel as [`Device::launch`] does, and notes every access to global and shared memory by the thread blocks
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
        let program = &*kernel.program;
        let (shape, parameters, written) = self.ready(kernel, &launch, arguments)?;
        self.prepare(program, &launch, &written, false);
        let context = self.context(program, &launch, &shape, &parameters);
        let mut worker = Worker::new(&context);
        let run = |block| match wanted(shape.block_at(block)) {
            true => trace_block(&mut worker, block),
            false => run_block(&mut worker, block),
        };
        let outcome = (0..launch.grid.count()).map(|turn| context.turn(turn)).try_for_each(run);
        let Worker { tally, traced: accesses, .. } = worker;
        let report = self.finish(program, &launch, outcome.map(|()| tally))?;
        Ok(Trace { report, accesses })
    }

    /// All that a launch needs before its first thread block: what the blocks have in common, the parameters' bytes, and
    /// the buffers that it may write.
    fn ready(
        &mut self,
        kernel: &Kernel,
        launch: &Launch,
        arguments: &[Argument],
    ) -> Result<(Shape, Vec<u8>, Vec<Written>), LaunchError> {
        let program = &*kernel.program;
        check_shape(program, launch)?;
        let parameters = self.parameters(program, arguments)?;
        let variables = self.module_variables(kernel);
        let globals = variables.iter().map(|variable| self.memory.address(variable.0)).collect();
        let written = self.written(program, arguments, &variables);
        let shape = Shape { grid: launch.grid, block: launch.block, dynamic_shared: launch.dynamic_shared, globals };
        Ok((shape, parameters, written))
    }

    fn finish(
        &mut self,
        program: &Program,
        launch: &Launch,
        outcome: Result<Tally, Box<Fault>>,
    ) -> Result<Report, LaunchError> {
        self.memory.buffers.iter_mut().for_each(|buffer| buffer.watch = None);
        let tally = outcome.map_err(LaunchError::Fault)?;
        Ok(self.report(program, launch, &tally))
    }

    fn context<'a>(&'a self, program: &'a Program, launch: &Launch, shape: &Shape, parameters: &[u8]) -> Context<'a> {
        Context {
            program,
            shape: shape.clone(),
            parameters: parameters.to_vec(),
            memory: &self.memory,
            sanitize: launch.sanitize,
            instruction_limit: launch.instruction_limit,
            last_first: launch.last_first,
        }
    }

    fn run(
        &self,
        program: &Program,
        launch: &Launch,
        shape: &Shape,
        parameters: &[u8],
        side_by_side: bool,
    ) -> Result<Tally, Box<Fault>> {
        let context = self.context(program, launch, shape, parameters);
        let blocks = launch.grid.count();
        let next = AtomicU64::new(0);
        let work = |_| {
            let mut worker = Worker::new(&context);
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                if turn >= blocks {
                    return Ok(worker.tally);
                }
                if let Err(fault) = run_block(&mut worker, context.turn(turn)) {
                    next.store(blocks, Ordering::Relaxed);
                    return Err(fault);
                }
            }
        };
        let add = |mut a: Tally, b: Tally| {
            a.add(&b);
            a
        };
        if !side_by_side {
            return work(0);
        }
        let workers = (rayon::current_num_threads() as u64).min(blocks);
        (0..workers)
            .into_par_iter()
            .map(work)
            .try_reduce_with(|a, b| Ok(add(a, b)))
            .unwrap_or_else(|| Ok(Tally::new(program)))
    }

    /// The arguments' bytes, as the kernel's parameters lie.
    fn parameters(&self, program: &Program, arguments: &[Argument]) -> Result<Vec<u8>, LaunchError> {
        if arguments.len() != program.parameters.len() {
            let (wanted, given) = (program.parameters.len(), arguments.len());
            return Err(LaunchError::Refused(format!(
                "{} takes {wanted} arguments, and {given} were given",
                program.name
            )));
        }
        let mut bytes = vec![0; program.parameter_bytes as usize];
        for (index, (parameter, argument)) in program.parameters.iter().zip(arguments).enumerate() {
            let value = match argument {
                Argument::Buffer(buffer) => self.memory.address(buffer.0).to_le_bytes().to_vec(),
                Argument::U32(value) => value.to_le_bytes().to_vec(),
                Argument::U64(value) => value.to_le_bytes().to_vec(),
                Argument::F32(value) => value.to_le_bytes().to_vec(),
                Argument::F64(value) => value.to_le_bytes().to_vec(),
                Argument::Bytes(bytes) => bytes.clone(),
            };
            if value.len() != parameter.bytes as usize {
                let (wanted, given) = (parameter.bytes, value.len());
                let message =
                    format!("argument {index} of {} has {given} bytes, and the parameter {wanted}", program.name);
                return Err(LaunchError::Refused(message));
            }
            bytes[parameter.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        Ok(bytes)
    }

    /// The buffers that the program may write.
    fn written(&self, program: &Program, arguments: &[Argument], variables: &[Buffer]) -> Vec<Written> {
        let mut all: Vec<Written> = Vec::new();
        for (parameter, argument) in program.parameters.iter().zip(arguments) {
            let Argument::Buffer(Buffer(buffer)) = *argument else { continue };
            let (buffer, stored, loaded) = (buffer as usize, parameter.stored_through, parameter.loaded_through);
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
        let of = |variable: &Buffer| Written { buffer: variable.0 as usize, variable: true, stored, loaded };
        all.extend(variables.iter().map(of));
        all.retain(|part| part.stored && !self.memory.buffers[part.buffer].freed);
        all
    }

    /// Forgets what earlier launches left behind, and watches the buffers that this one may write.
    fn prepare(&mut self, program: &Program, launch: &Launch, written: &[Written], side_by_side: bool) {
        self.memory.buffers.iter_mut().for_each(BufferMemory::forget_touched);
        for part in written.iter().filter(|_| launch.sanitize) {
            let buffer = &mut self.memory.buffers[part.buffer];
            let expected = Use { read: part.loaded, side_by_side, in_part: part.variable };
            buffer.watch = Some(Watch::new(buffer.bytes, program.global_grain, expected));
        }
    }

    /// Buffers of the module's variables, which come to be with the first launch.
    fn module_variables(&mut self, kernel: &Kernel) -> Vec<Buffer> {
        let program = &kernel.program;
        let module = kernel.module_id();
        let mut buffers = Vec::new();
        for (index, variable) in program.globals.iter().enumerate() {
            let key = (module, index as u32);
            let buffer = match self.module_variables.get(&key) {
                Some(buffer) => *buffer,
                None => {
                    let bytes = variable.bytes as usize;
                    let buffer = Buffer(self.memory.alloc_filled(&variable.name, bytes, &variable.init));
                    self.module_variables.insert(key, buffer);
                    buffer
                }
            };
            buffers.push(buffer);
        }
        buffers
    }

    fn report(&self, program: &Program, launch: &Launch, tally: &Tally) -> Report {
        let lines = tally.lines(program);
        let mut total = Counters::default();
        for line in &lines {
            total += &line.counters;
        }
        let sectors: u64 = self.memory.buffers.iter().map(|buffer| buffer.touched_sectors()).sum();
        let shared_bytes = match launch.dynamic_shared {
            0 => program.static_shared,
            dynamic => program.dynamic_shared + dynamic,
        };
        Report { grid: launch.grid, block: launch.block, shared_bytes, footprint_bytes: 32 * sectors, total, lines }
    }
}

fn check_shape(program: &Program, launch: &Launch) -> Result<(), LaunchError> {
    let refuse = |message: String| Err(LaunchError::Refused(message));
    let (grid, block) = (launch.grid, launch.block);
    if grid.count() == 0 || block.count() == 0 {
        return refuse(format!("grid {grid} of blocks {block}: an extent is 0"));
    }
    if block.count() > MAX_THREADS {
        return refuse(format!("{} threads per block are more than {MAX_THREADS}", block.count()));
    }
    for (axis, (extent, limit)) in [grid.x, grid.y, grid.z].into_iter().zip(MAX_GRID).enumerate() {
        if u64::from(extent) > limit {
            let axis = ['x', 'y', 'z'][axis];
            return refuse(format!("{extent} thread blocks in {axis} are more than {limit}"));
        }
    }
    if grid.count() >= u64::from(u32::MAX) {
        return refuse(format!("{} thread blocks are more than the emulator counts, {}", grid.count(), u32::MAX - 1));
    }
    let shared = u64::from(program.static_shared) + u64::from(launch.dynamic_shared);
    if shared > MAX_SHARED {
        return refuse(format!("{shared} bytes of shared memory per block are more than {MAX_SHARED}"));
    }
    Ok(())
}
