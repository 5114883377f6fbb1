//! The barriers of a thread block, and the one of a cluster: who has arrived.

/// How many barriers a block has.
pub(crate) const BARRIERS: u32 = 16;

/// The barriers of a thread block.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// By number.
    pub all: [Named; BARRIERS as usize],
    /// Two arrivals from different instructions at the barrier, by number, that was complete last.
    pub apart: Option<(u32, [Arrival; 2])>,
    /// Some threads of the block had ended when others came to a barrier.
    pub some_had_ended: bool,
}

/// One barrier, since it was complete last.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// How many threads it is for; 0 for all of the block.
    pub threads: u32,
    /// A bit for each warp that has arrived.
    pub warps: u32,
    pub arrivals: Vec<Arrival>,
    /// Of a barrier for some threads: who arrived when it was complete last.
    pub last: Vec<Arrival>,
}

/// A warp that has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub warp: u32,
    pub lanes: u32,
    /// The instruction, or one of them.
    pub at: u32,
    pub threads: u32,
    pub reduces: bool,
    /// It waits there; `bar.arrive` does not.
    pub waits: bool,
}

impl Barriers {
    pub fn forget(&mut self) {
        (self.apart, self.some_had_ended) = (None, false);
        for named in &mut self.all {
            (named.threads, named.warps) = (0, 0);
            named.arrivals.clear();
            named.last.clear();
        }
    }

    /// Who has arrived at a barrier that is not complete, and how many threads it is for.
    pub fn incomplete(&self, id: u32) -> (u32, &[Arrival]) {
        (self.all[id as usize].threads, &self.all[id as usize].arrivals)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// The present phase, from 0.
    pub phase: u32,
    /// By rank and warp, the lanes that have arrived in it, and at which instruction.
    pub arrived: Vec<Vec<(u32, u32)>>,
    /// Likewise the lanes that have arrived and not waited, in this phase or the one before.
    pub owing: Vec<Vec<u32>>,
    /// A bit for each rank that has left.
    pub left: u32,
}
