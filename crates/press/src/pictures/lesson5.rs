//! What a warp reads for one step along K, in level 4 and in level 5: its part of C, and how its lanes stand in it.

use std::collections::BTreeSet;

use emulator::{Dim3, TracedAccess};
use gemm::{Error, Level, Shape};

use super::traced::{accesses, array, build, elements, is_load, is_store, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

const TILE: u32 = 128;
const SHAPE: Shape = Shape { m: TILE, n: TILE, k: 8 };
const LEVELS: [(&Level, &str, &[u32]); 2] = [
    (&levels::level4_vectorized::LEVEL, "spread", &[TILE, TILE, 8, 8, 8]),
    (&levels::level5_warp_tiling::LEVEL, "", &[TILE, TILE, 8, 32, 64, 8, 8]),
];
const WIDTH: f64 = 680.0;
const PANEL: f64 = 330.0;

type Place = (u32, u32);

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        WIDTH,
        "What one warp reads for one k: level 4 and level 5",
        "A block's tile of C with the part that its first warp computes, the rows of As and the columns of Bs that the warp reads for \
         it; and the warp's 32 lanes in the order in which they stand. In level 4, a warp is two rows of 16 lanes. In level 5, it is \
         four rows of 8, and neighbouring lanes stand in pairs below and beside each other.",
    );
    for (index, (level, variant, sizes)) in LEVELS.into_iter().enumerate() {
        let accesses = accesses(&build(level, variant, sizes)?, SHAPE)?;
        let accesses: Vec<TracedAccess> = accesses
            .into_iter()
            .filter(|access| access.block == Dim3 { x: 0, y: 0, z: 0 } && access.warp == 0)
            .collect();
        let x = MARGIN + PANEL * index as f64;
        sheet.text((x, 66.0), &level.short(), "bold", Anchor::Start);
        let below = tile(&mut sheet, x, &accesses)?;
        lanes(&mut sheet, (x, below), &accesses)?;
    }
    Ok(sheet)
}

/// The tile of C, the warp's part of it, and what it reads of As and Bs.
fn tile(sheet: &mut Sheet, x: f64, accesses: &[TracedAccess]) -> Result<f64, Error> {
    let c = Matrix { x: x + 44.0, y: 112.0, rows: TILE, columns: TILE, side: 1.5 };
    let all = |wanted: &dyn Fn(&TracedAccess) -> bool, columns: u32| -> BTreeSet<Place> {
        let chosen = accesses.iter().filter(|access| wanted(access));
        chosen.flat_map(|access| access.lanes.iter().flat_map(|lane| elements(access, lane, columns))).collect()
    };
    let sums = all(&|access| is_store(access, "C"), TILE);
    // Of all steps along K the first: the first row of Bs, and of As, whose rows are longer by a padding.
    let first = |of: &'static str| move |access: &TracedAccess| is_load(access, of);
    let from_a: BTreeSet<u32> =
        all(&first("As"), TILE + 4).into_iter().filter(|place| place.0 == 0).map(|place| place.1).collect();
    let from_b: BTreeSet<u32> =
        all(&first("Bs"), TILE).into_iter().filter(|place| place.0 == 0).map(|place| place.1).collect();
    sheet.area(c.area(), "o");
    for &(row, column) in sums.iter().filter(|(row, column)| row % 4 == 0 && column % 4 == 0) {
        sheet.area(c.part(row, column, 4, 4), "c");
    }
    for &row in from_a.iter().filter(|row| *row % 4 == 0) {
        sheet.area(Area { x: c.x - 22.0, width: 14.0, ..c.part(row, 0, 4, 1) }, "A");
    }
    for &column in from_b.iter().filter(|column| *column % 4 == 0) {
        sheet.area(Area { y: c.y - 22.0, height: 14.0, ..c.part(0, column, 1, 4) }, "B");
    }
    sheet.text((c.x - 44.0, c.y + 14.0), "As", "small", Anchor::Start);
    sheet.text((c.x - 26.0, c.y - 10.0), "Bs", "small", Anchor::End);
    let mut y = c.area().bottom() + 24.0;
    y = sheet.legend((x, y), "A", &format!("{} values of As for one k", from_a.len()));
    y = sheet.legend((x, y), "B", &format!("{} values of Bs for one k", from_b.len()));
    y = sheet.legend((x, y), "c", &format!("{} sums", sums.len()));
    Ok(y)
}

/// The lanes in the order of their first vectors: those in a row share one of As, those in a column one of Bs.
fn lanes(sheet: &mut Sheet, (x, y): (f64, f64), accesses: &[TracedAccess]) -> Result<(), Error> {
    let first = |of: &str| {
        let load = accesses.iter().find(|access| is_load(access, of));
        load.ok_or_else(|| unlike("a warp reads neither As nor Bs"))
    };
    let (a, b) = (first("As")?, first("Bs")?);
    let ranks = |access: &TracedAccess| -> Vec<u32> {
        let places: BTreeSet<u64> = access.lanes.iter().map(|lane| lane.offset).collect();
        access.lanes.iter().map(|lane| places.iter().take_while(|place| **place < lane.offset).count() as u32).collect()
    };
    let (rows, columns) = (ranks(a), ranks(b));
    sheet.text((x, y + 16.0), "its lanes, by their first vectors", "bold", Anchor::Start);
    let side = 18.5;
    for lane in 0..rows.len() {
        let area = Area::new(x + side * f64::from(columns[lane]), y + 28.0 + side * f64::from(rows[lane]), side, side);
        sheet.area(area, if lane < 4 { "C" } else { "o" });
        sheet.label(area, &lane.to_string(), if lane < 4 { "small bold white" } else { "small" });
    }
    let height = f64::from(rows.iter().max().unwrap_or(&0) + 1);
    let y = y + 28.0 + side * height + 22.0;
    for (index, access) in [a, b].into_iter().enumerate() {
        let cost = access.shared_cost().ok_or_else(|| unlike("As is no shared memory"))?;
        let text = format!("a load of {}: {} wavefronts", array(access), cost.wavefronts);
        sheet.text((x, y + 19.0 * index as f64), &text, "small", Anchor::Start);
    }
    Ok(())
}
