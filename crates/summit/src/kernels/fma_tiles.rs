//! `fma_tiles`: f32 and f64; a thread computes an element from tiles in shared memory.

use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/fma_tiles.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit fma_tiles",
    title: "shared-memory tiling",
    idea: "a block stages tiles of A and B in shared memory; each staged element is read many times",
    from: Some("level1-tiling"),
    path: "crates/summit/kernels/fma_tiles.cu",
    source: include_str!("../../kernels/fma_tiles.cu"),
    entry: "gemm_tiled",
    variants: &[],
    tiles: &[("TILE", 32)],
    types: &Types::USUAL,
    shipped: &[&[8], &[16], &[32]],
    space: &[("TILE", &[4, 8, 16, 32])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let tile = tiles["TILE"];
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(tile), shape.m.div_ceil(tile)),
            block: Dim3::xy(tile, tile),
            tile: Tile { m: tile, n: tile, k: tile },
        }
    },
    needs: Needs::USUAL,
};
