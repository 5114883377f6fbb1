//! The rows of a sweep as the tables that a report prints: one line per point, one column per kernel.

use clap::ValueEnum;

use crate::row::{Kind, Row, distinct};
use crate::table::{maybe, number, percent, table};

/// What changes from point to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Over {
    /// Square sizes.
    Size,
    /// Thread blocks of 8×8, 16×16, 32×32.
    Block,
    /// Tile sizes.
    Tile,
    /// Rectangular shapes.
    Shape,
    /// Numbers of GPUs.
    Gpus,
}

/// The times and, over sizes, how they grow.
pub fn tables(rows: &[Row], over: Over) -> String {
    let some = |kind| rows.iter().any(|row| row.ms_is == kind);
    let mut text = String::new();
    if rows.iter().any(|row| row.ms.is_some()) {
        let unit = match (some(Kind::Predicted), some(Kind::Cpu)) {
            (true, true) => "predicted ms (CPU: measured)",
            (true, false) => "predicted ms",
            (false, _) => "ms",
        };
        text += &format!("\n{}", pivot(rows, over, unit, |row| maybe(row.ms)));
    }
    if some(Kind::Bound) {
        let bound = |row: &Row| maybe(row.bound_ms.filter(|_| row.ms_is == Kind::Bound));
        text += &format!("\n{}\n{}\n", pivot(rows, over, "at least ms", bound), crate::predicted::UNKNOWN);
    }
    if over == Over::Size && rows.iter().any(|row| row.growth.is_some()) {
        let growth = |row: &Row| row.growth.map_or_else(|| "-".to_string(), |growth| format!("{growth:.2}x"));
        text += &format!("\n{}", pivot(rows, over, "growth", growth));
    }
    if over == Over::Gpus {
        let bytes = |row: &Row| row.received_bytes.map_or_else(|| "-".to_string(), |bytes| number(bytes as f64));
        text += &format!("\n{}", pivot(rows, over, "bytes into a GPU", bytes));
        text += &format!("\n{}", pivot(rows, over, "of one GPU's", |row| percent(row.efficiency)));
    }
    text
}

fn pivot(rows: &[Row], over: Over, corner: &str, cell: impl Fn(&Row) -> String) -> String {
    let point = |row: &Row| match over {
        Over::Size => row.m.to_string(),
        Over::Shape => row.shape().to_string(),
        Over::Block => row.tiles.rsplit('=').next().map(|size| format!("{size}x{size}")).unwrap_or_default(),
        Over::Tile => row.tiles.clone(),
        Over::Gpus => row.over_gpus(),
    };
    let is_kernel = |row: &&Row| !matches!(over, Over::Block | Over::Tile) || !row.tiles.is_empty();
    let rows: Vec<&Row> = rows.iter().filter(is_kernel).collect();
    let points = distinct(rows.iter().map(|row| point(row)));
    let kernels = distinct(rows.iter().map(|row| row.kernel.clone()));
    let mut lines = vec![vec![corner.to_string()]];
    lines[0].extend(kernels.iter().cloned());
    for wanted in &points {
        let mut line = vec![wanted.clone()];
        for kernel in &kernels {
            let found = rows.iter().find(|row| point(row) == *wanted && row.kernel == *kernel);
            line.push(found.map_or_else(String::new, |row| if row.is_right() { cell(row) } else { "failed".into() }));
        }
        lines.push(line);
    }
    table(&lines)
}
