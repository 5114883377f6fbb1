//! What a warp issues: instructions as an SM has them.

use emulator::stream::Executed;

/// What an instruction keeps busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The multiply-adds of f32.
    Fma,
    /// Integers, logic, comparisons, and the rest of f32.
    Alu,
    /// Arithmetic in f64.
    Fp64,
    /// A comparison that decides whether memory is touched.
    Guard,
    /// A load of a parameter of the kernel.
    Parameter,
    /// Special functions, and what else is slow and rare.
    Special,
    /// The tensor cores.
    Tensor,
    /// A load from shared memory…
    SharedLoad,
    /// … a store there.
    SharedStore,
    /// A load from global memory…
    GlobalLoad,
    /// … a store there.
    GlobalStore,
    /// A copy from global to shared memory.
    Copy,
    /// The end of a group of copies.
    Commit,
    /// A wait for all but so many groups.
    Wait(u32),
    /// A barrier of the block.
    Barrier,
    /// A branch.
    Branch,
}

/// What a warp issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// What it keeps busy.
    pub kind: Kind,
    /// The warp's instructions, by number, whose results it needs.
    pub needs: Vec<u32>,
    /// Into the stream's touches, for memory.
    pub touch: u32,
    /// Into the stream's code.
    pub code: u32,
}

/// An instruction before it has its place.
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) needs: Vec<u32>,
    pub(crate) touch: u32,
    pub(crate) code: u32,
    /// 32-bit registers that it writes.
    pub(crate) width: u32,
    /// Predicates that it writes.
    pub(crate) predicates: u32,
    /// It is part of another instruction.
    pub(crate) dropped: bool,
    /// An addition may take it in.
    pub(crate) factor: bool,
    /// It comes behind this one, whose result it does not need.
    pub(crate) after: Option<u32>,
}

impl Node {
    pub(crate) fn new(kind: Kind, code: u32) -> Node {
        Node {
            kind,
            needs: Vec::new(),
            touch: Executed::NOTHING,
            code,
            width: 0,
            predicates: 0,
            dropped: false,
            factor: false,
            after: None,
        }
    }
}
