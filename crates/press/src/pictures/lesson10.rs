//! How level 10 spends the last round: rounds of tiles on the SMs, beside level 8's, and the first blocks' shares of the row.

use std::collections::{BTreeMap, BTreeSet};

use emulator::gpu::H200;
use emulator::{Dim3, TracedAccess};
use gemm::{Error, Level, Shape};
use levels::level10_stream_k::LEVEL;

use super::traced::{array, build, elements, is_global_load, is_store, some_accesses, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

/// BM, BN, BK, WM, WN, TM, TN, STAGES, BLOCKS.
const SIZES: [u32; 9] = [128, 256, 8, 64, 64, 8, 16, 4, 132];
const BK: u32 = SIZES[2];
/// The lesson's problem: 14 · 15 tiles.
const SHAPE: Shape = Shape { m: 14 * SIZES[0], n: 15 * SIZES[1], k: 200 };
/// Bytes of a part's sums.
const SLOT: u64 = 4 * SIZES[0] as u64 * SIZES[1] as u64;
/// The tiles of the row that are drawn, and the blocks that work on them.
const TILES: u32 = 3;
const BLOCKS: u32 = 5;

const WIDTH: f64 = 680.0;
const LEFT: f64 = MARGIN + 80.0;
/// The height of all SMs, and the width of a round.
const SMS: f64 = 96.0;
const ROUND: f64 = 150.0;
/// The width of a step, a quarter of a bar's height.
const STEP: f64 = 7.4;
const BAR: f64 = 4.0 * STEP;

/// What a block does of a tile.
struct Part {
    block: u32,
    /// The tile's row of tiles in C: in the part of the row that is drawn, no two have the same.
    tile: u32,
    /// From where to where along K, in steps.
    steps: (u32, u32),
    /// Where its sums are stored.
    slot: u64,
}

pub fn draw() -> Result<Sheet, Error> {
    let sizes = build(&LEVEL, "", &SIZES)?;
    let tiles = sizes.launch(&SHAPE).tiles(&SHAPE) as u32;
    let whole = tiles - tiles % SIZES[8];
    let drawn = |block: Dim3| (whole..whole + BLOCKS).contains(&block.x);
    let accesses = some_accesses(&sizes, SHAPE, drawn)?;
    let parts = parts(&accesses, whole);

    let Shape { m, n, k } = SHAPE;
    let mut sheet = Sheet::new(
        WIDTH,
        &format!("{m} × {n} × {k}: {tiles} tiles on {} SMs", H200.sms),
        "Above: level 8 needs two rounds, and in the second one many SMs have no tile; in level 10 all SMs share the second round's tiles, \
         and it is shorter. Below: the first three tiles of the row, five blocks' shares of it, and where their sums are stored.",
    );
    let longest = parts.iter().filter(|part| part.block == 0).map(|part| part.steps.1 - part.steps.0).sum::<u32>();
    rounds(&mut sheet, tiles - whole, f64::from(longest) / f64::from(k.div_ceil(BK)))?;
    row(&mut sheet, 252.0, &parts, tiles - whole)?;
    Ok(sheet)
}

/// The rounds of both levels, an SM's share of the height each. The second is `share` of a round long in level 10.
fn rounds(sheet: &mut Sheet, rest: u32, share: f64) -> Result<(), Error> {
    let before: &Level = &levels::level8_rasterization::LEVEL;
    let blocks = build(before, "", &SIZES[..8])?.launch(&SHAPE).grid.count() as u32;
    if blocks != H200.sms + rest || H200.sms != SIZES[8] {
        return Err(unlike("level 8 has another number of tiles"));
    }
    let (top, used) = (86.0, SMS * f64::from(rest) / f64::from(H200.sms));
    let second = MARGIN + 2.0 * ROUND + 40.0;
    for (left, name) in
        [(MARGIN, "level 8: 2 rounds".to_string()), (second, format!("level 10: {:.1} rounds", 1.0 + share))]
    {
        sheet.text((left, top - 12.0), &name, "bold", Anchor::Start);
        let first = Area::new(left, top, ROUND, SMS);
        sheet.area(first, "c");
        sheet.label(first, &format!("{} tiles", H200.sms), "");
    }
    let (last, idle) =
        (Area::new(MARGIN + ROUND, top, ROUND, used), Area::new(MARGIN + ROUND, top + used, ROUND, SMS - used));
    sheet.area(last, "c");
    sheet.label(last, &format!("{rest} tiles"), "");
    sheet.area(idle, "o");
    sheet.label(idle, &format!("{} SMs idle", H200.sms - rest), "small");
    let row = Area::new(second + ROUND, top, ROUND * share, SMS);
    sheet.area(row, "b");
    sheet.label(row, &format!("{rest} tiles"), "");
    let axes = format!("Time goes to the right; each SM has 1/{} of the height.", H200.sms);
    sheet.text((MARGIN, top + SMS + 20.0), &axes, "small", Anchor::Start);
    Ok(())
}

/// The tiles of the row, the parts that blocks do of them, and the slots of their sums.
fn row(sheet: &mut Sheet, top: f64, parts: &[Part], rest: u32) -> Result<(), Error> {
    let steps = SHAPE.k.div_ceil(BK);
    let tiles: Vec<u32> = parts.iter().map(|part| part.tile).collect::<BTreeSet<_>>().into_iter().collect();
    if tiles.len() != TILES as usize
        || parts.iter().map(|part| part.steps.1 - part.steps.0).sum::<u32>() != TILES * steps
    {
        return Err(unlike("the blocks do not cover three tiles"));
    }
    let at = |number: usize, step: u32| LEFT + STEP * f64::from(number as u32 * steps + step);
    sheet.text(
        (MARGIN, top - 12.0),
        &format!("the row: its first {TILES} of {rest} tiles, {steps} steps each"),
        "bold",
        Anchor::Start,
    );
    let lines = [("tile", 0.0), ("block", BAR + 10.0), ("slot", 2.0 * BAR + 20.0)];
    for (name, below) in lines {
        sheet.text((MARGIN, top + below + 20.0), name, "small", Anchor::Start);
    }
    for number in 0..tiles.len() {
        let tile = Matrix { x: at(number, 0), y: top, rows: 4, columns: steps, side: STEP };
        sheet.area(tile.area(), "c");
        sheet.mesh(&tile, 4, 1);
        sheet.chip(tile.area(), &number.to_string());
    }
    for part in parts {
        let number = tiles.iter().position(|tile| *tile == part.tile).unwrap_or(0);
        let (from, to) = (at(number, part.steps.0), at(number, part.steps.1));
        let area = |below: f64| Area::new(from, top + below, to - from, BAR);
        sheet.area(area(lines[1].1), if part.block % 2 == 0 { "b" } else { "o" });
        sheet.label(area(lines[1].1), &part.block.to_string(), "");
        sheet.area(area(lines[2].1), "B");
        sheet.label(area(lines[2].1), &part.slot.to_string(), "bold white");
    }
    let explained = "A slot is one part's sums in global memory, number block + tile.";
    sheet.text((MARGIN, top + 3.0 * BAR + 50.0), explained, "small", Anchor::Start);
    Ok(())
}

/// What the blocks do of each tile, in the order of the row: what of A they load, and where they store sums.
fn parts(accesses: &[TracedAccess], whole: u32) -> Vec<Part> {
    let mut columns: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    let mut slots: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut tile = 0;
    for access in accesses {
        let block = access.block.x - whole;
        if is_global_load(access) && array(access) == "A" {
            for (row, column) in access.lanes.iter().flat_map(|lane| elements(access, lane, SHAPE.k)) {
                tile = row / SIZES[0];
                columns.entry((block, tile)).or_default().insert(column / BK);
            }
        } else if is_store(access, "partial") {
            slots.extend(access.lanes.first().map(|lane| ((block, tile), lane.offset / SLOT)));
        }
    }
    let ends = |steps: &BTreeSet<u32>| Some((*steps.first()?, *steps.last()? + 1));
    let part = |(&(block, tile), steps): (&(u32, u32), &BTreeSet<u32>)| {
        Some(Part { block, tile, steps: ends(steps)?, slot: *slots.get(&(block, tile))? })
    };
    columns.iter().filter_map(part).collect()
}
