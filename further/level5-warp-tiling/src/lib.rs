//! Level 5: warp tiling.

use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level5-warp-tiling",
    title: "warp tiling",
    idea: "a warp computes a tile as square as possible, and its lanes share what they read from shared memory",
    from: Some("level4-vectorized"),
    path: "further/level5-warp-tiling/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_warp_tiling",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 128), ("BK", 8), ("WM", 32), ("WN", 64), ("TM", 8), ("TN", 8)],
    types: &Types::USUAL,
    shipped: &[&[128, 128, 8, 32, 64, 8, 8], &[64, 64, 16, 32, 32, 4, 8]],
    space: &[
        ("BM", &[64, 128]),
        ("BN", &[64, 128]),
        ("BK", &[8, 16]),
        ("WM", &[32, 64]),
        ("WN", &[32, 64]),
        ("TM", &[4, 8]),
        ("TN", &[4, 8]),
    ],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wn] = ["BM", "BN", "BK", "WM", "WN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn), shape.m.div_ceil(bm)),
            block: Dim3::xy((bm / wm) * (bn / wn) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    // ANCHOR_END: launch
    needs: Needs::USUAL,
};
