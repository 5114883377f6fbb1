//! All launches of a plan, one after the other on the same buffers, in one order of thread blocks and warps.

use std::ops::Range;

use common::progress::of_blocks;
use emulator::stream::Stream;
use emulator::{
    Argument, Buffer, Counters, Device, DeviceError, Dim3, Fault, Kernel, Launch, LaunchError, Printed, Report,
    Schedule, Warning,
};
use gemm::Error;

use super::contents::Contents;
use super::expect::Stored;
use super::plan::{Plan, Planned, PlannedLaunch, Value};
use crate::probe::launches as other;

/// A byte that is put where the second of two launches is to store.
const OTHER: u8 = 0xa5;

/// What came of the launches in one order.
#[derive(Debug)]
pub struct Ran {
    /// The order.
    pub order: Schedule,
    /// The fault, and the launch that it ended, from 0.
    pub fault: Option<(usize, Box<Fault>)>,
    /// What was doubtful in the launches, each with the launch, from 0.
    pub warnings: Vec<(usize, Warning)>,
    /// What the launches printed, each with the launch, from 0.
    pub printed: Vec<(usize, Printed)>,
    /// The buffers afterwards.
    pub buffers: Vec<Contents>,
    /// What was counted, launch by launch.
    pub reports: Vec<Report>,
}

/// A device with a plan's buffers.
fn made(plan: &Plan) -> Result<(Device, Vec<Option<Buffer>>), Error> {
    let mut device = Device::new();
    let mut buffers = Vec::new();
    for planned in &plan.buffers {
        if planned.variable {
            if let Some(bytes) = &planned.bytes {
                device.write_variable(&plan.module, &planned.name, 0, bytes).map_err(refused)?;
            }
            buffers.push(device.variable(&plan.module, &planned.name).ok());
            continue;
        }
        let bytes = planned.count * planned.element.bytes();
        let buffer = match planned.sparse {
            true => device.alloc_sparse(&planned.name, bytes),
            false => device.alloc(&planned.name, bytes),
        };
        if let Some(bytes) = &planned.bytes {
            device.write(buffer, bytes).map_err(refused)?;
        }
        buffers.push(Some(buffer));
    }
    Ok((device, buffers))
}

/// Runs the launches until one is at fault.
pub fn run(plan: &Plan, order: Schedule, instruction_limit: u64) -> Result<Ran, Error> {
    let (mut device, buffers) = made(plan)?;
    of_blocks(&mut device);
    let (mut fault, mut printed, mut warnings, mut reports) = (None, Vec::new(), Vec::new(), Vec::new());
    for (index, planned) in plan.launches.iter().enumerate() {
        match launch(&mut device, planned, &buffers, order, instruction_limit) {
            Ok(mut report) => {
                printed.extend(report.printed.drain(..).map(|said| (index, said)));
                warnings.extend(report.warnings.drain(..).map(|warning| (index, warning)));
                reports.push(report);
            }
            Err(LaunchError::Fault(found)) => {
                fault = Some((index, found));
                break;
            }
            Err(other) => {
                let said = other.to_string();
                let (what, hint) =
                    said.split_once("\nhint: ").unwrap_or((&said, "check --grid, --block, --shared and the arguments"));
                let message = format!("the emulator refuses launch {} of {}: {what}", index + 1, planned.entry);
                return Err(Error::usage(message, hint));
            }
        }
    }
    let buffers = contents(&mut device, plan, &buffers)?;
    Ok(Ran { order, fault, warnings, printed, buffers, reports })
}

/// Runs the launches, with some buffers as they were at first before each of them; the first fault ends them.
pub fn set_back(
    plan: &Plan,
    order: Schedule,
    instruction_limit: u64,
    those: &[usize],
) -> Result<Vec<Contents>, String> {
    let (mut device, buffers) = made(plan).map_err(|error| error.to_string())?;
    for planned in &plan.launches {
        for index in those {
            let Some((buffer, bytes)) = buffers[*index].zip(plan.buffers[*index].bytes.as_ref()) else { continue };
            device.write(buffer, bytes).map_err(|error| error.to_string())?;
        }
        launch(&mut device, planned, &buffers, order, instruction_limit).map_err(|error| error.to_string())?;
    }
    contents(&mut device, plan, &buffers).map_err(|error| error.to_string())
}

/// Runs launches that end well, and once more on what they leave; what held nothing at first is overwritten before that.
pub fn again(plan: &Plan, order: Schedule, instruction_limit: u64) -> Result<Vec<Contents>, String> {
    let (mut device, buffers) = made(plan).map_err(|error| error.to_string())?;
    for turn in [0, 1] {
        for (buffer, planned) in buffers.iter().zip(&plan.buffers).filter(|_| turn == 1) {
            let Some(buffer) = buffer.filter(|_| planned.bytes.is_none() && !planned.sparse) else { continue };
            let other = vec![OTHER; planned.count * planned.element.bytes()];
            device.write(buffer, &other).map_err(|error| error.to_string())?;
        }
        for planned in &plan.launches {
            launch(&mut device, planned, &buffers, order, instruction_limit).map_err(|error| error.to_string())?;
        }
    }
    contents(&mut device, plan, &buffers).map_err(|error| error.to_string())
}

/// Runs the launches with other contents of some buffers, and by another launch if one is named; an error where a fault ends them. What they
/// counted comes with what is left.
pub fn with(
    plan: &Plan,
    others: &[(usize, &[u8])],
    by: Option<other::Launch>,
    instruction_limit: u64,
) -> Result<(Vec<Contents>, Counters), String> {
    let kernels: Vec<&Kernel> = plan.launches.iter().map(|launch| &launch.kernel).collect();
    of(plan, &kernels, others, by, instruction_limit)
}

