//! How a kernel is launched.

use crate::{Dim3, Schedule};

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
    /// Thread blocks in a cluster; without, as many as the kernel was compiled for (`__cluster_dims__`), or one.
    pub cluster: Option<Dim3>,
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
    /// The GPU whose tensor cores' arithmetic it is: 90 for sm_90, as without. That of others comes from published models.
    pub architecture: u32,
    /// Whether a kernel whose blocks all meet, by `grid.sync()`, is launched cooperatively; yes without. Another launch gives it no
    /// memory for that, and it traps there.
    pub cooperative: bool,
}

impl Launch {
    /// Warp instructions per thread block, unless the launch says otherwise: half an hour and more on one core. Endless
    /// loops that come back to the same state are found long before.
    pub const INSTRUCTION_LIMIT: u64 = 100_000_000_000;

    /// A launch with all checks on, the first thread block first, without dynamic shared memory. Extents are numbers, pairs,
    /// triples or [`Dim3`].
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Launch {
        Launch {
            grid: grid.into(),
            block: block.into(),
            cluster: None,
            dynamic_shared: 0,
            sanitize: true,
            instruction_limit: Launch::INSTRUCTION_LIMIT,
            schedule: Schedule::FirstFirst,
            resident_blocks: None,
            architecture: 90,
            cooperative: true,
        }
    }

    /// In clusters of so many thread blocks, of which the grid has a whole number. Those of a cluster run at the same time,
    /// and may access each other's shared memory. At most 8, and on sm_90 and later.
    pub fn cluster(self, x: u32, y: u32, z: u32) -> Launch {
        Launch { cluster: Some(Dim3 { x, y, z }), ..self }
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

    /// In another order of blocks and warps than the first one first.
    pub fn schedule(self, schedule: Schedule) -> Launch {
        Launch { schedule, ..self }
    }

    /// With the tensor cores of `sm_` this; their results differ in how sums are cut.
    pub fn architecture(self, architecture: u32) -> Launch {
        Launch { architecture, ..self }
    }

    /// Cooperatively or not, where the kernel's blocks all meet.
    pub fn cooperative(self, cooperative: bool) -> Launch {
        Launch { cooperative, ..self }
    }

    /// On a GPU that holds so many thread blocks at a time.
    pub fn resident_blocks(self, blocks: u32) -> Launch {
        Launch { resident_blocks: Some(blocks), ..self }
    }
}
