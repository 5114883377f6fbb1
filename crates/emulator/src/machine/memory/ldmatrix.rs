//! `ldmatrix` and `stmatrix`: 8×8 matrices of 16-bit elements between rows in shared memory and the lanes'
//! registers. Lane `8i + r` names row `r` of matrix `i`; lane `4r + c` holds elements `2c` and `2c + 1` of
//! row `r`, or of column `r` where the matrix is transposed.

use super::shared_access::{read_shared, write_shared};
use crate::Fault;
use crate::access::{self, SharedCost};
use crate::machine::lanes::LANES;
use crate::machine::order::Kind;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::machine::verdict::taint::bits;
use crate::origin::Place;
use crate::program::{Access, Extended, File, SHARED_WINDOW, Space};

/// Bytes of a row.
const ROW: u32 = 16;

impl Worker<'_> {
    pub(crate) fn load_matrix(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        transpose: bool,
    ) -> Result<(), Box<Fault>> {
        let index = extended.accesses[0];
        let access = &self.context.program.accesses[index as usize];
        let matrices = extended.writes.len();
        let rows = self.rows(warp, access, matrices)?;
        self.count_shared(index, 8 * matrices as u32, access::ldmatrix(&rows, matrices as u32));
        let mut unwritten = false;
        for (lane, &row) in rows.iter().enumerate().take(8 * matrices) {
            unwritten |= self.check_shared_read(warp, access, lane, row, ROW)?;
        }
        for (matrix, &(file, d)) in extended.writes.iter().enumerate() {
            let out = std::array::from_fn(|lane| {
                let element = |n: usize| {
                    let (row, column) = place(lane, n, transpose);
                    read_shared(&self.state.shared, rows[8 * matrix + row] + 2 * column as u32, 2)
                };
                element(1) << 16 | element(0)
            });
            warp.set_wide(file, d, &out, u32::MAX);
        }
        if unwritten || warp.taint.is_some() {
            let mut registers: [_; 4] = Default::default();
            registers.iter_mut().zip(&extended.writes).for_each(|(slot, (_, d))| *slot = *d);
            let view = Access { registers, element_bytes: 4, elements: matrices as u32, ..access.clone() };
            let at = |lane: usize, byte: u32| {
                let (row, column) = place(lane, byte as usize % 4 / 2, transpose);
                rows[8 * (byte as usize / 4) + row] + 2 * column as u32 + byte % 2
            };
            let missing = |lane| bits(&view, |byte| self.is_unwritten(at(lane, byte)));
            self.taint_loaded(warp, &view, u32::MAX, &missing, &|lane, byte| Place::Shared(at(lane, byte)));
        }
        Ok(())
    }

    pub(crate) fn store_matrix(
        &mut self,
        warp: &mut Warp,
        extended: &Extended,
        transpose: bool,
    ) -> Result<(), Box<Fault>> {
        let index = extended.accesses[0];
        let access = &self.context.program.accesses[index as usize];
        let matrices = extended.reads.len();
        let rows = self.rows(warp, access, matrices)?;
        self.state.wrote();
        self.count_shared(index, 8 * matrices as u32, access::ldmatrix(&rows, matrices as u32));
        for (matrix, &(_, slot)) in extended.reads.iter().enumerate() {
            for lane in 0..LANES {
                let value = warp.wide(File::R, slot, lane);
                for n in 0..2 {
                    let (row, column) = place(lane, n, transpose);
                    let at = rows[8 * matrix + row] + 2 * column as u32;
                    write_shared(&mut self.state.shared, at, 2, value >> (16 * n) & 0xffff);
                }
            }
        }
        for (lane, &row) in rows.iter().enumerate().take(8 * matrices) {
            self.check_shared_write(warp, access, lane, row, ROW)?;
            if self.shared_by_clocks() {
                let deed = Deed { check: false, ..Deed::new(Kind::Write, ROW) };
                self.order_access(warp, access, 1 << lane, Target::Shared, deed)?;
            }
            let stamp = self.stamp(warp, access.at);
            self.mark_shared(row, ROW, stamp.of_thread(stamp.thread() + lane as u32));
        }
        Ok(())
    }

    /// The rows' offsets in shared memory, all within it and aligned.
    fn rows(&self, warp: &mut Warp, access: &Access, matrices: usize) -> Result<[u32; LANES], Box<Fault>> {
        let used = u32::MAX >> (LANES - 8 * matrices);
        warp.set_addresses(access, used);
        if access.space == Space::Generic {
            let all = warp.scratch.addresses.0;
            warp.narrow_addresses(&all, used, SHARED_WINDOW);
        }
        self.offsets(warp, access, used)
    }

    fn count_shared(&mut self, index: u32, lanes: u32, cost: SharedCost) {
        let traffic = &mut self.tally.shared[index as usize];
        traffic.requests += 1;
        traffic.lanes += u64::from(lanes);
        traffic.cost += u64::from(cost.wavefronts);
        traffic.ideal += u64::from(cost.ideal_wavefronts);
        traffic.unique_bytes += u64::from(cost.unique_bytes);
    }
}

/// Row and column of element `n` (0 or 1) that a lane holds of a matrix.
fn place(lane: usize, n: usize, transpose: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, 2 * (lane % 4) + n);
    if transpose { (column, row) } else { (row, column) }
}
