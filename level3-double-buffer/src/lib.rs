//! Level 3: double buffering.

use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level3-double-buffer",
    title: "double buffering",
    idea: "the next tile is fetched while this one is computed, at the price of twice the shared memory",
    from: Some("level2-register"),
    path: "level3-double-buffer/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_double_buffer",
    variants: &[],
    tiles: &[("BM", 32), ("BN", 32), ("BK", 32), ("TM", 8), ("TN", 4)],
    types: &Types::USUAL,
    shipped: &[&[32, 32, 32, 8, 4], &[128, 128, 8, 8, 8]],
    space: &[
        ("BM", &[16, 32, 64, 128]),
        ("BN", &[16, 32, 64, 128]),
        ("BK", &[8, 16, 32]),
        ("TM", &[2, 4, 8]),
        ("TN", &[2, 4, 8]),
    ],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, bk, tm, tn] = ["BM", "BN", "BK", "TM", "TN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn), shape.m.div_ceil(bm)),
            block: Dim3::xy((bm / tm) * (bn / tn), 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    // ANCHOR_END: launch
    needs: Needs::USUAL,
};
