//! The measurements. The record is written anew after every shape, so that a run that is stopped keeps what it had.

use std::time::Instant;

use device::Device;
use gemm::candidate::Options;
use gemm::{Error, Shape};

use super::keeper::Keeper;
use super::prune::Pruned;
use super::rank::{Ranked, ranked};
use super::{Tune, share, show};
use lab::bench::Bench;
use lab::output::{Form, Rows, note, progress};
use lab::row::Row;

/// What stands where there was no time for a measurement.
const LATE: &str = "not measured: the time was up";
/// What stands where the driver runs nothing more.
const LOST: &str = "not measured: a kernel was at fault before";

/// Measures what is left of every level, shape by shape.
pub fn all(
    tune: &Tune,
    device: &Device,
    options: &Options,
    pruned: &[Pruned],
    rows: &mut Rows,
    keeper: &mut Keeper,
    until: Option<Instant>,
) -> Result<(), Error> {
    let shapes = tune.at.shapes();
    for (index, &shape) in shapes.iter().enumerate() {
        let until = share(until, shapes.len() - index);
        let bench = match Bench::new(device, shape, tune.how.dtype, tune.how.seed, *options) {
            Ok(bench) => bench,
            Err(error) => {
                note(&format!("note: {shape}: {}", error.to_string().replace('\n', "; ")));
                continue;
            }
        };
        let at_shape = at(tune, options, pruned, &bench, shape, until);
        let lost = at_shape.iter().any(|row| row.verdict.starts_with("fault"));
        show::put(at_shape, rows)?;
        keeper.keep(rows.all())?;
        if lost {
            note(
                "note: a kernel was at fault, and the driver runs nothing more in this process: the rest is not measured",
            );
            return keeper.finish(rows.form());
        }
    }
    keeper.run.complete = rows.all().iter().all(|row| row.verdict != LATE);
    keeper.keep(rows.all())?;
    if rows.form() == Form::Text {
        rows.say(&show::notes(true))?;
    }
    keeper.finish(rows.form())
}

