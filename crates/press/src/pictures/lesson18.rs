//! How level 18 reads its rows of A: a step among warps, and a warp's part of it among lanes.

use std::collections::BTreeMap;

use emulator::TracedAccess;
use gemm::{Error, Shape};
use levels::level18_thin::LEVEL;

use super::traced::{accesses, array, build, elements, is_global_load, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// BM, BN, BK, WM, WK.
const SIZES: [u32; 5] = [4, 1, 1024, 4, 128];
/// One tile of C, one step along K.
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1], k: SIZES[2] };
/// The warp that is magnified.
const CHOSEN: u32 = 5;
const WIDTH: f64 = 680.0;
const LABEL: f64 = 60.0;
const HEIGHT: f64 = 24.0;

/// From where to where along K a warp or a lane reads a row.
type Part = (u32, u32);

pub fn draw() -> Result<Sheet, Error> {
    let accesses = accesses(&build(&LEVEL, "", &SIZES)?, SHAPE)?;
    let mut sheet = Sheet::new(
        WIDTH,
        "A step of four rows of A: 1,024 columns",
        "Four bars stand for four rows of A, cut into eight parts, one for each warp. One part is magnified: each of its 32 lanes reads \
         a vector of four columns in each of the four rows, and below the vector of B that belongs to these columns.",
    );
    let left = MARGIN + LABEL;
    let full = WIDTH - MARGIN - left;
    let at = |k: u32| left + full * f64::from(k) / f64::from(SHAPE.k);
    let top = 84.0;
    sheet.text((left, top - 12.0), "a block: a part for each of its warps", "bold", Anchor::Start);
    let warps = parts(&accesses, "A", |access, _| access.warp)?;
    for row in 0..SHAPE.m {
        let y = top + HEIGHT * f64::from(row);
        sheet.text((MARGIN, y + 17.0), &format!("row {row}"), "small", Anchor::Start);
        for (&warp, &(from, to)) in warps.get(&row).ok_or_else(|| unlike("a row is not read"))? {
            let area = Area::new(at(from), y, at(to) - at(from), HEIGHT);
            sheet.area(area, if warp == CHOSEN { "A" } else { "a" });
            sheet.label(area, &format!("w{warp}"), if warp == CHOSEN { "small bold white" } else { "small" });
        }
    }
    let ends = warps.get(&0).and_then(|row| row.get(&CHOSEN));
    let &(from, to) = ends.ok_or_else(|| unlike("there are fewer warps"))?;

    let bottom = top + HEIGHT * f64::from(SHAPE.m);
    let below = bottom + 70.0;
    sheet.line((at(from), bottom), (left, below), "guide");
    sheet.line((at(to), bottom), (left + full, below), "guide");
    sheet.text(
        (left + full / 2.0, below - 12.0),
        &format!("warp {CHOSEN}: a vector for each lane"),
        "bold",
        Anchor::Middle,
    );
    let inside = |k: u32| left + full * f64::from(k - from) / f64::from(to - from);
    let of_warp = |access: &TracedAccess, lane: u32| if access.warp == CHOSEN { lane } else { u32::MAX };
    let lanes = parts(&accesses, "A", of_warp)?;
    let small = parts(&accesses, "B", of_warp)?;
    for row in 0..=SHAPE.m {
        let gap = if row == SHAPE.m { 12.0 } else { 0.0 };
        let y = below + HEIGHT * f64::from(row) + gap;
        let (name, class, read) = match row < SHAPE.m {
            true => (format!("row {row}"), "a", lanes.get(&row)),
            false => ("B".to_string(), "b", small.get(&0)),
        };
        sheet.text((MARGIN, y + 17.0), &name, "small", Anchor::Start);
        for (&lane, &(first, last)) in read.ok_or_else(|| unlike("a row is not read"))? {
            if lane == u32::MAX {
                continue;
            }
            let area = Area::new(inside(first), y, inside(last) - inside(first), HEIGHT);
            sheet.area(area, class);
            sheet.label(area, &lane.to_string(), "small");
        }
    }
    let y = below + HEIGHT * f64::from(SHAPE.m + 1) + 12.0 + 30.0;
    sheet.lines(
        (left, y),
        &[
            "1. A lane begins its five loads, then multiplies: 16 multiply-adds.",
            "2. Lanes add up their sums by shuffles, half of them in each round.",
            &format!("3. The {} warps' sums are added in shared memory.", SIZES[2] / SIZES[4]),
        ],
        "",
    );
    Ok(sheet)
}

/// Rows of a matrix, with the part of each that everyone reads; `who` tells by access and lane.
fn parts(
    accesses: &[TracedAccess],
    matrix: &str,
    who: impl Fn(&TracedAccess, u32) -> u32,
) -> Result<BTreeMap<u32, BTreeMap<u32, Part>>, Error> {
    let mut rows: BTreeMap<u32, BTreeMap<u32, Part>> = BTreeMap::new();
    for access in accesses.iter().filter(|access| is_global_load(access) && array(access) == matrix) {
        for lane in &access.lanes {
            // B is one column: its elements lie along K, as those of a row.
            for (row, k) in elements(access, lane, SHAPE.k) {
                let part = rows.entry(row).or_default().entry(who(access, lane.lane)).or_insert((k, k + 1));
                *part = (part.0.min(k), part.1.max(k + 1));
            }
        }
    }
    if rows.is_empty() { Err(unlike("a matrix is not read")) } else { Ok(rows) }
}
