//! The order in which what is left is measured: by what the counts say of the time, for one shape.

use emulator::Report;
use emulator::bound::{Assumptions, Bound, SM_PORT, bound};
use emulator::gpu::Gpu;
use gemm::{Plan, Shape};

use super::prune::Survivor;

/// Clocks for which a step along K keeps a block waiting, for its loads and at its barriers: some hundreds.
const LATENCY: f64 = 800.0;

/// A candidate at a shape.
pub struct Ranked<'a> {
    pub survivor: &'a Survivor,
    /// The work of the whole problem.
    pub work: Report,
    /// The least time that it needs.
    pub bound: Bound,
    /// Its place among the level's candidates, from 1.
    pub rank: usize,
}

/// The candidates that can do the shape, the most promising first: the best `keep`, and of the level's own variant those that
/// are shipped, since one of them is what is used today.
pub fn ranked<'a>(survivors: &'a [Survivor], shape: &Shape, gpu: &Gpu, keep: usize) -> Vec<Ranked<'a>> {
    let mut ranked = Vec::new();
    for survivor in survivors {
        let Ok(Plan { launch, .. }) = survivor.build.plan(*shape) else { continue };
        let work = survivor.work.at(&survivor.build, shape);
        // Along K, the blocks of a tile share the steps.
        let steps =
            f64::from(shape.k.div_ceil(launch.tile.k)) * launch.tiles(shape) as f64 / launch.grid.count() as f64;
        let least = |equal_blocks| bound(&work, gpu, Assumptions { equal_blocks, cold_l2: false });
        let promise = promise(survivor, &work, &least(true), steps, gpu) + gathering(survivor, shape, gpu);
        let bound = least(launch.has_equal_blocks(shape));
        ranked.push((promise, Ranked { survivor, work, bound, rank: 0 }));
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranked: Vec<Ranked> = ranked.into_iter().map(|(_, ranked)| ranked).collect();
    (1..).zip(&mut ranked).for_each(|(rank, ranked)| ranked.rank = rank);
    ranked.retain(|ranked| ranked.rank <= keep || ranked.is_own());
    ranked
}

impl Ranked<'_> {
    /// Whether it is shipped, in the level's first variant.
    pub fn is_own(&self) -> bool {
        self.survivor.build.is_first_variant() && self.survivor.build.is_shipped()
    }
}

/// Seconds, if nothing overlapped: each unit's time after the other, and a wait for memory at each step along K, which blocks
/// that live on one SM at a time share: `steps` of a block. Only the order of these numbers is used; nobody is shown one.
fn promise(survivor: &Survivor, work: &Report, bound: &Bound, steps: f64, gpu: &Gpu) -> f64 {
    let busy: f64 = bound.units.iter().map(|unit| unit.seconds).sum();
    let resident = u64::from(survivor.occupancy.blocks_per_sm);
    let rounds = work.grid.count().div_ceil(gpu.sms.into()).div_ceil(resident);
    busy + rounds as f64 * steps * LATENCY / gpu.boost_hz
}

