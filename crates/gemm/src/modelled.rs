//! What a modelled GPU would make of a launch: what it needs, how much of it fits, its least time and its predicted one.

use std::fmt;

use emulator::bound::{Assumptions, Bound, bound};
use emulator::gpu::Gpu;
use emulator::occupancy::{Occupancy, cluster_occupancy, occupancy};
use serde::Serialize;

use crate::kernel::{Kernel, Resources};
use crate::level::{LaunchShape, Shape};

/// What a modelled GPU would make of a launch.
#[derive(Debug, Clone, Serialize)]
pub struct Modelled {
    /// The GPU's name.
    pub gpu: &'static str,
    /// Its architecture: 90 is `sm_90`.
    pub architecture: u32,
    /// What a thread and a block need there, if it is known: by ptxas, with the launch's dynamic shared memory.
    pub resources: Option<Resources>,
    /// The version of the ptxas that these are by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptxas: Option<String>,
    /// Blocks per SM and what limits them, if the resources are known.
    pub occupancy: Option<Occupancy>,
    /// Clusters that are resident at a time, of a launch that has them, if the resources and the GPU's clusters are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Clusters>,
    /// Other versions of ptxas by which more or fewer blocks fit, as far as the kernel's file records them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
    /// The least time that the counted work needs there.
    pub bound: Bound,
    /// What the launch is predicted to take there, where such launches were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
}

/// A predicted time, by launches that were measured at other shapes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// The time, in microseconds.
    pub microseconds: f64,
    /// The GPU that was measured.
    pub gpu: String,
    /// How far such times were off, where that is on record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<PredictionError>,
}

/// How far predicted times of a type were off, at shapes to which they were not fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PredictionError {
    /// The shapes.
    pub shapes: usize,
    /// The median of the relative errors.
    pub median: f64,
}

/// Clusters of thread blocks, each on the SMs of one part of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Clusters {
    /// Blocks of a cluster.
    pub blocks: u32,
    /// Clusters that are resident on the GPU at a time, if its parts are alike. A card of which more is switched off in one part than
    /// in another may hold fewer.
    pub resident: u32,
}

/// What another version of ptxas makes of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Otherwise {
    /// Its version.
    pub ptxas: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes per thread that are spilled.
    pub spilled_bytes: u32,
    /// Blocks that fit on an SM.
    pub blocks_per_sm: u32,
}

impl Modelled {
    /// A kernel's launch and the work that it did, on a modelled GPU.
    pub fn of(
        gpu: &'static Gpu,
        kernel: &Kernel,
        shape: &Shape,
        launch: &LaunchShape,
        work: &emulator::Report,
    ) -> Modelled {
        Modelled::of_any(gpu, kernel, launch.has_equal_blocks(shape), work)
    }

    /// The same of any launch. `equal_blocks`: each block does as much as any other.
    pub fn of_any(gpu: &'static Gpu, kernel: &Kernel, equal_blocks: bool, work: &emulator::Report) -> Modelled {
        // ptxas knows static shared memory only; the launch, all of it.
        let with_dynamic = |r: &Resources| Resources { shared_bytes: r.shared_bytes.max(work.shared_bytes), ..*r };
        let resources = kernel.resources.get(&gpu.sm()).map(with_dynamic);
        let threads = work.block.count() as u32;
        let fits = |registers, shared_bytes| occupancy(gpu, threads, registers, shared_bytes);
        let occupancy = resources.map(|r| fits(r.registers, r.shared_bytes));
        let blocks = u32::try_from(work.cluster.count()).unwrap_or(u32::MAX);
        let clusters = resources.filter(|_| blocks > 1).and_then(|r| {
            let resident = cluster_occupancy(gpu, threads, r.registers, r.shared_bytes, blocks)?;
            Some(Clusters { blocks, resident })
        });
        let mut otherwise = Vec::new();
        if let (Some(here), Some(occupancy)) = (&resources, &occupancy) {
            for generation in &kernel.generations {
                let Some(&Resources { registers, spilled_bytes, .. }) = generation.resources.get(&gpu.sm()) else {
                    continue;
                };
                let blocks_per_sm = fits(registers, here.shared_bytes).blocks_per_sm;
                if blocks_per_sm != occupancy.blocks_per_sm {
                    let ptxas = generation.version.clone();
                    otherwise.push(Otherwise { ptxas, registers, spilled_bytes, blocks_per_sm });
                }
            }
        }
        let ptxas = resources.map(|_| kernel.compiler.clone());
        let bound = bound(work, gpu, Assumptions { equal_blocks, cold_l2: false });
        Modelled {
            gpu: gpu.name,
            architecture: gpu.sm(),
            resources,
            ptxas,
            occupancy,
            clusters,
            otherwise,
            bound,
            predicted: None,
        }
    }
}

impl fmt::Display for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clusters { blocks, resident } = self;
        write!(f, "{resident} of {blocks} blocks at a time on the whole GPU, or fewer where its parts differ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use emulator::Counters;
    use emulator::gpu::{A100, H200};

    use super::*;
    use crate::kernel::Origin;
    use crate::level::Tile;
    use crate::{Dim3, Shape};

    #[test]
    fn a_launch_of_clusters_says_how_many_fit() {
        let resources = Resources { registers: 168, spilled_bytes: 0, shared_bytes: 1024 };
        let kernel = Kernel {
            entry: "k".into(),
            origin: Origin::Given,
            compiler: "13.0.88".into(),
            optimization: None,
            resources: BTreeMap::from([(90, resources), (80, resources)]),
            generations: Vec::new(),
            options: Vec::new(),
            ptx: String::new(),
        };
        let shape = Shape { m: 1024, n: 1024, k: 64 };
        let launch =
            LaunchShape { grid: Dim3::xy(64, 1), block: Dim3::xy(384, 1), tile: Tile { m: 128, n: 128, k: 64 } };
        let mut work = emulator::Report::new(launch.grid, launch.block, Counters::default());
        work.shared_bytes = 200 * 1024;
        let of = |gpu, work: &emulator::Report| Modelled::of(gpu, &kernel, &shape, &launch, work).clusters;
        assert_eq!(of(&H200, &work), None, "there are none");
        work.cluster = Dim3::xy(2, 1);
        let clusters = of(&H200, &work);
        assert_eq!(clusters, Some(Clusters { blocks: 2, resident: 66 }));
        assert_eq!(
            clusters.map(|clusters| clusters.to_string()),
            Some("66 of 2 blocks at a time on the whole GPU, or fewer where its parts differ".to_string())
        );
        work.cluster = Dim3::xy(2, 4);
        assert_eq!(of(&H200, &work), Some(Clusters { blocks: 8, resident: 16 }));
        work.shared_bytes = 100 * 1024;
        assert_eq!(of(&H200, &work), Some(Clusters { blocks: 8, resident: 16 }), "registers leave one block an SM");
        assert_eq!(of(&A100, &work), None, "which has no clusters");
    }
}
