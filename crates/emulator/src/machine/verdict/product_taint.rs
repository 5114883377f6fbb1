//! Sums of `mma.sync` that are computed from what nobody wrote: those in whose row of A, or column of B, there is any, or which
//! are added to any. Where elements lie, `arithmetic::warp_mma` says.

use crate::machine::lanes::{LANES, each};
use crate::machine::state::shadow::Taint;
use crate::program::{Accumulator, Extended, File, Multiply, Slot};
use crate::tensor::COLUMNS;

/// Rows of A.
const ROWS: usize = 16;

impl Taint {
    pub(super) fn multiply(&mut self, extended: &Extended, multiply: Multiply) {
        let [a_count, b_count, _] = multiply.registers();
        let (a, rest) = extended.reads.split_at(a_count);
        let (b, c) = rest.split_at(b_count);
        // Of each row and column, where what nobody wrote comes from.
        let (mut of_row, mut of_column) = ([None; ROWS], [None; COLUMNS]);
        for (n, register) in a.iter().enumerate() {
            let down = if multiply.m == 16 { 8 * (n % 2) } else { 0 };
            self.each_tainted(*register, |lane, origin| of_row[lane / 4 + down] = Some(origin));
        }
        for register in b {
            self.each_tainted(*register, |lane, origin| of_column[lane / 4] = Some(origin));
        }
        // (D may be C, in another order of registers.)
        let mut before = vec![[None; LANES]; extended.writes.len()];
        for (register, of_lane) in c.iter().zip(&mut before) {
            self.each_tainted(*register, |lane, origin| of_lane[lane] = Some(origin));
        }
        let halves = multiply.accumulator == Accumulator::F16;
        for (n, (&(file, slot), before)) in extended.writes.iter().zip(&before).enumerate() {
            for lane in 0..LANES {
                let (row, column, many) = match halves {
                    true => (lane / 4 + 8 * n, 2 * (lane % 4), 2),
                    false => (lane / 4 + 8 * (n / 2), 2 * (lane % 4) + n % 2, 1),
                };
                let of_columns = || of_column[column..column + many].iter().flatten().next().copied();
                let origin = of_row[row].or_else(of_columns).or(before[lane]);
                self.set(file, slot, lane, (0, origin.is_some()), origin.unwrap_or_default());
            }
        }
    }

    /// The lanes of which anything is unwritten, each with the number of its origin.
    fn each_tainted(&self, (file, slot): (File, Slot), mut go: impl FnMut(usize, u32)) {
        each(self.lanes(file, slot)).for_each(|lane| go(lane, self.origin_index(file, slot, lane)));
    }
}