/// Seconds in which the last block of a tile that others share with it reads all their sums, and no other block helps it.
fn gathering(survivor: &Survivor, shape: &Shape, gpu: &Gpu) -> f64 {
    let launch = survivor.build.launch(shape);
    let all = launch.tiles(shape);
    let parts = match u64::from(survivor.build.round()) {
        1 => u64::from(survivor.build.split()),
        round => {
            // Of the last round; each of its blocks but the first has the end of a tile, and each tile begins in one.
            let (shared, steps) = (all % round, u64::from(shape.k.div_ceil(launch.tile.k)));
            let share = (shared * steps).div_ceil(round).max(1);
            ((shared * steps).div_ceil(share) + shared).saturating_sub(1).checked_div(shared).unwrap_or(1)
        }
    };
    let bytes =
        parts * u64::from(launch.tile.m * launch.tile.n) * survivor.build.configuration.dtype.output.bytes() as u64;
    if parts > 1 { bytes as f64 / SM_PORT as f64 / gpu.boost_hz } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::prune::{Search, prune};
    use crate::tune::work::Work;
    use device::nvrtc;
    use emulator::bound::Unit;
    use emulator::gpu::H200;
    use gemm::dtype::Sum;
    use gemm::facts::Extras;
    use gemm::kernel::Kernel;
    use gemm::{Build, Dtype, Level};
    use indicatif::ProgressBar;
    use lab::bench::{peak, tensor_peak};
    use lab::record::Record;
    use lab::row::Row;
    use levels::{LEVELS, builds};

    fn survivors(level: &'static Level) -> Vec<Survivor> {
        let search = Search { gpu: &H200, find: nvrtc::nowhere, extras: Extras::new(false, true), until: None };
        let mut candidates = builds(&[level], Dtype::F32, true).unwrap();
        candidates.retain(Build::is_first_variant);
        prune(level, candidates, &search, &ProgressBar::hidden()).left
    }

    /// How many pairs of rows of one shape the ranks put in the measured order, and how many there are. What differs by less than
    /// the times' own spread is no pair.
    fn agreement(ranked: &[Ranked], measured: &[&Row]) -> (usize, usize) {
        let ms = |ranked: &Ranked| {
            let tiles = ranked.survivor.build.configuration.tiles.to_string();
            measured.iter().find(|row| row.tiles == tiles).and_then(|row| row.ms)
        };
        let times: Vec<f64> = ranked.iter().filter_map(ms).collect();
        let pairs = times.iter().enumerate().flat_map(|(i, a)| times[i + 1..].iter().map(move |b| b / a));
        let clear: Vec<f64> = pairs.filter(|ratio| !(0.95..1.05).contains(ratio)).collect();
        (clear.iter().filter(|ratio| **ratio > 1.0).count(), clear.len())
    }

    #[test]
    fn ranks_are_mostly_in_the_measured_order() {
        let text = include_str!("../../../../book/measurements/nvidia-h200.json");
        let record = Record::read(text).unwrap();
        // Level 0 has no tiles: what its blocks find in L1 no count tells. Level 18 is not tuned, nor what multiplies f32 by tensor cores.
        let by_fma = |level: &'static Level| {
            let build = level.default_build(Dtype::F32);
            level.dtypes().any(|dtype| dtype == Dtype::F32) && level.sum(&build.configuration) == Sum::Rounded
        };
        let is_tuned = |level: &&&'static Level| !level.space.is_empty() && by_fma(level);
        for &level in LEVELS[1..].iter().filter(is_tuned) {
            let survivors = survivors(level);
            let name = level.default_build(Dtype::F32).name();
            let of_level = record.rows.iter().filter(|row| row.dtype == Dtype::F32 && row.kernel == name);
            let mut shapes: Vec<Shape> = of_level.clone().map(Row::shape).collect();
            shapes.dedup();
            let (mut agreed, mut pairs) = (0, 0);
            for shape in shapes {
                let measured: Vec<&Row> = of_level.clone().filter(|row| row.shape() == shape).collect();
                let (more, all) = agreement(&ranked(&survivors, &shape, &H200, usize::MAX), &measured);
                (agreed, pairs) = (agreed + more, pairs + all);
            }
            assert!(pairs >= 10 && 4 * agreed >= 3 * pairs, "{}: {agreed} of {pairs}", level.name);
        }
    }

    #[test]
    fn nothing_that_an_h200_ran_was_faster_than_its_bound() {
        let text = include_str!("../../../../book/measurements/nvidia-h200.json");
        let record = Record::read(text).unwrap();
        let mut compared = 0;
        for level in LEVELS {
            for build in level.dtypes().flat_map(|dtype| builds(&[level], dtype, true).unwrap()) {
                let (name, tiles) = (build.name(), build.configuration.tiles.to_string());
                let is_its =
                    |row: &&Row| row.kernel == name && row.tiles == tiles && row.dtype == build.configuration.dtype;
                let rows: Vec<&Row> = record.rows.iter().filter(is_its).collect();
                // An open question: some rows of a split K are shorter than what is counted for their parts here, by shared memory.
                // And of a cluster the counts are of one tile, where the other blocks' tiles are outside: more than a whole problem has.
                if rows.is_empty() || build.split() > 1 || build.cluster().count() > 1 {
                    continue;
                }
                let kernel = Kernel::obtain(&build, 90, nvrtc::nowhere).unwrap();
                let work = Work::of(&build, &kernel, Extras::new(false, false)).unwrap();
                for row in rows {
                    let Some(ms) = row.min_ms else { continue };
                    let shape = row.shape();
                    let equal_blocks = build.launch(&shape).has_equal_blocks(&shape);
                    let mut least =
                        bound(&work.at(&build, &shape), &H200, Assumptions { equal_blocks, cold_l2: false });
                    // Another one: two SMs that had the card to themselves took up to 68 bytes a clock each by bulk copies.
                    if build.launch(&shape).grid.count() < 8 && matches!(least.bottleneck, Unit::Tma | Unit::L2) {
                        least.seconds *= 64.0 / 68.0;
                    }
                    assert!(least.seconds * 1e3 <= ms, "{name} {tiles} {shape}: {ms} ms, and at least {least:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 900, "{compared}");
        for row in record.rows.iter().filter(|row| row.is_vendor()) {
            let (peak, of_cores) = (peak(&H200, row.dtype), tensor_peak(&H200, row.dtype));
            let most = peak.into_iter().chain(of_cores).reduce(f64::max).unwrap();
            assert!(row.gflops.is_none_or(|gflops| gflops <= most), "{} {}: {:?}", row.kernel, row.dtype, row.gflops);
        }
    }

    #[test]
    fn a_split_k_is_no_grid_of_equal_blocks_and_its_blocks_have_fewer_steps() {
        let survivors = survivors(&levels::level9_split_k::LEVEL);
        let shape = Shape { m: 128, n: 192, k: 4096 };
        let ranked = ranked(&survivors, &shape, &H200, usize::MAX);
        let split = |ranked: &&Ranked| ranked.survivor.build.split() > 1;
        assert!(split(&&ranked[0]), "few tiles and a long K: the first one shares it out");
        for Ranked { survivor, work, bound, .. } in ranked.iter().filter(split) {
            let launch = survivor.build.launch(&shape);
            assert!(launch.grid.count() > launch.tiles(&shape) && !launch.has_equal_blocks(&shape));
            let reported = gemm::modelled::Modelled::of(&H200, &survivor.kernel, &shape, &launch, work).bound;
            assert_eq!(bound.seconds, reported.seconds, "what a report says of the same work");
        }
    }

    #[test]
    fn the_best_are_kept_and_what_is_shipped() {
        let mut survivors = survivors(LEVELS[1]);
        let shape = Shape { m: 1024, n: 1024, k: 1024 };
        let kept = |survivors: &[Survivor], keep| {
            let ranked = ranked(survivors, &shape, &H200, keep);
            ranked.iter().map(|ranked| ranked.rank).collect::<Vec<_>>()
        };
        assert_eq!(kept(&survivors, 1), [1, 2, 3], "all are shipped");
        for survivor in &mut survivors {
            survivor.build.configuration.tiles.0[0].1 += 1;
        }
        assert_eq!(kept(&survivors, 2), [1, 2], "none is");
        let tall = Shape { m: 3_000_000, n: 1, k: 1 };
        assert!(ranked(&survivors, &tall, &H200, 9).is_empty(), "a grid has at most 65535 blocks along y");
    }
}
