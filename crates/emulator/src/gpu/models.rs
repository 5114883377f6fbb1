//! The modelled GPUs, and where each figure comes from.

use super::{Gpu, Limits, Rates, TensorRates};

/// Every modelled GPU, oldest first.
///
/// Where the figures come from:
///
/// - SMs, boost clock, L2 size and DRAM bandwidth: NVIDIA's data sheet or architecture white paper of the product, named at
///   each model. For H100 and H200 the clock is the highest that the driver allows (1,980 MHz, read on an H200); their data sheets'
///   67 TFLOP/s agree with it.
/// - Limits: the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide. Allocation units
///   and reserved shared memory are not in that table; `tests/occupancy.rs` holds them against NVIDIA's `cuda_occupancy.h`.
/// - FMA rates: the table "Throughput of Native Arithmetic Instructions" of the same guide.
/// - Tensor cores: NVIDIA's peaks for dense matrices, from the same data sheets and white papers, divided by SMs, clock and 2. The clock
///   is the boost clock, but for bf16 and its like on H100 and H200, where 989 TFLOP/s are 2,048 multiply-adds at 1,830 MHz. GeForce
///   cards do products of f16 and fp8 with sums in f16 twice as fast as with sums in f32, and the former is the figure.
/// - `mma` on Hopper: of its rate NVIDIA publishes nothing. Measured on an H200, loops of nothing but `mma` reach 650 TFLOP/s in bf16
///   and 325 in tf32, at clocks up to 1,980 MHz: 61 to 66 % of what `wgmma` can do. Two thirds are taken, which no measurement
///   exceeds. fp8 goes through as f16; of f64, which has no `wgmma`, 66 of 66.9 TFLOP/s are reached. 8-bit integers were not measured,
///   and have the whole rate.
/// - Issue: one warp instruction per clock for each of the SM's four schedulers; on Kepler two (GK110/GK210 white paper),
///   and on Pascal two, where a GP100 SM has two schedulers only (Pascal P100 and GeForce GTX 1080 white papers).
/// - L1 and shared memory: 128 bytes per clock and SM, 32 banks of 4 bytes (CUDA C++ Programming Guide); 64 on Turing (the
///   GA102 white paper gives it in comparison); 256 on Kepler, whose banks are 8 bytes wide (GK110/GK210 white paper).
/// - L2: A100's 5,120 bytes per clock are NVIDIA's (A100 white paper). For the others NVIDIA publishes none: the figure is 64
///   bytes per clock and SM, what one SM can take, which no L2 is known to exceed. It is an upper limit, fit for a
///   lower bound on time and for nothing else.
pub const GPUS: [Gpu; 13] = [K80, P100, GTX_1080, V100, T4, A100, RTX_3090, RTX_4090, L20, H100, H200, B200, RTX_5090];

/// Tesla K80: one of the two GK210 dies of a card, which CUDA shows as a device each. Clock and bandwidth are per die (K80
/// board specification: 875 MHz boost, 480 GB/s for two).
pub const K80: Gpu = Gpu {
    name: "K80",
    product: "Tesla K80, one of its two GK210 dies",
    compute_capability: (3, 7),
    sms: 13,
    boost_hz: 875e6,
    l2_bytes: 1536 * KIB as u64,
    dram_bytes_per_s: 240e9,
    limits: Limits {
        warps_per_sm: 64,
        blocks_per_sm: 16,
        registers_per_sm: 128 * KIB,
        shared_per_sm: 112 * KIB,
        shared_per_block: 48 * KIB,
        shared_reserved: 0,
        shared_unit: 256,
        ..COMMON
    },
    rates: Rates {
        fma_f32: 192,
        fma_f64: 64,
        tensor: NO_TENSOR,
        mma: NO_TENSOR,
        issue: 8,
        l1_bytes: 256,
        l2_bytes: 13 * SM_PORT,
    },
};

