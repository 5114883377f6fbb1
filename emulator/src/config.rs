//! How a kernel is launched.

use crate::Dim3;

/// How to launch a kernel: grid and block, and what else is said of it.
///
/// ```
/// # use emulator::Launch;
/// let launch = Launch::new(16, (32, 8)).dynamic_shared(4096).sanitize(false);
/// assert_eq!(launch.block.count(), 256);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Run the grid's last thread block first and its first one last.
    pub last_first: bool,
}

impl Launch {
    /// Warp instructions per thread block, unless the launch says otherwise: some tens of seconds on one core.
    pub const INSTRUCTION_LIMIT: u64 = 1_000_000_000;

    /// A launch with all checks on, in the order of the grid, without dynamic shared memory. Extents are numbers, pairs,
    /// triples or [`Dim3`].
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Launch {
        let (grid, block, instruction_limit) = (grid.into(), block.into(), Launch::INSTRUCTION_LIMIT);
        Launch { grid, block, dynamic_shared: 0, sanitize: true, instruction_limit, last_first: false }
    }

    /// With so many bytes of dynamic shared memory per block; 0 without.
    pub fn dynamic_shared(self, bytes: u32) -> Launch {
        Launch { dynamic_shared: bytes, ..self }
    }

    /// Whether to look for races and uninitialised memory; yes without. Other faults are found in any case.
    pub fn sanitize(self, sanitize: bool) -> Launch {
        Launch { sanitize, ..self }
    }

    /// With another number of warp instructions that one thread block may execute.
    pub fn instruction_limit(self, warp_instructions: u64) -> Launch {
        Launch { instruction_limit: warp_instructions, ..self }
    }

    /// Whether the grid's last thread block runs first, and its first one last; no without.
    pub fn last_first(self, last_first: bool) -> Launch {
        Launch { last_first, ..self }
    }
}
