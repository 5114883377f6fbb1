//! Who reads what twice: level 0 on 3 × 3 matrices, its reads counted element by element.

use std::collections::BTreeMap;

use emulator::TracedAccess;
use gemm::{Error, Shape};
use levels::level0_naive::LEVEL;

use super::traced::{accesses, build, elements, is_load, is_store, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

const SIZE: u32 = 3;
/// The elements of A and of B whose readers are shown.
const CHOSEN: [(u32, u32); 2] = [(1, 0), (0, 2)];

/// An element of a matrix: its row and its column.
type Place = (u32, u32);

pub fn draw() -> Result<Sheet, Error> {
    let shape = Shape { m: SIZE, n: SIZE, k: SIZE };
    let accesses = accesses(&build(&LEVEL, "coalesced", &[8])?, shape)?;
    let mut sheet = Sheet::new(
        500.0,
        "Level 0 on 3 × 3 matrices: who reads what",
        "A, B and C of 3 × 3 elements. Each element of A and of B shows how often it is read. One element of A is read by the \
         threads of a whole row of C, one of B by those of a whole column.",
    );
    let matrix = |column: f64, row: f64| Matrix {
        x: 62.0 + column * 208.0,
        y: 70.0 + row * 208.0,
        rows: SIZE,
        columns: SIZE,
        side: 56.0,
    };
    let (a, b, c) = (matrix(0.0, 1.0), matrix(1.0, 0.0), matrix(1.0, 1.0));
    for (place, name) in [(&a, "A"), (&b, "B"), (&c, "C")] {
        sheet.matrix(place, "o");
        sheet.text((place.x - 16.0, place.y + 14.0), name, "title", Anchor::Middle);
    }
    sheet.lines((a.x, b.y + 14.0), &["The number says how", "often the element", "is read."], "small");
    let (mut loads, mut lines) = (0, Vec::new());
    for (place, name, faint, strong, (row, column)) in [(&a, "A", "a", "A", CHOSEN[0]), (&b, "B", "b", "B", CHOSEN[1])]
    {
        let readers = readers(&accesses, name)?;
        loads += readers.values().map(Vec::len).sum::<usize>();
        for (&(row, column), by) in &readers {
            let chosen = CHOSEN[usize::from(name == "B")] == (row, column);
            let area = place.element(row, column);
            sheet.area(area, if chosen { strong } else { faint });
            sheet.label(area, &format!("{}×", by.len()), if chosen { "bold white" } else { "" });
        }
        let by = readers.get(&(row, column)).ok_or_else(|| unlike("an element is not read"))?;
        let names: Vec<String> = by.iter().map(|(row, column)| format!("C[{row}][{column}]")).collect();
        lines.push((strong, format!("{name}[{row}][{column}] is read for {}", names.join(", "))));
        for &(row, column) in by {
            let area = c.element(row, column);
            let (x, y) = area.middle();
            // Side by side where an element needs both.
            let x = if name == "A" { x - 22.0 } else { x + 2.0 };
            sheet.area(Area::new(x, y - 10.0, 20.0, 20.0), strong);
        }
    }
    sheet.mesh(&c, 1, 1);
    let mut y = c.area().bottom() + 28.0;
    for (class, line) in &lines {
        y = sheet.legend((MARGIN, y), class, line);
    }
    let elements = 2 * SIZE * SIZE;
    sheet.text((MARGIN, y + 4.0), &format!("{loads} reads of {elements} elements"), "bold", Anchor::Start);
    Ok(sheet)
}

/// For each element of a matrix the elements of C whose threads read it.
fn readers(accesses: &[TracedAccess], of: &str) -> Result<BTreeMap<Place, Vec<Place>>, Error> {
    let mut own = BTreeMap::new();
    for access in accesses.iter().filter(|access| is_store(access, "C")) {
        for lane in &access.lanes {
            own.extend(elements(access, lane, SIZE).into_iter().map(|element| ((access.block, lane.thread), element)));
        }
    }
    let mut readers: BTreeMap<Place, Vec<Place>> = BTreeMap::new();
    for access in accesses.iter().filter(|access| is_load(access, of)) {
        for lane in &access.lanes {
            let reader =
                own.get(&(access.block, lane.thread)).ok_or_else(|| unlike("a thread reads and writes not"))?;
            for element in elements(access, lane, SIZE) {
                readers.entry(element).or_default().push(*reader);
            }
        }
    }
    Ok(readers)
}
