//! Who works when in a block, level 20 beside level 19. Which warpgroup makes which tiles is what the kernels' own stores say; the
//! times follow from whose turn it is.

use gemm::{Dim3, Dtype, Error, Level, Shape};
use levels::{level19_ping_pong, level20_persistent};

use super::traced::{build_of, some_accesses_in, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// Columns of C that both have.
const COLUMNS: u32 = 512;
/// A cluster of two blocks.
const SHAPE: Shape = Shape { m: 256, n: COLUMNS, k: 64 };
const GROUPS: usize = 2;

/// How long the products of 128 columns take, and how long such a tile takes to leave.
const PRODUCTS: u32 = 4;
const LEAVES: u32 = 2;
const TICK: f64 = 30.0;
const LEFT: f64 = MARGIN + 100.0;
const HEIGHT: f64 = 26.0;

pub fn draw() -> Result<Sheet, Error> {
    let last = 2 * (2 * PRODUCTS + LEAVES);
    let mut sheet = Sheet::new(
        LEFT + TICK * f64::from(last) + MARGIN,
        "512 columns of C in a block",
        "Two timelines of the tensor cores and two warpgroups. In level 20 both multiply a tile together, and then the tensor cores wait while both store it. In level 19 each has tiles of its own, and stores one while the other multiplies.",
    );
    let mut y = 52.0;
    for (level, sizes) in
        [(&level20_persistent::LEVEL, [128, 256, 4, 2, 132]), (&level19_ping_pong::LEVEL, [128, 128, 6, 2, 132])]
    {
        let works = works(&owners(level, &sizes)?, COLUMNS / sizes[1]);
        y = timeline(&mut sheet, y, &level.short(), &works, last);
    }
    y = sheet.legend((MARGIN, y), "c", "products; below, of the warpgroup's tile with this number");
    y = sheet.legend((MARGIN, y), "b", "the tile leaves: registers go to shared memory");
    y = sheet.legend((MARGIN, y), "o", "the warpgroup waits for its turn");
    y = sheet.legend((MARGIN, y), "x", "the tensor cores have nothing to do");
    sheet.text((MARGIN, y), "Widths are not to scale.", "small", Anchor::Start);
    Ok(sheet)
}

/// The warpgroups that store each tile of block 0: those that store more, where there is this tile, too.
fn owners(level: &'static Level, sizes: &[u32; 5]) -> Result<Vec<Vec<usize>>, Error> {
    let build = build_of(level, Dtype::BF16, "", sizes)?;
    let stores = |tiles: u32| -> Result<[usize; GROUPS], Error> {
        let shape = Shape { n: tiles * sizes[1], ..SHAPE };
        let accesses = some_accesses_in(&build, shape, Dim3::xy(2, 1), |block| block.x == 0)?;
        let groups = accesses.iter().filter(|a| a.opcode.contains("bulk_group")).map(|a| a.warp as usize / 4);
        let groups: Vec<usize> = groups.collect();
        Ok([0, 1].map(|group| groups.iter().filter(|one| **one == group).count()))
    };
    let counts: Vec<[usize; GROUPS]> = (1..=COLUMNS / sizes[1]).map(stores).collect::<Result<_, _>>()?;
    let before = std::iter::once(&[0; GROUPS]).chain(&counts);
    let owners: Vec<Vec<usize>> = before
        .zip(&counts)
        .map(|(before, now)| (0..GROUPS).filter(|&group| now[group] > before[group]).collect())
        .collect();
    if owners.iter().any(Vec::is_empty) {
        return Err(unlike("a tile of C is stored by nobody"));
    }
    Ok(owners)
}

/// A warpgroup's work at a tile.
struct Work {
    tile: usize,
    group: usize,
    from: u32,
    left: u32,
    done: u32,
}

fn works(owners: &[Vec<usize>], tiles: u32) -> Vec<Work> {
    let products = PRODUCTS * 4 / tiles;
    let mut works: Vec<Work> = Vec::new();
    let mut free = [0; GROUPS];
    let mut turn = 0;
    for (tile, owners) in owners.iter().enumerate() {
        let from = owners.iter().map(|&group| free[group]).max().unwrap_or(0).max(turn);
        let left = from + products;
        for &group in owners {
            let done = left + LEAVES;
            works.push(Work { tile, group, from, left, done });
            free[group] = done;
        }
        turn = left;
    }
    works
}

fn span(from: u32, to: u32, y: f64) -> Area {
    Area::new(LEFT + TICK * f64::from(from) + 1.0, y, TICK * f64::from(to - from) - 2.0, HEIGHT)
}

fn timeline(sheet: &mut Sheet, y: f64, level: &str, works: &[Work], last: u32) -> f64 {
    sheet.text((MARGIN, y + 14.0), level, "bold", Anchor::Start);
    let mut y = y + 24.0;
    sheet.text((MARGIN, y + 18.0), "tensor cores", "small", Anchor::Start);
    let mut until = 0;
    for work in works {
        if work.left <= until {
            continue;
        }
        if until < work.from {
            sheet.area(span(until, work.from, y), "x");
        }
        let area = span(work.from, work.left, y);
        sheet.area(area, "c");
        sheet.label(area, &format!("tile {}", work.tile), "small");
        until = work.left;
    }
    let end = works.iter().map(|work| work.done).max().unwrap_or(last);
    sheet.area(span(until, end, y), "x");
    for group in 0..GROUPS {
        y += HEIGHT + 6.0;
        sheet.text((MARGIN, y + 18.0), &format!("warpgroup {group}"), "small", Anchor::Start);
        let mut until = 0;
        for work in works.iter().filter(|work| work.group == group) {
            if until < work.from {
                sheet.area(span(until, work.from, y), "o");
            }
            let area = span(work.from, work.left, y);
            sheet.area(area, "c");
            sheet.label(area, &work.tile.to_string(), "small");
            sheet.area(span(work.left, work.done, y), "b");
            until = work.done;
        }
    }
    y + HEIGHT + 22.0
}
