//! Which tiles of A and B a block of level 1 reads, step by step, and by how many blocks each tile is read.

use std::collections::BTreeSet;

use emulator::TracedAccess;
use gemm::{Dim3, Error, Shape};
use levels::level1_tiling::LEVEL;

use super::traced::{accesses, array, build, elements, is_global_load, is_store};
use lab::sheet::{MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

const TILE: u32 = 8;
const SHAPE: Shape = Shape { m: 16, n: 16, k: 24 };
const BLOCK: Dim3 = Dim3 { x: 1, y: 0, z: 0 };
const SIDE: f64 = 34.0;

/// A tile of a matrix: its row and its column among the tiles.
type Place = (u32, u32);

pub fn draw() -> Result<Sheet, Error> {
    let accesses = accesses(&build(&LEVEL, "", &[TILE])?, SHAPE)?;
    let mut sheet = Sheet::new(
        620.0,
        &format!("Level 1, block ({},{}): one tile of A and one of B a step", BLOCK.x, BLOCK.y),
        "A, B and C divided into tiles, once for each step of the main loop. The block computes one tile of C. From step to step the \
         tile that it reads of A moves to the right and the tile that it reads of B moves down.",
    );
    let mut phases: Vec<u32> = tiles_read(&accesses, BLOCK).into_iter().map(|(phase, _, _)| phase).collect();
    phases.dedup();
    let own: BTreeSet<Place> = accesses
        .iter()
        .filter(|access| access.block == BLOCK && is_store(access, "C"))
        .flat_map(|access| tiles(access, SHAPE.n))
        .collect();
    let mut bottom = 0.0_f64;
    for (step, phase) in phases.iter().enumerate() {
        let [a, b, c] = matrices(MARGIN + 10.0 + 198.0 * step as f64);
        sheet.text((a.x, 66.0), &format!("step {step}"), "bold", Anchor::Start);
        for (place, name) in [(&a, "A"), (&b, "B"), (&c, "C")] {
            sheet.matrix(place, "o");
            let (x, y) = if name == "B" { (place.x - 12.0, place.y + 12.0) } else { (place.x - 2.0, place.y - 6.0) };
            sheet.text((x, y), name, "bold", if name == "C" { Anchor::End } else { Anchor::Middle });
        }
        for &(row, column) in &own {
            sheet.area(c.element(row, column), "C");
        }
        for (when, name, (row, column)) in tiles_read(&accesses, BLOCK).into_iter().filter(|read| read.0 <= *phase) {
            let place = if name == "A" { &a } else { &b };
            let class = if when == *phase { name } else { name.to_lowercase() };
            sheet.area(place.element(row, column), &class);
        }
        bottom = c.area().bottom();
    }
    let mut y = bottom + 28.0;
    y = sheet.legend((MARGIN, y), "C", "the block's tile of C");
    for name in ["A", "B"] {
        let blocks = blocks_per_tile(&accesses, name);
        let (formula, extent) = if name == "A" { ("N / TILE", SHAPE.n) } else { ("M / TILE", SHAPE.m) };
        let line = format!("each tile of {name} is read by {blocks} blocks: {formula} = {extent} / {TILE}");
        y = sheet.legend((MARGIN, y), name, &line);
    }
    sheet.text(
        (MARGIN, y),
        &format!("M = {}, N = {}, K = {}, TILE = {TILE}", SHAPE.m, SHAPE.n, SHAPE.k),
        "small",
        Anchor::Start,
    );
    Ok(sheet)
}

/// A, B and C in tiles, A to the left of C and B above it.
fn matrices(x: f64) -> [Matrix; 3] {
    let [m, n, k] = [SHAPE.m, SHAPE.n, SHAPE.k].map(|extent| extent / TILE);
    let (right, below) = (x + f64::from(k) * SIDE + 8.0, 82.0 + f64::from(k) * SIDE + 8.0);
    [
        Matrix { x, y: below, rows: m, columns: k, side: SIDE },
        Matrix { x: right, y: 82.0, rows: k, columns: n, side: SIDE },
        Matrix { x: right, y: below, rows: m, columns: n, side: SIDE },
    ]
}

/// The tiles in which the lanes of an access have elements.
fn tiles(access: &TracedAccess, columns: u32) -> BTreeSet<Place> {
    let elements = access.lanes.iter().flat_map(|lane| elements(access, lane, columns));
    elements.map(|(row, column)| (row / TILE, column / TILE)).collect()
}

/// The tiles of A and B that a block reads: after how many barriers, of which matrix, which.
fn tiles_read(accesses: &[TracedAccess], block: Dim3) -> BTreeSet<(u32, String, Place)> {
    let mut read = BTreeSet::new();
    for access in accesses.iter().filter(|access| access.block == block && is_global_load(access)) {
        let columns = if array(access) == "A" { SHAPE.k } else { SHAPE.n };
        read.extend(tiles(access, columns).into_iter().map(|tile| (access.phase, array(access).to_string(), tile)));
    }
    read
}

/// How many blocks read a tile of a matrix: the mean of all its tiles.
fn blocks_per_tile(accesses: &[TracedAccess], name: &str) -> f64 {
    let blocks: BTreeSet<Dim3> = accesses.iter().map(|access| access.block).collect();
    let mut reads = 0;
    let mut all = BTreeSet::new();
    for block in blocks {
        let read: BTreeSet<Place> =
            tiles_read(accesses, block).into_iter().filter(|read| read.1 == name).map(|read| read.2).collect();
        reads += read.len();
        all.extend(read);
    }
    reads as f64 / all.len() as f64
}
