//! Level 4's bank conflicts, and how they go: a warp's store into the transposed As, and its loads of Bs.

use emulator::{LaneAccess, TracedAccess};
use gemm::{Error, Shape};
use levels::level4_vectorized::LEVEL;

use super::traced::{accesses, build, is_load, is_store, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

const SIZES: [u32; 5] = [128, 128, 8, 8, 8];
const SHAPE: Shape = Shape { m: SIZES[0], n: SIZES[1], k: SIZES[2] };
const BANKS: u32 = 32;
/// The lanes that are served together when each loads 16 bytes.
const GROUP: u32 = 8;
/// Rows of 32 words that are drawn of As: from its beginning to the second row that a store meets.
const ROWS: u32 = 18;
const SIDE: f64 = 8.0;

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        632.0,
        "Level 4: two bank conflicts, left in and removed",
        "Shared memory as rows of 32 words, one column for each bank. Above, a warp's store into As: two pieces of 16 words, in the \
         same banks without padding, in different banks with it. Below, the vectors of Bs that eight lanes load: every second one, in \
         half of the banks, or neighbours, in all banks.",
    );
    let note = "A row is 32 words of 4 bytes, one in each bank.";
    sheet.text((MARGIN, 60.0), note, "small", Anchor::Start);
    for (index, variant) in ["conflicts", "spread"].into_iter().enumerate() {
        let accesses = accesses(&build(&LEVEL, variant, &SIZES)?, SHAPE)?;
        let x = MARGIN + 312.0 * index as f64;
        store(&mut sheet, (x, 92.0), &accesses)?;
        load(&mut sheet, (x, 340.0), &accesses)?;
    }
    Ok(sheet)
}

/// The first warp's first store into As, all of whose lanes store their vector's first value.
fn store(sheet: &mut Sheet, (x, y): (f64, f64), accesses: &[TracedAccess]) -> Result<(), Error> {
    let store = accesses.iter().find(|access| is_store(access, "As")).ok_or_else(|| unlike("nothing fills As"))?;
    let words: Vec<u32> = store.lanes.iter().map(word).collect();
    let row = words.iter().max().map_or(0, |last| (last - BANKS / 2 + 1) / 4);
    sheet.text((x, y), &format!("storing into As, rows of {row} words"), "bold", Anchor::Start);
    let place = Matrix { x, y: y + 32.0, rows: ROWS, columns: BANKS, side: SIDE };
    banks(sheet, &place);
    let cost = wavefronts(store)?;
    for word in words {
        sheet.area(place.element(word / BANKS, word % BANKS), if cost.is_ideal { "A" } else { "X" });
    }
    for k in [0, 4] {
        let (row, bank) = (k * row / BANKS, k * row % BANKS);
        let name = format!("As[{k}][0 … 15]");
        let (left, right) = (place.element(row, bank).x, place.element(row, bank + BANKS / 2).x);
        let y = place.element(row, 0).y + 14.0;
        match bank {
            0 => sheet.text((right + 8.0, y), &name, "small", Anchor::Start),
            _ => sheet.text((left - 8.0, y), &name, "small", Anchor::End),
        }
    }
    let legend = (x, place.area().bottom() + 22.0);
    let class = if cost.is_ideal { "A" } else { "X" };
    sheet.legend(legend, class, &format!("32 lanes, one word each: {}", cost.text));
    Ok(())
}

/// The first vectors of Bs that a warp loads: those of eight lanes, which are served together.
fn load(sheet: &mut Sheet, (x, y): (f64, f64), accesses: &[TracedAccess]) -> Result<(), Error> {
    let load = accesses.iter().find(|access| is_load(access, "Bs")).ok_or_else(|| unlike("nothing loads from Bs"))?;
    sheet.text((x, y), "loading 16 bytes per lane from Bs", "bold", Anchor::Start);
    let (rows, height) = (load.lanes.iter().map(|lane| word(lane) / BANKS).max().unwrap_or(0) + 1, 24.0);
    let y = y + 32.0;
    sheet.text((x, y - 8.0), "bank 0", "small", Anchor::Start);
    sheet.text((x + SIDE * f64::from(BANKS), y - 8.0), "bank 31", "small", Anchor::End);
    let cost = wavefronts(load)?;
    let class = if cost.is_ideal { "B" } else { "X" };
    for row in 0..rows.max(4) {
        sheet.area(Area::new(x, y + height * f64::from(row), SIDE * f64::from(BANKS), height), "o");
    }
    for lane in load.lanes.iter().filter(|lane| lane.lane < GROUP) {
        let (row, bank) = (word(lane) / BANKS, word(lane) % BANKS);
        let area = Area::new(x + SIDE * f64::from(bank), y + height * f64::from(row), 4.0 * SIDE, height);
        sheet.area(area, class);
        sheet.label(area, &lane.lane.to_string(), "small bold white");
    }
    let legend = (x, y + height * f64::from(rows.max(4)) + 22.0);
    let below = sheet.legend(legend, class, &format!("lanes 0 to {}, a vector of 4 words each", GROUP - 1));
    sheet.text((x + 19.0, below), &format!("all 32 lanes: {}", cost.text), "small", Anchor::Start);
    Ok(())
}

/// The names of the first and the last bank above a drawing.
fn banks(sheet: &mut Sheet, place: &Matrix) {
    sheet.text((place.x, place.y - 8.0), "bank 0", "small", Anchor::Start);
    sheet.text((place.area().right(), place.y - 8.0), "bank 31", "small", Anchor::End);
    sheet.area(place.area(), "o");
}

/// Which word of its array a lane accesses; the arrays begin in bank 0.
fn word(lane: &LaneAccess) -> u32 {
    (lane.offset / 4) as u32
}

struct Cost {
    text: String,
    is_ideal: bool,
}

fn wavefronts(access: &TracedAccess) -> Result<Cost, Error> {
    let cost = access.shared_cost().ok_or_else(|| unlike("As and Bs are no shared memory"))?;
    let plural = if cost.wavefronts == 1 { "" } else { "s" };
    let text = format!("{} wavefront{plural}", cost.wavefronts);
    Ok(Cost { text, is_ideal: cost.wavefronts == cost.ideal_wavefronts })
}
