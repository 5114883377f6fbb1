//! `wgmma_ping_pong`: 16 bits and fp8 by two warpgroups in turns.

use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Neighbours, Shape, Target, TensorBox,
    TensorSwizzle, Tile, Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 128, 6, 2, 132], &[128, 128, 6, 1, 132]];
/// Those for sums that stay f32.
const WIDE: &[&[u32]] = &[TILES[0]];

/// Sixteen products and the sum so far at once.
const fn half(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(16, 25, 24)
}

/// Elements of a step along K: 128 bytes.
const BK: u32 = 64;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_ping_pong.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_ping_pong",
    title: "warpgroups in turns",
    idea: "two warpgroups take tiles in turns: while one multiplies, the other one's tile leaves",
    from: Some("level19-ping-pong"),
    path: "crates/summit/kernels/wgmma_ping_pong.cu",
    source: include_str!("../../kernels/wgmma_ping_pong.cu"),
    entry: "gemm_turns",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 128), ("STAGES", 6), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[
        half(Element::Bf16, Element::Bf16).shipping_both(TILES),
        half(Element::Bf16, Element::F32).shipping(WIDE),
        half(Element::F16, Element::F16).shipping_both(TILES),
        half(Element::F16, Element::F32).shipping(WIDE),
        Types::usual(Dtype::of(Element::E4m3, Element::F32, Element::Bf16)).cut(32, 13, 14).shipping(WIDE),
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
            block: Dim3::xy(3 * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    needs: Needs {
        architecture: Target::only(90),
        wide_offsets: true,
        hides_epilogues: true,
        // Of fewer steps little is read and much is written; of more, clusters keep step: the other kernel does so.
        plain: [8 * BK, 192 * BK - 1],
        cluster: |tiles| Dim3::xy(tiles["CLUSTER"], 1),
        parameters: super::OF_THREE_MAPS,
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Below),
        boxes: |c| {
            let of = |rows, columns| TensorBox { rows, columns, swizzle: TensorSwizzle::B128 };
            let wide = |element: Element| 128 / element.bytes() as u32;
            let (part, input) = (c.tiles["BN"] / c.tiles["CLUSTER"], wide(c.dtype.input));
            let b = match c.specialization.layout {
                gemm::form::Layout::Rows if part % 64 == 0 => BK,
                gemm::form::Layout::Rows => BK / 2,
                gemm::form::Layout::Columns => part,
            };
            [of(c.tiles["BM"], input), of(b, input), of(16, wide(c.dtype.output))]
        },
        // Both operands of fp8 lie along K, or threads fetch them.
        by_maps: |c| c.dtype.input != Element::E4m3 || c.specialization.layout == gemm::form::Layout::Columns,
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
                // As many steps as the kernel for plain products takes.
                Shape { m: 2 * m + 8, n: tile.n + 8, k: 8 * tile.k + 8 },
                // Twice round the stages, and one step more, in one tile.
                Shape { m: m - 8, n: tile.n - 8, k: (2 * tiles["STAGES"] + 1) * tile.k },
                // The same where no map describes A or B: what is copied beyond a stage is in the next one.
                Shape { m: m - 7, n: tile.n - 7, k: (2 * tiles["STAGES"] + 1) * tile.k - 7 },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 8, n: tile.n + 8, k: 8 },
                // With two clusters, a last round that is not whole, of more steps than there are stages.
                Shape { m: m - 8, n: 3 * tile.n, k: (tiles["STAGES"] + 2) * tile.k },
                // The same, and in 16 bits K is so large that they keep in step.
                Shape { m: m - 8, n: 3 * tile.n, k: 64 * tile.k },
            ]
        },
        ..Needs::USUAL
    },
};
