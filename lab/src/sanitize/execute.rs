//! All launches of a plan, one after the other on the same buffers, in one order of thread blocks.

use common::Error;
use emulator::{Argument, Buffer, Device, DeviceError, Fault, Launch, LaunchError};
use serde::Serialize;

use super::plan::{Plan, PlannedLaunch, Value};

/// In which order a launch's thread blocks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In that of the grid.
    FirstToLast,
    /// In the opposite one.
    LastToFirst,
}

impl Order {
    /// All that are tried.
    pub const ALL: [Order; 2] = [Order::FirstToLast, Order::LastToFirst];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Order::FirstToLast => "first block to last",
            Order::LastToFirst => "last block to first",
        }
    }
}

/// What came of the launches in one order.
#[derive(Debug)]
pub struct Ran {
    /// The order.
    pub order: Order,
    /// The fault, and the launch that it ended, from 0.
    pub fault: Option<(usize, Box<Fault>)>,
    /// The buffers afterwards.
    pub buffers: Vec<Contents>,
}

/// What a buffer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The bytes; where nobody wrote, they say nothing.
    pub bytes: Vec<u8>,
    /// How many bytes nobody wrote.
    pub unwritten: usize,
}

/// Runs the launches until one is at fault.
pub fn run(plan: &Plan, order: Order, instruction_limit: u64) -> Result<Ran, Error> {
    let mut device = Device::new();
    let mut buffers = Vec::new();
    for planned in &plan.buffers {
        let buffer = device.alloc(&planned.name, planned.count * planned.element.bytes());
        if let Some(bytes) = &planned.bytes {
            device.write(buffer, bytes).map_err(refused)?;
        }
        buffers.push(buffer);
    }
    let mut fault = None;
    for (index, planned) in plan.launches.iter().enumerate() {
        match launch(&mut device, planned, &buffers, order, instruction_limit) {
            Ok(()) => (),
            Err(LaunchError::Fault(found)) => {
                fault = Some((index, found));
                break;
            }
            Err(other) => {
                let message =
                    format!("the emulator refuses launch {} of {}: {other}", index + 1, planned.kernel.name());
                return Err(Error::usage(message, "check --grid, --block, --shared and the arguments"));
            }
        }
    }
    let contents = |(buffer, planned): (&Buffer, &super::plan::Planned)| {
        let mut bytes = vec![0; planned.count * planned.element.bytes()];
        let unwritten = device.read_any(*buffer, &mut bytes).map_err(refused)?;
        Ok(Contents { bytes, unwritten })
    };
    let buffers = buffers.iter().zip(&plan.buffers).map(contents).collect::<Result<_, Error>>()?;
    Ok(Ran { order, fault, buffers })
}

fn launch(
    device: &mut Device,
    planned: &PlannedLaunch,
    buffers: &[Buffer],
    order: Order,
    instruction_limit: u64,
) -> Result<(), LaunchError> {
    let arguments: Vec<Argument> = planned.arguments.iter().map(|value| argument(device, value, buffers)).collect();
    let how = Launch {
        dynamic_shared: planned.shared,
        instruction_limit,
        last_first: order == Order::LastToFirst,
        ..Launch::new(planned.grid, planned.block)
    };
    device.launch(&planned.kernel, how, &arguments).map(|_| ())
}

fn argument(device: &mut Device, value: &Value, buffers: &[Buffer]) -> Argument {
    if let [(0, buffer, 0)] = value.pointers.as_slice()
        && value.bytes.len() == 8
    {
        return Argument::Buffer(buffers[*buffer]);
    }
    let mut bytes = value.bytes.clone();
    for &(at, buffer, offset) in &value.pointers {
        let address = device.address(buffers[buffer]).wrapping_add(offset);
        bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
    }
    Argument::Bytes(bytes)
}

fn refused(error: DeviceError) -> Error {
    Error::usage(format!("the emulator refuses: {error}"), "make the buffers smaller")
}
