//! Grid, block, and what a block seems to work on; the work that this explains.

use emulator::Counters;
use gemm::{Dim3, Error, LaunchShape, Shape, Tile};

use super::Try;
use crate::expression::{evaluate, parts};

/// Rows of a tile that are tried at most: a grid that is the same up to there does not depend on the size.
const MOST_ROWS: u32 = 1024;
/// A step along K that is taken for usual: sums may run to its end.
const STEP: u32 = 64;
/// Operations for each element of C beside its products: factors, and the like.
const BESIDE: f64 = 8.0;

/// Grid and block, and the part of C that one block seems to work on.
pub fn launch(attempt: &Try, shape: &Shape) -> Result<LaunchShape, Error> {
    let (own, block) = (grid(attempt, shape)?, block(attempt, shape)?);
    // A block's rows are those from one growth of the grid to the next. A grid of no blocks counts as one that may grow.
    let rows = |size: &dyn Fn(u32) -> Shape| {
        let grid = |rows| grid(attempt, &size(rows)).map(Dim3::count).unwrap_or(0);
        let mut growths = (2..=MOST_ROWS).filter(|&rows| grid(rows) != grid(rows - 1));
        match (growths.next(), growths.next()) {
            (Some(first), Some(second)) => second - first,
            (Some(first), None) => first - 1,
            (None, _) => MOST_ROWS,
        }
    };
    let m = rows(&|m| Shape { m, ..*shape });
    let n = rows(&|n| Shape { n, ..*shape });
    let (m, n) = if attempt.layout.turns_c() { (n, m) } else { (m, n) };
    Ok(LaunchShape { grid: own, block, tile: Tile { m, n, k: block.x } })
}

pub fn grid(attempt: &Try, shape: &Shape) -> Result<Dim3, Error> {
    match &attempt.planned {
        Some(planned) if planned.parts[0] => planned.grid(shape),
        _ => extents("--grid", &attempt.grid, shape),
    }
}

fn block(attempt: &Try, shape: &Shape) -> Result<Dim3, Error> {
    match &attempt.planned {
        Some(planned) if planned.parts[1] => planned.block(shape),
        _ => extents("--block", &attempt.block, shape),
    }
}

fn extents(flag: &str, text: &str, shape: &Shape) -> Result<Dim3, Error> {
    let parts = parts(text);
    if parts.len() > 3 {
        return Err(Error::usage(format!("{flag} has {} extents, and there are 3 at most", parts.len()), "x, y and z"));
    }
    let mut extents = [1; 3];
    for (extent, part) in extents.iter_mut().zip(parts) {
        let value = evaluate(part, shape)?;
        *extent = u32::try_from(value).ok().filter(|&value| value > 0).ok_or_else(|| {
            Error::usage(format!("{flag}: `{part}` is {value} for {shape}"), "an extent is from 1 to 4294967295")
        })?;
    }
    let [x, y, z] = extents;
    Ok(Dim3 { x, y, z })
}

/// The counted operations in relation to the 2·M·N·K of the product: where they are more than tiles' edges explain, and of a wrong
/// product where they are fewer.
pub fn of_product(counted: &Counters, shape: &Shape, tile: &Tile, right: bool) -> Option<f64> {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(f64::from);
    let whole = |size: u32, tile: u32| if tile >= MOST_ROWS { size } else { size.next_multiple_of(tile) };
    let [whole_m, whole_n, whole_k] =
        [whole(shape.m, tile.m), whole(shape.n, tile.n), shape.k.next_multiple_of(STEP)].map(f64::from);
    let (needed, done) = (2.0 * m * n * k, counted.flops() as f64);
    let explained = whole_m * whole_n * (2.0 * whole_k + BESIDE);
    // The first of K products is not added to anything.
    let least = 0.95 * m * n * (2.0 * k - 1.0);
    (done > 1.1 * explained || !right && done < least).then_some(done / needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_named_where_edges_do_not_explain_it() {
        let of = |flops: u64, size: u32, tile: u32, right: bool| {
            let shape = Shape { m: size, n: size, k: size };
            let mut counted = Counters::default();
            counted.flops_f32 = flops;
            of_product(&counted, &shape, &Tile { m: tile, n: tile, k: 1 }, right)
        };
        assert_eq!(of(2 * 64 * 64 * 64, 64, 16, true), None);
        assert_eq!(of(8 * 64 * 64 * 64, 64, 16, true), Some(4.0));
        assert_eq!(of(8 * 64 * 64 * 64, 64, MOST_ROWS, true), Some(4.0), "the grid is the same for all sizes");
        assert_eq!(of(2 * 128 * 128 * 128, 65, 64, true), None, "tiles stand over the edges");
        assert_eq!(of(64 * 64 * 64, 64, 16, true), None, "a product may take fewer");
        assert_eq!(of(64 * 64 * 64, 64, 16, false), Some(0.5));
    }
}
