//! A kernel decoded for execution: registers as dense slots, branches resolved, reconvergence
//! points known, calls inlined but for those of recursive functions and of pointers.

mod access;
mod allocate;
mod alu;
mod arguments;
mod arithmetic;
mod bulk_forms;
mod calls;
mod check;
mod cluster_forms;
mod compare;
mod convert;
mod decode;
mod extended;
mod flow;
mod fma_runs;
mod forms;
mod general;
mod grammar;
mod group_forms;
mod grouped;
mod mbarrier_forms;
mod moves;
mod names;
mod needs;
mod operands;
mod order;
mod owner;
mod places;
mod provenance;
mod refused;
mod rows;
mod select;
mod sets;
mod signature;
mod simple;
mod slots;
mod spots;
mod system;
mod system_memory;
mod tensor_forms;
mod warp_forms;
mod wide_forms;
mod wmma;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use access::{Access, Space, single};
pub(crate) use alu::{Alu, File};
pub(crate) use calls::{CallSite, Called, FRAME, Piece, Signature, Target};
pub(crate) use decode::decode;
pub(crate) use extended::{
    Accumulator, Arrive, Atomic, AtomicOp, Bulk, ClusterBarrier, CopySize, Element, Extended, Extension, Fenced,
    Fragment, Group, GroupMultiply, MapDeed, Mbarrier, Multiply, QuadMultiply, Tensor,
};
pub(crate) use flow::successors;
pub(crate) use general::{
    Clamp, Comparison, FloatOp, Format, General, IntegerOp, Mode, Number, Permute, Relation, Rounding, Test, Window,
};
pub(crate) use grouped::Grouped;
pub use names::plain_name;
pub(crate) use needs::Needs;
pub(crate) use operands::{Role, registers};
use order::Ordering;
pub(crate) use order::{Order, Scope};
pub(crate) use owner::LocalVariable;
pub(crate) use spots::{DEEP, Spot, Spots};
pub(crate) use system_memory::TILE_MEMORY;

use crate::{Class, TensorType};

/// Index of a register in its file, the same for every warp.
pub(crate) type Slot = u32;

/// The generic address space's windows: a generic address is a global one, or lies in one of these.
pub(crate) const SHARED_WINDOW: u64 = 0x7f00_0000_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x7e00_0000_0000_0000;
pub(crate) const CONST_WINDOW: u64 = 0x7d00_0000_0000_0000;
pub(crate) const PARAMETER_WINDOW: u64 = 0x7c00_0000_0000_0000;
const WINDOW_BYTES: u64 = 1 << 32;
/// Bytes of the addresses of one thread block's shared memory: the bits above are its rank in the cluster.
pub(crate) const BLOCK_WINDOW: u64 = 1 << 24;

/// Whether a generic address lies in the window that begins at `window`.
#[inline(always)]
pub(crate) fn in_window(address: u64, window: u64) -> bool {
    address.wrapping_sub(window) < WINDOW_BYTES
}

