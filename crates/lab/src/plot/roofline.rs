//! The roofline: FLOPs per byte of global memory that the warps touch, in whole sectors, against GFLOP/s; each kernel is a
//! point below the roofs.

use emulator::gpu::Gpu;

use super::{entry, height, name};
use crate::bench;
use crate::row::{Kind, Row};
use crate::svg::{Anchor, Axis, Svg, series};
use crate::table::number;

const LEFT: f64 = 76.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 380.0;

pub(super) fn draw(rows: &[&Row], place: &str) -> String {
    let points: Vec<(&&Row, f64, f64)> =
        rows.iter().filter_map(|row| Some((row, row.intensity?, row.gflops?))).collect();
    let gpu = Gpu::named(place.rsplit(' ').next().unwrap_or_default()).ok();
    let dtype = rows[0].dtype;
    let measured = points.iter().find_map(|(row, _, gflops)| Some(gflops / row.of_peak?));
    let peak = measured.or_else(|| bench::peak(gpu?, dtype));
    // A second roof, where some multiply on tensor cores what others do outside them.
    let of_cores = gpu
        .and_then(|gpu| bench::tensor_peak(gpu, dtype))
        .filter(|roof| peak.is_some_and(|peak| *roof > 1.01 * peak && points.iter().any(|point| point.2 > peak)));
    let memory = gpu.map(|gpu| f64::from(gpu.rates.l1_bytes * gpu.sms) * gpu.boost_hz / 1e9);
    let bound = points.iter().any(|(row, _, _)| row.ms_is == Kind::Bound);
    let what = if bound { "roofline, rates at most by counted work" } else { "roofline" };
    let mut svg = Svg::new(1050.0, height(TOP, points.len()), &format!("{what}, {}, {place}", rows[0].dtype));

    let top = of_cores.or(peak);
    let knee = top.zip(memory).map(|(top, memory)| top / memory);
    let x = Axis::over(points.iter().map(|p| p.1).chain(knee.map(|knee| 2.0 * knee)), LEFT, RIGHT);
    let y = Axis::over(points.iter().map(|p| p.2).chain(top.map(|top| 1.05 * top)), BOTTOM, TOP);
    for tick in x.ticks() {
        svg.line((x.at(tick), TOP), (x.at(tick), BOTTOM), "grid");
        svg.text(x.at(tick), BOTTOM + 18.0, &number(tick), "small", Anchor::Middle);
    }
    for tick in y.ticks() {
        svg.line((LEFT, y.at(tick)), (RIGHT, y.at(tick)), "grid");
        svg.text(LEFT - 8.0, y.at(tick) + 4.0, &number(tick), "small", Anchor::End);
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    svg.line((LEFT, TOP), (LEFT, BOTTOM), "axis");
    svg.text(
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 38.0,
        "FLOPs per byte of the sectors that the warps touch",
        "small",
        Anchor::Middle,
    );
    let outside = if of_cores.is_some() { "peak outside the tensor cores" } else { "peak" };
    let flat = [(outside, peak), ("tensor cores", of_cores)];
    roofs(&mut svg, &x, &y, &flat.map(|(what, roof)| Some((what, roof?))), memory);
    for (index, (row, intensity, gflops)) in points.iter().enumerate() {
        let label = format!("{} {}: {} GFLOP/s", name(row), row.shape(), number(*gflops));
        svg.dot((x.at(*intensity), y.at(*gflops)), &series(index), &label);
        entry(&mut svg, (RIGHT + 24.0, TOP), index, row);
    }
    svg.finish()
}

/// The peaks, the highest last, and the slope that the bandwidth of all L1 caches gives: every sector passes one of them, or goes past
/// them by a narrower way.
fn roofs(svg: &mut Svg, x: &Axis, y: &Axis, flat: &[Option<(&str, f64)>], memory: Option<f64>) {
    let mut highest = None;
    for &(what, roof) in flat.iter().flatten() {
        svg.line((LEFT, y.at(roof)), (RIGHT, y.at(roof)), "mark");
        let text = format!("{what} {} GFLOP/s", number(roof));
        svg.text(LEFT + 6.0, y.at(roof) - 5.0, &text, "small", Anchor::Start);
        highest = Some(roof);
    }
    let (Some(peak), Some(memory)) = (highest, memory) else { return };
    let ticks = x.ticks();
    let (Some(&low), Some(&floor)) = (ticks.first(), y.ticks().first()) else { return };
    let start = low.max(floor / memory);
    let knee = peak / memory;
    if start < knee {
        svg.line((x.at(start), y.at(start * memory)), (x.at(knee), y.at(peak)), "mark");
        let at = (start * knee).sqrt();
        let text = format!("L1 {} GB/s", number(memory));
        svg.text(x.at(at) + 8.0, y.at(at * memory) + 16.0, &text, "small", Anchor::Start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemm::{Dtype, Shape};

    fn drawn(dtype: Dtype, gflops: f64, of_peak: Option<f64>) -> String {
        let shape = Shape { m: 4096, n: 4096, k: 4096 };
        let mut row = Row::new("k".into(), String::new(), dtype, shape, Kind::Measured);
        (row.intensity, row.gflops, row.of_peak) = (Some(80.0), Some(gflops), of_peak);
        draw(&[&row], "on NVIDIA H200")
    }

    #[test]
    fn types_of_tensor_cores_have_their_roof() {
        assert!(drawn(Dtype::BF16, 400e3, None).contains(">peak 1070531 GFLOP/s<"));
        assert!(drawn(Dtype::TF32, 200e3, None).contains(">peak 535265 GFLOP/s<"));
        let f32 = drawn(Dtype::F32, 50e3, Some(50.0 / 66.908));
        assert!(f32.contains(">peak 66908 GFLOP/s<") && !f32.contains("tensor cores"));
        let outside = drawn(Dtype::F64, 20e3, Some(20.0 / 33.454));
        assert!(outside.contains(">peak 33454 GFLOP/s<") && !outside.contains("tensor cores"));
        let both = drawn(Dtype::F64, 58e3, Some(58.0 / 33.454));
        assert!(both.contains(">peak outside the tensor cores 33454 GFLOP/s<"));
        assert!(both.contains(">tensor cores 66908 GFLOP/s<"));
    }
}
