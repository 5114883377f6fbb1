//! What every thread block of a launch has in common.

use crate::Dim3;
use crate::machine::lanes::LANES;
use crate::program::{BLOCK_WINDOW, Preset, SHARED_WINDOW};

/// What every thread block of a launch has in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub grid: Dim3,
    pub block: Dim3,
    /// Thread blocks of a cluster, and whether kernel or launch named it.
    pub cluster: Dim3,
    pub explicit: bool,
    pub dynamic_shared: u32,
    /// Bytes of all shared memory of a thread block.
    pub shared_bytes: u32,
    /// Whether the grid has memory by which all of its blocks meet, if the kernel asks for it.
    pub cooperative: bool,
    /// Addresses of the module's variables in global memory.
    pub globals: Vec<u64>,
}

impl Shape {
    /// The position of thread `linear` in its block.
    pub fn thread(&self, linear: u32) -> Dim3 {
        unfold(linear.into(), self.block)
    }

    /// The position of thread block `number` in the grid. Numbers go cluster by cluster, and by rank within one.
    pub fn block_at(&self, number: u64) -> Dim3 {
        let size = self.cluster.count();
        if size == 1 {
            return unfold(number, self.grid);
        }
        let (at, within) = (unfold(number / size, self.clusters()), unfold(number % size, self.cluster));
        let Dim3 { x, y, z } = self.cluster;
        Dim3 { x: at.x * x + within.x, y: at.y * y + within.y, z: at.z * z + within.z }
    }

    /// Clusters of the grid.
    pub fn clusters(&self) -> Dim3 {
        let (grid, cluster) = (self.grid, self.cluster);
        Dim3 { x: grid.x / cluster.x, y: grid.y / cluster.y, z: grid.z / cluster.z }
    }

    /// Thread blocks of a cluster.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.count() as u32
    }

    /// The cluster of the thread block at a place in the grid, and its place there.
    fn in_cluster(&self, block: Dim3) -> (Dim3, Dim3) {
        let Dim3 { x, y, z } = self.cluster;
        let at = Dim3 { x: block.x / x, y: block.y / y, z: block.z / z };
        (at, Dim3 { x: block.x % x, y: block.y % y, z: block.z % z })
    }

    /// Whether two thread blocks, at places of their own, are of one cluster.
    pub fn are_clustered(&self, a: Dim3, b: Dim3) -> bool {
        self.in_cluster(a).0 == self.in_cluster(b).0
    }

    fn rank_at(&self, block: Dim3) -> u64 {
        let (Dim3 { x, y, .. }, within) = (self.cluster, self.in_cluster(block).1);
        u64::from(within.x + x * (within.y + y * within.z))
    }

    /// Where the addresses of a thread block's shared memory begin, by its rank.
    pub fn base_of(&self, rank: u64) -> u64 {
        rank * BLOCK_WINDOW
    }
}

pub(crate) fn unfold(linear: u64, extents: Dim3) -> Dim3 {
    let (x, y) = (u64::from(extents.x), u64::from(extents.y));
    Dim3 { x: (linear % x) as u32, y: (linear / x % y) as u32, z: (linear / x / y) as u32 }
}

/// What the lanes of the warp whose first thread is `first` find in a register.
pub(crate) fn preset_values(preset: Preset, launch: &Shape, block: Dim3, first: u32) -> [u64; LANES] {
    let axis = |extents: Dim3, axis: u8| u64::from([extents.x, extents.y, extents.z][axis as usize]);
    let same = match preset {
        Preset::Tid(n) => return std::array::from_fn(|lane| axis(launch.thread(first + lane as u32), n)),
        Preset::LaneId => return std::array::from_fn(|lane| lane as u64),
        Preset::LaneMask(kind) => {
            return std::array::from_fn(|lane| {
                let below = (1u64 << lane) - 1;
                let mask = [below + 1, below, 2 * below + 1, !(2 * below + 1), !below][kind as usize];
                mask & 0xffff_ffff
            });
        }
        Preset::Constant(bits) | Preset::LocalAddress { address: bits, .. } => bits,
        Preset::SharedAddress { address, .. } | Preset::SharedBase(address) => {
            address.wrapping_add(launch.base_of(launch.rank_at(block)))
        }
        Preset::SharedWindow => SHARED_WINDOW + launch.base_of(launch.rank_at(block)),
        Preset::ClusterWindow => launch.base_of(launch.cluster.count()),
        Preset::ClusterId(n) => axis(launch.in_cluster(block).0, n),
        Preset::NClusterId(n) => axis(launch.clusters(), n),
        Preset::ClusterCtaid(n) => axis(launch.in_cluster(block).1, n),
        Preset::ClusterNctaid(n) => axis(launch.cluster, n),
        Preset::ClusterRank => launch.rank_at(block),
        Preset::ClusterSize => launch.cluster.count(),
        Preset::IsExplicitCluster => launch.explicit.into(),
        Preset::Ntid(n) => axis(launch.block, n),
        Preset::Ctaid(n) => axis(block, n),
        Preset::Nctaid(n) => axis(launch.grid, n),
        Preset::WarpId => u64::from(first) / LANES as u64,
        Preset::NWarpId => launch.block.count().div_ceil(LANES as u64),
        Preset::SharedBytes => launch.shared_bytes.into(),
        Preset::DynamicSharedBytes => launch.dynamic_shared.into(),
        Preset::Global(index, offset) => launch.globals[index as usize].wrapping_add(offset as u64),
        // No memory for a grid that meets.
        Preset::GlobalHalf(..) if !launch.cooperative => 0,
        Preset::GlobalHalf(index, upper) => launch.globals[index as usize] >> (32 * u32::from(upper)) & 0xffff_ffff,
        Preset::Frame => 0,
        Preset::DynamicSharedBase(_) => unreachable!("a constant once the program is decoded"),
    };
    [same; LANES]
}
