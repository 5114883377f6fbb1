//! Level 0: one thread, one element.
use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types, Variant};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level0-naive",
    title: "one thread, one element",
    idea: "one thread computes one element of C, and reads all it needs from global memory",
    from: None,
    path: "level0-naive/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_naive",
    variants: &[
        Variant { name: "coalesced", defines: &[("COALESCED", 1)], sum: None },
        Variant { name: "uncoalesced", defines: &[("COALESCED", 0)], sum: None },
    ],
    tiles: &[("BLOCK", 16)],
    types: &Types::USUAL,
    shipped: &[&[8], &[16], &[32]],
    space: &[("BLOCK", &[4, 8, 16, 32])],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let block = tiles["BLOCK"];
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(block), shape.m.div_ceil(block)),
            block: Dim3::xy(block, block),
            tile: Tile { m: block, n: block, k: 1 },
        }
    },
    // ANCHOR_END: launch
    needs: Needs::USUAL,
};
