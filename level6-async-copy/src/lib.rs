//! Level 6: asynchronous copies.

use common::{Dim3, LaunchShape, Level, Needs, Tile};

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub const LEVEL: Level = Level {
    number: 6,
    name: "level6-async-copy",
    title: "asynchronous copies",
    path: "level6-async-copy/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_async_copy",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("BK", 16), ("WM", 64), ("WN", 64), ("TM", 8), ("TN", 16), ("STAGES", 3)],
    shipped: &[&[128, 256, 16, 64, 64, 8, 16, 3], &[64, 128, 16, 32, 64, 8, 8, 2], &[64, 64, 16, 32, 32, 4, 8, 3]],
    ptx: &[
        include_str!("../ptx/128x256x16x64x64x8x16x3-f32.ptx"),
        include_str!("../ptx/128x256x16x64x64x8x16x3-f64.ptx"),
        include_str!("../ptx/64x128x16x32x64x8x8x2-f32.ptx"),
        include_str!("../ptx/64x128x16x32x64x8x8x2-f64.ptx"),
        include_str!("../ptx/64x64x16x32x32x4x8x3-f32.ptx"),
        include_str!("../ptx/64x64x16x32x32x4x8x3-f64.ptx"),
    ],
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wn] = ["BM", "BN", "BK", "WM", "WN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), 1),
            block: Dim3::xy((bm / wm) * (bn / wn) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        // cp.async came with sm_80.
        architecture: 80,
        // With its default, 3, ptxas puts the multiply-adds into another order, and neighbours share fewer operands.
        optimization: Some(1),
        shared: |c| {
            let [bm, bn, bk, stages] = ["BM", "BN", "BK", "STAGES"].map(|name| c.tiles[name]);
            stages * bk * ((bm + bn) * c.dtype.bytes() + 16)
        },
    },
};
