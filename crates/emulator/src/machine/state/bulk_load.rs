//! Bulk copies under way: those to shared memory, until they land, and those out of it, in groups.

use super::tensor_box::Pieces;
use crate::program::Atomic;

/// A bulk copy to shared memory.
#[derive(Debug)]
pub(crate) struct BulkLoad {
    /// The barrier that it tells.
    pub barrier: u32,
    pub to: u32,
    pub words: Vec<u32>,
    /// Which bytes of these, from their start on, it brings: where some begin, and how many they are.
    pub pieces: Pieces,
    /// How the words are combined with those that stand there, if they are.
    pub reduce: Option<Atomic>,
    /// Bytes, from its start on, that nobody wrote at the source.
    pub unwritten: Vec<u32>,
    /// How many watched places of global memory it reads.
    pub sources: usize,
    /// Who asked for it: block, thread, instruction and access.
    pub block: u64,
    pub thread: u32,
    pub at: u32,
    pub to_index: u32,
}

impl BulkLoad {
    /// One of adjacent words, to a place of which a barrier is told; asked for by a block's thread at an instruction's access.
    pub fn whole(
        (barrier, to, words): (u32, u32, Vec<u32>),
        reduce: Option<Atomic>,
        unwritten: Vec<u32>,
        (block, thread, at, to_index): (u64, u32, u32, u32),
    ) -> BulkLoad {
        let pieces = vec![(0, 4 * words.len() as u32)];
        BulkLoad { barrier, to, words, pieces, reduce, unwritten, sources: 0, block, thread, at, to_index }
    }

    /// Bytes that it brings.
    pub fn bytes(&self) -> u32 {
        self.pieces.iter().map(|(_, length)| length).sum()
    }
}

/// The bulk copies of a thread that are in groups: its agents, and groups that it has committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Groups {
    /// Reads shared memory.
    pub agent: u32,
    /// Writes global memory, if that is watched.
    pub writer: Option<u32>,
    pub committed: u32,
    /// The last copy: the instruction, the place in shared memory from where it reads, and the number of its group.
    pub last: (u32, u32, u32),
    /// The last group for the reading of which the thread has waited.
    pub waited: u32,
}
