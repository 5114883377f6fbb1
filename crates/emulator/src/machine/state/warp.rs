//! A warp: its registers, its lanes' fates, and the stack of paths that diverged.

use std::collections::HashMap;

use super::call_stack::Stack;
use super::copies::Copies;
use super::polls::Polls;
use super::product_registers::ProductRegisters;
use super::shadow::Taint;
use super::shape::{Shape, preset_values};
use crate::Dim3;
use crate::machine::lanes::{FULL, LANES, Lanes};
use crate::origin::Origin;
use crate::program::{Program, Slot};

/// A path that lanes take: from `block` until they meet the others at `meet`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Path {
    pub block: u32,
    pub meet: u32,
    pub mask: u32,
    pub wait: Wait,
}

/// No block: a path that meets no other.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What a path waits for, at the end of its block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wait {
    No,
    /// The lanes of a mask, to meet them.
    Meeting(u32),
    /// At an aligned barrier, the warp's other lanes: they have gone another way, and may still come. With all lanes that
    /// must come.
    Others(u32),
    /// At a barrier of this number, the warp's other lanes.
    Gathering(u32),
    /// At a barrier of this number, other warps.
    Barrier(u32),
    /// At a product of the warpgroup, its other warps.
    Group,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum State {
    Ready,
    /// All its paths wait.
    Waiting,
    #[default]
    Done,
}

/// Where the lanes access memory. Lanes that do not run have the place of the first one that does. (On the
/// heap, so that the compiler keeps the vectors whole.)
#[derive(Default)]
pub(crate) struct Scratch {
    pub addresses: Lanes<u64>,
    /// Offsets in shared memory.
    pub offsets: Lanes<u32>,
}

/// By default one without registers, which stands in the list of warps while one of them runs.
#[derive(Default)]
pub(crate) struct Warp {
    pub number: u32,
    pub r: Vec<Lanes<u32>>,
    pub d: Vec<Lanes<u64>>,
    pub p: Vec<u32>,
    /// Lanes that exist and have not ended.
    pub live: u32,
    /// Where its lanes are. A lane is where the last path says that has it; paths before that are where it meets others.
    pub(crate) paths: Vec<Path>,
    /// Lanes that a branch has sent where nothing is left to do but to end.
    pub(crate) left: u32,
    /// How many of the paths wait.
    pub(crate) waiting: u32,
    pub(crate) state: State,
    pub(crate) polls: Polls,
    /// Warp-level barriers passed since the last block-wide one.
    pub epoch: u32,
    /// The memory access at hand.
    pub(crate) scratch: Box<Scratch>,
    /// Local memory of all lanes, one after the other, and which of its bytes were written.
    pub local: Vec<u8>,
    pub local_written: Vec<u8>,
    /// By lane and offset, where a copy there comes from of what nobody wrote; of others it says nothing.
    pub(crate) local_origins: HashMap<(usize, u64), Origin>,
    /// How much of it each lane has, in bytes.
    pub(crate) local_bytes: usize,
    /// The calls in which each lane is; empty for a program without functions that are called.
    pub(crate) stacks: Vec<Stack>,
    /// Uninitialised values in registers; absent until one is loaded.
    pub(crate) taint: Option<Box<Taint>>,
    /// Registers of products under way; absent where there are none, or nobody watches.
    pub(crate) group: Option<Box<ProductRegisters>>,
    /// Asynchronous copies under way.
    pub(crate) copies: Copies,
}

impl Warp {
    pub fn new(program: &Program, number: u32) -> Warp {
        Warp {
            number,
            r: vec![Lanes::default(); program.registers32 as usize],
            d: vec![Lanes::default(); program.registers64 as usize],
            p: vec![u32::default(); program.predicates as usize],
            local: vec![0xff; program.local_bytes as usize * LANES],
            local_written: vec![u8::default(); program.local_bytes as usize * LANES],
            local_bytes: program.local_bytes as usize,
            stacks: if program.called.is_empty() { Vec::new() } else { vec![Stack::default(); LANES] },
            ..Warp::default()
        }
    }

    /// The lanes of warp `number` that the thread block has threads for.
    pub fn existing(number: u32, block: Dim3) -> u32 {
        let threads = block.count() - u64::from(number) * LANES as u64;
        if threads >= LANES as u64 { FULL } else { (1 << threads) - 1 }
    }

    /// Makes the warp ready to run in thread block `block`.
    pub fn start(&mut self, program: &Program, launch: &Shape, block: Dim3) {
        let threads = launch.block.count() as u32;
        let first = self.number * LANES as u32;
        let lanes = (threads - first).min(LANES as u32);
        self.live = if lanes == 32 { FULL } else { (1 << lanes) - 1 };
        self.paths.clear();
        self.paths.push(Path { block: 0, meet: NOWHERE, mask: self.live, wait: Wait::No });
        (self.left, self.waiting) = (0, 0);
        self.state = State::Ready;
        self.polls = Polls::default();
        self.epoch = 0;
        self.taint = None;
        self.copies = Copies::default();
        self.local_written.fill(0);
        self.local_origins.clear();
        self.stacks.iter_mut().for_each(Stack::clear);
        for &(slot, preset) in &program.preset32 {
            self.r[slot as usize] = Lanes(preset_values(preset, launch, block, first).map(|value| value as u32));
        }
        for &(slot, preset) in &program.preset64 {
            self.d[slot as usize] = Lanes(preset_values(preset, launch, block, first));
        }
        for &(slot, preset) in &program.preset_predicates {
            self.p[slot as usize] = if preset_values(preset, launch, block, first)[0] != 0 { FULL } else { 0 };
        }
    }

    #[inline(always)]
    pub fn predicate(&self, slot: Slot, negated: bool) -> u32 {
        let mask = self.p[slot as usize];
        if negated { !mask } else { mask }
    }
}

/// Lanes, and the instruction at which they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Party {
    pub at: u32,
    pub lanes: u32,
}

/// Warps of a warpgroup.
pub(crate) const GROUP: usize = 4;
