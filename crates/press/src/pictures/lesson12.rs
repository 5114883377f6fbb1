//! Where level 12's tiles lie in shared memory, and what one `wgmma` reads of them by its descriptors.
//!
//! The places are those where tensor copies of the level's boxes put elements, and are held to the emulator's descriptors.

use std::collections::{BTreeMap, BTreeSet};

use emulator::{Major, MatrixDescriptor, Swizzle};
use gemm::{Dtype, Error, TensorSwizzle};
use levels::level12_warpgroup::LEVEL;

use super::traced::{build_of, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

/// BM, BN, STAGES.
const SIZES: [u32; 3] = [128, 128, 6];
const BK: u32 = 64;
/// Bytes: of an element, of a chunk, of a row of a box, of 8 of them, of a box.
const ELEMENT: u32 = 2;
const CHUNK: u32 = 16;
const LINE: u32 = 128;
const LINES: u32 = 8 * LINE;
const BOX: u32 = BK * LINE;
/// The chunk of each row that is marked.
const MARKED: u32 = 2;
/// The product that is shown, of the four of a step: the second.
const PRODUCT: u32 = 1;

/// Row and column, and the address in shared memory.
type Places = BTreeMap<(u32, u32), u32>;

/// The first stage as the copies fill it.
struct Stage {
    a: Places,
    b: Places,
}

impl Stage {
    fn filled() -> Result<Stage, Error> {
        let build = build_of(&LEVEL, Dtype::BF16, "", &SIZES)?;
        let [of_a, of_b, _] = (LEVEL.needs.boxes)(&build.configuration);
        let columns = LINE / ELEMENT;
        let swizzled = [of_a, of_b].iter().all(|one| one.swizzle == TensorSwizzle::B128 && one.columns == columns);
        if !swizzled || of_a.rows != SIZES[0] || of_b.rows != BK {
            return Err(unlike("its boxes are not of 128 bytes, swizzled, a tile of A and BK rows of B"));
        }
        let [bm, bn, _] = SIZES;
        let place = |first: u32, row: u32, column: u32| {
            let at = first + column / columns * BOX + row * LINE;
            Swizzle::Bytes128.apply(at + column % columns * ELEMENT / CHUNK * CHUNK, 0)
                + column % (CHUNK / ELEMENT) * ELEMENT
        };
        let places = |first: u32, rows: u32, columns: u32| -> Places {
            let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
            all.map(|(row, column)| ((row, column), place(first, row, column))).collect()
        };
        // A stage begins with the tile of A, and B follows.
        Ok(Stage { a: places(0, bm, BK), b: places(bm * LINE, BK, bn) })
    }

    /// The place of an element.
    fn of(places: &Places, row: u32, column: u32) -> u32 {
        places.get(&(row, column)).copied().unwrap_or_default()
    }

    /// Where A's tile begins, and B's: no row of the first 8 changes the first chunk of row 0.
    fn starts(&self) -> [u32; 2] {
        [&self.a, &self.b].map(|places| Stage::of(places, 0, 0))
    }
}

/// A box in rows of 128 bytes, plain and swizzled.
pub fn swizzle() -> Result<Sheet, Error> {
    let stage = Stage::filled()?;
    let [start, _] = stage.starts();
    let plain = |row: u32, chunk: u32| start + row * LINE + chunk * CHUNK;
    let mixed = |row: u32, chunk: u32| Stage::of(&stage.a, row, chunk * CHUNK / ELEMENT);
    let mut sheet = Sheet::new(
        690.0,
        "64 × 64 elements in shared memory, and the swizzle of 128 bytes",
        "Rows of 128 bytes, 8 chunks of 16 bytes each. Left as they follow one another, and the same chunk of 8 rows lies in \
         the same four banks. In the middle swizzled: in row r lies chunk c at the place c exclusive or r, and the same \
         chunk of 8 rows lies in all 32 banks. Right all 64 rows.",
    );
    let said = "A square is a chunk of 16 bytes, 8 elements of bf16, in four banks.";
    sheet.text((MARGIN, 60.0), said, "small", Anchor::Start);
    for row in 0..8 {
        sheet.text((MARGIN, TOP + SIDE * (f64::from(row) + 0.5) + 5.0), &format!("row {row}"), "small", Anchor::Start);
    }
    panel(&mut sheet, 66.0, "plain", |row, chunk| plain(row, chunk) - start);
    panel(&mut sheet, 326.0, "swizzled", |row, chunk| mixed(row, chunk) - start);
    whole_box(&mut sheet, |row| mixed(row, MARKED) - start);
    bits(&mut sheet);
    Ok(sheet)
}

const SIDE: f64 = 28.0;
const TOP: f64 = 116.0;

/// The first 8 rows, each chunk by its number where it lies, and how many of the marked ones lie in the same banks.
fn panel(sheet: &mut Sheet, x: f64, name: &str, place: impl Fn(u32, u32) -> u32) {
    let memory = Matrix { x, y: TOP, rows: 8, columns: 8, side: SIDE };
    let right = memory.area().right();
    sheet.text((x, TOP - 28.0), name, "bold", Anchor::Start);
    sheet.text((x, TOP - 8.0), "bank 0", "small", Anchor::Start);
    sheet.text((right, TOP - 8.0), "bank 31", "small", Anchor::End);
    let mut met = [0_u32; 8];
    for (row, chunk) in (0..8).flat_map(|row| (0..8).map(move |chunk| (row, chunk))) {
        let at = place(row, chunk);
        let (area, marked) = (memory.element(at / LINE, at % LINE / CHUNK), chunk == MARKED);
        met[(at % LINE / CHUNK) as usize] += u32::from(marked);
        sheet.area(area, if marked { "A" } else { "a" });
        sheet.label(area, &chunk.to_string(), if marked { "small bold white" } else { "small" });
    }
    let banks = Matrix { x, y: memory.area().bottom() + 14.0, rows: 1, columns: 8, side: SIDE };
    for (column, count) in met.into_iter().enumerate() {
        let area = banks.element(0, column as u32);
        let class = match count {
            0 => "o",
            1 => "C",
            _ => "X",
        };
        sheet.area(area, class);
        sheet.label(area, &count.to_string(), if count == 0 { "small" } else { "small bold white" });
    }
    let most = met.into_iter().max().unwrap_or_default();
    let plural = if most == 1 { "" } else { "s" };
    let said = format!("chunk {MARKED} of 8 rows: {most} wavefront{plural}");
    sheet.text((x, banks.area().bottom() + 20.0), &said, "small", Anchor::Start);
}

/// All rows, with the marked chunk of each.
fn whole_box(sheet: &mut Sheet, place: impl Fn(u32) -> u32) {
    let memory = Matrix { x: 594.0, y: TOP, rows: 64, columns: 8, side: 7.0 };
    sheet.text((memory.x, TOP - 28.0), "64 rows", "bold", Anchor::Start);
    sheet.area(memory.area(), "a");
    for row in 0..64 {
        let at = place(row);
        sheet.area(memory.element(at / LINE, at % LINE / CHUNK), "A");
    }
    sheet.mesh(&memory, 8, 8);
    sheet.area(memory.part(0, 0, 8, 8), "frame");
}

/// The bits of a byte's place in a box.
fn bits(sheet: &mut Sheet) {
    let parts =
        [("10 to 12: row / 8", 3, "o"), ("7 to 9: row mod 8", 3, "b"), ("4 to 6: chunk", 3, "a"), ("0 to 3", 4, "n")];
    let (y, side) = (456.0, 40.0);
    sheet.text((MARGIN, y - 18.0), "The bits of a byte's address in the box", "bold", Anchor::Start);
    let (mut x, mut bit) = (MARGIN, 13);
    for (name, count, class) in parts {
        let whole = Area::new(x, y, side * f64::from(count), 26.0);
        for n in 0..count {
            bit -= 1;
            let area = Area::new(x + side * f64::from(n), y, side, 26.0);
            sheet.area(area, class);
            sheet.label(area, &bit.to_string(), "small");
        }
        sheet.text((whole.middle().0, y + 44.0), name, "small", Anchor::Middle);
        x = whole.right();
    }
    let said = "Swizzled: bits 4 to 6 are combined with bits 7 to 9, by exclusive or.";
    sheet.text((MARGIN, y + 70.0), said, "small", Anchor::Start);
}

/// Two descriptors, and what the product reads by them.
pub fn descriptors() -> Result<Sheet, Error> {
    let stage = Stage::filled()?;
    let [a, b] = stage.starts();
    // As in the kernel: 16 columns of A are 32 bytes further on, 16 rows of B 16 lines.
    let of_a =
        MatrixDescriptor { start: a + PRODUCT * 32, leading: 16, stride: LINES, base: 0, swizzle: Swizzle::Bytes128 };
    let of_b = MatrixDescriptor { start: b + PRODUCT * 16 * LINE, leading: BOX, ..of_a };
    let in_a: BTreeSet<u32> = (0..64).flat_map(|row| (0..2).map(move |c| of_a.chunk(Major::K, row, c))).collect();
    let in_b: BTreeSet<u32> = (0..16).flat_map(|k| (0..16).map(move |c| of_b.chunk(Major::Mn, k, c))).collect();
    // The same from what was stored: the chunks in which these elements are.
    let stored = |places: &Places, rows: std::ops::Range<u32>, columns: std::ops::Range<u32>| {
        let inside = places.iter().filter(|((row, column), _)| rows.contains(row) && columns.contains(column));
        inside.map(|(_, at)| at / CHUNK * CHUNK).collect::<BTreeSet<u32>>()
    };
    let depth = PRODUCT * 16..PRODUCT * 16 + 16;
    if in_a != stored(&stage.a, 0..64, depth.clone()) || in_b != stored(&stage.b, depth, 0..SIZES[1]) {
        return Err(unlike("a descriptor does not name the bytes that were stored"));
    }
    let mut sheet = Sheet::new(
        700.0,
        "Two descriptors, and the bytes that one wgmma reads by them",
        "The fields of a descriptor of A and one of B, then the first 64 rows of the tile of A and two boxes of B as lines of \
         128 bytes. Of A two chunks of every row are read, each row at other places; of B 16 whole rows of both boxes.",
    );
    let said = "64 × 128 × 16, the second product of a step: columns 16 to 31 of A, rows 16 to 31 of B.";
    sheet.text((MARGIN, 60.0), said, "small", Anchor::Start);
    fields(&mut sheet, 88.0, "A", "a", of_a);
    fields(&mut sheet, 176.0, "B", "b", of_b);
    let y = 300.0;
    let memory = |x: f64, line: f64| Memory128 { x, y, line };
    let (left, right) = (memory(MARGIN, 7.0), memory(380.0, 3.5));
    sheet.text((left.x, y - 28.0), "A: 64 rows, 2,048 bytes", "bold", Anchor::Start);
    sheet.text((right.x, y - 28.0), "B: two boxes, 4,096 bytes", "bold", Anchor::Start);
    left.draw(&mut sheet, 64, ("a", "A"), in_a.iter().map(|at| at - a));
    right.draw(&mut sheet, 128, ("b", "B"), in_b.iter().map(|at| at - b));
    left.step(&mut sheet, 0, 8, "stride:", "8 rows");
    right.step(&mut sheet, 16, 24, "stride", "");
    right.step(&mut sheet, 32, 96, "leading:", "a box");
    Ok(sheet)
}

/// A descriptor's number, and its fields.
fn fields(sheet: &mut Sheet, y: f64, name: &str, class: &str, of: MatrixDescriptor) {
    let bits = of.encode();
    sheet.text((MARGIN, y), &format!("{name}: {bits:#018x}"), "bold", Anchor::Start);
    let bytes = |bytes: u32| format!("{:#x} · 16 = {}", bytes / 16, grouped(bytes));
    let parts = [
        ("62, 63: swizzle", 110.0, format!("{}: 128 bytes", bits >> 62)),
        ("49 to 51: base", 110.0, of.base.to_string()),
        ("32 to 45: stride", 145.0, bytes(of.stride)),
        ("16 to 29: leading", 145.0, bytes(of.leading)),
        ("0 to 13: start", 150.0, bytes(of.start)),
    ];
    let mut x = MARGIN;
    for (bits, width, text) in parts {
        let area = Area::new(x, y + 26.0, width, 28.0);
        sheet.text((x + 2.0, y + 20.0), bits, "small", Anchor::Start);
        sheet.area(area, class);
        sheet.label(area, &text, "small");
        x = area.right();
    }
}

fn grouped(bytes: u32) -> String {
    if bytes < 1000 { bytes.to_string() } else { format!("{},{:03}", bytes / 1000, bytes % 1000) }
}

/// Shared memory in lines of 128 bytes, each so high.
struct Memory128 {
    x: f64,
    y: f64,
    line: f64,
}

impl Memory128 {
    const CHUNK: f64 = 28.0;

    /// So many lines, and the chunks in them that are read.
    fn draw(&self, sheet: &mut Sheet, lines: u32, (light, strong): (&str, &str), read: impl Iterator<Item = u32>) {
        let (width, height) = (8.0 * Self::CHUNK, self.line * f64::from(lines));
        sheet.text((self.x, self.y - 8.0), "bank 0", "small", Anchor::Start);
        sheet.text((self.x + width, self.y - 8.0), "bank 31", "small", Anchor::End);
        sheet.area(Area::new(self.x, self.y, width, height), light);
        for at in read {
            let x = self.x + Self::CHUNK * f64::from(at % LINE / CHUNK);
            sheet.area(Area::new(x, self.y + self.line * f64::from(at / LINE), Self::CHUNK, self.line), strong);
        }
        for lines in (8..lines).step_by(8) {
            let y = self.y + self.line * f64::from(lines);
            sheet.line((self.x, y), (self.x + width, y), "mesh");
        }
    }

    /// An arrow beside it, from a line to another.
    fn step(&self, sheet: &mut Sheet, from: u32, to: u32, what: &str, far: &str) {
        let x = self.x + 8.0 * Self::CHUNK + 12.0;
        let at = |line: u32| self.y + self.line * f64::from(line);
        sheet.arrow((x, at(from)), (x, at(to)));
        let middle = (at(from) + at(to)) / 2.0;
        sheet.lines((x + 10.0, middle), &[what, far], "small");
    }
}
