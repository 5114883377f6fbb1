//! What every level must hold; the same file in each.

use common::device::Device;
use common::{Dtype, Shape, testing};
use level7_split_k::LEVEL;
use proptest::prelude::*;

#[test]
fn reports_read_so() {
    insta::assert_snapshot!("text", testing::texts(&LEVEL).unwrap());
    insta::assert_snapshot!("annotated", testing::annotated(&LEVEL).unwrap());
    insta::assert_snapshot!("json", testing::json(&LEVEL).unwrap());
}

#[test]
fn awkward_shapes_are_exact_on_the_emulator() {
    testing::every_awkward_shape_is_exact(&LEVEL, &Device::Emulator).unwrap();
}

#[test]
fn awkward_shapes_are_exact_on_a_gpu() {
    testing::gpu().iter().for_each(|gpu| testing::every_awkward_shape_is_exact(&LEVEL, gpu).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_shapes_are_exact(m in 1..150u32, n in 1..150u32, k in 1..100u32, which in any::<prop::sample::Index>()) {
        let configuration = which.get(&LEVEL.shipped_configurations()).clone();
        prop_assert_eq!(testing::is_exact(&Device::Emulator, &LEVEL, &configuration, Shape { m, n, k }), Ok(()));
    }

    #[test]
    fn random_tile_sizes_are_refused_or_right(
        picks in prop::collection::vec(0..60u32, LEVEL.tiles.len()),
        dtype in prop::sample::select(Dtype::ALL.to_vec()),
        (m, n, k) in (1..80u32, 1..80u32, 1..80u32),
    ) {
        prop_assert_eq!(testing::tile_sizes_are_refused_or_right(&LEVEL, &picks, dtype, Shape { m, n, k }), Ok(()));
    }
}

#[test]
fn shipped_ptx_is_fresh() {
    testing::shipped_ptx_is_fresh(&LEVEL).unwrap();
}

#[test]
fn unfit_ptx_never_runs() {
    testing::unfit_ptx_never_runs(&LEVEL).unwrap();
}

#[test]
fn bad_usage_is_one_clear_line() {
    testing::bad_usage_is_one_clear_line(&LEVEL, env!("CARGO_BIN_EXE_level7-split-k")).unwrap();
}

#[test]
fn counts_are_the_hardwares() {
    assert_eq!(testing::hardware::differences(&LEVEL), Ok(vec![]));
}
