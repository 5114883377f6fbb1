//! The product on the emulator: counts, faults, and no time.

use emulator::stream::Stream;
use emulator::{
    Argument, Buffer, DeviceError, Dim3, Launch, LaunchError, Module, PtxError, TensorMapError, TracedAccess,
};

use crate::check::Check;
use crate::copies::{Copied, with_copies};
use crate::error::Error;
use crate::facts::{Extras, Facts, Ran};
use crate::kernel::Kernel;
use crate::level::LaunchShape;
use crate::mapped::{MAP_BYTES, Mapped, Role};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::source::Source;
use crate::task::{Before, Operand, Task, is_plain, mapped};

/// What reports call this device.
pub const NAME: &str = "emulator";

/// What else a caller asks of the emulator before a launch: to hear, for instance, how many thread blocks are done.
pub type Watch = fn(&mut emulator::Device);

/// Nothing else.
pub fn unwatched(_: &mut emulator::Device) {}

/// What a kernel's launch needs.
struct Ready {
    program: emulator::Kernel,
    device: emulator::Device,
    matrices: [Buffer; 3],
    how: Launch,
    arguments: Arguments,
}

/// A kernel's arguments, the copies of matrices that its tensor maps are of, and memory beside the matrices.
#[derive(Debug)]
pub struct Arguments {
    /// As the emulator takes them.
    pub values: Vec<Argument>,
    copies: Vec<(Copied, Buffer)>,
    plain: bool,
}

/// Runs the kernel on the CPU.
pub fn launch(task: &Task, problem: &Problem, extras: Extras, watch: Watch) -> Result<Ran, Error> {
    let Ready { program, mut device, matrices: [a, b, c], how, arguments } = ready(task, problem, extras)?;
    watch(&mut device);
    // ANCHOR: launch
    let report = device.launch(&program, how, &arguments.values).map_err(|error| explain(&task.source, error))?;
    arguments.finish(&mut device, (c, 0))?;

    let mut bytes = vec![0; problem.c.bytes().len()];
    device.read(c, &mut bytes).map_err(|error| unread(&device, c, &task.source, &error))?;
    let overwritten = overwritten(&device, [("A", a, &problem.a), ("B", b, &problem.b)]);
    let found = found(&device, task, &arguments)?;
    Ok(Ran { c: problem.c.with_bytes(bytes), facts: Facts::Emulator(Box::new(report)), overwritten, found })
    // ANCHOR_END: launch
}

/// What a preparation left that is to be read.
fn found(device: &emulator::Device, task: &Task, arguments: &Arguments) -> Result<Vec<u8>, Error> {
    let mut found = vec![0; task.found()];
    let room = task.operands.iter().zip(&arguments.values).find_map(|pair| match pair {
        (Operand::Room(_), Argument::Buffer(room)) => Some(*room),
        _ => None,
    });
    match room {
        Some(room) if !found.is_empty() => device.read_at(room, 0, &mut found).map_err(refused)?,
        _ => {}
    }
    Ok(found)
}

