//! Level 16: tf32 by warpgroups.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Neighbours, Parameter, Shape, Target, TensorBox,
    TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[256, 128, 4, 2, 132], &[128, 64, 8, 2, 132], &[64, 64, 8, 1, 132], &[128, 128, 6, 2, 132]];

/// Elements of a row of a box: 128 bytes. So many are a step along K.
const WIDE: u32 = 32;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level16-tf32-warpgroup",
    title: "tf32 by warpgroups",
    idea: "the transpose of C is computed, so that the operand that lies across K comes from registers",
    from: Some("level20-persistent"),
    path: "further/level16-tf32-warpgroup/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_tf32",
    variants: &[],
    tiles: &[("BM", 256), ("BN", 128), ("STAGES", 4), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[Types::usual(Dtype::TF32).cut(8, 25, 24).shipping(TILES)],
    shipped: &[],
    space: &[("BM", &[64, 128, 256]), ("BN", &[64, 128, 192]), ("STAGES", &[3, 4, 5, 6, 7, 8]), ("CLUSTER", &[1, 2])],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, cluster, blocks] = ["BM", "BN", "CLUSTER", "BLOCKS"].map(|name| tiles[name]);
        let clusters = shape.n.div_ceil(bn * cluster).saturating_mul(shape.m.div_ceil(bm));
        LaunchShape {
            grid: Dim3::xy(clusters.min(blocks / cluster) * cluster, 1),
            block: Dim3::xy((bn / 64 + 1) * 128, 1),
            tile: Tile { m: bm, n: bn, k: WIDE },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        architecture: Target::only(90),
        cluster: |tiles| Dim3::xy(tiles["CLUSTER"], 1),
        parameters: Parameter::BY_MAPS,
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Beside),
        // ANCHOR: boxes
        boxes: |_| {
            let of = |rows| TensorBox { rows, columns: WIDE, swizzle: TensorSwizzle::B128 };
            [of(64), of(32), of(32)]
        },
        // ANCHOR_END: boxes
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
                Shape { m: 16 / tiles["CLUSTER"] * tile.m + 8, n: tile.n + 8, k: 8 },
            ]
        },
        ..Needs::USUAL
    },
};
