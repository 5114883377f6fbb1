//! Instructions with more registers, or more to say, than `Op` has room for: atomics, asynchronous
//! copies, matrices, barriers in memory, and what a warp does together.

use super::{File, Format, IntegerOp, Number, Op, Order, Program, Rounding, Scope, Slot, Space};
use crate::TensorType;
use crate::tensor_map::MapField;

#[derive(Debug, Clone)]
pub(crate) struct Extended {
    pub what: Extension,
    /// Memory accesses, of which the base registers are read as addresses.
    pub accesses: Vec<u32>,
    pub reads: Vec<(File, Slot)>,
    pub writes: Vec<(File, Slot)>,
}

impl Extended {
    pub fn new(what: Extension) -> Extended {
        Extended { what, accesses: Vec::new(), reads: Vec::new(), writes: Vec::new() }
    }

    pub fn accessing(mut self, access: u32) -> Extended {
        self.accesses.push(access);
        self
    }

    pub fn reading(mut self, file: File, slot: Slot) -> Extended {
        self.reads.push((file, slot));
        self
    }

    pub fn writing(mut self, file: File, slot: Slot) -> Extended {
        self.writes.push((file, slot));
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Extension {
    /// Reads the operands, writes the old value if anybody wants it.
    Atomic(Atomic),
    /// From the first access (global) to the second (shared). Reads the number of bytes that are not
    /// zero-filled, if it is given, or a predicate that makes it none.
    CopyAsync {
        size: CopySize,
        /// `.cg`: around L1.
        bypassing: bool,
    },
    CommitCopies,
    /// Waits for all but the given number of groups; for everything without.
    WaitCopies(Option<u32>),
    /// `ldmatrix`: 8×8 matrices of 16-bit elements from rows in shared memory.
    LoadMatrix {
        transpose: bool,
    },
    StoreMatrix {
        transpose: bool,
    },
    /// `wmma.load`, `wmma.store`, before what they access: reads the matrix's address and its stride.
    Fragment(Fragment),
    /// `movmatrix`: reads a matrix's two elements of each lane, writes those of its transpose.
    MoveMatrix,
    Multiply(Multiply),
    MultiplyQuads(QuadMultiply),
    /// On the barrier in shared memory at the access.
    Mbarrier(Mbarrier),
    /// A copy of so many bytes beside the threads.
    Bulk(Bulk),
    /// What four warps multiply together, beside the threads.
    Group(Group),
    /// Reads a state, writes how many arrivals it says are missing.
    PendingCount,
    /// `setmaxnreg`: from now on the warp has so many registers for each thread.
    SetRegisters(u32),
    /// `mapa`: reads an address in shared memory and a rank, writes the same place's address in that block.
    MapToRank {
        generic: bool,
    },
    /// `getctarank`: reads an address in shared memory, writes the rank of its block.
    RankOf {
        generic: bool,
    },
    /// On the barrier of the cluster.
    ClusterBarrier(ClusterBarrier),
    /// `fence.proxy.async`: what was done to memory before it is there for bulk copies behind it.
    ProxyFence(Fenced),
    /// `fence.mbarrier_init`: the same of the thread's `mbarrier.init`.
    InitFence,
    /// On the tensor map at the first access.
    TensorMap(MapDeed),
    /// Reads a value and the members, writes the lanes that have the same (and whether all have).
    Match {
        all: bool,
    },
    Reduce(IntegerOp, bool),
    /// Reads the members, writes the lane chosen and whether it is this one.
    Elect,
    /// Reads the members, who wait for each other and nothing else: before what a warp executes as a whole.
    Converge,
    /// `vprintf`: reads the addresses of a format and of its arguments, writes their number.
    Print,
    /// `__assertfail`: reads what to say, and gives up.
    Assertion,
    /// The clock: warp instructions that the thread block executed so far.
    Clock {
        high: bool,
    },
}

/// What the matrix of a `wmma.load` or `wmma.store` must be like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fragment {
    pub space: Space,
    /// What is added to the address.
    pub offset: i64,
    /// Of an element.
    pub bits: u32,
    /// Bytes of which its address is a multiple, and of which its stride is.
    pub align: u32,
    pub apart: u32,
}

/// Bulk copies (`cp.async.bulk`), and what waits for those that are in groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bulk {
    /// From the first access (global) to the second (shared), telling the barrier at the third. Reads the bytes' number.
    Load,
    /// From the first access (shared) to the second (global), or combined with what stands there. Reads the bytes' number.
    Store(Option<Atomic>),
    /// A box of a tensor, of so many dimensions. Reads its coordinates. The first access is the tensor map.
    Tensor(Tensor, u8),
    Commit,
    /// The same with a mask of ranks, read last: to all of these blocks of the cluster.
    Multicast,
    /// From the first access (own shared memory) to the second (another block's), telling the barrier at the third there.
    /// Reads the bytes' number.
    Exchange(Option<Atomic>),
    /// `st.async`, `red.async`: registers to the first access, telling the barrier at the second, both in one block's shared
    /// memory. Reads the values, each of so many bytes.
    Send {
        bytes: u32,
        reduce: Option<Atomic>,
    },
    /// Waits for all but so many groups; `read`: until they have read.
    Wait {
        pending: u32,
        read: bool,
    },
}

