//! Clusters of a launch: their shape, and how many thread blocks the GPU holds with them.

use crate::gpu::H200;
use crate::occupancy::{cluster_occupancy, occupancy};
use crate::program::Program;
use crate::{Dim3, Launch, Refusal};

/// Thread blocks that a cluster may have on every GPU that has clusters.
const MOST: u64 = 8;
/// The first GPUs that have them: `sm_` this.
const SINCE: u32 = 90;

/// Thread blocks of a cluster, and whether kernel or launch names it.
pub(crate) fn shape(program: &Program, launch: &Launch) -> Result<(Dim3, bool), Refusal> {
    let kernel = || program.name.clone();
    let bound = |name: &str| {
        let numbers = program.bounds.get(name)?;
        Some([0, 1, 2].map(|n| numbers.get(n).copied().unwrap_or(1)))
    };
    let required = bound("reqnctapercluster").map(|[x, y, z]| Dim3 { x, y, z });
    let Some(cluster) = launch.cluster.or(required) else {
        if program.bounds.contains_key("explicitcluster") {
            return Err(Refusal::NoCluster { kernel: kernel() });
        }
        return Ok((Dim3 { x: 1, y: 1, z: 1 }, false));
    };
    if let Some(required) = required.filter(|required| *required != cluster) {
        return Err(Refusal::RequiredCluster { kernel: kernel(), cluster, required });
    }
    if launch.architecture < SINCE {
        return Err(Refusal::ClusterBefore { cluster, architecture: launch.architecture });
    }
    let limit = bound("maxclusterrank").map_or(MOST, |[limit, ..]| MOST.min(limit.into()));
    if cluster.count() == 0 || cluster.count() > limit {
        return Err(Refusal::ClusterSize { cluster, limit });
    }
    let grid = launch.grid;
    let whole = [(grid.x, cluster.x), (grid.y, cluster.y), (grid.z, cluster.z)];
    if whole.iter().any(|(grid, cluster)| !grid.is_multiple_of(*cluster)) {
        return Err(Refusal::ClusterGrid { grid, cluster });
    }
    Ok((cluster, true))
}

/// A grid whose thread blocks all meet is on the GPU as a whole, or is refused.
pub(crate) fn check_cooperative(program: &Program, launch: &Launch, cluster: Dim3) -> Result<(), Refusal> {
    let (blocks, limit) = (launch.grid.count(), residency(program, launch, cluster));
    match program.cooperative && launch.cooperative && blocks > limit {
        true => Err(Refusal::Cooperative { kernel: program.name.clone(), blocks, limit }),
        false => Ok(()),
    }
}

/// How many thread blocks of a launch the GPU holds at a time. No more are held here, however many the launch has
/// (`launch::tests`); where blocks cannot wait for each other, one for each core.
///
/// Of a resident block are held
/// - its registers, 128 bytes a warp for each of 32 bits and 256 for each of 64, and its shared memory;
/// - where the launch is checked, 24 bytes for each cell of shared memory, which is as wide as the narrowest access (`cells`):
///   of words, six times the shared memory;
/// - where the order model watches shared memory (mbarriers, bulk copies, barriers of some warps, flags there), 64 bytes for a line
///   of sixteen cells as long as whole lanes of a warp access it side by side, else 64 for each cell of it, and 28 for each
///   further access that a later one may race with, 48 of them (`order::line`, `order::cell`): of words, in the usual case
///   as much as the shared memory, and sixteen times as much where single lanes access it;
/// - for each lane that has fenced by itself, some clocks, of 16 bytes for each block that it knows of: the one part that
///   grows with the square of the number of blocks that meet (`order::clock`).
///
/// When a block ends, its room is the next one's. The order model keeps of it what its last accesses to global memory were,
/// and for 64 blocks what their threads knew, for messages.
pub(crate) fn residency(program: &Program, launch: &Launch, cluster: Dim3) -> u64 {
    let shared = program.static_shared + launch.dynamic_shared;
    let threads = launch.block.count() as u32;
    let fit = || match cluster.count() as u32 {
        1 => occupancy(&H200, threads, 0, shared).blocks_per_sm * H200.sms,
        size => cluster_occupancy(&H200, threads, 0, shared, size).map_or(0, |clusters| clusters * size),
    };
    launch.resident_blocks.unwrap_or_else(fit).max(1).into()
}
