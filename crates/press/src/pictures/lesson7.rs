//! Two sets of registers, and the order of the multiply-adds: both as they stand in the shipped PTX of levels 6 and 7.

use std::collections::HashMap;

use gemm::{Error, Level};

use super::traced::{build, kernel, unlike};
use lab::sheet::{Area, MARGIN, Matrix, Sheet};
use lab::svg::Anchor;

/// A level as it is drawn: its configuration, and how many sets of registers it has.
struct Drawn {
    level: &'static Level,
    variant: &'static str,
    sizes: &'static [u32],
    sets: usize,
    name: &'static str,
}

const LEVELS: [Drawn; 2] = [
    Drawn {
        level: &levels::level6_async_copy::LEVEL,
        variant: "",
        sizes: &[128, 128, 16, 32, 64, 8, 8, 3],
        sets: 1,
        name: "level 6: one set of registers, 4 rows of the tiles",
    },
    Drawn {
        level: &levels::level7_register_pipeline::LEVEL,
        variant: "shuffled",
        sizes: &[128, 256, 8, 64, 64, 8, 16, 4],
        sets: 2,
        name: "level 7: two sets, 2 rows of the tiles",
    },
];
/// Elements of a vector.
const V: usize = 4;
/// The multiply-adds that are drawn of each level: rows of tiles, times a thread's sums.
const DRAWN: usize = 256;
const WIDTH: f64 = 700.0;
/// The width of an instruction, and the height of a set of registers.
const STEP: f64 = 2.2;
const HEIGHT: f64 = 30.0;
const LEFT: f64 = MARGIN + 56.0;
/// The side of a sum in the lower part.
const SIDE: f64 = 30.0;

/// An instruction of the main loop, with what it does: `row` counts the rows of the tiles from the first that is read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// Reads a vector of a row: those of A first, then those of B.
    Read { row: usize, vector: usize },
    /// Multiplies two values of a row, numbered as they are read.
    Multiply { row: usize, a: usize, b: usize },
}

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        WIDTH,
        "One thread's reads and multiply-adds, in the order of the PTX",
        "Timelines with a row for each set of registers. Level 6 has one set: four vectors are read, then 64 multiply-adds use them, and \
         so on. Level 7 has two: while 128 multiply-adds use one set, the vectors of the next row are read into the other, spread among \
         them. Below, level 7's order of the 128 sums of a thread: squares of two by two, along two rows and back along the next two.",
    );
    let mut y = 54.0;
    for drawn in &LEVELS {
        let (vectors, steps) = steps(drawn)?;
        y = timeline(&mut sheet, y, drawn, &steps) + 22.0;
        if drawn.sets == 2 {
            y = sheet.legend((MARGIN, y), "A", "a vector is read into this set, 4 values");
            y = sheet.legend((MARGIN, y), "c", "multiply-adds with the values of this set");
            order(&mut sheet, y + 16.0, drawn, vectors, &steps)?;
        }
    }
    Ok(sheet)
}

/// The vectors that a thread reads of a row; and the reads and multiply-adds of the first rows, as the PTX has them.
fn steps(drawn: &Drawn) -> Result<(usize, Vec<Step>), Error> {
    let build = build(drawn.level, drawn.variant, drawn.sizes)?;
    let tiles = &build.configuration.tiles;
    let vectors = (tiles["TM"] + tiles["TN"]) as usize / V;
    let ptx = kernel(&build)?.ptx;
    let mut values: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut steps = Vec::new();
    let (mut reads, mut multiplied) = (0, 0);
    for line in ptx.lines().map(str::trim) {
        let Some((opcode, operands)) = line.trim_end_matches(';').split_once(char::is_whitespace) else { continue };
        let names: Vec<&str> = operands
            .split(|c: char| c.is_whitespace() || ",{}".contains(c))
            .filter(|name| name.starts_with('%'))
            .collect();
        if opcode == "ld.shared.v4.f32" {
            let (row, vector) = (reads / vectors, reads % vectors);
            values.extend(names.iter().enumerate().map(|(e, name)| (*name, (row, vector * V + e))));
            steps.push(Step::Read { row, vector });
            reads += 1;
        } else if opcode == "fma.rn.f32" && multiplied < DRAWN {
            let value = |name: Option<&&str>| name.and_then(|name| values.get(name)).copied();
            let (Some((row, a)), Some((_, b))) = (value(names.get(1)), value(names.get(2))) else {
                return Err(unlike("a multiply-add uses what was not read from shared memory"));
            };
            steps.push(Step::Multiply { row, a, b });
            multiplied += 1;
        }
        if multiplied == DRAWN {
            return Ok((vectors, steps));
        }
    }
    Err(unlike("there are fewer multiply-adds"))
}

