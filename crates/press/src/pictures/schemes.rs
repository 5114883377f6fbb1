//! Error against time, of products that are made of products of narrower numbers: lessons 21 and 23.
//!
//! Errors are those of the lessons' tables, on normal numbers. Times are in that of cuBLAS's own product, on the H100 of the lessons'
//! records at 4096: of the level and of cuBLAS as measured, of other schemes as many products take by the level's rate.

use gemm::Error;

use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// A lesson's table of errors, its record, the column of 4096 there, and who is who.
struct Chart {
    title: &'static str,
    errors: &'static str,
    record: &'static str,
    level: &'static str,
    /// The level's row of the table.
    own: &'static str,
    /// Products of the level, in units of those of the others.
    of_level: f64,
    /// A row of the table, and its products; none for the plain product, whose time is cuBLAS's.
    schemes: &'static [(&'static str, f64)],
    /// The powers of ten between which errors lie, and the most of time.
    range: (i32, i32, f64),
}

const HALVES: Chart = Chart {
    title: "f32 of narrower products, K = 4096",
    errors: include_str!("../../../../book/outputs/lesson21/schemes.txt"),
    record: include_str!("../../../../book/records/h100-f32-from-halves.txt"),
    level: "level21-f32-from-halves BM=128 BN=128",
    own: "f16 x 3, all scaled",
    of_level: 3.0,
    schemes: &[
        ("FFMA", 0.0),
        ("tf32", 2.0),
        ("tf32 x 3", 6.0),
        ("bf16 x 3", 3.0),
        ("bf16 x 6", 6.0),
        ("bf16 x 9", 9.0),
        ("f16 x 3", 3.0),
        ("f16 x 3, all scaled", 3.0),
    ],
    range: (-8, -4, 1.2),
};

const BYTES: Chart = Chart {
    title: "f64 of products of bytes, K = 4096",
    errors: include_str!("../../../../book/outputs/lesson23/schemes.txt"),
    record: include_str!("../../../../book/records/h100-f64-from-bytes.txt"),
    level: "level23-f64-from-bytes BM=128 BN=192",
    own: "14 moduli, x 14",
    of_level: 14.0,
    schemes: &[
        ("FMA", 0.0),
        ("7 slices, x 28", 28.0),
        ("8 slices, x 36", 36.0),
        ("9 slices, x 45", 45.0),
        ("14 moduli, x 14", 14.0),
        ("15 moduli, x 15", 15.0),
        ("16 moduli, x 16", 16.0),
    ],
    range: (-18, -15, 3.2),
};

pub fn halves() -> Result<Sheet, Error> {
    draw(&HALVES)
}

pub fn bytes() -> Result<Sheet, Error> {
    draw(&BYTES)
}

/// The numbers of the first line that begins so.
fn numbers(text: &str, begin: &str) -> Result<Vec<f64>, Error> {
    let line = text.lines().find_map(|line| line.strip_prefix(begin).filter(|rest| rest.starts_with(' ')));
    let line = line.ok_or_else(|| Error::usage(format!("no line begins with `{begin}`"), "the tables have changed"))?;
    Ok(line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}

/// The number at a place.
fn at(numbers: &[f64], place: usize) -> Result<f64, Error> {
    let none = || Error::usage(format!("a line has no number {place}"), "the tables have changed");
    numbers.get(place).copied().ok_or_else(none)
}

const LEFT: f64 = 86.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 330.0;
/// Columns of the tables: of errors, normal data; of records, 4096.
const NORMAL: usize = 1;
const AT_4096: usize = 2;

fn draw(chart: &Chart) -> Result<Sheet, Error> {
    let (low, high, most) = chart.range;
    let rate = |who| numbers(chart.record, who).and_then(|numbers| at(&numbers, AT_4096));
    let of_one = rate("cuBLAS 13.1.0")? / rate(chart.level)? / chart.of_level;
    let mut sheet = Sheet::new(
        RIGHT + MARGIN + 130.0,
        chart.title,
        "Time against the largest error, a point for each scheme of the lesson's table and one for the plain product.",
    );
    let x = |time: f64| LEFT + (RIGHT - LEFT) * time / most;
    let y = |error: f64| BOTTOM - (BOTTOM - TOP) * (error.log10() - f64::from(low)) / f64::from(high - low);
    for power in low..=high {
        let height = y(10f64.powi(power));
        sheet.line((LEFT, height), (RIGHT, height), "mesh");
        sheet.text((LEFT - 8.0, height + 4.0), &format!("1e{power}"), "small", Anchor::End);
    }
    for time in 0..=most as u32 {
        sheet.text((x(f64::from(time)), BOTTOM + 20.0), &time.to_string(), "small", Anchor::Middle);
    }
    sheet.text(((LEFT + RIGHT) / 2.0, BOTTOM + 42.0), "time, in that of cuBLAS's product", "small", Anchor::Middle);
    let mut points: Vec<(String, f64, f64, bool)> = Vec::new();
    for &(name, products) in chart.schemes {
        let time = if products == 0.0 { 1.0 } else { products * of_one };
        let error = at(&numbers(chart.errors, name)?, NORMAL)?;
        let is_measured = products == 0.0 || name == chart.own;
        match points.iter_mut().find(|point| point.1 == time && point.2 == error) {
            Some(same) => same.0 = format!("{}; {name}", same.0),
            None => points.push((name.to_string(), time, error, is_measured)),
        }
    }
    for (name, time, error, is_measured) in &points {
        let (time, error) = (*time, *error);
        // Below the point, where the next one stands in the way.
        let is_near = |other: &(String, f64, f64, bool)| {
            other.1 > time && x(other.1) - x(time) < 80.0 && (y(other.2) - y(error)).abs() < 12.0
        };
        let name_at = match points.iter().any(is_near) {
            true => (x(time) - 14.0, y(error) + 20.0),
            false => (x(time) + 10.0, y(error) + 4.0),
        };
        let class = if *is_measured { "C" } else { "A" };
        sheet.area(Area::new(x(time) - 5.0, y(error) - 5.0, 10.0, 10.0), class);
        sheet.text(name_at, name, "small", Anchor::Start);
    }
    let next = sheet.legend((MARGIN, BOTTOM + 72.0), "C", "of cuBLAS and of the level, as measured");
    sheet.legend((MARGIN, next), "A", "of as many products, by the level's rate");
    Ok(sheet)
}
