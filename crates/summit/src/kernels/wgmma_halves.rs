//! `wgmma_halves`: f32 from halves, where the caller allows it.

use gemm::{Archive, Dim3, Dtype, LaunchShape, Level, Needs, Parameter, Preparation, Shape, Target, Tile, Types};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 128, 3], &[64, 128, 4], &[64, 64, 4]];

/// Elements of a step along K: 128 bytes of each part.
const BK: u32 = 64;
/// Steps of which tensor cores make the sum.
const STEPS: u32 = 2;
/// Threads of a block that cuts.
const CUTTERS: u32 = 256;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_halves.ptx.zst"));

/// Steps along K, in whole chunks.
fn steps(shape: &Shape) -> u32 {
    shape.k.div_ceil(STEPS * BK) * STEPS
}

/// Bytes of a step of so many rows of A, or columns of B: two parts of each number, and a scale of each row.
fn cut(lines: u32) -> u32 {
    (lines * (2 * BK * 2 + 4)).next_multiple_of(1024)
}

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_halves",
    title: "f32 from halves",
    idea: "each f32 is cut into two f16, and three products of tensor cores stand for one of FFMA",
    from: Some("level21-f32-from-halves"),
    path: "crates/summit/kernels/wgmma_halves.cu",
    source: include_str!("../../kernels/wgmma_halves.cu"),
    entry: "gemm_halves",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 128), ("STAGES", 3)],
    types: &[Types::usual(Dtype::F32).halved(STEPS * BK).shipping(TILES)],
    shipped: &[],
    space: &[("BM", &[64, 128]), ("BN", &[64, 128]), ("STAGES", &[3, 4, 5, 6])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn] = ["BM", "BN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), 1),
            block: Dim3::xy((bm / 64 + 1) * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    needs: Needs {
        architecture: Target::only(90),
        parameters: &[
            Parameter::A,
            Parameter::B,
            Parameter::C,
            Parameter::Room,
            Parameter::M,
            Parameter::N,
            Parameter::K,
            Parameter::Lda,
            Parameter::Ldb,
            Parameter::Ldc,
            Parameter::Alpha,
            Parameter::Beta,
        ],
        a_by_columns: true,
        preparation: Some(Preparation {
            entry: "split",
            launch: |shape, tiles| {
                let lines = |size: u32, tile: u32| u64::from(size.div_ceil(tile)) * u64::from(tile / 64);
                let all = lines(shape.m, tiles["BM"]) + lines(shape.n, tiles["BN"]);
                let blocks = all.saturating_mul(u64::from(steps(shape) / STEPS));
                (Dim3::xy(u32::try_from(blocks).unwrap_or(u32::MAX), 1), Dim3::xy(CUTTERS, 1))
            },
            room: |shape, tiles| {
                let [bm, bn] = ["BM", "BN"].map(|name| tiles[name]);
                let bytes = |size: u32, tile: u32| u64::from(size.div_ceil(tile)) * u64::from(cut(tile));
                (bytes(shape.m, bm) + bytes(shape.n, bn)).saturating_mul(u64::from(steps(shape)))
            },
            finding: None,
        }),
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            (stages * (cut(bm) + cut(bn) + 16)).next_multiple_of(1024)
        },
        awkward: |tiles, tile| {
            vec![
                // Three rows and two columns of tiles, ragged.
                Shape { m: 2 * tile.m + 1, n: tile.n + 1, k: 5 * tile.k + 1 },
                // Twice round the stages, and one step more.
                Shape { m: tile.m - 1, n: tile.n - 1, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 8, n: tile.n + 8, k: 8 },
            ]
        },
        ..Needs::USUAL
    },
};
