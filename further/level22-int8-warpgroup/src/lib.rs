//! Level 22: int8, exact in s32.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, LaunchShape, Level, Needs, Neighbours, Parameter, Shape, Target, TensorBox,
    TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[
    &[128, 128, 6, 2, 132],
    &[128, 192, 4, 2, 132],
    &[128, 256, 4, 2, 132],
    &[64, 256, 4, 2, 132],
    &[64, 128, 8, 2, 132],
    &[64, 64, 8, 2, 132],
];

/// Elements of a step along K: 128 bytes.
const BK: u32 = 128;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level22-int8-warpgroup",
    title: "int8 in s32",
    idea: "bytes on tensor cores, whose sums are whole numbers: exact, in any order",
    from: Some("level19-ping-pong"),
    path: "further/level22-int8-warpgroup/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_int8",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 128), ("STAGES", 6), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[Types::usual(Dtype::S8).shipping(TILES)],
    shipped: &[],
    space: &[
        ("BM", &[64, 128, 192]),
        ("BN", &[64, 128, 192, 256]),
        ("STAGES", &[3, 4, 5, 6, 7, 8]),
        ("CLUSTER", &[1, 2]),
    ],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, cluster, blocks] = ["BM", "BN", "CLUSTER", "BLOCKS"].map(|name| tiles[name]);
        let clusters = shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm * cluster));
        LaunchShape {
            grid: Dim3::xy(clusters.min(blocks / cluster) * cluster, 1),
            block: Dim3::xy(3 * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        architecture: Target::only(90),
        cluster: |tiles| Dim3::xy(tiles["CLUSTER"], 1),
        parameters: Parameter::BY_MAPS,
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Below),
        // ANCHOR: boxes
        boxes: |c| {
            let of = |rows, columns| TensorBox { rows, columns, swizzle: TensorSwizzle::B128 };
            [of(c.tiles["BM"], BK), of(64, BK), of(16, 32)]
        },
        // ANCHOR_END: boxes
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * BK + 16) + 2 * 2 * 64 * 128
        },
        awkward: |tiles, tile| {
            let m = tile.m * tiles["CLUSTER"];
            vec![
                // Three rows and two columns of a cluster's tiles, ragged; the ring goes on from one to the next.
                Shape { m: 2 * m + 16, n: tile.n + 16, k: 3 * tile.k + 16 },
                Shape { m: m + 16, n: 2 * tile.n, k: 2 * tile.k },
                // Twice round the stages, and one step more, in one tile.
                Shape { m: m - 16, n: tile.n - 16, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 16, n: tile.n + 16, k: 16 },
                // With two clusters, a last round that is not whole, of more steps than there are stages.
                Shape { m: m - 16, n: 3 * tile.n, k: (tiles["STAGES"] + 2) * tile.k },
            ]
        },
        ..Needs::USUAL
    },
};
