//! Level 17: fp8, with sums promoted to f32.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Neighbours, Parameter, Shape, Target,
    TensorBox, TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 256, 4, 2, 132], &[64, 128, 7, 2, 132], &[128, 128, 6, 2, 132]];

/// Those for sums that stay f32.
const LARGE: &[&[u32]] = &[TILES[0]];

/// 32 products and the sum so far at once, with as many bits as are kept of such sums.
const fn fp8(output: Element) -> Types {
    Types::usual(Dtype::of(Element::E4m3, Element::F32, output)).cut(32, 13, 14).promoted(BK)
}

/// Elements of a step along K: 128 bytes.
const BK: u32 = 128;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../kernel.ptx.zst"));

/// The level: kernel, tile sizes, launch, and what is shipped compiled.
pub static LEVEL: Level = Level {
    name: "level17-fp8-promotion",
    title: "fp8 with promoted sums",
    idea: "tensor cores sum 128 products in 14 bits, and each thread adds these sums in f32 while others multiply",
    from: Some("level20-persistent"),
    path: "further/level17-fp8-promotion/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_fp8",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("STAGES", 4), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[fp8(Element::Bf16).shipping(TILES), fp8(Element::F32).shipping(LARGE)],
    shipped: &[],
    space: &[("BM", &[64, 128, 192]), ("BN", &[64, 128, 256]), ("STAGES", &[3, 4, 5, 6, 7, 8]), ("CLUSTER", &[1, 2])],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn, cluster, blocks] = ["BM", "BN", "CLUSTER", "BLOCKS"].map(|name| tiles[name]);
        let clusters = shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm * cluster));
        LaunchShape {
            grid: Dim3::xy(clusters.min(blocks / cluster) * cluster, 1),
            block: Dim3::xy((bm / 64 + 1) * 128, 1),
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
            [of(c.tiles["BM"], BK), of(64, BK), of(64, 128 / c.dtype.output.bytes() as u32)]
        },
        // ANCHOR_END: boxes
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * BK + 16) + bm / 64 * 2 * 64 * 128
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
            ]
        },
        ..Needs::USUAL
    },
};
