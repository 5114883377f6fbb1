//! `wgmma_tf32`: tf32 by warpgroups.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Neighbours, Parameter, Role, Shape, Target,
    TensorBox, TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[256, 128, 4, 2, 132], &[128, 64, 8, 2, 132], &[64, 64, 8, 1, 132], &[128, 128, 6, 2, 132]];

/// Elements of a row of a box: 128 bytes. So many are a step along K.
const WIDE: u32 = 32;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_tf32.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_tf32",
    title: "tf32 by warpgroups",
    idea: "the transpose of C is computed, so that the operand that lies across K comes from registers",
    from: Some("level16-tf32-warpgroup"),
    path: "crates/summit/kernels/wgmma_tf32.cu",
    source: include_str!("../../kernels/wgmma_tf32.cu"),
    entry: "gemm_tf32",
    variants: &[],
    tiles: &[("BM", 256), ("BN", 128), ("STAGES", 4), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[Types::usual(Dtype::TF32).cut(8, 25, 24).shipping(TILES)],
    shipped: &[],
    space: &[("BM", &[64, 128, 256]), ("BN", &[64, 128, 192]), ("STAGES", &[3, 4, 5, 6, 7, 8]), ("CLUSTER", &[1, 2])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn, cluster, blocks] = ["BM", "BN", "CLUSTER", "BLOCKS"].map(|name| tiles[name]);
        let clusters = shape.n.div_ceil(bn * cluster).saturating_mul(shape.m.div_ceil(bm));
        LaunchShape {
            grid: Dim3::xy(clusters.min(blocks / cluster) * cluster, 1),
            block: Dim3::xy((bn / 64 + 1) * 128, 1),
            tile: Tile { m: bm, n: bn, k: WIDE },
        }
    },
    needs: Needs {
        architecture: Target::only(90),
        wide_offsets: true,
        cluster: |tiles| Dim3::xy(tiles["CLUSTER"], 1),
        parameters: &[
            Parameter::Map(Role::A),
            Parameter::Map(Role::B),
            Parameter::Map(Role::C),
            Parameter::Mapped,
            Parameter::A,
            Parameter::B,
            Parameter::C,
            Parameter::M,
            Parameter::N,
            Parameter::K,
        ],
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Beside),
        boxes: |c| {
            let of = |rows| TensorBox { rows, columns: WIDE, swizzle: TensorSwizzle::B128 };
            [of(c.tiles["BM"] / c.tiles["CLUSTER"]), of(WIDE), of(32)]
        },
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * WIDE * 4 + 16) + bn / 64 * 2 * 2 * 32 * WIDE * 4
        },
        awkward: |tiles, tile| {
            let n = tile.n * tiles["CLUSTER"];
            vec![
                // Two rows and three columns of a cluster's tiles, ragged; the ring goes on from one to the next.
                Shape { m: tile.m + 8, n: 2 * n + 8, k: 3 * tile.k + 8 },
                Shape { m: 2 * tile.m, n: n + 8, k: 2 * tile.k },
                // Twice round the stages, and one step more, in one tile.
                Shape { m: tile.m - 8, n: n - 8, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 8 * tile.m + 8, n: tile.n + 8, k: 8 },
            ]
        },
        ..Needs::USUAL
    },
};