/// A kernel, decoded.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub name: String,
    /// `blocks[0]` is the entry.
    pub blocks: Vec<Block>,
    pub code: Vec<Instruction>,
    /// For each instruction, how many unguarded FMAs of its kind follow in a row, itself included.
    pub fma_runs: Vec<u32>,
    /// Registers of products of warpgroups.
    pub grouped: Grouped,
    /// What each instruction of `code` is, for counting and messages.
    pub info: Vec<Info>,
    /// The memory accesses that `Op::Access` and others refer to.
    pub accesses: Vec<Access>,
    /// The instructions that `Op::Extended` refers to.
    pub extended: Vec<Extended>,
    pub registers32: u32,
    pub registers64: u32,
    pub predicates: u32,
    /// Registers that hold a value from the start of every warp.
    pub preset32: Vec<(Slot, Preset)>,
    pub preset64: Vec<(Slot, Preset)>,
    pub preset_predicates: Vec<(Slot, Preset)>,
    /// Registers that some way from the start reads before it sets them.
    pub unset: Vec<(File, Slot)>,
    /// What the kernel is bound to: the numbers of `maxntid`, `reqntid` and the like.
    pub bounds: HashMap<String, Vec<u32>>,
    pub parameters: Vec<Parameter>,
    pub parameter_bytes: u32,
    pub shared: Vec<SharedVariable>,
    pub static_shared: u32,
    /// Offset of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Bytes of local memory without the stack of `called`.
    pub local_bytes: u32,
    /// Functions that are called, and not put in the place of their `call`; and where they are.
    pub called: Vec<Called>,
    pub calls: Vec<CallSite>,
    /// Variables in local memory; NVIDIA's compiler makes one of all of a function's.
    pub locals: Vec<LocalVariable>,
    /// The register with the offset of a function's frame in local memory, where there are any of them.
    pub frame: Slot,
    pub constants: Vec<u8>,
    /// Module-level variables in global memory, by `Preset::Global`.
    pub globals: Vec<GlobalVariable>,
    /// All thread blocks meet: the grid runs as a whole or not at all.
    pub cooperative: bool,
    /// Where shared memory lies that the system gives, zeros at the start.
    pub tile_memory: Option<u32>,
    /// Some store's, some load's address may derive from a module-level variable.
    pub globals_stored: bool,
    pub globals_loaded: bool,
    /// What orders its threads besides whole barriers.
    pub needs: Needs,
    /// Global memory may order threads of different blocks here (atomics, volatile): blocks run in order, one by one. So do
    /// those whose global memory the order model watches.
    pub synchronises_globally: bool,
    /// For each access, whether it is a load whose value goes to memory without a look at it.
    pub blind_loads: Vec<bool>,
    /// Bytes of the narrowest access to shared and to global memory: the grain of race detection.
    pub shared_grain: u32,
    pub global_grain: u32,
    pub files: Vec<Arc<str>>,
    /// Where the instructions come from.
    pub spots: Spots,
}

/// A kernel parameter: where its bytes lie.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameter {
    pub offset: u32,
    pub bytes: u32,
    /// Some store's address may derive from it.
    pub stored_through: bool,
    /// Some load's address may derive from it.
    pub loaded_through: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct SharedVariable {
    pub name: String,
    pub offset: u32,
    /// `None` for dynamic shared memory.
    pub bytes: Option<u32>,
}

impl SharedVariable {
    /// All of shared memory.
    pub const ANY: (u32, u32) = (0, u32::MAX);

    /// Its start and end; of dynamic shared memory all that there is.
    pub fn bounds(&self) -> (u32, u32) {
        self.bytes.map_or(Self::ANY, |bytes| (self.offset, self.offset + bytes))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct GlobalVariable {
    pub name: String,
    pub bytes: u64,
    pub init: Vec<u8>,
    /// Addresses among its initial values: their offset, of which variable they are, and what is added.
    pub addresses: Vec<(u64, u32, i64)>,
}

/// The value that a register holds from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    Constant(u64),
    /// An address in one of the module's shared variables.
    SharedAddress {
        variable: u32,
        address: u64,
    },
    /// An address in one of the kernel's variables in local memory.
    LocalAddress {
        variable: u32,
        address: u64,
    },
    /// `%tid`, `%ntid`, `%ctaid`, `%nctaid` in x, y, z.
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    /// `%clusterid`, `%nclusterid`, `%cluster_ctaid`, `%cluster_nctaid` in x, y, z.
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterRank,
    ClusterSize,
    IsExplicitCluster,
    /// An address in the thread block's shared memory, of no particular variable.
    SharedBase(u64),
    /// Where the generic addresses of its shared memory begin.
    SharedWindow,
    /// Bytes of the addresses of all shared memory of its cluster.
    ClusterWindow,
    LaneId,
    WarpId,
    NWarpId,
    /// `%lanemask_eq`, `_lt`, `_le`, `_gt`, `_ge`.
    LaneMask(u8),
    DynamicSharedBytes,
    /// All shared memory of a thread block, static and dynamic.
    SharedBytes,
    /// Offset of dynamic shared memory, plus an offset; a constant once all variables are placed.
    DynamicSharedBase(i64),
    /// Address of a module-level variable in global memory, plus an offset.
    Global(u32, i64),
    /// The lower or the upper half of such an address.
    GlobalHalf(u32, bool),
    /// Where the frame of the function at hand begins in local memory. Calls change it.
    Frame,
}

/// A basic block: instructions of `code`, and how it ends.
#[derive(Debug)]
pub(crate) struct Block {
    pub start: u32,
    /// Up to here a warp executes it without a look at its other lanes: to the end, or to the meeting there.
    pub stop: u32,
    pub end: u32,
    pub exit: Exit,
    /// The instruction that ends the block, where there is one (a branch, a barrier, a return).
    pub exit_info: Option<u32>,
}

/// How a basic block ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Exit {
    Jump(u32),
    /// The block's last instruction is one for which lanes of a warp wait for each other (`Op::is_meeting`); then on.
    Meeting(u32),
    /// To `target` where the predicate holds (`negated`: does not), else to `fall`; the paths meet at `meet`.
    Branch {
        predicate: Slot,
        negated: bool,
        target: u32,
        fall: u32,
        meet: u32,
    },
    /// Waits for the block's other threads.
    Barrier {
        barrier: Barrier,
        next: u32,
    },
    /// Calls a function, by a pointer if there is one; then on.
    Call {
        site: u32,
        pointer: Option<Slot>,
        next: u32,
    },
    /// Back to where the function was called.
    Leave,
    /// The threads end.
    Return,
    /// The kernel gives up.
    Trap,
}

