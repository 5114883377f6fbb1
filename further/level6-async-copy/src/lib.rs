//! Level 6: asynchronous copies.

use gemm::{Archive, Dim3, Dtype, LaunchShape, Level, Needs, Target, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level6-async-copy",
    title: "asynchronous copies",
    idea: "tiles travel to shared memory while the block computes, without a stop in registers",
    from: Some("level5-warp-tiling"),
    path: "further/level6-async-copy/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_async_copy",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 128), ("BK", 16), ("WM", 32), ("WN", 64), ("TM", 8), ("TN", 8), ("STAGES", 3)],
    types: &[
        Types::usual(Dtype::F32),
        // A double is two registers wide: with half the tile, two blocks fit on an SM.
        Types { tiles: Some(&[64, 128, 16, 32, 64, 8, 8, 3]), ..Types::usual(Dtype::F64) },
    ],
    shipped: &[&[128, 128, 16, 32, 64, 8, 8, 3], &[64, 128, 16, 32, 64, 8, 8, 3], &[64, 64, 16, 32, 32, 4, 8, 3]],
    space: &[
        ("BM", &[64, 128]),
        ("BN", &[64, 128]),
        ("BK", &[8, 16, 32]),
        ("WM", &[32, 64]),
        ("WN", &[32, 64]),
        ("TM", &[4, 8]),
        ("TN", &[4, 8]),
        ("STAGES", &[2, 3, 4]),
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
    needs: Needs {
        // cp.async came with sm_80.
        architecture: Target::since(80),
        asynchronous_copies: true,
        shared: |c| {
            let [bm, bn, bk, stages] = ["BM", "BN", "BK", "STAGES"].map(|name| c.tiles[name]);
            stages * bk * ((bm + bn) * c.dtype.input.bytes() as u32 + 16)
        },
        ..Needs::USUAL
    },
};
