//! `fma_direct`: f32 and f64; a thread computes an element from global memory.
use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types, Variant};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/fma_direct.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit fma_direct",
    title: "one thread, one element",
    idea: "one thread computes one element of C, and reads all it needs from global memory",
    from: Some("level0-naive"),
    path: "crates/summit/kernels/fma_direct.cu",
    source: include_str!("../../kernels/fma_direct.cu"),
    entry: "gemm_naive",
    variants: &[Variant { name: "coalesced", defines: &[("COALESCED", 1)], sum: None }],
    tiles: &[("BLOCK", 16)],
    types: &Types::USUAL,
    shipped: &[&[8], &[16], &[32]],
    space: &[("BLOCK", &[4, 8, 16, 32])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let block = tiles["BLOCK"];
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(block), shape.m.div_ceil(block)),
            block: Dim3::xy(block, block),
            tile: Tile { m: block, n: block, k: 1 },
        }
    },
    needs: Needs::USUAL,
};
