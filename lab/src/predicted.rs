//! Predicted times of a modelled GPU, for tables that show them beside other times.

use common::predict::{Model, models};
use common::{Build, Dtype, Shape};
use emulator::gpu::Gpu;

use crate::row::{Row, distinct};

/// What predicts the times of a modelled GPU; nothing, where no GPU like it was measured.
pub fn of(gpu: &Gpu) -> Option<&'static Model> {
    models().iter().find(|model| model.architecture == gpu.sm() && model.sms == gpu.sms)
}

/// What a launch is predicted to take on a modelled GPU, where that is known.
pub fn milliseconds(gpu: &Gpu, build: &Build, shape: &Shape) -> Option<f64> {
    let model = of(gpu)?;
    Some(model.of(build)?.microseconds(build, model.sms, shape) / 1e3)
}

/// What predicted times in a table are, and in which order they put its rows; nothing, where there are none.
pub fn explained(rows: &[Row]) -> Vec<String> {
    let mut known: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((row, row.predicted_ms?))).collect();
    let Some((first, _)) = known.first() else { return Vec::new() };
    let mut notes: Vec<String> = models().iter().filter_map(|model| errors(model, first.dtype)).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let levels = distinct(known.iter().map(|(row, _)| row.kernel.split('-').next().unwrap_or_default().to_string()));
    if levels.len() > 1 {
        notes.push(format!("predicted order, the fastest first: {}", levels.join(", ")));
    }
    notes
}

/// How far a type's predicted times are off, in words.
pub fn errors(model: &Model, dtype: Dtype) -> Option<String> {
    let off = model.errors.iter().find(|off| off.dtype == dtype)?;
    let half = |median: f64| format!("{:.1}%", 100.0 * median);
    Some(format!(
        "predicted: from launches at other shapes on an {1}; at {0} shapes half of such times were off by less than {2}, {3} where the kernel is fast",
        off.shapes,
        model.gpu,
        half(off.median),
        half(off.median_of_the_fast)
    ))
}
