//! What a GPU cannot run is refused in a line, or gives way to tile sizes that it can; and the tables that say so.

mod lab;

use std::sync::LazyLock;

use common::cli::Arguments;
use common::execute;
use device::Device;
use device::nvrtc::{self, nowhere};
use emulator::gpu::GPUS;
use gemm::fit::{Card, fitting};
use gemm::{Dtype, Error, Level, Types};
use lab::{lab, refused};
use levels::LEVELS;

/// A level's run on the emulator: the tile sizes that ran and whether the product is right, or the error.
fn ran(level: &'static Level, words: &str) -> Result<(String, bool), Error> {
    let words = format!("{words} --backend emulator --size 32").split(' ').map(String::from).collect::<Vec<_>>();
    let arguments = Arguments::from_words(level, words).unwrap();
    let report = execute(level, &arguments, &Device::Emulator, nowhere)?;
    Ok((report.configuration.tiles.to_string(), report.check.right))
}

#[test]
fn levels_0_to_5_and_18_run_on_every_modelled_gpu_and_the_others_on_those_that_have_their_instructions() {
    for (gpu, level) in GPUS.iter().flat_map(|gpu| LEVELS.map(|level| (gpu, level))) {
        for dtype in level.dtypes() {
            let found = fitting(level.default_build(dtype), &Card::of_architecture(gpu.sm()));
            let runs = match (level.number().unwrap(), dtype) {
                (0..=5, _) => true,
                (18, _) => dtype != Dtype::BF16 || gpu.sm() >= 80, // a conversion to bf16 came with sm_80
                (11, Dtype::F64) => gpu.sm() >= 90,
                (12.., _) => gpu.sm() == 90, // `wgmma` came with Hopper and went with it
                _ => gpu.sm() >= 80,
            };
            assert_eq!(found.is_ok(), runs, "{} on {}, {dtype}: {found:?}", level.name, gpu.name);
        }
    }
}

#[test]
fn a_missing_instruction_is_named() {
    for gpu in ["p100", "v100", "t4"] {
        let error = ran(&levels::level6_async_copy::LEVEL, &format!("--gpu {gpu}")).unwrap_err().to_string();
        let (message, hint) = error.split_once("\nhint: ").unwrap();
        assert!(message.contains("needs `cp.async.") && message.contains("which came with sm_80"), "{error}");
        assert!(!message.contains('\n') && hint.contains("`lab cards`"), "{error}");
    }
    assert!(ran(&levels::level6_async_copy::LEVEL, "--gpu a100").unwrap().1);
    assert!(ran(&levels::level5_warp_tiling::LEVEL, "--gpu p100").unwrap().1);
}

#[test]
fn a_default_that_does_not_fit_gives_way_and_what_was_asked_for_does_not() {
    // 130 KiB of shared memory in f64, where a block of an RTX 3090 may have 99: every level's own default has less.
    const SPLIT_K: &Level = &levels::level9_split_k::LEVEL;
    static LARGE: LazyLock<[Types; 1]> = LazyLock::new(|| {
        let of_f64 = SPLIT_K.types.iter().find(|types| types.dtype == Dtype::F64).unwrap();
        [Types { tiles: Some(&[64, 128, 16, 64, 32, 8, 8, 8, 3, 1]), ..*of_f64 }]
    });
    static LEVEL: LazyLock<Level> = LazyLock::new(|| Level { types: &*LARGE, ..*SPLIT_K });
    let level: &'static Level = &LEVEL;
    let default = level.default_build(Dtype::F64);
    let (tiles, right) = ran(level, "--gpu rtx3090 --dtype f64").unwrap();
    assert!(right && tiles != default.configuration.tiles.to_string(), "{tiles}");
    assert_eq!(ran(level, "--gpu h200 --dtype f64").unwrap().0, default.configuration.tiles.to_string());
    let asked = ran(level, "--gpu rtx3090 --dtype f64 --define STAGES=3").unwrap_err().to_string();
    assert!(asked.contains("needs 133120 bytes of shared memory per block, and RTX 3090 has 101376"), "{asked}");
    if nvrtc::find().is_ok() {
        // No other kernel than that of a file is what was asked for.
        let file = std::env::temp_dir().join(format!("own-split-k-{}.cu", std::process::id()));
        std::fs::write(&file, format!("{}\n// Mine.\n", level.default_build(Dtype::F64).source().text)).unwrap();
        let words = ["--gpu", "rtx3090", "--dtype", "f64", "--size", "32", "--kernel", file.to_str().unwrap()];
        let arguments = Arguments::from_words(level, words.map(String::from).to_vec()).unwrap();
        let error = execute(level, &arguments, &Device::Emulator, nvrtc::find).unwrap_err().to_string();
        assert!(error.contains("needs 133120 bytes of shared memory per block, and RTX 3090 has 101376"), "{error}");
        std::fs::remove_file(file).unwrap();
    }
    let card = Card::of_architecture(86);
    let (_, note) = fitting(default, &card).unwrap();
    assert!(note.is_some_and(|note| note.ends_with(&format!("running {tiles} instead"))));
}

#[test]
fn a_comparison_says_which_rows_cannot_run() {
    let output = lab("compare --backend emulator --gpu t4 --levels 1,6 --size 32 --no-cpu");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("failed: level6-async-copy needs `cp.async."), "{output:?}");
    let output = lab("compare --backend emulator --gpu rtx4090 --levels 9 --dtype f64 --size 32 --no-cpu");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("level9-split-k, BM=64 BN=128 BK=8"), "{output:?}");
}

#[test]
fn the_tables_of_cards() {
    let t4 = lab("cards --sm 75");
    let row = |name: &str| t4.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_string();
    assert!(row("level6-async-copy").contains("cannot run: Feature 'cp.async' requires .target sm_80"), "{t4:?}");
    assert!(row("level5-warp-tiling").contains('%'), "{t4:?}");
    let all = lab("cards --dtype f64");
    assert_eq!(all.stdout.lines().count(), 48, "a head and 47 configurations: {all:?}");
    assert!(lab("cards --csv").stdout.lines().count() > 9 * 84);
    refused("cards --sm 61", "known are 60, 70, 75, 80, 86, 89, 90, 100, 120");
}
