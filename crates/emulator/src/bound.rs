//! The least time that the counted work of a launch needs on a GPU, and the unit that needs it: the bottleneck.
//!
//! Each unit is looked at alone, as if all others were free, no latency had to be waited for and every schedule were
//! possible. So the largest of these times is a lower bound: no real launch of this work is faster. It is not a prediction; a
//! launch takes longer, often by a factor.
//!
//! Three things keep the bound honest:
//!
//! - Counts come from PTX, and the machine code does not execute all of it. Only work that the assembler keeps is
//!   charged: FMAs, memory accesses and barriers.
//! - Wavefronts are charged as counted, which holds where PTX and machine code have the same shared-memory accesses: with arrays
//!   declared `__shared__ __align__(16)`. Of other arrays the assembler may merge accesses of 4 and 8 bytes to
//!   wider ones with fewer wavefronts, and such a launch can beat its bound.
//! - What is not known is not charged: how many copies TMA can begin in a clock, for which there is no figure to trust; whether what it
//!   moves keeps the banks of shared memory from others; and tensor cores, where NVIDIA publishes no rate for the type.
//! - The clock is the GPU's boost clock. A card that runs faster beats the bound by as much: set [`Gpu::boost_hz`]. The same
//!   goes for [`Gpu::dram_bytes_per_s`].

use std::fmt;

use serde::Serialize;

use crate::TensorType;
use crate::counters::{Class, Report, TensorCount};
use crate::gpu::{Gpu, WARP};

/// Bytes of a sector.
const SECTOR: u64 = 32;
/// Bytes that one wavefront can move through 32 banks of 4 bytes.
const WAVEFRONT: u64 = 128;
/// Bytes of the widest access of a warp, 16 per lane: into so few instructions accesses could be merged.
const WIDEST: u64 = 16 * WARP as u64;
/// Bytes per clock that one SM can take from L2. (Two SMs that had an H200 to themselves took up to 68 by bulk copies.)
pub const SM_PORT: u64 = 64;

/// A unit of a GPU that can be the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// The pipes that execute `fma.f32`. An FMA of a warp takes the time of 32, however many lanes are active.
    FmaF32,
    /// The pipes that execute `fma.f64`.
    FmaF64,
    /// The tensor cores: multiply-adds of `mma` and `wgmma`, by type. All of them at the cores' rate, and those of `mma` at what `mma`
    /// reaches of it.
    Tensor,
    /// Global memory as an SM sees it: one request per clock, and sectors at the width of L1.
    L1,
    /// The banks of shared memory: wavefronts, those of `wgmma`'s operands among them.
    Shared,
    /// The units of the SMs that make bulk copies, with and without tensor maps: bytes of global memory that come or go, at the width
    /// of an SM's port to L2. With a multicast, each block's SM takes its own.
    Tma,
    /// L2 to SMs: each sector of the footprint at least once, since L1 may keep it for later; each sector of a bulk copy every time,
    /// since it goes past L1, with a multicast once for all blocks; each stored sector every time, since L1 writes through.
    L2,
    /// DRAM: the part of the footprint that L2 cannot hold for the launch, see [`Assumptions::cold_l2`].
    Dram,
    /// The schedulers: FMAs, products of matrices, memory accesses, bulk copies and barriers, each at least one slot.
    Issue,
}

impl Unit {
    /// Every unit, in the order of [`Bound::units`].
    pub const ALL: [Unit; 9] = [
        Unit::FmaF32,
        Unit::FmaF64,
        Unit::Tensor,
        Unit::L1,
        Unit::Shared,
        Unit::Tma,
        Unit::L2,
        Unit::Dram,
        Unit::Issue,
    ];
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::FmaF32 => "FMA pipe (f32)",
            Unit::FmaF64 => "FMA pipe (f64)",
            Unit::Tensor => "tensor cores",
            Unit::L1 => "L1/LSU",
            Unit::Shared => "shared memory",
            Unit::Tma => "TMA",
            Unit::L2 => "L2",
            Unit::Dram => "DRAM",
            Unit::Issue => "issue slots",
        })
    }
}

