//! Products over ranks on emulated devices: as of one rank, whatever the shape, the grid and the variant; with as many bytes as the formula
//! says; and each planted fault found, by its name.

mod bytes;
mod faults;
mod processes;
mod products;
mod streamed;

use gemm::{Element, Shape};
use ranks::{Layout, Plan, Variant};
use summit::Product;

/// Grids of 1, 2, 3, 4 and 7 ranks.
const GRIDS: [[usize; 2]; 9] = [[1, 1], [2, 1], [1, 2], [3, 1], [4, 1], [2, 2], [1, 4], [7, 1], [1, 7]];

/// Even, odd, flat, tall, and less than there are ranks.
const SHAPES: [(u32, u32, u32); 8] =
    [(1, 1, 1), (5, 3, 2), (16, 16, 16), (28, 28, 7), (1, 40, 3), (40, 1, 3), (31, 29, 1), (13, 64, 33)];

fn shape((m, n, k): (u32, u32, u32)) -> Shape {
    Shape { m, n, k }
}

fn layout(shape: Shape, grid: [usize; 2]) -> Layout {
    Layout::new(shape, Element::F32, grid).unwrap()
}

/// A plan of square matrices of f32.
fn plan(side: u32, grid: [usize; 2], variant: Variant) -> Plan {
    in_parts(side, grid, variant, 1)
}

/// The same, with panels in parts.
fn in_parts(side: u32, grid: [usize; 2], variant: Variant, parts: usize) -> Plan {
    Plan::new(layout(shape((side, side, side)), grid).in_parts(parts), variant, 2).unwrap()
}

/// Whole numbers from -3 to 3, which differ from row to row and from column to column.
fn numbers(rows: u32, columns: u32, seed: u32) -> Vec<f32> {
    let at = |row: u32, column: u32| (row * 5 + column * 3 + row * column + seed) % 7;
    (0..rows).flat_map(|row| (0..columns).map(move |column| at(row, column) as f32 - 3.0)).collect()
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// A product of f32 by three loops, of rows that lie as far apart as they lie.
fn by_loops(product: &Product, a: &[u8], b: &[u8], c: &mut [u8]) -> Result<(), summit::Error> {
    let Shape { m, n, k } = product.shape;
    let [of_a, of_b, of_c] = product.form.leading(&product.shape).map(|leading| leading as usize);
    let (a, b) = (floats(a), floats(b));
    for row in 0..m as usize {
        for column in 0..n as usize {
            let sum: f32 = (0..k as usize).map(|i| a[row * of_a + i] * b[i * of_b + column]).sum();
            let at = (row * of_c + column) * 4;
            c[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
    Ok(())
}
