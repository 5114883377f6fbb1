//! What all workers of a launch share.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::shape::Shape;
use crate::Schedule;
use crate::global::GlobalMemory;
use crate::program::Program;
use crate::progress::Progress;
use crate::tensor::Generation;

/// What all workers of a launch share.
pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub shape: Shape,
    pub parameters: Vec<u8>,
    /// What constant memory holds.
    pub constants: &'a [u8],
    pub memory: &'a GlobalMemory,
    pub sanitize: bool,
    pub instruction_limit: u64,
    pub schedule: Schedule,
    /// Whose tensor cores' arithmetic it is.
    pub generation: Generation,
    /// How many thread blocks the GPU holds at a time.
    pub residency: u64,
    /// All is watched by the order model, whatever the program seems to need.
    pub thorough: bool,
    /// Stamps found a race that the order model might not.
    pub doubtful: AtomicBool,
    pub progress: &'a Progress,
    /// How many thread blocks have ended; counted where somebody wants to know.
    pub ended: AtomicU64,
}

impl Context<'_> {
    /// Which thread block has the `n`th turn, from 0; as well, which turn thread block `n` has. Where those of a cluster start
    /// together, which cluster.
    pub fn turn(&self, n: u64) -> u64 {
        if self.schedule.turns_round() { self.units() - 1 - n } else { n }
    }

    /// Which turn a thread block has: those of one cluster have theirs together.
    pub fn turn_of(&self, block: u64) -> u64 {
        let unit = self.unit();
        self.turn(block / unit) * unit + block % unit
    }

    /// How many thread blocks start together: those of a cluster, where they may wait for each other.
    pub fn unit(&self) -> u64 {
        if self.program.needs.cluster { self.shape.cluster.count() } else { 1 }
    }

    /// How many times some start.
    pub fn units(&self) -> u64 {
        self.shape.grid.count() / self.unit()
    }

    /// A thread block has ended.
    pub fn note_progress(&self) {
        if let Progress(Some(tell)) = self.progress {
            tell(self.ended.fetch_add(1, Relaxed) + 1, self.shape.grid.count());
        }
    }

    /// Shared memory of a thread block, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        match self.shape.dynamic_shared {
            0 => self.program.static_shared,
            dynamic => self.program.dynamic_shared + dynamic,
        }
    }
}