/// What may be assumed of a launch beyond its counts. The default assumes nothing, so the bound holds for every launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// Every block does the same work, as where the tiles divide the matrices. Then the busiest SM does that of
    /// `ceil(blocks / SMs)` blocks. Otherwise work is taken to be spread evenly over all SMs that can get a block.
    pub equal_blocks: bool,
    /// L2 holds none of the launch's data beforehand: the cache was flushed. Otherwise what an earlier launch left
    /// there, at most the size of L2, need not come from DRAM.
    pub cold_l2: bool,
}

/// The least time of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnitTime {
    /// The unit.
    pub unit: Unit,
    /// Seconds that it is busy with the work of the launch, at least.
    pub seconds: f64,
}

/// The least time of a launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// The largest of the units' times: no real launch is faster.
    pub seconds: f64,
    /// The unit with that time; of several, the first in [`Unit::ALL`].
    pub bottleneck: Unit,
    /// The times of all units, in the order of [`Unit::ALL`].
    pub units: [UnitTime; Unit::ALL.len()],
}

/// The least time that the work of `report` needs on `gpu`.
pub fn bound(report: &Report, gpu: &Gpu, assume: Assumptions) -> Bound {
    let units = Unit::ALL.map(|unit| UnitTime { unit, seconds: seconds(unit, report, gpu, assume) });
    // Units that need the same time, but for the rounding of numbers here: the first of them is named.
    let longer = |a: UnitTime, b: UnitTime| if b.seconds > a.seconds * (1.0 + 1e-9) { b } else { a };
    let slowest = units.into_iter().reduce(longer).unwrap_or(units[0]);
    Bound { seconds: slowest.seconds, bottleneck: slowest.unit, units }
}

fn seconds(unit: Unit, report: &Report, gpu: &Gpu, assume: Assumptions) -> f64 {
    // Clocks of the busiest SM, for work that is given in clocks of one SM.
    let busiest = |clocks: f64| clocks * busiest_share(report, gpu, assume) / gpu.boost_hz;
    match unit {
        Unit::FmaF32 => busiest(fma_clocks(report, Class::FmaF32, gpu.rates.fma_f32)),
        Unit::FmaF64 => busiest(fma_clocks(report, Class::FmaF64, gpu.rates.fma_f64)),
        Unit::Tensor => busiest(tensor_clocks(report, gpu)),
        Unit::L1 => busiest(l1_clocks(report, gpu)),
        Unit::Shared => busiest(shared_clocks(report, gpu)),
        Unit::Tma => busiest(tma_clocks(report)),
        Unit::Issue => busiest(issued(report) as f64 / f64::from(gpu.rates.issue)),
        Unit::L2 => {
            let ports = SM_PORT * blocks(report).min(gpu.sms.into());
            l2_bytes(report) as f64 / ports.min(gpu.rates.l2_bytes.into()) as f64 / gpu.boost_hz
        }
        Unit::Dram => dram_bytes(report, gpu, assume) as f64 / gpu.dram_bytes_per_s,
    }
}

fn blocks(report: &Report) -> u64 {
    report.grid.count().max(1)
}

/// The share of all blocks' work that the busiest SM does, at least.
fn busiest_share(report: &Report, gpu: &Gpu, assume: Assumptions) -> f64 {
    let (blocks, sms) = (blocks(report), u64::from(gpu.sms));
    if assume.equal_blocks { blocks.div_ceil(sms) as f64 / blocks as f64 } else { 1.0 / blocks.min(sms) as f64 }
}

fn fma_clocks(report: &Report, class: Class, lanes_per_clock: u32) -> f64 {
    (report.total.class(class).warp * u64::from(WARP)) as f64 / f64::from(lanes_per_clock)
}

