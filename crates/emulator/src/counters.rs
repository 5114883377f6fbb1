//! What a launch did, counted: for the whole launch and for each source line.

use std::ops::AddAssign;
use std::sync::Arc;

use serde::Serialize;

use crate::{Circumstance, Dim3, Site, Warning};

/// What kind of work an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Class {
    /// `fma.f32`.
    FmaF32,
    /// `fma.f64`.
    FmaF64,
    /// Other arithmetic on f16, bf16 and f32.
    FloatF32,
    /// Other arithmetic on f64.
    FloatF64,
    /// Matrix multiply-accumulate (`mma`).
    Tensor,
    /// Integer arithmetic, logic and shifts.
    Integer,
    /// Comparisons, predicates and selects.
    Compare,
    /// Conversions between types.
    Convert,
    /// Moves, address-space casts, shuffles and votes.
    Move,
    /// Loads from global memory.
    GlobalLoad,
    /// Stores to global memory.
    GlobalStore,
    /// Loads from shared memory.
    SharedLoad,
    /// Stores to shared memory.
    SharedStore,
    /// Atomics and reductions, in any space.
    Atomic,
    /// Parameter, constant and local memory.
    OtherMemory,
    /// Branches, calls and returns.
    Branch,
    /// Barriers and fences.
    Barrier,
}

impl Class {
    /// Every class, in the order of [`Counters::classes`].
    pub const ALL: [Class; 17] = [
        Class::FmaF32,
        Class::FmaF64,
        Class::FloatF32,
        Class::FloatF64,
        Class::Tensor,
        Class::Integer,
        Class::Compare,
        Class::Convert,
        Class::Move,
        Class::GlobalLoad,
        Class::GlobalStore,
        Class::SharedLoad,
        Class::SharedStore,
        Class::Atomic,
        Class::OtherMemory,
        Class::Branch,
        Class::Barrier,
    ];
}

/// Executions of the instructions of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClassCount {
    /// Warp instructions: one for each warp that executes the instruction with an active lane.
    pub warp: u64,
    /// Thread instructions: one for each active lane whose guard predicate is true.
    pub thread: u64,
}

/// What tensor cores multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TensorType {
    /// f16.
    F16,
    /// bf16.
    Bf16,
    /// tf32.
    Tf32,
    /// e4m3 and e5m2.
    Fp8,
    /// f64.
    F64,
    /// Integers of 8 bits.
    Int8,
    /// Integers of 4 bits.
    Int4,
    /// Single bits.
    Bit,
}

impl TensorType {
    /// Every type, in the order of [`Counters::tensor`].
    pub const ALL: [TensorType; 8] = [
        TensorType::F16,
        TensorType::Bf16,
        TensorType::Tf32,
        TensorType::Fp8,
        TensorType::F64,
        TensorType::Int8,
        TensorType::Int4,
        TensorType::Bit,
    ];
}

/// What tensor cores did for one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TensorCount {
    /// Warp instructions: `mma`, `wmma.mma`, and `wgmma.mma_async`, which each warp of a warpgroup executes. Of `wgmma`, equals
    /// `sm__inst_executed_pipe_tensor_op_gmma.sum`; ptxas makes several instructions of some `mma`.
    pub instructions: u64,
    /// Multiply-adds of theirs. A warp of a warpgroup does a quarter of its product. Of `wgmma`, twice this equals
    /// `sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum` and its like, by type.
    pub multiply_adds: u64,
    /// Those of them that `wgmma` does; the others are of `mma`, which Hopper's tensor cores do at a lower rate.
    pub group_multiply_adds: u64,
    /// Wavefronts of shared memory, 128 bytes each, for the operands that `wgmma` reads there. Equals
    /// `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum` where A lies there, too; otherwise held against none.
    pub operand_wavefronts: u64,
}

