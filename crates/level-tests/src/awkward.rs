//! Shapes that kernels get wrong, and which build runs which of them.

use gemm::{Build, Dtype, Level, Shape};
use rayon::prelude::*;

use super::{Device, deep, is_exact, mutations};

/// Shapes that are awkward for every tile.
const USUAL: usize = 13;

/// Shapes that kernels get wrong, for a build's tile, and its own.
pub fn awkward_shapes(build: &Build) -> Vec<Shape> {
    let tile = build.tile();
    let (tm, tn, tk) = (tile.m, tile.n, tile.k);
    let shapes: [_; USUAL] = [
        (1, 1, 1),
        (13, 31, 7),                  // primes
        (tm, tn, tk),                 // one whole tile
        (tm + 1, tn + 1, tk + 1),     // one beyond: two steps along K, the second with one column
        (tm - 1, tn - 1, 2 * tk - 1), // one short
        (tm + 1, tn - 1, 2 * tk),     // an even number of steps
        (tm - 1, tn + 1, 3 * tk),     // an odd number of steps
        (2 * tm, tn, 3 * tk + 1),
        (33, 65, 1), // a single product
        (1, 200, 17),
        (200, 1, 17),
        (1, 1, 257),
        (9 * tm + 1, 15 * tn, 3), // more rows of tiles than a band of blocks has, and more tiles than split sums have room for
    ];
    let shape = |(m, n, k): (u32, u32, u32)| Shape { m: m.max(1), n: n.max(1), k };
    let own = (build.level.needs.awkward)(&build.configuration.tiles, &tile);
    shapes.into_iter().map(shape).chain(own).collect()
}

/// How a shape ends in a build's tiles, and whether it is one of the level's own.
fn edges(build: &Build, (number, shape): (usize, &Shape)) -> Vec<&'static str> {
    let tile = build.tile();
    let steps = shape.k.div_ceil(tile.k);
    let extent = |size: u32, tile: u32, [less, whole, more]: [&'static str; 3]| match size {
        size if size.is_multiple_of(tile) => whole,
        size if size < tile => less,
        _ => more,
    };
    let mut edges = vec![
        extent(shape.m, tile.m, ["few rows", "rows of whole tiles", "rows beyond a tile"]),
        extent(shape.n, tile.n, ["few columns", "columns of whole tiles", "columns beyond a tile"]),
        extent(shape.k, tile.k, ["less than a step", "whole steps", "a part of a step at the end"]),
        match steps {
            1 => "one step",
            steps if steps.is_multiple_of(2) => "an even number of steps",
            _ => "an odd number of steps",
        },
    ];
    if number >= USUAL {
        edges.push("one of its own");
    }
    edges
}

/// Products that a build makes for a shape: its tiles are whole.
pub fn work(build: &Build, shape: &Shape) -> u64 {
    let tile = build.tile();
    let whole = |size: u32, tile: u32| u64::from(size.next_multiple_of(tile));
    whole(shape.m, tile.m) * whole(shape.n, tile.n) * (whole(shape.k, tile.k) + u64::from(tile.k))
}

/// Variant and types: builds of a kind differ in their tile sizes.
pub fn kind(build: &Build) -> (&'static str, Dtype) {
    (build.configuration.variant, build.configuration.dtype)
}

/// Whether a shape takes the emulator so long that one build runs it for all.
pub fn is_long(shape: &Shape) -> bool {
    let elements = u64::from(shape.m) * u64::from(shape.n);
    elements > 1 << 18 || elements * u64::from(shape.k) > 1 << 25
}

/// The build among those for which `alike` holds that runs the awkward shape of this number: those to which it is not long take turns;
/// where it is long to all, it is for the one to which it is the least work.
fn runner(builds: &[Build], number: usize, alike: impl Fn(&Build) -> bool) -> Option<usize> {
    let shape = |build: &Build| awkward_shapes(build).get(number).copied();
    let have: Vec<(usize, Shape)> =
        (0..builds.len()).filter(|&at| alike(&builds[at])).filter_map(|at| Some((at, shape(&builds[at])?))).collect();
    let short: Vec<usize> = have.iter().filter(|(_, shape)| !is_long(shape)).map(|(at, _)| *at).collect();
    match short.is_empty() {
        false => Some(short[number % short.len()]),
        true => have.iter().min_by_key(|(at, shape)| work(&builds[*at], shape)).map(|(at, _)| *at),
    }
}

