//! What a copy of a box and a product of a warpgroup touch, row by row, for `Device::trace`. Neither says so by its lanes' addresses:
//! a box is in its tensor map, a product's operands are in their descriptors.

use std::sync::Arc;

use crate::TensorMap;
use crate::global::locate;
use crate::machine::arithmetic::warpgroup_mma::ROWS;
use crate::machine::state::tensor_box::{Row, TensorBox};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::matrix_descriptor::{Major, MatrixDescriptor};
use crate::program::{BLOCK_WINDOW, Extended, GroupMultiply, PARAMETER_WINDOW, in_window};
use crate::trace::{GlobalBytes, Touched, TouchedRow};

/// Rows of A.
const M: u32 = 64;

impl Worker<'_> {
    /// The box that a lane's copy moves: so many coordinates, and where it lies in shared memory.
    pub(crate) fn touched_box(
        &self,
        warp: &mut Warp,
        extended: &Extended,
        (lane, rank, store): (usize, u8, bool),
    ) -> Touched {
        let Some(&[map, place]) = extended.accesses.first_chunk::<2>() else { return Touched::Unknown };
        let [map, at] = [map, place].map(|index| {
            warp.set_addresses(&self.context.program.accesses[index as usize], 1 << lane);
            warp.scratch.addresses.0[lane]
        });
        if !in_window(map, PARAMETER_WINDOW) {
            return Touched::Unknown;
        }
        let first = (map - PARAMETER_WINDOW) as usize;
        let bytes = self.context.parameters.get(first..first + 128).and_then(|bytes| bytes.try_into().ok());
        let Some(Ok(map)) = bytes.map(|bytes| TensorMap::from_bytes(bytes).description()) else {
            return Touched::Unknown;
        };
        let read = |n: usize| extended.reads.get(n).map(|(file, slot)| warp.wide(*file, *slot, lane));
        let coordinates: Vec<i32> = (0..usize::from(rank)).map(|n| read(n).unwrap_or_default() as i32).collect();
        if map.sizes.len() != coordinates.len() {
            return Touched::Unknown;
        }
        let (tensor, at) = (TensorBox { map, name: String::new(), coordinates }, (at % BLOCK_WINDOW) as u32);
        Touched::Box((0..tensor.rows()).map(|index| self.row_of_box(&tensor, (at, index), store)).collect())
    }

    fn row_of_box(&self, tensor: &TensorBox, (at, index): (u32, u32), store: bool) -> TouchedRow {
        let Row { start, inside } = tensor.row(index, store);
        let chunks =
            (0..tensor.map.row_bytes()).step_by(16).map(|chunk| at + tensor.place(at, start + chunk)).collect();
        let global = inside.map(|(address, range)| {
            let (buffer, offset) = locate(address);
            let name = self.context.memory.buffers.get(buffer).map_or("", |memory| memory.name.as_str());
            GlobalBytes { array: Arc::from(name), offset, address, bytes: range.len() as u32 }
        });
        TouchedRow { chunks, global }
    }

    /// What a warp asks for of a product's operands that lie in shared memory: its sixteen rows of A, and all of B.
    pub(crate) fn touched_operands(
        &self,
        warp: &Warp,
        extended: &Extended,
        form: GroupMultiply,
    ) -> Vec<(u32, Touched)> {
        let both = if form.in_registers { 1..2 } else { 0..2 };
        let operands = both.zip(&extended.accesses).filter_map(|(which, index)| {
            let access = &self.context.program.accesses[*index as usize];
            let descriptor = MatrixDescriptor::decode(warp.d[access.base as usize].0[0])?;
            let count = if which == 0 { M } else { form.n.into() };
            let own = warp.number % 4 * ROWS as u32;
            let rows = if which == 0 { own..own + ROWS as u32 } else { 0..count };
            let (major, lines, chunks) = match form.transpose[which] {
                false => (Major::K, rows, 0..2),
                // A chunk has eight of them.
                true => (Major::Mn, 0..form.k.into(), rows.start / 8..rows.end / 8),
            };
            let row = |line| TouchedRow {
                chunks: chunks.clone().map(|chunk| descriptor.chunk(major, line, chunk)).collect(),
                global: None,
            };
            let rows = lines.map(row).collect();
            Some((*index, if which == 0 { Touched::A(rows) } else { Touched::B(rows) }))
        });
        operands.collect()
    }
}