/// A block-wide barrier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Barrier {
    /// Slot of the barrier's number.
    pub id: Slot,
    /// Slot of the number of threads that take part; all of the block without.
    pub threads: Option<Slot>,
    /// `bar.arrive`: does not wait.
    pub arrive_only: bool,
    /// All lanes of a warp execute it together.
    pub aligned: bool,
    pub guard: Option<Guard>,
    /// `bar.red`: the operation, its result and its predicate.
    pub reduce: Option<(Reduce, Slot, Slot)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reduce {
    Popc,
    And,
    Or,
}

/// A guard predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guard {
    pub predicate: Slot,
    pub negated: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Instruction {
    pub op: Op,
    pub guard: Option<Guard>,
}

/// What an instruction does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Lane by lane: registers to a register.
    Alu {
        code: Alu,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// Lane by lane, with the meaning as data.
    General {
        code: General,
        d: Slot,
        sources: [Slot; 4],
    },
    /// Index into the program's `extended`.
    Extended(u32),
    /// Bitwise function of three, by its truth table.
    Lop3 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        table: u8,
    },
    Load(u32),
    Store(u32),
    /// Across the lanes of the warp.
    Shuffle {
        mode: ShuffleMode,
        d: Slot,
        valid: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        members: Slot,
    },
    Vote {
        mode: VoteMode,
        d: Slot,
        predicate: Slot,
        negated: bool,
        members: Slot,
    },
    ActiveMask {
        d: Slot,
    },
    WarpSync {
        members: Slot,
    },
    /// Orders the thread's accesses before it with those after it, for the threads of `scope`.
    Fence {
        order: Order,
        scope: Scope,
    },
    /// What has no effect that a thread could see: hints, and waits for time to pass.
    Nothing,
}

impl Op {
    /// Whether the lanes that a mask names wait for each other here.
    fn is_meeting(&self, extended: &[Extended]) -> bool {
        match self {
            Op::Shuffle { .. } | Op::Vote { .. } | Op::WarpSync { .. } => true,
            Op::Extended(index) => matches!(
                extended[*index as usize].what,
                Extension::Match { .. }
                    | Extension::Reduce(..)
                    | Extension::Elect
                    | Extension::Converge
                    | Extension::Group(Group::Multiply(_))
            ),
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What an instruction is, for counting and messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Info {
    pub ptx_line: u32,
    /// Its spot, if it has one.
    pub spot: Option<u32>,
    /// Where it counts: index into `files`, and the line; line 0 for none.
    pub file: u32,
    pub line: u32,
    pub opcode: Arc<str>,
    /// `None` for a helper of an instruction that takes several operations.
    pub class: Option<Class>,
    pub flops_f32: u32,
    pub flops_f64: u32,
    /// What it has tensor cores do.
    pub tensor: Option<Product>,
}

/// What tensor cores do for a warp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub kind: TensorType,
    pub multiply_adds: u32,
    /// Of a product of a warpgroup, the bytes of shared memory that all its warps together read as operands.
    pub group_operands: Option<u32>,
}
