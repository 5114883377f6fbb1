//! Level 4: vectorized memory access.

use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types, Variant};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level4-vectorized",
    title: "vectorized memory access",
    idea: "memory is moved 16 bytes at a time; padding and order keep the wide accesses free of bank conflicts",
    from: Some("level2-register"),
    path: "further/level4-vectorized/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_vectorized",
    variants: &[
        Variant { name: "spread", defines: &[("CONFLICTS", 0)], sum: None },
        Variant { name: "conflicts", defines: &[("CONFLICTS", 1)], sum: None },
    ],
    tiles: &[("BM", 128), ("BN", 128), ("BK", 8), ("TM", 8), ("TN", 8)],
    types: &Types::USUAL,
    shipped: &[&[128, 128, 8, 8, 8], &[64, 64, 8, 8, 4], &[32, 32, 8, 4, 4]],
    space: &[("BM", &[32, 64, 128]), ("BN", &[32, 64, 128]), ("BK", &[8, 16]), ("TM", &[4, 8]), ("TN", &[4, 8])],
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