/// Tesla P100 with NVLink (Pascal P100 white paper and data sheet). Its SM has two halves where the others have quarters.
pub const P100: Gpu = Gpu {
    name: "P100",
    product: "Tesla P100 SXM2, 16 GB",
    compute_capability: (6, 0),
    sms: 56,
    boost_hz: 1480e6,
    l2_bytes: 4 * MIB,
    dram_bytes_per_s: 732e9,
    limits: Limits { shared_per_sm: 64 * KIB, partitions: 2, ..PASCAL },
    rates: Rates {
        fma_f32: 64,
        fma_f64: 32,
        tensor: NO_TENSOR,
        mma: NO_TENSOR,
        issue: 4,
        l1_bytes: 128,
        l2_bytes: 56 * SM_PORT,
    },
};

/// GeForce GTX 1080 (GeForce GTX 1080 white paper).
pub const GTX_1080: Gpu = Gpu {
    name: "GTX 1080",
    product: "GeForce GTX 1080",
    compute_capability: (6, 1),
    sms: 20,
    boost_hz: 1733e6,
    l2_bytes: 2 * MIB,
    dram_bytes_per_s: 320e9,
    limits: PASCAL,
    rates: Rates {
        fma_f32: 128,
        fma_f64: 4,
        tensor: NO_TENSOR,
        mma: NO_TENSOR,
        issue: 8,
        l1_bytes: 128,
        l2_bytes: 20 * SM_PORT,
    },
};

/// Tesla V100 with NVLink (Volta white paper, V100 data sheet).
pub const V100: Gpu = Gpu {
    name: "V100",
    product: "Tesla V100 SXM2",
    compute_capability: (7, 0),
    sms: 80,
    boost_hz: 1530e6,
    l2_bytes: 6 * MIB,
    dram_bytes_per_s: 900e9,
    limits: Limits { shared_per_block: 96 * KIB, ..PASCAL },
    rates: Rates {
        fma_f32: 64,
        fma_f64: 32,
        tensor: VOLTA,
        mma: VOLTA,
        issue: 4,
        l1_bytes: 128,
        l2_bytes: 80 * SM_PORT,
    },
};

/// Tesla T4 (Turing white paper, T4 data sheet).
pub const T4: Gpu = Gpu {
    name: "T4",
    product: "Tesla T4",
    compute_capability: (7, 5),
    sms: 40,
    boost_hz: 1590e6,
    l2_bytes: 4 * MIB,
    dram_bytes_per_s: 320e9,
    limits: Limits {
        warps_per_sm: 32,
        blocks_per_sm: 16,
        shared_per_sm: 64 * KIB,
        shared_per_block: 64 * KIB,
        shared_reserved: 0,
        shared_unit: 256,
        ..COMMON
    },
    rates: Rates {
        fma_f32: 64,
        fma_f64: 2,
        tensor: TURING,
        mma: TURING,
        issue: 4,
        l1_bytes: 64,
        l2_bytes: 40 * SM_PORT,
    },
};

/// A100 SXM with 80 GB (A100 white paper and data sheet). The 40 GB card differs in its bandwidth only: 1,555 GB/s.
pub const A100: Gpu = Gpu {
    name: "A100",
    product: "A100 SXM, 80 GB",
    compute_capability: (8, 0),
    sms: 108,
    boost_hz: 1410e6,
    l2_bytes: 40 * MIB,
    dram_bytes_per_s: 2039e9,
    limits: Limits {
        warps_per_sm: 64,
        blocks_per_sm: 32,
        shared_per_sm: 164 * KIB,
        shared_per_block: 163 * KIB,
        ..COMMON
    },
    rates: Rates { fma_f32: 64, fma_f64: 32, tensor: AMPERE, mma: AMPERE, issue: 4, l1_bytes: 128, l2_bytes: 5120 },
};