/// The steps from left to right, in the line of the set of registers that they read into or use.
fn timeline(sheet: &mut Sheet, top: f64, drawn: &Drawn, steps: &[Step]) -> f64 {
    sheet.text((MARGIN, top + 14.0), drawn.name, "bold", Anchor::Start);
    let top = top + 26.0;
    let line = |row: usize| top + (HEIGHT + 6.0) * (row % drawn.sets) as f64;
    let at = |step: usize| LEFT + STEP * step as f64;
    for set in 0..drawn.sets {
        sheet.text((MARGIN, line(set) + 20.0), &format!("set {set}"), "small", Anchor::Start);
    }
    let row_of = |step: &Step| match *step {
        Step::Read { row, .. } | Step::Multiply { row, .. } => row,
    };
    let rows = steps.iter().map(row_of).max().unwrap_or(0) + 1;
    for row in 0..rows {
        let used = |step: &Step| matches!(step, Step::Multiply { .. }) && row_of(step) == row;
        let (first, last) = (steps.iter().position(used), steps.iter().rposition(used));
        if let (Some(first), Some(last)) = (first, last) {
            let area = Area::new(at(first), line(row), at(last + 1) - at(first), HEIGHT);
            sheet.area(area, "c");
            sheet.label(area, &format!("row {row}"), "small");
        }
    }
    for (index, step) in steps.iter().enumerate() {
        if let Step::Read { row, .. } = step {
            sheet.area(Area::new(at(index), line(*row), STEP, HEIGHT), "A");
        }
    }
    top + (HEIGHT + 6.0) * drawn.sets as f64
}

/// A thread's sums with the numbers of their multiply-adds, in the order of one row.
fn order(sheet: &mut Sheet, top: f64, drawn: &Drawn, vectors: usize, steps: &[Step]) -> Result<(), Error> {
    let tiles = build(drawn.level, drawn.variant, drawn.sizes)?.configuration.tiles;
    let (tm, tn) = (tiles["TM"], tiles["TN"]);
    let text = format!("the order of the {tm} × {tn} multiply-adds of a row");
    sheet.text((MARGIN, top), &text, "bold", Anchor::Start);
    let sums = Matrix { x: LEFT, y: top + 40.0, rows: tm, columns: tn, side: SIDE };
    sheet.area(sums.area(), "o");
    let mut seen: Vec<(usize, usize)> = Vec::new();
    let mut read = false;
    for step in steps {
        match *step {
            Step::Read { row: 1, .. } => read = true,
            Step::Multiply { row: 0, a, b } => {
                let (y, x) = (a as u32, (b - tm as usize) as u32);
                if seen.len().is_multiple_of(4) {
                    // The square's least place: its first multiply-add has the greatest.
                    let area = sums.part(y / 2 * 2, x / 2 * 2, 2, 2);
                    sheet.area(area, if read { "a" } else { "c" });
                    read = false;
                }
                sheet.label(sums.element(y, x), &seen.len().to_string(), "small");
                seen.push((a, b));
            }
            _ => {}
        }
    }
    if seen.len() != (tm * tn) as usize {
        return Err(unlike("a row has another number of multiply-adds"));
    }
    for (x, b) in (0..tn).map(|x| (sums.element(0, x), x)) {
        sheet.text((x.middle().0, sums.y - 8.0), &format!("b{b}"), "small", Anchor::Middle);
    }
    for (y, a) in (0..tm).map(|y| (sums.element(y, 0), y)) {
        sheet.text((sums.x - 8.0, y.middle().1 + 5.0), &format!("a{a}"), "small", Anchor::End);
    }
    let shared = seen.windows(2).filter(|pair| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1).count();
    let explained = [
        format!("{shared} of the {} use a value of A or B that the one before has used, too.", seen.len()),
        format!("Blue: before this square, one of the {vectors} vectors of the next row is read."),
    ];
    let y = sums.area().bottom() + 24.0;
    sheet.lines((MARGIN, y), &explained.each_ref().map(String::as_str), "small");
    Ok(())
}
