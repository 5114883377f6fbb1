//! `fma_rows`: f32 and f64 by multiply-adds, for a C of few rows and a B that is stored as N × K.

use gemm::form::Layout;
use gemm::{Archive, Dim3, Dtype, LaunchShape, Level, Needs, Parameter, Tile, Types};

/// Tile sizes that are shipped, the default first: for 1, 2, 4 and 8 rows.
const TILES: &[&[u32]] = &[&[1, 4, 4, 4], &[2, 4, 4, 4], &[4, 4, 4, 2], &[8, 4, 4, 2]];

/// What the compiler made of the kernel.
static PTX: Archive = gemm::beside(include_bytes!("../../kernels/fma_rows.ptx.zst"));

/// The kernel: its text, tile sizes, launch, and what is shipped compiled.
pub static KERNEL: Level = Level {
    name: "summit fma_rows",
    title: "few rows by multiply-adds",
    idea: "where C has few rows and B is stored as N × K, warps stream its columns into registers once, beside the rows of A, \
           and lanes share out K",
    from: Some("level18-thin"),
    path: "crates/summit/kernels/fma_rows.cu",
    source: include_str!("../../kernels/fma_rows.cu"),
    entry: "gemm_rows",
    variants: &[],
    tiles: &[("ROWS", 1), ("COLS", 4), ("WARPS", 4), ("DEEP", 4)],
    types: &[Types::usual(Dtype::F32).shipping(TILES), Types::usual(Dtype::F64).shipping(TILES)],
    shipped: &[],
    space: &[("ROWS", &[1, 2, 4, 8]), ("COLS", &[1, 2, 4, 8]), ("WARPS", &[1, 2, 4, 8]), ("DEEP", &[1, 2, 4, 8])],
    ptx: &PTX,
    launch: |shape, tiles| {
        let [rows, cols, warps, deep] = ["ROWS", "COLS", "WARPS", "DEEP"].map(|name| tiles[name]);
        let columns = cols * warps;
        LaunchShape {
            grid: Dim3::xy(shape.n.div_ceil(columns).saturating_mul(shape.m.div_ceil(rows)), 1),
            block: Dim3::xy(warps * 32, 1),
            tile: Tile { m: rows, n: columns, k: deep * 128 },
        }
    },
    needs: Needs {
        parameters: Parameter::ANY_FORM,
        // Columns of a B that is stored as K × N are read element by element.
        is_meant_for: |c| c.specialization.layout == Layout::Columns,
        ..Needs::USUAL
    },
};
