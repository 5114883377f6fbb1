//! The product on the emulator: counts, faults, and no time.

use emulator::{Argument, DeviceError, Launch, LaunchError, Module, PtxError};

use super::{Facts, Ran};
use crate::Error;
use crate::kernel::Kernel;
use crate::level::{LaunchShape, Level};
use crate::problem::{Element, Problem};

/// Runs the kernel on the CPU.
pub fn launch<T: Element>(
    level: &Level,
    kernel: &Kernel,
    launch: &LaunchShape,
    problem: &Problem<T>,
    sanitize: bool,
) -> Result<Ran<T>, Error> {
    let program = Module::parse(&kernel.ptx).and_then(|module| module.kernel(kernel.entry)).map_err(unknown_ptx)?;
    let mut device = emulator::Device::new();
    let mut upload = |name: &str, matrix: &[T]| -> Result<_, Error> {
        let bytes = T::to_bytes(matrix);
        let buffer = device.alloc(name, bytes.len());
        device.write(buffer, &bytes).map_err(refused)?;
        Ok(buffer)
    };
    let poisoned = problem.poisoned_c()?;
    let [a, b, c] = [upload("A", &problem.a)?, upload("B", &problem.b)?, upload("C", &poisoned)?];

    let shape = problem.shape;
    let arguments = [
        Argument::Buffer(a),
        Argument::Buffer(b),
        Argument::Buffer(c),
        Argument::U32(shape.m),
        Argument::U32(shape.n),
        Argument::U32(shape.k),
    ];
    let how = Launch { sanitize, ..Launch::new(launch.grid, launch.block) };
    let report = device.launch(&program, how, &arguments).map_err(|error| explain(level, error))?;

    let mut bytes = vec![0; size_of_val(poisoned.as_slice())];
    device.read(c, &mut bytes).map_err(refused)?;
    Ok(Ran { c: T::from_bytes(&bytes), facts: Facts::Emulator(Box::new(report)) })
}

fn unknown_ptx(error: PtxError) -> Error {
    Error::usage(format!("the emulator cannot run this kernel: {error}"), "a CUDA GPU can: `--backend cuda`")
}

fn refused(error: DeviceError) -> Error {
    Error::usage(format!("the emulator refuses: {error}"), "make the problem smaller")
}

/// A fault with the lines of the level's own kernel.cu.
fn explain(level: &Level, error: LaunchError) -> Error {
    match error {
        LaunchError::Refused(why) => {
            Error::usage(format!("the emulator refuses the launch: {why}"), "check tile sizes and problem")
        }
        LaunchError::Fault(fault) => {
            Error::Fault(fault.render(&|file, line| level.line(file, line)).trim_end().to_string())
        }
    }
}