/// GeForce RTX 3090 (GA102 white paper).
pub const RTX_3090: Gpu = Gpu {
    name: "RTX 3090",
    product: "GeForce RTX 3090",
    compute_capability: (8, 6),
    sms: 82,
    boost_hz: 1695e6,
    l2_bytes: 6 * MIB,
    dram_bytes_per_s: 936e9,
    limits: Limits { blocks_per_sm: 16, ..GEFORCE },
    rates: Rates {
        fma_f32: 128,
        fma_f64: 2,
        tensor: GA102,
        mma: GA102,
        issue: 4,
        l1_bytes: 128,
        l2_bytes: 82 * SM_PORT,
    },
};

/// GeForce RTX 4090 (Ada white paper).
pub const RTX_4090: Gpu = Gpu {
    name: "RTX 4090",
    product: "GeForce RTX 4090",
    compute_capability: (8, 9),
    sms: 128,
    boost_hz: 2520e6,
    l2_bytes: 72 * MIB,
    dram_bytes_per_s: 1008e9,
    limits: GEFORCE,
    rates: Rates { fma_f32: 128, fma_f64: 2, tensor: ADA, mma: ADA, issue: 4, l1_bytes: 128, l2_bytes: 128 * SM_PORT },
};

/// L20. NVIDIA publishes 59.8 TFLOP/s and 864 GB/s; SMs, clock and L2 size are as third parties list them (92, 2,520 MHz,
/// 96 MB), which gives 59.4 TFLOP/s.
pub const L20: Gpu = Gpu {
    name: "L20",
    product: "L20",
    compute_capability: (8, 9),
    sms: 92,
    boost_hz: 2520e6,
    l2_bytes: 96 * MIB,
    dram_bytes_per_s: 864e9,
    limits: GEFORCE,
    rates: Rates {
        fma_f32: 128,
        fma_f64: 2,
        tensor: L20_TENSOR,
        mma: L20_TENSOR,
        issue: 4,
        l1_bytes: 128,
        l2_bytes: 92 * SM_PORT,
    },
};

/// H100 SXM with 80 GB (H100 white paper and data sheet).
pub const H100: Gpu = Gpu { name: "H100", product: "H100 SXM, 80 GB", dram_bytes_per_s: 3350e9, ..H200 };

/// H200 SXM with 141 GB (H200 data sheet; SMs and clock read on one).
pub const H200: Gpu = Gpu {
    name: "H200",
    product: "H200 SXM, 141 GB",
    compute_capability: (9, 0),
    sms: 132,
    boost_hz: 1980e6,
    l2_bytes: 50 * MIB,
    dram_bytes_per_s: 4800e9,
    limits: Limits {
        warps_per_sm: 64,
        blocks_per_sm: 32,
        shared_per_sm: 228 * KIB,
        shared_per_block: 227 * KIB,
        ..COMMON
    },
    rates: Rates {
        fma_f32: 128,
        fma_f64: 64,
        tensor: HOPPER,
        mma: HOPPER_MMA,
        issue: 4,
        l1_bytes: 128,
        l2_bytes: 132 * SM_PORT,
    },
};

/// B200 SXM, one of the eight GPUs of an HGX B200. NVIDIA publishes 75 TFLOP/s in f32, 37 in f64 and up to 8 TB/s (HGX B200 data
/// sheet, divided by eight), and 126 MB of L2 (Blackwell tuning guide); its driver counts 148 SMs. The clock is the one at
/// which these reach 75 TFLOP/s.
pub const B200: Gpu = Gpu {
    name: "B200",
    product: "B200 SXM, 180 GB",
    compute_capability: (10, 0),
    sms: 148,
    l2_bytes: 126 * MIB,
    dram_bytes_per_s: 8000e9,
    rates: Rates { tensor: BLACKWELL, mma: BLACKWELL, l2_bytes: 148 * SM_PORT, ..H200.rates },
    ..H200
};

