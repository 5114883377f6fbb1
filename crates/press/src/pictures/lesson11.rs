//! Which lane holds what of the fragments of level 11: of one product, which the summit's kernel of the same kind reads by plain loads in
//! tf32, and of a matrix that `ldmatrix` reads.

use std::collections::BTreeMap;

use emulator::{Dim3, Memory, TracedAccess};
use gemm::{Dtype, Error, Level, Shape};
use levels::level11_tensor_core::LEVEL;
use summit::kernels::mma_sync::KERNEL;

use super::traced::{ELEMENT, build_of, elements, is_store, some_accesses, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

/// BM, BN, BK, WM, WN: of both types that are drawn.
const SIZES: [u32; 5] = [64, 128, 32, 32, 64];
/// One tile, one step along K.
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1], k: SIZES[2] };
/// Elements of f32 in a row of the tile of A and of B, with their paddings; of bf16 in one of A.
const ROW_A: u32 = SIZES[2] + 4;
const ROW_B: u32 = SIZES[1] + 8;
const ROW_HALF: u32 = SIZES[2] + 8;
/// The lane that is marked, and the one that names a row of which it gets two elements.
const MARKED: u32 = 14;
const NAMES: u32 = 11;

/// Rows and columns, and the lane at each.
type Lanes = BTreeMap<(u32, u32), u32>;

/// One product of 16 × 8 × 8 elements, in tf32: plain loads, so the trace says which lane reads what.
pub fn fragments() -> Result<Sheet, Error> {
    let accesses = first_warp(&KERNEL, Dtype::TF32, 3)?;
    let of_a = u64::from(ROW_A * SIZES[0]) * ELEMENT;
    let shared = |tile: std::ops::Range<u64>, columns: u32, size: (u32, u32)| {
        let reads =
            accesses.iter().filter(|access| access.memory == Memory::Shared && access.opcode.starts_with("ld."));
        let in_tile = reads.flat_map(|access| &access.lanes).filter(|lane| tile.contains(&lane.offset));
        let at = in_tile.map(|lane| {
            let element = ((lane.offset - tile.start) / ELEMENT) as u32;
            ((element / columns, element % columns), lane.lane)
        });
        at.filter(|((row, column), _)| *row < size.0 && *column < size.1).collect::<Lanes>()
    };
    let a = shared(0..of_a, ROW_A, (16, 8));
    let b = shared(of_a..of_a + u64::from(ROW_B * SIZES[2]) * ELEMENT, ROW_B, (8, 8));
    let stores = accesses.iter().filter(|access| is_store(access, "C"));
    let sums = stores.flat_map(|access| {
        let of = |lane| elements(access, lane, SHAPE.n);
        access.lanes.iter().flat_map(move |lane| of(lane).into_iter().map(|place| (place, lane.lane)))
    });
    let c: Lanes = sums.filter(|((row, column), _)| *row < 16 && *column < 8).collect();

    let mut sheet = Sheet::new(
        WIDTH,
        "One mma.sync: the lane that holds each element",
        "16 by 8 elements of A, 8 by 8 of B and 16 by 8 of C, each with the number of its lane. The elements of one lane are marked.",
    );
    let at = |x: f64, y: f64, rows: u32| Matrix { x, y, rows, columns: 8, side: SIDE };
    let above = 86.0;
    let (left, right, below) = (MARGIN, WIDTH - MARGIN - 8.0 * SIDE, above + 8.0 * SIDE + 38.0);
    lanes(&mut sheet, &at(left, below, 16), &a, ("A: 16 × 8", "a", "A"))?;
    lanes(&mut sheet, &at(right, above, 8), &b, ("B: 8 × 8", "b", "B"))?;
    lanes(&mut sheet, &at(right, below, 16), &c, ("C: 16 × 8", "c", "C"))?;
    let said = [
        &*format!("Lane {MARKED} = 4 g + t is marked:"),
        &format!("g = {}, t = {}.", MARKED / 4, MARKED % 4),
        "A: rows g, g + 8;",
        "     columns t, t + 4",
        "B: rows t, t + 4;",
        "     column g",
        "C: rows g, g + 8;",
        "     columns 2 t, 2 t + 1",
    ];
    sheet.lines((left, above + 12.0), &said, "small");
    Ok(sheet)
}

