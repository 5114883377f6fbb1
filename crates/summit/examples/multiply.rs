//! Multiplies two matrices by one call: on a GPU if one answers, else on the emulator.
//!
//! ```sh
//! cargo run -p summit --example multiply
//! ```

use device::{Backend, Device};
use gemm::Shape;
use summit::{Choice, multiply};

fn main() -> Result<(), gemm::Error> {
    let (device, note) = Device::pick(Backend::Auto, false)?;
    note.iter().for_each(|note| eprintln!("note: {note}"));

    let shape = Shape { m: 300, n: 200, k: 100 };
    let a: Vec<f64> = (0..shape.m * shape.k).map(|i| f64::from(i % 7)).collect();
    let b: Vec<f64> = (0..shape.k * shape.n).map(|i| f64::from(i % 5)).collect();
    let c = multiply(Choice::Best, &device, shape, &a, &b)?;

    println!("C is {} x {}, and its last element is {}", shape.m, shape.n, c[c.len() - 1]);
    Ok(())
}