/// GeForce RTX 5090 (RTX Blackwell white paper).
pub const RTX_5090: Gpu = Gpu {
    name: "RTX 5090",
    product: "GeForce RTX 5090",
    compute_capability: (12, 0),
    sms: 170,
    boost_hz: 2407e6,
    l2_bytes: 96 * MIB,
    dram_bytes_per_s: 1792e9,
    limits: GEFORCE,
    rates: Rates {
        fma_f32: 128,
        fma_f64: 2,
        tensor: BLACKWELL_GEFORCE,
        mma: BLACKWELL_GEFORCE,
        issue: 4,
        l1_bytes: 128,
        l2_bytes: 170 * SM_PORT,
    },
};

/// Of GPUs before Volta.
const NO_TENSOR: TensorRates = TensorRates { f16: 0, bf16: 0, tf32: 0, fp8: 0, f64: 0, int8: 0, int4: 0, bit: 0 };
const VOLTA: TensorRates = TensorRates { f16: 512, ..NO_TENSOR };
const TURING: TensorRates = TensorRates { f16: 512, int8: 1024, int4: 2048, ..NO_TENSOR };
/// GA100.
const AMPERE: TensorRates =
    TensorRates { f16: 1024, bf16: 1024, tf32: 512, f64: 64, int8: 2048, int4: 4096, bit: 16384, ..NO_TENSOR };
/// GeForce of Ampere.
const GA102: TensorRates = TensorRates { f16: 512, bf16: 256, tf32: 128, int8: 1024, int4: 2048, ..NO_TENSOR };
/// GeForce of Ada.
const ADA: TensorRates = TensorRates { fp8: 1024, ..GA102 };
/// Sums in f16 are no faster there: NVIDIA publishes one figure for f16.
const L20_TENSOR: TensorRates = TensorRates { f16: 256, bf16: 256, tf32: 128, fp8: 512, int8: 512, ..NO_TENSOR };
const HOPPER: TensorRates =
    TensorRates { f16: 2048, bf16: 2048, tf32: 1024, fp8: 4096, f64: 128, int8: 4096, ..NO_TENSOR };
/// Two thirds, see [`GPUS`].
const HOPPER_MMA: TensorRates = TensorRates { f16: 1366, bf16: 1366, tf32: 683, fp8: 1366, ..HOPPER };
/// Of data centres. Its `mma` is not known to reach less.
const BLACKWELL: TensorRates =
    TensorRates { f16: 4096, bf16: 4096, tf32: 2048, fp8: 8192, f64: 64, int8: 8192, ..NO_TENSOR };
/// GeForce of Blackwell, of which no rate for 4-bit integers is published.
const BLACKWELL_GEFORCE: TensorRates = TensorRates { int4: 0, ..ADA };

const KIB: u32 = 1024;
const MIB: u64 = 1024 * 1024;

/// Bytes per clock that one SM can take from L2.
const SM_PORT: u32 = 64;

/// What most have in common; the fields that differ from GPU to GPU are zero here and set at each.
const COMMON: Limits = Limits {
    warps_per_sm: 0,
    blocks_per_sm: 0,
    threads_per_block: 1024,
    registers_per_sm: 64 * KIB,
    registers_per_block: 64 * KIB,
    registers_per_thread: 255,
    register_unit: 256,
    partitions: 4,
    shared_per_sm: 0,
    shared_per_block: 0,
    shared_reserved: 1024,
    shared_unit: 128,
};

/// Compute capability 6.1; 6.0 has less shared memory, and a block of 7.0 may have all of it.
const PASCAL: Limits = Limits {
    warps_per_sm: 64,
    blocks_per_sm: 32,
    shared_per_sm: 96 * KIB,
    shared_per_block: 48 * KIB,
    shared_reserved: 0,
    shared_unit: 256,
    ..COMMON
};

/// Compute capabilities 8.9 and 12.0; 8.6 holds fewer blocks.
const GEFORCE: Limits =
    Limits { warps_per_sm: 48, blocks_per_sm: 24, shared_per_sm: 100 * KIB, shared_per_block: 99 * KIB, ..COMMON };
