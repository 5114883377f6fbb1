//! Which lane meets which bank: the kernel by which the page on counters counts wavefronts.

use emulator::{Dim3, Launch, TracedAccess};
use gemm::task::Operand;
use gemm::{Error, Shape};

use super::traced::{is_load, is_store, trace, unlike};
use lab::sheet::{MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

const PTX: &str = include_str!("../../../../kernels/ptx/count-wavefronts.ptx");
const BANKS: u32 = 32;
/// The store that is shown, of the 32 that fill the tile.
const ROW: usize = 12;

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        600.0,
        "32 lanes, 32 banks of shared memory",
        "Two pictures of shared memory as rows of 32 words, one column for each bank. With rows of 32 words, the lanes that \
         store a row meet 32 banks, and the lanes that load a column all meet the same bank. With rows of 33 words, the \
         column's words lie on a diagonal, each in its own bank.",
    );
    sheet.text((MARGIN, 60.0), "One column is a bank, one square a word of 4 bytes.", "small", Anchor::Start);
    for (index, width) in [BANKS, BANKS + 1].into_iter().enumerate() {
        panel(&mut sheet, MARGIN + 304.0 * index as f64, width, index == 0)?;
    }
    Ok(sheet)
}

/// Shared memory as the kernel uses it with rows of `width` words.
fn panel(sheet: &mut Sheet, x: f64, width: u32, with_store: bool) -> Result<(), Error> {
    let launch = Launch::new(Dim3::xy(1, 1), Dim3::xy(32, 1));
    let arguments = [Operand::A, Operand::B, Operand::C, Operand::U32(width)];
    let accesses = trace(PTX, "column", launch, Shape { m: 32, n: 1, k: 32 }, &arguments, |_| true)?;
    let load = accesses.iter().find(|a| is_load(a, "As")).ok_or_else(|| unlike("nothing loads from As"))?;
    let store = accesses.iter().filter(|a| is_store(a, "As")).nth(ROW).ok_or_else(|| unlike("As has few stores"))?;

    sheet.text((x, 92.0), &format!("rows of {width} words"), "bold", Anchor::Start);
    let words = Matrix { x, y: 124.0, rows: 32, columns: BANKS, side: 8.0 };
    let right = words.area().right();
    sheet.text((x, 116.0), "bank 0", "small", Anchor::Start);
    sheet.text((right, 116.0), "bank 31", "small", Anchor::End);
    sheet.matrix(&words, "o");
    let conflict = load.shared_cost().is_some_and(|cost| cost.wavefronts > cost.ideal_wavefronts);
    if with_store {
        mark(sheet, &words, store, "A");
    }
    mark(sheet, &words, load, if conflict { "X" } else { "C" });

    let mut y = words.area().bottom() + 22.0;
    if with_store {
        y = sheet.legend((x, y), "A", &format!("32 lanes store a row: {}", wavefronts(store)?));
    }
    sheet.legend((x, y), if conflict { "X" } else { "C" }, &format!("32 lanes load a column: {}", wavefronts(load)?));
    Ok(())
}

fn mark(sheet: &mut Sheet, words: &Matrix, access: &TracedAccess, class: &str) {
    for lane in &access.lanes {
        let word = (lane.address / 4) as u32;
        sheet.area(words.element(word / BANKS, word % BANKS), class);
    }
}

fn wavefronts(access: &TracedAccess) -> Result<String, Error> {
    let cost = access.shared_cost().ok_or_else(|| unlike("As is no shared memory"))?;
    let plural = if cost.wavefronts == 1 { "" } else { "s" };
    Ok(format!("{} wavefront{plural}", cost.wavefronts))
}
