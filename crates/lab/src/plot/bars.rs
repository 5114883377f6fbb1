//! Bars, kernel by kernel: of counters, and of the rate where all rows are of one problem.

use super::name;
use crate::row::{Kind, Row};
use crate::svg::{Anchor, Svg, series};
use crate::table::number;

const LEFT: f64 = 330.0;
const LONGEST: f64 = 420.0;
const BAR: f64 = 18.0;

type Value = fn(&Row) -> Option<f64>;

const COUNTERS: [(&str, Value); 3] = [
    ("32-byte sectors of global memory per multiply-add: fewer are better", |row| row.sectors_per_fma),
    ("wavefronts of shared memory per multiply-add: fewer are better", |row| row.wavefronts_per_fma),
    ("occupancy: share of the warps that an SM holds", |row| row.occupancy),
];

/// Sectors and wavefronts per multiply-add, and occupancy.
pub(super) fn counters(rows: &[&Row], place: &str) -> String {
    let counted: Vec<&Row> = rows.iter().copied().filter(|row| row.sectors_per_fma.is_some()).collect();
    draw(&counted, &format!("counters, {place}"), &COUNTERS)
}

/// The rates at one problem.
pub(super) fn speed(rows: &[&Row], place: &str) -> String {
    let timed: Vec<&Row> = rows.iter().copied().filter(|row| row.gflops.is_some()).collect();
    let predicted = timed.iter().any(|row| row.ms_is == Kind::Predicted);
    let what = if predicted { "predicted GFLOP/s (CPU: measured here)" } else { "GFLOP/s" };
    draw(&timed, &format!("{}, {}, {place}", rows[0].shape(), rows[0].dtype), &[(what, |row| row.gflops)])
}

fn draw(rows: &[&Row], title: &str, parts: &[(&str, Value)]) -> String {
    let part_height = 52.0 + (BAR + 6.0) * rows.len() as f64;
    let mut svg = Svg::new(940.0, 46.0 + part_height * parts.len() as f64, title);
    for (part, (what, value)) in parts.iter().enumerate() {
        let top = 60.0 + part_height * part as f64;
        svg.text(16.0, top, what, "", Anchor::Start);
        let most = rows.iter().filter_map(|row| value(row)).fold(0.0, f64::max);
        for (index, row) in rows.iter().enumerate() {
            let y = top + 12.0 + (BAR + 6.0) * index as f64;
            let value = value(row).unwrap_or(0.0);
            let length = if most > 0.0 { LONGEST * value / most } else { 0.0 };
            svg.text(LEFT - 8.0, y + 13.0, &name(row), "small", Anchor::End);
            svg.bar((LEFT, y), length, BAR, &series(index));
            svg.text(LEFT + length + 6.0, y + 13.0, &number(value), "small", Anchor::Start);
        }
    }
    svg.finish()
}
