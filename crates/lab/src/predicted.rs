//! Predicted times of a modelled GPU, for tables that show them beside other times.

use gemm::Dtype;
use predict::{Model, models};

use crate::row::{Kind, Row, distinct};

/// Of tables in which bounds stand alone.
pub const UNKNOWN: &str =
    "at least: a bound from counted work, and no time: of two kernels the one with the lower bound may be the slower";

/// What predicted times in a table are, and in which order they put its rows; nothing, where there are none.
pub fn explained(rows: &[Row]) -> Vec<String> {
    let mut known: Vec<(&Row, f64)> =
        rows.iter().filter(|row| row.ms_is == Kind::Predicted).filter_map(|row| Some((row, row.ms?))).collect();
    let Some((first, _)) = known.first() else { return Vec::new() };
    let mut notes: Vec<String> = models().iter().filter_map(|model| note(model, first.dtype)).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let levels = distinct(known.iter().map(|(row, _)| row.kernel.split('-').next().unwrap_or_default().to_string()));
    if levels.len() > 1 {
        notes.push(format!("predicted order, the fastest first: {}", levels.join(", ")));
    }
    notes
}

/// What predicted times of a type are, as a note below a table.
pub fn note(model: &Model, dtype: Dtype) -> Option<String> {
    Some(format!("predicted: {}", errors(model, dtype)?))
}

/// How far a type's predicted times are off, in words.
pub fn errors(model: &Model, dtype: Dtype) -> Option<String> {
    let off = model.errors.iter().find(|off| off.dtype == dtype)?;
    let half = |median: f64| format!("{:.1}%", 100.0 * median);
    Some(format!(
        "from launches at other shapes on an {1}; at {0} shapes half of such times were off by less than {2}, {3} where the kernel is fast",
        off.shapes,
        model.gpu,
        half(off.median),
        half(off.median_of_the_fast)
    ))
}
