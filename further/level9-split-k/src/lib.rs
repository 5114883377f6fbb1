//! Level 9: split-K.

use gemm::{Archive, Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Shape, Target, Tile, Types};

/// Tile sizes that are shipped in f32: the default ones, smaller ones, and those that the lesson splits.
const F32: &[&[u32]] = &[
    &[64, 128, 16, 64, 32, 8, 8, 8, 3, 1],
    &[16, 32, 64, 16, 32, 16, 4, 4, 3, 1],
    &[32, 64, 32, 32, 64, 8, 8, 8, 3, 16],
];

/// And in f64, where two slices of a large tile cost more than they bring: one, and two blocks fit on an SM.
const F64: &[&[u32]] = &[&[64, 128, 8, 32, 64, 8, 8, 8, 4, 1], F32[0], F32[1], F32[2]];

/// Elements that the sums of all parts may have: the kernel has memory for so many.
const ROOM: u32 = 1 << 22;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level9-split-k",
    title: "split-K",
    idea: "where C has too few tiles to fill the card, warps and blocks share out K and add up their sums",
    from: Some("level8-rasterization"),
    path: "further/level9-split-k/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_split_k",
    variants: &[],
    tiles: &[
        ("BM", 64),
        ("BN", 128),
        ("BK", 16),
        ("WM", 64),
        ("WN", 32),
        ("WK", 8),
        ("TM", 8),
        ("TN", 8),
        ("STAGES", 3),
        ("SPLIT", 1),
    ],
    types: &[Types::usual(Dtype::F32).shipping(F32), Types::usual(Dtype::F64).shipping(F64)],
    shipped: &[],
    space: &[
        ("BM", &[16, 32, 64]),
        ("BN", &[32, 64, 128]),
        ("BK", &[16, 32, 64]),
        ("WM", &[16, 32, 64]),
        ("WN", &[32, 64]),
        ("WK", &[8, 16]),
        ("TM", &[4, 8]),
        ("TN", &[4, 8]),
        ("STAGES", &[2, 3, 4]),
        ("SPLIT", &[1, 16]),
    ],
    ptx: &PTX,
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
        // cp.async came with sm_80.
        architecture: Target::since(80),
        asynchronous_copies: true,
        // The stages, whose place the slices' sums take in the end.
        shared: |c| {
            let [bm, bn, bk, wk, stages] = ["BM", "BN", "BK", "WK", "STAGES"].map(|name| c.tiles[name]);
            let bytes = c.dtype.input.bytes() as u32;
            (stages * bk * ((bm + bn) * bytes + 16)).max(bk / wk * bm * (bn * bytes + 16))
        },
        decomposition: Decomposition::SplitK { parts: "SPLIT", room: Some(ROOM as u64) },
        awkward: |tiles, tile| {
            let shape = |m, n, k| Shape { m, n, k };
            match tiles["SPLIT"] {
                1 => Vec::new(),
                parts => vec![
                    // Two steps or three for each part.
                    shape(tile.m + 1, tile.n, (5 * parts / 2 + 1) * tile.k - 1),
                    // As many tiles as the shipped split sums have room for.
                    shape(8 * tile.m, 16 * tile.n, 3),
                    // One more than those of this split.
                    shape(tile.m, tile.n * (ROOM / (tile.m * tile.n * parts) + 1), 3),
                ],
            }
        },
        ..Needs::USUAL
    },
};
