//! `wgmma_fp8`: fp8 by warpgroups, with sums promoted to f32.

use gemm::dtype::Sum;
use gemm::form::Layout;
use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Neighbours, Parameter, Role, Shape,
    Target, TensorBox, TensorSwizzle, Tile, Types, Variant,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 256, 4, 2, 132], &[64, 128, 7, 2, 132], &[128, 128, 6, 2, 132]];

/// Those for types that are asked for less.
const LARGE: &[&[u32]] = &[TILES[0]];

/// 32 products and the sum so far at once, with as many bits as are kept of such sums.
const FAST: Sum = Sum::Cut { terms: 32, bits: 13, precision: 14 };

const fn fp8(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(32, 13, 14).promoted(BK)
}

/// Elements of a step along K: 128 bytes.
const BK: u32 = 128;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_fp8.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_fp8",
    title: "fp8 with promoted sums",
    idea: "tensor cores sum 128 products in 14 bits, and each thread adds these sums in f32 while others multiply",
    from: Some("level17-fp8-promotion"),
    path: "crates/summit/kernels/wgmma_fp8.cu",
    source: include_str!("../../kernels/wgmma_fp8.cu"),
    entry: "gemm_fp8",
    variants: &[
        Variant { name: "promoted", defines: &[("PROMOTED", 1)], sum: None },
        Variant { name: "fast", defines: &[("PROMOTED", 0)], sum: Some(FAST) },
    ],
    tiles: &[("BM", 128), ("BN", 256), ("STAGES", 4), ("CLUSTER", 2), ("BLOCKS", 132)],
    types: &[
        fp8(Element::E4m3, Element::Bf16).shipping_both(TILES),
        fp8(Element::E4m3, Element::F32).shipping(LARGE),
        fp8(Element::E5m2, Element::Bf16).shipping(LARGE),
    ],
    shipped: &[],
    space: &[("BM", &[64, 128, 192]), ("BN", &[128, 256]), ("STAGES", &[3, 4, 5, 6, 7, 8]), ("CLUSTER", &[1, 2])],
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
            Parameter::Lda,
            Parameter::Ldb,
            Parameter::Ldc,
            Parameter::Alpha,
            Parameter::Beta,
        ],
        decomposition: Decomposition::Persistent("BLOCKS", Neighbours::Below),
        boxes: |c| {
            let of = |rows, columns| TensorBox { rows, columns, swizzle: TensorSwizzle::B128 };
            let b = match c.specialization.layout {
                Layout::Rows => BK,
                Layout::Columns => c.tiles["BN"] / c.tiles["CLUSTER"],
            };
            [of(c.tiles["BM"], BK), of(b, BK), of(64, 128 / c.dtype.output.bytes() as u32)]
        },
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * BK + 24) + bm / 64 * 2 * 64 * 128
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
