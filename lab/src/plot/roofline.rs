//! The roofline: FLOPs per byte of global memory that the warps touch, in whole sectors, against GFLOP/s; each kernel is a
//! point below the roofs.

use emulator::gpu::Gpu;

use super::{entry, height, name};
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
    let peak = points.iter().find_map(|(row, _, gflops)| Some(gflops / row.of_peak?));
    let memory = gpu.map(|gpu| f64::from(gpu.rates.l1_bytes * gpu.sms) * gpu.boost_hz / 1e9);
    let bound = points.iter().any(|(row, _, _)| row.ms_is == Kind::Bound);
    let what = if bound { "roofline, rates at most by counted work" } else { "roofline" };
    let mut svg = Svg::new(1050.0, height(TOP, points.len()), &format!("{what}, {}, {place}", rows[0].dtype));

    let knee = peak.zip(memory).map(|(peak, memory)| peak / memory);
    let x = Axis::over(points.iter().map(|p| p.1).chain(knee.map(|knee| 2.0 * knee)), LEFT, RIGHT);
    let y = Axis::over(points.iter().map(|p| p.2).chain(peak.map(|peak| 1.05 * peak)), BOTTOM, TOP);
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
    roofs(&mut svg, &x, &y, peak, memory);
    for (index, (row, intensity, gflops)) in points.iter().enumerate() {
        let label = format!("{} {}: {} GFLOP/s", name(row), row.shape(), number(*gflops));
        svg.dot((x.at(*intensity), y.at(*gflops)), &series(index), &label);
        entry(&mut svg, (RIGHT + 24.0, TOP), index, row);
    }
    svg.finish()
}

/// The peak, and the slope that the bandwidth of all L1 caches gives: every sector passes one of them.
fn roofs(svg: &mut Svg, x: &Axis, y: &Axis, peak: Option<f64>, memory: Option<f64>) {
    let Some(peak) = peak else { return };
    svg.line((LEFT, y.at(peak)), (RIGHT, y.at(peak)), "mark");
    svg.text(LEFT + 6.0, y.at(peak) - 5.0, &format!("peak {} GFLOP/s", number(peak)), "small", Anchor::Start);
    let Some(memory) = memory else { return };
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
