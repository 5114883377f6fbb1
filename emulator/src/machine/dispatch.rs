//! The one place with `unsafe`: entering code compiled for vector instructions that this CPU has.
//!
//! The interpreter's loop and what it inlines are compiled three times, for a plain CPU, for AVX2 and
//! for AVX-512, and the best of them that can run is chosen when the program runs. Fused multiply-add
//! needs it most: without the instruction it is a slow library call.
#![allow(unsafe_code)]

use super::block::Worker;
use crate::Fault;

/// Runs thread block `block` to its end.
pub(crate) fn run_block(worker: &mut Worker, block: u64) -> Result<(), Box<Fault>> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("fma")
        {
            // SAFETY: the CPU has the instructions that the function is compiled for.
            return unsafe { run_avx512(worker, block) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { run_avx2(worker, block) };
        }
    }
    worker.run(block)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn run_avx512(worker: &mut Worker, block: u64) -> Result<(), Box<Fault>> {
    worker.run(block)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn run_avx2(worker: &mut Worker, block: u64) -> Result<(), Box<Fault>> {
    worker.run(block)
}
