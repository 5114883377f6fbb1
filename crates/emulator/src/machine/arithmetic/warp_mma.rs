//! `mma.sync`: a warp multiplies two small matrices of which each lane holds some elements. With `g` the
//! lane's group of four and `t` its place in it, register by register:
//!
//! - A: row `g`, then `g + 8`; columns from `t × elements`, then further by four registers' worth;
//! - B: the same of rows, and column `g`;
//! - C and D: row `g`, then `g + 8`; columns `2t` and `2t + 1`.
//!
//! What the products add up to is `tensor`'s affair; f64 is a chain of fused multiply-adds.

use super::float_meaning::compute;
use super::number_meaning::into_range;
use crate::machine::cpu::with_avx2;
use crate::machine::lanes::{LANES, Lanes};
use crate::machine::state::warp::Warp;
use crate::program::{Accumulator, Element, Extended, File, FloatOp, Format, Mode, Multiply, Rounding, Slot};
use crate::tensor::{
    COLUMNS, Columns, Factor, Generation, Rows, Sums, Tile, Unit, half_of, product, products_of_integers,
};

/// What is multiplied, and where the lanes have it.
struct Operands<'a> {
    multiply: Multiply,
    a: &'a [(File, Slot)],
    b: &'a [(File, Slot)],
    c: &'a [(File, Slot)],
}

/// Multiplies the matrices of a warp.
pub(crate) fn multiply(warp: &mut Warp, extended: &Extended, multiply: Multiply, generation: Generation) {
    with_avx2(
        #[inline(always)]
        || warp.multiply(extended, multiply, generation),
    );
}

impl Warp {
    #[inline(always)]
    fn multiply(&mut self, extended: &Extended, multiply: Multiply, generation: Generation) {
        let [a_count, b_count, _] = multiply.registers();
        let (a, rest) = extended.reads.split_at(a_count);
        let (b, c) = rest.split_at(b_count);
        let operands = Operands { multiply, a, b, c };
        if multiply.accumulator == Accumulator::F64 {
            return self.multiply_f64(extended, &operands);
        }
        let mut sums = self.sums(multiply.accumulator, c);
        match (multiply.a, multiply.b) {
            (Element::Float(a), Element::Float(b)) => {
                let (k, half_sums) = (usize::from(multiply.k), multiply.accumulator == Accumulator::F16);
                let arithmetic = generation.arithmetic(Unit::Warp, [a, b], k, half_sums);
                let (rows, columns) = self.factors(&operands, arithmetic.in_halves);
                let tile = Tile { a: &rows, b: &columns, m: multiply.m.into(), k };
                product(&arithmetic, &tile, &mut sums);
            }
            (Element::Bit { and }, _) => self.count_bits(&operands, and, &mut sums),
            _ => {
                let (rows, columns) = self.factors(&operands, false);
                let tile = Tile { a: &rows, b: &columns, m: multiply.m.into(), k: multiply.k.into() };
                let products = products_of_integers(&tile);
                for (sums, products) in sums.iter_mut().zip(&products) {
                    for (sum, product) in sums.iter_mut().zip(products) {
                        *sum = fitted(multiply.saturate, *sum, *product);
                    }
                }
            }
        }
        self.set_sums(multiply.accumulator, &extended.writes, &sums);
    }

    /// A lane's registers, 32 bits each.
    fn narrow(&self, (file, slot): (File, Slot)) -> &[u32; LANES] {
        static ZEROS: Lanes<u32> = Lanes([0; LANES]);
        if file == File::R { &self.r[slot as usize].0 } else { &ZEROS.0 }
    }

    /// A and B taken apart. `in_halves`: the first two elements of each register of four, of all of them, come first.
    #[inline(always)]
    fn factors(&self, operands: &Operands, in_halves: bool) -> (Rows, Columns) {
        let (m, per) = (operands.multiply.m, operands.multiply.a.per_register());
        let (bits, ones) = (32 / per, u32::MAX >> (32 - 32 / per));
        let half = usize::from(operands.multiply.k) / 2;
        let (mut rows, mut columns) = (Rows::new(), Columns::new());
        let term = |lane: usize, step: usize, n: usize| match in_halves {
            true => half * (n / 2) + (4 * step + lane % 4) * 2 + n % 2,
            false => (4 * step + lane % 4) * per + n,
        };
        for (n, &register) in operands.a.iter().enumerate() {
            let (down, step) = if m == 16 { (8 * (n % 2), n / 2) } else { (0, n) };
            let words = self.narrow(register);
            for n in 0..per {
                let [significands, exponents] = taken_apart(operands.multiply.a, words, (n * bits, ones), in_halves);
                for lane in 0..LANES {
                    rows.set(lane / 4 + down, term(lane, step, n), significands[lane], exponents[lane]);
                }
            }
        }
        for (step, &register) in operands.b.iter().enumerate() {
            let words = self.narrow(register);
            for n in 0..per {
                let [significands, exponents] = taken_apart(operands.multiply.b, words, (n * bits, ones), in_halves);
                for lane in 0..LANES {
                    columns.set(term(lane, step, n), lane / 4, significands[lane], exponents[lane]);
                }
            }
        }
        (rows, columns)
    }