/// The rows of one shape: cuBLAS's, then in each level's order what is shipped, so that a choice made when the time is up is no
/// worse than today's, and then the most promising first; measured in turns, so that every level has its share of the time.
fn at<'a>(
    tune: &Tune,
    options: &Options,
    pruned: &'a [Pruned],
    bench: &Bench,
    shape: Shape,
    until: Option<Instant>,
) -> Vec<Row> {
    let in_order = |pruned: &'a Pruned| {
        let mut ranked = ranked(&pruned.left, &shape, options.gpu, tune.keep as usize);
        ranked.sort_by_key(|ranked| !ranked.is_own());
        ranked
    };
    let kept: Vec<Vec<Ranked>> = pruned.iter().map(in_order).collect();
    let bar = progress(kept.iter().map(|ranked| ranked.len() as u64).sum());
    bar.set_message(shape.to_string());
    let vendor = bench.vendor();
    let rate = vendor.as_ref().filter(|row| row.is_right()).and_then(|row| row.gflops);
    let mut measured: Vec<Vec<Row>> = kept.iter().map(|_| Vec::new()).collect();
    let mut lost = false;
    for turn in 0..kept.iter().map(Vec::len).max().unwrap_or(0) {
        for (ranked, rows) in kept.iter().zip(&mut measured) {
            let Some(ranked) = ranked.get(turn) else { continue };
            let late = turn > 0 && until.is_some_and(|until| Instant::now() > until);
            let not = if lost { Some(LOST) } else { late.then_some(LATE) };
            let mut row = one(bench, ranked, shape, not);
            lost |= row.verdict.starts_with("fault");
            row.of_vendor = rate.and_then(|rate| Some(row.gflops? / rate));
            rows.push(row);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    vendor.into_iter().chain(measured.into_iter().flatten()).collect()
}

/// The row of a candidate, measured unless there is a reason why `not`.
fn one(bench: &Bench, ranked: &Ranked, shape: Shape, not: Option<&str>) -> Row {
    let survivor = ranked.survivor;
    let mut row = match not {
        None => bench.obtained(&survivor.build, &survivor.kernel),
        Some(why) => {
            let tiles = survivor.build.configuration.tiles.to_string();
            let row = Row::new(survivor.build.name(), tiles, survivor.build.configuration.dtype, shape, bench.kind());
            Row { verdict: why.to_string(), ..row }
        }
    };
    show::model(&mut row, ranked);
    row
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::tune::keeper::read;
    use crate::tune::keeper::tests::{empty_run, scratch, tune};
    use crate::tune::prune::{Search, prune};
    use device::nvrtc;
    use emulator::gpu::H200;
    use gemm::facts::Extras;
    use gemm::{Dtype, Level};
    use indicatif::ProgressBar;
    use levels::builds;
    use summit::tuned::Record;

    fn pruned(level: &'static Level) -> Pruned {
        let search = Search { gpu: &H200, find: nvrtc::nowhere, extras: Extras::new(false, true), until: None };
        prune(level, builds(&[level], Dtype::F32, true).unwrap(), &search, &ProgressBar::hidden())
    }

    /// The emulator stands in for a GPU: bounds for medians.
    fn run(words: &str, folder: &Path, pruned: &[Pruned], until: Option<Instant>) -> (Vec<Row>, Result<Record, Error>) {
        let tune = tune(&format!("{words} --out {}", folder.display()));
        let options = Options { gpu: &H200, extras: Extras::new(true, true), annotate: false, matrices: false };
        let mut rows = Rows::new(Box::new(std::io::sink()), Form::Json).unwrap();
        let mut keeper = Keeper::of(&tune, "NVIDIA H200", 90, empty_run()).unwrap();
        let done = all(&tune, &Device::Emulator, &options, pruned, &mut rows, &mut keeper, until);
        let file = folder.join("nvidia-h200.json");
        let record = done.and_then(|()| read(&fs::read_to_string(&file).unwrap(), &file, "NVIDIA H200"));
        (rows.all().to_vec(), record)
    }

    fn verdicts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.verdict.split(' ').next().unwrap_or_default().to_string()).collect()
    }

    #[test]
    fn what_is_measured_is_on_record_and_a_second_run_adds_to_it() {
        let folder = scratch("record");
        let (rows, record) = run("--shapes 64x64x64,96x32x64", &folder, &[pruned(&levels::level1_tiling::LEVEL)], None);
        assert_eq!(verdicts(&rows), ["right"; 6]);
        assert!(rows.iter().all(|row| row.rank.is_some() && row.wavefronts_per_request.is_some()));
        let first = record.unwrap();
        assert!(first.runs[0].complete);
        let shapes: Vec<u32> = first.best().map(|best| best.m).collect();
        assert_eq!(shapes, [64, 96]);

        let (_, record) = run("--sizes 64", &folder, &[pruned(&levels::level2_register::LEVEL)], None);
        let levels: Vec<String> = record.unwrap().best().map(|best| best.level.clone()).collect();
        assert_eq!(levels, ["level1-tiling", "level1-tiling", "level2-register"]);
    }

    #[test]
    fn one_that_does_not_start_is_listed_and_the_others_go_on() {
        let mut broken = pruned(&levels::level1_tiling::LEVEL);
        broken.left[0].kernel.entry = "nonesuch".into();
        let (rows, record) = run("--sizes 64", &scratch("broken"), &[broken], None);
        let failed: Vec<&Row> = rows.iter().filter(|row| !row.is_right()).collect();
        assert_eq!((rows.len(), failed.len()), (3, 1));
        assert!(
            failed[0].verdict.starts_with("failed: ") && failed[0].verdict.contains("nonesuch"),
            "{}",
            failed[0].verdict
        );
        assert!(!show::is_bad(failed[0]));
        assert_eq!(record.unwrap().best().count(), 1);
    }

    #[test]
    fn after_a_fault_nothing_more_is_measured() {
        let mut broken = pruned(&levels::level1_tiling::LEVEL);
        // Blocks of 8 by 8 threads fill a quarter of the tile that this kernel reads.
        let large = broken.left.iter().position(|survivor| survivor.build.configuration.tiles["TILE"] == 16).unwrap();
        broken.left[large].build.configuration.tiles.0[0].1 = 8;
        let (rows, record) =
            run("--sizes 64,96", &scratch("fault"), &[broken, pruned(&levels::level2_register::LEVEL)], None);
        assert_eq!(rows.len(), 6, "the second shape is not begun");
        let last = &rows[rows.len() - 1];
        assert_eq!((last.kernel.as_str(), last.verdict.as_str()), ("level2-register", LOST));
        assert!(rows.iter().any(|row| row.verdict.starts_with("fault") && show::is_bad(row)), "{:?}", verdicts(&rows));
        assert!(!record.unwrap().runs[0].complete);
    }

    #[test]
    fn when_the_time_is_up_each_level_has_had_its_turn() {
        let levels = [pruned(&levels::level1_tiling::LEVEL), pruned(&levels::level2_register::LEVEL)];
        let (rows, record) = run("--sizes 64", &scratch("late"), &levels, Some(Instant::now()));
        assert_eq!(verdicts(&rows), ["right", "not", "not", "right", "not", "not"]);
        let record = record.unwrap();
        assert_eq!((record.best().count(), record.runs[0].complete), (2, false));
    }

    #[test]
    fn what_is_shipped_comes_before_what_is_more_promising() {
        let (rows, _) =
            run("--sizes 64", &scratch("shipped"), &[pruned(&levels::level7_register_pipeline::LEVEL)], None);
        let names: Vec<&str> = rows.iter().filter_map(|row| row.kernel.split(' ').nth(1)).collect();
        assert_eq!(names, ["shuffled", "shuffled", "shuffled", "direct", "direct", "direct"]);
        let ranks: Vec<usize> = rows.iter().filter_map(|row| row.rank).collect();
        assert!(ranks[2] > ranks[3], "{ranks:?}");
    }
}
