//! Bars: sectors and wavefronts per multiply-add, kernel by kernel. Shorter is better.

use super::name;
use crate::row::Row;
use crate::svg::{Anchor, Svg, series};
use crate::table::number;

const LEFT: f64 = 330.0;
const LONGEST: f64 = 420.0;
const BAR: f64 = 18.0;

type Counter = fn(&Row) -> Option<f64>;

const PARTS: [(&str, Counter); 3] = [
    ("32-byte sectors of global memory per multiply-add", |row| row.sectors_per_fma),
    ("wavefronts of shared memory per multiply-add", |row| row.wavefronts_per_fma),
    ("occupancy: share of the warps that an SM holds", |row| row.occupancy),
];

pub(super) fn draw(rows: &[&Row], place: &str) -> String {
    let counted: Vec<&&Row> = rows.iter().filter(|row| row.sectors_per_fma.is_some()).collect();
    let part_height = 52.0 + (BAR + 6.0) * counted.len() as f64;
    let mut svg = Svg::new(940.0, 46.0 + part_height * PARTS.len() as f64, &format!("counters, {place}"));
    for (part, (title, counter)) in PARTS.iter().enumerate() {
        let top = 60.0 + part_height * part as f64;
        svg.text(16.0, top, title, "", Anchor::Start);
        let most = counted.iter().filter_map(|row| counter(row)).fold(0.0, f64::max);
        for (index, row) in counted.iter().enumerate() {
            let y = top + 12.0 + (BAR + 6.0) * index as f64;
            let value = counter(row).unwrap_or(0.0);
            let length = if most > 0.0 { LONGEST * value / most } else { 0.0 };
            svg.text(LEFT - 8.0, y + 13.0, &name(row), "small", Anchor::End);
            svg.bar((LEFT, y), length, BAR, &series(index));
            svg.text(LEFT + length + 6.0, y + 13.0, &number(value), "small", Anchor::Start);
        }
    }
    svg.finish()
}