/// Copies that go beside the threads: `cp.async.bulk` and `cp.reduce.async.bulk`, with and without a tensor map. Those with a map,
/// between global memory and own shared memory, equal the metrics; the others are counted in the same way, and held against none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BulkCounters {
    /// Copies from global memory that were asked for. Equals `sm__sass_inst_executed_op_tma_ld.sum`.
    pub loads: u64,
    /// Copies to global memory, and reductions. The former equal `sm__sass_inst_executed_op_tma_st.sum`.
    pub stores: u64,
    /// Bytes that came from global memory, in sectors of 32 bytes, for each row of a box: those that hold its bytes in the tensor, and
    /// as many as are filled outside. With a multicast, once for each block. Equals
    /// `l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum`; with a multicast only where rows begin with a sector.
    pub bytes_read: u64,
    /// Bytes that L2 gave for them: `bytes_read`, but with a multicast once for all of its blocks. Held against no metric.
    pub l2_bytes_read: u64,
    /// Bytes that went to global memory, in sectors that hold any of them. Equals
    /// `l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum`; reductions are held against none.
    pub bytes_written: u64,
}

impl BulkCounters {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        *self == BulkCounters::default()
    }
}

/// Traffic between warps and global memory, for loads or for stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GlobalCounters {
    /// Warp instructions with at least one active lane. ncu: `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`, `…_st.sum`.
    pub requests: u64,
    /// Distinct 32-byte sectors that the active lanes of each request touch, summed.
    /// ncu: `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`, `…_st.sum`.
    pub sectors: u64,
    /// The sectors that the distinct bytes of each request would fill if they lay side by side, summed. Held against no
    /// metric; the Source page's `memory_l2_theoretical_sectors_global_ideal` has the same purpose.
    pub ideal_sectors: u64,
    /// Bytes that the lanes asked for, each lane's counted. Equals no metric.
    pub bytes: u64,
}

/// Traffic between warps and shared memory, for loads or for stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SharedCounters {
    /// Warp instructions with at least one active lane. ncu: `smsp__sass_inst_executed_op_shared_ld.sum`, `…_st.sum`.
    pub requests: u64,
    /// Passes through the 32 banks that the requests needed.
    /// ncu: `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum`, `…_st.sum`.
    pub wavefronts: u64,
    /// Passes that requests of these widths and distinct words would need without any bank conflict; `wavefronts` over this
    /// is the n of an n-way conflict. Held against no metric.
    pub ideal_wavefronts: u64,
    /// Bytes that the lanes asked for, each lane's counted. Equals no metric.
    pub bytes: u64,
    /// Distinct bytes of each request, summed. ncu: `smsp__sass_data_bytes_mem_shared_op_ld.sum`, `…_st.sum`.
    pub unique_bytes: u64,
}

/// Traffic between warps and the shared memory of other thread blocks of their cluster: loads, stores and atomics. Copies that
/// go beside the threads are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PeerCounters {
    /// Requests: one for each warp instruction and block that its lanes access. Held against no metric.
    pub requests: u64,
    /// Bytes that the lanes asked for, each lane's counted. Held against no metric.
    pub bytes: u64,
}

impl PeerCounters {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        *self == PeerCounters::default()
    }
}

/// Counts of a launch, or of the part of it that one source line is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counters {
    /// Executions by class, in the order of [`Class::ALL`]. Of these, ptxas leaves as PTX has them: FMAs (ncu:
    /// `smsp__sass_thread_inst_executed_op_ffma_pred_on.sum` and `…_dfma_…` for threads), global loads and stores
    /// (`smsp__sass_inst_executed_op_global_ld.sum`, `…_st.sum` for warps) and shared ones. It rewrites the others.
    pub classes: [ClassCount; Class::ALL.len()],
    /// Floating-point operations in f32 or narrower: an FMA is two. Equals no single metric: twice FFMA plus FADD and FMUL.
    pub flops_f32: u64,
    /// Floating-point operations in f64: an FMA is two. As above, with DFMA, DADD and DMUL.
    pub flops_f64: u64,
    /// What tensor cores did, by type, in the order of [`TensorType::ALL`].
    #[serde(skip_serializing_if = "is_none")]
    pub tensor: [TensorCount; TensorType::ALL.len()],
    /// Loads from global memory.
    pub global_load: GlobalCounters,
    /// Stores to global memory.
    pub global_store: GlobalCounters,
    /// Loads from shared memory.
    pub shared_load: SharedCounters,
    /// Stores to shared memory.
    pub shared_store: SharedCounters,
    /// What went to the shared memory of other thread blocks of the cluster. It counts here, and not above.
    #[serde(skip_serializing_if = "PeerCounters::is_empty")]
    pub peer_shared: PeerCounters,
    /// Bulk copies.
    #[serde(skip_serializing_if = "BulkCounters::is_empty")]
    pub bulk: BulkCounters,
    /// Warp-level executions of block-wide barriers. Held against no metric: ncu reads none for them.
    pub barriers: u64,
    /// Warp-level executions of conditional branches. Equals no metric: ptxas turns short ones into predicates.
    pub branches: u64,
    /// Those whose active lanes went both ways. Equals no metric, for the same reason.
    pub divergent_branches: u64,
}

