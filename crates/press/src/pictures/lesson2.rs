//! What one thread of level 2 computes, and what it reads from shared memory for one k.

use std::collections::BTreeSet;

use emulator::{LaneAccess, TracedAccess};
use gemm::{Error, Shape};
use levels::level2_register::LEVEL;

use super::traced::{accesses, build, elements, is_load, is_store};
use lab::sheet::{Area, Matrix, Sheet};
use lab::svg::Anchor;

const TILE: u32 = 32;
const TM: u32 = 8;
const TN: u32 = 4;
/// The lane, and the step along the tile, that are shown.
const LANE: u32 = 13;
const K: u32 = 9;

type Place = (u32, u32);

pub fn draw() -> Result<Sheet, Error> {
    let shape = Shape { m: TILE, n: TILE, k: TILE };
    let accesses = accesses(&build(&LEVEL, "", &[TILE, TILE, TILE, TM, TN])?, shape)?;
    let mut sheet = Sheet::new(
        560.0,
        &format!("Level 2: what the thread in lane {LANE} reads for k = {K}"),
        "The tiles As, Bs and C of a block. C is divided among the 32 lanes of a warp, each with a part of 8 × 4 elements. One lane's \
         part is marked, with the piece of a column of As and the piece of a row of Bs that it reads for one k.",
    );
    let matrix = |column: f64, row: f64| Matrix {
        x: 46.0 + column * 246.0,
        y: 70.0 + row * 246.0,
        rows: TILE,
        columns: TILE,
        side: 7.0,
    };
    let (a, b, c) = (matrix(0.0, 1.0), matrix(1.0, 0.0), matrix(1.0, 1.0));
    for (place, name) in [(&a, "As"), (&b, "Bs"), (&c, "C")] {
        sheet.matrix(place, "o");
        sheet.text((place.x - 6.0, place.y + 12.0), name, "bold", Anchor::End);
    }
    let own = all_of(&accesses, LANE, |access| is_store(access, "C"));
    sheet.area(place_of(&c, &own), "C");
    for lane in 0..32 {
        let part = place_of(&c, &all_of(&accesses, lane, |access| is_store(access, "C")));
        sheet.area(part, "mesh");
        sheet.label(part, &lane.to_string(), if lane == LANE { "small bold white" } else { "small" });
    }
    let from_a: BTreeSet<Place> =
        all_of(&accesses, LANE, |access| is_load(access, "As")).into_iter().filter(|place| place.1 == K).collect();
    let from_b: BTreeSet<Place> =
        all_of(&accesses, LANE, |access| is_load(access, "Bs")).into_iter().filter(|place| place.0 == K).collect();
    sheet.area(a.part(0, K, TILE, 1), "a");
    sheet.area(b.part(K, 0, 1, TILE), "b");
    let [in_a, in_b, in_c] = [place_of(&a, &from_a), place_of(&b, &from_b), place_of(&c, &own)];
    sheet.area(in_a, "A");
    sheet.area(in_b, "B");
    sheet.line((in_a.right(), in_a.y), (in_c.x, in_c.y), "guide");
    sheet.line((in_a.right(), in_a.bottom()), (in_c.x, in_c.bottom()), "guide");
    sheet.line((in_b.x, in_b.bottom()), (in_c.x, in_c.y), "guide");
    sheet.line((in_b.right(), in_b.bottom()), (in_c.right(), in_c.y), "guide");
    sheet.text((in_a.x + 3.5, a.y - 8.0), &format!("k = {K}"), "small", Anchor::Middle);

    let mut y = b.y + 11.0;
    let x = a.x;
    y = sheet.legend((x, y), "A", &format!("{} values of As, TM = {TM}", from_a.len()));
    y = sheet.legend((x, y), "B", &format!("{} values of Bs, TN = {TN}", from_b.len()));
    y = sheet.legend((x, y), "C", &format!("{} sums, TM · TN", own.len()));
    let (reads, sums) = (from_a.len() + from_b.len(), own.len());
    sheet.text((x, y + 8.0), &format!("{reads} values read feed"), "bold", Anchor::Start);
    sheet.text((x, y + 27.0), &format!("{sums} multiply-adds"), "bold", Anchor::Start);
    Ok(sheet)
}

/// All elements that a lane accesses in some way.
fn all_of(accesses: &[TracedAccess], lane: u32, wanted: impl Fn(&TracedAccess) -> bool) -> BTreeSet<Place> {
    let of_lane = |access: &TracedAccess| -> Vec<Place> {
        let mine: Option<&LaneAccess> = access.lanes.iter().find(|each| each.lane == lane);
        mine.map_or(Vec::new(), |each| elements(access, each, TILE))
    };
    accesses.iter().filter(|access| wanted(access)).flat_map(of_lane).collect()
}

/// Where elements that fill a rectangle are.
fn place_of(matrix: &Matrix, elements: &BTreeSet<Place>) -> Area {
    let rows = elements.iter().map(|place| place.0);
    let columns = elements.iter().map(|place| place.1);
    let (top, left) = (rows.clone().min().unwrap_or(0), columns.clone().min().unwrap_or(0));
    let (bottom, right) = (rows.max().unwrap_or(0), columns.max().unwrap_or(0));
    matrix.part(top, left, bottom + 1 - top, right + 1 - left)
}
