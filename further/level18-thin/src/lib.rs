//! Level 18: thin products.

use gemm::{Archive, Dim3, Dtype, LaunchShape, Level, Needs, Shape, Thin, Tile, Types};

/// Tile sizes that are shipped in f32: for one column of C, and for a few.
const F32: &[&[u32]] = &[&[4, 1, 1024, 4, 128], &[16, 1, 256, 4, 128], &[8, 4, 512, 8, 128], &[8, 8, 512, 8, 128]];
/// And in f64, where a vector has half as many elements.
const F64: &[&[u32]] = &[&[4, 1, 512, 4, 64], &[4, 4, 256, 4, 64], &[8, 8, 256, 8, 64]];

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level18-thin",
    title: "thin products",
    idea: "where C is a few columns wide, warps stream A into registers once and share out K, without tiles in shared \
           memory",
    from: Some("level0-naive"),
    path: "further/level18-thin/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_thin",
    variants: &[],
    tiles: &[("BM", 4), ("BN", 1), ("BK", 1024), ("WM", 4), ("WK", 128)],
    types: &[Types::usual(Dtype::F32).shipping(F32), Types::usual(Dtype::F64).shipping(F64)],
    shipped: &[],
    space: &[],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wk] = ["BM", "BN", "BK", "WM", "WK"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), 1),
            block: Dim3::xy((bm / wm) * (bk / wk) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        thin: Some(Thin { c: 256, k: 0 }),
        // Whole vectors, of which some lanes have none in the last step; and one column, also for tiles of several.
        awkward: |_, tile| [tile.n, 1].map(|n| Shape { m: tile.m + 1, n, k: tile.k + 16 }).to_vec(),
        ..Needs::USUAL
    },
};
