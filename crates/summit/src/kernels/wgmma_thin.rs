//! `wgmma_thin`: 16 bits and fp8 by warpgroups, for a C of few rows.

use gemm::form::Layout;
use gemm::{
    Archive, Decomposition, Dim3, Dtype, Element, LaunchShape, Level, Needs, Shape, Target, TensorBox, TensorSwizzle,
    Tile, Types,
};

/// Tile sizes that are shipped, the default first: of each number of rows, blocks of which two fit on an SM and share out K in pairs, and
/// blocks of which four fit on an SM.
const TILES: &[&[u32]] = &[&[16, 10, 2], &[16, 5, 1], &[8, 12, 2], &[8, 6, 1], &[32, 8, 2], &[32, 4, 1], &[64, 3, 1]];
/// Those of fp8.
const FP8: &[&[u32]] = &[TILES[0], TILES[1], &[16, 10, 4], TILES[4], TILES[5], &[64, 5, 2], &[64, 5, 4], TILES[6]];

/// Sixteen products and the sum so far at once.
const fn half(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(16, 25, 24)
}

/// Columns of C of a block: rows of a product.
const BN: u32 = 64;
/// Elements of 16 bits of a step along K: 128 bytes.
const BK: u32 = 64;

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/wgmma_thin.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit wgmma_thin",
    title: "few rows by warpgroups",
    idea: "columns of B are the 64 rows of a product, and the few rows of A its columns: nothing is zeros, and B is on \
           its way all the time",
    from: Some("level15-cluster-split-k"),
    path: "crates/summit/kernels/wgmma_thin.cu",
    source: include_str!("../../kernels/wgmma_thin.cu"),
    entry: "gemm_thin_rows",
    variants: &[],
    tiles: &[("BM", 16), ("STAGES", 10), ("PARTS", 2)],
    types: &[
        half(Element::Bf16, Element::Bf16).shipping_both(TILES),
        half(Element::F16, Element::F16).shipping_both(TILES),
        Types::usual(Dtype::of(Element::E4m3, Element::F32, Element::Bf16))
            .cut(32, 13, 14)
            .promoted(2 * BK)
            .shipping_both(FP8),
    ],
    shipped: &[],
    space: &[("BM", &[8, 16, 32, 64, 128]), ("STAGES", &[3, 4, 5, 6, 8, 10, 12]), ("PARTS", &[1, 2, 4])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, parts] = ["BM", "PARTS"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(BN).saturating_mul(shape.m.div_ceil(bm)).saturating_mul(parts), 1),
            block: Dim3::xy(5 * 32, 1),
            tile: Tile { m: bm, n: BN, k: BK },
        }
    },
    needs: Needs {
        architecture: Target::only(90),
        wide_offsets: true,
        parameters: super::OF_TWO_MAPS,
        cluster: |tiles| Dim3::xy(tiles["PARTS"], 1),
        decomposition: Decomposition::SplitK { parts: "PARTS", room: None },
        boxes: |c| {
            let columns = 2 * BK / c.dtype.input.bytes() as u32;
            let of = |rows| TensorBox { rows, columns, swizzle: TensorSwizzle::B128 };
            [of(c.tiles["BM"]), of(BN), of(64)]
        },
        shared: |c| {
            let [bm, stages, parts] = ["BM", "STAGES", "PARTS"].map(|name| c.tiles[name]);
            let sums = if parts > 1 { BN * bm * 4 } else { 16 };
            stages * ((BN + bm) * BK * 2 + 16) + sums
        },
        // Both operands of fp8 lie along K, or threads fetch them.
        by_maps: |c| c.dtype.input != Element::E4m3 || c.specialization.layout == Layout::Columns,
        is_meant_for: |c| c.dtype.input != Element::E4m3 || c.specialization.layout == Layout::Columns,
        // The ring of every part goes round, twice and once and a bit.
        awkward: |tiles, tile| {
            let round = tiles["PARTS"] * tiles["STAGES"] * BK;
            let shape = |m, n, k| Shape { m, n, k };
            vec![
                shape(tile.m, tile.n, 3 * round + 16),
                shape(tile.m + 8, tile.n + 8, round + tiles["PARTS"] * BK + 8),
                shape(7, 9, round + 65),
            ]
        },
        ..Needs::USUAL
    },
};
