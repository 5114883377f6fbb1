//! Who fetches what in a cluster of two: the boxes that each block asks for in a step, and where they lie in both blocks.

use emulator::Dim3;
use gemm::{Dtype, Error, Shape};
use levels::level14_clusters::LEVEL;

use super::traced::{build_of, some_accesses, unlike};
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// BM, BN, STAGES, CLUSTER.
const SIZES: [u32; 4] = [128, 256, 4, 2];
const CLUSTER: u32 = SIZES[3];
/// The lesson's problem.
const SHAPE: Shape = Shape { m: 256, n: 512, k: 128 };
/// Columns of A in a step, and of B in a box.
const BOX: u32 = 64;
/// Bytes of the tile of A, of a box of B, and of a stage.
const TILE_A: u64 = 2 * (SIZES[0] * BOX) as u64;
const BOX_B: u64 = 2 * (BOX * BOX) as u64;
const STAGE: u64 = TILE_A + 2 * (BOX * SIZES[1]) as u64;

const WIDTH: f64 = 680.0;
/// Pixels for an element, and for a byte of a stage.
const SCALE: f64 = 0.75;
const BYTE: f64 = 520.0 / STAGE as f64;

/// A copy for the first stage.
struct Copy {
    block: u32,
    /// Where in the stage, in bytes.
    at: u64,
    /// Whether it is for both blocks.
    for_all: bool,
}

impl Copy {
    fn box_of_b(&self) -> Option<u32> {
        self.at.checked_sub(TILE_A).map(|bytes| (bytes / BOX_B) as u32)
    }

    /// The light colour is what block 0 fetches, the strong one what block 1 does.
    fn class(&self) -> &'static str {
        [["a", "A"], ["b", "B"]][usize::from(self.box_of_b().is_some())][self.block as usize % 2]
    }

    fn text(&self) -> &'static str {
        if self.block == 0 { "small" } else { "small bold white" }
    }
}

pub fn draw() -> Result<Sheet, Error> {
    let copies = copies()?;
    let mut sheet = Sheet::new(
        WIDTH,
        "A cluster of two: one step, ten boxes received, six asked for",
        "Each block asks for its own rows of A and for half of the columns of B. B's boxes come to both blocks, at the same place.",
    );
    matrices(&mut sheet, &copies, 70.0)?;
    for block in 0..CLUSTER {
        stage(&mut sheet, &copies, block, 372.0 + 84.0 * f64::from(block));
    }
    Ok(sheet)
}

/// What the first cluster's blocks copy to their first stage.
fn copies() -> Result<Vec<Copy>, Error> {
    let build = build_of(&LEVEL, Dtype::BF16, "", &SIZES)?;
    let accesses = some_accesses(&build, SHAPE, |block: Dim3| block.x < CLUSTER)?;
    let loads =
        accesses.iter().filter(|access| access.opcode.contains("bulk.tensor") && access.opcode.contains("mbarrier"));
    let copies = loads.flat_map(|access| {
        let for_all = access.opcode.contains("multicast");
        access.lanes.iter().map(move |lane| Copy { block: access.block.x, at: lane.address, for_all })
    });
    let mut copies: Vec<Copy> = copies.filter(|copy| copy.at < STAGE).collect();
    copies.sort_by_key(|copy| (copy.at, copy.block));
    let found: Vec<(u32, u64, bool)> = copies.iter().map(|copy| (copy.block, copy.at, copy.for_all)).collect();
    let of_b = (0..SIZES[1] / BOX).map(|n| (n % CLUSTER, TILE_A + u64::from(n) * BOX_B, true));
    let expected: Vec<(u32, u64, bool)> = [(0, 0, false), (1, 0, false)].into_iter().chain(of_b).collect();
    if found != expected {
        return Err(unlike(&format!("the blocks of a cluster fetch other boxes: {found:?}")));
    }
    Ok(copies)
}

/// A, B and C, as far as the cluster needs them in this step.
fn matrices(sheet: &mut Sheet, copies: &[Copy], top: f64) -> Result<(), Error> {
    let side = |elements: u32| f64::from(elements) * SCALE;
    let (left, right) = (MARGIN + 8.0, MARGIN + 8.0 + side(BOX) + 20.0);
    let below = top + side(BOX) + 20.0;
    sheet.text((right, top - 8.0), &format!("B: {BOX} rows, {} columns", SIZES[1]), "small", Anchor::Start);
    sheet.text((left, below - 8.0), "A", "small", Anchor::Start);
    for copy in copies {
        let (area, text) = match copy.box_of_b() {
            Some(n) => (Area::new(right + side(n * BOX), top, side(BOX), side(BOX)), "B"),
            None => (Area::new(left, below + side(copy.block * SIZES[0]), side(BOX), side(SIZES[0])), "A"),
        };
        sheet.area(area, copy.class());
        sheet.label(area, &copy.box_of_b().map_or(text.to_string(), |n| format!("B{n}")), copy.text());
    }
    for block in 0..CLUSTER {
        let tile = Area::new(right, below + side(block * SIZES[0]), side(SIZES[1]), side(SIZES[0]));
        sheet.area(tile, "c");
        sheet.label(tile, &format!("C: block {block}"), "");
    }
    let kib = |bytes: u64| bytes / 1024;
    let (text, asked) = (right + side(SIZES[1]) + 28.0, TILE_A + BOX_B * u64::from(SIZES[1] / BOX / CLUSTER));
    let alone = kib(STAGE);
    let mut y = top + 8.0;
    for (class, what) in [("a", "A, fetched by block 0"), ("b", "B, fetched by block 0, for both")] {
        y = sheet.legend((text, y), class, what);
    }
    for (class, what) in [("A", "A, fetched by block 1"), ("B", "B, fetched by block 1, for both")] {
        y = sheet.legend((text, y), class, what);
    }
    let said = [
        &*format!("A block asks for {} KiB in a step:", kib(asked)),
        &format!("{} of A for itself, {} of B for both.", kib(TILE_A), kib(asked - TILE_A)),
        &format!("It receives {alone} KiB."),
        "",
        &format!("Without a cluster it would ask for {alone} KiB."),
    ];
    sheet.lines((text, y + 14.0), &said, "small");
    Ok(())
}

/// The first stage of a block, by addresses: what both have sent there.
fn stage(sheet: &mut Sheet, copies: &[Copy], block: u32, top: f64) {
    sheet.text(
        (MARGIN + 8.0, top - 8.0),
        &format!("block {block}, stage 0 in its shared memory"),
        "bold",
        Anchor::Start,
    );
    for copy in copies.iter().filter(|copy| copy.for_all || copy.block == block) {
        let bytes = if copy.box_of_b().is_some() { BOX_B } else { TILE_A };
        let area = Area::new(MARGIN + 8.0 + copy.at as f64 * BYTE, top, bytes as f64 * BYTE, 36.0);
        sheet.area(area, copy.class());
        let rows = copy.block * SIZES[0];
        let text = match copy.box_of_b() {
            Some(n) => format!("B{n}: {} KiB", bytes / 1024),
            None => format!("A, row {rows} on: {} KiB", bytes / 1024),
        };
        sheet.label(area, &text, copy.text());
    }
}
