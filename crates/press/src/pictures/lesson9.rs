//! How level 9 shares out K: one tile's parts among blocks, one step of a part among warps.

use std::collections::BTreeSet;

use emulator::{Memory, TracedAccess};
use gemm::{Error, Shape};
use levels::level9_split_k::LEVEL;

use super::traced::{accesses, array, build, elements, is_global_load, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// BM, BN, BK, WM, WN, WK, TM, TN, STAGES, SPLIT.
const SIZES: [u32; 10] = [32, 64, 32, 32, 64, 8, 8, 8, 3, 16];
const BM: u32 = SIZES[0];
const BK: u32 = SIZES[2];
/// One tile of C, as deep as the lesson's problem.
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1], k: 2048 };
/// Bytes of a row of the tile of A in shared memory, and of a stage.
const ROW: u64 = 4 * (BM as u64 + 4);
const STAGE: u64 = 4 * (BK as u64) * (BM as u64 + 4 + SIZES[1] as u64);
/// The part that is magnified.
const CHOSEN: u32 = 5;
const WIDTH: f64 = 640.0;

pub fn draw() -> Result<Sheet, Error> {
    let accesses = accesses(&build(&LEVEL, "", &SIZES)?, SHAPE)?;
    let mut sheet = Sheet::new(
        WIDTH,
        &format!("K of one tile of C, shared out: K = {}", SHAPE.k),
        "A bar stands for K, cut into 16 parts, one for each block of a tile. One part is magnified: it has four steps, and each step is \
         divided among the block's four warps. The warps' sums are added in shared memory, the blocks' sums in global memory by the \
         block that comes last.",
    );
    let full = WIDTH - 2.0 * MARGIN;
    let at = |k: u32| MARGIN + full * f64::from(k) / f64::from(SHAPE.k);
    let (top, height) = (80.0, 34.0);
    sheet.text((MARGIN, top - 12.0), "one tile: a block for each part", "bold", Anchor::Start);
    let parts = parts(&accesses);
    for (part, &(from, to)) in (0..).zip(&parts) {
        let area = Area::new(at(from), top, at(to) - at(from), height);
        sheet.area(area, if part == CHOSEN { "B" } else { "b" });
        sheet.label(area, &part.to_string(), if part == CHOSEN { "small bold white" } else { "small" });
    }
    let (from, to) = *parts.get(CHOSEN as usize).ok_or_else(|| unlike("there are fewer parts"))?;

    let below = top + height + 90.0;
    sheet.line((at(from), top + height), (MARGIN, below), "guide");
    sheet.line((at(to), top + height), (MARGIN + full, below), "guide");
    let name = format!("block (0,{CHOSEN}): {} steps of {BK}, a warp for each slice", (to - from) / BK);
    sheet.text((280.0, below - 14.0), &name, "bold", Anchor::Middle);
    let inside = |k: u32| MARGIN + full * f64::from(k) / f64::from(to - from);
    let slices = slices(&accesses)?;
    for step in 0..(to - from) / BK {
        for (warp, (first, last)) in slices.iter().enumerate() {
            let (left, right) = (inside(step * BK + first), inside(step * BK + last));
            let area = Area::new(left, below, right - left, height);
            sheet.area(area, if warp % 2 == 0 { "c" } else { "o" });
            sheet.label(area, &format!("w{warp}"), "small");
        }
        let area = Area::new(inside(step * BK), below, inside((step + 1) * BK) - inside(step * BK), height);
        sheet.area(area, "frame");
    }

    let y = below + height + 30.0;
    let (warps, blocks) = (slices.len(), parts.len());
    sheet.lines(
        (MARGIN, y),
        &[
            &format!("1. The {warps} warps' sums are added in shared memory: the sums of this part."),
            "2. They go to global memory. The block counts itself as arrived.",
            &format!("3. The last of the {blocks} blocks adds the parts' sums, in order, and stores C."),
        ],
        "",
    );
    Ok(sheet)
}

/// From where to where each part goes along K, in order: what of A its blocks load.
fn parts(accesses: &[TracedAccess]) -> Vec<(u32, u32)> {
    let mut columns: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); SIZES[9] as usize];
    for access in accesses.iter().filter(|access| is_global_load(access) && array(access) == "A") {
        let all = access.lanes.iter().flat_map(|lane| elements(access, lane, SHAPE.k));
        columns[access.block.y as usize].extend(all.map(|place| place.1));
    }
    columns.iter().filter_map(|set| Some((*set.first()?, *set.last()? + 1))).collect()
}

/// The rows of a tile of A that each warp of a block reads, from the first to behind the last.
fn slices(accesses: &[TracedAccess]) -> Result<Vec<(u32, u32)>, Error> {
    let mut rows: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); (BK / SIZES[5]) as usize];
    // In the first step; later ones use other stages in the same way.
    let first = accesses.iter().filter(|access| access.memory == Memory::Shared && access.phase == 1);
    for access in first.filter(|access| &*access.opcode == "ld.shared.v4.f32" && access.block.y == CHOSEN) {
        let offsets = access.lanes.iter().map(|lane| lane.offset % STAGE);
        rows[access.warp as usize].extend(offsets.filter(|at| *at < ROW * u64::from(BK)).map(|at| at / ROW));
    }
    let ends = |set: &BTreeSet<u64>| Some((*set.first()? as u32, *set.last()? as u32 + 1));
    rows.iter().map(|set| ends(set).ok_or_else(|| unlike("a warp reads nothing of A"))).collect()
}
