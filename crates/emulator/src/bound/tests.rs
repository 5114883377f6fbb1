//! Each unit's time by hand, and bounds held against what an H200 measured.

use super::*;
use crate::Dim3;
use crate::counters::{BulkCounters, Counters, GlobalCounters, SharedCounters};
use crate::gpu::{A100, B200, H200, K80, T4};

const EQUAL: Assumptions = Assumptions { equal_blocks: true, cold_l2: false };
const COLD: Assumptions = Assumptions { equal_blocks: false, cold_l2: true };
const NOTHING: Assumptions = Assumptions { equal_blocks: false, cold_l2: false };

fn report(blocks: u32) -> Report {
    let (grid, block) = (Dim3::xy(blocks, 1), Dim3::xy(256, 1));
    Report::new(grid, block, Counters::default())
}

fn executes(report: &mut Report, class: Class, warp: u64) {
    report.total.classes[class as usize].warp = warp;
}

fn clocks(report: &Report, gpu: &Gpu, assume: Assumptions, unit: Unit) -> f64 {
    let times = bound(report, gpu, assume).units;
    let time = times.iter().find(|time| time.unit == unit).expect("every unit has a time");
    (time.seconds * gpu.boost_hz * 1000.0).round() / 1000.0
}

#[test]
fn units_are_called_what_people_call_them() {
    let names = Unit::ALL.map(|unit| unit.to_string()).join(", ");
    let expected = "FMA pipe (f32), FMA pipe (f64), tensor cores, L1/LSU, shared memory, TMA, L2, DRAM, issue slots";
    assert_eq!(names, expected);
}

#[test]
fn fma_pipes_by_hand() {
    let mut r = report(132);
    executes(&mut r, Class::FmaF32, 132 * 1000);
    // An SM of an H200 does four warps' FMAs in a clock, and of its 1000 one scheduler issues 250.
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::FmaF32), 250.0);
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 250.0);
    assert_eq!(bound(&r, &H200, NOTHING).bottleneck, Unit::FmaF32);
    assert_eq!(bound(&r, &H200, NOTHING).seconds, 250.0 / 1.98e9);
    executes(&mut r, Class::FmaF64, 132 * 1000);
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::FmaF64), 500.0);
    assert_eq!(bound(&r, &H200, NOTHING).bottleneck, Unit::FmaF64);
    // A T4 has two f64 lanes: 40 SMs, 3300 warps' FMAs each, 16 clocks apiece.
    assert_eq!(clocks(&r, &T4, NOTHING, Unit::FmaF64), 52_800.0);
}

#[test]
fn few_blocks_use_few_sms() {
    let fma_clocks = |blocks, assume| {
        let mut r = report(blocks);
        executes(&mut r, Class::FmaF32, u64::from(blocks) * 400);
        clocks(&r, &H200, assume, Unit::FmaF32)
    };
    assert_eq!(fma_clocks(1, NOTHING), 100.0);
    assert_eq!(fma_clocks(132, NOTHING), 100.0);
    assert_eq!(fma_clocks(133, NOTHING), 100.758);
    assert_eq!(fma_clocks(1, EQUAL), 100.0);
    assert_eq!(fma_clocks(132, EQUAL), 100.0);
    assert_eq!(fma_clocks(133, EQUAL), 200.0, "one SM has two");
    assert_eq!(fma_clocks(264, EQUAL), 200.0);
}

#[test]
fn global_memory_by_hand() {
    let mut r = report(108);
    let loads = GlobalCounters { requests: 10_800, sectors: 10_800, ..Default::default() };
    r.total.global_load = loads;
    assert_eq!(clocks(&r, &A100, NOTHING, Unit::L1), 100.0, "one request a clock");
    assert_eq!(clocks(&r, &A100, NOTHING, Unit::Issue), 25.0);
    r.total.global_load.sectors = 32 * 10_800;
    assert_eq!(clocks(&r, &A100, NOTHING, Unit::L1), 800.0, "four sectors a clock");
    r.total.global_store = loads;
    assert_eq!(clocks(&r, &A100, NOTHING, Unit::L1), 825.0);
    assert_eq!(clocks(&r, &A100, NOTHING, Unit::L2), 67.5, "stores write through, 5120 bytes a clock");
    r.footprint_bytes = 5_120_000;
    assert_eq!(clocks(&r, &A100, NOTHING, Unit::L2), 1000.0, "the footprint passes once");
    let one_block = Report { grid: Dim3::xy(1, 1), ..r };
    assert_eq!(clocks(&one_block, &A100, NOTHING, Unit::L2), 80_000.0, "64 bytes a clock for one SM");
}

#[test]
fn shared_memory_by_hand() {
    let mut r = report(1);
    r.total.shared_load = SharedCounters { requests: 100, wavefronts: 200, unique_bytes: 12_800, ..Default::default() };
    r.total.shared_store = SharedCounters { requests: 10, wavefronts: 10, unique_bytes: 1280, ..Default::default() };
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Shared), 210.0);
    assert_eq!(clocks(&r, &K80, NOTHING, Unit::Shared), 105.0, "banks of 8 bytes may halve them");
    assert_eq!(clocks(&r, &T4, NOTHING, Unit::Shared), 220.0, "14080 bytes, 64 a clock");
}