const WIDTH: f64 = 550.0;
const SIDE: f64 = 28.0;

/// A matrix with the lane of each element.
fn lanes(
    sheet: &mut Sheet,
    matrix: &Matrix,
    at: &Lanes,
    (name, light, strong): (&str, &str, &str),
) -> Result<(), Error> {
    if at.len() as u32 != matrix.rows * matrix.columns {
        return Err(unlike("the lanes do not hold a whole matrix"));
    }
    sheet.text((matrix.x, matrix.y - 10.0), name, "bold", Anchor::Start);
    for (&(row, column), &lane) in at {
        let (area, marked) = (matrix.element(row, column), lane == MARKED);
        sheet.area(area, if marked { strong } else { light });
        sheet.label(area, &lane.to_string(), if marked { "small bold white" } else { "small" });
    }
    Ok(())
}

/// What `ldmatrix` reads in bf16: the lane that names each row, and the lanes that get its elements.
pub fn load_matrix() -> Result<Sheet, Error> {
    let accesses = first_warp(&LEVEL, Dtype::BF16, 4)?;
    let place = |offset: u64| ((offset / 2) as u32 / ROW_HALF, (offset / 2) as u32 % ROW_HALF);
    let named =
        |access: &TracedAccess| -> Lanes { access.lanes.iter().map(|lane| (place(lane.offset), lane.lane)).collect() };
    let inside = |lanes: &Lanes| lanes.len() == 32 && lanes.keys().all(|(row, column)| *row < 16 && *column < 16);
    let plain = |access: &&TracedAccess| access.opcode.contains("ldmatrix") && !access.opcode.contains("trans");
    let named = accesses.iter().filter(plain).map(named).find(inside);
    let named = named.ok_or_else(|| unlike("no ldmatrix reads the first 16 × 16 elements of A"))?;

    let mut sheet = Sheet::new(
        680.0,
        "One ldmatrix: 16 × 16 elements of A, in bf16",
        "Left: the lane that gives the address of each row of 8 elements. Right: the lane that gets each pair of elements.",
    );
    let side = 18.0;
    let at = |x: f64| Matrix { x, y: 86.0, rows: 16, columns: 16, side };
    let (from, to) = (at(MARGIN), at(680.0 - MARGIN - 16.0 * side));
    let mut cell = |area: Area, lane: u32, marked: u32| {
        let strong = lane == marked;
        sheet.area(area, if strong { "A" } else { "a" });
        sheet.label(area, &lane.to_string(), if strong { "small bold white" } else { "small" });
    };
    for (&(row, column), &lane) in &named {
        cell(from.part(row, column, 1, 8), lane, NAMES);
        // A lane gets two neighbours of a row, four lanes the whole row.
        for t in 0..4 {
            cell(to.part(row, column + 2 * t, 1, 2), row % 8 * 4 + t, MARKED);
        }
    }
    for matrix in [&from, &to] {
        for part in [(0, 0), (8, 0), (0, 8), (8, 8)] {
            sheet.area(matrix.part(part.0, part.1, 8, 8), "frame");
        }
    }
    sheet.text((from.x, 70.0), "in shared memory: who names a row", "bold", Anchor::Start);
    sheet.text((to.x, 70.0), "in registers: who gets a pair", "bold", Anchor::Start);
    sheet.arrow((from.area().right() + 12.0, 230.0), (to.x - 12.0, 230.0));
    let said = [
        &*format!("Lane {NAMES} names row 3 of the second matrix; lanes 12 to 15 get its elements, two each."),
        &format!("Lane {MARKED} has four registers: a pair of each matrix."),
    ];
    sheet.lines((MARGIN, from.area().bottom() + 26.0), &said, "small");
    Ok(sheet)
}

/// What the first warp of the first block accesses.
fn first_warp(level: &'static Level, dtype: Dtype, stages: u32) -> Result<Vec<TracedAccess>, Error> {
    let build = build_of(level, dtype, "", &[&SIZES[..], &[stages]].concat())?;
    let accesses = some_accesses(&build, SHAPE, |block| block == Dim3 { x: 0, y: 0, z: 0 })?;
    Ok(accesses.into_iter().filter(|access| access.warp == 0).collect())
}
