//! Copies by `cp.async` that have not landed: those of a warp, and what they still read.

use crate::machine::lanes::{LANES, each};
use crate::origin::Lack;

/// The copies of a warp's lanes that have not landed, by instruction.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    #[expect(clippy::vec_box, reason = "those that stay are moved when others land, and they are large")]
    pub pending: Vec<Box<Copy>>,
    /// Groups that each lane has committed.
    pub groups: [u32; LANES],
    /// Instructions so far.
    pub issued: u32,
    /// The last wait.
    pub waited: Option<Waited>,
}

/// A wait for copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// How many groups it may leave under way.
    pub leaves: u32,
    /// Groups that each lane had committed, and instructions of copies that there had been.
    pub groups: [u32; LANES],
    pub issued: u32,
}

/// What a copy under way still reads of a buffer that the launch may write.
#[derive(Clone, Debug)]
pub(crate) struct SourceUnderWay {
    pub block: u64,
    pub thread: u32,
    pub at: u32,
    pub buffer: usize,
    pub offset: usize,
    pub length: usize,
    /// Where it goes to, which tells copies of a thread apart.
    pub to: u32,
}

/// The copies that one instruction began; lane by lane where it is an array.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Its number among the warp's.
    pub serial: u32,
    /// The block's epoch in which it began.
    pub epoch: u32,
    /// Those that have not landed.
    pub lanes: u32,
    /// The number of its group among the lane's.
    pub groups: [u32; LANES],
    pub to: [u32; LANES],
    pub words: [[u32; 4]; LANES],
    /// Bytes of each lane.
    pub length: u32,
    /// A bit for each byte that somebody wrote at the source.
    pub written: [u16; LANES],
    /// The access that writes.
    pub to_index: u32,
    /// The access that reads, from these addresses so many bytes.
    pub from_index: u32,
    pub sources: [u64; LANES],
    pub read: [u32; LANES],
}

impl Copy {
    /// The lanes that copy the same from one place to another as the lane before them: CUDA's own `memcpy_async` has the threads of a
    /// group that have nothing left repeat its last piece.
    pub fn repeated(&self) -> u32 {
        let of = |lane: usize| (self.to[lane], self.sources[lane], self.read[lane]);
        let active = |lane: usize| self.lanes >> lane & 1 == 1;
        let repeats =
            |lane: &usize| active(*lane) && active(lane - 1) && self.read[*lane] > 0 && of(*lane) == of(lane - 1);
        (1..LANES).filter(repeats).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// What the copy of a lane lacks that has committed so many groups.
    pub fn lack(&self, lane: usize, committed: u32, waited: Option<Waited>) -> Lack {
        let own = self.groups[lane];
        match waited.filter(|waited| waited.issued > self.serial) {
            None if own == committed => Lack::Both,
            None => Lack::Wait,
            Some(waited) if waited.groups[lane] == own => Lack::Commit,
            Some(waited) => Lack::Fewer { leaves: waited.leaves, most: waited.groups[lane] - own - 1 },
        }
    }
}

impl Copies {
    /// What the last copy of a lane lacks that is under way to a place.
    pub fn lack(&self, lane: usize, to: u32) -> Option<Lack> {
        let goes_there =
            |copy: &Copy| copy.lanes >> lane & 1 == 1 && (copy.to[lane]..copy.to[lane] + copy.length).contains(&to);
        let copy = self.pending.iter().rev().find(|copy| goes_there(copy))?;
        Some(copy.lack(lane, self.groups[lane], self.waited))
    }

    pub fn commit(&mut self, mask: u32) {
        each(mask).for_each(|lane| self.groups[lane] += 1);
    }

    /// Instructions so far.
    pub fn issued(&self) -> u32 {
        self.issued
    }
}
