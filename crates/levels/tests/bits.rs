//! The emulator's C has the card's bits, of the levels that make numbers of narrower ones: what their sums are, their errors follow from.

use device::nvrtc::nowhere;
use gemm::facts::Extras;
use gemm::kernel::Kernel;
use gemm::problem::Fill;
use gemm::{Build, Shape};
use level_tests::{Device, awkward_shapes, gpu};
use levels::LEVELS;

/// Shapes of each level: less than a tile, whole tiles, and ragged ones.
const SHAPES: usize = 10;

/// Of the levels' default tile sizes, and of the last that are shipped.
fn builds() -> impl Iterator<Item = Build> {
    let levels = LEVELS.into_iter().filter(|level| level.number().is_some_and(|number| (21..=23).contains(&number)));
    levels.flat_map(|level| {
        let mut shipped = level.shipped_builds();
        let last = shipped.pop();
        [shipped.swap_remove(0)].into_iter().chain(last)
    })
}

#[test]
fn ten_shapes_have_the_same_bits_on_a_gpu() {
    assert_eq!(builds().count(), 6);
    let Some(gpu) = gpu() else { return };
    for build in builds() {
        let shapes = awkward_shapes(&build);
        let is_ragged =
            |shape: &&Shape| !shape.m.is_multiple_of(build.tile().m) && !shape.n.is_multiple_of(build.tile().n);
        assert!(shapes[..SHAPES].iter().filter(is_ragged).count() >= 5, "{build}");
        for (seed, &shape) in shapes[..SHAPES].iter().enumerate() {
            let kernel = Kernel::obtain(&build, 90, nowhere).unwrap();
            let plan = build.plan(shape).unwrap();
            let problem = plan.problem(Fill::Reals, seed as u64).unwrap();
            let product =
                |device: &Device| device.launch(&plan.task(&kernel), &problem, Extras::new(false, false)).unwrap().c;
            let [here, there] = [&Device::Emulator, &gpu].map(product);
            let first =
                here.first_difference(&there).map(|(row, col)| (row, col, here.at(row, col), there.at(row, col)));
            assert_eq!(first, None, "{build}, {shape}: an element, on the emulator and on the GPU");
        }
    }
}
