//! The fault corpus: one small kernel per kind of fault and per bug in the documents that this project
//! started from, each with the message that it must give: those of a kind are a snapshot beside its folder.

use std::collections::BTreeMap;

use emulator::{Dim3, Schedule};

use crate::harness::Arg::{self, Doubles, Floats, Freed, Int, Ints, Null, Unwritten, Zeros};
use crate::harness::{Case, Map, Outcome, assert_words, sources};

const A: Arg = Floats("A", 64);
const GROUP_C: Arg = Unwritten("C", 2048);
const C: Arg = Floats("C", 64);
const UNWRITTEN_C: Arg = Unwritten("C", 256);

/// 16 x 16 floats, moved by 8 x 8.
const MATRIX: Map = Map::floats(Floats("A", 256), &[16, 16], &[8, 8]);
const RESULT: Map = Map::floats(Floats("C", 256), &[16, 16], &[8, 8]);
const TOO_MANY_ROWS: Map = Map::floats(Floats("A", 200), &[16, 16], &[8, 8]);
const CUBE: Map = Map::floats(Floats("A", 512), &[8, 8, 8], &[8, 4, 2]);
const OF_FREED: Map = Map::floats(Freed("A", 256), &[16, 16], &[8, 8]);
const OF_UNWRITTEN: Map = Map::floats(Unwritten("A", 1024), &[16, 16], &[8, 8]);

/// One warp, two warps, an 8 × 8 block.
const WARP: [u32; 2] = [32, 1];
const TWO_WARPS: [u32; 2] = [64, 1];
const SQUARE: [u32; 2] = [8, 8];

