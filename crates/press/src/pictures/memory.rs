//! Registers, shared memory, L2 and global memory of one modelled GPU, and who sees each.

use emulator::gpu::H200;
use gemm::Error;

use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

const WIDTH: f64 = 560.0;

pub fn draw() -> Result<Sheet, Error> {
    let (limits, rates) = (H200.limits, H200.rates);
    let mut sheet = Sheet::new(
        WIDTH,
        &format!("Where data lies: {}", H200.name),
        "Registers and shared memory lie inside each streaming multiprocessor; L2 and global memory serve all of them. \
         The further away a memory is, the larger it is, and the more threads see it.",
    );
    let full = WIDTH - 2.0 * MARGIN;
    let sm = Area::new(MARGIN, 52.0, full - 16.0, 226.0);
    for back in [16.0, 8.0] {
        sheet.round(Area { x: sm.x + back, y: sm.y + back, ..sm }, "o");
    }
    sheet.round(sm, "o");
    sheet.text((sm.x + 14.0, sm.y + 24.0), &format!("one of {} SMs", H200.sms), "bold", Anchor::Start);
    let kib = |bytes: u32| format!("{} KiB", bytes / 1024);
    let place = |row: f64| Area::new(sm.x + 14.0, sm.y + 38.0 + 90.0 * row, sm.width - 28.0, 78.0);
    memory(
        &mut sheet,
        place(0.0),
        "c",
        ["registers", &kib(4 * limits.registers_per_sm)],
        [
            "each thread has its own: acc",
            &format!(
                "{} of 32 bits, up to {} a thread",
                thousands(limits.registers_per_sm),
                limits.registers_per_thread
            ),
        ],
    );
    memory(
        &mut sheet,
        place(1.0),
        "b",
        ["shared memory", &kib(limits.shared_per_sm)],
        [
            "each block has its own: As, Bs",
            &format!("up to {} a block, {} bytes a clock", kib(limits.shared_per_block), rates.l1_bytes),
        ],
    );
    let l2 = Area::new(MARGIN, sm.bottom() + 48.0, full, 78.0);
    double_arrow(&mut sheet, sm.bottom() + 18.0, l2.y - 2.0);
    let megabytes = H200.l2_bytes as f64 / f64::from(1 << 20);
    memory(
        &mut sheet,
        l2,
        "n",
        ["L2 cache", &format!("{megabytes} MiB")],
        ["all SMs share it; no kernel names it", "keeps what was read or written lately"],
    );
    let global = Area::new(MARGIN, l2.bottom() + 32.0, full, 78.0);
    double_arrow(&mut sheet, l2.bottom() + 2.0, global.y - 2.0);
    memory(
        &mut sheet,
        global,
        "a",
        ["global memory", &format!("{} TB/s", H200.dram_bytes_per_s / 1e12)],
        ["all threads and the host see it: A, B, C", "moves in sectors of 32 bytes"],
    );
    Ok(sheet)
}

/// A memory: its name and size, and two lines about it.
fn memory(sheet: &mut Sheet, area: Area, class: &str, [name, size]: [&str; 2], lines: [&str; 2]) {
    sheet.round(area, class);
    sheet.text((area.x + 14.0, area.y + 24.0), name, "bold", Anchor::Start);
    sheet.text((area.right() - 14.0, area.y + 24.0), size, "bold", Anchor::End);
    sheet.lines((area.x + 14.0, area.y + 46.0), &lines, "small");
}

fn double_arrow(sheet: &mut Sheet, top: f64, bottom: f64) {
    let middle = (top + bottom) / 2.0;
    sheet.arrow((WIDTH / 2.0, middle), (WIDTH / 2.0, top));
    sheet.arrow((WIDTH / 2.0, middle), (WIDTH / 2.0, bottom));
}

/// 65,536.
fn thousands(number: u32) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}
