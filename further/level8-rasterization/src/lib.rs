//! Level 8: rasterization.

use gemm::{Archive, Dim3, Dtype, LaunchShape, Level, Needs, Target, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level8-rasterization",
    title: "rasterization",
    idea: "the blocks go through C in bands, so that those that run together share what the L2 cache keeps",
    from: Some("level7-register-pipeline"),
    path: "further/level8-rasterization/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_rasterization",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("BK", 8), ("WM", 64), ("WN", 64), ("TM", 8), ("TN", 16), ("STAGES", 4)],
    types: &[
        Types::usual(Dtype::F32),
        // A double is two registers wide: half the sums fit into those of a thread.
        Types { tiles: Some(&[64, 128, 8, 32, 64, 8, 8, 4]), ..Types::usual(Dtype::F64) },
    ],
    shipped: &[&[128, 256, 8, 64, 64, 8, 16, 4], &[64, 128, 8, 32, 64, 8, 8, 4], &[64, 64, 8, 32, 32, 4, 8, 4]],
    space: &[
        ("BM", &[64, 128]),
        ("BN", &[64, 128, 256]),
        ("BK", &[8, 16, 32]),
        ("WM", &[32, 64]),
        ("WN", &[32, 64]),
        ("TM", &[4, 8, 16]),
        ("TN", &[4, 8, 16]),
        ("STAGES", &[2, 3, 4]),
    ],
    ptx: &PTX,
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
        architecture: Target::since(80),
        asynchronous_copies: true,
        // With its default, 3, ptxas puts the multiply-adds into another order, and neighbours share fewer operands.
        optimization: Some(1),
        shared: |c| {
            let [bm, bn, bk, stages] = ["BM", "BN", "BK", "STAGES"].map(|name| c.tiles[name]);
            stages * bk * ((bm + bn) * c.dtype.input.bytes() as u32 + 16)
        },
        ..Needs::USUAL
    },
};
