//! `wgmma_clusters`: 16 bits by the warpgroups of sm_90, in clusters of persistent blocks.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Neighbours, Shape, Target, TensorBox,
    TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[
    &[128, 256, 4, 2, 132],
    &[64, 128, 7, 2, 132],
    &[128, 64, 7, 1, 132],
    &[128, 128, 6, 2, 132],
    &[192, 128, 4, 2, 132],
    &[128, 192, 4, 2, 132],
];
/// Those for sums that stay f32.
const WIDE: &[&[u32]] = &[TILES[0], TILES[1]];

/// Sixteen products and the sum so far at once.
const fn half(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(16, 25, 24)
}

/// Elements of a step along K: 128 bytes.
const BK: u32 = 64;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_clusters.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_clusters",
    title: "clusters of persistent blocks",
    idea: "neighbours fetch what they share once, and go on to the next tile while the last one leaves",
    from: Some("level14-clusters"),
    path: "crates/summit/kernels/wgmma_clusters.cu",
    source: include_str!("../../kernels/wgmma_clusters.cu"),
    entry: "gemm_clusters",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("STAGES", 4), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[
        half(Element::Bf16, Element::Bf16).shipping(TILES),
        half(Element::Bf16, Element::F32).shipping(WIDE),
        half(Element::F16, Element::F16).shipping(TILES),
        half(Element::F16, Element::F32).shipping(WIDE),
    ],
    shipped: &[],
    space: &[
        ("BM", &[64, 128, 192]),
        ("BN", &[64, 128, 192, 256]),
        ("STAGES", &[3, 4, 5, 6, 7, 8]),
        ("CLUSTER", &[1, 2]),
    ],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn, cluster, blocks] = ["BM", "BN", "CLUSTER", "BLOCKS"].map(|name| tiles[name]);
        let clusters = shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm * cluster));
        LaunchShape {
            grid: Dim3::xy(clusters.min(blocks / cluster) * cluster, 1),
            block: Dim3::xy((bm / 64 + 1) * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    needs: Needs {
        architecture: Target::only(90),
        wide_offsets: true,
        cluster: |tiles| Dim3::xy(tiles["CLUSTER"], 1),
        parameters: super::OF_THREE_MAPS,
        a_by_columns: true,
        // Of fewer steps little is read and much is written: the other kernel goes through D in another way.
        plain: [8 * BK, u32::MAX],
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Below),
        boxes: |c| {
            let of = |rows, columns| TensorBox { rows, columns, swizzle: TensorSwizzle::B128 };
            let part = c.tiles["BN"] / c.tiles["CLUSTER"];
            let b = match c.specialization.layout {
                gemm::form::Layout::Rows if part % 64 == 0 => BK,
                gemm::form::Layout::Rows => BK / 2,
                gemm::form::Layout::Columns => part,
            };
            let a = if c.specialization.a.is_rows() { c.tiles["BM"] } else { BK };
            [of(a, BK), of(b, BK), of(64, 128 / c.dtype.output.bytes() as u32)]
        },
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * BK * 2 + 16) + bm / 64 * 2 * 64 * 128
        },
        awkward: |tiles, tile| {
            let m = tile.m * tiles["CLUSTER"];
            vec![
                // Three rows and two columns of a cluster's tiles, ragged; the ring goes on from one to the next.
                Shape { m: 2 * m + 8, n: tile.n + 8, k: 3 * tile.k + 8 },
                Shape { m: m + 8, n: 2 * tile.n, k: 2 * tile.k },
                // As many steps as the kernel for plain products takes.
                Shape { m: 2 * m + 8, n: tile.n + 8, k: 8 * tile.k + 8 },
                // Twice round the stages, and one step more, in one tile.
                Shape { m: m - 8, n: tile.n - 8, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 8, n: tile.n + 8, k: 8 },
            ]
        },
        ..Needs::USUAL
    },
};
