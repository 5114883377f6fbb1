//! The grid, one of its blocks, one of its warps, one lane: level 0 on the C of the page.

use gemm::{Dim3, Error, Shape};
use levels::level0_naive::LEVEL;

use super::traced::{accesses, build, elements, is_store, unlike};
use lab::sheet::{Matrix, Sheet};
use lab::svg::Anchor;

const SHAPE: Shape = Shape { m: 10, n: 20, k: 1 };
const BLOCK: u32 = 8;
/// The block, the warp and the lane that are magnified.
const CHOSEN: (Dim3, u32, u32) = (Dim3 { x: 1, y: 0, z: 0 }, 0, 13);

pub fn draw() -> Result<Sheet, Error> {
    let build = build(&LEVEL, "coalesced", &[BLOCK])?;
    let grid = build.launch(&SHAPE).grid;
    let stores: Vec<_> = accesses(&build, SHAPE)?.into_iter().filter(|a| is_store(a, "C")).collect();
    let (block, warp, lane) = CHOSEN;

    let mut sheet = Sheet::new(
        560.0,
        &format!("A grid of {} × {} thread blocks, for a C of {} × {}", grid.x, grid.y, SHAPE.m, SHAPE.n),
        "The grid's blocks cover C and a margin beyond its edges. One block is magnified and shows its two warps; one warp \
         is magnified and shows its 32 lanes, numbered row by row.",
    );
    let (rows, columns) = (grid.y * BLOCK, grid.x * BLOCK);
    let threads = Matrix { x: 40.0, y: 52.0, rows, columns, side: 20.0 };
    sheet.area(threads.area(), "n");
    for access in &stores {
        for lane in &access.lanes {
            for (row, column) in elements(access, lane, SHAPE.n) {
                let chosen = access.block == block;
                sheet.area(threads.element(row, column), if chosen { "c" } else { "o" });
            }
        }
    }
    sheet.mesh(&threads, 1, 1);
    for (x, y) in (0..grid.y).flat_map(|y| (0..grid.x).map(move |x| (x, y))) {
        let area = threads.part(y * BLOCK, x * BLOCK, BLOCK, BLOCK);
        sheet.area(area, "frame");
        sheet.chip(area, &format!("block ({x},{y})"));
    }
    let below = sheet.lines(
        (40.0, threads.area().bottom() + 22.0),
        &["Grey: threads beyond the edge of C. The kernel's guard ends them."],
        "small",
    );

    // The block and its warps.
    let top = below + 24.0;
    let team = Matrix { x: 40.0, y: top, rows: BLOCK, columns: BLOCK, side: 24.0 };
    for access in stores.iter().filter(|access| access.block == block) {
        for lane in &access.lanes {
            let class = if access.warp == warp { "c" } else { "o" };
            sheet.area(team.element(lane.thread.y, lane.thread.x), class);
        }
    }
    sheet.area(team.area(), "frame");
    let warps = (BLOCK * BLOCK).div_ceil(32);
    for warp in 0..warps {
        let height = BLOCK / warps;
        sheet.area(team.part(warp * height, 0, height, BLOCK), "frame");
        sheet.chip(team.part(warp * height, 0, height, BLOCK), &format!("warp {warp}"));
    }
    let caption = format!("block ({},{}): {BLOCK} × {BLOCK} threads", block.x, block.y);
    sheet.text((team.x, team.area().bottom() + 22.0), &caption, "", Anchor::Start);

    // The warp and its lanes.
    let lanes = Matrix { x: 304.0, y: top, rows: 32 / BLOCK, columns: BLOCK, side: 27.0 };
    let from = team.part(0, 0, BLOCK / warps, BLOCK);
    sheet.line((from.right(), from.y), (lanes.x, lanes.y), "guide");
    sheet.line((from.right(), from.bottom()), (lanes.x, lanes.area().bottom()), "guide");
    let store = stores.iter().find(|access| access.block == block && access.warp == warp);
    let store = store.ok_or_else(|| unlike("the block has no such warp"))?;
    for each in &store.lanes {
        let area = lanes.element(each.lane / BLOCK, each.lane % BLOCK);
        let chosen = each.lane == lane;
        sheet.area(area, if chosen { "C" } else { "c" });
        sheet.label(area, &each.lane.to_string(), if chosen { "small bold white" } else { "small" });
    }
    sheet.area(lanes.area(), "frame");
    let chosen = store.lanes.iter().find(|each| each.lane == lane).ok_or_else(|| unlike("the lane is idle"))?;
    let place = elements(store, chosen, SHAPE.n);
    let [(row, column)] = place[..] else { return Err(unlike("a thread has one element")) };
    let y = lanes.area().bottom() + 22.0;
    let thread = chosen.thread;
    sheet.lines(
        (lanes.x, y),
        &[
            &format!("warp {warp}: 32 lanes in lockstep"),
            &format!("lane {lane} is thread ({},{})", thread.x, thread.y),
            &format!("and computes C[{row}][{column}]"),
        ],
        "",
    );
    Ok(sheet)
}
