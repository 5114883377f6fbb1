//! What lies in which buffer when: level 5 with one buffer, level 6 with several.

use std::collections::BTreeMap;

use emulator::{AccessKind, Memory, TracedAccess};
use gemm::{Error, Level, Shape};

use super::traced::{accesses, array, build, elements, is_global_load, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// A level as it is drawn: its tile sizes, its tile of A along K, the bytes of a buffer, and how many tiles are shown.
struct Drawn {
    level: &'static Level,
    sizes: &'static [u32],
    shape: Shape,
    bk: u32,
    buffer: u32,
    name: &'static str,
}

const LEVELS: [Drawn; 2] = [
    Drawn {
        level: &levels::level5_warp_tiling::LEVEL,
        sizes: &[128, 128, 8, 32, 64, 8, 8],
        shape: Shape { m: 128, n: 128, k: 3 * 8 },
        bk: 8,
        buffer: u32::MAX,
        name: "level 5: one buffer",
    },
    Drawn {
        level: &levels::level6_async_copy::LEVEL,
        sizes: &[128, 128, 16, 32, 64, 8, 8, 3],
        shape: Shape { m: 128, n: 128, k: 6 * 16 },
        bk: 16,
        buffer: 16 * (128 + 4 + 128) * 4,
        name: "level 6: three buffers",
    },
];
const PHASE: f64 = 82.0;
const HEIGHT: f64 = 30.0;

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        684.0,
        "When a tile is copied, and when it is computed with",
        "Two timelines with a row for each buffer. Level 5 has one: a tile is loaded, then computed with, and only then is the next \
         one loaded. Level 6 has three: in every step it computes with one buffer, while the copies of two later tiles are under way.",
    );
    let mut y = 54.0;
    for drawn in &LEVELS {
        y = timeline(&mut sheet, y, drawn)? + 24.0;
    }
    y = sheet.legend((MARGIN, y), "a", "the tile is on its way into this buffer");
    y = sheet.legend((MARGIN, y), "c", "the block computes with it");
    sheet.text((MARGIN, y), "Vertical lines are barriers. Widths are not to scale.", "small", Anchor::Start);
    Ok(sheet)
}

/// What becomes of a tile: the phases in which its copy begins and in which it is read, and its buffer.
#[derive(Debug, Clone, Copy)]
struct Tile {
    begun: u32,
    read: u32,
    buffer: u32,
}

fn tiles(drawn: &Drawn) -> Result<Vec<Tile>, Error> {
    let all = accesses(&build(drawn.level, "", drawn.sizes)?, drawn.shape)?;
    let in_shared = |kind: AccessKind| {
        move |access: &&TracedAccess| access.memory == Memory::Shared && access.kind == kind && array(access) != "Bs"
    };
    let buffer = |access: &TracedAccess| access.lanes[0].offset as u32 / drawn.buffer;
    let mut begun: BTreeMap<u32, u32> = BTreeMap::new();
    for access in all.iter().filter(|access| is_global_load(access) && array(access) == "A") {
        for (_, column) in access.lanes.iter().flat_map(|lane| elements(access, lane, drawn.shape.k)) {
            begun.entry(column / drawn.bk).or_insert(access.phase);
        }
    }
    // The buffers in the order in which they are read, phase by phase.
    let mut reads: Vec<(u32, u32)> = Vec::new();
    for access in all.iter().filter(in_shared(AccessKind::Load)).filter(|access| access.warp == 0) {
        let now = (access.phase, buffer(access));
        if reads.last().is_none_or(|last| last.1 != now.1 || last.0 + 1 < now.0) {
            reads.push(now);
        }
    }
    let filled = |phase: u32| all.iter().filter(in_shared(AccessKind::Store)).any(|access| access.phase == phase);
    if reads.len() != begun.len() || begun.values().any(|phase| !filled(*phase)) {
        return Err(unlike("a tile is not copied once and then read"));
    }
    let tile = |(&begun, (read, buffer)): (&u32, (u32, u32))| Tile { begun, read, buffer };
    Ok(begun.values().zip(reads).map(tile).collect())
}

fn timeline(sheet: &mut Sheet, top: f64, drawn: &Drawn) -> Result<f64, Error> {
    let tiles = tiles(drawn)?;
    sheet.text((MARGIN, top + 14.0), drawn.name, "bold", Anchor::Start);
    let (left, top) = (MARGIN + 68.0, top + 28.0);
    let buffers = tiles.iter().map(|tile| tile.buffer).max().unwrap_or(0) + 1;
    let last = tiles.iter().map(|tile| tile.read).max().unwrap_or(0);
    let bottom = top + f64::from(buffers) * (HEIGHT + 6.0);
    for phase in 1..=last {
        let x = left + PHASE * f64::from(phase);
        sheet.line((x, top - 6.0), (x, bottom), "frame");
    }
    for buffer in 0..buffers {
        let y = top + f64::from(buffer) * (HEIGHT + 6.0);
        sheet.text((MARGIN, y + 20.0), &format!("buffer {buffer}"), "small", Anchor::Start);
    }
    for (number, tile) in tiles.iter().enumerate() {
        let y = top + f64::from(tile.buffer) * (HEIGHT + 6.0);
        let area = |from: u32, to: u32| {
            Area::new(left + PHASE * f64::from(from) + 3.0, y, PHASE * f64::from(to - from) - 6.0, HEIGHT)
        };
        let (copied, computed) = (area(tile.begun, tile.read), area(tile.read, tile.read + 1));
        sheet.round(copied, "a");
        sheet.label(copied, &format!("copy {number}"), "small");
        sheet.round(computed, "c");
        sheet.label(computed, &format!("compute {number}"), "small");
    }
    Ok(bottom)
}
