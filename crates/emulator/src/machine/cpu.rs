//! The one place with `unsafe`: entering code compiled for vector instructions that this CPU has, and the
//! two steps of the interpreter that gain most from saying which instructions they are.
//!
//! The interpreter's loop and what it inlines are compiled for a plain CPU, for AVX2 and
//! for AVX-512 (`step::dispatch`), and the best of them that can run is chosen when the program runs. Fused multiply-add
//! needs it most: without the instruction it is a slow library call. What is given to be done in such a copy must be inlined
//! into it: it is marked so.
#![allow(unsafe_code)]

use crate::machine::lanes::{LANES, Lanes};
use crate::program::Instruction;
#[cfg(target_arch = "x86_64")]
use crate::program::Op;

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

/// Does something in a copy that is compiled for AVX-512, where this CPU has that; else nothing is done.
#[inline(always)]
pub(crate) fn with_avx512<T>(work: impl FnOnce() -> T) -> Option<T> {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() && has_avx2() {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        return Some(unsafe { in_avx512(work) });
    }
    let _ = work;
    None
}

/// Does something, in a copy that is compiled for AVX2 where this CPU has that.
#[inline(always)]
pub(crate) fn with_avx2<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        return unsafe { in_avx2(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn in_avx512<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
fn in_avx2<T>(work: impl FnOnce() -> T) -> T {
    work()
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
        // SAFETY: only what `with_avx512` runs has this CPU.
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
        // SAFETY: only what `with_avx512` runs has this CPU.
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