/// The inputs whose buffers hold something else than the matrix that was put there.
fn overwritten(device: &emulator::Device, inputs: [(&'static str, Buffer, &Matrix); 2]) -> Vec<&'static str> {
    let changed = |buffer: Buffer, matrix: &Matrix| {
        let mut bytes = vec![0; matrix.bytes().len()];
        device.read(buffer, &mut bytes).is_err() || bytes != matrix.bytes()
    };
    inputs.into_iter().filter(|(_, buffer, matrix)| changed(*buffer, matrix)).map(|(name, ..)| name).collect()
}

/// Runs the kernel, and notes what the thread blocks that are wanted access.
///
/// # Errors
/// As [`launch`].
pub fn traced(
    task: &Task,
    problem: &Problem,
    extras: Extras,
    wanted: impl Fn(Dim3) -> bool,
) -> Result<Vec<TracedAccess>, Error> {
    let Ready { program, mut device, how, arguments, .. } = ready(task, problem, extras)?;
    let trace = device.trace(&program, how, &arguments.values, wanted);
    trace.map(|trace| trace.accesses).map_err(|error| explain(&task.source, error))
}

/// Thread instructions of a launch that is run once more, to find who stored what is wrong.
const MOST_AGAIN: u64 = 1 << 28;

/// Who stored the first element that is wrong, as words; nothing, where the emulator did not run it, or cannot tell.
pub fn who_stored(task: &Task, problem: &Problem, extras: Extras, ran: (&Check, &Facts)) -> Option<String> {
    let (check, facts) = ran;
    let first = check.first.first()?;
    let Facts::Emulator(counted) = facts else { return None };
    if counted.total.thread_instructions() > MOST_AGAIN {
        return None;
    }
    let access = stored(task, problem, extras, (first.row, first.col)).ok()??;
    let (file, line) = access.source.as_ref()?;
    let thread = access.lanes.last()?.thread;
    Some(format!("thread {thread} of block {} at {file}:{line}", access.block))
}

/// Which thread stored to an element of C last, and where; nothing, if none did. A copy is no thread.
///
/// # Errors
/// As [`launch`].
pub fn stored(
    task: &Task,
    problem: &Problem,
    extras: Extras,
    (row, col): (usize, usize),
) -> Result<Option<TracedAccess>, Error> {
    let Ready { program, mut device, matrices: [.., c], how, arguments } = ready(task, problem, extras)?;
    let bytes = problem.c.element().bytes() as u64;
    let (c, leading) = match arguments.of_c() {
        Some((copy, buffer)) => (*buffer, copy.pitch),
        None => (c, problem.c.leading() as u64),
    };
    let from = (row as u64 * leading + col as u64) * bytes;
    let trace = device.stores(&program, how, &arguments.values, (c, from..from + bytes));
    trace.map(|mut trace| trace.accesses.pop()).map_err(|error| explain(&task.source, error))
}

/// Runs the thread blocks that are wanted, and notes each instruction that their warps execute.
///
/// # Errors
/// As [`launch`].
pub fn recorded(
    task: &Task,
    problem: &Problem,
    extras: Extras,
    wanted: impl Fn(Dim3) -> bool,
) -> Result<Stream, Error> {
    let Ready { program, mut device, how, arguments, .. } = ready(task, problem, extras)?;
    device.record(&program, how, &arguments.values, wanted).map_err(|error| explain(&task.source, error))
}

fn ready(task: &Task, problem: &Problem, extras: Extras) -> Result<Ready, Error> {
    let kernel = task.kernel;
    let module = Module::parse(&kernel.ptx).map_err(unknown_ptx)?;
    let mut device = emulator::Device::new();
    let mut upload = |name: &str, matrix: &Matrix| -> Result<_, Error> {
        let buffer = device.alloc(name, matrix.bytes().len());
        device.write(buffer, matrix.bytes()).map_err(refused)?;
        Ok(buffer)
    };
    let [a, b, c] = [upload("A", &problem.a)?, upload("B", &problem.b)?, upload("C", &problem.c)?];
    let arguments = arguments(&task.operands, &mut device, [a, b, c].map(|buffer| (buffer, 0)))?;
    let program = module.kernel(&arguments.entry(kernel)).map_err(unknown_ptx)?;
    let LaunchShape { grid, block, .. } = task.launch;
    let how = Launch::new(grid, block)
        .dynamic_shared(task.dynamic_shared)
        .sanitize(extras.sanitize)
        .instruction_limit(extras.instruction_limit)
        .schedule(extras.schedule)
        .architecture(extras.architecture);
    if let Some((program, how)) = before(task, how).map_err(unknown_ptx)? {
        device.launch(&program, how, &arguments.values).map_err(|error| explain(&task.source, error))?;
    }
    Ok(Ready { program, device, matrices: [a, b, c], how, arguments })
}

/// What is launched before a task's kernel, with the same arguments, and how, where this is how the kernel is.
///
/// # Errors
/// Where the emulator does not run its PTX.
pub fn before(task: &Task, how: Launch) -> Result<Option<(emulator::Kernel, Launch)>, PtxError> {
    let Some(Before { entry, grid, block, .. }) = task.before else { return Ok(None) };
    let program = Module::parse(&task.kernel.ptx)?.kernel(entry)?;
    let mut how = how.dynamic_shared(0);
    (how.grid, how.block) = (grid, block);
    Ok(Some((program, how)))
}

/// Where a matrix is on the emulator: a buffer, and the bytes before the matrix in it.
type Place = (Buffer, u64);

/// Operands as the emulator takes them, with A, B and C at these places. Copies that a launch on a GPU makes first
/// are made here, uncounted; [`Arguments::finish`] makes those behind it.
///
/// # Errors
/// [`Error::Usage`] where a level's box is beyond a limit of tensor maps, or a matrix that is to be copied is not written yet.
pub fn arguments(operands: &[Operand], device: &mut emulator::Device, places: [Place; 3]) -> Result<Arguments, Error> {
    let (made, operands) = with_copies(operands, addresses(operands, device, places)?);
    let mut seen = places;
    let mut copies = Vec::new();
    for copy in &made {
        let buffer = device.alloc(&format!("copy of {:?}", copy.role), copy.bytes() as usize);
        // C, too: what a kernel leaves out stays what it was.
        copy_rows(copy, device, rows_of(copy, copy.role.of(places)), rows_of_copy(copy, buffer))?;
        seen[copy.role as usize] = (buffer, 0);
        copies.push((*copy, buffer));
    }
    let plain = is_plain(&operands, addresses(&operands, device, seen)?);
    Ok(Arguments { values: arguments_seen(&operands, device, (places, seen))?, copies, plain })
}

impl Arguments {
    /// Makes the copies behind the launch: of C, to its place.
    ///
    /// # Errors
    /// [`Error::Usage`] where the emulator refuses.
    pub fn finish(&self, device: &mut emulator::Device, c: Place) -> Result<(), Error> {
        match self.of_c() {
            Some((copy, buffer)) => copy_rows(copy, device, rows_of_copy(copy, *buffer), rows_of(copy, c)),
            None => Ok(()),
        }
    }

    /// The kernel that is launched with them.
    pub fn entry(&self, kernel: &Kernel) -> String {
        kernel.plain().filter(|_| self.plain).unwrap_or_else(|| kernel.entry.clone())
    }

    fn of_c(&self) -> Option<&(Copied, Buffer)> {
        self.copies.iter().find(|(copy, _)| copy.role == Role::C)
    }
}

/// Where rows of a matrix begin: in a buffer, behind so many bytes, so many bytes apart.
type Rows = (Buffer, u64, u64);

fn rows_of(copy: &Copied, (buffer, before): Place) -> Rows {
    (buffer, before, copy.leading * u64::from(copy.element))
}

fn rows_of_copy(copy: &Copied, buffer: Buffer) -> Rows {
    (buffer, 0, copy.pitch * u64::from(copy.element))
}

fn copy_rows(copy: &Copied, device: &mut emulator::Device, from: Rows, to: Rows) -> Result<(), Error> {
    let mut row = vec![0; copy.columns as usize * copy.element as usize];
    for number in 0..u64::from(copy.rows) {
        let at = |(buffer, before, apart): Rows| (buffer, (before + number * apart) as usize);
        let ((from, offset), (to, place)) = (at(from), at(to));
        device.read_at(from, offset, &mut row).map_err(refused)?;
        device.write_at(to, place, &row).map_err(refused)?;
    }
    Ok(())
}

/// Addresses for tensor maps; zeros, where there are none. Who asks for an address has the buffer watched, since any pointer may
/// then lead there.
fn addresses(operands: &[Operand], device: &mut emulator::Device, places: [Place; 3]) -> Result<[u64; 3], Error> {
    let mut addresses = [0; 3];
    if operands.iter().any(|operand| matches!(operand, Operand::Map(_))) {
        for (address, (buffer, before)) in addresses.iter_mut().zip(places) {
            *address = device.address(buffer).map_err(refused)? + before;
        }
    }
    Ok(addresses)
}

/// The same, where tensor maps see the matrices at other places.
fn arguments_seen(
    operands: &[Operand],
    device: &mut emulator::Device,
    (places, seen): ([Place; 3], [Place; 3]),
) -> Result<Vec<Argument>, Error> {
    let addresses = addresses(operands, device, seen)?;
    let matrix = |role: Role| match role.of(places) {
        (buffer, 0) => Argument::Buffer(buffer),
        (buffer, before) => Argument::Within(buffer, before),
    };
    let bytes = |words: &[u64]| Argument::Bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let mut argument = |operand: &Operand| {
        Ok(match *operand {
            Operand::A => matrix(Role::A),
            Operand::B => matrix(Role::B),
            Operand::C => matrix(Role::C),
            Operand::U32(value) => Argument::U32(value),
            Operand::U64(value) => Argument::U64(value),
            Operand::Half(bits) => Argument::Bytes(bits.to_le_bytes().to_vec()),
            Operand::F32(value) => Argument::F32(value),
            Operand::F64(value) => Argument::F64(value),
            Operand::Batch(batch) => bytes(&batch.words()),
            Operand::Epilogue(epilogue) => bytes(&epilogue.words(addresses[2])),
            Operand::Room(0) => Argument::U64(0),
            Operand::Room(bytes) => {
                Argument::Buffer(device.alloc("room", usize::try_from(bytes).unwrap_or(usize::MAX)))
            }
            Operand::Mapped { .. } => Argument::U32(mapped(operands, addresses)),
            Operand::Map(map) => match map.description(map.role.of(addresses)) {
                Some(description) => description.encode().map_err(|error| no_map(&map, &error))?.into(),
                None => Argument::Bytes(vec![0; MAP_BYTES]),
            },
        })
    };
    operands.iter().map(&mut argument).collect()
}

fn no_map(map: &Mapped, error: &TensorMapError) -> Error {
    let message = format!("there is no tensor map of {:?}: {error}", map.role);
    Error::usage(message, "the level's `boxes` say what its copies move")
}

fn unknown_ptx(error: PtxError) -> Error {
    let hint = error.hint.unwrap_or("is the PTX whole? what the emulator does not know, a CUDA GPU may run");
    Error::usage(format!("the emulator cannot run this kernel: {error}"), hint)
}

fn refused(error: DeviceError) -> Error {
    Error::usage(format!("the emulator refuses: {error}"), "make the problem smaller")
}

/// That C was not written, with the store that put there what nobody wrote, if it is known.
fn unread(device: &emulator::Device, c: Buffer, source: &Source, error: &DeviceError) -> Error {
    let said = error.to_string();
    Error::Fault(match device.unwritten_store(c).ok().flatten() {
        Some(store) => {
            let rendered = store.render(&|file, line| source.line(file, line));
            format!("{}: {}", said.lines().next().unwrap_or_default(), rendered.trim_end())
        }
        None => said,
    })
}

/// A fault with the lines of the kernel's own text.
fn explain(source: &Source, error: LaunchError) -> Error {
    match error {
        LaunchError::Refused(why) => {
            Error::usage(format!("the emulator refuses the launch: {why}"), "check tile sizes and problem")
        }
        LaunchError::Fault(mut fault) => {
            // A limit is raised by a flag.
            if let Some(hint) = fault.hint.as_mut().filter(|hint| hint.ends_with("the limit can be raised")) {
                hint.push_str(": `--instruction-limit`");
            }
            Error::Fault(fault.render(&|file, line| source.line(file, line)).trim_end().to_string())
        }
        other => Error::Fault(other.to_string()),
    }
}
