//! `mma.m8n8k4` of f16: four products at once, each of four lanes and of those sixteen further on. Volta and Turing have
//! tensor cores for it; for later GPUs, ptxas makes it of shuffles and plain additions, which round after each step.

use super::float_meaning::compute;
use super::number_meaning::{convert, convert_pair};
use crate::machine::lanes::LANES;
use crate::machine::state::warp::Warp;
use crate::program::{Accumulator, Extended, File, FloatOp, Format, Mode, Number, QuadMultiply, Slot};
use crate::tensor::{Columns, Factor, Generation, Rows, Sums, Tile, Unit, product};

/// Rows and columns of D, and the lanes of a product.
const SIDE: usize = 8;
/// Columns of A and rows of B.
const TERMS: usize = 4;

/// The matrices of one product, in patterns: A by rows, B by columns, C and D by rows.
struct Product {
    a: [[u32; TERMS]; SIDE],
    b: [[u32; TERMS]; SIDE],
    sums: [[u32; SIDE]; SIDE],
}

impl Warp {
    pub(crate) fn multiply_quads(&mut self, extended: &Extended, multiply: QuadMultiply, generation: Generation) {
        let (a, rest) = extended.reads.split_at(TERMS / 2);
        let (b, c) = rest.split_at(TERMS / 2);
        let [d_type, c_type] = multiply.sums;
        for quad in 0..LANES / SIDE {
            let mut product = Product { a: Default::default(), b: Default::default(), sums: Default::default() };
            for member in 0..SIDE {
                let lane = lane_of(quad, member);
                for n in 0..TERMS {
                    // Of a line of four in memory, a lane has all.
                    let (line, place) = if multiply.by_rows[0] { (member, n) } else { (across(member, n), member % 4) };
                    product.a[line][place] = self.half(a, lane, n);
                    let (line, place) = if multiply.by_rows[1] { (across(member, n), member % 4) } else { (member, n) };
                    product.b[line][place] = self.half(b, lane, n);
                }
                for n in 0..SIDE {
                    let (row, column) = place(c_type, member, n);
                    product.sums[row][column] = match c_type {
                        Accumulator::F16 => self.half(c, lane, n),
                        _ => self.r[c[n].1 as usize].0[lane],
                    };
                }
            }
            match generation {
                Generation::Volta | Generation::Turing => product.by_tensor_cores(d_type, c_type, generation),
                _ => product.by_plain_sums(d_type, c_type),
            }
            for member in 0..SIDE {
                let lane = lane_of(quad, member);
                let sum = |n: usize| {
                    let (row, column) = place(d_type, member, n);
                    product.sums[row][column]
                };
                for (n, &(_, d)) in extended.writes.iter().enumerate() {
                    self.r[d as usize].0[lane] = match d_type {
                        Accumulator::F16 => sum(2 * n) | sum(2 * n + 1) << 16,
                        _ => sum(n),
                    };
                }
            }
        }
    }

    /// The `n`th of a lane's halves.
    fn half(&self, registers: &[(File, Slot)], lane: usize, n: usize) -> u32 {
        self.r[registers[n / 2].1 as usize].0[lane] >> (16 * (n % 2)) & 0xffff
    }
}

fn lane_of(quad: usize, member: usize) -> usize {
    4 * quad + member % 4 + 16 * (member / 4)
}

/// Where a lane that has a line across has its `n`th element: the first four lanes have the first half of each line.
fn across(member: usize, n: usize) -> usize {
    n + 4 * (member / 4)
}

/// Row and column of the `n`th of a lane's sums.
fn place(sums: Accumulator, member: usize, n: usize) -> (usize, usize) {
    match sums {
        Accumulator::F16 => (member, n),
        _ => ((member & 1) + (n & 2) + 4 * (member / 4), (n & 4) + (member & 2) + (n & 1)),
    }
}

/// A half as f32.
fn single(half: u32) -> u64 {
    convert(Number::Float(Format::F32), Number::Float(Format::F16), Mode::PLAIN, false, 32, half.into())
}

impl Product {
    /// What ptxas makes of it. For sums in f32 the products are added up from zero, C comes last; for those in f16 C comes between
    /// the first two products and the last two, and the sum is rounded once.
    fn by_plain_sums(&mut self, d: Accumulator, c: Accumulator) {
        let fma = |x, y, z| compute(FloatOp::Fma, Format::F32, Mode::PLAIN, [x, y, z]);
        let add = |x, y| compute(FloatOp::Add, Format::F32, Mode::PLAIN, [x, y, 0]);
        let multiply = |x, y| compute(FloatOp::Mul, Format::F32, Mode::PLAIN, [x, y, 0]);
        let [a, b] = [self.a, self.b].map(|lines| lines.map(|line| line.map(single)));
        for (a, sums) in a.iter().zip(&mut self.sums) {
            for (b, sum) in b.iter().zip(sums) {
                let start = if c == Accumulator::F16 { single(*sum) } else { u64::from(*sum) };
                *sum = match d {
                    Accumulator::F16 => {
                        let [low, high] = [0, 2].map(|n| fma(a[n + 1], b[n + 1], multiply(a[n], b[n])));
                        let whole = add(add(start, low), high);
                        convert_pair(Format::F16, Mode::PLAIN, 0, whole) as u32
                    }
                    _ => add(start, a.iter().zip(b).fold(0, |sum, (a, b)| fma(*a, *b, sum))) as u32,
                };
            }
        }
    }

    fn by_tensor_cores(&mut self, d: Accumulator, c: Accumulator, generation: Generation) {
        let arithmetic = generation.arithmetic(Unit::Warp, [Format::F16; 2], TERMS, d == Accumulator::F16);
        let (mut rows, mut columns, mut sums) = (Rows::new(), Columns::new(), Sums::default());
        for line in 0..SIDE {
            for term in 0..TERMS {
                let [a, b] = [self.a[line][term], self.b[line][term]].map(|bits| Factor::of(Format::F16, bits));
                rows.set(line, term, a.significand, a.exponent);
                columns.set(term, line, b.significand, b.exponent);
            }
            let widened = (c, d) == (Accumulator::F16, Accumulator::F32);
            sums[line] = self.sums[line].map(|sum| if widened { single(sum) as u32 } else { sum });
        }
        product(&arithmetic, &Tile { a: &rows, b: &columns, m: SIDE, k: TERMS }, &mut sums);
        self.sums.copy_from_slice(&sums[..SIDE]);
    }
}
