//! `mma_sync`: 16 bits, tf32 and f64 by the tensor cores of sm_80 and later.

use gemm::form::Layout;
use gemm::{Archive, Dim3, Dtype, Element, LaunchShape, Level, Needs, Parameter, Target, Tile, Types};

/// Tile sizes for inputs of 16 bits.
const HALF: &[&[u32]] = &[&[128, 256, 32, 64, 64, 4], &[64, 128, 32, 32, 64, 4], &[64, 64, 64, 32, 32, 3]];
/// Those that are shipped for sums that stay f32.
const WIDE: &[&[u32]] = &[HALF[0], HALF[1]];
/// And of 32: a row of a tile has half as many.
const TF32: &[&[u32]] = &[&[128, 256, 32, 64, 64, 3], &[64, 128, 32, 32, 64, 3]];
/// And of 64.
const F64: &[&[u32]] = &[
    &[128, 128, 16, 32, 64, 4],
    &[64, 128, 16, 32, 32, 4],
    &[64, 64, 16, 32, 32, 4],
    &[32, 64, 16, 16, 16, 4],
    &[32, 32, 32, 16, 16, 4],
    &[64, 64, 16, 32, 32, 6],
    &[32, 32, 64, 16, 16, 3],
    &[16, 32, 32, 16, 16, 6],
];

/// Inputs of 16 bits: sixteen products and the sum so far at once.
const fn half(input: Element, output: Element) -> Types {
    Types::usual(Dtype::of(input, Element::F32, output)).cut(16, 25, 24)
}

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/mma_sync.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit mma_sync",
    title: "tensor cores",
    idea: "a warp multiplies small matrices of which its lanes hold fragments, in one instruction",
    from: Some("level11-tensor-core"),
    path: "crates/summit/kernels/mma_sync.cu",
    source: include_str!("../../kernels/mma_sync.cu"),
    entry: "gemm_tensor_core",
    variants: &[],
    tiles: &[("BM", 128), ("BN", 256), ("BK", 32), ("WM", 64), ("WN", 64), ("STAGES", 4)],
    types: &[
        half(Element::Bf16, Element::Bf16).shipping(HALF),
        half(Element::Bf16, Element::F32).shipping(WIDE),
        half(Element::F16, Element::F16).shipping(HALF),
        half(Element::F16, Element::F32).shipping(WIDE),
        Types::usual(Dtype::TF32).cut(8, 25, 24).shipping(TF32),
        Types::usual(Dtype::F64).shipping_both(F64),
    ],
    shipped: &[],
    space: &[
        ("BM", &[32, 64, 128]),
        ("BN", &[32, 64, 128, 256]),
        ("BK", &[16, 32, 64]),
        ("WM", &[16, 32, 64]),
        ("WN", &[16, 32, 64]),
        ("STAGES", &[3, 4]),
    ],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [bm, bn, bk, wm, wn] = ["BM", "BN", "BK", "WM", "WN"].map(|name| tiles[name]);
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(bn).saturating_mul(shape.m.div_ceil(bm)), 1),
            block: Dim3::xy((bm / wm) * (bn / wn) * 32, 1),
            tile: Tile { m: bm, n: bn, k: bk },
        }
    },
    needs: Needs {
        // In f64, products of 16 x 8 elements came with sm_90; the others run on sm_80.
        architecture: Target::since(90),
        asynchronous_copies: true,
        shared: |c| {
            let [bm, bn, bk, stages] = ["BM", "BN", "BK", "STAGES"].map(|name| c.tiles[name]);
            let bytes = c.dtype.input.bytes() as u32;
            // Rows are padded by a vector or two, along K and across it.
            let [along, across] = [if bytes == 8 { 32 } else { 16 }, if bytes == 2 { 16 } else { 32 }];
            let of_b = match c.specialization.layout {
                Layout::Rows => bk * (bn * bytes + across),
                Layout::Columns => bn * (bk * bytes + along),
            };
            stages * (bm * (bk * bytes + along) + of_b)
        },
        parameters: Parameter::ANY_FORM,
        ..Needs::USUAL
    },
};
