//! GPUs as data: what a launch may use of one, and how fast its units are.

mod models;

pub use models::{A100, B200, GPUS, GTX_1080, H100, H200, K80, L20, P100, RTX_3090, RTX_4090, RTX_5090, T4, V100};

use serde::Serialize;

use crate::TensorType;

/// Threads of a warp, on every GPU.
pub const WARP: u32 = 32;

/// A GPU, as far as occupancy and bounds need to know it.
///
/// A plain value: to model another card, or this one at the clock that it was seen to run at, change a copy's fields.
/// The source of each figure stands with the [models](GPUS).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gpu {
    /// The name that people use: "RTX 3090".
    pub name: &'static str,
    /// Which product this is, where the name leaves it open.
    pub product: &'static str,
    /// Major and minor compute capability: (9, 0) for sm_90.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Clock of the SMs in Hz, under boost. The data-centre cards never run faster; GeForce cards may, as far as power and
    /// temperature let them.
    pub boost_hz: f64,
    /// Bytes of L2 cache.
    pub l2_bytes: u64,
    /// Bytes per second between DRAM and L2.
    pub dram_bytes_per_s: f64,
    /// What an SM, a block and a thread may use.
    pub limits: Limits,
    /// What the units do in a clock.
    pub rates: Rates,
}

/// What an SM, a block and a thread may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Resident warps per SM.
    pub warps_per_sm: u32,
    /// Resident blocks per SM.
    pub blocks_per_sm: u32,
    /// Threads per block.
    pub threads_per_block: u32,
    /// 32-bit registers per SM. Each of its partitions has as many of them as the next, for the warps that live there.
    pub registers_per_sm: u32,
    /// 32-bit registers per block.
    pub registers_per_block: u32,
    /// 32-bit registers per thread.
    pub registers_per_thread: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// Parts of an SM, each with registers and a scheduler of its own: quarters, on GP100 halves.
    pub partitions: u32,
    /// Bytes of shared memory per SM.
    pub shared_per_sm: u32,
    /// Bytes of shared memory per block, static and dynamic, once the kernel has opted in to more than 48 KiB.
    pub shared_per_block: u32,
    /// Bytes of shared memory per block that the system takes on top.
    pub shared_reserved: u32,
    /// Shared memory is given to a block in multiples of this many bytes.
    pub shared_unit: u32,
}

/// What the units do in a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// Fused multiply-adds in f32 per clock and SM.
    pub fma_f32: u32,
    /// Fused multiply-adds in f64 per clock and SM.
    pub fma_f64: u32,
    /// What tensor cores do.
    pub tensor: TensorRates,
    /// What they do of it at most where each warp asks for its own products (`mma`): on Hopper less than where four warps together
    /// do (`wgmma`).
    pub mma: TensorRates,
    /// Warp instructions issued per clock and SM.
    pub issue: u32,
    /// Bytes per clock and SM out of shared memory, and out of L1.
    pub l1_bytes: u32,
    /// Bytes per clock out of the whole L2, at the SMs' clock: an upper limit, see [`GPUS`].
    pub l2_bytes: u32,
}

/// Multiply-adds of tensor cores per clock and SM, of dense matrices, by type; of several types of the sums, those with which they are
/// the fastest. 0: the tensor cores do not take this type, there are none, or their rate is not published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TensorRates {
    /// f16.
    pub f16: u32,
    /// bf16.
    pub bf16: u32,
    /// tf32.
    pub tf32: u32,
    /// e4m3 and e5m2.
    pub fp8: u32,
    /// f64.
    pub f64: u32,
    /// Integers of 8 bits.
    pub int8: u32,
    /// Integers of 4 bits.
    pub int4: u32,
    /// Single bits.
    pub bit: u32,
}

impl TensorRates {
    /// The rate for a type, if it has one.
    pub fn of(&self, kind: TensorType) -> Option<u32> {
        let rate = match kind {
            TensorType::F16 => self.f16,
            TensorType::Bf16 => self.bf16,
            TensorType::Tf32 => self.tf32,
            TensorType::Fp8 => self.fp8,
            TensorType::F64 => self.f64,
            TensorType::Int8 => self.int8,
            TensorType::Int4 => self.int4,
            TensorType::Bit => self.bit,
        };
        Some(rate).filter(|rate| *rate > 0)
    }
}

/// No GPU of this name is modelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no GPU named {name:?} is modelled\nhint: known are {}", known())]
pub struct UnknownGpu {
    /// The name that was asked for.
    pub name: String,
}

