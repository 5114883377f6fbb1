//! The work of a launch, without running all of it: counted on the emulator on a tile of C, or a round of them, and extended.

use device::Device;
use emulator::Report;
use gemm::check::Check;
use gemm::facts::{Extras, Facts};
use gemm::kernel::Kernel;
use gemm::level::Tile;
use gemm::problem::Fill;
use gemm::{Build, Dtype, Error, Shape};

/// Steps along K of the two launches that are counted: enough for every part of a split K, and for a pipeline to fill.
const STEPS: [u32; 2] = [16, 32];

/// What tiles of C cost, for two lengths of K. Every tile costs as much, and each step along K as much as the last. Where the
/// blocks of a round that is not full share its tiles, what they do for each other's sums is left out.
#[derive(Debug)]
pub struct Work {
    tile: Tile,
    /// The tiles that were counted, side by side.
    tiles: u32,
    counted: [Report; 2],
}

impl Work {
    /// Runs the kernel on the emulator with all checks on. `Err` also holds a wrong product.
    pub fn of(build: &Build, kernel: &Kernel, extras: Extras) -> Result<Work, Error> {
        // Of a full round, no tile is shared.
        let (tile, tiles) = (build.tile(), build.round());
        let count = |steps: u32| {
            let shape = Shape { m: tile.m, n: tiles * tile.n, k: steps * tile.k };
            let plan = build.plan(shape)?;
            let problem = plan.problem(Fill::Reals, 1)?;
            let task = plan.task(kernel);
            let ran = Device::Emulator.launch(&task, &problem, extras)?;
            let check = Check::of(&problem, Fill::Reals, &ran.c, task.method());
            match ran.facts {
                Facts::Emulator(report) if check.right => Ok(*report),
                _ => Err(Error::Fault(format!("wrong in {} of {} elements of {shape}", check.wrong, check.elements))),
            }
        };
        Ok(Work { tile, tiles, counted: [count(STEPS[0])?, count(STEPS[1])?] })
    }

    /// The work of a whole problem. Where tiles stand over its edges they count as whole ones: multiply-adds and shared memory
    /// are then exact, and global memory is somewhat less.
    pub fn at(&self, build: &Build, shape: &Shape) -> Report {
        let Shape { m, n, k } = *shape;
        let launch = build.launch(shape);
        let times = launch.tiles(shape) as f64 / f64::from(self.tiles);
        let beyond = (f64::from(k.div_ceil(self.tile.k)) - f64::from(STEPS[0])) / f64::from(STEPS[1] - STEPS[0]);
        let extended = |short: u64, long: u64| {
            let (short, long) = (short as f64, long as f64);
            (times * (short + (long - short) * beyond)).max(0.0).round() as u64
        };
        let [short, long] = &self.counted;
        let elements = |rows: u32, columns: u32| u64::from(rows) * u64::from(columns);
        let mut report = Report::new(launch.grid, launch.block, short.total.zip(&long.total, extended));
        report.shared_bytes = short.shared_bytes;
        report.cluster = short.cluster;
        let Dtype { input, output, .. } = build.configuration.dtype;
        let inputs = (elements(m, k) + elements(k, n)) * input.bytes() as u64;
        report.footprint_bytes = inputs + elements(m, n) * output.bytes() as u64;
        report
    }

    /// Bytes of shared memory of a block, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        self.counted[0].shared_bytes
    }

    /// The shapes that were counted, in words.
    pub fn counted_at(&self) -> String {
        let Tile { m, n, k } = self.tile;
        let (n, [short, long]) = (self.tiles * n, STEPS.map(|steps| steps * k));
        format!("{m}×{n}×{short} and {m}×{n}×{long}")
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use device::nvrtc;
    use emulator::Class;
    use gemm::problem::Problem;
    use levels::{LEVELS, builds};

    /// All that a bound is made from.
    fn charged(report: &Report) -> Vec<u64> {
        let total = &report.total;
        let (load, store) = (&total.shared_load, &total.shared_store);
        let classes = [Class::FmaF32, Class::FmaF64, Class::SharedLoad, Class::SharedStore];
        let mut charged: Vec<u64> = classes.iter().map(|&class| total.class(class).warp).collect();
        charged.extend([total.global_load, total.global_store].iter().flat_map(|c| [c.requests, c.sectors]));
        charged.extend([load, store].iter().flat_map(|c| [c.requests, c.wavefronts, c.bytes, c.unique_bytes]));
        charged.extend([total.barriers, report.grid.count()]);
        charged
    }

    #[test]
    fn extended_counts_are_those_of_the_whole_problem() {
        let extras = Extras::new(false, true);
        // Not of levels for thin products, which are not tuned: they read by vectors or not as M and N are 1 or more.
        for build in builds(&LEVELS, Dtype::F32, true).unwrap().into_iter().filter(|b| b.level.needs.thin.is_none()) {
            let kernel = Kernel::obtain(&build, 90, nvrtc::nowhere).unwrap();
            let work = Work::of(&build, &kernel, extras).unwrap();
            let Tile { m, n, .. } = work.tile;
            let shape = match work.tiles {
                1 => Shape { m: 2 * m, n: 3 * n, k: 512.max(16 * work.tile.k) },
                round => Shape { m: 2 * m, n: round / 2 * n, k: 512 },
            };
            let problem = Problem::new(shape, Dtype::F32, Fill::Reals, 1).unwrap();
            let plan = build.plan(shape).unwrap();
            let ran = Device::Emulator.launch(&plan.task(&kernel), &problem, extras);
            let Facts::Emulator(whole) = ran.unwrap().facts else { panic!() };
            let extended = work.at(&build, &shape);
            assert_eq!(charged(&extended), charged(&whole), "{build}");
            // A kernel with memory of its own, for sums that are left to other blocks or for what is prepared, touches more than A, B and C.
            let own = build.split() > 1 || build.level.needs.preparation.is_some();
            assert_eq!(extended.footprint_bytes < whole.footprint_bytes, own, "{build}");
            assert!(extended.footprint_bytes <= whole.footprint_bytes, "{build}");
        }
    }
}