/// Whether there were no products.
fn is_none(counts: &[TensorCount; TensorType::ALL.len()]) -> bool {
    counts.iter().all(|count| *count == TensorCount::default())
}

/// Whether there are no clusters.
fn is_one(cluster: &Dim3) -> bool {
    cluster.count() == 1
}

impl Counters {
    /// What tensor cores did for one type.
    pub fn tensor(&self, kind: TensorType) -> TensorCount {
        self.tensor[kind as usize]
    }

    /// The executions of one class.
    pub fn class(&self, class: Class) -> ClassCount {
        self.classes[class as usize]
    }

    /// Warp instructions of all classes.
    pub fn warp_instructions(&self) -> u64 {
        self.classes.iter().map(|c| c.warp).sum()
    }

    /// Thread instructions of all classes.
    pub fn thread_instructions(&self) -> u64 {
        self.classes.iter().map(|c| c.thread).sum()
    }

    /// Floating-point operations of all widths.
    pub fn flops(&self) -> u64 {
        self.flops_f32 + self.flops_f64
    }

    /// The share of conditional branches whose lanes all went one way; 1 where there is none.
    pub fn branch_efficiency(&self) -> f64 {
        match self.branches {
            0 => 1.0,
            branches => 1.0 - self.divergent_branches as f64 / branches as f64,
        }
    }

    /// Sectors of global memory that the SMs ask for: by loads and stores of warps, and by bulk copies.
    pub fn global_sectors(&self) -> u64 {
        let bulk = self.bulk.bytes_read + self.bulk.bytes_written;
        self.global_load.sectors + self.global_store.sectors + bulk / 32
    }

    /// Wavefronts of shared memory: of loads and stores, and of the operands that `wgmma` reads.
    pub fn shared_wavefronts(&self) -> u64 {
        self.shared_load.wavefronts + self.shared_store.wavefronts + self.operand_wavefronts()
    }

    /// Wavefronts of shared memory for the operands of `wgmma`, of all types.
    pub fn operand_wavefronts(&self) -> u64 {
        self.tensor.iter().map(|count| count.operand_wavefronts).sum()
    }

    /// FLOPs per byte of the sectors (32 bytes each) that the SMs ask for; what L1 holds of them does not cross to L2.
    pub fn arithmetic_intensity(&self) -> f64 {
        self.flops() as f64 / (32 * self.global_sectors()) as f64
    }
}