/// Which of a level's builds run which of their awkward shapes. Of each kind, one build or another runs each shape, or `every` build does;
/// a long one is for one build of each kind of mutants, which is a variant and, but where tensor maps say where matrices lie, a type. And
/// each build runs shapes with every edge that its own have, the smallest that have it, but for long ones.
fn chosen(builds: &[Build], every: bool) -> Vec<(&Build, Vec<Shape>)> {
    let run = builds.iter().enumerate().map(|(at, build)| {
        let shapes = awkward_shapes(build);
        let is_its_turn = |number: usize| {
            let of_kind = runner(builds, number, |other| kind(other) == kind(build));
            let of_mutants = runner(builds, number, |other| mutations::kind(other) == mutations::kind(build));
            if is_long(&shapes[number]) { of_mutants == Some(at) } else { every || of_kind == Some(at) }
        };
        let mut run: Vec<usize> = (0..shapes.len()).filter(|&number| is_its_turn(number)).collect();
        let mut by_work: Vec<usize> = (0..shapes.len()).filter(|&number| !is_long(&shapes[number])).collect();
        by_work.sort_by_key(|&number| work(build, &shapes[number]));
        for number in by_work {
            let has = |edge| run.iter().any(|&other| edges(build, (other, &shapes[other])).contains(edge));
            if !edges(build, (number, &shapes[number])).iter().all(has) {
                run.push(number);
            }
        }
        run.sort();
        (build, run.into_iter().map(|number| shapes[number]).collect())
    });
    run.collect()
}

/// Every kind of build runs every awkward shape, a long one perhaps in another type, and every build one with each edge.
fn nothing_is_left_out(runs: &[(&Build, Vec<Shape>)]) -> Result<(), String> {
    for (build, shapes) in runs {
        let all = awkward_shapes(build);
        let ran = |build: &Build, number: usize, shapes: &[Shape]| {
            awkward_shapes(build).get(number).is_some_and(|shape| shapes.contains(shape))
        };
        for (number, shape) in all.iter().enumerate() {
            let is_alike = |other: &Build| match is_long(shape) {
                true => mutations::kind(other) == mutations::kind(build),
                false => kind(other) == kind(build),
            };
            if !runs.iter().any(|(other, shapes)| is_alike(other) && ran(other, number, shapes)) {
                return Err(format!("no build like {build} runs a shape like {shape}"));
            }
            let missing = edges(build, (number, shape)).into_iter().find(|edge| {
                let has = |other: usize| ran(build, other, shapes) && edges(build, (other, &all[other])).contains(edge);
                !is_long(shape) && !(0..all.len()).any(has)
            });
            if let Some(edge) = missing {
                return Err(format!("{build} runs no shape with {edge}"));
            }
        }
    }
    Ok(())
}

/// Every shipped configuration is exact on awkward shapes. On the emulator one build of a kind runs a long one: all of them are many tiles
/// alike. Of the others a build runs a part there, and all with `DEEP=1`.
pub fn every_awkward_shape_is_exact(level: &'static Level, device: &Device) -> Result<(), String> {
    let builds = level.shipped_builds();
    let runs = match device {
        Device::Emulator => chosen(&builds, deep()),
        Device::Cuda(_) => builds.iter().map(|build| (build, awkward_shapes(build))).collect(),
    };
    nothing_is_left_out(&runs)?;
    match device {
        // Side by side: a launch of one block keeps one core busy.
        Device::Emulator => runs.par_iter().try_for_each(|(build, shapes)| {
            shapes.par_iter().try_for_each(|shape| is_exact(&Device::Emulator, build, *shape))
        }),
        Device::Cuda(_) => runs
            .iter()
            .try_for_each(|(build, shapes)| shapes.iter().try_for_each(|shape| is_exact(device, build, *shape))),
    }
}
