//! Level 1: shared-memory tiling.

use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level1-tiling",
    title: "shared-memory tiling",
    idea: "a block stages tiles of A and B in shared memory; each staged element is read many times",
    from: Some("level0-naive"),
    path: "level1-tiling/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_tiled",
    variants: &[],
    tiles: &[("TILE", 32)],
    types: &Types::USUAL,
    shipped: &[&[8], &[16], &[32]],
    space: &[("TILE", &[4, 8, 16, 32])],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let tile = tiles["TILE"];
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(tile), shape.m.div_ceil(tile)),
            block: Dim3::xy(tile, tile),
            tile: Tile { m: tile, n: tile, k: tile },
        }
    },
    // ANCHOR_END: launch
    needs: Needs::USUAL,
};
