//! Level 15: split-K in a cluster.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Parameter, Shape, Target, TensorBox,
    TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 256, 4, 2], &[64, 256, 5, 4], &[64, 128, 8, 4], &[64, 64, 4, 8]];

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
    name: "level15-cluster-split-k",
    title: "split-K in a cluster",
    idea: "the blocks of a cluster share out K, and add up their sums in each other's shared memory",
    from: Some("level13-warp-specialization"),
    path: "further/level15-cluster-split-k/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_cluster_split",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("STAGES", 4), ("PARTS", 2)],
    types: &[half(Element::Bf16, Element::Bf16).shipping(TILES), half(Element::F16, Element::F16).shipping(TILES)],
    shipped: &[],
    space: &[("BM", &[64, 128, 192]), ("BN", &[64, 128, 256]), ("STAGES", &[3, 4, 5, 6, 8]), ("PARTS", &[2, 4, 8])],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, parts] = ["BM", "BN", "PARTS"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)).saturating_mul(parts), 1),
            block: Dim3::xy((bm / 64 + 1) * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        architecture: Target::only(90),
        parameters: Parameter::BY_MAPS_TO_C,
        cluster: |tiles| Dim3::xy(tiles["PARTS"], 1),
        decomposition: Decomposition::SplitK { parts: "PARTS", room: None },
        // ANCHOR: boxes
        boxes: |c| {
            let of = |rows| TensorBox { rows, columns: 64, swizzle: TensorSwizzle::B128 };
            [of(c.tiles["BM"]), of(BK), of(64)]
        },
        // ANCHOR_END: boxes
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            // The sums lie where the stages were.
            (stages * (bm + bn) * BK * 2).max(bm * bn * 4) + stages * 16
        },
        // The ring of every part goes round, twice and once and a bit.
        awkward: |tiles, tile| {
            let round = tiles["PARTS"] * tiles["STAGES"] * BK;
            let shape = |m, n, k| Shape { m, n, k };
            vec![
                shape(tile.m, tile.n, 2 * round + 8),
                shape(tile.m + 8, tile.n + 8, round + tiles["PARTS"] * BK + 8),
                shape(7, 9, round + 65),
            ]
        },
        ..Needs::USUAL
    },
};
