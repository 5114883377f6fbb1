//! Size against GFLOP/s, one line a kernel, and where cuBLAS overtakes the best of the levels.

use super::{entry, height, name, names};
use crate::row::{Kind, Row};
use crate::svg::{Anchor, Axis, Svg, series};
use crate::table::number;

const LEFT: f64 = 76.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 380.0;

pub(super) fn draw(rows: &[&Row], place: &str) -> String {
    let bound = rows.iter().any(|row| row.ms_is == Kind::Bound);
    let what = if bound { "at most GFLOP/s, by counted work" } else { "GFLOP/s" };
    let names = names(rows);
    let mut svg = Svg::new(1050.0, height(TOP, names.len()), &format!("{what}, {}, {place}", rows[0].dtype));
    let x = Axis::over(rows.iter().map(|row| size(row)), LEFT, RIGHT);
    let y = Axis::over(rows.iter().filter_map(|row| row.gflops), BOTTOM, TOP);
    axes(&mut svg, &x, &y);
    for (index, kernel) in names.iter().enumerate() {
        let mine: Vec<&&Row> = rows.iter().filter(|row| name(row) == *kernel).collect();
        let points: Vec<(f64, f64)> =
            mine.iter().filter_map(|row| Some((x.at(size(row)), y.at(row.gflops?)))).collect();
        svg.polyline(&points, &format!("{} line", series(index)));
        for (point, row) in points.iter().zip(&mine) {
            let rate = row.gflops.map(number).unwrap_or_default();
            svg.dot(*point, &series(index), &format!("{kernel}, {}: {rate} GFLOP/s", row.shape()));
        }
        entry(&mut svg, (RIGHT + 24.0, TOP), index, mine[0]);
    }
    mark_crossover(&mut svg, rows, &x);
    svg.finish()
}

/// The cube root of M·N·K: the size of the square problem with as much work.
fn size(row: &Row) -> f64 {
    (f64::from(row.m) * f64::from(row.n) * f64::from(row.k)).cbrt()
}

fn axes(svg: &mut Svg, x: &Axis, y: &Axis) {
    for tick in x.ticks() {
        svg.line((x.at(tick), TOP), (x.at(tick), BOTTOM), "grid");
        svg.text(x.at(tick), BOTTOM + 18.0, &format!("{tick}"), "small", Anchor::Middle);
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
        "size: M = N = K, or the cube root of M·N·K",
        "small",
        Anchor::Middle,
    );
}

/// A dashed line where the best of the levels and cuBLAS are equally fast, between two sizes of which each wins one.
fn mark_crossover(svg: &mut Svg, rows: &[&Row], x: &Axis) {
    for (index, size) in crossovers(rows).into_iter().enumerate() {
        let y = BOTTOM - 8.0 - 14.0 * index as f64;
        svg.line((x.at(size), TOP), (x.at(size), BOTTOM), "mark");
        svg.text(x.at(size) + 4.0, y, &format!("crossover at about {size:.0}"), "small", Anchor::Start);
    }
}

/// Sizes where the lead changes, the rates taken as straight lines between points on the logarithmic axes.
pub(super) fn crossovers(rows: &[&Row]) -> Vec<f64> {
    let mut sizes: Vec<f64> = rows.iter().map(|row| size(row)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let lead = |wanted: f64| {
        let here = |row: &&&Row| size(row) == wanted && row.ms_is == Kind::Measured;
        let best = |vendor: bool| {
            let rates = rows.iter().filter(here).filter(|row| row.is_vendor() == vendor);
            rates.filter_map(|row| row.gflops).reduce(f64::max)
        };
        Some((wanted.log2(), (best(false)? / best(true)?).log2()))
    };
    let leads: Vec<(f64, f64)> = sizes.into_iter().filter_map(lead).collect();
    let pairs = leads.windows(2).filter(|pair| pair[0].1.signum() != pair[1].1.signum());
    pairs.map(|pair| (pair[0].0 + (pair[1].0 - pair[0].0) * pair[0].1 / (pair[0].1 - pair[1].1)).exp2()).collect()
}

#[cfg(test)]
mod tests {
    use gemm::{Dtype, Shape};

    use super::*;

    fn row(kernel: &str, size: u32, gflops: f64) -> Row {
        let shape = Shape { m: size, n: size, k: size };
        let mut row = Row::new(kernel.into(), String::new(), Dtype::F32, shape, Kind::Measured);
        (row.gflops, row.verdict) = (Some(gflops), "right".into());
        row
    }

    #[test]
    fn the_crossover_lies_where_both_are_equally_fast() {
        let rows = [row("a", 128, 40.0), row("cuBLAS", 128, 20.0), row("a", 512, 50.0), row("cuBLAS", 512, 100.0)];
        let rows: Vec<&Row> = rows.iter().collect();
        let found = crossovers(&rows);
        assert_eq!(found.len(), 1);
        assert!((found[0] - 256.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn there_is_none_without_a_change_of_the_lead() {
        let rows = [row("a", 128, 10.0), row("cuBLAS", 128, 20.0), row("a", 512, 50.0), row("cuBLAS", 512, 100.0)];
        assert!(crossovers(&rows.iter().collect::<Vec<_>>()).is_empty());
        assert!(crossovers(&[&row("a", 128, 10.0)]).is_empty());
    }
}
