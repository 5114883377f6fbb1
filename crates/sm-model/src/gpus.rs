//! The same SM on other GPUs: what is published of each, and what follows for the model. Nothing of it was measured here,
//! and a picture that is made with it has to say so.
//!
//! What limits a GPU's rates are those of the emulator's [models](emulator::gpu::GPUS): multiply-adds and bytes of shared memory per
//! clock, and schedulers. What is published beside them stands in [`PUBLISHED`]. What the model had to be fitted for, queues, the order
//! of instructions and the like, stays as it is on the H200; a fitted latency or width of memory grows and shrinks
//! with the published one.
//!
//! GPUs before Volta are left out: their schedulers issue two instructions in a clock, or share their pipes.

use emulator::gpu::{Gpu, WARP};

use crate::figures::{Figures, H200};

/// What is published of a GPU, beside what the emulator's models have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// The GPU's name, as the emulator's models have it.
    pub gpu: &'static str,
    /// Clocks from an FMA to one that needs its result.
    pub fixed: u32,
    /// Clocks that an instruction on integers keeps its pipe: 32 lanes ÷ lanes of a scheduler's pipe.
    pub alu: u32,
    /// Clocks from a multiply-add in f64 to its result.
    pub fp64_latency: u32,
    /// Clocks from a load to its use, where nothing else is under way: from shared memory…
    pub shared: u32,
    /// … from L1…
    pub l1: u32,
    /// … from L2…
    pub l2: u32,
    /// … and from DRAM.
    pub dram: u32,
    /// Bytes from L2 per clock to one SM, while all SMs ask.
    pub l2_bytes: f64,
    /// Who measured them.
    pub source: &'static str,
}

/// Every GPU of which enough is published, oldest first.
///
/// What stands here of Jia, Luo, Abdelkhalik and Jarmusch was not compared with their papers again.
///
/// - `fixed`: 4 clocks since Volta (Jia et al., arXiv 1804.06826 and 1903.07486; Abdelkhalik et al., arXiv 2208.11174; Jarmusch et al.,
///   arXiv 2507.10789).
/// - `alu`: 64 lanes in an SM since Volta, 128 on GeForce Blackwell (white papers of the architectures).
/// - `fp64_latency`: 8 on V100 (Jia), and taken for the other data centre cards; 40 on Turing (Arafa et al., arXiv 1905.08778), and taken
///   for the other cards with two lanes.
/// - `shared`: 29 on A100 and Hopper, 30 on Ada (Luo et al., arXiv 2402.13499). For V100 and T4 Jia gives 19; 6 are added, because
///   the same way of measuring gives 23 for A100 (Abdelkhalik), where Luo's gives 29. Blackwell: as Hopper and as Ada.
/// - `l1`, `l2`, `dram` of V100, A100, A40 (here the RTX 3090: the same chip) and L40 (here the L20: the same chip), and Hopper's: pointer
///   chasing by RRZE's gpu-benches, buffers of 0.1, 4 and 1,000 MB; of T4 by Jia, but `dram` by Arafa on a TITAN RTX; of RTX 4090,
///   RTX 5090 and B200 from the table of M. Dewing's AI_kernels, which for Hopper has what RRZE has. Its values for L1 lie 8 above RRZE's,
///   and that much is taken off.
/// - `l2_bytes`: RRZE's gpu-l2-cache with 9 MB, GB/s ÷ clock ÷ SMs: H200 10,042, A100 5,383, L40 5,179; gpu-cache for V100 2,276
///   and A40 2,495; Jia's 1,270 for T4. Of the RTX 4090 and L20 it is the L40's, and of what Blackwell's L2 reaches nothing is known to us:
///   as much for each SM as on the GPU before is taken.
pub const PUBLISHED: [Published; 10] = [
    Published {
        gpu: "V100",
        fp64_latency: 8,
        shared: 25,
        l1: 28,
        l2: 212,
        dram: 430,
        l2_bytes: 20.6,
        source: "Jia et al. 2018, RRZE gpu-benches",
        ..HOPPER
    },
    Published {
        gpu: "T4",
        fp64_latency: 40,
        shared: 25,
        l1: 32,
        l2: 188,
        dram: 424,
        l2_bytes: 20.0,
        source: "Jia et al. 2019, Arafa et al. 2019",
        ..HOPPER
    },
    Published {
        gpu: "A100",
        l1: 33,
        l2: 206,
        dram: 552,
        l2_bytes: 35.3,
        source: "Luo et al. 2024, RRZE gpu-benches",
        ..HOPPER
    },
    Published {
        gpu: "RTX 3090",
        fp64_latency: 40,
        l1: 33,
        l2: 250,
        dram: 556,
        l2_bytes: 17.1,
        source: "Luo et al. 2024, RRZE gpu-benches of an A40",
        ..HOPPER
    },
    Published {
        gpu: "RTX 4090",
        l2: 296,
        dram: 636,
        source: "Luo et al. 2024, AI_kernels, RRZE gpu-benches of an L40",
        ..ADA
    },
    Published { gpu: "L20", ..ADA },
    Published { gpu: "H100", ..HOPPER },
    HOPPER,
    Published { gpu: "B200", l2: 295, dram: 860, source: "AI_kernels; L2's width as on an H200", ..HOPPER },
    Published {
        gpu: "RTX 5090",
        alu: 1,
        l1: 36,
        l2: 360,
        dram: 936,
        source: "Jarmusch et al. 2025, AI_kernels; L2's width as on an L40",
        ..ADA
    },
];

