//! A product must not depend on which thread block, or warp, runs first.

use emulator::Schedule;

use super::awkward_shapes;
use common::device::{Device, Extras};
use common::kernel::{Kernel, nvrtc};
use gemm::Build;
use gemm::problem::{Fill, Problem};
use gemm::{Level, Shape};

/// Every shipped configuration gives the same bits in every order of blocks and warps, on
/// the awkward shapes of three steps along K and a little more. There, blocks that share a tile have sums to add, in pairs
/// and more; deeper shapes are left out for time.
pub fn order_of_blocks_changes_nothing(level: &'static Level) -> Result<(), String> {
    for build in level.shipped_builds() {
        let kernel = Kernel::obtain(&build, 90, nvrtc::find).map_err(|e| e.to_string())?;
        let step = build.tile().k;
        for shape in awkward_shapes(&build) {
            if !(3 * step..=3 * step + 1).contains(&shape.k) {
                continue;
            }
            is_same(&build, &kernel, shape).map_err(|what| format!("{build}, {shape}: {what}"))?;
        }
    }
    Ok(())
}

/// Reals, of which a sum in another order has other bits.
fn is_same(build: &Build, kernel: &Kernel, shape: Shape) -> Result<(), String> {
    let problem = Problem::new(shape, build.configuration.dtype, Fill::Reals, 1).map_err(|e| e.to_string())?;
    let plan = build.plan(shape).map_err(|e| e.to_string())?;
    let task = plan.task(kernel);
    let product = |schedule| {
        let extras = Extras { schedule, ..Extras::new(false, true) };
        let ran = Device::Emulator.launch(&task, &problem, extras);
        ran.map(|outcome| outcome.c).map_err(|e| format!("{schedule}: {e}"))
    };
    let first = product(Schedule::FirstFirst)?;
    for schedule in Schedule::ALL.into_iter().filter(|other| *other != Schedule::FirstFirst) {
        let other = product(schedule)?;
        if let Some((row, column)) = first.first_difference(&other) {
            let [one, other] = [&first, &other].map(|product| product.at(row, column));
            let usual = Schedule::FirstFirst;
            return Err(format!("element ({row}, {column}) is {one} with {usual}, and {other} with {schedule}"));
        }
    }
    Ok(())
}
