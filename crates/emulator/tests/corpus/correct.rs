//! Correct kernels that look like wrong ones: none may be convicted, and each gives what it should.

use emulator::{Dim3, Schedule, TensorSwizzle};

use crate::harness::Arg::{Bytes, Floats, Int, Ints, Unwritten, Zeros};
use crate::harness::{Arg, Case, Map, Outcome, sources};

const A: Arg = Floats("A", 64);
const C32: Arg = Unwritten("C", 4 * 32);
const C32_OF_EIGHT: Arg = Unwritten("C", 32);
const C64: Arg = Unwritten("C", 4 * 64);
const C512: Arg = Unwritten("C", 2048);
const SUM: Arg = Unwritten("C", 4);

const WARP: [u32; 2] = [32, 1];
const TWO_WARPS: [u32; 2] = [64, 1];

/// 16 x 16 floats, moved by 8 x 8; the same as a result, and as another operand.
const MATRIX: Map = Map::floats(Floats("A", 256), &[16, 16], &[8, 8]);
const RESULT: Map = Map::floats(Floats("C", 256), &[16, 16], &[8, 8]);
const OTHER: Map = Map::floats(Floats("B", 256), &[16, 16], &[8, 8]);
/// 32 x 64 floats, moved by 8, 16 or 32 x 16.
const ROWS_OF_32: Map = Map::floats(Floats("A", 2048), &[32, 64], &[8, 16]).swizzled(TensorSwizzle::B32);
const ROWS_OF_64: Map = Map::floats(Floats("A", 2048), &[32, 64], &[16, 16]).swizzled(TensorSwizzle::B64);
const ROWS_OF_128: Map = Map::floats(Floats("A", 3072), &[48, 64], &[32, 16]).swizzled(TensorSwizzle::B128);
const OUT_OF_128: Map = Map::floats(Floats("C", 3072), &[48, 64], &[32, 16]).swizzled(TensorSwizzle::B128);
/// 8 x 8 x 8 floats, moved by 8 x 4 x 2; by 8 x 8 x 6 of which every second row and every third plane.
const CUBE: Map = Map::floats(Floats("A", 512), &[8, 8, 8], &[8, 4, 2]);
const STEPS: Map = Map::floats(Floats("A", 512), &[8, 8, 8], &[8, 8, 6]).stepped(&[1, 2, 3]);

/// Element i of the last buffer, where A holds 0, 1, 2, …
pub type Expected = fn(usize) -> f32;