/// An H200; L2 and DRAM are those of a GH200.
const HOPPER: Published = Published {
    gpu: "H200",
    fixed: 4,
    alu: 2,
    fp64_latency: 8,
    shared: 29,
    l1: 32,
    l2: 280,
    dram: 689,
    l2_bytes: 38.4,
    source: "Luo et al. 2024, RRZE gpu-benches",
};
/// An L40.
const ADA: Published = Published {
    gpu: "L40",
    fixed: 4,
    alu: 2,
    fp64_latency: 40,
    shared: 30,
    l1: 34,
    l2: 274,
    dram: 625,
    l2_bytes: 14.6,
    source: "Luo et al. 2024, RRZE gpu-benches of an L40",
};

impl Published {
    /// What is published of a GPU, if it is enough.
    pub fn of(gpu: &Gpu) -> Option<&'static Published> {
        PUBLISHED.iter().find(|published| published.gpu == gpu.name)
    }

    /// The names of the GPUs of which enough is published.
    pub fn known() -> String {
        PUBLISHED.map(|published| published.gpu).join(", ")
    }
}

/// The model's figures for a GPU: the fitted ones for an H200; for others what follows from what is published, if that is enough.
pub fn figures(gpu: &Gpu) -> Option<Figures> {
    if gpu.name == H200.gpu {
        return Some(H200);
    }
    let published = Published::of(gpu)?;
    let schedulers = gpu.limits.partitions;
    // Clocks for a warp in a quarter of the SM.
    let clocks = |lanes: u32| (WARP * schedulers).div_ceil(lanes.max(1));
    let grown = |fitted: u32, of: fn(&Published) -> u32| {
        (f64::from(fitted) * f64::from(of(published)) / f64::from(of(&HOPPER))).round() as u32
    };
    let width = published.l2_bytes / HOPPER.l2_bytes;
    Some(Figures {
        gpu: published.gpu,
        schedulers: schedulers as usize,
        fixed: published.fixed,
        fma: clocks(gpu.rates.fma_f32),
        alu: published.alu,
        fp64: clocks(gpu.rates.fma_f64),
        fp64_latency: published.fp64_latency,
        shared: published.shared,
        l1: H200.l1 + published.l1 - HOPPER.l1,
        l2: grown(H200.l2, |one| one.l2),
        dram: grown(H200.dram, |one| one.dram),
        wavefront: (4 * WARP).div_ceil(gpu.rates.l1_bytes.max(1)),
        l2_sectors: H200.l2_sectors * width,
        l2_line: H200.l2_line / width,
        ..H200
    })
}

#[cfg(test)]
mod tests {
    use emulator::gpu::GPUS;

    use super::*;

    #[test]
    fn every_gpu_since_volta_is_known_and_none_before() {
        for gpu in &GPUS {
            assert_eq!(figures(gpu).is_some(), gpu.compute_capability.0 >= 7, "{}", gpu.name);
        }
        for published in &PUBLISHED {
            assert!(GPUS.iter().any(|gpu| gpu.name == published.gpu), "{}", published.gpu);
        }
    }

    #[test]
    fn what_is_published_of_hopper_gives_the_fitted_figures() {
        let h100 = figures(&emulator::gpu::H100).unwrap();
        assert_eq!(h100, Figures { gpu: "H100", ..H200 });
    }

    #[test]
    fn units_are_as_wide_as_the_emulator_has_them() {
        let of = |gpu: &Gpu| figures(gpu).map(|figures| (figures.fma, figures.fp64, figures.wavefront)).unwrap();
        assert_eq!(of(&emulator::gpu::T4), (2, 64, 2));
        assert_eq!(of(&emulator::gpu::A100), (2, 4, 1));
        assert_eq!(of(&emulator::gpu::L20), (1, 64, 1));
    }
}
