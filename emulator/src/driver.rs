//! The public API: a device with memory, and launches on it.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use crate::global::GlobalMemory;
use crate::{Fault, Schedule};

/// Extents in x, y and z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Dim3 {
    /// Along x, the fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    /// Extents `x`, `y` and 1.
    pub const fn xy(x: u32, y: u32) -> Dim3 {
        Dim3 { x, y, z: 1 }
    }

    /// The product of the three.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }
}

impl fmt::Display for Dim3 {
    /// `(x,y)`, and z where it matters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dim3 { x, y, z } = self;
        if *z > 1 { write!(f, "({x},{y},{z})") } else { write!(f, "({x},{y})") }
    }
}

/// A handle to a buffer in a device's global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer(pub(crate) u32);

/// A kernel argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// The address of a buffer.
    Buffer(Buffer),
    /// A 32-bit integer, signed or not.
    U32(u32),
    /// A 64-bit integer, signed or not.
    U64(u64),
    /// A float.
    F32(f32),
    /// A double.
    F64(f64),
    /// A structure, or any other value, as its bytes lie. Pointers in it come from [`Device::address`].
    Bytes(Vec<u8>),
}

/// How to launch a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Thread blocks in the grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory per block.
    pub dynamic_shared: u32,
    /// Look for races and uninitialised memory.
    pub sanitize: bool,
    /// Warp instructions that one thread block may execute before it counts as stuck.
    pub instruction_limit: u64,
    /// The order in which blocks, warps and the sides of branches run.
    pub schedule: Schedule,
    /// How many thread blocks the GPU holds at a time; without, as many as an H200 does if registers do not limit them.
    /// Only blocks that the GPU holds together can wait for each other.
    pub resident_blocks: Option<u32>,
}

impl Launch {
    /// Warp instructions per thread block, unless the launch says otherwise: half an hour and more on one core. Endless
    /// loops that come back to the same state are found long before.
    pub const INSTRUCTION_LIMIT: u64 = 100_000_000_000;

    /// A launch with all checks on, in the order of the grid.
    pub const fn new(grid: Dim3, block: Dim3) -> Launch {
        let instruction_limit = Launch::INSTRUCTION_LIMIT;
        let schedule = Schedule::FirstFirst;
        Launch { grid, block, dynamic_shared: 0, sanitize: true, instruction_limit, schedule, resident_blocks: None }
    }
}

/// A request that the device refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeviceError(pub(crate) String);

/// Why a launch did not end well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The launch itself is impossible: wrong arguments, too many threads.
    #[error("{0}")]
    Refused(String),
    /// The kernel did something wrong.
    #[error(transparent)]
    Fault(Box<Fault>),
}

/// An emulated GPU: global memory, and launches on it.
#[derive(Debug, Default)]
pub struct Device {
    pub(crate) memory: GlobalMemory,
    /// Buffers of module-level variables, by kernel and variable.
    pub(crate) module_variables: HashMap<(usize, u32), Buffer>,
}

impl Device {
    /// A device with no memory allocated.
    pub fn new() -> Device {
        Device::default()
    }

    /// Allocates `bytes` bytes of uninitialised global memory. `name` stands for it in faults.
    pub fn alloc(&mut self, name: &str, bytes: usize) -> Buffer {
        Buffer(self.memory.alloc(name, bytes))
    }

    /// Frees a buffer. Later accesses to it are faults.
    pub fn free(&mut self, buffer: Buffer) {
        self.memory.buffers[buffer.0 as usize].release();
    }

    /// Copies `bytes` to the start of a buffer.
    pub fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.check(buffer, bytes.len(), "write")?;
        self.memory.buffers[buffer.0 as usize].write(bytes);
        Ok(())
    }

    /// Copies the first bytes of a buffer out. Bytes that nobody wrote are an error.
    pub fn read(&self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.check(buffer, bytes.len(), "read")?;
        let memory = &self.memory.buffers[buffer.0 as usize];
        if let Some((first, count)) = memory.unwritten(bytes.len()) {
            let name = &memory.name;
            return Err(DeviceError(format!(
                "{count} of the {} bytes read of {name} were never written, the first at offset {first}\n\
                 hint: does the grid cover all of {name}, and is what is copied there written itself?",
                bytes.len()
            )));
        }
        memory.read(bytes);
        Ok(())
    }

    /// Copies the first bytes of a buffer out, whoever wrote them, and says how many of them nobody did. What those are
    /// means nothing.
    pub fn read_any(&self, buffer: Buffer, bytes: &mut [u8]) -> Result<usize, DeviceError> {
        self.check(buffer, bytes.len(), "read")?;
        let memory = &self.memory.buffers[buffer.0 as usize];
        memory.read(bytes);
        Ok(memory.unwritten(bytes.len()).map_or(0, |(_, count)| count))
    }

    /// The address of a buffer, for pointers within structures and within buffers.
    pub fn address(&mut self, buffer: Buffer) -> u64 {
        self.memory.buffers[buffer.0 as usize].exposed = true;
        self.memory.address(buffer.0)
    }

    fn check(&self, buffer: Buffer, bytes: usize, verb: &str) -> Result<(), DeviceError> {
        let memory = &self.memory.buffers[buffer.0 as usize];
        let (name, size) = (&memory.name, memory.bytes);
        if memory.freed {
            return Err(DeviceError(format!("{verb} of {bytes} bytes of {name}, which has been freed")));
        }
        if bytes > size {
            return Err(DeviceError(format!("{verb} of {bytes} bytes of {name}, which has {size}")));
        }
        Ok(())
    }
}
