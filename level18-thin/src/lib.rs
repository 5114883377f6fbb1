//! Level 18: thin products.

use rung::{Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Shape, Target, Tile, Types};

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    number: 18,
    name: "level18-thin",
    title: "thin products",
    idea: "where C is thin, warps stream the large matrix into registers once and share out K, without tiles in shared \
           memory",
    from: Some("level9-split-k"),
    path: "level18-thin/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_thin",
    variants: &[],
    tiles: &[("BM", 4), ("BN", 1), ("BK", 1024), ("WM", 4), ("WN", 1), ("WK", 128), ("SPLIT", 1)],
    types: &[Types::usual(Dtype::F32), Types::usual(Dtype::F64), Types::usual(Dtype::BF16), Types::usual(Dtype::F16), Types::usual(Dtype::TF32)],
    shipped: &[],
    space: &[],
    ptx: rung::beside(&[]),
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wn, wk] = ["BM", "BN", "BK", "WM", "WN", "WK"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), tiles["SPLIT"]),
            block: Dim3::xy((bm / wm) * (bn / wn) * (bk / wk) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        architecture: Target::since(90),
        decomposition: Decomposition::SplitK { parts: "SPLIT", room: Some(1 << 22) },
        awkward: |tiles, tile| {
            let shape = |m, n, k| Shape { m, n, k };
            match tiles["SPLIT"] {
                1 => Vec::new(),
                parts => vec![
                    // Two steps or three for each part.
                    shape(tile.m + 1, tile.n, (5 * parts / 2 + 1) * tile.k - 1),
                    // As many tiles as the shipped split sums have room for.
                    shape(8 * tile.m, 16 * tile.n, 3),
                ],
            }
        },
        ..Needs::USUAL
    },
};
