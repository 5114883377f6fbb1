//! The product of a warpgroup, once its operands are fetched: A by rows and B by columns, 32 bytes of K each, whatever the
//! type of their elements. Of D each warp has sixteen rows, as `mma.sync` has them, in as many times eight columns as there are.

use super::warp_mma::fitted;
use crate::machine::cpu::with_avx2;
use crate::machine::lanes::LANES;
use crate::machine::state::warp::Warp;
use crate::program::{Accumulator, Element, Extended, File, GroupMultiply, Slot};
use crate::tensor::{COLUMNS, Columns, Factor, Generation, Rows, Sums, Tile, Unit, product, products_of_integers};

/// 32 bytes of a row of A, or of a column of B.
pub(crate) type Line = [u32; 8];

/// Rows of D that a warp has.
pub(crate) const ROWS: usize = 16;

/// What four warps multiply.
pub(crate) struct Product<'a> {
    pub multiply: GroupMultiply,
    pub generation: Generation,
    /// A's rows, unless the warps have them in registers.
    pub a: &'a [Line],
    pub b: &'a [Line],
    /// D is added to.
    pub adds: bool,
}

/// Multiplies the matrices of a warpgroup.
pub(crate) fn multiply(warps: &mut [Box<Warp>], extended: &Extended, product: &Product) {
    with_avx2(
        #[inline(always)]
        || compute(warps, extended, product),
    );
}

#[inline(always)]
fn compute(warps: &mut [Box<Warp>], extended: &Extended, product: &Product) {
    let form = product.multiply;
    let mut lines = [[Line::default(); ROWS]; 4];
    let mut rows = [(); 4].map(|()| Rows::new());
    for (n, warp) in warps.iter().enumerate().take(4) {
        match product.a.get(n * ROWS..(n + 1) * ROWS) {
            Some(own) => lines[n].copy_from_slice(own),
            None => lines[n] = in_registers(warp, &extended.reads),
        }
        rows[n] = rows_of(form, &lines[n]);
    }
    let per = form.sums() / (usize::from(form.n) / COLUMNS);
    for (tile, b) in product.b.chunks_exact(COLUMNS).enumerate() {
        let columns = columns_of(form, b);
        let d = &extended.writes[tile * per..(tile + 1) * per];
        for (n, warp) in warps.iter_mut().enumerate().take(4) {
            let mut sums = if product.adds { warp.sums(form.accumulator, d) } else { Sums::default() };
            add(product, (&rows[n], &columns), (&lines[n], b), &mut sums);
            warp.set_sums(form.accumulator, d, &sums);
        }
    }
}

/// Adds the products of sixteen rows and eight columns.
#[inline(always)]
fn add(task: &Product, (rows, columns): (&Rows, &Columns), lines: (&[Line; ROWS], &[Line]), sums: &mut Sums) {
    let form = task.multiply;
    let k = usize::from(form.k);
    match (form.a, form.b) {
        (Element::Float(a), Element::Float(b)) => {
            let half_sums = form.accumulator == Accumulator::F16;
            let arithmetic = task.generation.arithmetic(Unit::Group, [a, b], k, half_sums);
            product(&arithmetic, &Tile { a: rows, b: columns, m: ROWS, k }, sums);
        }
        (Element::Bit { .. }, _) => {
            for (sums, a) in sums.iter_mut().zip(lines.0) {
                for (sum, b) in sums.iter_mut().zip(lines.1) {
                    let common: u32 = a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum();
                    *sum = sum.wrapping_add(common);
                }
            }
        }
        _ => {
            let products = products_of_integers(&Tile { a: rows, b: columns, m: ROWS, k });
            for (sums, products) in sums.iter_mut().zip(&products) {
                for (sum, product) in sums.iter_mut().zip(products) {
                    *sum = fitted(form.saturate, *sum, *product);
                }
            }
        }
    }
}

/// A warp's rows of A out of four registers: with `g` a lane's group of four and `t` its place in it, word `t` of row `g`, of
/// row `g + 8`, and the same of word `t + 4`.
#[inline(always)]
fn in_registers(warp: &Warp, registers: &[(File, Slot)]) -> [Line; ROWS] {
    let mut lines = [Line::default(); ROWS];
    for (n, (_, slot)) in registers.iter().enumerate().take(4) {
        let values = &warp.r[*slot as usize].0;
        for lane in 0..LANES {
            lines[lane / 4 + n % 2 * 8][lane % 4 + n / 2 * 4] = values[lane];
        }
    }
    lines
}

#[inline(always)]
fn rows_of(form: GroupMultiply, lines: &[Line; ROWS]) -> Rows {
    let mut rows = Rows::new();
    let per = form.a.per_register();
    for (row, line) in lines.iter().enumerate() {
        for first in (0..usize::from(form.k).min(32)).step_by(COLUMNS) {
            let mut patterns = [0; COLUMNS];
            for (n, pattern) in patterns.iter_mut().enumerate() {
                *pattern = element(line, first + n, per);
            }
            rows.set_terms(row, first, taken_apart(form.a, &patterns, form.negate[0]));
        }
    }
    rows
}

#[inline(always)]
fn columns_of(form: GroupMultiply, lines: &[Line]) -> Columns {
    let mut columns = Columns::new();
    let per = form.b.per_register();
    for term in 0..usize::from(form.k).min(32) {
        let mut patterns = [0; COLUMNS];
        for (pattern, line) in patterns.iter_mut().zip(lines) {
            *pattern = element(line, term, per);
        }
        columns.set_row(term, taken_apart(form.b, &patterns, form.negate[1]));
    }
    columns
}

/// An element of a line that has so many in a word.
#[inline(always)]
fn element(line: &Line, n: usize, per: usize) -> u32 {
    let bits = 32 / per;
    line[n / per % line.len()] >> (n % per * bits) & (u32::MAX >> (32 - bits))
}

#[inline(always)]
fn taken_apart(kind: Element, patterns: &[u32; COLUMNS], negate: bool) -> [[i32; COLUMNS]; 2] {
    let [mut significands, exponents] = match kind {
        Element::Float(format) => Factor::all(format, patterns),
        Element::Integer { signed: true, .. } => [patterns.map(|pattern| i32::from(pattern as i8)), [0; COLUMNS]],
        _ => [patterns.map(|pattern| pattern as i32), [0; COLUMNS]],
    };
    if negate {
        significands = significands.map(|significand| -significand);
    }
    [significands, exponents]
}
