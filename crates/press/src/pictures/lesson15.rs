//! A cluster shares out K, and its blocks read each other's sums: who multiplies which steps, and who reads what of whom, in which
//! order.

use emulator::{Memory, TracedAccess};
use gemm::{Dtype, Error, Shape};
use levels::level15_cluster_split_k::LEVEL;

use super::traced::{build_of, some_accesses, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// BM, BN, STAGES, PARTS.
const SIZES: [u32; 4] = [64, 64, 4, 8];
const BK: u32 = 64;
const PARTS: u32 = SIZES[3];
/// One tile, as deep as the lesson's problem.
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1], k: 2048 };
/// Boxes of a step: one of A, and one for each 64 columns of B.
const BOXES: u32 = 1 + SIZES[1] / 64;
/// Columns of a tile whose sums lie together, and the bytes of these.
const FIELD: u32 = 8;
const BYTES: u64 = (4 * FIELD * SIZES[0]) as u64;
/// The block whose reads are marked.
const CHOSEN: u32 = 5;

const WIDTH: f64 = 680.0;
const LEFT: f64 = MARGIN + 70.0;
const CELL: (f64, f64) = ((WIDTH - LEFT - MARGIN) / PARTS as f64, 26.0);

pub fn draw() -> Result<Sheet, Error> {
    let build = build_of(&LEVEL, Dtype::BF16, "", &SIZES)?;
    let accesses = some_accesses(&build, SHAPE, |_| true)?;
    let parts = parts(&accesses)?;
    let reads = reads(&accesses)?;
    let mut sheet = Sheet::new(
        WIDTH,
        &format!("A tile of C, K = {}, and a cluster of {PARTS} blocks", SHAPE.k),
        "Above, a bar stands for K; each block of the cluster multiplies four of its 32 steps. Below, a row of eight fields for each \
         block: its sums in its shared memory, eight columns of the tile in a field. Block 5 reads the sixth field of every block, \
         in the order of their ranks, and stores these columns of C.",
    );
    let y = along_k(&mut sheet, &parts);
    sums(&mut sheet, &reads, y + 62.0);
    Ok(sheet)
}

/// The steps that each block multiplies, from the first to behind the last: as many as it fetches boxes for, one block after the other.
fn parts(accesses: &[TracedAccess]) -> Result<Vec<(u32, u32)>, Error> {
    let mut boxes = vec![0; PARTS as usize];
    for access in accesses.iter().filter(|access| access.opcode.contains("bulk.tensor")) {
        boxes[access.block.x as usize] += access.lanes.len() as u32;
    }
    let mut end = 0;
    let mut next = |boxes: &u32| {
        let begin = end;
        end += boxes / BOXES;
        (begin, end)
    };
    let parts: Vec<(u32, u32)> = boxes.iter().map(&mut next).collect();
    let each = SHAPE.k / BK / PARTS;
    let equal = (0..PARTS).map(|part| (part * each, (part + 1) * each));
    if !equal.eq(parts.iter().copied()) {
        return Err(unlike(&format!("the blocks' steps are {parts:?}")));
    }
    Ok(parts)
}

/// A block's reads of sums: the ranks of those that have them, and the field, in order.
type Reads = Vec<(u32, u32)>;

fn reads(accesses: &[TracedAccess]) -> Result<Vec<Reads>, Error> {
    let mut reads = vec![Reads::new(); PARTS as usize];
    let of_peers =
        |access: &&TracedAccess| access.memory == Memory::Shared && access.opcode.starts_with("ld.shared::cluster");
    // All four warps do the same, each for its rows.
    for access in accesses.iter().filter(of_peers).filter(|access| access.warp == 0) {
        let first = access.lanes.first().ok_or_else(|| unlike("no lane reads"))?;
        reads[access.block.x as usize].push((first.rank, (first.offset / BYTES) as u32));
    }
    for (block, reads) in (0..).zip(&reads) {
        let expected: Reads = (0..PARTS).map(|rank| (rank, block)).collect();
        if *reads != expected {
            return Err(unlike(&format!("block {block} reads {reads:?}")));
        }
    }
    Ok(reads)
}

/// The bar of K. Gives its lower end.
fn along_k(sheet: &mut Sheet, parts: &[(u32, u32)]) -> f64 {
    let (top, height) = (82.0, 34.0);
    let steps = SHAPE.k / BK;
    let text = format!("K: {steps} steps of {BK}, {} for each block", steps / PARTS);
    sheet.text((LEFT, top - 12.0), &text, "bold", Anchor::Start);
    let step = (WIDTH - LEFT - MARGIN) / f64::from(steps);
    for (block, &(from, to)) in (0..).zip(parts) {
        let area = Area::new(LEFT + step * f64::from(from), top, step * f64::from(to - from), height);
        sheet.area(area, if block == CHOSEN { "B" } else { "b" });
        sheet.label(area, &format!("block {block}"), if block == CHOSEN { "small bold white" } else { "small" });
    }
    top + height
}

/// The blocks' sums, and who reads them.
fn sums(sheet: &mut Sheet, reads: &[Reads], top: f64) {
    let cell = |column: u32, y: f64| Area::new(LEFT + CELL.0 * f64::from(column), y, CELL.0, CELL.1);
    let row = |rank: u32| top + 24.0 + CELL.1 * f64::from(rank);
    sheet.text((LEFT, top - 14.0), "the sums of each block, in its shared memory", "bold", Anchor::Start);
    sheet.text((MARGIN, top + 14.0), "columns", "small", Anchor::Start);
    for field in 0..PARTS {
        let name = format!("{} to {}", field * FIELD, (field + 1) * FIELD - 1);
        sheet.label(Area::new(LEFT + CELL.0 * f64::from(field), top, CELL.0, 20.0), &name, "small");
    }
    for rank in 0..PARTS {
        sheet.text((MARGIN, row(rank) + 18.0), &format!("block {rank}"), "small", Anchor::Start);
    }
    for (block, reads) in (0..).zip(reads) {
        for (number, &(rank, field)) in (1..).zip(reads) {
            let area = cell(field, row(rank));
            sheet.area(area, if block == CHOSEN { "C" } else { "c" });
            if block == CHOSEN {
                sheet.label(area, &format!("{number}"), "small bold white");
            }
        }
    }
    let (below, stored) = (row(PARTS), row(PARTS) + 34.0);
    for block in 0..PARTS {
        let area = cell(block, stored);
        sheet.arrow((area.middle().0, below + 3.0), (area.middle().0, stored - 3.0));
        sheet.area(area, if block == CHOSEN { "C" } else { "c" });
        sheet.label(area, &format!("block {block}"), if block == CHOSEN { "small bold white" } else { "small" });
    }
    sheet.text((MARGIN, stored + 18.0), "C, stored", "small", Anchor::Start);
    let (first, last) = (CHOSEN * FIELD, (CHOSEN + 1) * FIELD - 1);
    sheet.lines(
        (LEFT, stored + CELL.1 + 26.0),
        &[
            &format!("Block {CHOSEN} reads its field of every block, from block 0 to block {}, adds up,", PARTS - 1),
            &format!("and stores columns {first} to {last} of the tile. One of the {PARTS} fields is its own."),
        ],
        "small",
    );
}
