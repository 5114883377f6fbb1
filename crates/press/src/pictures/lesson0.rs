//! Which elements the first warp of level 0 computes, and which sectors one of its loads from A and one from B touch.

use emulator::TracedAccess;
use gemm::{Error, Shape};
use levels::level0_naive::LEVEL;

use super::traced::{accesses, build, distinct, is_load, is_store, unlike};
use lab::sheet::{MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

const SIZE: u32 = 16;
/// Elements of a sector of 32 bytes.
const SECTOR: u32 = 8;
const SIDE: f64 = 8.5;
const GAP: f64 = 18.0;

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        660.0,
        &format!("The first warp of level 0, M = N = K = {SIZE}, at k = 0"),
        "Two pictures of A, B and C. Coalesced, the warp computes two rows of C; its load from B touches whole sectors \
         of one row. Uncoalesced, it computes two columns of C; its load from A goes down a column and touches a sector in \
         every row.",
    );
    let note = format!("Pale: the rest of each sector of {SECTOR} floats, which is fetched with what is read.");
    sheet.text((MARGIN, 60.0), &note, "small", Anchor::Start);
    for (index, variant) in LEVEL.variants.iter().enumerate() {
        panel(&mut sheet, MARGIN + 332.0 * index as f64, variant.name)?;
    }
    Ok(sheet)
}

fn panel(sheet: &mut Sheet, x: f64, variant: &str) -> Result<(), Error> {
    let shape = Shape { m: SIZE, n: SIZE, k: SIZE };
    let accesses = accesses(&build(&LEVEL, variant, &[SIZE])?, shape)?;
    let first_of = |wanted: &dyn Fn(&&TracedAccess) -> bool| {
        accesses.iter().filter(|access| access.warp == 0).find(wanted).ok_or_else(|| unlike("the warp is idle"))
    };
    let matrix = |column: f64, row: f64| {
        let step = f64::from(SIZE) * SIDE + GAP;
        Matrix { x: x + column * step, y: 118.0 + row * step, rows: SIZE, columns: SIZE, side: SIDE }
    };
    let (a, b, c) = (matrix(0.0, 1.0), matrix(1.0, 0.0), matrix(1.0, 1.0));
    sheet.text((x, 92.0), variant, "bold", Anchor::Start);
    for (place, name) in [(&a, "A"), (&b, "B"), (&c, "C")] {
        sheet.matrix(place, "o");
        sheet.text((place.x, place.y - 5.0), name, "bold", Anchor::Start);
    }

    let mut y = c.area().bottom() + 24.0;
    y = sheet.legend((x, y), "C", "the warp's 32 elements of C");
    for (row, column) in distinct(first_of(&|access| is_store(access, "C"))?, SIZE) {
        sheet.area(c.element(row, column), "C");
    }
    let mut all = 0;
    for (place, name, faint, strong) in [(&a, "A", "a", "A"), (&b, "B", "b", "B")] {
        let load = first_of(&|access| is_load(access, name))?;
        let read = distinct(load, SIZE);
        for &(row, column) in &read {
            sheet.area(place.part(row, column / SECTOR * SECTOR, 1, SECTOR), faint);
        }
        for &(row, column) in &read {
            sheet.area(place.element(row, column), strong);
        }
        let sectors = load.global_cost().map_or(0, |cost| cost.sectors);
        all += sectors;
        let plural = if sectors == 1 { "" } else { "s" };
        y = sheet.legend((x, y), strong, &format!("{name}: reads {} floats, in {sectors} sector{plural}", read.len()));
    }
    sheet.text((x, y + 4.0), &format!("{all} sectors for one k"), "bold", Anchor::Start);
    Ok(())
}
