//! `mma.sync`: a warp multiplies two small matrices of which each lane holds some elements. With `g` the
//! lane's group of four and `t` its place in it, register by register:
//!
//! - A: row `g`, then `g + 8`; columns from `t × elements`, then further by four registers' worth;
//! - B: the same of rows, and column `g`;
//! - C and D: row `g`, then `g + 8`; columns `2t` and `2t + 1`.
//!
//! Products are exact. The manual leaves the order and precision of the sum open; here the products are
//! added in f64, the accumulator last, and rounded once; f64 is a chain of fused multiply-adds.

use super::exact;
use super::float_meaning::compute;
use super::integer_meaning::extend;
use super::lanes::LANES;
use super::number_meaning::{convert, into_range};
use super::warp::Warp;
use crate::program::{Accumulator, Element, Extended, FloatOp, Format, Mode, Multiply, Number};

/// A, by rows, and B, by columns, of at most 32 elements.
type Rows = [[u64; 32]; 16];

impl Warp {
    pub(super) fn multiply(&mut self, extended: &Extended, multiply: Multiply) {
        let [a_count, b_count, _] = multiply.registers();
        let (a_registers, rest) = extended.reads.split_at(a_count);
        let (b_registers, c_registers) = rest.split_at(b_count);
        let (mut a, mut b): (Rows, Rows) = ([[0; 32]; 16], [[0; 32]; 16]);
        for lane in 0..LANES {
            let (group, place) = (lane / 4, lane % 4);
            for (n, &(file, slot)) in a_registers.iter().enumerate() {
                let (row, step) = if multiply.m == 16 { (group + 8 * (n % 2), n / 2) } else { (group, n) };
                spread(multiply.a, self.wide(file, slot, lane), place, step, &mut a[row]);
            }
            for (n, &(file, slot)) in b_registers.iter().enumerate() {
                spread(multiply.b, self.wide(file, slot, lane), place, n, &mut b[group]);
            }
        }
        for (n, &(file, d)) in extended.writes.iter().enumerate() {
            let (c_file, c_slot) = c_registers[n];
            let out = std::array::from_fn(|lane| {
                let c = self.wide(c_file, c_slot, lane);
                let result = |element: usize, c: u64| {
                    let (row, column) = (lane / 4 + 8 * (element / 2), 2 * (lane % 4) + element % 2);
                    dot(multiply, &a[row], &b[column], c)
                };
                match multiply.accumulator {
                    Accumulator::F16 => result(2 * n + 1, c >> 16) << 16 | result(2 * n, c & 0xffff),
                    _ => result(n, c),
                }
            });
            self.set_wide(file, d, &out, u32::MAX);
        }
    }
}

/// Puts a register's elements at their places along K.
fn spread(element: Element, register: u64, place: usize, step: usize, row: &mut [u64; 32]) {
    let count = element.per_register();
    let bits = if element == Element::Float(Format::F64) { 64 } else { 32 / count };
    for n in 0..count {
        row[(4 * step + place) * count + n] = register >> (n * bits) & (u64::MAX >> (64 - bits));
    }
}

fn dot(multiply: Multiply, a: &[u64; 32], b: &[u64; 32], c: u64) -> u64 {
    let pairs = a.iter().zip(b).take(multiply.k.into());
    match (multiply.a, multiply.b, multiply.accumulator) {
        (Element::Byte { signed: x }, Element::Byte { signed: y }, _) => {
            let sum: i128 = pairs.map(|(a, b)| extend(*a, 8, x) * extend(*b, 8, y)).sum();
            let sum = sum + extend(c, 32, true);
            (if multiply.saturate { into_range(sum, 32, true) } else { sum }) as u64 & 0xffff_ffff
        }
        (_, _, Accumulator::F64) => {
            pairs.fold(c, |sum, (a, b)| compute(FloatOp::Fma, Format::F64, Mode::PLAIN, [*a, *b, sum]))
        }
        (Element::Float(format), _, accumulator) => {
            let sum: f64 = pairs.map(|(a, b)| wide(format, *a) * wide(format, *b)).sum();
            let result = if accumulator == Accumulator::F16 { Format::F16 } else { Format::F32 };
            let sum = sum + wide(result, c);
            if sum.is_nan() {
                return exact::nan(result);
            }
            let (to, from) = (Number::Float(result), Number::Float(Format::F64));
            convert(to, from, Mode::PLAIN, false, 32, sum.to_bits())
        }
        _ => exact::nan(Format::F32),
    }
}

/// An element as an f64. Of an f32 pattern that stands for tf32, only the upper 19 bits count.
fn wide(format: Format, value: u64) -> f64 {
    let value = if format == Format::Tf32 { value & !0x1fff } else { value };
    f64::from_bits(convert(Number::Float(Format::F64), Number::Float(format), Mode::PLAIN, false, 64, value))
}
