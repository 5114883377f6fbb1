//! Which lane reads what of B: a warp's part of 8 rows, by columns, and where it lies in shared memory.

use std::collections::BTreeSet;

use emulator::{AccessKind, Dim3, Memory, TracedAccess};
use gemm::{Dtype, Error, Shape};
use levels::level16_tf32_warpgroup::LEVEL;

use super::traced::{build_of, some_accesses, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

/// BM, BN, STAGES, CLUSTER, BLOCKS.
const SIZES: [u32; 5] = [256, 128, 4, 2, 132];
/// A cluster's tiles, one step.
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1] * SIZES[3], k: 32 };
/// Bytes: of a row of a box, of a chunk, of what a lane reads at once.
const LINE: u32 = 128;
const CHUNK: u32 = 16;
const PAIR: u32 = 8;
/// Lanes that one wavefront serves.
const HALF: u32 = 16;

const SIDE: f64 = 21.0;
const TOP: f64 = 112.0;

/// What a lane reads: row and pair of the box, as they lie in shared memory.
struct Read {
    lane: u32,
    row: u32,
    place: u32,
}

pub fn draw() -> Result<Sheet, Error> {
    let build = build_of(&LEVEL, Dtype::TF32, "", &SIZES)?;
    let accesses = some_accesses(&build, SHAPE, |block| block == Dim3 { x: 0, y: 0, z: 0 })?;
    let reads = reads(&accesses)?;
    let mut sheet = Sheet::new(
        786.0,
        "A warp's part of 8 rows of B",
        "Left 8 rows of a box of B, by columns, two neighbours in a cell, with the lanes of warp 0 that read them: lane 4 g + t reads \
         rows t and t + 4. Right the same cells where they lie in shared memory: the lanes 0 to 15 of one load, and 16 to 31, have all 32 \
         banks.",
    );
    sheet.text(
        (MARGIN, 62.0),
        "A cell is two neighbours of a row, 8 bytes, with the lane of warp 0 that reads both.",
        "small",
        Anchor::Start,
    );
    for row in 0..8 {
        sheet.text((MARGIN, TOP + SIDE * (f64::from(row) + 0.5) + 5.0), &format!("row {row}"), "small", Anchor::Start);
    }
    let width = SIDE * f64::from(LINE / PAIR);
    let (left, right) = (MARGIN + 52.0, MARGIN + 52.0 + width + 22.0);
    panel(&mut sheet, left, ("by columns", "column 0", "column 31"), &reads, |read| {
        let chunk = (read.place / 2) ^ read.row;
        chunk * 2 + read.place % 2
    });
    panel(&mut sheet, right, ("in shared memory", "bank 0", "bank 31"), &reads, |read| read.place);
    let y = TOP + 8.0 * SIDE + 32.0;
    sheet.legend((left, y), "B", "lanes 0 to 15: one wavefront of each load");
    sheet.legend((right, y), "b", "lanes 16 to 31: the other one");
    sheet.text((left, y + 26.0), "One load reads rows 0 to 3, the next one rows 4 to 7.", "small", Anchor::Start);
    Ok(sheet)
}

/// The first two loads of warp 0: the first 8 rows.
fn reads(accesses: &[TracedAccess]) -> Result<Vec<Read>, Error> {
    let loads = accesses.iter().filter(|access| {
        access.warp == 0 && access.kind == AccessKind::Load && access.memory == Memory::Shared && access.bytes == PAIR
    });
    let loads: Vec<&TracedAccess> = loads.take(2).collect();
    let start = SIZES[0] * LINE;
    let mut reads = Vec::new();
    for (number, load) in loads.iter().enumerate() {
        for half in 0..2 {
            let mut banks = BTreeSet::new();
            for lane in half * HALF..(half + 1) * HALF {
                let at = load.lanes.get(lane as usize).map_or(0, |lane| lane.offset as u32).wrapping_sub(start);
                let read = Read { lane, row: at / LINE, place: at % LINE / PAIR };
                banks.insert(read.place);
                if read.row != lane % 4 + 4 * number as u32 {
                    return Err(unlike(&format!("lane {lane} reads row {}", read.row)));
                }
                reads.push(read);
            }
            if banks.len() as u32 != LINE / PAIR {
                return Err(unlike("16 lanes read from the same bank twice"));
            }
        }
    }
    if reads.len() != 64 {
        return Err(unlike("warp 0 reads nothing of 8 bytes"));
    }
    Ok(reads)
}

/// 8 rows, each cell with the lane that reads it, at the place that is given.
fn panel(
    sheet: &mut Sheet,
    x: f64,
    (name, first, last): (&str, &str, &str),
    reads: &[Read],
    place: impl Fn(&Read) -> u32,
) {
    let memory = Matrix { x, y: TOP, rows: 8, columns: LINE / PAIR, side: SIDE };
    let right = memory.area().right();
    sheet.text((x, TOP - 26.0), name, "bold", Anchor::Start);
    sheet.text((x, TOP - 8.0), first, "small", Anchor::Start);
    sheet.text((right, TOP - 8.0), last, "small", Anchor::End);
    sheet.matrix(&memory, "n");
    for read in reads {
        let area = memory.element(read.row, place(read));
        let (class, text) = if read.lane < HALF { ("B", "small bold white") } else { ("b", "small") };
        sheet.area(area, class);
        sheet.label(area, &read.lane.to_string(), text);
    }
    for chunk in 1..LINE / CHUNK {
        let at = x + SIDE * f64::from(2 * chunk);
        sheet.line((at, TOP), (at, memory.area().bottom()), "mesh");
    }
    sheet.area(Area { ..memory.area() }, "frame");
}
