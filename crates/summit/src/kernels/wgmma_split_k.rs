//! `wgmma_split_k`: 16 bits by warpgroups; the blocks of a cluster share out K.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Shape, Target, TensorBox, TensorSwizzle,
    Tile, Types,
};

/// Tile sizes that are shipped, the default first: with it all SMs read the weights of a layer for a few rows, in pairs, which always
/// find room; clusters of four do not, if each block is to have an SM.
const TILES: &[&[u32]] = &[
    &[16, 64, 6, 2],
    &[16, 64, 6, 1],
    &[64, 64, 6, 2],
    &[64, 64, 6, 1],
    &[128, 128, 6, 4],
    &[128, 64, 8, 2],
    &[64, 256, 5, 4],
    &[64, 128, 8, 4],
    &[64, 64, 4, 8],
];

/// Sixteen products and the sum so far at once.
const fn half(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(16, 25, 24)
}

/// Elements of a step along K: 128 bytes.
const BK: u32 = 64;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_split_k.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_split_k",
    title: "split-K in a cluster",
    idea: "the blocks of a cluster share out K, and add up their sums in each other's shared memory",
    from: Some("level15-cluster-split-k"),
    path: "crates/summit/kernels/wgmma_split_k.cu",
    source: include_str!("../../kernels/wgmma_split_k.cu"),
    entry: "gemm_cluster_split",
    variants: &[],
    tiles: &[("BM", 16), ("BN", 64), ("STAGES", 6), ("PARTS", 2)],
    types: &[
        half(Element::Bf16, Element::Bf16).shipping_both(TILES),
        half(Element::F16, Element::F16).shipping_both(TILES),
    ],
    shipped: &[],
    space: &[
        ("BM", &[16, 32, 64, 128, 192]),
        ("BN", &[64, 128, 256]),
        ("STAGES", &[3, 4, 5, 6, 8, 12]),
        ("PARTS", &[1, 2, 4, 8]),
    ],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn, parts] = ["BM", "BN", "PARTS"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)).saturating_mul(parts), 1),
            block: Dim3::xy((bm.div_ceil(64) + 1) * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    needs: Needs {
        architecture: Target::only(90),
        wide_offsets: true,
        parameters: super::OF_TWO_MAPS,
        cluster: |tiles| Dim3::xy(tiles["PARTS"], 1),
        decomposition: Decomposition::SplitK { parts: "PARTS", room: None },
        boxes: |c| {
            let of = |rows| TensorBox { rows, columns: 64, swizzle: TensorSwizzle::B128 };
            let b = if c.specialization.layout.is_rows() { BK } else { c.tiles["BN"] };
            [of(c.tiles["BM"]), of(b), of(64)]
        },
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            let rows = bm.next_multiple_of(64);
            // The sums lie beside the stages, or where these were.
            let sums = if bm <= 64 && bn <= 128 { rows * bn * 4 } else { 16 };
            stages * ((rows + bn) * BK * 2 + 16) + sums
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
