//! Occupancy: how many blocks of a launch are resident on an SM at a time, and what keeps it from being more.

use std::fmt;

use serde::Serialize;

use crate::gpu::{Gpu, WARP};

/// What limits the number of resident blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Resident warps (threads) per SM, or threads per block.
    Warps,
    /// Registers, per SM, block or thread.
    Registers,
    /// Shared memory, per SM or block.
    SharedMemory,
    /// Resident blocks per SM.
    Blocks,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Warps => "warps",
            Resource::Registers => "registers",
            Resource::SharedMemory => "shared memory",
            Resource::Blocks => "blocks",
        })
    }
}

/// The occupancy of a launch on a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Occupancy {
    /// Blocks resident on an SM at a time. 0: the launch does not fit and the driver refuses it.
    pub blocks_per_sm: u32,
    /// Their warps.
    pub warps_per_sm: u32,
    /// `warps_per_sm` as a share of what the SM can hold: 0 to 1. What ncu calls theoretical occupancy.
    pub share: f64,
    /// The resources that allow no more blocks: those with the smallest limit, at least one.
    pub limited_by: Vec<Resource>,
    /// The most blocks that each resource alone would allow; `u32::MAX` where the launch uses none of it.
    pub limits: [(Resource, u32); 4],
}

/// The occupancy of blocks of `threads` threads with `registers` registers per thread and `shared` bytes of shared memory
/// (static and dynamic) per block.
///
/// Equal to NVIDIA's `cuda_occupancy.h` with the whole carve-out for shared memory and, above 48 KiB, the kernel opted in.
/// Registers are given at the launch: `setmaxnreg`, which later moves them between the warps of a block, changes nothing here.
/// Block-wide barriers, of which CUDA kernels rarely use more than one, are not counted as a resource. A launch of no
/// threads does not fit.
pub fn occupancy(gpu: &Gpu, threads: u32, registers: u32, shared: u32) -> Occupancy {
    let warps = threads.div_ceil(WARP);
    let limits = [
        (Resource::Warps, by_warps(gpu, threads)),
        (Resource::Registers, by_registers(gpu, warps, registers)),
        (Resource::SharedMemory, by_shared_memory(gpu, shared)),
        (Resource::Blocks, gpu.limits.blocks_per_sm),
    ];
    let blocks = limits.iter().map(|limit| limit.1).min().unwrap_or(0);
    let warps_per_sm = blocks * warps;
    Occupancy {
        blocks_per_sm: blocks,
        warps_per_sm,
        share: f64::from(warps_per_sm) / f64::from(gpu.limits.warps_per_sm),
        limited_by: limits.iter().filter(|limit| limit.1 == blocks).map(|limit| limit.0).collect(),
        limits,
    }
}

/// GPCs of Hopper, in one of which a cluster lies. NVIDIA's H100 whitepaper: 8 GPCs, and 66 TPCs of 2 SMs each on the SXM5
/// board, which the H200 shares. Which GPC has 8 TPCs and which 9 it does not say, and cards differ: here they are spread evenly.
const GPCS: u32 = 8;
const SMS_PER_TPC: u32 = 2;

/// How many clusters of `size` such blocks are resident on the GPU at a time, all of a cluster's blocks on SMs of one GPC.
/// Nothing where the GPU has no clusters, or its GPCs are not modelled: they are for Hopper.
///
/// A card of which more units are switched off in one GPC than in another may hold a cluster less, or more: of blocks that fill
/// an SM, one H200 holds 66, 30, 15 and 7 clusters of 2, 4, 8 and 16, by `cudaOccupancyMaxActiveClusters`, which knows its card.
pub fn cluster_occupancy(gpu: &Gpu, threads: u32, registers: u32, shared: u32, size: u32) -> Option<u32> {
    if gpu.sm() != 90 || size == 0 {
        return None;
    }
    let blocks = occupancy(gpu, threads, registers, shared).blocks_per_sm;
    let tpcs = gpu.sms / SMS_PER_TPC;
    let of = |gpc: u32| SMS_PER_TPC * (tpcs / GPCS + u32::from(gpc < tpcs % GPCS)) * blocks / size;
    Some((0..GPCS).map(of).sum())
}

/// Partitions of the SM of every GPU but GP100.
const QUARTERS: u32 = 4;

fn by_warps(gpu: &Gpu, threads: u32) -> u32 {
    if threads == 0 || threads > gpu.limits.threads_per_block {
        return 0;
    }
    gpu.limits.warps_per_sm / threads.div_ceil(WARP)
}

/// Each partition serves its own warps from its own registers, so the remainder in one partition helps no other.
fn by_registers(gpu: &Gpu, warps: u32, registers: u32) -> u32 {
    let limits = &gpu.limits;
    if warps == 0 || registers > limits.registers_per_thread {
        return 0;
    }
    if registers == 0 {
        return u32::MAX;
    }
    let per_warp = (registers * WARP).next_multiple_of(limits.register_unit);
    // The check per block counts as if every partition held as many warps as the fullest; and as if there were quarters,
    // also where the SM has halves.
    let counted_warps = u64::from(warps.div_ceil(QUARTERS)) * u64::from(QUARTERS);
    if counted_warps * u64::from(per_warp) > u64::from(limits.registers_per_block) {
        return 0;
    }
    let blocks = |partitions: u32| limits.registers_per_sm / partitions / per_warp * partitions / warps;
    if blocks(QUARTERS) == 0 { 0 } else { blocks(limits.partitions) }
}

fn by_shared_memory(gpu: &Gpu, shared: u32) -> u32 {
    let limits = &gpu.limits;
    if shared > limits.shared_per_block {
        return 0;
    }
    let per_block = (shared + limits.shared_reserved).next_multiple_of(limits.shared_unit);
    limits.shared_per_sm.checked_div(per_block).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{GPUS, H200, L20};

    #[test]
    fn twice_the_shared_memory_halves_the_blocks() {
        // Two 32 x 32 tiles of f32, with one buffer and with two.
        let single = occupancy(&H200, 32, 64, 2 * 4096);
        let double = occupancy(&H200, 32, 64, 4 * 4096);
        assert_eq!((single.blocks_per_sm, single.limited_by), (25, vec![Resource::SharedMemory]));
        assert_eq!((double.blocks_per_sm, double.limited_by), (13, vec![Resource::SharedMemory]));
        assert_eq!(double.share, 13.0 / 64.0);
    }

    #[test]
    fn several_resources_can_limit_at_once() {
        let o = occupancy(&L20, 256, 40, 0);
        assert_eq!((o.blocks_per_sm, o.warps_per_sm, o.share), (6, 48, 1.0));
        assert_eq!(o.limited_by, [Resource::Warps, Resource::Registers]);
    }

    #[test]
    fn what_does_not_fit_has_no_block() {
        for gpu in &GPUS {
            let blocks = |threads, registers, shared| occupancy(gpu, threads, registers, shared).blocks_per_sm;
            assert_eq!(blocks(0, 32, 0), 0);
            assert_eq!(blocks(1025, 32, 0), 0);
            assert_eq!(blocks(32, 256, 0), 0);
            assert_eq!(blocks(1024, 65, 0), 0);
            assert_eq!(blocks(32, 32, gpu.limits.shared_per_block + 1), 0);
            assert_eq!(blocks(u32::MAX, u32::MAX, u32::MAX), 0);
            assert!(blocks(32, 32, gpu.limits.shared_per_block) >= 1);
            assert_eq!(blocks(32, 0, 0), gpu.limits.blocks_per_sm);
        }
    }
}
