//! Level 19: two warpgroups multiply in turns.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Neighbours, Parameter, Shape, Target,
    TensorBox, TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 128, 6, 2, 132]];

/// Sixteen products and the sum so far at once.
const fn half(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(16, 25, 24)
}

/// Elements of a step along K: 128 bytes.
const BK: u32 = 64;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level19-ping-pong",
    title: "warpgroups in turns",
    idea: "two warpgroups take tiles in turns: while one multiplies, the other one's tile leaves",
    from: Some("level20-persistent"),
    path: "further/level19-ping-pong/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_turns",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 128), ("STAGES", 6), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[half(Element::Bf16, Element::Bf16).shipping(TILES), half(Element::F16, Element::F16).shipping(TILES)],
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
            let of = |rows| TensorBox { rows, columns: 64, swizzle: TensorSwizzle::B128 };
            [of(c.tiles["BM"]), of(BK), of(16)]
        },
        // ANCHOR_END: boxes
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * 128 + 16) + 2 * 2 * 64 * 128
        },
        awkward: |tiles, tile| {
            let m = tile.m * tiles["CLUSTER"];
            vec![
                // Three rows and two columns of a cluster's tiles, ragged; the ring goes on from one to the next.
                Shape { m: 2 * m + 8, n: tile.n + 8, k: 3 * tile.k + 8 },
                Shape { m: m + 8, n: 2 * tile.n, k: 2 * tile.k },
                // Twice round the stages, and one step more, in one tile.
                Shape { m: m - 8, n: tile.n - 8, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 8, n: tile.n + 8, k: 8 },
                // With two clusters, a last round that is not whole, of more steps than there are stages.
                Shape { m: m - 8, n: 3 * tile.n, k: (tiles["STAGES"] + 2) * tile.k },
            ]
        },
        ..Needs::USUAL
    },
};
