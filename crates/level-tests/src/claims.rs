//! The tests of a level, written once: each level's `tests` names itself, and no more.

/// What every level must hold: `level_tests::level_tests!(level0_naive::LEVEL);` in a level's `tests/level.rs`.
/// The crate that calls it needs `insta` and `proptest`.
#[macro_export]
macro_rules! level_tests {
    ($($level:tt)+) => {
        $crate::kernel_tests!($($level)+);

        #[test]
        fn reports_read_so() {
            insta::assert_snapshot!("reports", $crate::reports(&LEVEL).unwrap());
        }

        #[test]
        fn bad_usage_is_one_clear_line() {
            $crate::bad_usage_is_one_clear_line(&LEVEL, env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")))).unwrap();
        }

        #[test]
        fn counts_are_the_hardwares() {
            assert_eq!($crate::hardware::differences(&LEVEL), Ok(vec![]));
        }
    };
}

/// What every kernel must hold, a level's and the summit's: `level_tests::kernel_tests!(summit::kernels::thin::KERNEL);`.
/// The crate that calls it needs `proptest`.
#[macro_export]
macro_rules! kernel_tests {
    ($($level:tt)+) => {
        use proptest::prelude::*;
        use $crate::{Device, Shape};
        use $($level)+ as LEVEL;

        #[test]
        fn awkward_shapes_are_exact_on_the_emulator() {
            $crate::every_awkward_shape_is_exact(&LEVEL, &Device::Emulator).unwrap();
        }

        #[test]
        fn awkward_shapes_are_exact_on_a_gpu() {
            $crate::gpu().iter().for_each(|gpu| $crate::every_awkward_shape_is_exact(&LEVEL, gpu).unwrap());
        }

        #[test]
        fn the_grid_is_what_the_level_declares() {
            $crate::the_grid_is_what_the_level_declares(&LEVEL).unwrap();
        }

        #[test]
        fn order_of_blocks_changes_nothing() {
            $crate::order_of_blocks_changes_nothing(&LEVEL).unwrap();
        }

        proptest! {
            #![proptest_config(ProptestConfig { cases: $crate::cases(), failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn random_shapes_are_exact(m in 1..150u32, n in 1..150u32, k in 1..100u32, which in any::<prop::sample::Index>()) {
                let build = which.get(&LEVEL.shipped_builds()).clone();
                prop_assert_eq!($crate::is_exact(&Device::Emulator, &build, Shape { m, n, k }), Ok(()));
            }

            #[test]
            fn random_tile_sizes_are_refused_or_right(
                picks in prop::collection::vec(0..60u32, LEVEL.tiles.len()),
                dtype in prop::sample::select(LEVEL.dtypes().collect::<Vec<_>>()),
                (m, n, k) in (1..80u32, 1..80u32, 1..80u32),
            ) {
                prop_assert_eq!($crate::tile_sizes_are_refused_or_right(&LEVEL, &picks, dtype, Shape { m, n, k }), Ok(()));
            }
        }

        #[test]
        fn small_tiles_are_refused_or_right() {
            $crate::small_tiles_are_refused_or_right(&LEVEL).unwrap();
        }

        #[test]
        fn shipped_ptx_is_fresh() {
            $crate::shipped_ptx_is_fresh(&LEVEL).unwrap();
        }

        #[test]
        fn unfit_ptx_never_runs() {
            $crate::unfit_ptx_never_runs(&LEVEL).unwrap();
        }
    };
}

/// What a kernel must hold besides that takes factors, leading dimensions and B as N × K, or that refuses them:
/// `level_tests::form_tests!(summit::kernels::thin::KERNEL);`.
#[macro_export]
macro_rules! form_tests {
    ($level:path) => {
        #[test]
        fn every_form_is_exact_on_the_emulator() {
            $crate::every_form_is_exact(&$level, &$crate::Device::Emulator).unwrap();
        }

        #[test]
        fn every_form_is_exact_on_a_gpu() {
            $crate::gpu().iter().for_each(|gpu| $crate::every_form_is_exact(&$level, gpu).unwrap());
        }
    };
}

/// What a level must hold besides whose blocks go on to other tiles: `level_tests::persistent_tests!(level20_persistent::LEVEL);`.
#[macro_export]
macro_rules! persistent_tests {
    ($level:path) => {
        #[test]
        fn few_blocks_are_exact_on_the_emulator() {
            $crate::few_blocks_are_exact(&$level, &$crate::Device::Emulator).unwrap();
        }

        #[test]
        fn few_blocks_are_exact_on_a_gpu() {
            $crate::gpu().iter().for_each(|gpu| $crate::few_blocks_are_exact(&$level, gpu).unwrap());
        }
    };
}

/// Every wrong version of the kernel is caught, or explained: `level_tests::mutation_tests!(level0_naive::LEVEL, without: ["drop a
/// barrier"]);` beside it in `tests/level.rs`, with the record `tests/mutations.json`. It names the rules that find nothing in the kernel.
#[macro_export]
macro_rules! mutation_tests {
    ($level:path, without: $without:expr) => {
        #[test]
        fn every_mutant_is_caught_or_explained() {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutations.json");
            let record = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mutations.json"));
            $crate::mutations::record_holds(&$level, &$without, record, &file).unwrap();
        }
    };
}