    #[inline(always)]
    pub(crate) fn sums(&self, accumulator: Accumulator, c: &[(File, Slot)]) -> Sums {
        let mut sums = Sums::default();
        for (n, &register) in c.iter().enumerate() {
            for (lane, &value) in self.narrow(register).iter().enumerate() {
                match accumulator {
                    Accumulator::F16 => {
                        let row = &mut sums[lane / 4 + 8 * n];
                        (row[2 * (lane % 4)], row[2 * (lane % 4) + 1]) = (value & 0xffff, value >> 16);
                    }
                    _ => sums[lane / 4 + 8 * (n / 2)][2 * (lane % 4) + n % 2] = value,
                }
            }
        }
        sums
    }

    #[inline(always)]
    pub(crate) fn set_sums(&mut self, accumulator: Accumulator, d: &[(File, Slot)], sums: &Sums) {
        for (n, &(_, d)) in d.iter().enumerate() {
            let values = &mut self.r[d as usize].0;
            for lane in 0..LANES {
                values[lane] = match accumulator {
                    Accumulator::F16 => {
                        let row = &sums[lane / 4 + 8 * n];
                        row[2 * (lane % 4)] | row[2 * (lane % 4) + 1] << 16
                    }
                    _ => sums[lane / 4 + 8 * (n / 2)][2 * (lane % 4) + n % 2],
                };
            }
        }
    }

    /// Bits that both sides have, or that one has, from registers as they are.
    #[inline(always)]
    fn count_bits(&self, operands: &Operands, and: bool, sums: &mut Sums) {
        for (row, sums) in sums.iter_mut().take(operands.multiply.m.into()).enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                for (step, &b) in operands.b.iter().enumerate() {
                    let a = if operands.multiply.m == 16 { 2 * step + row / 8 } else { step };
                    let (a, b) = (self.narrow(operands.a[a]), self.narrow(b));
                    for t in 0..4 {
                        let (a, b) = (a[4 * (row % 8) + t], b[4 * column + t]);
                        *sum = sum.wrapping_add((if and { a & b } else { a ^ b }).count_ones());
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn multiply_f64(&mut self, extended: &Extended, operands: &Operands) {
        let (k, m) = (usize::from(operands.multiply.k), operands.multiply.m);
        let (mut a, mut b) = ([[0; 16]; 16], [[0; COLUMNS]; 16]);
        for lane in 0..LANES {
            for (n, &(file, slot)) in operands.a.iter().enumerate() {
                let (down, step) = if m == 16 { (8 * (n % 2), n / 2) } else { (0, n) };
                a[lane / 4 + down][4 * step + lane % 4] = self.wide(file, slot, lane);
            }
            for (step, &(file, slot)) in operands.b.iter().enumerate() {
                b[4 * step + lane % 4][lane / 4] = self.wide(file, slot, lane);
            }
        }
        for (n, (&(file, d), &(c_file, c))) in extended.writes.iter().zip(operands.c).enumerate() {
            let mut out = [0; LANES];
            for (lane, sum) in out.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + 8 * (n / 2), 2 * (lane % 4) + n % 2);
                *sum = self.wide(c_file, c, lane);
                for (a, b) in a[row].iter().zip(&b).take(k) {
                    *sum = multiply_add(operands.multiply.rounding, *a, b[column], *sum);
                }
            }
            self.set_wide(file, d, &out, u32::MAX);
        }
    }
}

/// The elements of all lanes that have so many bits below them in their registers.
#[inline(always)]
fn taken_apart(
    element: Element,
    words: &[u32; LANES],
    (below, ones): (usize, u32),
    in_halves: bool,
) -> [[i32; LANES]; 2] {
    let mut patterns = [0; LANES];
    for lane in 0..LANES {
        patterns[lane] = words[lane] >> below & ones;
    }
    match element {
        Element::Float(format) if in_halves => {
            for bits in &mut patterns {
                *bits = half_of(format, *bits);
            }
            Factor::all(Format::F16, &patterns)
        }
        Element::Float(format) => Factor::all(format, &patterns),
        // An integer is its own significand.
        Element::Integer { bits, signed } => {
            let above = 32 - u32::from(bits);
            let mut numbers = [0; LANES];
            for lane in 0..LANES {
                let number = (patterns[lane] << above) as i32 >> above;
                numbers[lane] = if signed { number } else { patterns[lane] as i32 };
            }
            [numbers, [0; LANES]]
        }
        Element::Bit { .. } => [[0; LANES]; 2],
    }
}

/// One step of a chain in f64; the patterns of NaNs are looked up where there are any.
#[inline(always)]
fn multiply_add(rounding: Rounding, a: u64, b: u64, c: u64) -> u64 {
    if rounding != Rounding::Nearest {
        return compute(FloatOp::Fma, Format::F64, Mode { rounding, ..Mode::PLAIN }, [a, b, c]);
    }
    let sum = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c));
    match sum.is_nan() {
        true => compute(FloatOp::Fma, Format::F64, Mode::PLAIN, [a, b, c]),
        false => sum.to_bits(),
    }
}

/// An integer sum in 32 bits, that wraps or stops at the ends.
pub(crate) fn fitted(saturate: bool, c: u32, product: i32) -> u32 {
    match saturate {
        true => into_range(i128::from(c as i32) + i128::from(product), 32, true) as u32,
        false => c.wrapping_add(product as u32),
    }
}
