//! Level 11: tensor cores.

use gemm::{Archive, Dim3, Dtype, Element, LaunchShape, Level, Needs, Shape, Target, Tile, Types};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 256, 32, 64, 64, 4], &[64, 128, 32, 32, 64, 4], &[64, 64, 64, 32, 32, 3]];

/// Sixteen products and the sum so far at once.
const fn half(element: Element) -> Types {
    Types::usual(Dtype::of(element, Element::F32, element)).cut(16, 25, 24)
}

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level11-tensor-core",
    title: "tensor cores",
    idea: "a warp multiplies small matrices of which its lanes hold fragments, in one instruction",
    from: Some("level8-rasterization"),
    path: "further/level11-tensor-core/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_tensor_core",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("BK", 32), ("WM", 64), ("WN", 64), ("STAGES", 4)],
    types: &[half(Element::Bf16).shipping(TILES), half(Element::F16).shipping(TILES)],
    shipped: &[],
    space: &[
        ("BM", &[32, 64, 128]),
        ("BN", &[32, 64, 128, 256]),
        ("BK", &[32, 64]),
        ("WM", &[16, 32, 64]),
        ("WN", &[16, 32, 64]),
        ("STAGES", &[3, 4]),
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
        architecture: Target::since(80),
        asynchronous_copies: true,
        shared: |c| {
            let [bm, bn, bk, stages] = ["BM", "BN", "BK", "STAGES"].map(|name| c.tiles[name]);
            // Rows are padded by a vector of 8.
            stages * (bm * (bk + 8) + bk * (bn + 8)) * 2
        },
        // Whole vectors in every row, and ragged everywhere.
        awkward: |_, tile| vec![Shape { m: tile.m + 1, n: tile.n + 8, k: tile.k + 8 }],
        ..Needs::USUAL
    },
};