/// Which way a box of a tensor goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tensor {
    /// To the second access (shared), telling the barrier at the third. `multicast`: in the blocks of the cluster
    /// that a last operand names.
    Load { multicast: bool },
    /// From the second access (shared), or combined with what stands there, by elements of the tensor's type.
    Store(Option<AtomicOp>),
}

/// What a kernel does to a tensor map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MapDeed {
    /// `fence.proxy.tensormap::generic.acquire`: what was written there is there for copies behind it.
    Acquire(Scope),
    /// `tensormap.replace`: reads the field's new value.
    Replace(MapField),
    /// `tensormap.cp_fenceproxy`: copies it there from the second access (shared), and is a release.
    CopyOut(Scope),
}

/// What is done to a barrier in shared memory (`mbarrier`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mbarrier {
    /// Reads the number of arrivals.
    Init,
    Invalidate,
    /// Reads a number of bytes.
    Expect,
    Complete,
    Arrive(Arrive),
    /// Reads a state or a parity, writes whether that phase is complete.
    Wait {
        parity: bool,
        /// An acquire, or relaxed; for the threads of `scope`.
        order: Order,
        scope: Scope,
    },
    /// `cp.async.mbarrier.arrive`: once the thread's copies have landed. `counts`: one more arrival is awaited for it.
    AfterCopies {
        counts: bool,
    },
}

/// What is done to the barrier of a cluster (`barrier.cluster`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterBarrier {
    /// `relaxed`: without a release.
    Arrive { relaxed: bool },
    /// Begins to wait.
    Wait,
    /// Writes whether all have arrived.
    Test,
}

/// An arrival: reads the number of arrivals or of expected bytes, if one is given; may write the state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arrive {
    /// What is given is a number of bytes that are expected.
    pub expects: bool,
    /// The next phases wait for fewer.
    pub drops: bool,
    /// Must not be the last.
    pub completes: bool,
    /// A release, or relaxed; for the threads of `scope`.
    pub order: Order,
    pub scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CopySize {
    Whole,
    Given,
    UnlessIgnored,
}

impl Program {
    /// Whether lanes at two instructions can meet: they do the same, to whatever registers.
    pub fn are_alike(&self, a: u32, b: u32) -> bool {
        match (self.code[a as usize].op, self.code[b as usize].op) {
            (Op::WarpSync { .. }, Op::WarpSync { .. }) => true,
            (Op::Shuffle { mode: a, .. }, Op::Shuffle { mode: b, .. }) => a == b,
            (Op::Vote { mode: a, .. }, Op::Vote { mode: b, .. }) => a == b,
            (Op::Extended(a), Op::Extended(b)) => {
                let (a, b) = (&self.extended[a as usize], &self.extended[b as usize]);
                let file = |extended: &Extended| extended.reads.first().map(|(file, _)| *file);
                a.what == b.what && (a.what == Extension::Elect || file(a) == file(b))
            }
            _ => false,
        }
    }
}

impl Extension {
    /// Whether it is of what goes on beside the threads: barriers in shared memory, and bulk copies.
    pub fn is_asynchronous(self) -> bool {
        matches!(self, Extension::Mbarrier(_) | Extension::Bulk(_) | Extension::Group(_))
    }