impl Gpu {
    /// The modelled GPU of this name. Case, spaces, dashes and underscores do not matter: "rtx-4090" finds the RTX 4090.
    ///
    /// # Errors
    /// [`UnknownGpu`], which lists the known names.
    pub fn named(name: &str) -> Result<&'static Gpu, UnknownGpu> {
        let wanted = plain(name);
        GPUS.iter().find(|gpu| plain(gpu.name) == wanted).ok_or_else(|| UnknownGpu { name: name.to_owned() })
    }

    /// The compute capability as the compilers write it: 90 for sm_90.
    pub fn sm(&self) -> u32 {
        10 * self.compute_capability.0 + self.compute_capability.1
    }

    /// Floating-point operations per second at the boost clock in f32, an FMA being two, without tensor cores.
    pub fn peak_flops_f32(&self) -> f64 {
        2.0 * f64::from(self.rates.fma_f32 * self.sms) * self.boost_hz
    }

    /// Floating-point operations per second at the boost clock in f64, an FMA being two, without tensor cores.
    pub fn peak_flops_f64(&self) -> f64 {
        2.0 * f64::from(self.rates.fma_f64 * self.sms) * self.boost_hz
    }

    /// Operations per second of the tensor cores at the boost clock, a multiply-add being two; nothing where no rate is known.
    pub fn peak_flops_tensor(&self, kind: TensorType) -> Option<f64> {
        let rate = self.rates.tensor.of(kind)?;
        Some(2.0 * f64::from(rate * self.sms) * self.boost_hz)
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn known() -> String {
    GPUS.map(|gpu| gpu.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_is_found_however_its_name_is_written() {
        for gpu in &GPUS {
            assert_eq!(Gpu::named(gpu.name), Ok(gpu));
        }
        for name in ["rtx4090", "RTX-4090", "rtx_4090", "Rtx 4090"] {
            assert_eq!(Gpu::named(name).map(|gpu| gpu.name), Ok("RTX 4090"));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = Gpu::named("voodoo 2").unwrap_err().to_string();
        assert_eq!(
            error,
            "no GPU named \"voodoo 2\" is modelled\n\
             hint: known are K80, P100, GTX 1080, V100, T4, A100, RTX 3090, RTX 4090, L20, H100, H200, B200, RTX 5090"
        );
        assert!(Gpu::named("").is_err());
    }

    #[test]
    fn peaks_of_tensor_cores_are_those_of_the_vendors_data_sheets() {
        use TensorType::*;
        // Tera-operations per second as published, dense; and the clock in MHz, where it is not the card's highest.
        type Peaks = &'static [(TensorType, f64)];
        let published: [(Gpu, Option<f64>, Peaks); 10] = [
            (V100, None, &[(F16, 125.0)]),
            (T4, None, &[(F16, 65.0), (Int8, 130.0), (Int4, 260.0)]),
            (
                A100,
                None,
                &[
                    (F16, 312.0),
                    (Bf16, 312.0),
                    (Tf32, 156.0),
                    (F64, 19.5),
                    (Int8, 624.0),
                    (Int4, 1248.0),
                    (Bit, 4992.0),
                ],
            ),
            (RTX_3090, None, &[(F16, 142.0), (Bf16, 71.0), (Tf32, 35.6), (Int8, 284.0), (Int4, 568.0)]),
            (RTX_4090, None, &[(F16, 330.3), (Bf16, 165.2), (Tf32, 82.6), (Fp8, 660.6), (Int8, 660.6), (Int4, 1321.2)]),
            (L20, None, &[(F16, 119.5), (Bf16, 119.5), (Tf32, 59.8), (Fp8, 239.0), (Int8, 239.0)]),
            (H100, Some(1830.0), &[(F16, 989.4), (Bf16, 989.4), (Tf32, 494.7), (Fp8, 1978.9), (Int8, 1978.9)]),
            (H200, Some(1980.0), &[(F64, 66.9)]),
            // Published for eight, and for sparse matrices but for f64.
            (
                B200,
                Some(1856.0),
                &[
                    (F16, 36e3 / 16.0),
                    (Bf16, 36e3 / 16.0),
                    (Tf32, 18e3 / 16.0),
                    (Fp8, 72e3 / 16.0),
                    (Int8, 72e3 / 16.0),
                ],
            ),
            (RTX_5090, None, &[(F16, 419.0), (Bf16, 209.5), (Tf32, 104.8), (Fp8, 838.0), (Int8, 838.0)]),
        ];
        for (gpu, mhz, peaks) in published {
            let gpu = Gpu { boost_hz: mhz.map_or(gpu.boost_hz, |mhz| mhz * 1e6), ..gpu };
            for (kind, tera) in peaks {
                let peak = gpu.peak_flops_tensor(*kind).expect("a rate") / 1e12;
                assert!((peak / tera - 1.0).abs() < 0.02, "{} {kind:?}: {peak}", gpu.name);
            }
        }
        for (gpu, kind) in [(GTX_1080, F16), (P100, F16), (V100, Bf16), (T4, F64), (A100, Fp8), (H200, Bit), (L20, F64)]
        {
            assert_eq!(gpu.peak_flops_tensor(kind), None, "{} {kind:?}", gpu.name);
        }
    }

    #[test]
    fn no_instruction_does_more_than_the_tensor_cores() {
        for gpu in &GPUS {
            for kind in TensorType::ALL {
                let (mma, all) = (gpu.rates.mma.of(kind), gpu.rates.tensor.of(kind));
                assert!(mma <= all && mma.is_some() == all.is_some(), "{} {kind:?}", gpu.name);
            }
        }
    }

    #[test]
    fn peaks_are_those_of_the_vendors_data_sheets() {
        // TFLOP/s as published, f32 and f64; f64 only where the data sheet gives it.
        let published = [
            (K80, 8.74 / 2.0, Some(2.91 / 2.0)), // published for both dies of a card
            (P100, 10.6, Some(5.3)),
            (GTX_1080, 8.873, None),
            (V100, 15.7, Some(7.8)),
            (T4, 8.1, None),
            (A100, 19.5, Some(9.7)),
            (RTX_3090, 35.6, None),
            (RTX_4090, 82.6, None),
            (L20, 59.8, None),
            (H100, 67.0, Some(34.0)),
            (H200, 67.0, Some(34.0)),
            (B200, 600.0 / 8.0, Some(296.0 / 8.0)), // published for eight
            (RTX_5090, 104.8, None),
        ];
        for (gpu, f32, f64) in published {
            let close = |peak: f64, published: f64| (peak / 1e12 / published - 1.0).abs() < 0.02;
            assert!(close(gpu.peak_flops_f32(), f32), "{}: {}", gpu.name, gpu.peak_flops_f32());
            assert!(f64.is_none_or(|f64| close(gpu.peak_flops_f64(), f64)), "{}: {}", gpu.name, gpu.peak_flops_f64());
        }
    }
}
