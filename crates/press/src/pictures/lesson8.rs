//! The order of the blocks: what the first blocks of levels 7 and 8 make of C, and what of A and B they need.

use std::collections::BTreeSet;

use emulator::gpu::H200;
use emulator::{Dim3, TracedAccess};
use gemm::{Error, Level, Shape};

use super::traced::{array, build, elements, is_global_load, is_store, some_accesses_in, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

/// BM, BN, BK, WM, WN, TM, TN, STAGES.
const SIZES: [u32; 8] = [128, 256, 8, 64, 64, 8, 16, 4];
const LEVELS: [(&Level, &str); 2] =
    [(&levels::level7_register_pipeline::LEVEL, "shuffled"), (&levels::level8_rasterization::LEVEL, "")];
/// The rows of tiles that are drawn, and the columns: those of N = 8192.
const ROWS: u32 = 10;
const COLUMNS: u32 = 32;
/// The upper part of the lesson's problem, as deep as one step: the order of the blocks does not depend on K.
const SHAPE: Shape = Shape { m: ROWS * SIZES[0], n: COLUMNS * SIZES[1], k: SIZES[2] };

const WIDTH: f64 = 720.0;
/// The width of a panel, and the side of a tile.
const PANEL: f64 = 350.0;
const SIDE: f64 = 9.5;

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        WIDTH,
        &format!("The first {} blocks, one for each SM: their tiles of C", H200.sms),
        "Two pictures of the upper rows of tiles of C, 32 tiles wide. In level 7 the first blocks fill four rows of tiles and the beginning \
         of a fifth: they need 5 rows of tiles of A and all 32 columns of B. In level 8 they fill a band of eight rows, column by \
         column: they need 8 rows of A, but only 17 columns of B.",
    );
    for (index, (level, variant)) in LEVELS.into_iter().enumerate() {
        panel(&mut sheet, MARGIN + PANEL * index as f64, level, variant)?;
    }
    let explained = [
        "One square is a tile of C, 128 × 256. The lines: the order of the blocks.",
        "Blue: rows of tiles of A that these blocks read; orange: columns of tiles of B.",
    ];
    sheet.lines((MARGIN, 262.0), &explained, "small");
    Ok(sheet)
}

fn panel(sheet: &mut Sheet, x: f64, level: &'static Level, variant: &str) -> Result<(), Error> {
    let build = build(level, variant, &SIZES)?;
    let whole = build.launch(&SHAPE).grid;
    // As many blocks as run at a time; of a grid of two dimensions, whole rows of it.
    let grid = match whole.y {
        1 => Dim3::xy(H200.sms, 1),
        _ => Dim3::xy(whole.x, H200.sms.div_ceil(whole.x)),
    };
    let number = |block: Dim3| block.y * grid.x + block.x;
    let accesses = some_accesses_in(&build, SHAPE, grid, |block| number(block) < H200.sms)?;
    let tiles = tiles(&accesses, number)?;
    let touched = |of: &str, columns: u32, place: fn((u32, u32)) -> u32| -> BTreeSet<u32> {
        let loads = accesses.iter().filter(|access| is_global_load(access) && array(access) == of);
        loads
            .flat_map(|access| access.lanes.iter().flat_map(|lane| elements(access, lane, columns)))
            .map(place)
            .collect()
    };
    let from_a = touched("A", SHAPE.k, |place| place.0 / SIZES[0]);
    let from_b = touched("B", SHAPE.n, |place| place.1 / SIZES[1]);

    sheet.text((x, 66.0), &level.short(), "bold", Anchor::Start);
    let c = Matrix { x: x + 20.0, y: 100.0, rows: ROWS, columns: COLUMNS, side: SIDE };
    sheet.matrix(&c, "o");
    for &row in &from_a {
        sheet.area(Area { x: x + 2.0, width: 12.0, ..c.part(row, 0, 1, 1) }, "A");
    }
    for &column in &from_b {
        sheet.area(Area { y: c.y - 18.0, height: 12.0, ..c.part(0, column, 1, 1) }, "B");
    }
    for &(row, column) in &tiles {
        sheet.area(c.element(row, column), "c");
    }
    // Through the tiles in their order, as far as neighbours follow each other.
    for pair in tiles.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|(row, column)| c.element(row, column).middle());
        sheet.line(from, to, "arrow");
    }
    let needed = [
        format!("{} rows of tiles of A, {} columns of B:", from_a.len(), from_b.len()),
        format!("{} rows of A and {} columns of B", from_a.len() as u32 * SIZES[0], from_b.len() as u32 * SIZES[1]),
    ];
    sheet.lines((x, c.area().bottom() + 20.0), &needed.each_ref().map(String::as_str), "small");
    Ok(())
}

/// The tile of C that each block stores, in the order of the blocks.
fn tiles(accesses: &[TracedAccess], number: impl Fn(Dim3) -> u32) -> Result<Vec<(u32, u32)>, Error> {
    let mut tiles = vec![None; H200.sms as usize];
    for access in accesses.iter().filter(|access| is_store(access, "C")) {
        for (row, column) in access.lanes.iter().flat_map(|lane| elements(access, lane, SHAPE.n)) {
            let tile = (row / SIZES[0], column / SIZES[1]);
            let known = tiles[number(access.block) as usize].get_or_insert(tile);
            if *known != tile {
                return Err(unlike("a block has more than one tile"));
            }
        }
    }
    tiles.into_iter().collect::<Option<_>>().ok_or_else(|| unlike("a block stores nothing"))
}