#[test]
fn shared_accesses_may_be_merged_before_they_are_issued() {
    let mut r = report(1);
    executes(&mut r, Class::SharedLoad, 100);
    r.total.shared_load = SharedCounters { requests: 100, bytes: 100 * 128, ..Default::default() };
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 6.25, "25 accesses of 16 bytes, 4 schedulers");
    r.total.shared_load.bytes = 100 * 512;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 25.0, "as wide as can be");
    r.total.shared_store.bytes = 100 * 512;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 25.0, "copied by an instruction of another class");
    executes(&mut r, Class::Integer, 1_000_000);
    r.total.barriers = 4;
    executes(&mut r, Class::Tensor, 4);
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 27.0, "integer instructions are not sure to stay");
}

#[test]
fn dram_carries_what_l2_cannot_hold() {
    let mut r = report(1000);
    r.footprint_bytes = 480_000_000;
    r.total.global_store.sectors = 1_000_000;
    let dram = |r: &Report, assume| {
        let of_dram = |time: &UnitTime| time.unit == Unit::Dram;
        bound(r, &H200, assume).units.into_iter().find(of_dram).expect("every unit has a time")
    };
    assert_eq!(dram(&r, COLD), UnitTime { unit: Unit::Dram, seconds: 448e6 / 4.8e12 }, "results may stay");
    let held = (480_000_000 - 32_000_000 - 50 * 1024 * 1024) as f64;
    assert_eq!(dram(&r, NOTHING).seconds, held / 4.8e12, "inputs may have been there");
    r.total.global_store.sectors = 10_000_000;
    assert_eq!(dram(&r, COLD).seconds, (480_000_000 - 50 * 1024 * 1024) as f64 / 4.8e12, "results beyond L2");
    r.total.global_store.sectors = 0;
    r.total.bulk.bytes_written = 32_000_000;
    assert_eq!(dram(&r, COLD).seconds, 448e6 / 4.8e12, "by bulk copies");
    r.footprint_bytes = 1_000_000;
    assert_eq!(dram(&r, NOTHING).seconds, 0.0);
}

/// Multiply-adds of the tensor cores: all of them, and those of `wgmma`.
fn multiplies(report: &mut Report, kind: TensorType, all: u64, by_groups: u64) {
    let count = &mut report.total.tensor[kind as usize];
    (count.multiply_adds, count.group_multiply_adds) = (all, by_groups);
}

#[test]
fn tensor_cores_by_hand() {
    let tensor = |gpu: &Gpu, counts: &[(TensorType, u64, u64)]| {
        let mut r = report(gpu.sms);
        for &(kind, all, by_groups) in counts {
            multiplies(&mut r, kind, u64::from(gpu.sms) * all, u64::from(gpu.sms) * by_groups);
        }
        clocks(&r, gpu, NOTHING, Unit::Tensor)
    };
    use TensorType::{Bf16, F16, F64, Fp8, Int8, Tf32};
    assert_eq!(tensor(&H200, &[(Bf16, 2_048_000, 2_048_000)]), 1000.0, "wgmma");
    assert_eq!(tensor(&H200, &[(Bf16, 1_366_000, 0)]), 1000.0, "mma reaches two thirds");
    assert_eq!(tensor(&H200, &[(Tf32, 1_024_000, 1_024_000)]), 1000.0);
    assert_eq!(tensor(&H200, &[(Tf32, 683_000, 0)]), 1000.0);
    assert_eq!(tensor(&H200, &[(Fp8, 4_096_000, 4_096_000)]), 1000.0);
    assert_eq!(tensor(&H200, &[(F64, 128_000, 0)]), 1000.0);
    assert_eq!(tensor(&A100, &[(F16, 1_024_000, 0)]), 1000.0, "mma is all that there is");
    // Both kinds, on the same cores: mma alone would take 500 clocks, both at the full rate 683.
    assert_eq!(tensor(&H200, &[(Bf16, 683_000 + 716_000, 716_000)]), 683.105);
    assert_eq!(tensor(&H200, &[(Bf16, 1_024_000, 1_024_000), (F16, 1_024_000, 1_024_000)]), 1000.0, "one pipe");
    assert_eq!(tensor(&H200, &[(Bf16, 1_024_000, 1_024_000), (Int8, 2_048_000, 2_048_000)]), 500.0, "two pipes");
    assert_eq!(tensor(&T4, &[(F64, 1_000_000, 0)]), 0.0, "no rate is known, and none is charged");
    assert_eq!(tensor(&B200, &[(Bf16, 4_096_000, 0)]), 1000.0);
}

