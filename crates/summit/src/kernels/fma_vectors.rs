//! `fma_vectors`: f32 and f64; a thread computes several elements, and memory is moved 16 bytes at a time.

use gemm::{Archive, Dim3, LaunchShape, Level, Needs, Tile, Types, Variant};

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/fma_vectors.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit fma_vectors",
    title: "vectorized memory access",
    idea: "memory is moved 16 bytes at a time; padding and order keep the wide accesses free of bank conflicts",
    from: Some("level4-vectorized"),
    path: "crates/summit/kernels/fma_vectors.cu",
    source: include_str!("../../kernels/fma_vectors.cu"),
    entry: "gemm_vectorized",
    variants: &[Variant { name: "spread", defines: &[("CONFLICTS", 0)], sum: None }],
    tiles: &[("BM", 128), ("BN", 128), ("BK", 8), ("TM", 8), ("TN", 8)],
    types: &Types::USUAL,
    shipped: &[&[128, 128, 8, 8, 8], &[64, 64, 8, 8, 4], &[32, 32, 8, 4, 4]],
    space: &[("BM", &[32, 64, 128]), ("BN", &[32, 64, 128]), ("BK", &[8, 16]), ("TM", &[4, 8]), ("TN", &[4, 8])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn, bk, tm, tn] = ["BM", "BN", "BK", "TM", "TN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn), shape.m.div_ceil(bm)),
            block: Dim3::xy((bm / tm) * (bn / tn), 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    needs: Needs::USUAL,
};
