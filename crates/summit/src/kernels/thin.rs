//! `thin`: products with few rows, few columns or a small K.

use gemm::{Archive, Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Shape, Target, Thin, Tile, Types};

/// Tile sizes that are shipped in f32: first those for a C of few columns, then those for one of few rows, then those for a small K.
const F32: &[&[u32]] = &[
    &[4, 1, 1024, 4, 1, 128, 1],
    &[16, 1, 256, 4, 1, 128, 1],
    &[8, 4, 512, 8, 4, 128, 1],
    &[8, 8, 512, 8, 8, 128, 1],
    &[1, 16, 512, 1, 16, 32, 1],
    &[1, 32, 256, 1, 32, 32, 1],
    &[1, 32, 128, 1, 32, 16, 32],
    &[4, 16, 256, 4, 16, 32, 1],
    &[8, 16, 256, 8, 16, 32, 1],
    &[8, 16, 128, 8, 16, 16, 8],
    &[8, 32, 64, 8, 32, 8, 4],
    &[16, 128, 4, 4, 128, 4, 1],
    &[8, 512, 1, 8, 128, 1, 1],
];

/// And in f64, where a vector has half as many elements.
const F64: &[&[u32]] = &[
    &[4, 1, 512, 4, 1, 64, 1],
    &[4, 4, 256, 4, 4, 64, 1],
    &[8, 8, 256, 8, 8, 64, 1],
    &[1, 16, 256, 1, 16, 16, 1],
    &[1, 16, 128, 1, 16, 16, 16],
    &[4, 8, 128, 4, 8, 16, 1],
    &[8, 16, 128, 8, 16, 16, 1],
    &[8, 16, 64, 8, 16, 8, 4],
    &[8, 256, 1, 8, 64, 1, 1],
];

/// In tf32, where tensor cores are faster from 8 rows on.
const TF32: &[&[u32]] = &[
    &[4, 1, 1024, 4, 1, 128, 1],
    &[8, 4, 512, 8, 4, 128, 1],
    &[8, 8, 512, 8, 8, 128, 1],
    &[1, 32, 256, 1, 32, 32, 1],
    &[1, 32, 128, 1, 32, 16, 32],
    &[4, 16, 256, 4, 16, 32, 1],
];

/// And of 16 bits, where a vector has twice as many.
const HALF: &[&[u32]] = &[
    &[4, 1, 1024, 4, 1, 256, 1],
    &[16, 1, 512, 4, 1, 256, 1],
    &[8, 4, 1024, 8, 4, 256, 1],
    &[8, 8, 1024, 8, 8, 256, 1],
    &[1, 32, 512, 1, 32, 32, 1],
    &[1, 64, 128, 1, 64, 16, 32],
    &[4, 64, 64, 4, 64, 8, 8],
    &[8, 64, 64, 8, 64, 8, 4],
];

/// Elements that the sums of all parts of K may have.
const ROOM: u32 = 1 << 18;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/thin.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit thin",
    title: "thin products",
    idea: "where C is thin, warps stream the large matrix into registers once and share out K, without tiles in shared \
           memory",
    from: Some("level18-thin"),
    path: "crates/summit/kernels/thin.cu",
    source: include_str!("../../kernels/thin.cu"),
    entry: "gemm_thin",
    variants: &[],
    tiles: &[("BM", 4), ("BN", 1), ("BK", 1024), ("WM", 4), ("WN", 1), ("WK", 128), ("SPLIT", 1)],
    types: &[
        Types::usual(Dtype::F32).shipping(F32),
        Types::usual(Dtype::F64).shipping(F64),
        Types::usual(Dtype::TF32).shipping(TF32),
        Types::usual(Dtype::BF16).shipping(HALF),
        Types::usual(Dtype::F16).shipping(HALF),
    ],
    shipped: &[],
    space: &[],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wn, wk] = ["BM", "BN", "BK", "WM", "WN", "WK"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), tiles["SPLIT"]),
            block: Dim3::xy((bm / wm) * (bn / wn) * (bk / wk) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    needs: Needs {
        architecture: Target::since(80),
        // Of the shapes drawn to judge the choice it was the fastest at one alone with more rows and columns of C: 259 × 257, ragged.
        thin: Some(Thin { c: 256, k: 16 }),
        decomposition: Decomposition::SplitK { parts: "SPLIT", room: Some(ROOM as u64) },
        awkward: |tiles, tile| {
            let shape = |m, n, k| Shape { m, n, k };
            // Whole vectors, of which some lanes have none in the last step.
            let mut shapes = vec![shape(tile.m + 1, tile.n, tile.k + 16)];
            let parts = tiles["SPLIT"];
            if parts > 1 {
                // Two steps or three for each part.
                shapes.push(shape(tile.m + 1, tile.n, (5 * parts / 2 + 1) * tile.k - 1));
                // One tile more than the sums of all parts have room for.
                shapes.push(shape(tile.m, ROOM / (parts * tile.m) + tile.n, 3));
            }
            shapes
        },
        ..Needs::USUAL
    },
};