pub const CASES: &[(Case, Expected)] = &[
    (Case::new("cluster_neighbour", 4, WARP, &[Floats("A", 128), Unwritten("C", 4 * 128)]), |i| {
        (((i / 32) ^ 1) * 32 + 31 - i % 32) as f32
    }),
    (Case::new("cluster_histogram", 4, TWO_WARPS, &[Ints("A", 256), C32]), |_| 8.0),
    (Case::new("cluster_ring", 8, WARP, &[Floats("A", 256), Unwritten("C", 4 * 256)]), |i| {
        let (cluster, rank) = (i / 128, i / 32 % 4);
        (128 * cluster + (rank + 3) % 4 * 32 + 31 - i % 32) as f32
    }),
    (Case::new("cluster_multicast_to_2", 4, WARP, &[A, Unwritten("C", 512)]), |i| {
        (i / 64 * 32 + i % 32 + 100 * (i / 32 % 2)) as f32
    }),
    (Case::new("cluster_leaves_behind_a_multicast", 4, WARP, &[A, Unwritten("C", 512)]), |i| {
        (i / 64 * 32 + i % 32 + 100 * (i / 32 % 2)) as f32
    }),
    (Case::new("cluster_bytes_told_by_a_peer", 2, WARP, &[A, C64]), |i| ((1 - i / 32) * 32 + 31 - i % 32) as f32),
    (Case::new("cluster_multicast_to_4", 8, WARP, &[A, Unwritten("C", 1024)]), |i| {
        (i / 128 * 32 + i % 32 + 100 * (i / 32 % 4)) as f32
    }),
    (Case::new("cluster_st_async", 2, WARP, &[Floats("A", 128), C64]), |i| ((1 - i / 32) * 64 + 63 - i % 32) as f32),
    (Case::new("cluster_red_async", 4, WARP, &[Ints("A", 128), SUM]), |_| 8128.0),
    (Case::new("cluster_bulk_exchange", 2, WARP, &[A, C64]), |i| ((1 - i / 32) * 32 + 31 - i % 32) as f32),
    (Case::new("cluster_last_barrier_relaxed", 2, WARP, &[A, C64]), |i| (2 * (i % 32) + i / 32) as f32),
    (Case::new("cluster_stages", 2, TWO_WARPS, &[Floats("A", 320), C64, Int(5)]), |i| {
        (1440 + 10 * (i % 32) + i / 32) as f32
    }),
    (Case::new("cluster_leaves_early", 4, WARP, &[Floats("A", 128), Unwritten("C", 512)]), |i| {
        if i < 96 { ((i / 32 + 1) % 3 * 32 + i % 32) as f32 } else { 0.0 }
    }),
    (Case::new("cluster_through_global", 2, WARP, &[A, C64]), |i| ((1 - i / 32) * 32 + 32 - i % 32) as f32),
    (Case::new("cluster_flag", 2, WARP, &[A, C32]), |i| 31.0 - i as f32),
    (Case::new("cluster_flag_by_fences", 2, WARP, &[A, C32]), |i| 31.0 - i as f32),
    (Case::new("cluster_relaxed_behind_fence", 2, WARP, &[A, C64]), |i| ((1 - i / 32) * 32 + 31 - i % 32) as f32),
    (Case::new("cluster_leaves_behind_an_arrival", 2, WARP, &[A, C64]), |i| ((1 - i / 32) * 32 + 31 - i % 32) as f32),
    (Case::new("cluster_own_rank", 2, TWO_WARPS, &[Floats("A", 128), Unwritten("C", 512)]), |i| {
        (128 * (i / 64) + 63) as f32
    }),
    (Case::new("queue_of_tiles", 6, WARP, &[Floats("A", 640), Unwritten("C", 2560), Int(20)]), |i| 2.0 * i as f32),
    (Case::new("cluster_queue", 6, WARP, &[Floats("A", 640), Unwritten("C", 2560), Int(10)]), |i| 2.0 * i as f32),
    (Case::new("cluster_addresses", 4, WARP, &[Unwritten("C", 16)]), |_| 8.0),
    (Case { grid: Dim3::xy(4, 2), ..Case::new("cluster_of_two_by_two", 8, WARP, &[C32_OF_EIGHT]) }, |i| {
        22.0 + 80.0 * (i % 4 / 2) as f32
    }),
    (Case::new("same_value_store", 2, TWO_WARPS, &[A, Unwritten("C", 4 * 129)]), |i| {
        if i == 128 { 7.0 } else { (i % 64) as f32 + 1.0 }
    }),
    (Case::new("copy_of_unwritten", 1, WARP, &[A, C32]), |i| if i < 16 { i as f32 } else { 1.0 }),
    (Case::new("early_return", 3, WARP, &[A, C64, Int(64)]), |i| 2.0 * i as f32),
    (Case::new("whole_warp_returns", 1, [96, 1], &[A, C64, Int(64)]), |i| 63.0 - i as f32),
    (Case::new("partial_last_warp", 1, [50, 1], &[A, Unwritten("C", 200)]), |i| 49.0 - i as f32),
    (Case::new("warp_shuffle_sum", 1, TWO_WARPS, &[A, Unwritten("C", 8)]), |i| 496.0 + 1024.0 * i as f32),
    (Case::new("block_sum", 1, TWO_WARPS, &[A, SUM]), |_| 2016.0),
    (Case::new("syncwarp_exchange", 1, TWO_WARPS, &[A, C64]), |i| {
        let at = |n: usize| (i / 32 * 32 + (i + n) % 32) as f32;
        at(0) + 3.0 * at(1) + 3.0 * at(2) + at(3)
    }),
    (Case::new("syncwarp_of_half", 1, WARP, &[A, C32]), |i| if i < 16 { 15.0 - i as f32 } else { i as f32 }),
    (Case::new("warp_then_block", 1, TWO_WARPS, &[A, C64]), |i| ((63 - i) ^ 1) as f32),
    (Case::new("volatile_warp_sum", 1, TWO_WARPS, &[A, SUM]), |_| 2016.0),
    (Case::new("volatile_then_plain", 1, TWO_WARPS, &[A, C64]), |i| 64.0 - i as f32),
    (Case::new("volatile_global", 1, TWO_WARPS, &[A, C64]), |i| i as f32 + 1.0),
    (Case::new("in_place", 2, WARP, &[Floats("C", 64)]), |i| 8.0 * i as f32 + 7.0),
    (Case::new("variable_within_block", 2, TWO_WARPS, &[Floats("A", 128), Unwritten("C", 512)]), |i| {
        (i / 64 * 64 + 63 - i % 64) as f32
    }),
    (Case::new("global_exchange", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("named_barriers", 1, [128, 1], &[Floats("A", 128), Unwritten("C", 4 * 128)]), |i| {
        (i ^ 63) as f32 + (i / 64) as f32
    }),
    (Case::new("ping_pong", 1, TWO_WARPS, &[A, C64, Int(5)]), |i| ((i + 5) % 64) as f32 + 5.0),
    (Case::new("transpose", 1, [32, 8], &[Floats("A", 1024), Unwritten("C", 4096)]), |i| (i % 32 * 32 + i / 32) as f32),
    (Case::new("scan_in_place", 1, TWO_WARPS, &[A, C64]), |i| (i * (i + 1) / 2) as f32),
    (Case::new("select_around_unwritten", 1, TWO_WARPS, &[A, C64, Int(40)]), |i| if i < 40 { i as f32 } else { 0.0 }),
    (Case::new("discarded", 1, TWO_WARPS, &[A, C64, Int(40)]), |i| if i < 40 { 2.0 * i as f32 + 1.0 } else { 0.0 }),
    (Case { dynamic_shared: 512, ..Case::new("dynamic_shared", 1, TWO_WARPS, &[A, C64, Int(64)]) }, |i| {
        (63 - i) as f32 * (63 - i) as f32
    }),
    (Case::new("either_array", 1, TWO_WARPS, &[A, C64, Int(1)]), |i| {
        let from = if i % 2 == 1 { (i / 2) as f32 } else { 2.0 * (i / 2) as f32 };
        from + (63 - i) as f32
    }),
    (Case::new("divergent_loop", 1, TWO_WARPS, &[A, C64]), |i| ((63 - i) * (64 - i) / 2) as f32),
    (Case::new("one_number_for_pairs_in_turn", 1, [128, 1], &[Floats("A", 128), Unwritten("C", 4 * 128)]), |i| {
        (i ^ 32) as f32
    }),
    (Case::new("uniform_branch_barrier", 1, TWO_WARPS, &[A, C64, Int(11)]), |i| 63.0 - i as f32),
    (Case::new("one_thread_fills", 1, TWO_WARPS, &[A, C64]), |_| 0.0),
    (Case::new("fence_sum", 4, TWO_WARPS, &[Floats("A", 256), Unwritten("partial", 16), SUM]), |_| 32640.0),
    (Case::new("last_block", 4, TWO_WARPS, &[Floats("A", 256), C64]), |i| (4 * (63 - i) + 6 * 64) as f32),
    (Case::new("lock", 8, WARP, &[Zeros("lock", 1), A, Zeros("C", 1)]), |_| 28.0),
    (Case::new("flag_in_block", 1, TWO_WARPS, &[A, C32]), |i| 31.0 - i as f32),
    (Case::new("message_by_fences", 2, WARP, &[A, C32]), |i| 31.0 - i as f32),
    (Case::new("message_by_release", 2, WARP, &[A, C32]), |i| 31.0 - i as f32),
    (Case::new("fences_then_barrier", 4, WARP, &[A, C32]), |i| 4.0 * (31 - i) as f32),
    (Case::new("counter_acq_rel", 4, WARP, &[A, C32]), |i| 4.0 * (31 - i) as f32),
    (Case::new("look_back", 4, WARP, &[A, Unwritten("C", 16)]), |i| (i * (i + 1) / 2) as f32),
    (Case::new("value_with_its_flag", 2, WARP, &[A, SUM]), |_| 3.0),
    (Case::new("two_buffers", 1, TWO_WARPS, &[A, C32, Int(4)]), |i| 4.0 * (31 - i) as f32 + 6.0),
    (Case::new("split_barrier", 1, [96, 1], &[A, C32]), |i| 2.0 * i as f32 + 32.0),
    (Case::new("lock_plain", 8, WARP, &[A, Zeros("C", 1)]), |_| 28.0),
    (Case::new("histogram_in_block", 1, TWO_WARPS, &[A, C32]), |_| 8.0),
    (Case::new("atomics_of_a_block", 2, TWO_WARPS, &[A, C64]), |_| 32.0),
    (Case::new("reset_after_the_last", 4, WARP, &[A, SUM]), |_| 7.0),
    (Case::new("fence_orders_shared", 1, TWO_WARPS, &[A, C32]), |i| 31.0 - i as f32),
    (Case::new("copy_source_reused", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("syncwarp_of_quarters", 1, WARP, &[A, C32]), |i| (i ^ 7) as f32),
    (Case::new("copy_then_store", 1, TWO_WARPS, &[A, C64]), |i| 2.0 * (i + 1) as f32 + (63 - i) as f32),
    (Case::new("copies_repeated", 1, TWO_WARPS, &[A, C64]), |i| i as f32),
    (Case::new("copy_pipeline", 1, TWO_WARPS, &[Floats("A", 448), C64, Int(7)]), |i| 7.0 * i as f32 + 21.0 * 64.0),
    (Case::new("copy_left_under_way", 8, TWO_WARPS, &[A, Unwritten("C", 4 * 512)]), |i| 2.0 * (63 - i % 64) as f32),
    (Case::new("warp_mask_of_ended_lanes", 1, WARP, &[A, Unwritten("C", 64)]), |i| {
        (15 - i + (15 - (i ^ 1)) + 16) as f32
    }),
    (Case::new("lanes_return_before_barrier", 1, TWO_WARPS, &[A, Unwritten("C", 200), Int(50)]), |i| {
        2.0 * (49 - i) as f32
    }),
    (Case::new("producer_consumer", 1, TWO_WARPS, &[Floats("A", 160), C32, Int(5)]), |i| {
        (5 * (31 - i) + 32 * 10) as f32
    }),
    (Case::new("barrier_in_two_branches", 1, TWO_WARPS, &[A, C64]), |i| {
        if i % 2 == 0 { 2.0 * (63 - i) as f32 } else { (63 - i) as f32 + 1.0 }
    }),
    (Case::new("syncwarp_in_two_branches", 1, WARP, &[A, C32]), |i| match i {
        0..16 => (i + 16) as f32 - (15 - i) as f32,
        _ => (i - 16) as f32 + 2.0 * (47 - i) as f32,
    }),
    (Case::new("masks_of_halves", 1, WARP, &[A, C32]), |i| (i / 16 * 256 + 120) as f32),
    (Case::new("unused_from_absent_lanes", 1, WARP, &[A, Unwritten("C", 80)]), |i| {
        if i < 19 { i as f32 + 1.0 } else { -1.0 }
    }),
    (Case::new("lock_of_lanes", 1, WARP, &[Zeros("lock", 1), Zeros("C", 2)]), |_| 496.0),
    (Case::new("waits_for_later_block", 20, WARP, &[A, Zeros("ready", 20), Unwritten("C", 80)]), |i| {
        (i..20).sum::<usize>() as f32
    }),
    (Case::new("grid_barrier", 40, TWO_WARPS, &[Floats("A", 2560), Unwritten("C", 4 * 2560)]), |i| 2560.0 - i as f32),
    (Case::new("mailbox", 2, WARP, &[Zeros("box", 1), Unwritten("C", 8), Int(100)]), |_| 100.0),
    (Case::new("mbarrier_exchange", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("mbarrier_ring", 1, TWO_WARPS, &[Floats("A", 160), C32, Int(5)]), |i| (5 * (31 - i) + 32 * 10) as f32),
    (Case::new("mbarrier_one_arrival_per_warp", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("mbarrier_copies", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("mbarrier_copies_counted", 1, TWO_WARPS, &[A, C64]), |i| if i < 20 { 63.0 } else { 63.0 - i as f32 }),
    (Case::new("mbarrier_initialised_by_all", 1, TWO_WARPS, &[A, C64]), |i| i as f32),
    (Case::new("mbarrier_drop", 1, TWO_WARPS, &[A, C32]), |i| 32.0 + i as f32),
    (Case::new("mbarrier_memory_reused", 1, TWO_WARPS, &[A, C64]), |i| 68.0 - i as f32),
    (Case::new("mbarrier_relaxed_with_fences", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("mbarrier_bytes_by_hand", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("mbarrier_bounded_wait", 1, TWO_WARPS, &[A, C64]), |i| i as f32),
    (Case::new("mbarrier_generic_address", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("mbarrier_pending_count", 1, TWO_WARPS, &[A, C64]), |i| i as f32),
    (Case::new("bulk_load", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("bulk_load_fenced_for_proxies", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("bulk_load_expected_late", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("bulk_load_behind_another_barrier", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("bulk_ring", 1, TWO_WARPS, &[Floats("A", 160), C32, Int(5)]), |i| (5 * (31 - i) + 32 * 10) as f32),
    (Case::new("bulk_ring_fenced_by_the_loader", 1, TWO_WARPS, &[Floats("A", 160), C32, Int(5)]), |i| {
        (5 * (31 - i) + 32 * 10) as f32
    }),
    (Case::new("bulk_store", 1, TWO_WARPS, &[A, C64]), |i| 2.0 * (63 - i) as f32),
    (Case::new("bulk_load_of_own_stores", 1, TWO_WARPS, &[A, Unwritten("C", 4 * 128)]), |i| {
        2.0 * if i < 64 { i as f32 } else { (127 - i) as f32 }
    }),
    (
        Case::new("bulk_load_of_another_blocks_stores", 2, TWO_WARPS, &[A, Zeros("ready", 1), Unwritten("C", 4 * 128)]),
        |i| 2.0 * if i < 64 { i as f32 } else { (127 - i) as f32 },
    ),
    (Case::new("mma_rows_that_nobody_wrote", 1, WARP, &[Zeros("A", 64), Unwritten("C", 4 * 64)]), |_| 0.0),
    (
        Case::new(
            "tensor_map_changed_behind_its_copy",
            1,
            WARP,
            &[Arg::Map(&MATRIX), Unwritten("map", 128), Floats("B", 320), C64],
        ),
        |i| (2 * (i % 8 + 16 * (i / 8)) + 64) as f32,
    ),
    (Case::new("bulk_store_fenced_on_both_sides", 1, TWO_WARPS, &[A, C64]), |i| 2.0 * (63 - i) as f32),
    (Case::new("bulk_store_of_own_stores", 1, TWO_WARPS, &[A, C64]), |i| 2.0 * (63 - i) as f32),
    (Case::new("bulk_store_two_rounds", 1, TWO_WARPS, &[A, Unwritten("C", 512)]), |i| (i % 64 + i / 64) as f32),
    (Case::new("bulk_store_two_buffers", 1, TWO_WARPS, &[A, Unwritten("C", 1024)]), |i| (i % 64 + i / 64) as f32),
    (Case::new("bulk_copied_through", 1, TWO_WARPS, &[A, C64]), |i| i as f32),
    (Case::new("bulk_in_place", 2, TWO_WARPS, &[Floats("C", 128)]), |i| 2.0 * (i / 64 * 64 + 63 - i % 64) as f32),
    (Case::new("bulk_in_place_told_by_a_barrier", 1, TWO_WARPS, &[Floats("C", 64)]), |i| 64.0 - i as f32),
    (Case::new("bulk_in_place_by_rounds", 1, TWO_WARPS, &[Floats("C", 64)]), |i| 3.0 + i as f32),
    (Case::new("bulk_store_read_back", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("tensor_in_place", 4, TWO_WARPS, &[Floats("C", 256), Arg::Map(&RESULT)]), |i| {
        (16 * (i / 128 * 8 + i % 8) + i / 8 % 2 * 8 + i / 16 % 8) as f32
    }),
    (Case::new("bulk_reduce", 3, TWO_WARPS, &[A, Floats("C", 64)]), |i| (4 * i + 3) as f32),
    (Case::new("bulk_by_elected_lane", 1, TWO_WARPS, &[A, C64]), |i| 63.0 - i as f32),
    (Case::new("tensor_load", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C64]), |i| (16 * (2 + i % 8) + 4 + i / 8) as f32),
    (Case::new("tensor_load_3d", 1, TWO_WARPS, &[Arg::Map(&CUBE), C64]), |i| {
        (64 * (2 + i / 32) + 8 * (1 + i / 8 % 4) + i % 8) as f32
    }),
    (Case::new("tensor_load_edges", 1, TWO_WARPS, &[Arg::Map(&MATRIX), Unwritten("C", 512)]), |i| {
        let (x, y) =
            if i < 64 { (i as i32 % 8 - 4, i as i32 / 8 - 2) } else { (i as i32 % 8 + 12, i as i32 / 8 % 8 + 14) };
        if (0..16).contains(&x) && (0..16).contains(&y) { (16 * y + x) as f32 } else { 0.0 }
    }),
    (Case::new("tensor_load_steps", 1, TWO_WARPS, &[Arg::Map(&STEPS), C64]), |i| {
        let (x, y, z) = (i % 8, 1 + 2 * (i / 8 % 4), 1 + 3 * (i / 32));
        if y < 8 && z < 8 { (64 * z + 8 * y + x) as f32 } else { 0.0 }
    }),
    (Case::new("tensor_load_map_in_global", 1, TWO_WARPS, &[Arg::MapInGlobal(&MATRIX), C64]), |i| {
        (16 * (2 + i % 8) + 4 + i / 8) as f32
    }),
    (Case::new("tensor_load_multicast_to_itself", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C64]), |i| {
        (16 * (2 + i % 8) + 4 + i / 8) as f32
    }),
    (Case::new("tensor_swizzle_32", 1, TWO_WARPS, &[Arg::Map(&ROWS_OF_32), Unwritten("C", 512)]), |i| {
        (32 * (8 + i / 8) + 4 + i % 8) as f32
    }),
    (Case::new("tensor_swizzle_64", 1, TWO_WARPS, &[Arg::Map(&ROWS_OF_64), Unwritten("C", 1024)]), |i| {
        (32 * (8 + i / 16) + 8 + i % 16) as f32
    }),
    (Case::new("tensor_swizzle_128", 1, TWO_WARPS, &[Arg::Map(&ROWS_OF_128), Unwritten("C", 2048)]), |i| {
        (48 * (8 + i / 32) + 16 + i % 32) as f32
    }),
    (Case::new("tensor_store", 1, TWO_WARPS, &[A, Arg::Map(&RESULT)]), |i| match (i % 16, i / 16) {
        (x @ 12.., y @ 12..) => 3.0 * (8 * (y - 12) + x - 12) as f32,
        (x @ 4..12, y @ 0..8) => 2.0 * (8 * y + x - 4) as f32,
        _ => i as f32,
    }),
    (Case::new("tensor_store_rounds", 1, TWO_WARPS, &[A, Arg::Map(&RESULT)]), |i| {
        (8 * (i / 16 % 8) + i % 8 + i / 8 % 2 + 2 * (i / 128)) as f32
    }),
    (Case::new("tensor_reduce", 3, TWO_WARPS, &[A, Arg::Map(&RESULT)]), |i| match (i % 16, i / 16) {
        (x @ 4..12, y @ 8..) => (i + 3 * (8 * (y - 8) + x - 4)) as f32,
        _ => i as f32,
    }),
    (Case::new("tensor_copied_through", 1, WARP, &[Arg::Map(&ROWS_OF_128), Arg::Map(&OUT_OF_128)]), |i| i as f32),
    (Case::new("tensor_map_copied", 1, TWO_WARPS, &[Arg::Map(&MATRIX), Unwritten("map", 128), C64]), |i| {
        (16 * (2 + i % 8) + 4 + i / 8) as f32
    }),
    (
        Case::new(
            "tensor_map_replaced",
            1,
            TWO_WARPS,
            &[Arg::Map(&MATRIX), Unwritten("map", 128), Floats("B", 96), C64],
        ),
        |i| if i % 8 < 4 { (16 * (2 + i % 8) + 4 + i / 8) as f32 } else { 0.0 },
    ),
    (Case::new("tensor_ring", 1, [96, 1], &[Arg::Map(&MATRIX), Arg::Map(&OTHER), C64, Int(2)]), |i| {
        (0..16).map(|k| (16 * (4 + i / 8) + k) as f32 * (16 * k + 4 + i % 8) as f32).sum()
    }),
    (Case::new("registers_moved", 1, [384, 1], &[A, C64]), |i| i as f32),
    (Case::new("registers_of_each_group", 1, [384, 1], &[A, C64]), |i| i as f32),
    (Case::new("group_product", 1, [128, 1], &[A, Unwritten("C", 4 * 64 * 16)]), |i| {
        group_product(i, |row, k| row % 8 + k % 4, |column, k| column % 4 + k % 8)
    }),
    (Case::new("group_own_rows", 1, [128, 1], &[A, C512]), |i| group_sum(i, 0, 0, 64)),
    (Case::new("group_ring", 1, [160, 1], &[Floats("A", 600), C512, Int(5)]), |i| {
        (0..5).map(|step| group_sum(i, 16 * step, 32 * step, 600)).sum()
    }),
    (Case::new("group_ring_one_in_flight", 1, [160, 1], &[Floats("A", 600), C512, Int(5)]), |i| {
        (0..5).map(|step| group_sum(i, 16 * step, 32 * step, 600)).sum()
    }),
    (Case::new("group_a_in_registers", 1, [128, 1], &[A, C512]), |i| {
        let a = |k: usize| 2 * ((i / 8 % 8 * 4 + k % 4) % 16 + i / 64 % 2 + k / 4 * 2) + 1;
        (0..8).map(|k| a(k) * (k / 4 * 32 + i % 8 * 4 + k % 4)).sum::<usize>() as f32
    }),
    (Case::new("group_two_warpgroups", 1, [256, 1], &[A, Unwritten("C", 4096)]), |i| {
        (1 + i / 512) as f32 * group_sum(i % 512, 0, 0, 64)
    }),
    (Case::new("group_rows_that_nobody_wrote", 1, [128, 1], &[A, Unwritten("C", 1024)]), |i| group_sum(i, 0, 0, 64)),
    (Case::new("group_operands_by_cp_async", 1, [128, 1], &[A, C512]), |i| group_sum(i, 0, 0, 64)),
    (Case::new("group_first_without_sums", 1, [128, 1], &[A, C512, Int(3)]), |i| 3.0 * group_sum(i, 0, 0, 64)),
];

/// Element i of the product of 64×64 by 64×16 elements.
pub fn group_product(i: usize, a: impl Fn(usize, usize) -> usize, b: impl Fn(usize, usize) -> usize) -> f32 {
    (0..64).map(|k| a(i / 16, k) * b(i % 16, k)).sum::<usize>() as f32
}

/// Element i of the product of 64×8 by 8×8 elements 0, 1, 2, …, which begin again after some, from `a` and from `b` on, in
/// core matrices of 8 rows and 4 elements.
fn group_sum(i: usize, a: usize, b: usize, after: usize) -> f32 {
    let place = |row: usize, k: usize| row / 8 * 64 + k / 4 * 32 + row % 8 * 4 + k % 4;
    (0..8).map(|k| (a + place(i / 8, k)) % after * (b + place(i % 8, k))).sum::<usize>() as f32
}

/// Byte i of the last buffer; `None` where it may be anything.
type ExpectedByte = fn(usize) -> Option<u8>;

/// Cases whose result is no row of floats, with the bytes that they must give.
pub const OF_BYTES: &[(Case, ExpectedByte)] = &[
    (Case::new("histogram", 2, TWO_WARPS, &[Ints("A", 128), Zeros("C", 8)]), |i| Some(if i % 4 == 0 { 16 } else { 0 })),
    // A tag and a float of 8-byte structs, with padding that may be anything between.
    (Case::new("struct_padding", 1, WARP, &[Bytes("A", 256), Bytes("C", 256), Int(2)]), |i| {
        let from = (i / 8 + 2) % 32 * 8 + i % 8;
        (!(1..4).contains(&(i % 8))).then_some(from as u8)
    }),
    (Case::new("packed_bytes", 1, WARP, &[Bytes("A", 96), Unwritten("C", 128)]), |i| {
        let pixel = 31 - i / 4;
        Some([3 * pixel + 2, 3 * pixel + 1, 3 * pixel, 0][i % 4] as u8)
    }),
];

/// What the case gives in every order of blocks and warps.
fn run(case: &Case) -> [Vec<u8>; 3] {
    Schedule::ALL.map(|schedule| match case.report_in("correct", schedule) {
        (Outcome::Done(bytes), Some(report)) => {
            let warnings: Vec<String> = report.warnings.iter().map(|warning| warning.to_string()).collect();
            assert!(warnings.is_empty(), "{} in the order {schedule:?}: {}", case.name, warnings.join("\n"));
            bytes
        }
        (Outcome::Done(_), None) => panic!("{} has no report", case.name),
        (Outcome::Fault(_, text) | Outcome::Unreadable(text), _) => {
            panic!("{} is convicted in the order {schedule:?}:\n{text}", case.name)
        }
    })
}

#[test]
fn no_correct_kernel_is_convicted() {
    for (case, expected) in CASES {
        for bytes in run(case) {
            let floats = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
            for (i, got) in floats.enumerate() {
                assert_eq!(got, expected(i), "{}, element {i}", case.name);
            }
        }
    }
}

#[test]
fn no_correct_kernel_of_other_types_is_convicted() {
    for (case, expected) in OF_BYTES {
        for (i, got) in run(case).into_iter().flat_map(|bytes| bytes.into_iter().enumerate()) {
            assert!(expected(i).is_none_or(|byte| byte == got), "{}, byte {i}: {got}", case.name);
        }
    }
}

#[test]
fn every_kernel_of_the_corpus_is_run() {
    let mut names: Vec<&str> = CASES.iter().map(|(case, _)| case.name).collect();
    names.extend(OF_BYTES.iter().map(|(case, _)| case.name));
    names.sort_unstable();
    assert_eq!(names, sources("correct"));
}