#[test]
fn operands_of_warpgroups_pass_the_banks() {
    let mut r = report(1);
    r.total.tensor[TensorType::Bf16 as usize].operand_wavefronts = 700;
    r.total.shared_load.wavefronts = 50;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Shared), 750.0);
}

#[test]
fn bulk_copies_by_hand() {
    // Two blocks, to each of which a multicast brings the same 6400 bytes.
    let mut r = report(2);
    let bulk = BulkCounters { loads: 8, bytes_read: 12_800, l2_bytes_read: 6400, ..Default::default() };
    r.total.bulk = bulk;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Tma), 100.0, "64 bytes a clock for each");
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::L2), 50.0, "one read for both");
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 1.0, "an instruction each");
    assert_eq!(bound(&r, &H200, NOTHING).bottleneck, Unit::Tma);
    r.total.bulk.l2_bytes_read = 12_800;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::L2), 100.0, "past L1: the same bytes again");
    assert_eq!(bound(&r, &H200, NOTHING).bottleneck, Unit::Tma, "of two that need the same time, the first");
    r.total.bulk.bytes_written = 25_600;
    r.total.bulk.stores = 16;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Tma), 200.0, "a way in and a way out");
    r.total.global_store.sectors = 400;
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::L2), 300.0, "with what threads store");
    assert_eq!(clocks(&r, &H200, NOTHING, Unit::Issue), 3.0);
    assert_eq!(clocks(&r, &H200, EQUAL, Unit::Tma), 200.0);
    assert_eq!(clocks(&Report { grid: Dim3::xy(133, 1), ..r }, &H200, EQUAL, Unit::Tma), 6.015, "two of 133");
}

#[test]
fn no_loop_of_products_on_an_h200_was_faster_than_its_bound() {
    // TFLOP/s of loops that do nothing else, the faster of random data and zeros.
    let measured = [
        (TensorType::Bf16, false, 650.0),
        (TensorType::Tf32, false, 325.0),
        (TensorType::F64, false, 66.0),
        (TensorType::Bf16, true, 928.0),
        (TensorType::Tf32, true, 486.0),
        (TensorType::Fp8, true, 1778.0),
    ];
    for (kind, by_groups, tflops) in measured {
        let mut r = report(132);
        let all = 132_000_000_000;
        multiplies(&mut r, kind, all, if by_groups { all } else { 0 });
        let Bound { seconds, bottleneck, .. } = bound(&r, &H200, EQUAL);
        assert_eq!(bottleneck, Unit::Tensor);
        let most = 2.0 * all as f64 / seconds / 1e12;
        assert!(tflops < most && most < 1.25 * tflops, "{kind:?} {by_groups}: {most}, and {tflops} measured");
    }
}

#[test]
fn no_work_takes_no_time() {
    let empty = Report { grid: Dim3::xy(0, 0), ..report(1) };
    assert_eq!(bound(&empty, &H200, EQUAL).seconds, 0.0);
    assert_eq!(bound(&empty, &H200, NOTHING).seconds, 0.0);
}

/// TFLOP/s at most for a kernel whose warps do, for each FMA of a warp, this much; of 4096³ FMAs on an H200.
fn tflops(per_fma: impl Fn(&mut Counters, u64)) -> (f64, Unit) {
    let mut r = report(128 * 128);
    let fmas = 4096 * 4096 * 4096 / 32;
    executes(&mut r, Class::FmaF32, fmas);
    per_fma(&mut r.total, fmas);
    r.footprint_bytes = 3 * 4096 * 4096 * 4;
    let b = bound(&r, &H200, EQUAL);
    (64.0 * fmas as f64 / b.seconds / 1e12, b.bottleneck)
}

#[test]
fn kernels_measured_on_an_h200_stay_below_their_bounds() {
    // One element per thread: a broadcast of A (1 sector) and a row of B (4 sectors) for each FMA.
    let (naive, unit) = tflops(|total, fmas| {
        total.global_load = GlobalCounters { requests: 2 * fmas, sectors: 5 * fmas, ..Default::default() };
    });
    assert_eq!(unit, Unit::L1);
    assert!(6.3 < naive && naive < 8.4, "{naive}");
    // Tiles: a row of B (1 wavefront) for each FMA and a 16-byte broadcast of A (2 wavefronts) for every fourth.
    let (tiled, unit) = tflops(|total, fmas| {
        total.shared_load.wavefronts = fmas + fmas / 2;
    });
    assert_eq!(unit, Unit::Shared);
    assert!(8.9 < tiled && tiled < 11.2, "{tiled}");
    // 8 x 4 elements per thread: for each 128 FMAs, 8 loads of A and 4 of B, 16 bytes and 4 wavefronts each.
    let (register, unit) = tflops(|total, fmas| {
        total.classes[Class::SharedLoad as usize].warp = fmas * 3 / 32;
        total.shared_load = SharedCounters { wavefronts: fmas * 12 / 32, bytes: fmas * 48, ..Default::default() };
    });
    assert_eq!(unit, Unit::Shared);
    assert!(28.6 < register && register < 67.0, "{register}");
}
