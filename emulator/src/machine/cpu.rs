//! The one place with `unsafe`: entering code compiled for vector instructions that this CPU has, and the
//! two steps of the interpreter that gain most from saying which instructions they are.
//!
//! The interpreter's loop and what it inlines are compiled for a plain CPU, for AVX2 and
//! for AVX-512, and the best of them that can run is chosen when the program runs. Fused multiply-add
//! needs it most: without the instruction it is a slow library call.
#![allow(unsafe_code)]

use crate::Fault;
use crate::machine::arithmetic::warpgroup_mma::{self, Product};
use crate::machine::lanes::{LANES, Lanes};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::{Pause, Worker};
#[cfg(target_arch = "x86_64")]
use crate::program::Op;
use crate::program::{Extended, Instruction, Multiply};
use crate::tensor::Generation;

/// Steps the worker's thread block until it ends or pauses.
pub(crate) fn run_block(worker: &mut Worker) -> Result<Pause, Box<Fault>> {
    #[cfg(target_arch = "x86_64")]
    match (has_avx512(), has_avx2()) {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        (true, true) => return unsafe { run_avx512(worker) },
        // SAFETY: as above.
        (false, true) => return unsafe { run_avx2(worker) },
        _ => {}
    }
    worker.run::<PLAIN>()
}

/// Whether this CPU has all that functions for AVX2 are compiled for.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    let has = [is_x86_feature_detected!("avx2"), is_x86_feature_detected!("fma")];
    let with_it = [is_x86_feature_detected!("bmi1"), is_x86_feature_detected!("bmi2")];
    let counts = [is_x86_feature_detected!("popcnt"), is_x86_feature_detected!("lzcnt")];
    [has, with_it, counts].as_flattened().iter().all(|has| *has)
}

/// Whether it has what those for AVX-512 are compiled for besides.
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    let has = [is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx512bw")];
    let more = [is_x86_feature_detected!("avx512dq"), is_x86_feature_detected!("avx512vl")];
    [has, more].as_flattened().iter().all(|has| *has)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn run_avx512(worker: &mut Worker) -> Result<Pause, Box<Fault>> {
    worker.run::<AVX512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn run_avx2(worker: &mut Worker) -> Result<Pause, Box<Fault>> {
    worker.run::<PLAIN>()
}

/// Does the same, and notes what it accesses.
pub(crate) fn trace_block(worker: &mut Worker) -> Result<Pause, Box<Fault>> {
    worker.run::<TRACED>()
}

/// Runs a warp to where its turn ends, and notes what memory it reads and changes.
pub(crate) fn step_probed(worker: &mut Worker, warp: &mut Warp) -> Result<bool, Box<Fault>> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        return unsafe { step_probed_avx2(worker, warp) };
    }
    worker.run_warp::<PROBED>(warp)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn step_probed_avx2(worker: &mut Worker, warp: &mut Warp) -> Result<bool, Box<Fault>> {
    worker.run_warp::<PROBED>(warp)
}

/// Multiplies the matrices of a warp.
pub(crate) fn multiply(warp: &mut Warp, extended: &Extended, multiply: Multiply, generation: Generation) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        return unsafe { multiply_avx2(warp, extended, multiply, generation) };
    }
    warp.multiply(extended, multiply, generation);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn multiply_avx2(warp: &mut Warp, extended: &Extended, multiply: Multiply, generation: Generation) {
    warp.multiply(extended, multiply, generation);
}

/// Multiplies the matrices of a warpgroup.
pub(crate) fn multiply_group(warps: &mut [Box<Warp>], extended: &Extended, product: &Product) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        return unsafe { multiply_group_avx2(warps, extended, product) };
    }
    warpgroup_mma::multiply(warps, extended, product);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn multiply_group_avx2(warps: &mut [Box<Warp>], extended: &Extended, product: &Product) {
    warpgroup_mma::multiply(warps, extended, product);
}

/// The instructions that a copy of the interpreter is compiled for: those of its target features alone…
pub(crate) const PLAIN: u8 = 0;
/// … or AVX-512, named…
pub(crate) const AVX512: u8 = 1;
/// … or plain ones, and the accesses noted…
pub(crate) const TRACED: u8 = 2;
/// … or plain ones, and what changes in memory.
pub(crate) const PROBED: u8 = 3;

/// A row of single-precision FMAs on all lanes. Says whether it did them: only with AVX-512.
#[inline(always)]
pub(crate) fn fma_f32_run<const CPU: u8>(registers: &mut [Lanes<u32>], run: &[Instruction]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if CPU == AVX512 {
        // SAFETY: only `run_avx512` has this CPU.
        unsafe { fma_f32_run_avx512(registers, run) };
        return true;
    }
    let _ = (registers, run);
    false
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn fma_f32_run_avx512(registers: &mut [Lanes<u32>], run: &[Instruction]) {
    use std::arch::x86_64::*;
    let no_number = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fff_ffff));
    for instruction in run {
        let Op::Alu { d, a, b, c, .. } = instruction.op else { continue };
        let [a, b, c] = [a, b, c].map(|slot| registers[slot as usize].0.as_ptr().cast::<f32>());
        let d = registers[d as usize].0.as_mut_ptr().cast::<f32>();
        for half in [0, LANES / 2] {
            // SAFETY: each pointer is to 32 values, and both halves are read before they are written.
            unsafe {
                let (a, b, c) =
                    (_mm512_loadu_ps(a.add(half)), _mm512_loadu_ps(b.add(half)), _mm512_loadu_ps(c.add(half)));
                let sum = _mm512_fmadd_ps(a, b, c);
                let unordered = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(sum, sum);
                _mm512_storeu_ps(d.add(half), _mm512_mask_mov_ps(sum, unordered, no_number));
            }
        }
    }
}

/// Gives each lane the table's entry that `index` names: only with AVX-512.
#[inline(always)]
pub(crate) fn pick<const CPU: u8>(out: &mut [u32; LANES], table: &[u32; 16], index: &[u32; LANES]) {
    #[cfg(target_arch = "x86_64")]
    if CPU == AVX512 {
        // SAFETY: only `run_avx512` has this CPU.
        unsafe { pick_avx512(out, table, index) };
    }
    let _ = (out, table, index);
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn pick_avx512(out: &mut [u32; LANES], table: &[u32; 16], index: &[u32; LANES]) {
    use std::arch::x86_64::*;
    // SAFETY: the arrays are as long as what is loaded and stored.
    unsafe {
        let table = _mm512_loadu_si512(table.as_ptr().cast());
        for half in [0, LANES / 2] {
            let index = _mm512_loadu_si512(index.as_ptr().add(half).cast());
            _mm512_storeu_si512(out.as_mut_ptr().add(half).cast(), _mm512_permutexvar_epi32(index, table));
        }
    }
}