    /// Whether it is of what thread blocks of a cluster do together.
    pub fn is_of_clusters(self) -> bool {
        matches!(
            self,
            Extension::MapToRank { .. }
                | Extension::ClusterBarrier(_)
                | Extension::Bulk(Bulk::Multicast | Bulk::Exchange(_) | Bulk::Send { .. })
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Atomic {
    pub op: AtomicOp,
    pub bits: u8,
    pub signed: bool,
    /// For floats: the format, and whether there are two in a word.
    pub float: Option<(Format, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

/// `mma.sync`: D = A × B + C. A is M×K, B is K×8; registers hold `32 / bits` elements (f64: one).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Multiply {
    pub m: u16,
    pub k: u16,
    pub a: Element,
    pub b: Element,
    pub accumulator: Accumulator,
    /// `.satfinite` of integers: clamps instead of wrapping.
    pub saturate: bool,
    /// Of f64, after each step.
    pub rounding: Rounding,
}

/// `mma.m8n8k4` of f16: four products of 8×4 with 4×8, each of eight lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuadMultiply {
    /// Whether A and B lie by rows.
    pub by_rows: [bool; 2],
    /// Of D and of C: in f16 or f32.
    pub sums: [Accumulator; 2],
}

impl QuadMultiply {
    /// Registers of D and of C.
    pub fn registers(&self) -> [usize; 2] {
        self.sums.map(|sums| if sums == Accumulator::F16 { 4 } else { 8 })
    }

    /// Floating-point operations of one lane.
    pub const FLOPS: u32 = 4 * 8 * 8 * 4 * 2 / 32;
}

/// The memory that a proxy fence is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fenced {
    pub shared: bool,
    pub global: bool,
}

/// `wgmma`: what a warpgroup's four warps do together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Group {
    /// What was done to registers before it is there for products behind it.
    Fence,
    Commit,
    /// Waits for all but so many groups of products.
    Wait(u32),
    /// Reads A, if that is in registers, a predicate that says whether to add to D, and D; the accesses are where A (if that is
    /// not in registers) and B lie.
    Multiply(GroupMultiply),
}

/// `wgmma.mma_async`: D = A × B, or D = A × B + D. A is 64×K, of which each warp has 16 rows, B is K×N.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GroupMultiply {
    pub n: u16,
    pub k: u16,
    pub a: Element,
    pub b: Element,
    pub accumulator: Accumulator,
    pub saturate: bool,
    /// A is.
    pub in_registers: bool,
    /// A and B are taken with the other sign.
    pub negate: [bool; 2],
    /// A and B lie along M and N.
    pub transpose: [bool; 2],
}

impl GroupMultiply {
    /// Registers of D.
    pub fn sums(&self) -> usize {
        usize::from(self.n) / if self.accumulator == Accumulator::F16 { 4 } else { 2 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Float(Format),
    /// Of 4 or 8 bits.
    Integer {
        bits: u8,
        signed: bool,
    },
    /// Single bits, of which those are counted that are set in both, or else that differ.
    Bit {
        and: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accumulator {
    /// Two in a register.
    F16,
    F32,
    F64,
    S32,
}

impl Element {
    /// The type of elements that a PTX suffix names; `and` of single bits.
    pub fn named(kind: &str, and: bool) -> Option<Element> {
        match kind {
            "b1" => Some(Element::Bit { and }),
            "s4" | "u4" => Some(Element::Integer { bits: 4, signed: kind == "s4" }),
            "s8" | "u8" => Some(Element::Integer { bits: 8, signed: kind == "s8" }),
            _ => match Number::named(kind)? {
                Number::Float(Format::F32) | Number::Integer { .. } => None,
                Number::Float(format) => Some(Element::Float(format)),
            },
        }
    }

    /// Under which type products of it count.
    pub fn counted(self) -> TensorType {
        match self {
            Element::Bit { .. } => TensorType::Bit,
            Element::Integer { bits: 4, .. } => TensorType::Int4,
            Element::Integer { .. } => TensorType::Int8,
            Element::Float(Format::F16) => TensorType::F16,
            Element::Float(Format::Bf16) => TensorType::Bf16,
            Element::Float(Format::E4m3 | Format::E5m2) => TensorType::Fp8,
            Element::Float(Format::F64) => TensorType::F64,
            Element::Float(Format::Tf32 | Format::F32) => TensorType::Tf32,
        }
    }

    /// How many of them are in a register.
    pub fn per_register(self) -> usize {
        match self {
            Element::Bit { .. } => 32,
            Element::Integer { bits, .. } => 32 / usize::from(bits),
            Element::Float(Format::F64) => 1,
            Element::Float(format) => 32 / usize::from(format.bits()),
        }
    }
}

impl Accumulator {
    /// The type of sums that a PTX suffix names.
    pub fn named(kind: &str) -> Option<Accumulator> {
        Some(match kind {
            "f16" => Accumulator::F16,
            "f32" => Accumulator::F32,
            "f64" => Accumulator::F64,
            "s32" => Accumulator::S32,
            _ => return None,
        })
    }
}

impl Multiply {
    /// Registers of A, B, and of C and D each.
    pub fn registers(&self) -> [usize; 3] {
        let (m, k) = (usize::from(self.m), usize::from(self.k));
        let per = self.a.per_register();
        let results = m / 4;
        [m * k / 32 / per, k * 8 / 32 / per, if self.accumulator == Accumulator::F16 { results / 2 } else { results }]
    }

    /// Floating-point operations of one lane.
    pub fn flops(&self) -> u32 {
        u32::from(self.m) * 8 * u32::from(self.k) * 2 / 32
    }

    /// The files of A's and B's registers, and of C's and D's.
    pub fn files(&self) -> [File; 2] {
        if self.accumulator == Accumulator::F64 { [File::D, File::D] } else { [File::R, File::R] }
    }
}