pub const CASES: &[Case] = &[
    Case::new("barrier/cluster_arrives_twice", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("barrier/cluster_fewer_bytes_in_one_block", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("barrier/cluster_mbarrier_before_cluster_barrier", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("barrier/cluster_mbarrier_of_another_block", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("barrier/cluster_relaxed_without_fence", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("barrier/cluster_waits_without_arrival", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("no_progress/cluster_block_never_arrives", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("no_progress/cluster_more_bytes_in_one_block", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("no_progress/cluster_warp_goes_around", 2, TWO_WARPS, &[A, Unwritten("C", 512)]),
    Case::new("out_of_bounds/cluster_mask_too_wide", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("out_of_bounds/cluster_peer_past_end", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("out_of_bounds/cluster_rank_too_large", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_arrive_at_left_block", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_arrive_of_block_scope", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_before_start", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_block_barrier_between", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_fence_of_block_scope", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_leaves_too_early", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_leaves_while_read", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_mbarrier_not_fenced", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_multicast_not_awaited", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_multicast_to_left_block", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_no_wait", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_relaxed_arrival", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_queue_one_barrier", 2, WARP, &[Floats("A", 640), Unwritten("C", 2560), Int(10)]),
    Case::new("race/cluster_other_cluster", 4, WARP, &[UNWRITTEN_C]),
    Case::new("out_of_bounds/cluster_peer_by_own_load", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("race/cluster_stage_not_given_back", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("uninitialised/cluster_peer", 2, WARP, &[A, UNWRITTEN_C]),
    Case::new("out_of_bounds/global_read_past_end", 2, WARP, &[A, C]),
    Case::new("out_of_bounds/global_write_past_end", 3, WARP, &[C, Int(64)]),
    Case::new("out_of_bounds/global_read_before_start", 2, WARP, &[A, C]),
    Case::new("out_of_bounds/global_wide_across_end", 1, WARP, &[Floats("A", 126), C]),
    Case::new("out_of_bounds/copy_of_more_than_its_size", 1, WARP, &[A, C, Int(8)]),
    Case::new("out_of_bounds/null_pointer", 1, WARP, &[Null, C]),
    Case::new("out_of_bounds/shared_past_end", 1, TWO_WARPS, &[A, C]),
    Case::new("out_of_bounds/shared_before_start", 1, TWO_WARPS, &[A, C]),
    Case::new("out_of_bounds/shared_into_neighbour", 1, WARP, &[A, C, Int(8)]),
    Case::new("out_of_bounds/shared_write_past_end", 1, TWO_WARPS, &[A, C]),
    Case { dynamic_shared: 32 * 4, ..Case::new("out_of_bounds/dynamic_shared_too_small", 1, TWO_WARPS, &[A, C]) },
    Case::new("out_of_bounds/local_past_end", 1, WARP, &[Floats("A", 512), C, Int(9)]),
    Case::new("misaligned/global_vector", 1, [4, 1], &[A, C, Int(1)]),
    Case::new("misaligned/global_vector_store", 1, [8, 1], &[C]),
    Case::new("misaligned/shared_vector", 1, WARP, &[Floats("A", 1024), C]),
    Case::new("use_after_free/freed_input", 1, WARP, &[Freed("A", 64), C]),
    Case::new("use_after_free/freed_output", 1, WARP, &[A, Freed("C", 64)]),
    Case::new("race/barrier_missing_before_read", 1, TWO_WARPS, &[A, C]),
    Case::new("race/tiled_without_second_barrier", 1, SQUARE, &[Floats("A", 128), Floats("B", 128), C, Int(16)]),
    Case::new("race/warp_without_syncwarp", 1, WARP, &[A, C]),
    Case::new("race/warp_sync_across_warps", 1, TWO_WARPS, &[A, C]),
    Case::new("race/fence_is_no_barrier", 1, TWO_WARPS, &[A, C]),
    Case::new("race/atomic_and_plain", 1, TWO_WARPS, &[C]),
    Case::new("race/one_store_shared", 1, WARP, &[A, C]),
    Case::new("race/one_store_global", 1, WARP, &[A, C]),
    Case::new("race/lost_update", 2, WARP, &[A, C]),
    Case::new("race/global_in_block", 1, TWO_WARPS, &[A, Floats("C", 128)]),
    Case::new("race/global_between_blocks", 2, WARP, &[C]),
    Case::new("race/counter_without_atomic", 2, WARP, &[A, C]),
    Case::new("race/counter_not_awaited", 2, WARP, &[A, C]),
    Case::new("race/counter_before_the_part", 2, TWO_WARPS, &[Floats("A", 128), C]),
    Case::new("race/parts_not_awaited", 2, WARP, &[A, C]),
    Case::new("race/stencil_in_place", 2, WARP, &[Floats("C", 65)]),
    Case::new("race/copy_store_under_way", 1, TWO_WARPS, &[A, C]),
    Case::new("race/copy_waited_for_too_late", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_load_of_own_stores", 1, TWO_WARPS, &[A, Unwritten("C", 512)]),
    Case::new("race/bulk_load_of_another_blocks_stores", 2, TWO_WARPS, &[A, Zeros("ready", 1), Unwritten("C", 512)]),
    Case::new(
        "race/tensor_map_changed_under_way",
        1,
        WARP,
        &[Arg::Map(&MATRIX), Unwritten("map", 128), Floats("B", 320), UNWRITTEN_C],
    ),
    Case::new("race/copy_barrier_before_wait", 1, TWO_WARPS, &[A, C]),
    Case::new("race/copy_over_copy", 1, WARP, &[A, C]),
    Case::new("race/copy_waited_without_barrier", 1, TWO_WARPS, &[A, C]),
    Case::new("race/message_without_fence", 2, WARP, &[A, C]),
    Case::new("race/message_not_acquired", 2, WARP, &[A, C]),
    Case::new("race/message_of_block_scope", 2, WARP, &[A, C]),
    Case::new("race/message_relaxed", 2, WARP, &[A, C]),
    Case::new("race/message_plain_flag", 2, WARP, &[A, C]),
    Case::new("race/look_back_without_fence", 4, WARP, &[A, C]),
    Case::new("race/last_block_without_fence", 4, WARP, &[A, C]),
    Case::new("race/last_block_fence_in_block", 4, WARP, &[A, C]),
    Case::new("race/named_barrier_of_others", 1, [96, 1], &[A, C]),
    Case::new("race/arrive_is_no_wait", 1, TWO_WARPS, &[A, C]),
    Case::new("race/buffer_not_empty", 1, TWO_WARPS, &[A, C, Int(4)]),
    Case::new("race/fence_for_barrier", 1, TWO_WARPS, &[A, C]),
    Case::new("race/lock_without_fence", 4, WARP, &[A, C]),
    Case::new("race/histogram_not_awaited", 1, TWO_WARPS, &[A, C]),
    Case::new("race/counter_set_plainly", 2, WARP, &[A, C]),
    Case::new("race/block_atomics_across_blocks", 2, WARP, &[A, C]),
    Case::new("race/volatile_counter", 1, TWO_WARPS, &[A, C]),
    Case::new("race/volatile_without_syncwarp", 1, TWO_WARPS, &[A, C]),
    Case::new("race/older_write_hidden", 1, TWO_WARPS, &[A, C]),
    Case::new("race/syncwarp_of_others", 1, WARP, &[A, C]),
    Case::new("race/read_only_cache", 1, TWO_WARPS, &[A, C]),
    Case::new("race/read_only_cache_own", 1, TWO_WARPS, &[A, C]),
    Case::new("race/copy_source_overwritten", 1, TWO_WARPS, &[A, C]),
    Case::new("race/copy_source_after_barrier", 1, TWO_WARPS, &[A, C]),
    Case::new("race/copy_of_a_part", 1, TWO_WARPS, &[A, C]),
    Case::new("uninitialised/shared_to_result", 1, WARP, &[A, C]),
    Case::new("uninitialised/shared_to_address", 1, WARP, &[Ints("A", 32), C]),
    Case::new("uninitialised/shared_to_branch", 1, WARP, &[C]),
    Case::new("uninitialised/global_to_result", 1, WARP, &[A, UNWRITTEN_C]),
    Case::new("uninitialised/local_to_result", 1, WARP, &[A, C, Int(5)]),
    Case::new("uninitialised/tile_column", 1, SQUARE, &[A, Floats("B", 64), C]),
    Case::new("uninitialised/through_shuffle", 1, WARP, &[A, C]),
    Case::new("uninitialised/from_absent_lane", 1, WARP, &[A, C]),
    Case::new("uninitialised/lanes_that_are_not", 1, [12, 1], &[A, C]),
    Case::new("uninitialised/copy_under_way", 1, WARP, &[A, C]),
    Case::new("uninitialised/mma_row", 1, WARP, &[Zeros("A", 64), C]),
    Case::new("uninitialised/register", 1, WARP, &[A, C]),
    Case::new("uninitialised/atomic_on_unwritten", 1, WARP, &[Ints("A", 32), C]),
    Case::new("uninitialised/host_reads_unwritten", 1, WARP, &[A, UNWRITTEN_C]),
    Case::new("uninitialised/host_reads_copy_of_unwritten", 1, WARP, &[A, C]),
    Case::new("barrier/half_a_warp", 1, WARP, &[A, C]),
    Case::new("barrier/inside_guard", 1, SQUARE, &[Floats("A", 128), Floats("B", 128), C, Int(5)]),
    Case::new("barrier/different_counts", 1, WARP, &[C]),
    Case::new("barrier/named_barrier_too_few", 1, TWO_WARPS, &[C]),
    Case::new("barrier/two_barriers", 1, TWO_WARPS, &[C]),
    Case::new("barrier/warp_mask", 1, WARP, &[A, C]),
    Case::new("barrier/arrive_twice", 1, TWO_WARPS, &[C]),
    Case::new("barrier/different_thread_counts", 1, TWO_WARPS, &[C]),
    Case::new("barrier/count_off_warps", 1, TWO_WARPS, &[C, Int(40)]),
    Case::new("barrier/number_too_large", 1, TWO_WARPS, &[C, Int(16)]),
    Case::new("barrier/one_too_many", 1, [96, 1], &[Floats("C", 96)]),
    Case::new("barrier/not_in_its_mask", 1, WARP, &[A, C]),
    Case::new("barrier/two_masks", 1, WARP, &[C]),
    Case::new("barrier/red_and_sync", 1, TWO_WARPS, &[C]),
    Case::new("barrier/two_numbers_in_a_warp", 1, WARP, &[C]),
    Case::new("barrier/registers_of_half_a_group", 1, [384, 1], &[A, C]),
    Case::new("barrier/registers_of_some_lanes", 1, [384, 1], &[A, C]),
    Case::new("barrier/registers_more_than_there_are", 1, [384, 1], &[A, C]),
    Case::new("barrier/registers_kept_from_the_launch", 1, [384, 1], &[A, C]),
    Case::new("barrier/one_number_for_two_pairs", 1, [128, 1], &[Floats("A", 128), Floats("C", 128)]),
    Case::new("no_progress/endless_loop", 1, WARP, &[C, Int(0)]),
    Case::new("no_progress/flag_never_set", 1, WARP, &[Zeros("flag", 1), C]),
    Case::new("no_progress/lock_within_warp", 1, WARP, &[Zeros("lock", 1), C]),
    Case { resident_blocks: Some(30), ..Case::new("no_progress/grid_barrier_too_large", 40, TWO_WARPS, &[C]) },
    Case::new("no_progress/while_true", 2, TWO_WARPS, &[C]),
    Case::new("no_progress/waits_in_a_circle", 2, WARP, &[Zeros("flag", 2), C]),
    Case::new("barrier/mbarrier_not_initialised", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_neighbour_not_initialised", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_used_after_its_end", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_initialised_twice", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_overwritten", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_read", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_too_many_arrivals", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_counted_twice", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_count_of_zero", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_more_bytes_than_expected", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_bytes_out_of_range", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_last_without_completing", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_state_of_an_old_phase", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_state_of_another", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_no_barrier_after_init", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_arrives_and_does_not_wait", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_asked_once", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_wrong_parity", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_store_after_arrival", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_relaxed_arrival", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_stage_given_back_early", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_one_lane_arrives", 1, TWO_WARPS, &[A, C]),
    Case::new("race/mbarrier_copies_read_early", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/mbarrier_end_too_early", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/mbarrier_arrivals_missing", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/mbarrier_first_wait_of_the_producer", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/mbarrier_each_waits_first", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/mbarrier_bytes_missing", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/mbarrier_behind_a_barrier", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/mbarrier_wait_by_the_clock", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_read_without_wait", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_read_a_phase_early", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_written_while_it_lands", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_over_what_is_read", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_over_bulk", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_source_overwritten", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/group_in_a_branch", 1, [128, 1], &[A, GROUP_C]),
    Case::new("barrier/group_of_different_operands", 1, [128, 1], &[A, GROUP_C]),
    Case::new("barrier/group_of_half_a_warp", 1, [128, 1], &[A, GROUP_C]),
    Case::new("barrier/group_of_three_warps", 1, [96, 1], &[A, GROUP_C]),
    Case::new("barrier/group_of_two_products", 1, [128, 1], &[A, GROUP_C]),
    Case::new("barrier/group_waits_for_a_warp", 1, [128, 1], &[A, GROUP_C]),
    Case::new("misaligned/group_address_shifted_left", 1, [128, 1], &[A, GROUP_C]),
    Case::new("out_of_bounds/group_into_neighbour", 1, [128, 1], &[A, GROUP_C]),
    Case::new("out_of_bounds/group_past_the_end", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_a_overwritten", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_before_the_copy", 1, [128, 1], &[Floats("A", 512), GROUP_C]),
    Case::new("race/group_fence_of_one_thread", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_never_fenced", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_not_committed", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_of_another_shape", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_one_warp_waits", 1, [128, 1], &[Floats("A", 512), GROUP_C]),
    Case::new("race/group_operand_overwritten", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_stage_given_back_early", 1, [160, 1], &[Floats("A", 600), GROUP_C, Int(5)]),
    Case::new("race/group_stage_of_the_last_given_back", 1, [160, 1], &[Floats("A", 600), GROUP_C, Int(5)]),
    Case::new("race/group_sums_read_early", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_sums_scaled_after_fence", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_without_barrier", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_without_proxy_fence", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/group_wrong_parity", 1, [128, 1], &[Floats("A", 512), GROUP_C]),
    Case::new("uninitialised/group_of_unwritten", 1, [128, 1], &[A, GROUP_C]),
    Case::new("race/bulk_store_without_proxy_fence", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_fence_before_stores", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_fence_of_one_thread", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_without_barrier", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_read_not_awaited", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_awaited_by_others", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_no_barrier_behind_wait", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_not_committed", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_one_group_left", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_store_read_back_early", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_in_place_by_rounds_of_reads", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_source_stored_by_another", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_source_of_another_phase", 1, TWO_WARPS, &[A, C]),
    Case::new("race/tensor_box_replaced_early", 1, TWO_WARPS, &[Floats("C", 256), Arg::Map(&RESULT)]),
    Case::new("race/bulk_under_way_at_the_end", 1, TWO_WARPS, &[A, C]),
    Case::new("race/bulk_never_awaited", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/bulk_bytes_not_expected", 1, TWO_WARPS, &[A, C]),
    Case::new("barrier/bulk_half_expected", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/bulk_more_expected", 1, TWO_WARPS, &[A, C]),
    Case::new("no_progress/bulk_stage_not_given_back", 1, TWO_WARPS, &[A, C]),
    Case::new("misaligned/bulk_size", 1, TWO_WARPS, &[A, C]),
    Case::new("misaligned/bulk_source", 1, TWO_WARPS, &[A, C]),
    Case::new("out_of_bounds/bulk_past_the_end", 1, TWO_WARPS, &[A, C]),
    Case::new("out_of_bounds/bulk_past_the_tile", 1, TWO_WARPS, &[A, C]),
    Case::new("uninitialised/bulk_brings_unwritten", 1, TWO_WARPS, &[Unwritten("A", 256), C]),
    Case::new("race/tensor_read_without_wait", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("race/tensor_store_without_proxy_fence", 1, TWO_WARPS, &[A, Arg::Map(&RESULT)]),
    Case::new("race/tensor_source_overwritten", 1, TWO_WARPS, &[A, Arg::Map(&RESULT)]),
    Case::new("race/tensor_stores_of_two_blocks", 2, TWO_WARPS, &[A, Arg::Map(&RESULT)]),
    Case::new("race/tensor_over_what_is_read", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("barrier/tensor_part_expected", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("no_progress/tensor_bytes_of_two", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("misaligned/tensor_destination", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("misaligned/tensor_coordinate", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("out_of_bounds/tensor_store_before_the_first_row", 1, TWO_WARPS, &[A, Arg::Map(&RESULT)]),
    Case::new("race/tensor_map_written_without_fence", 1, TWO_WARPS, &[Arg::Map(&MATRIX), Unwritten("map", 128), C]),
    Case::new(
        "race/tensor_map_not_released_by_a_barrier",
        1,
        TWO_WARPS,
        &[Arg::Map(&MATRIX), Unwritten("map", 128), C],
    ),
    Case::new("misaligned/tensor_map_in_struct", 1, TWO_WARPS, &[Arg::MapInGlobal(&MATRIX), C]),
    Case::new("out_of_bounds/tensor_larger_than_its_buffer", 1, TWO_WARPS, &[Arg::Map(&TOO_MANY_ROWS), C]),
    Case::new("out_of_bounds/tensor_past_the_tile", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("out_of_bounds/tensor_map_on_the_host", 1, TWO_WARPS, &[Null, C]),
    Case::new("out_of_bounds/tensor_multicast_to_none", 1, TWO_WARPS, &[Arg::Map(&MATRIX), C]),
    Case::new("trap/tensor_map_never_encoded", 1, TWO_WARPS, &[Arg::NoMap, C]),
    Case::new("trap/tensor_map_of_three_dimensions", 1, TWO_WARPS, &[Arg::Map(&CUBE), C]),
    Case::new("trap/tensor_reduce_of_floats", 1, TWO_WARPS, &[A, Arg::Map(&RESULT)]),
    Case::new("use_after_free/tensor_of_freed", 1, TWO_WARPS, &[Arg::Map(&OF_FREED), C]),
    Case::new("uninitialised/tensor_brings_unwritten", 1, TWO_WARPS, &[Arg::Map(&OF_UNWRITTEN), C]),
    Case::new("uninitialised/tensor_map_unwritten", 1, TWO_WARPS, &[Unwritten("map", 128), C]),
    Case::new("trap/assertion", 1, WARP, &[A, C]),
    // Lab report 10 of the book's sources: m = 13, n = 7, k = 11 in blocks of 8 × 8.
    Case {
        grid: Dim3::xy(2, 2),
        ..Case::new(
            "sources/guard_le",
            1,
            SQUARE,
            &[Doubles("C", 143), Doubles("A", 91), Doubles("B", 77), Int(13), Int(7), Int(11)],
        )
    },
    WHOLE_ROW_AND_COLUMN,
    // Analysis of the principle, of the book's sources: a 3 × 9 matrix times a 9 × 3, then 3 × 9 times 9 × 4.
    Case::new("sources/split_k_no_barrier", 1, [3, 3], &[Floats("A", 27), Floats("B", 27), Floats("C", 9), Int(9)]),
    Case::new(
        "sources/split_k_b_index",
        1,
        [4, 3],
        &[Floats("A", 30), Floats("B", 36), Floats("C", 12), Int(9), Int(4)],
    ),
    Case::new("sources/split_k_inner_loop", 1, [3, 3], &[Floats("A", 27), Floats("B", 36), Floats("C", 12), Int(9)]),
    // The same text: M = 6, off the tile of 4 × 4.
    Case {
        grid: Dim3::xy(2, 2),
        ..Case::new(
            "sources/last_part_of_k_dropped",
            1,
            [4, 4],
            &[Floats("A", 48), Floats("B", 64), Floats("C", 48), Int(6), Int(8), Int(8)],
        )
    },
];

/// Lab report 10: an 8 × 8 product whose block writes one row of shared memory from eight.
const WHOLE_ROW_AND_COLUMN: Case = Case::new(
    "sources/whole_row_and_column",
    1,
    SQUARE,
    &[Doubles("C", 64), Doubles("A", 64), Doubles("B", 64), Int(8), Int(8), Int(8)],
);

/// The message of a case that must not end well.
fn message(case: &Case) -> (String, String) {
    in_words(case, case.run("faults", true))
}

fn in_words(case: &Case, outcome: Outcome) -> (String, String) {
    match outcome {
        Outcome::Fault(kind, text) => (kind, text),
        Outcome::Unreadable(text) => ("uninitialised".to_string(), text),
        Outcome::Done(_) => panic!("{} ends as if nothing were wrong", case.name),
    }
}

#[test]
fn every_fault_is_convicted_in_these_words() {
    let mut said: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    for case in CASES {
        let (kind, text) = message(case);
        let (folder, name) = case.name.split_once('/').expect("a kind and a name");
        assert!(folder == kind || folder == "sources", "{} is convicted of {kind}:\n{text}", case.name);
        said.entry(folder).or_default().push((name, text));
    }
    for (folder, said) in said {
        assert_words(&format!("faults/{folder}"), said);
    }
}

/// Blocks run side by side and meet in any order: what is said of them must not depend on it.
#[test]
fn a_race_between_blocks_is_always_the_same_one() {
    for case in CASES.iter().filter(|case| case.name.starts_with("race/") && case.grid.x > 1) {
        let first = message(case);
        for _ in 0..100 {
            assert_eq!(message(case), first, "{}", case.name);
        }
    }
}

/// In another order of blocks and warps, another pair of accesses may be named.
#[test]
fn every_order_of_blocks_and_warps_is_convicted_of_the_same() {
    let mut wrong = Vec::new();
    for case in CASES {
        let first = message(case).0;
        for schedule in Schedule::ALL {
            let (kind, text) = in_words(case, case.run_in("faults", schedule));
            if kind != first {
                wrong.push(format!("{}, {first}, in the order {schedule:?}: {kind}\n{text}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where uses of a barrier overlap, another order of warps shows what becomes of the data.
#[test]
fn overlapping_uses_of_a_barrier_end_in_a_race_with_the_even_warps_first() {
    let case = CASES.iter().find(|case| case.name == "barrier/one_number_for_two_pairs").unwrap();
    let kind = |schedule| in_words(case, case.run_in("faults", schedule)).0;
    assert_eq!([Schedule::ShortTurns, Schedule::EvenFirst].map(kind), ["barrier", "race"]);
}

#[test]
fn every_message_says_where_who_and_what_to_look_at() {
    for case in CASES {
        let (_, text) = message(case);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit()), "{}: {first}", case.name);
        assert!(text.contains("\nhint: "), "{} has no hint:\n{text}", case.name);
        if case.name.contains("host_reads") {
            // The host is no thread, and has no line of kernel.cu.
            continue;
        }
        for wanted in
            [&format!("  --> crates/emulator/tests/faults/{}.cu:", case.name), "block (", "thread (", "warp ", "lane "]
        {
            assert!(text.contains(wanted), "{} does not say {wanted}:\n{text}", case.name);
        }
    }
}

#[test]
fn every_kernel_of_the_corpus_is_run() {
    let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    names.sort_unstable();
    assert_eq!(names, sources("faults"));
}

/// The product of a row-major M × K and a K × N matrix that hold 0, 1, 2, …
fn product(m: usize, n: usize, k: usize) -> Vec<f64> {
    let element = |i: usize| (0..k).map(|e| ((i / n * k + e) * (e * n + i % n)) as f64).sum();
    (0..m * n).map(element).collect()
}

#[test]
fn unchecked_the_whole_row_and_column_gives_a_wrong_product() {
    let Outcome::Done(bytes) = WHOLE_ROW_AND_COLUMN.run("faults", false) else { panic!("nothing else is wrong") };
    let c: Vec<f64> = bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    assert_ne!(c, product(8, 8, 8));
}

#[test]
fn the_last_part_of_k_is_lost_in_silence_where_m_and_n_fit_the_tile() {
    const OF_8: Case = Case::new(
        "sources/last_part_of_k_dropped",
        2,
        [4, 4],
        &[Floats("A", 32), Floats("B", 64), Floats("C", 32), Int(4), Int(8), Int(8)],
    );
    const OF_10: Case =
        Case { arguments: &[Floats("A", 40), Floats("B", 80), Floats("C", 32), Int(4), Int(8), Int(10)], ..OF_8 };
    for (case, k, right) in [(OF_8, 8, true), (OF_10, 10, false)] {
        let Outcome::Done(bytes) = case.run("faults", true) else { panic!("no access is wrong") };
        let c: Vec<f64> = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect();
        assert_eq!(c == product(4, 8, k), right, "K = {k}");
    }
}
