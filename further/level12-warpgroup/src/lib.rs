//! Level 12: asynchronous products of a warpgroup.

use gemm::{
    Archive, Dim3, Dtype, Element, LaunchShape, Level, Needs, Parameter, Shape, Target, TensorBox, TensorSwizzle, Tile,
    Types,
};

/// Tile sizes that are shipped, the default first.
const TILES: &[&[u32]] = &[&[128, 256, 4], &[128, 128, 6], &[64, 64, 4]];

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
    name: "level12-warpgroup",
    title: "warpgroups and bulk copies",
    idea: "one thread asks for whole tiles, and four warps multiply them where they lie, by one instruction",
    from: Some("level1-tiling"),
    path: "further/level12-warpgroup/kernel.cu",
    source: include_str!("../kernel.cu"),
    entry: "gemm_warpgroup",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("STAGES", 4)],
    types: &[half(Element::Bf16, Element::Bf16).shipping(TILES), half(Element::F16, Element::F16).shipping(TILES)],
    shipped: &[],
    space: &[("BM", &[64, 128, 192]), ("BN", &[64, 128, 256]), ("STAGES", &[2, 3, 4, 5, 6, 8])],
    ptx: &PTX,
    // ANCHOR: launch
    launch: |shape, tiles| {
        let [bm, bn] = ["BM", "BN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), 1),
            block: Dim3::xy(bm / 64 * 128, 1),
            tile: Tile { m: bm, n: bn, k: BK },
        }
    },
    // ANCHOR_END: launch
    needs: Needs {
        architecture: Target::only(90),
        parameters: Parameter::BY_MAPS_TO_C,
        // ANCHOR: boxes
        boxes: |c| {
            let of = |rows| TensorBox { rows, columns: 64, swizzle: TensorSwizzle::B128 };
            [of(c.tiles["BM"]), of(BK), of(64)]
        },
        // ANCHOR_END: boxes
        shared: |c| {
            let [bm, bn, stages] = ["BM", "BN", "STAGES"].map(|name| c.tiles[name]);
            stages * ((bm + bn) * BK * 2 + 8)
        },
        awkward: |tiles, tile| {
            let ring = tiles["STAGES"];
            vec![
                // Described by maps, and ragged everywhere.
                Shape { m: tile.m + 8, n: tile.n + 8, k: tile.k + 8 },
                // Twice round the stages, and one step more.
                Shape { m: tile.m, n: tile.n, k: (2 * ring + 1) * tile.k },
                // One row of tiles more than a band has.
                Shape { m: 16 * tile.m + 8, n: tile.n + 8, k: 8 },
            ]
        },
        ..Needs::USUAL
    },
};
