//! What one `ldmatrix` reads of a square of 16 x 16 bytes, and where it lies in shared memory.

use std::collections::BTreeSet;

use emulator::{AccessKind, Dim3, Memory, TracedAccess};
use gemm::{Dtype, Error, Shape};
use levels::level17_fp8_promotion::LEVEL;

use super::sheet::{MARGIN, Matrix, Sheet};
use super::traced::{build_of, some_accesses, unlike};
use crate::svg::Anchor;

/// BM, BN, STAGES, CLUSTER, BLOCKS.
const SIZES: [u32; 5] = [128, 256, 4, 2, 132];
/// A cluster's tiles, one step.
const SHAPE: Shape = Shape { m: SIZES[0] * SIZES[3], n: SIZES[1], k: 128 };
/// Bytes: of a row of a box, of a chunk.
const LINE: u32 = 128;
const CHUNK: u32 = 16;
/// The first warp that transposes.
const WARP: u32 = 9;
/// The lanes that give the rows of one square: those of two matrices.
const LANES: u32 = 16;

const SIDE: f64 = 21.0;
const TOP: f64 = 112.0;

/// A chunk that a lane's address is of: the row of the square, the place in the row, and the matrix.
struct Read {
    row: u32,
    place: u32,
    matrix: u32,
}

pub fn draw() -> Result<Sheet, Error> {
    let build = build_of(&LEVEL, Dtype::E4M3, "promoted", &SIZES)?;
    let accesses = some_accesses(&build, SHAPE, |block| block == Dim3 { x: 0, y: 0, z: 0 })?;
    let reads = reads(&accesses)?;
    let mut sheet = Sheet::new(
        560.0,
        "A square of B on its way to be transposed",
        "16 rows of a square of B, one for each k, each with one chunk of 16 bytes, in rows of 8 chunks as they lie in shared memory. \
         Eight chunks belong to the first matrix of an ldmatrix and eight to the second one. The chunks of each matrix are in 8 \
         different places, so they have all 32 banks.",
    );
    sheet.text(
        (MARGIN, 62.0),
        "A cell is 16 bytes of a row of B, with the matrix that it belongs to.",
        "small",
        Anchor::Start,
    );
    let x = MARGIN + 60.0;
    let memory = Matrix { x, y: TOP, rows: LANES, columns: LINE / CHUNK, side: SIDE };
    let right = memory.area().right();
    sheet.text((x, TOP - 26.0), "in shared memory", "bold", Anchor::Start);
    sheet.text((x, TOP - 8.0), "bank 0", "small", Anchor::Start);
    sheet.text((right, TOP - 8.0), "bank 31", "small", Anchor::End);
    sheet.matrix(&memory, "n");
    for read in &reads {
        let area = memory.element(read.row, read.place);
        let (class, text) = if read.matrix == 0 { ("B", "small bold white") } else { ("b", "small") };
        sheet.area(area, class);
        sheet.label(area, &read.matrix.to_string(), text);
        let y = TOP + SIDE * (f64::from(read.row) + 0.5) + 5.0;
        sheet.text((MARGIN, y), &format!("k = {}", read.row), "small", Anchor::Start);
    }
    sheet.area(memory.area(), "frame");
    let y = memory.area().bottom() + 14.0;
    sheet.legend((x, y), "B", "matrix 0: eight rows, all banks");
    sheet.legend((x, y + 26.0), "b", "matrix 1: the other eight");
    Ok(sheet)
}

/// The first square that the first of the transposing warps reads.
fn reads(accesses: &[TracedAccess]) -> Result<Vec<Read>, Error> {
    let first = accesses.iter().find(|access| {
        access.warp == WARP
            && access.kind == AccessKind::Load
            && access.memory == Memory::Shared
            && access.bytes == CHUNK
    });
    let load = first.ok_or_else(|| unlike("no warp reads rows of matrices"))?;
    let mut reads = Vec::new();
    for matrix in 0..2 {
        let mut places = BTreeSet::new();
        for lane in matrix * 8..matrix * 8 + 8 {
            let at = load.lanes.get(lane as usize).map_or(0, |lane| lane.offset as u32);
            let (row, place) = (at / LINE % LANES, at % LINE / CHUNK);
            places.insert(place);
            reads.push(Read { row, place, matrix });
        }
        if places.len() != 8 {
            return Err(unlike("eight rows of a matrix meet a bank twice"));
        }
    }
    Ok(reads)
}
