//! What a probe of a warp sees, and the warps that it shows to repeat themselves.

/// What happened to memory since the state with which later ones are compared.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) changed: bool,
    pub loads: Loads,
    pub before: Vec<(Piece, Option<u64>)>,
}

/// An element of a lane's access.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub lane: u32,
    pub shared: bool,
    pub address: u64,
    pub bytes: u32,
}

/// What a warp reads that repeats itself.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Loads {
    /// Memory that other thread blocks may change.
    pub global: bool,
    /// A barrier in shared memory, or the clock.
    pub barrier: bool,
    pub clock: bool,
    /// The barrier of the cluster, or shared memory.
    pub cluster: bool,
    pub shared: bool,
    /// An instruction of these, a lane, and where it reads.
    pub example: Option<(u32, u32, u64)>,
}

/// A warp that repeats itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stuck {
    pub(crate) block: u64,
    pub(crate) warp: u32,
    pub(crate) lane: u32,
    /// The instruction at which it is.
    pub(crate) at: u32,
    pub(crate) loads: Loads,
}

impl Loads {
    /// All that two paths read. What waits for a barrier is the better example.
    pub fn and(self, other: Loads) -> Loads {
        let example = if other.barrier && !self.barrier { other.example } else { self.example.or(other.example) };
        Loads {
            global: self.global | other.global,
            barrier: self.barrier | other.barrier,
            clock: self.clock | other.clock,
            cluster: self.cluster | other.cluster,
            shared: self.shared | other.shared,
            example,
        }
    }
}

impl Stuck {
    /// Whether it waits at the barrier of its cluster.
    pub(crate) fn waits_for_cluster(&self) -> bool {
        self.loads.cluster && !self.loads.barrier
    }
}