/// Nsight Compute knows three pipes of them, for f64, for integers and for the other types: each is looked at alone.
fn tensor_clocks(report: &Report, gpu: &Gpu) -> f64 {
    use TensorType::{Bf16, Bit, F16, F64, Fp8, Int4, Int8, Tf32};
    let at = |count: u64, rate: Option<u32>| rate.map_or(0.0, |rate| count as f64 / f64::from(rate));
    let pipe = |kinds: &[TensorType]| {
        let clocks = kinds.iter().map(|&kind| {
            let TensorCount { multiply_adds, group_multiply_adds, .. } = report.total.tensor(kind);
            let of_warps = multiply_adds.saturating_sub(group_multiply_adds);
            (at(multiply_adds, gpu.rates.tensor.of(kind)), at(of_warps, gpu.rates.mma.of(kind)))
        });
        let (all, of_warps) = clocks.fold((0.0, 0.0), |sum, clocks| (sum.0 + clocks.0, sum.1 + clocks.1));
        f64::max(all, of_warps)
    };
    [&[F64][..], &[F16, Bf16, Tf32, Fp8], &[Int8, Int4, Bit]].map(pipe).into_iter().fold(0.0, f64::max)
}

/// The port has a way in and a way out.
fn tma_clocks(report: &Report) -> f64 {
    let bulk = &report.total.bulk;
    bulk.bytes_read.max(bulk.bytes_written) as f64 / SM_PORT as f64
}

fn l1_clocks(report: &Report, gpu: &Gpu) -> f64 {
    let (load, store) = (&report.total.global_load, &report.total.global_store);
    let requests = load.requests + store.requests;
    let bytes = (load.sectors + store.sectors) * SECTOR;
    (requests as f64).max(bytes as f64 / f64::from(gpu.rates.l1_bytes))
}

/// Where banks are wider than 4 bytes, a wavefront may do the work of several; where the path is narrower than 128 bytes, only a
/// wavefront's distinct bytes are sure to take their time.
fn shared_clocks(report: &Report, gpu: &Gpu) -> f64 {
    let (load, store) = (&report.total.shared_load, &report.total.shared_store);
    let width = u64::from(gpu.rates.l1_bytes);
    let wavefronts = report.total.shared_wavefronts() * WAVEFRONT;
    let unique_bytes = load.unique_bytes + store.unique_bytes;
    (wavefronts as f64 / width.max(WAVEFRONT) as f64).max(unique_bytes as f64 / width as f64)
}

fn l2_bytes(report: &Report) -> u64 {
    report.footprint_bytes.max(stored_bytes(report)).max(report.total.bulk.l2_bytes_read)
}

/// Bytes that go to L2, in whole sectors.
fn stored_bytes(report: &Report) -> u64 {
    report.total.global_store.sectors * SECTOR + report.total.bulk.bytes_written
}

/// Results may stay in L2 at the end, as far as it holds them, and so may inputs from before.
fn dram_bytes(report: &Report, gpu: &Gpu, assume: Assumptions) -> u64 {
    let stay = gpu.l2_bytes.min(stored_bytes(report));
    let were_there = if assume.cold_l2 { 0 } else { gpu.l2_bytes };
    report.footprint_bytes.saturating_sub(stay + were_there)
}

/// Warp instructions that the assembler keeps, at least. It never merges global accesses; of shared ones, as many are
/// left as 16 bytes per lane make necessary. Asynchronous copies, whose bytes count for both, are one instruction.
fn issued(report: &Report) -> u64 {
    let total = &report.total;
    let warps = |class| total.class(class).warp;
    let shared = |class, bytes: u64| warps(class).min(bytes.div_ceil(WIDEST));
    warps(Class::FmaF32)
        + warps(Class::FmaF64)
        + warps(Class::Tensor)
        + total.global_load.requests
        + total.global_store.requests
        + total.bulk.loads
        + total.bulk.stores
        + shared(Class::SharedLoad, total.shared_load.bytes)
        + shared(Class::SharedStore, total.shared_store.bytes)
        + total.barriers
}

#[cfg(test)]
mod tests;