/// The same with other kernels.
pub fn of(
    plan: &Plan,
    kernels: &[&Kernel],
    others: &[(usize, &[u8])],
    by: Option<other::Launch>,
    instruction_limit: u64,
) -> Result<(Vec<Contents>, Counters), String> {
    let (mut device, buffers) = made(plan).map_err(|error| error.to_string())?;
    let mut counted = Counters::default();
    for (index, bytes) in others {
        let Some(buffer) = buffers[*index] else { return Err("there is no such buffer".to_string()) };
        device.write(buffer, bytes).map_err(|error| error.to_string())?;
    }
    for (planned, kernel) in plan.launches.iter().zip(kernels) {
        let (mut how, arguments) = how(&mut device, planned, &buffers, Schedule::FirstFirst, instruction_limit);
        if let Some(by) = by {
            (how.grid, how.block, how.dynamic_shared) = (by.grid, by.block, by.shared);
        }
        counted += &device.launch(kernel, how, &arguments).map_err(|error| error.to_string())?.total;
    }
    Ok((contents(&mut device, plan, &buffers).map_err(|error| error.to_string())?, counted))
}

/// What the buffers hold.
fn contents(device: &mut Device, plan: &Plan, buffers: &[Option<Buffer>]) -> Result<Vec<Contents>, Error> {
    let contents = |(buffer, planned): (&Option<Buffer>, &Planned)| {
        let Some(buffer) = buffer else {
            let mut bytes = vec![0; planned.count * planned.element.bytes()];
            device.read_variable(&plan.module, &planned.name, 0, &mut bytes).map_err(refused)?;
            return Ok(Contents::whole(bytes));
        };
        Contents::of(device, *buffer).map_err(refused)
    };
    buffers.iter().zip(&plan.buffers).map(contents).collect()
}

/// Runs launches that end well once more, to see which thread stored last to these bytes of a buffer. A copy is no thread.
pub fn stored(
    plan: &Plan,
    order: Schedule,
    instruction_limit: u64,
    (buffer, bytes): (usize, Range<u64>),
) -> Option<Stored> {
    let (mut device, buffers) = made(plan).ok()?;
    let mut last = None;
    for (index, planned) in plan.launches.iter().enumerate() {
        let (how, arguments) = how(&mut device, planned, &buffers, order, instruction_limit);
        let trace = device.stores(&planned.kernel, how, &arguments, (buffers[buffer]?, bytes.clone())).ok()?;
        last = trace.accesses.last().map(|access| Stored::by(index + 1, access)).or(last);
    }
    last
}

/// Runs launches that end well once more, up to this one, and notes of it what the blocks execute for which `wanted` holds.
pub fn recorded(
    plan: &Plan,
    order: Schedule,
    instruction_limit: u64,
    (index, wanted): (usize, &dyn Fn(Dim3) -> bool),
) -> Result<Stream, String> {
    let (mut device, buffers) = made(plan).map_err(|error| error.to_string())?;
    for planned in &plan.launches[..index] {
        launch(&mut device, planned, &buffers, order, instruction_limit).map_err(|error| error.to_string())?;
    }
    let planned = &plan.launches[index];
    let (how, arguments) = how(&mut device, planned, &buffers, order, instruction_limit);
    device.record(&planned.kernel, how, &arguments, wanted).map_err(|error| error.to_string())
}

fn launch(
    device: &mut Device,
    planned: &PlannedLaunch,
    buffers: &[Option<Buffer>],
    order: Schedule,
    instruction_limit: u64,
) -> Result<Report, LaunchError> {
    let (how, arguments) = how(device, planned, buffers, order, instruction_limit);
    device.launch(&planned.kernel, how, &arguments)
}

fn how(
    device: &mut Device,
    planned: &PlannedLaunch,
    buffers: &[Option<Buffer>],
    order: Schedule,
    instruction_limit: u64,
) -> (Launch, Vec<Argument>) {
    let argument = |value| argument(device, value, buffers);
    let arguments: Vec<Argument> = planned.arguments.iter().map(argument).collect();
    let how = Launch::new(planned.grid, planned.block)
        .dynamic_shared(planned.shared)
        .cooperative(planned.cooperative)
        .instruction_limit(instruction_limit)
        .schedule(order);
    (how, arguments)
}

fn argument(device: &mut Device, value: &Value, buffers: &[Option<Buffer>]) -> Argument {
    if let [(0, buffer, offset)] = value.pointers.as_slice()
        && let Some(buffer) = buffers[*buffer]
        && value.bytes.len() == 8
    {
        return Argument::Within(buffer, *offset);
    }
    let mut bytes = value.bytes.clone();
    for &(at, buffer, offset) in &value.pointers {
        // A buffer of this very device that is never freed has an address; constant memory has none, and a null pointer shows.
        let address = buffers[buffer].and_then(|buffer| device.address(buffer).ok()).unwrap_or_default();
        bytes[at..at + 8].copy_from_slice(&address.wrapping_add(offset).to_le_bytes());
    }
    for (at, map) in &value.maps {
        // That a map can be made of it was seen before; its buffer begins at a multiple of 16.
        let address = buffers[map.buffer].and_then(|buffer| device.address(buffer).ok()).unwrap_or_default();
        if let Some(map) = map.at(address) {
            bytes[*at..at + map.bytes().len()].copy_from_slice(map.bytes());
        }
    }
    Argument::Bytes(bytes)
}

fn refused(error: DeviceError) -> Error {
    Error::usage(format!("the emulator refuses: {error}"), "make the buffers smaller")
}