impl Counters {
    /// Each count of `self` and of `other` made into one by `f`.
    pub fn zip(&self, other: &Counters, f: impl Fn(u64, u64) -> u64) -> Counters {
        let global = |a: &GlobalCounters, b: &GlobalCounters| GlobalCounters {
            requests: f(a.requests, b.requests),
            sectors: f(a.sectors, b.sectors),
            ideal_sectors: f(a.ideal_sectors, b.ideal_sectors),
            bytes: f(a.bytes, b.bytes),
        };
        let shared = |a: &SharedCounters, b: &SharedCounters| SharedCounters {
            requests: f(a.requests, b.requests),
            wavefronts: f(a.wavefronts, b.wavefronts),
            ideal_wavefronts: f(a.ideal_wavefronts, b.ideal_wavefronts),
            bytes: f(a.bytes, b.bytes),
            unique_bytes: f(a.unique_bytes, b.unique_bytes),
        };
        let class = |i: usize| ClassCount {
            warp: f(self.classes[i].warp, other.classes[i].warp),
            thread: f(self.classes[i].thread, other.classes[i].thread),
        };
        let tensor = |i: usize| TensorCount {
            instructions: f(self.tensor[i].instructions, other.tensor[i].instructions),
            multiply_adds: f(self.tensor[i].multiply_adds, other.tensor[i].multiply_adds),
            group_multiply_adds: f(self.tensor[i].group_multiply_adds, other.tensor[i].group_multiply_adds),
            operand_wavefronts: f(self.tensor[i].operand_wavefronts, other.tensor[i].operand_wavefronts),
        };
        Counters {
            classes: std::array::from_fn(class),
            tensor: std::array::from_fn(tensor),
            flops_f32: f(self.flops_f32, other.flops_f32),
            flops_f64: f(self.flops_f64, other.flops_f64),
            global_load: global(&self.global_load, &other.global_load),
            global_store: global(&self.global_store, &other.global_store),
            shared_load: shared(&self.shared_load, &other.shared_load),
            shared_store: shared(&self.shared_store, &other.shared_store),
            peer_shared: PeerCounters {
                requests: f(self.peer_shared.requests, other.peer_shared.requests),
                bytes: f(self.peer_shared.bytes, other.peer_shared.bytes),
            },
            bulk: BulkCounters {
                loads: f(self.bulk.loads, other.bulk.loads),
                stores: f(self.bulk.stores, other.bulk.stores),
                bytes_read: f(self.bulk.bytes_read, other.bulk.bytes_read),
                l2_bytes_read: f(self.bulk.l2_bytes_read, other.bulk.l2_bytes_read),
                bytes_written: f(self.bulk.bytes_written, other.bulk.bytes_written),
            },
            barriers: f(self.barriers, other.barriers),
            branches: f(self.branches, other.branches),
            divergent_branches: f(self.divergent_branches, other.divergent_branches),
        }
    }
}

impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, other: &Counters) {
        *self = self.zip(other, |a, b| a + b);
    }
}

/// The counts of one source line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineCounters {
    /// The file, as the PTX names it.
    pub file: Arc<str>,
    /// The line, from 1; 0 holds what the compiler attributes to no line.
    pub line: u32,
    /// What the line did.
    pub counters: Counters,
}

/// What a launch that ended well did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Thread blocks in the grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// Thread blocks in a cluster.
    #[serde(skip_serializing_if = "is_one")]
    pub cluster: Dim3,
    /// Bytes of shared memory per block, static and dynamic.
    pub shared_bytes: u32,
    /// Distinct bytes of global memory that the launch touched, in whole sectors of 32 bytes.
    pub footprint_bytes: u64,
    /// Counts of the whole launch.
    pub total: Counters,
    /// Counts by source line, ordered by file and line. They add up to `total`.
    pub lines: Vec<LineCounters>,
    /// What the kernel printed by `printf`, block by block in the order in which they had their turn; of a block, in the
    /// order of its execution. At most 1 MiB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<Printed>,
    /// What of the results nobody has compared with a card: sums of tensor cores of another generation than Hopper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// What is doubtful because the books do not agree, one for each pair of lines, in the order of the lines of the second
    /// of the two; at most [`Warning::MOST`]. None, unless the launch was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What is no fault, and may be why a result is wrong; at most [`Circumstance::MOST`].
    #[serde(skip)]
    pub circumstances: Vec<Circumstance>,
}

/// What one thread printed by one call of `printf`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Printed {
    /// The text, with its line ends.
    pub text: String,
    /// Who printed it, and where.
    pub site: Site,
}

impl Report {
    /// A report with these counts, for a launch that is computed and not run. All else in it is empty.
    pub fn new(grid: Dim3, block: Dim3, total: Counters) -> Report {
        Report {
            grid,
            block,
            cluster: Dim3::xy(1, 1),
            shared_bytes: 0,
            footprint_bytes: 0,
            total,
            lines: Vec::new(),
            printed: Vec::new(),
            unverified: None,
            warnings: Vec::new(),
            circumstances: Vec::new(),
        }
    }
}
