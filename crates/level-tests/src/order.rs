//! A product must not depend on which thread block, or warp, runs first.

use emulator::Schedule;
use rayon::prelude::*;

use super::awkward::{awkward_shapes, kind};
use super::deep::{deep, with_each};
use device::{Device, nvrtc};
use gemm::facts::Extras;
use gemm::kernel::Kernel;
use gemm::problem::Fill;
use gemm::{Build, Level, Shape};

/// Every shipped configuration gives the same bits in every order of blocks and warps, on
/// the awkward shapes of three steps along K and a little more. There, blocks that share a tile have sums to add, in pairs
/// and more; deeper shapes are left out for time. Builds of a kind have one order of one such shape each, or more, until every order of
/// every shape has had its turn; with `DEEP=1` each build has each shape and each order besides.
pub fn order_of_blocks_changes_nothing(level: &'static Level) -> Result<(), String> {
    let builds = level.shipped_builds();
    builds.par_iter().enumerate().try_for_each(|(number, build)| {
        let alike: Vec<usize> = (0..builds.len()).filter(|&other| kind(&builds[other]) == kind(build)).collect();
        let place = alike.iter().take_while(|&&other| other != number).count();
        let kernel = Kernel::obtain(build, 90, nvrtc::find).map_err(|e| e.to_string())?;
        let all = all(build);
        let turns = turns(&all, place, alike.len());
        let runs = if deep() { with_each(&all, turns) } else { turns };
        if runs.is_empty() {
            return Err(format!("{build}: no shape has three steps along K"));
        }
        let mut shapes: Vec<Shape> = runs.iter().map(|(shape, _)| *shape).collect();
        shapes.sort_by_key(|shape| (shape.m, shape.n, shape.k));
        shapes.dedup();
        shapes.iter().try_for_each(|shape| {
            let others: Vec<Schedule> = runs.iter().filter(|(of, _)| of == shape).map(|(_, other)| *other).collect();
            is_same(build, &kernel, *shape, &others).map_err(|what| format!("{build}, {shape}: {what}"))
        })
    })
}

/// Each shape with each order that is not the usual one.
fn all(build: &Build) -> Vec<(Shape, Schedule)> {
    let step = build.tile().k;
    let mut shapes = awkward_shapes(build);
    shapes.retain(|shape| (3 * step..=3 * step + 1).contains(&shape.k));
    let others = || Schedule::ALL.into_iter().filter(|other| *other != Schedule::FirstFirst);
    shapes.into_iter().flat_map(|shape| others().map(move |other| (shape, other))).collect()
}

/// The part of a list that is for one of so many, where all of them together have the whole list, and none has nothing.
fn turns<T: Copy>(all: &[T], place: usize, of: usize) -> Vec<T> {
    let turns = (0..all.len().max(of)).filter(|turn| turn % of == place);
    turns.filter(|_| !all.is_empty()).map(|turn| all[turn % all.len()]).collect()
}

/// Reals, of which a sum in another order has other bits.
fn is_same(build: &Build, kernel: &Kernel, shape: Shape, others: &[Schedule]) -> Result<(), String> {
    let plan = build.plan(shape).map_err(|e| e.to_string())?;
    let problem = plan.problem(Fill::Reals, 1).map_err(|e| e.to_string())?;
    let task = plan.task(kernel);
    let product = |schedule| {
        let extras = Extras { schedule, ..Extras::new(false, true) };
        let ran = Device::Emulator.launch(&task, &problem, extras);
        ran.map(|outcome| outcome.c).map_err(|e| format!("{schedule}: {e}"))
    };
    let first = product(Schedule::FirstFirst)?;
    for &schedule in others {
        let other = product(schedule)?;
        if let Some((row, column)) = first.first_difference(&other) {
            let [one, other] = [&first, &other].map(|product| product.at(row, column));
            let usual = Schedule::FirstFirst;
            return Err(format!("element ({row}, {column}) is {one} with {usual}, and {other} with {schedule}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn together_they_have_the_whole_list_and_none_has_nothing() {
        for (all, of) in [(4, 1), (4, 3), (4, 6), (2, 5)] {
            let list: Vec<usize> = (0..all).collect();
            let each: Vec<Vec<usize>> = (0..of).map(|place| turns(&list, place, of)).collect();
            assert!(each.iter().all(|part| !part.is_empty()), "{each:?}");
            assert!(list.iter().all(|one| each.iter().any(|part| part.contains(one))), "{each:?}");
        }
        assert!(turns::<usize>(&[], 0, 2).is_empty());
    }
}
